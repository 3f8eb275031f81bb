# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For test groups written in shell: TAP on standard output, the rest on standard
# error. To be sourced; leaves TESTS (this folder) and what lab/lib.sh sets.

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=lab/lib.sh
source "$TESTS/../lib.sh"
tap_number=0

# check NAME CMD...: one test, passed if CMD succeeds.
check() {
	local name=$1 verdict='ok'
	shift
	"$@" >&2 || verdict='not ok'
	echo "$verdict $((++tap_number)) - $name"
}

# check_fails NAME STATUS TEXT CMD...: passed if CMD ends with STATUS and says TEXT.
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
	grep -qF -- "$text" <<<"$output" || { say "does not say: $text"; return 1; }
}

skip() {
	echo "ok $((++tap_number)) - $1 # SKIP $2"
}

# To be called at the end.
plan() {
	echo "1..$tap_number"
}
