#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/nicsim.sh: nicsim by itself: format, lints, unit tests and fuzz seeds.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"
[[ -e /.xsk-lab ]] || exec "$LAB/enter.sh" /src/lab/tests/nicsim.sh

# In the form `test NAME ... ok`, one line a test, to TAP.
unit_tests() {
	local verdict name
	while read -r verdict name; do
		case $verdict in
		ok) echo "ok $((++tap_number)) - $name" ;;
		ignored*) skip "$name" "ignored" ;;
		*) echo "not ok $((++tap_number)) - $name" ;;
		esac
	done < <(sed -nE 's/^test (.*) \.\.\. (ok|FAILED|ignored).*/\2 \1/p' <<<"$1")
}

cd "$REPO/nicsim"
check "cargo fmt --check" cargo fmt --check
check "cargo clippy: no warning" cargo clippy --locked --all-targets -- -D warnings
status=0
output=$(cargo test --locked 2>&1) || status=$?
say "$output"
unit_tests "$output"
check "cargo test runs to its end" test "$status" = 0
plan
