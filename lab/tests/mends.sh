#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/mends.sh: faults of the base's drivers that patches at the head of the series mend:
# each shows on the base, which proves that its test can see it, and not on the patched kernel.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=(--wire cable:2-3 --wire "gen:4,size=9000,start=off")
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,start=off" --wire "sink:$port,verify")
done

boot() {
	"$LAB/boot.sh" --name "mends-$1" --timing coalesce --nic 82599,x710,x710,x710,x710 \
		"${wires[@]}" "$1" -- /src/lab/guest/mends.py "$@"
}

# The base does not survive the last one.
crashes() {
	check_fails "i40e takes the status of a filter for a frame: it shows" 99 \
		i40e_clean_rx_irq_zc boot base 'status of a filter'
	plan
}

run() {
	label base boot base 'twice|did not send|wakeup'
	label base crashes
	label patched boot patched
}

join_taps run
