#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/test.sh [GROUP...]: builds what the tests need, runs the groups of tests in
# lab/tests (all but the long ones, or those named), and ends with a line
# `N passed, M failed`. FULL=1 and SOAK=seconds make some of them longer.
#
# Each group's results are in out/result/GROUP.tap, the rest of what it says in
# out/log/test-GROUP.log. Each group that needs a guest boots its own.
#
#   SOAK=SECONDS  how long the group soak forwards frames with each driver, 30

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"

GROUPS_ALL=(static lab nicsim uapi kunit attach inorder recycle many fuzz samples demo ixgbe i40e cross
	mends xskxceiver dpdk soak bench bisect deb)
# Not in a run without arguments: they take many minutes, and limits of wall-clock time in
# the first are hard for a slow machine.
GROUPS_LONG=(xskxceiver-ixgbe xskxceiver-i40e kasan lockdep kcsan)
(($#)) || set -- "${GROUPS_ALL[@]}"
for group in "$@"; do
	[[ -x $LAB/tests/$group.sh ]] || need "no group $group; there are: ${GROUPS_ALL[*]} ${GROUPS_LONG[*]}"
done

# A group that breaks off has one failed test more.
run_group() {
	local tap=$OUT/result/$1.tap status=0
	"$LAB/tests/$1.sh" >"$tap" || status=$?
	if ((status != 0)) && ! grep -q '^ *not ok ' "$tap"; then
		echo "not ok 0 - $1 ended with status $status after test $(grep -c '^ok ' "$tap")," \
			"see out/log/test-$1.log" >>"$tap"
	fi
}

# What a group says of a failed test, and the end of its log: all there is of it where only
# the output is kept, as in CI.
show_failure() {
	grep -A 5 '^ *not ok ' "$OUT/result/$1.tap" | cut -c 1-2000 >&2 || return 0
	say "The last test that passed: $(grep '^ok ' "$OUT/result/$1.tap" | tail -n 1)" \
		"The end of out/log/test-$1.log:"
	grep -v 'Could not enable error recovery' "$OUT/log/test-$1.log" | tail -n 60 | cut -c 1-160 >&2
}

mkdir -p "$OUT/result" "$OUT/log"
"$LAB/tree.sh"
"$LAB/build.sh" base
"$LAB/build.sh" patched
"$LAB/user.sh"
"$LAB/nicsim.sh"
taps=()
for group in "$@"; do
	rm -f "$OUT/result/$group.tap"
	step "test-$group" "testing: $group" run_group "$group"
	taps+=("$OUT/result/$group.tap")
	[[ $group != @(kasan|lockdep|kcsan) ]] || "$LAB/debug_table.py"
	show_failure "$group"
done
exec "$LAB/tap.py" "${taps[@]}"
