#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/xskxceiver.sh [DRIVER]: runs the base's own test of AF_XDP, xskxceiver, as its
# script does: in each mode, with softirq and busy poll. On a veth pair, or on the two
# ports of DRIVER, eth0 and eth1, that a cable connects. Prints TAP.
#
# One test, STAT_RX_DROPPED, registers a umem that 6.12.y refuses since it checks the
# headroom, and then ends the whole program. So it is run apart from the others.
set -euo pipefail

alone=STAT_RX_DROPPED
driver=${1:-}

# What is sent goes to addresses that no port has.
make_pair() {
	local dev
	if [[ -n $driver ]]; then
		devices=(eth0 eth1)
		modprobe "$driver"
	else
		devices=(ve0 ve1)
		ip link add ve0 numtxqueues 4 numrxqueues 4 type veth peer name ve1 numtxqueues 4 numrxqueues 4
	fi
	for dev in "${devices[@]}"; do
		sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1"
		[[ -z $1 ]] || echo 2 >"/sys/class/net/$dev/napi_defer_hard_irqs"
		[[ -z $1 ]] || echo 200000 >"/sys/class/net/$dev/gro_flush_timeout"
		[[ -z $driver ]] || ethtool -L "$dev" combined 1
		# What no descriptor waits for shall not be lost; ixgbe has that from the start
		[[ -z $driver ]] || ethtool -A "$dev" rx on tx on 2>/dev/null || true
		ip link set "$dev" mtu 1500 promisc on up
	done
	for dev in "${devices[@]}"; do
		while [[ $(<"/sys/class/net/$dev/carrier") != 1 ]]; do sleep 0.1; done
	done
}

drop_pair() {
	if [[ -n $driver ]]; then
		rmmod "$driver"
	else
		ip link del ve0
	fi
}

# The lines with results only: some failing tests have a line for each frame.
run() {
	local program=$1 busy=$2
	shift 2
	make_pair "$busy"
	"/out/user/$program" -i "${devices[0]}" -i "${devices[1]}" ${busy:+-b} "$@" 2>/dev/null |
		grep -E '^(not )?ok ' || true
	drop_pair
}

# For the tests of unaligned chunks
sysctl -qw vm.nr_hugepages=128
# Its list ends with a status of its own
index=$({ /out/user/xskxceiver -l || true; } | sed -n "s/^ *\([0-9]*\): *$alone\$/\1/p")
for busy in '' busy-poll; do
	run xskxceiver-rest "$busy"
	for mode in skb drv; do
		run xskxceiver "$busy" -m "$mode" -t "$index" |
			sed "s/\[.*thread_common_ops.*ERROR: 22.*/FAIL: ${mode^^} ${busy:+BUSY-POLL }$alone (umem refused)/"
	done
done | awk '{ sub(/ok [0-9]+/, "ok " ++n); print } END { print "1.." n }'
