#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/inorder.sh DRIVER FRAMES: the kselftest of XDP_TX_INORDER from eth0 to eth1, two ports
# of nicsim with a cable between them: zero-copy in several timings, and copy mode. nicsim
# stops and resumes completion. Prints several TAPs.
set -euo pipefail

export XSK_INORDER_TX=eth0 XSK_INORDER_RX=eth1 XSK_INORDER_FRAMES=$2
export XSK_INORDER_HOLD='/src/lab/guest/nicctl fault 0 tx-stop on'
export XSK_INORDER_RELEASE='/src/lab/guest/nicctl fault 0 tx-stop off'
status=0

# inorder TEXT [TEST...]: those tests, or all
inorder() {
	local text=$1
	shift
	/out/user/xsk_inorder "${@/#/-rthrough.device.}" |
		sed -E "s/^((not )?ok [0-9]+) /\1 $text: /" || status=1
}

sysctl -qw net.ipv6.conf.default.disable_ipv6=1
modprobe "$1"
for port in "$XSK_INORDER_TX" "$XSK_INORDER_RX"; do
	ethtool -l "$port" | grep -q "^Combined:.*2$" || ethtool -L "$port" combined 2
	ip link set "$port" up
done

inorder zero-copy
for timing in late group coalesce; do
	/src/lab/guest/nicctl timing 0 "$timing" >&2
	inorder "zero-copy, $timing" many_frames invalid_descriptors sockets_of_one_queue
done
/src/lab/guest/nicctl timing 0 lockstep >&2
# Copy mode shares the Tx queue with the stack. ixgbe reports a hang after two seconds, and a slow
# kernel holds the queue for longer.
XSK_INORDER_COPY=1 \
	XSK_INORDER_HOLD="echo 'lab: expected: Detected Tx Unit Hang|NETDEV WATCHDOG' >/dev/kmsg; $XSK_INORDER_HOLD" \
	XSK_INORDER_RELEASE="$XSK_INORDER_RELEASE; echo 'lab: expected: ' >/dev/kmsg" \
	inorder copy many_frames held_by_the_device full_device down_while_held
XSK_INORDER_REMOVE='echo 1 >/sys/class/net/eth0/device/remove' inorder zero-copy removed_while_held
exit "$status"
