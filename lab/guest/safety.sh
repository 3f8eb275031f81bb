#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/safety.sh DRIVER [OPTION...]: the kselftest xsk_safety from eth0 to eth1, two ports of
# nicsim with a cable between them, in zero-copy mode. Prints TAP.
set -euo pipefail

sysctl -qw net.ipv6.conf.default.disable_ipv6=1
modprobe "$1"
XSK_ATTACH_TX=eth0 XSK_ATTACH_RX=eth1 exec /out/user/xsk_safety "${@:2}"
