#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/{kasan,lockdep,kcsan}.sh: the patched kernel with expensive checks: the tests of other
# groups on the patched kernel, most with fewer frames, the fuzzer, and reconfiguration of a port
# under load; with kasan, also failing allocations, and a check that a guest leaves nothing behind.
# lab/debug_table.py makes results/debug.md of the results of the parts, which are in
# out/result/KERNEL. PARTS='fuzz|base bugs' only runs those whose names match.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

KERNEL=$(basename "$0" .sh)
export KERNEL FRAMES=512 FUZZ_SECONDS=${FUZZ_SECONDS:-60}

# part TEXT CMD...: CMD prints TAP.
part() {
	[[ $1 =~ ${PARTS:-.} ]] || return 0
	{ echo "# tree $tree"; label "$@"; } | tee "$results/$1.tap"
}

# guest SCRIPT DRIVER OPTION...: lab/guest/SCRIPT.py, for a port with a generator and a sink.
guest() {
	"$LAB/boot.sh" --name "$2-$1-$KERNEL" --timeout 3000 --timing async --nic "${NICS[$2]}" \
		--wire gen:0,size=imix,flows=16,rate=20000,start=off --wire sink:0,verify "${@:3}" \
		"$KERNEL" -- "/src/lab/guest/$1.py" "$2"
}

# They once panicked the kernel within seconds
writers() {
	"$LAB/boot.sh" --name "writers-$KERNEL" --timeout "$((1200 + $1))" "$KERNEL" -- \
		env "XSK_ATTACH_FRAMES=$FRAMES" /src/lab/guest/writers.sh "$1"
}

run() {
	local group driver traffic='attach zero-copy|resets|storm'
	# DMA debugging reports xp_alloc(), which has one sync for a chunk on two pages
	[[ $KERNEL != lockdep ]] || traffic='attach zero-copy(, busy poll|, two .*)?$|resets|storm'
	for group in kunit attach inorder recycle stress fuzz; do
		part "$group" "$TESTS/$group.sh"
	done
	for driver in "${DRIVERS[@]}"; do
		part "$driver traffic" "$TESTS/$driver.sh" "$traffic"
		part "$driver reconfiguration" guest reconfigure "$driver"
		[[ $KERNEL != kasan ]] || part "$driver failing allocations" guest faults "$driver"
	done
	part "base bugs" env PATCHED_ONLY=1 "$TESTS/base_bugs.sh"
	[[ $KERNEL != kasan ]] || part "ten minutes of writers" writers 600
}

"$LAB/build.sh" "$KERNEL"
tree=unknown
[[ -n $(git -C "$OUT/linux" status --porcelain) ]] ||
	tree=$(git -C "$OUT/linux" rev-parse 'patched^{tree}')
results=$OUT/result/$KERNEL
mkdir -p "$results"
join_taps run
