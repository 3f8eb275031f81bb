#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/companions.sh [REGEX]: libxdp and ss of companions/ and bpftool of the series, on veth pairs
# and on ports of each NIC on the patched kernel, and on the base, where they behave as without the
# patches (on veth only). Tests of ss are skipped if its source is missing. REGEX selects tests of ss
# and bpftool.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

HEADER=include/uapi/linux/if_xdp_fastpath.h

wires=()
for port in 0 1 2 3; do
	wires+=(--wire "gen:$port,size=imix,flows=16,rate=20000,start=off")
done
sinks=()
for port in 0 1 2 3; do
	sinks+=(--wire "sink:$port,verify")
done

# libxdp_on, ss_on KERNEL OPTION...: the tests in a guest with these options of lab/boot.sh.
libxdp_on() {
	label "$1 libxdp" "$LAB/boot.sh" --name "companions-$1" --timeout 600 "${@:2}" "$1" -- \
		env LD_LIBRARY_PATH=/out/companions/usr/lib/x86_64-linux-gnu /src/lab/guest/companions.py
}

ss_on() {
	label "$1" "$LAB/boot.sh" --name "companions-ss-$1" --timeout 600 "${@:2}" "$1" -- \
		/src/lab/guest/companions_ss.py "$1" "$pattern"
}

# As make headers_install of the kernel writes it
same() {
	sed 's/\b_UAPI_LINUX/_LINUX/' "$REPO/$HEADER" | diff - "$1"
}

# The patches carry copies of our header
same_header() {
	local tree=$OUT/companions/src/$1
	if [[ -e $tree ]]; then
		check "$1: the UAPI header is that of the series" same "$tree/$2"
	else
		skip "$1: the UAPI header is that of the series" "its source is missing"
	fi
}

run() {
	same_header libxdp headers/xdp/if_xdp_fastpath.h
	same_header iproute2 include/uapi/linux/if_xdp_fastpath.h
	libxdp_on "$KERNEL" --timing async --nic x710,82599 "${wires[@]:0:4}"
	libxdp_on base
	ss_on "$KERNEL" --nic x710,x710,82599,82599 "${wires[@]}" "${sinks[@]}"
	ss_on base
}

pattern=${1:-}
"$LAB/companions.sh" || say "a companion was not built: its tests fail or are skipped"
"$LAB/enter.sh" make -s -f /src/lab/user.mk O=/out/user SERIES=/out/linux bpftool >&2
join_taps run
