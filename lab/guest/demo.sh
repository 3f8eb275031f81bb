#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/demo.sh BIN PCAP DRIVER...: the guest's part of the demo. Replays PCAP into a queue
# with an attached socket, then into one with libxdp's program and its XSKMAP, with
# the programs in the folder BIN. Prints a JSON object for each, in one line. At last,
# nicsim plays PCAP into the first of two ports of each DRIVER, whose attached socket sends
# it back.
set -euo pipefail

bin=$1 pcap=$2 drivers=("${@:3}")
rate=${DEMO_PPS:-5000}

# new_pair NAME: two ends of a cable, which carries the replayed frames only.
new_pair() {
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	ip link add "$1-rx" type veth peer name "$1-tx"
	ip link set "$1-rx" up
	ip link set "$1-tx" up
}

wait_ready() {
	local i
	for ((i = 0; i < 300; i++)); do
		! grep -qx ready "$1" || return 0
		sleep 0.1
	done
	cat "$1" >&2
	return 1
}

# bpf_state DEVICE: the kernel's programs and maps while the socket is open. The built-in
# program stays loaded, wherever it runs.
bpf_state() {
	local maps progs unused=xsk_builtin
	maps=$(bpftool map show | grep -c ': xskmap ' || true)
	[[ $(ip -d link show "$1") != *' name xsk_builtin '* ]] || unused=none
	progs=$(bpftool prog show | sed -n '/ name pin_dispatcher /d; / name '"$unused"' /d; s/^[0-9]*: xdp  *name \([^ ]*\) .*/"\1"/p; s/^[0-9]*: ext  *name \([^ ]*\) .*/"\1"/p' |
		paste -sd,)
	echo "\"xskmaps\": $maps, \"programs\": [$progs]"
}

replay() {
	local how=$1 state
	new_pair "$how"
	"$bin/replay_rx" "$how" "$how-rx" 0 "$pcap" >/tmp/result 2>/tmp/log &
	wait_ready /tmp/log
	state=$(bpf_state "$how-rx")
	tcpreplay -q --pps="$rate" -i "$how-tx" "$pcap" >/tmp/tcpreplay 2>&1 ||
		{ cat /tmp/tcpreplay >&2; return 1; }
	wait $!
	echo "{\"how\": \"$how\", $state, \"socket\": $(</tmp/result)}"
	ip link del "$how-rx"
}

# forward DRIVER PORT COUNT: a port receives COUNT frames and sends them back, zero-copy.
forward() {
	local driver=$1 port=$2 dev=eth$2 state pid out=0 try
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	modprobe "$driver"
	ethtool -L "$dev" combined 1
	# i40e does not enable flow control by default
	ethtool -A "$dev" rx on tx on 2>/dev/null || true
	ip link set "$dev" promisc on up
	: >/tmp/log
	"$bin/xdpsock" -i "$dev" -q 0 -l -N -z --attach --force --json >/tmp/result 2>/tmp/log &
	pid=$!
	until grep -q 'program id' /tmp/log && [[ $(<"/sys/class/net/$dev/carrier") == 1 ]]; do
		kill -0 "$pid" || { cat /tmp/log >&2; return 1; }
		sleep 0.1
	done
	state=$(bpf_state "$dev")
	nicctl gen "$port" start >/dev/null
	for ((try = 0; try < 300 && out < $3; try++)); do
		sleep 0.1
		out=$(nicctl counters | grep -o '"from_chip":[0-9]*' | sed -n "$((port + 1))s/.*://p")
	done
	kill -INT "$pid"
	wait "$pid"
	echo "{\"how\": \"$driver\", $state, \"socket\": $(tail -n 1 /tmp/result)}"
}

replay attach
replay xskmap
count=$(tcpdump -nr "$pcap" 2>/dev/null | wc -l)
for index in "${!drivers[@]}"; do
	forward "${drivers[index]}" $((2 * index)) "$count"
done
