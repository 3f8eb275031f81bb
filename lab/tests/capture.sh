#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/capture.sh: the device feature xsk-capture on the patched kernel or KERNEL: the kselftest on
# a veth pair and in zero-copy mode, and tcpdump against the wire on a port of an X710 and one of an
# 82599.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

wires=()
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,rate=20000,start=off" --wire "sink:$port,verify"
		--wire "record:$port,file=/out/result/capture-$port.pcap")
done

# Those that the test against the wire does not have
zero_copy=(captures_under_traffic survives_scribbling listeners_of_other_netns)

# nic DRIVER: the kselftest with two ports
nic() {
	# shellcheck disable=SC2016 # expands in the guest
	"$LAB/boot.sh" --name "capture-$1-$KERNEL" --timeout 600 --nic "${NICS[$1]},${NICS[$1]}" \
		--wire cable:0-1 "$KERNEL" -- env XSK_ATTACH_TX=eth0 XSK_ATTACH_RX=eth1 bash -c '
		sysctl -qw net.ipv6.conf.default.disable_ipv6=1
		modprobe "$0"; exec /out/user/xsk_capture "$@"' \
		"$1" "${zero_copy[@]/#/-rxsk_attach.zc_softirq.}"
}

run() {
	label veth "$LAB/boot.sh" --name "capture-veth-$KERNEL" --timeout 600 \
		"$KERNEL" -- /out/user/xsk_capture
	label ixgbe nic ixgbe
	label i40e nic i40e
	label wire "$LAB/boot.sh" --name "capture-$KERNEL" --timeout 900 --timing async \
		--nic x710,82599 "${wires[@]}" "$KERNEL" -- /src/lab/guest/capture.py "$@"
}

join_taps run
