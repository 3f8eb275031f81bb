#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/nicsim.sh: builds nicsim, the models of network cards; the program is
# out/nicsim/release/nicsim. Takes a second when nothing has changed.
#
# The first time, cargo fetches the crates of nicsim/Cargo.lock into the per-user cache.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

step nicsim "building nicsim" cargo build --release --locked \
	--manifest-path "$REPO/nicsim/Cargo.toml"
