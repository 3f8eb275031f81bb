#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/ixgbe.sh: the ixgbe driver on nicsim's 82599: administration with the unpatched
# driver of the base, traffic in all timings with the patched one, and a hostile guest.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

administration() {
	"$LAB/boot.sh" --name "ixgbe-$1" --timeout 900 --cpus 8 --nic 82599,82599 --wire cable:0-1 \
		"$1" -- /src/lab/guest/ixgbe.py
}

traffic() {
	"$LAB/boot.sh" --name "ixgbe-traffic-$1" --timeout 900 --timing async \
		--nic 82599,82599,82599 --wire tap:0,name=nic0 \
		--wire gen:1,size=imix,flows=16,rate=20000,start=off --wire sink:1,verify \
		--wire sink:2,verify --beside "ip addr add 192.0.2.1/24 dev nic0
			ip link set nic0 up; exec /src/lab/guest/peer.py" \
		"$1" -- /src/lab/guest/ixgbe_traffic.py "$1"
}

hostile() {
	"$LAB/boot.sh" --name ixgbe-hostile --any-events --nic 82599 --wire gen:0,start=off \
		base -- /src/lab/guest/hostile.py
}

# FULL=1 also does what says little new: administration on the patched kernel, traffic on
# the base.
run() {
	label base administration base
	label patched traffic patched
	label "hostile guest" hostile
	[[ -n ${FULL:-} ]] || return 0
	label patched administration patched
	label base traffic base
}

join_taps run
