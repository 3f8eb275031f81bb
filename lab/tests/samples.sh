#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/samples.sh: xdpsock, the examples and the tools, on the patched kernel and on the base,
# where they have to fall back or fail with a message; the tools also on a port of each NIC.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

run() {
	local kernel port wires=()
	for kernel in patched base; do
		"$LAB/boot.sh" --name "samples-$kernel" --timeout 900 "$kernel" -- \
			/src/lab/guest/samples.py "$kernel"
	done
	for port in 0 1; do
		wires+=(--wire "gen:$port,size=64,flows=16,rate=20000,start=off")
	done
	"$LAB/boot.sh" --name samples-tools --timeout 900 --timing async --nic x710,82599 "${wires[@]}" \
		patched -- /src/lab/guest/tools.py
}

join_taps run
