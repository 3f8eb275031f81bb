#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/cross.sh: two ports of an X710 and two of an 82599 in one guest, with the patched
# drivers of both: frames from one to the other, through the kernel and through a cable.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=(--wire cable:1-3)
for port in 0 2; do
	wires+=(--wire "gen:$port,size=imix,flows=16,rate=20000,start=off" --wire "sink:$port,verify")
done
"$LAB/boot.sh" --name cross --timing async --nic x710,x710,82599,82599 "${wires[@]}" \
	patched -- /src/lab/guest/cross.py
