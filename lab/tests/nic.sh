#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/{ixgbe,i40e}.sh [REGEX]: the driver of that name on nicsim's NIC for it:
# administration with the unpatched driver of the base, traffic with the patched one, also through
# bounce buffers, the private flag xdp-tx-rings, multi-buffer packets, and a malicious guest.
#
# With REGEX only tests of traffic whose names match, on the patched kernel or KERNEL.
# The models of the NICs have several timings: each test of traffic runs in one of three, in turn, and on
# the other NIC in another one. FULL=1 runs all tests in all timings, and those that rarely differ:
# administration on the patched kernel, traffic on the base, 1000 switches in the storm.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

driver=$(basename "$0" .sh)
nic=${NICS[$driver]}
options=()
declare -A sampled=([ixgbe]='lockstep+async+coalesce' [i40e]='coalesce+lockstep+async')
timings=${sampled[$driver]}
[[ -z ${FULL:-} && $# == 0 ]] || timings=lockstep,async,coalesce${FULL:+,itr,late,group}

administration() {
	"$LAB/boot.sh" --name "$driver-$1" --timeout 900 --cpus 8 --nic "$nic,$nic" \
		--wire cable:0-1 "$1" -- /src/lab/guest/nic.py "$driver"
}

traffic() {
	"$LAB/boot.sh" --name "$driver-traffic-$1" "${options[@]}" --timeout 1500 --timing async \
		--nic "$nic,$nic,$nic" --wire tap:0,name=nic0 \
		--wire gen:1,size=imix,flows=16,rate=20000,start=off --wire sink:1,verify \
		--wire sink:2,verify --beside "ip addr add 192.0.2.1/24 dev nic0
			ip link set nic0 up; exec /src/lab/guest/peer.py" \
		"$1" -- env "SWITCHES=${FULL:+1000}" /src/lab/guest/traffic.py "$driver" "$1" "$timings" "${@:2}"
}

# The device cannot access all memory: it does not see buffers that are not synced
bounced() {
	local options=(--name "$driver-bounced" --append "swiotlb=65536,force") timings=lockstep,async
	traffic "$1" '(lockstep|async): (rxdrop|l2fwd|txonly) \w+ zero-copy$'
}

rings() {
	"$LAB/boot.sh" --name "$driver-rings" --timeout 600 --nic "$nic,$nic" --wire cable:0-1 \
		"$KERNEL" -- /src/lab/guest/rings.py "$driver" "$@"
}

jumbo() {
	"$LAB/boot.sh" --name "$driver-jumbo" --timeout 600 --timing async --nic "$nic,$nic" \
		--wire gen:0,size=9018,start=off --wire sink:0,verify \
		--wire gen:1,size=imix,start=off --wire sink:1,verify \
		"$KERNEL" -- /src/lab/guest/jumbo.py "$driver" "$@"
}

hostile() {
	"$LAB/boot.sh" --name "$driver-hostile" --any-events --nic "$nic" \
		--wire gen:0,start=off base -- /src/lab/guest/hostile.py "$driver"
}

run() {
	(($# == 0)) || { traffic "$KERNEL" "$1"; return; }
	label base administration base
	label patched traffic patched
	label "patched, bounced" bounced patched
	label "XDP Tx rings" rings
	label "jumbo frames" jumbo
	label "hostile guest" hostile
	[[ -n ${FULL:-} ]] || return 0
	label patched administration patched
	label base traffic base
}

join_taps run "$@"
