#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/companions.sh: the patched libxdp (companions/libxdp) with unmodified applications, on the
# patched kernel, and on the base, where it behaves as without the patches (on veth only).

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

HEADER=include/uapi/linux/if_xdp_fastpath.h

wires=()
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,rate=20000,start=off")
done

# on KERNEL OPTION...: the tests in a guest with these options of lab/boot.sh.
on() {
	label "$1" "$LAB/boot.sh" --name "companions-$1" "${@:2}" "$1" -- \
		env "LD_LIBRARY_PATH=$OUT/companions/usr/lib/x86_64-linux-gnu" /src/lab/guest/companions.py
}

# The patches carry copies of our header
same_header() {
	check "$1: the UAPI header is that of the series" \
		cmp "$REPO/$HEADER" "$OUT/companions/src/$1/$2"
}

run() {
	same_header libxdp headers/linux/if_xdp_fastpath.h
	on patched --timing async --nic x710,82599 "${wires[@]}"
	on base
}

"$LAB/companions.sh" libxdp
join_taps run
