#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/recycle.sh [REGEX]: XDP_RECYCLE on two ports of an X710 and two of an 82599 in one
# guest, on the patched kernel or KERNEL; all tests, or those whose names match. FULL=1
# reconfigures each kind of pair, not only one.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=()
for port in 0 1 2 3; do
	wires+=(--wire "gen:$port,size=imix,flows=16,rate=20000,start=off" --wire "sink:$port,verify")
done
# ixgbe has an XDP ring per possible CPU, and a vector per CPU that is online.
"$LAB/boot.sh" --name "recycle-$KERNEL" --timeout 1500 --cpus 3 --append maxcpus=2 \
	--nic x710,x710,82599,82599 "${wires[@]}" \
	"$KERNEL" -- env FULL="${FULL:-}" /src/lab/guest/recycle.py "$@"
