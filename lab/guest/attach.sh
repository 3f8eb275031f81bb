#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/attach.sh [DRIVER]: the kselftests of XDP_ATTACH and of the socket options on devices
# without hardware. With DRIVER: from eth0 to eth1, two ports of nicsim with a cable between them,
# in zero-copy mode: all tests of delivery with softirq; with busy poll, and of bind(), those that
# may differ from veth. Prints TAP.
set -euo pipefail

busy_poll=(delivers_without_program_and_map swaps_under_traffic kfunc_delivers xskmap_delivers
	echo_with_need_wakeup overflow_leaks_nothing)
bind=(refused_without_cap_net_admin container_root_attaches refused_queue_out_of_range
	refused_queue_busy refused_zero_copy refused_mode_conflict refused_with_regular
	refused_upper_runs_program chooses_mode sock_diag tools_show_builtin)
tests=(xsk_attach xsk_attach_bind xsk_attach_lifetime xsk_attach_prog)
options=()

if (($#)); then
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	modprobe "$1"
	export XSK_ATTACH_TX=eth0 XSK_ATTACH_RX=eth1
	options=(-v zc_softirq "${busy_poll[@]/#/-rxsk_attach.zc_busy_poll.}"
		"${bind[@]/#/-rxsk_bind.zc.}")
else
	tests+=(xsk_options)
fi

status=0
for test in "${tests[@]}"; do
	"/out/user/$test" "${options[@]}" || status=1
done
exit "$status"
