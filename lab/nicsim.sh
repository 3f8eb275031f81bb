#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/nicsim.sh: builds nicsim, the NIC models; the program is out/nicsim/release/nicsim.
# Takes a second when nothing has changed.
#
# The first build downloads the crates of nicsim/Cargo.lock into the per-user cache.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

step nicsim "building nicsim" cargo build --release --locked \
	--manifest-path "$REPO/nicsim/Cargo.toml"
