#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/bench.sh: a few cells of the benchmark against those recorded in results/, and
# bench/hw, for real hardware, on a veth pair.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

small() {
	check "a few cells of the benchmark: each is valid" "$REPO/bench/run" --no-build --small
	check "no cell is more expensive than the recorded one" "$REPO/bench/compare" --some \
		"$REPO/results/bench.json" "$OUT/bench/small/bench.json"
}

groups() {
	small
	"$LAB/boot.sh" --name bench-hw patched -- /src/bench/guest/hw_veth.sh /out/bench/user/xdpsock
}

join_taps groups
