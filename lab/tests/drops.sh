#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/drops.sh [REGEX]: reasons for drops, on the patched kernel or KERNEL: every frame on the wire
# of an X710 and of an 82599 is delivered or counted; all tests, or those whose names match.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

"$LAB/boot.sh" --name "drops-$KERNEL" --timeout 600 --nic x710,x710,82599,82599 \
	--wire cable:0-1 --wire cable:2-3 "$KERNEL" -- /src/lab/guest/drops.py "$@"
