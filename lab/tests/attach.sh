#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/attach.sh: the kselftests xsk_attach*, xsk_options and xsk_safety on the patched kernel, or
# KERNEL: on devices without hardware, and in zero-copy mode on the models of both NICs. FRAMES is the
# number of frames of the longer tests.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

nic() {
	"$LAB/boot.sh" --name "attach-$1-$KERNEL" --timeout 3000 --nic "$2,$2" --wire cable:0-1 \
		"$KERNEL" -- env "${frames[@]}" /src/lab/guest/attach.sh "$1"
}

safety() {
	"$LAB/boot.sh" --name "safety-$1-$KERNEL" --timeout 3000 --nic "$2,$2" --wire cable:0-1 \
		"$KERNEL" -- env "${frames[@]}" /src/lab/guest/safety.sh "$1"
}

# The guest has more memory than this machine may have, but touches little of it.
huge_umem() {
	"$LAB/boot.sh" --name "safety-umem-$KERNEL" --timeout 3000 --memory 36G \
		--qemu-opt -object --qemu-opt memory-backend-ram,size=36G,id=lazy,reserve=off \
		--qemu-opt -machine --qemu-opt memory-backend=lazy \
		"$KERNEL" -- /out/user/xsk_safety -f umem
}

run() {
	label veth "$LAB/boot.sh" --name "attach-$KERNEL" --timeout 3000 \
		"$KERNEL" -- env "${frames[@]}" /src/lab/guest/attach.sh
	label ixgbe nic ixgbe 82599
	label i40e nic i40e x710
	label safety "$LAB/boot.sh" --name "safety-$KERNEL" --timeout 3000 \
		"$KERNEL" -- env "${frames[@]}" /out/user/xsk_safety -V zc -F umem
	label 'safety, umem' huge_umem
	label 'safety, ixgbe' safety ixgbe 82599
	label 'safety, i40e' safety i40e x710
}

frames=(${FRAMES:+"XSK_ATTACH_FRAMES=$FRAMES"})
join_taps run
