#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/inorder.sh: the kselftest of XDP_TX_INORDER on the patched kernel, or KERNEL: in
# copy mode on veth, and on the models of both NICs, mostly zero-copy. FULL=1 sends many more
# frames, FRAMES is their number.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

frames=${FRAMES:-${FULL:+300000}}
frames=${frames:-4096}

nic() {
	"$LAB/boot.sh" --name "inorder-$1-$KERNEL" --timeout 3000 --nic "$2,$2" --wire cable:0-1 \
		"$KERNEL" -- /src/lab/guest/inorder.sh "$1" "$frames"
}

run() {
	label veth "$LAB/boot.sh" --name "inorder-$KERNEL" --timeout 3000 \
		"$KERNEL" -- env "XSK_INORDER_FRAMES=$frames" /out/user/xsk_inorder
	label ixgbe nic ixgbe 82599
	label i40e nic i40e x710
}

join_taps run
