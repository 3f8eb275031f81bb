#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/xskxceiver.sh [DRIVER]: runs the base's own test of AF_XDP, xskxceiver, as its
# script does: in each mode, with softirq and busy poll. On a veth pair, or on ports of
# DRIVER: eth0 and eth1, which a cable connects, and eth2, which loops back. Prints TAP.
#
# Some tests run apart, or not at all:
# STAT_RX_DROPPED  registers a umem that 6.12.y refuses since it checks the headroom, and
#                  then ends the whole program: apart, and not on ports.
# HW_SW_MAX_RING_SIZE  gives the receiver a larger umem. Only where it is the sender's, too,
#                  on one and the same interface, is that enough for a batch: on eth2.
# *_INV_DESC*, STAT_TX_INVALID  fail in copy mode on any device, as veth shows, after a long
#                  time: on ports in zero-copy mode only.
set -euo pipefail

driver=${1:-}

# use DEVICE...: for xskxceiver. What it sends goes to addresses that no port has.
use() {
	local dev
	for dev; do
		sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1"
		[[ -z $busy ]] || echo 2 >"/sys/class/net/$dev/napi_defer_hard_irqs"
		[[ -z $busy ]] || echo 200000 >"/sys/class/net/$dev/gro_flush_timeout"
		ip link set "$dev" mtu 1500 promisc on up
	done
	for dev; do
		until [[ $(<"/sys/class/net/$dev/carrier") == 1 ]]; do sleep 0.1; done
	done
}

# The lines with results only, some failing tests have a line for each frame; at once, so
# that a run that is cut off has told how far it got.
run() {
	local program=$1
	shift
	stdbuf -oL "/out/user/$program" ${busy:+-b} "$@" 2>/dev/null |
		grep --line-buffered -E '^(not )?ok ' || true
}

run_on_veth() {
	ip link add ve0 numtxqueues 4 numrxqueues 4 type veth peer name ve1 numtxqueues 4 numrxqueues 4
	use ve0 ve1
	run "$@" -i ve0 -i ve1
	ip link del ve0
}

run_on_ports() {
	modprobe "$driver"
	use eth0 eth1 eth2
	run "$@" -i eth0 -i eth1
	run xskxceiver "${@:2}" -i eth2 -i eth2 -t "$(index HW_SW_MAX_RING_SIZE)"
	rmmod "$driver"
}

# The number of a test. The list ends with a status of its own.
index() {
	{ /out/user/xskxceiver -l || true; } | sed -n "s/^ *\([0-9]*\): *$1\$/\1/p"
}

veth() {
	local mode
	run_on_veth xskxceiver-rest
	for mode in skb drv; do
		run_on_veth xskxceiver -m "$mode" -t "$(index STAT_RX_DROPPED)" | sed "s/\[.*thread_common_ops.*ERROR: 22.*/FAIL: ${mode^^} ${busy:+BUSY-POLL }STAT_RX_DROPPED (umem refused)/"
	done
}

ports() {
	run_on_ports xskxceiver-copy -m skb
	run_on_ports xskxceiver-copy -m drv
	run_on_ports xskxceiver-pair -m zc
}

# For the tests of unaligned chunks
sysctl -qw vm.nr_hugepages=128
number=0
while read -r verdict _ rest; do
	[[ $verdict != not ]] || { verdict='not ok'; rest=${rest#* }; }
	echo "$verdict $((++number)) $rest"
done < <(for busy in '' busy-poll; do
	if [[ -n $driver ]]; then ports; else veth; fi
done)
echo "1..$number"
