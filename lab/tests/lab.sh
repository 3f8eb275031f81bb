#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/lab.sh: what the lab promises: a round trip of the series changes
# nothing, damage is noticed, nothing is left behind, failures are seen.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

# Refreshes a copy of the repository from out/linux and compares.
round_trip() {
	# shellcheck disable=SC2016 # expanded inside the lab
	"$LAB/enter.sh" bash -euc '
		mkdir /tmp/copy
		cd /src
		cp -a series patches results Documentation drivers include net samples tools /tmp/copy
		cp -a /tmp/copy /tmp/before
		python3 /src/lab/series.py refresh --repo /tmp/copy --tree /out/linux
		diff -r /tmp/before /tmp/copy'
}

mail_series() {
	local name mails
	rm -rf "$OUT/series"
	"$LAB/enter.sh" python3 /src/lab/series.py series --out /out/series
	while read -r name; do
		mails=$(find "$OUT/series/$name" -name '*.patch' | wc -l)
		grep -q "^Subject: \[PATCH .*0/$((mails - 1))\]" "$OUT/series/$name"/0000-* || return 1
	done < <(sed -n 's/^# section //p' "$REPO/series")
	mails=$(find "$OUT/series" -name '[0-9]*.patch' -not -name '0000-*' | wc -l)
	((mails > 0 && mails == $(grep -c '^[0-9]' "$REPO/series")))
}

# A cache of its own with the same root and a damaged tarball.
corrupted_tarball() {
	local cache=$scratch/cache root file
	root=$("$LAB/root.sh")
	file=$(find "$CACHE/base" -name '*.tar.xz' | head -n 1)
	mkdir -p "$cache/xsk-fastpath/base"
	ln -s "$root" "$root.stamp" "$cache/xsk-fastpath/"
	head -c 1000000 "$file" >"$cache/xsk-fastpath/base/${file##*/}"
	XDG_CACHE_HOME=$cache says 0 "corrupted" "$LAB/fetch.sh" || return
	cmp "$file" "$cache/xsk-fastpath/base/${file##*/}"
}

# Ctrl-C goes to all processes of the foreground group.
interrupted() {
	local before after pid tries=100
	before=$(wc -l </proc/self/mounts)
	setsid "$LAB/enter.sh" sleep 4242 &
	pid=$!
	until pgrep -f '^sleep 4242' >/dev/null; do
		((--tries)) || { say "it did not start"; return 1; }
		sleep 0.3
	done
	kill -INT -- "-$pid" || true
	kill -TERM -- "-$pid" || true
	wait "$pid" || true
	sleep 1
	after=$(wc -l </proc/self/mounts)
	! pgrep -f '^sleep 4242' && ((before == after))
}

# Somebody who is not root, on a machine that lets such a user make no namespaces.
without_root() {
	cp -r "$REPO/lab" "$REPO/BASE" "$REPO/series" "$REPO/Makefile" "$scratch"
	chmod -R a+rX "$scratch"
	mkdir -m 777 "$scratch/home" "$scratch/out"
	setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$scratch/home" \
		XDG_CACHE_HOME="$scratch/home" make -C "$scratch" tree
}

in_path_with_spaces() {
	mkdir "$scratch/a b"
	git clone -q "$REPO" "$scratch/a b/clone"
	"$scratch/a b/clone/lab/enter.sh" test -e /src/series
}

# The compiler cache must not return the object of other content.
included_by_incbin() {
	# shellcheck disable=SC2016 # expanded inside the lab
	"$LAB/enter.sh" bash -euc '
		cd /tmp
		echo ".incbin \"content\"" >included.S
		for content in first other; do
			echo "$content" >content
			/src/lab/cc -c -Wp,-MMD,included.d included.S -o "$content.o"
			strings -a "$content.o" | grep -x "$content"
		done'
}

boot() {
	"$LAB/boot.sh" --name lab-test "$@"
}

check "the series: tree and back is a no-op" round_trip
check "make series writes the mails and cover letter of each section" mail_series
check "a corrupted tarball is noticed and fetched again" corrupted_tarball
check "an interrupted command leaves no process and no mount" interrupted
check_fails "without root it says what to do" 2 "no user namespaces" without_root
check "a path with spaces" in_path_with_spaces
check "a file included by .incbin is not cached" included_by_incbin
check_fails "a guest's command gives the status" 7 "" boot patched -- bash -c 'exit 7'
check_fails "a kernel splat fails the run" 99 "WARNING" \
	boot patched -- bash -c 'echo "WARNING: CPU: 0 PID: 1 at lab/tests:1 made up" >/dev/kmsg'
check_fails "a guest that hangs is killed" 124 "killed" boot --timeout 15 patched -- sleep 1000
plan
