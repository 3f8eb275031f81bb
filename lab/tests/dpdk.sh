#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/dpdk.sh: a driver that shares no code with Linux, DPDK's, on the same models.
# In lockstep: testpmd drops what finds the Tx ring full, as it would if a card fell behind.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=()
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=64,start=off" --wire "sink:$port,verify")
done
"$LAB/boot.sh" --name dpdk --nic 82599,82599 "${wires[@]}" base -- \
	/src/lab/guest/dpdk.py
