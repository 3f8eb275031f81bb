#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/compose.sh: XDP_ATTACH_F_PASS beside libxdp, xdp-filter and xdpdump, on the patched kernel
# or KERNEL: on a veth pair, a port of an X710 and one of an 82599.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=()
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,rate=20000,start=off")
done
"$LAB/boot.sh" --name "compose-$KERNEL" --timing async --nic x710,82599 "${wires[@]}" \
	"$KERNEL" -- /src/lab/guest/compose.py
