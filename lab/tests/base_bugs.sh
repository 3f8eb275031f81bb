#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/base_bugs.sh: bugs of the base's drivers that patches at the head of the series fix:
# each shows on the base, which proves that its test detects it, and not on the patched kernel,
# or KERNEL. PATCHED_ONLY=1 leaves out the base; FULL=1 also shows those on the base that need a
# boot each.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

# Seconds for a guest, which takes about one minute on the kernels without more checks
TIMEOUT=1500
[[ $KERNEL == patched ]] || TIMEOUT=1800

wires=(--wire cable:2-3 --wire "gen:4,size=8000,start=off")
for port in 0 1; do
	wires+=(--wire "gen:$port,size=imix,flows=16,start=off" --wire "sink:$port,verify")
done

boot() {
	"$LAB/boot.sh" --name "base-bugs-$1" --timeout "$TIMEOUT" --timing coalesce \
		--nic 82599,x710,x710,x710,x710 "${wires[@]}" "$1" -- /src/lab/guest/base_bugs.py "$@"
}

# The base does not survive the last one.
crashes() {
	check_fails "i40e takes the status of a filter for a frame: it shows" 99 \
		i40e_clean_rx_irq_zc boot base 'status of a filter'
}

# bugs_i40e KERNEL REGEX [OPTION...]
bugs_i40e() {
	"$LAB/boot.sh" --name "bugs-i40e-$1" --timeout "$TIMEOUT" --timing coalesce --nic x710,x710 \
		--wire gen:0,size=64,flows=16,start=off --wire sink:0,verify \
		--wire gen:1,size=6400,start=off --wire sink:1,verify "${@:3}" \
		"$1" -- /src/lab/guest/bugs_i40e.py "$1" "$2"
}

# bugs_ixgbe KERNEL REGEX [OPTION...]
bugs_ixgbe() {
	"$LAB/boot.sh" --name "bugs-ixgbe-$1" --timeout "$TIMEOUT" --timing async --cpus 4 --nic 82599 \
		--wire gen:0,size=imix,flows=16,rate=50000,start=off --wire sink:0,verify "${@:3}" \
		"$1" -- /src/lab/guest/bugs_ixgbe.py "$1" "$2"
}

# safety OPTION...: the kselftest xsk_safety on the base, with two ports of i40e
safety() {
	"$LAB/boot.sh" --name "safety-base" --timeout "$TIMEOUT" --nic x710,x710 --wire cable:0-1 \
		base -- /src/lab/guest/safety.sh i40e "$@"
}

# Each needs a boot of its own, as most leave the RTNL hung, or do not survive.
bugs_of_base() {
	local name
	bugs_i40e base 'XDP_TX|no poll'
	for name in 'MTU changed' 'rings changed' unbound; do
		bugs_i40e base "$name"
	done
	bugs_i40e base 'below 1 KB' --any-events
	bugs_i40e base 'the stack sends' --any-events
	bugs_ixgbe base 'leaks|during|two CPUs|masked|busy' --any-events
	bugs_ixgbe base unplugging --any-events
	bugs_ixgbe base 'a program that fails' --append threadirqs
	check_fails "xsk: a socket without an Rx ring in an XSKMAP: it shows" 99 __xsk_rcv_zc \
		safety -r xskmap.drv.socket_without_rx
	check_fails "xsk: busy polling of a queue that is not set up: it shows" 99 xsk_sendmsg \
		safety -f idle_queue
	check_fails "i40e: XDP_PASS of a multi-buffer packet: it shows" 99 i40e_clean_rx_irq_zc \
		bugs_i40e base XDP_PASS
	check_fails "ixgbe: self-test: it shows" 99 ixgbe_diag_test bugs_ixgbe base self-test
	check_fails "ixgbe: a full Tx ring of the stack is reset: it shows" 99 "NETDEV WATCHDOG" \
		bugs_ixgbe base 'a full Tx ring'
	check_fails "ixgbe: the port is removed before a pool is released: it shows" 99 \
		"Failed to disable zero-copy" bugs_ixgbe base 'is removed'
	check_fails "ixgbe: completes frames that were not sent: it shows" 99 ixgbe_clean_tx_ring \
		bugs_ixgbe base 'has not sent' --any-events
}

bugs() {
	bugs_i40e "$KERNEL" ''
	bugs_ixgbe "$KERNEL" 'leaks|during|two CPUs|masked|busy|self-test|has not sent|stops the Tx|freed while|full Tx ring|is removed'
	bugs_ixgbe "$KERNEL" 'a program that fails' --append threadirqs
	[[ -z ${FULL:-} ]] || bugs_ixgbe "$KERNEL" unplugging --any-events
}

run() {
	if [[ -z ${PATCHED_ONLY:-} ]]; then
		label 'base, all ports' boot base 'twice|did not send|multi-buffer packet|wakeup|RTNL|NAPI timer'
		label base crashes
		label base bugs_i40e base 'MTU that|without frags|fragments|without an end'
		label base bugs_ixgbe base 'leaks'
		[[ -z ${FULL:-} ]] || label base bugs_of_base
	fi
	label "$KERNEL, all ports" boot "$KERNEL"
	label "$KERNEL" bugs
}

join_taps run
