#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/fuzz.sh [OPTION...]: the structured fuzzer of AF_XDP (selftests/bpf/xsk_fuzz.c), with
# OPTIONs of it, on the patched kernel or KERNEL: as root on two ports of an 82599 and two of an
# X710, whose cables are pulled, and on devices without hardware, then as an ordinary user. On
# kernels with more checks it runs longer. To reproduce a crash: its seed is printed.
#
#   FUZZ_SECONDS=N   as root, 60; half of that as an ordinary user
#   FUZZ_SEED=N      the seed, 0 for a random one; 1 on the patched kernel, random on others

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

seconds=${FUZZ_SECONDS:-60}
seed=${FUZZ_SEED:-}
[[ -n $seed || $KERNEL != patched ]] || seed=1
# An application may send frames that a NIC counts as malicious: shorter than 17 bytes.
"$LAB/boot.sh" --name "fuzz-$KERNEL" --timeout "$((1200 + 15 * seconds))" --timing async \
	--memory 3G --any-events --nic 82599,82599,x710,x710 --wire cable:0-1 --wire cable:2-3 \
	"$KERNEL" -- /src/lab/guest/fuzz.py "$seconds" "$((seconds / 2))" "${seed/#0}" "$@"
