#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/xskxceiver.sh: runs the base's own test of AF_XDP, xskxceiver, on veth as
# its script does: generic and native mode, softirq and busy poll. Prints TAP.
#
# One test, STAT_RX_DROPPED, registers a umem that 6.12.y refuses since it checks the
# headroom, and then ends the whole program. So it is run apart from the others.
set -euo pipefail

alone=STAT_RX_DROPPED

make_pair() {
	local dev
	ip link add ve0 numtxqueues 4 numrxqueues 4 type veth peer name ve1 numtxqueues 4 numrxqueues 4
	for dev in ve0 ve1; do
		sysctl -qw "net.ipv6.conf.$dev.disable_ipv6=1"
		[[ -z $1 ]] || echo 2 >"/sys/class/net/$dev/napi_defer_hard_irqs"
		[[ -z $1 ]] || echo 200000 >"/sys/class/net/$dev/gro_flush_timeout"
		ip link set "$dev" mtu 1500 up
	done
}

# The lines with results only: some failing tests have a line for each frame.
run() {
	local program=$1 busy=$2
	shift 2
	make_pair "$busy"
	"/out/user/$program" -i ve0 -i ve1 ${busy:+-b} "$@" 2>/dev/null | grep -E '^(not )?ok ' || true
	ip link del ve0
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
