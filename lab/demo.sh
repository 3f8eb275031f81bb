#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/demo.sh: builds all dependencies, boots the patched kernel, replays a capture into
# a queue with an attached socket and into one with program and XSKMAP, and compares.
# Then it replays the capture into a port of each emulated NIC, where an attached
# zero-copy socket sends it back, and compares the frames on the wire with the capture.
#
#   NIC=NAME   the driver of the NIC: ixgbe, i40e, or both, which is the default
#   PCAP=FILE  another capture than lab/demo.pcap; frames of at most 1514 bytes

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
choose_nics

"$LAB/tree.sh"
"$LAB/build.sh" patched
"$LAB/user.sh"
"$LAB/nicsim.sh"
pcap=${PCAP:-$LAB/demo.pcap}
mkdir -p "$OUT/result"
wires=() back=()
for index in "${!drivers[@]}"; do
	port=$((2 * index))
	wires+=(--wire "pcap-in:$port,file=/out/demo.pcap,rate=5000,start=off"
		--wire "pcap-out:$port,file=/out/result/demo-${drivers[index]}.pcap")
	back+=("$OUT/result/demo-${drivers[index]}.pcap")
done
cp "$pcap" "$OUT/demo.pcap" || die "PCAP=$pcap cannot be read"
step demo "replaying $(basename "$pcap") in the guest" \
	"$LAB/boot.sh" --name demo --timeout 300 --timing async --nic "$models" \
	"${wires[@]}" patched -- \
	/src/lab/guest/demo.sh /out/user /out/demo.pcap "${drivers[@]}"
grep '^{' "$OUT/log/demo.log" >"$OUT/result/demo.json"
echo
"$LAB/demo_table.py" "$OUT/demo.pcap" "${back[@]}" <"$OUT/result/demo.json"
