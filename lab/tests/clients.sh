#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/clients.sh [REGEX]: existing applications of AF_XDP, packages of Debian, on ports of an
# X710 and an 82599 and on veth: on the patched kernel, and there with the companions (out/companions).
# REGEX selects tests of the patched kernel by name. FULL=1 runs all of them, also those on the base.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

FEW='^patched, .*: (testpmd rxonly|suricata|Rust, xdpilone with XDP_ATTACH)'
FEW+='|^patched, i40e: (kxdpgun|xdp-|Rust)|^companions, (i40e: testpmd rxonly|ixgbe: suricata)'
kernels=(patched) pattern=${1:-$FEW}
[[ -z ${FULL:-} ]] || kernels=(base patched) pattern=${1:-}

# Each first port of a NIC has a generator and a sink, each third one replays a capture
wires=(--wire cable:1-4)
for port in 0 3; do
	wires+=(--wire "gen:$port,size=512,flows=16,start=off" --wire "sink:$port")
	wires+=(--wire "pcap-in:$((port + 2)),file=/src/lab/demo.pcap,rate=2000,start=off")
done

build_rust() {
	local enter=()
	[[ -e /.xsk-lab ]] || enter=("$LAB/enter.sh")
	"${enter[@]}" cargo build --release --locked --manifest-path /src/lab/clients-rust/Cargo.toml \
		--target-dir /out/clients-rust
}

run() {
	local kernel
	for kernel in "${kernels[@]}"; do
		"$LAB/boot.sh" --name "clients-$kernel" --timeout 2400 \
			--nic x710,x710,x710,82599,82599,82599 "${wires[@]}" "$kernel" -- \
			/src/lab/guest/clients.py "$kernel" "$pattern"
	done
}

build_rust >&2
join_taps run
