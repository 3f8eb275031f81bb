#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/metadata.sh [REGEX]: Tx metadata of zero-copy sockets, on two ports of an X710 and two
# of an 82599 in one guest, on the patched kernel or KERNEL; all tests, or those whose names match.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

"$LAB/boot.sh" --name "metadata-$KERNEL" --timeout 600 --cpus 3 --append maxcpus=2 \
	--nic x710,x710,82599,82599 --wire cable:0-1 --wire cable:2-3 \
	"$KERNEL" -- /src/lab/guest/metadata.py "$@"
