#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/attach.sh [DRIVER]: the kselftests of XDP_ATTACH, of the socket options and of queues that
# are being released on devices without hardware. With DRIVER: from eth0 to eth1, two ports of nicsim
# with a cable between them, in zero-copy mode: all tests of delivery with softirq; with busy poll, of
# bind() and of sockets behind a program, those that may differ from veth. Prints TAP.
set -euo pipefail

busy_poll=(delivers_without_program_and_map swaps_under_traffic kfunc_delivers xskmap_delivers
	echo_with_need_wakeup overflow_leaks_nothing)
bind=(refused_without_cap_net_admin container_root_attaches refused_queue_out_of_range
	refused_queue_busy refused_zero_copy refused_mode_conflict refused_with_regular
	refused_upper_runs_program chooses_mode sock_diag pair_in_sock_diag tools_show_builtin)
# Those that depend on a driver
released=(zc.after_close zc.after_kill zc.other_mode zc.channels zc.ring_size zc_plain.after_kill)
# Generic mode takes part in other_mode
rebind=(-Vzc -Vzc_plain -Vskb)
pass=(behind_netlink bound_behind keeps_other_actions behind_other_mode multi_buffer_behind
	loses_nothing_in_swaps never_unfiltered)
tests=(xsk_attach xsk_attach_bind xsk_attach_lifetime xsk_attach_prog)
options=()
pass_options=(-v skb_softirq -v drv_busy_poll)

if (($#)); then
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	modprobe "$1"
	export XSK_ATTACH_TX=eth0 XSK_ATTACH_RX=eth1
	options=(-v zc_softirq "${busy_poll[@]/#/-rxsk_attach.zc_busy_poll.}"
		"${bind[@]/#/-rxsk_bind.zc.}")
	rebind=("${released[@]/#/-rxsk_rebind.}")
	pass_options=("${pass[@]/#/-rxsk_attach.zc_softirq.}")
else
	tests+=(xsk_options)
fi

status=0
for test in "${tests[@]}"; do
	"/out/user/$test" "${options[@]}" || status=1
done
/out/user/xsk_rebind "${rebind[@]}" || status=1
/out/user/xsk_attach_pass "${pass_options[@]}" || status=1
exit "$status"
