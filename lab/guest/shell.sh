#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/shell.sh: what `make shell` runs: the network cards are up, then a shell.

modprobe ixgbe
ip link set eth0 up
ip link set eth1 up
echo "eth0 and eth1 are ports of an emulated 82599. At the other end: $1"
echo "nicctl counters, nicctl link 0 down, ... talk to the emulation (nicsim/README.md);"
echo "/out/user/xdpsock --help shows what a socket can do. exit ends the guest."
exec bash
