#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/{kasan,lockdep,kcsan}.sh: the patched kernel with checks that cost much: the tests
# that others run on the patched kernel, with fewer frames, and what an administrator does to a
# port under load; with kasan, also allocations that fail.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

KERNEL=$(basename "$0" .sh)
export KERNEL FRAMES=512

# part TEXT CMD...: CMD prints TAP; that it ended well is one test more, and the rest goes on.
part() {
	local status=0
	label "$@" || status=$?
	((status == 0)) || echo "not ok 0 - $1: ended with status $status"
}

# guest SCRIPT DRIVER OPTION...: lab/guest/SCRIPT.py, for a port with a generator and a sink.
guest() {
	"$LAB/boot.sh" --name "$2-$1-$KERNEL" --timeout 3000 --timing async --nic "${CARDS[$2]}" \
		--wire gen:0,size=imix,flows=16,rate=20000,start=off --wire sink:0,verify "${@:3}" \
		"$KERNEL" -- "/src/lab/guest/$1.py" "$2"
}

run() {
	local group driver traffic='attach zero-copy|resets|storm'
	# DMA debugging takes it for wrong that xp_alloc() has one sync for a chunk on two pages
	[[ $KERNEL != lockdep ]] || traffic='attach zero-copy(, busy poll|, two .*)?$|resets|storm'
	for group in kunit attach inorder recycle many; do
		part "$group" "$TESTS/$group.sh"
	done
	for driver in "${DRIVERS[@]}"; do
		part "$driver" "$TESTS/$driver.sh" "$traffic"
		part "$driver" guest upheaval "$driver"
		[[ $KERNEL != kasan ]] ||
			part "$driver" guest faults "$driver" --append kmemleak=on
	done
}

"$LAB/build.sh" "$KERNEL"
join_taps run
