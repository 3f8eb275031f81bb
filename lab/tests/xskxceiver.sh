#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/xskxceiver{,-DRIVER}.sh: the base's own test of AF_XDP, on the base and on the
# patched kernel: a test that passes on the base has to pass on the patched kernel. On veth, or
# on two ports of DRIVER's NIC with a cable between them.
#
# All tests run on the patched kernel, and those that did not pass there on the base. A test that the
# base fails, too, is listed as skipped, and so is a failure of those with frames of 9000 bytes: they
# are flaky on the base (a duplicate frame; seen in both modes, with softirq and busy poll). Others that
# seem worse run again on both kernels, up to three times. A test that failed once on the base does not
# count, one that passed once on the patched kernel passes. Nine tests always fail on the base on veth;
# they are run with FULL=1 only. All results are kept in out/result/GROUP-{base,patched}-N.txt.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

group=$(basename "$0" .sh)
driver=${group#xskxceiver} driver=${driver#-}
nic=${NICS[${driver:-none}]:-}

# run KERNEL ATTEMPT [TESTS]
run() {
	"$LAB/boot.sh" --timeout 1500 --name "$group-$1" \
		${nic:+--nic "$nic,$nic" --wire cable:0-1} "$1" -- env "ONLY=${3:-}" "FULL=${FULL:-}" \
		/src/lab/guest/xskxceiver.sh ${driver:+"$driver"} >"$OUT/result/$group-$1-$2.txt"
}

# The tests that did not pass in the first run on the patched kernel
not_passed() {
	sed -nE '/_9K_PACKETS$/d; s/^not ok [0-9]+ (FAIL: )?([A-Z]+ .*)/\2/p' "$OUT/result/$group-patched-1.txt"
}

# One line a test, in TAP, from the results of all runs so far.
judge() {
	awk -v number="$tap_number" '
		/ok / {
			bad = /^not /
			sub(/^(not )?ok [0-9]+ /, "")
			sub(/^(PASS|FAIL): /, "")
			if (!($0 in seen)) { seen[$0] = 1; order[++n] = $0 }
			count[$0, FILENAME ~ /patched/, bad]++
		}
		END {
			for (i = 1; i <= n; i++) {
				name = order[i]
				# One without a result did not run
				base_bad = count[name, 0, 1] || !count[name, 0, 0]
				good = count[name, 1, 0]
				if (name ~ /_9K_PACKETS$/)
					base_bad = 1
				verdict = good || base_bad ? "ok" : "not ok"
				note = good ? "" : base_bad ? " # SKIP the base fails it too" : ""
				print verdict, ++number, "- " name note
			}
		}' "$OUT/result/$group"-{base,patched}-[0-9].txt
}

mkdir -p "$OUT/result"
rm -f "$OUT/result/$group"-{base,patched}-[0-9].txt
: >"$OUT/result/$group-base-0.txt" # the base may have nothing to run
check "xskxceiver runs to its end on the patched kernel" run patched 1
mapfile -t tests < <(not_passed)
for attempt in 1 2 3; do
	((attempt == 1)) ||
		check "again on the patched kernel, run $attempt" run patched "$attempt" "${tests[*]/%/;}"
	((!${#tests[@]})) || check "on the base, run $attempt" run base "$attempt" "${tests[*]/%/;}"
	results=$(judge)
	mapfile -t tests < <(sed -nE 's/^not ok [0-9]+ - //p' <<<"$results")
	((${#tests[@]})) || break
	say "seems worse than on the base:" "${tests[@]}"
done
echo "$results"
tap_number=$((tap_number + $(grep -c . <<<"$results")))
[[ -n $driver${FULL:-} ]] || skip "INV_DESC (6), STAT_TX_INVALID, TOO_MANY_FRAGS, STAT_RX_DROPPED" \
	"they fail on the base; FULL=1 runs them"
plan
