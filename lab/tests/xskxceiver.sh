#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/xskxceiver.sh: the base's own test of AF_XDP, on the base and on the
# patched kernel: each test has to end in the same way on both. A test that fails on
# both is the base's own failure; it is listed as skipped. Both results are kept in
# out/result/xskxceiver-{base,patched}.txt.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"
shopt -s extglob

result() {
	echo "$OUT/result/xskxceiver-$1.txt"
}

run() {
	"$LAB/boot.sh" --timeout 1500 --name "xskxceiver-$1" "$1" -- \
		/src/lab/guest/xskxceiver.sh >"$(result "$1")"
}

for kernel in base patched; do
	check "xskxceiver runs to its end on the $kernel kernel" run "$kernel"
done
check "the same results on both" diff "$(result base)" "$(result patched)"
while read -r base && read -r patched <&3; do
	[[ $patched == *ok\ * ]] || continue
	[[ $base != not* || $patched != not* ]] || patched="${patched#not } # SKIP the base fails it too"
	echo "${patched/ok +([0-9]) /ok $((++tap_number)) }"
done <"$(result base)" 3<"$(result patched)"
plan
