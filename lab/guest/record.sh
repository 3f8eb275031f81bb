#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/guest/record.sh PCAP: how lab/demo.pcap was made. Lets real programs talk over
# a cable between two network namespaces and records the frames, of at most 1514
# bytes. Run it with lab/boot.sh base -- /src/lab/guest/record.sh /out/new.pcap
set -euo pipefail

pcap=$1
ip netns add server
ip link add client type veth peer name server netns server
ip addr add 192.0.2.1/24 dev client
ip addr add 2001:db8::1/64 dev client nodad
ip netns exec server ip addr add 192.0.2.2/24 dev server
ip netns exec server ip addr add 2001:db8::2/64 dev server nodad
# Segments as on a wire, not as the stack hands them to a device
ethtool -K client tso off gso off gro off tx off >/dev/null
ip netns exec server ethtool -K server tso off gso off gro off tx off >/dev/null

ip link set client up
tcpdump -Z root -q -i client -w "$pcap" -s 0 &
tcpdump=$!
sleep 2
ip netns exec server ip link set server up
ip netns exec server ip link set lo up
mkdir /tmp/www
seq 1 20000 >/tmp/www/file
(cd /tmp/www && exec ip netns exec server python3 -m http.server --bind :: 80 2>/dev/null) &
sleep 2

ping -q -c 5 -i 0.2 192.0.2.2
ping -q -c 5 -i 0.2 -s 1400 2001:db8::2
ping -q -c 3 -i 0.2 -s 4000 192.0.2.2
python3 - <<'PY'
import socket
from urllib.request import urlopen

for host in ("192.0.2.2", "[2001:db8::2]"):
    assert len(urlopen(f"http://{host}/file").read()) > 100000
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for size in range(0, 1472, 16):
    udp.sendto(bytes(size), ("192.0.2.2", 9))
PY
sleep 1
kill "$tcpdump"
wait "$tcpdump" || true
