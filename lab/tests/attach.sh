#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/attach.sh: the kselftests xsk_attach*, xsk_options, xsk_rebind and xsk_safety on the patched
# kernel, or KERNEL: on devices without hardware, and in zero-copy mode on the models of both NICs.
# FRAMES is the number of frames of the longer tests, CYCLES the number of sockets that xsk_rebind closes
# and binds in each, 1000 with FULL=1.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

# nic SCRIPT DRIVER: lab/guest/SCRIPT.sh with two ports
nic() {
	"$LAB/boot.sh" --name "$1-$2-$KERNEL" --timeout 3000 --nic "${NICS[$2]},${NICS[$2]}" \
		--wire cable:0-1 "$KERNEL" -- env "${frames[@]}" "/src/lab/guest/$1.sh" "$2"
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
	label ixgbe nic attach ixgbe
	label i40e nic attach i40e
	label safety "$LAB/boot.sh" --name "safety-$KERNEL" --timeout 3000 \
		"$KERNEL" -- env "${frames[@]}" /out/user/xsk_safety -V zc -F umem
	label 'safety, umem' huge_umem
	label 'safety, ixgbe' nic safety ixgbe
	label 'safety, i40e' nic safety i40e
}

cycles=${CYCLES:-${FULL:+1000}}
frames=(${FRAMES:+"XSK_ATTACH_FRAMES=$FRAMES"} ${cycles:+"XSK_REBIND_CYCLES=$cycles"})
join_taps run
