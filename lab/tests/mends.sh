#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/mends.sh: faults of the base's drivers that patches at the head of the series mend:
# each shows on the base, which proves that its test can see it, and not on the patched kernel.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=(--wire cable:2-3)
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,start=off" --wire "sink:$port,verify")
done

run() {
	local kernel
	for kernel in base patched; do
		label "$kernel" "$LAB/boot.sh" --name "mends-$kernel" --timing coalesce \
			--nic 82599,x710,x710,x710 "${wires[@]}" "$kernel" -- \
			/src/lab/guest/mends.py "$kernel"
	done
}

join_taps run
