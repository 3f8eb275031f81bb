#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/attach.sh DRIVER: the kselftest of XDP_ATTACH from eth0 to eth1, two ports of
# nicsim with a cable between them, in zero-copy mode: all of delivery, with softirq; with
# busy poll, and of bind(), what may differ there from veth. Prints TAP.
set -euo pipefail

busy_poll=(delivers_without_program_and_map swaps_under_traffic kfunc_delivers xskmap_delivers
	echo_with_need_wakeup overflow_leaks_nothing)
bind=(refused_without_cap_net_admin container_root_attaches refused_queue_out_of_range
	refused_queue_busy refused_zero_copy refused_mode_conflict refused_force_with_regular
	refused_upper_runs_program chooses_mode sock_diag tools_show_builtin)

sysctl -qw net.ipv6.conf.default.disable_ipv6=1
modprobe "$1"
XSK_ATTACH_TX=eth0 XSK_ATTACH_RX=eth1 exec /out/user/xsk_attach -v zc_softirq \
	"${busy_poll[@]/#/-rxsk_attach.zc_busy_poll.}" "${bind[@]/#/-rxsk_bind.zc.}"
