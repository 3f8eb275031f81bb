#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/attach.sh: the kselftest of XDP_ATTACH on the patched kernel, or KERNEL: on veth, and
# in zero-copy mode on the models of both NICs. FRAMES is how many frames the longer tests send.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

nic() {
	"$LAB/boot.sh" --name "attach-$1-$KERNEL" --timeout 3000 --nic "$2,$2" --wire cable:0-1 \
		"$KERNEL" -- env "${frames[@]}" /src/lab/guest/attach.sh "$1"
}

run() {
	label veth "$LAB/boot.sh" --name "attach-$KERNEL" --timeout 3000 \
		"$KERNEL" -- env "${frames[@]}" /out/user/xsk_attach
	label ixgbe nic ixgbe 82599
	label i40e nic i40e x710
}

frames=(${FRAMES:+"XSK_ATTACH_FRAMES=$FRAMES"})
join_taps run
