#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/test.sh [GROUP...]: builds the prerequisites, runs the groups of tests in
# lab/tests (all but the long ones, or those named), and ends with a line
# `N passed, M failed, K skipped`. FULL=1 and SOAK=seconds make some of them longer.
#
# They run in two lanes: the second one has those that boot no guest, at low priority, and then takes
# the last of the others that are left.
#
# Each group's results are in out/result/GROUP.tap, the rest of its output in
# out/log/test-GROUP.log. Each group that needs a guest boots its own.
#
#   SOAK=SECONDS  how long the group soak forwards frames with each driver, 30

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"

GROUPS_ALL=(static lab nicsim uapi kunit attach compose inorder recycle metadata capture drops stress fuzz
	samples companions clients demo ixgbe i40e cross base_bugs xskxceiver dpdk soak bench bisect deb)
# Not in a run without arguments: they take many minutes, and the first have wall-clock limits
# that are hard for a slow machine.
GROUPS_LONG=(xskxceiver-ixgbe xskxceiver-i40e kasan lockdep kcsan)
# They boot no guest: the second lane begins with them.
GROUPS_BESIDE=(static nicsim deb bisect)
(($#)) || set -- "${GROUPS_ALL[@]}"
for group in "$@"; do
	[[ -x $LAB/tests/$group.sh ]] || need "no group $group; there are: ${GROUPS_ALL[*]} ${GROUPS_LONG[*]}"
done

# A group that aborts has one more failed test.
run_group() {
	local tap=$OUT/result/$1.tap status=0 start=$SECONDS
	"$LAB/tests/$1.sh" >"$tap" || status=$?
	if ((status != 0)) && ! grep -q '^ *not ok ' "$tap"; then
		echo "not ok 0 - $1 ended with status $status after test $(grep -c '^ok ' "$tap")," \
			"see out/log/test-$1.log" >>"$tap"
	fi
	echo "# took $((SECONDS - start)) s" >>"$tap"
}

# Prints a group's output around a failed test, the failed assertions (which a kselftest writes to
# standard error), and the end of its log: CI only keeps the output.
show_failure() {
	local log=$OUT/log/test-$1.log
	grep -B 12 -A 5 '^ *not ok ' "$OUT/result/$1.tap" | cut -c 1-2000 >&2 || return 0
	say "Failed assertions:"
	grep -a '^# ' "$log" | tail -n 30 | cut -c 1-300 >&2 || true
	say "The last test that passed: $(grep '^ok ' "$OUT/result/$1.tap" | tail -n 1)" \
		"The end of out/log/test-$1.log:"
	grep -av 'Could not enable error recovery' "$log" | tail -n 60 | cut -c 1-160 >&2 || true
}

run_groups() {
	local group
	for group in "$@"; do
		step "test-$group" "testing: $group" run_group "$group"
		[[ $group != @(kasan|lockdep|kcsan) ]] || "$LAB/debug_table.py"
		[[ $group != clients ]] || "$LAB/clients_table.py"
		show_failure "$group"
	done
}

# Those that the other lane has not taken
run_lane() {
	local group
	for group in "$@"; do
		! mkdir "$OUT/result/taken/$group" 2>/dev/null || run_groups "$group"
	done
}

# Its status is kept in a file: bash forgets that of a process whose PID is in use again, which
# happens within an hour.
run_beside() {
	trap 'echo $? >"$OUT/result/beside.status"' EXIT
	STEPS_BESIDE=1
	(
		renice -n 19 "$BASHPID" >/dev/null
		run_groups "${beside[@]}"
	)
	run_lane "$@"
}

mkdir -p "$OUT/result" "$OUT/log"
"$LAB/tree.sh"
"$LAB/build.sh" base
"$LAB/build.sh" patched
"$LAB/user.sh"
"$LAB/nicsim.sh"
"$LAB/companions.sh" || say "A companion was not built: its tests fail or are skipped."
rm -rf "$OUT/result/taken"
mkdir "$OUT/result/taken"
taps=() guests=() beside=() last=()
for group in "$@"; do
	rm -f "$OUT/result/$group.tap"
	taps+=("$OUT/result/$group.tap")
	case " ${GROUPS_BESIDE[*]} " in
	*" $group "*) beside+=("$group") ;;
	*) guests+=("$group") ;;
	esac
	case " ${GROUPS_BESIDE[*]} ${GROUPS_LONG[*]} " in
	*" $group "*) ;;
	*) last=("$group" "${last[@]}") ;;
	esac
done
rm -f "$OUT/result/beside.status"
# A process group of its own, which ends with us: Ctrl-C does not reach it.
set -m
run_beside "${last[@]}" &
set +m
lane=$!
trap '[[ -s $OUT/result/beside.status ]] || kill -- "-$lane" 2>/dev/null || true' EXIT
run_lane "${guests[@]}"
wait "$lane" 2>/dev/null || true
"$LAB/tap.py" "${taps[@]}"
[[ $(<"$OUT/result/beside.status") == 0 ]] ||
	die "the second lane was not completed; see out/log"
