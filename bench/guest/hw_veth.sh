#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bench/guest/hw_veth.sh XDPSOCK: tests bench/hw on a veth pair: each cell has packets, and without
# a sender those that need one are not valid. Prints TAP.
set -euo pipefail

hw=(/src/bench/hw --xdpsock "$1" --seconds 2 --repeat 1)
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip link add va type veth peer name vb
ip link set va up
ip link set vb up

# A virtual machine may idle, which makes a cell invalid but is no failure of the tool.
"${hw[@]}" va vb --json /tmp/hw.json >/tmp/table || true
sed 's/^/# /' /tmp/table
if python3 - <<-'END'; then
	import json
	cells = json.load(open("/tmp/hw.json"))["cells"]
	names = {(cell["workload"], cell["contestant"]) for cell in cells}
	assert len(names) == 6, names
	for cell in cells:
	    assert cell["nic"] == "veth" and cell["packets"] > 1000 and cell["wall_mpps"] > 0, cell
	END
	echo "ok 1 - bench/hw on veth: packets in each cell"
else
	echo "not ok 1 - bench/hw on veth: packets in each cell"
fi
if ! "${hw[@]}" va --only rxdrop >/tmp/table && grep -q 'INVALID: 0 packets only' /tmp/table; then
	echo "ok 2 - bench/hw without a sender: not valid"
else
	echo "not ok 2 - bench/hw without a sender: not valid"
fi
echo 1..2
