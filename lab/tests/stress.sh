#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/stress.sh: frames at full rate, on the patched kernel or KERNEL, with the application
# and the driver on two CPUs. A million in each test, ten with FULL=1, or FRAMES.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

frames=${FRAMES:-${FULL:+10000000}}
wires=()
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,start=off" --wire "sink:$port,verify")
done
"$LAB/boot.sh" --name "stress-$KERNEL" --timeout 3000 --nic x710,82599 "${wires[@]}" \
	"$KERNEL" -- /src/lab/guest/stress.py "${frames:-1000000}"
