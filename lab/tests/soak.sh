#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/soak.sh: 10000 frames a second through a zero-copy socket and back, for SOAK
# seconds (60): none is lost or damaged.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

seconds=${SOAK:-60}
"$LAB/boot.sh" --name soak --timeout $((seconds + 300)) --timing async --nic 82599 \
	--wire gen:0,size=imix,flows=64,rate=10000,start=off --wire sink:0,verify patched -- \
	/src/lab/guest/soak.py "$seconds" --attach --force \
	--ring-size=4096 --frames=16384
