#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/shell.sh WIRES DRIVER...: the guest's part of `make shell`: sets the two ports of each
# driver up, then runs a shell.

port=0
for driver in "${@:2}"; do
	modprobe "$driver"
	ip link set "eth$port" up
	ip link set "eth$((port + 1))" up
	echo "eth$port and eth$((port + 1)) are ports $port and $((port + 1)), of $driver."
	port=$((port + 2))
done
echo "At the other end: $1"
echo "nicctl counters, nicctl link 0 down, ... talk to the emulation (nicsim/README.md);"
echo "/out/user/xdpsock --help lists the modes of a socket. exit ends the guest."
exec bash
