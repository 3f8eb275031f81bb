# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For test groups written in shell: TAP on standard output, the rest on standard
# error. To be sourced; sets TESTS (this folder) and the variables of lab/lib.sh.

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=lab/lib.sh
source "$TESTS/../lib.sh"
tap_number=0
# The kernel with the series; those with more checks are slow (lab/tests/debug.sh)
KERNEL=${KERNEL:-patched}

# check NAME CMD...: one test, passed if CMD succeeds.
check() {
	local name=$1 verdict='ok'
	shift
	"$@" >&2 || verdict='not ok'
	echo "$verdict $((++tap_number)) - $name"
}

# check_fails NAME STATUS TEXT CMD...: passed if CMD ends with STATUS and prints TEXT.
check_fails() {
	local name=$1 want=$2 text=$3
	shift 3
	check "$name" says "$want" "$text" "$@"
}

says() {
	local want=$1 text=$2 status=0 output
	shift 2
	output=$("$@" 2>&1) || status=$?
	printf '%s\n' "$output"
	((status == want)) || { say "status $status, not $want"; return 1; }
	grep -qF -- "$text" <<<"$output" || { say "does not print: $text"; return 1; }
}

skip() {
	echo "ok $((++tap_number)) - $1 # SKIP $2"
}

# To be called at the end, unless the tests are those of join_taps.
plan() {
	echo "1..$tap_number"
}

# join_taps CMD...: CMD prints several TAPs; joins them, with one plan and contiguous
# numbers. With pipefail, a failure of CMD shows.
join_taps() {
	"$@" | awk '/^1\.\./ { next }
		/^(not )?ok / { sub(/ok [0-9]+/, "ok " ++n) }
		{ print; fflush() }
		END { print "1.." n }'
}

# label TEXT CMD...: puts TEXT before the name of each test that CMD prints. An error of CMD is one
# more failed test, with the first splat, and the following tests run all the same.
label() {
	local - status seen
	seen=$(mktemp)
	set +e
	(set -e; "${@:2}") | tee "$seen" | sed -uE "s/^((not )?ok [0-9]+( -)?) /\\1 $1: /"
	status=$?
	((status == 0)) || echo "not ok 0 - $1: ended with status $status$(sed -n 's/^# splat//p;T;q' "$seen")"
	rm "$seen"
}
