#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/dpdk.sh: drivers that share no code with Linux, DPDK's, on the same models.
# In lockstep: testpmd drops frames when the Tx ring is full, as with a NIC that is too slow.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=()
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=64,start=off" --wire "sink:$port,verify")
done

run() {
	local driver
	for driver in "${DRIVERS[@]}"; do
		label "$driver" "$LAB/boot.sh" --name "dpdk-$driver" \
			--nic "${NICS[$driver]},${NICS[$driver]}" "${wires[@]}" base -- \
			/src/lab/guest/dpdk.py "$driver"
	done
}

join_taps run
