#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/user.sh: builds samples, tests and tools for the guest, in out/user.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

[[ -e $OUT/linux-base ]] || "$LAB/tree.sh"
mkdir -p "$OUT/user"
step user "building user space" make -f "$LAB/user.mk" "O=$OUT/user" "KTREE=$OUT/linux-base" \
	"SERIES=$OUT/linux"
