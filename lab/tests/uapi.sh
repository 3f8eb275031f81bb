#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/uapi.sh: programs that ask for nothing see no change: the structs of
# AF_XDP that they share with the kernel are laid out as in the base.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"
[[ -e /.xsk-lab ]] || exec "$LAB/enter.sh" /src/lab/tests/uapi.sh

STRUCTS=(sockaddr_xdp xdp_ring_offset xdp_mmap_offsets xdp_umem_reg xdp_statistics
	xdp_options xsk_tx_metadata xdp_desc xdp_md xdp_diag_req xdp_diag_msg
	xdp_diag_info xdp_diag_ring xdp_diag_umem xdp_diag_stats)

layout() {
	pahole -F btf -C "$2" "$OUT/build-$1/vmlinux"
}

same_layout() {
	local base patched
	base=$(layout base "$1")
	[[ -n $base ]] || { say "struct $1 is not in the base"; return 1; }
	patched=$(layout patched "$1")
	diff <(echo "$base") <(echo "$patched")
}

for struct in "${STRUCTS[@]}"; do
	check "struct $struct" same_layout "$struct"
done
plan
