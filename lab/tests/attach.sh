#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/attach.sh: the kselftest of XDP_ATTACH on the patched kernel: on veth, and in
# zero-copy mode on the models of both NICs.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

nic() {
	"$LAB/boot.sh" --name "attach-$1" --timeout 1500 --nic "$2,$2" --wire cable:0-1 \
		patched -- /src/lab/guest/attach.sh "$1"
}

run() {
	label veth "$LAB/boot.sh" --name attach --timeout 1500 patched -- /out/user/xsk_attach
	label ixgbe nic ixgbe 82599
	label i40e nic i40e x710
}

join_taps run
