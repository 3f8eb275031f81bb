#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/soak.sh: 10000 frames a second through a zero-copy socket and back, for SOAK
# seconds (30) with each driver: none is lost or damaged.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

seconds=${SOAK:-30}

run() {
	local driver
	for driver in "${DRIVERS[@]}"; do
		label "$driver" "$LAB/boot.sh" --name "soak-$driver" --timeout $((seconds + 300)) \
			--timing async --nic "${NICS[$driver]}" \
			--wire gen:0,size=imix,flows=64,rate=10000,start=off --wire sink:0,verify \
			patched -- /src/lab/guest/soak.py "$driver" "$seconds" --attach --force \
			--ring-size=4096 --frames=16384
	done
}

join_taps run
