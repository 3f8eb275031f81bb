#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/xskxceiver.sh [DRIVER]: runs the base's own test of AF_XDP, xskxceiver, as its
# script does: in each mode, with softirq and busy poll. On a veth pair, or on the two
# ports of DRIVER, eth0 and eth1, that a cable connects. Prints TAP. ONLY names tests, separated by
# semicolons, that are run one by one; all without it.
#
# A socket that cannot be bound ends the whole program: the remaining tests are run one by one, too.
# xskxceiver-rest lacks the tests that always fail on the base (lab/user.mk), each after its time limit.
# On a NIC, where some of them pass, and with FULL, they are run one by one.
set -euo pipefail

driver=${1:-}

# Frames are sent to addresses that no port has.
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
		# No frame may be lost for lack of a descriptor; ixgbe enables this by default
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

# one NAME: MODE [BUSY-POLL] TEST
one() {
	local name=${1# } words busy=''
	name=${name% (umem refused)}
	read -ra words <<<"$name"
	[[ $name != *BUSY-POLL* ]] || busy='busy-poll'
	run xskxceiver "$busy" -m "${words[0],,}" -t "${index[${words[-1]}]}" |
		sed "s/\[.*thread_common_ops.*ERROR: 22.*/FAIL: $name (umem refused)/"
}

# names BUSY: of all tests
names() {
	local mode test
	for mode in SKB DRV ${driver:+ZC}; do
		for test in "${tests[@]}"; do
			echo "$mode ${1:+BUSY-POLL }$test"
		done
	done
}

# left_out NAME: whether xskxceiver-rest lacks it
left_out() {
	! grep -qx -- "${1##* }" <<<"$rest"
}

all() {
	local busy name
	for busy in '' busy-poll; do
		run xskxceiver-rest "$busy" | tee /tmp/rest | grep -v ERROR: || true
		while read -r name; do
			if left_out "$name"; then
				[[ -z $driver$FULL ]] || one "$name" </dev/null
			elif grep -q ERROR: /tmp/rest && ! grep -q ": $name\$" /tmp/rest; then
				one "$name" </dev/null
			fi
		done < <(names "$busy")
	done
}

# Its exit status is always a failure
list() {
	{ "/out/user/$1" -l || true; } | sed -n 's/^ *[0-9]*: //p'
}

# For the tests of unaligned chunks
sysctl -qw vm.nr_hugepages=128
declare -A index
mapfile -t tests < <(list xskxceiver)
rest=$(list xskxceiver-rest)
for number in "${!tests[@]}"; do
	index[${tests[number]}]=$number
done
if [[ -n ${ONLY:-} ]]; then
	IFS=';' read -ra only <<<"$ONLY"
	for name in "${only[@]}"; do
		[[ -z ${name// } ]] || one "$name"
	done
else
	all
fi | awk '{ sub(/ok [0-9]+/, "ok " ++n); print } END { print "1.." n }'
