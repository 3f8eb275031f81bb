#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/bisect.sh: builds the folders that the series touches at every commit of it,
# with W=1, the last one also with sparse; fails at the first that does not build or brings a
# warning that the base does not have.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

repo=$OUT/linux
tree=$OUT/linux-bisect
build=$OUT/build-bisect

# Folders with files that become part of the kernel.
touched_folders() {
	git -C "$repo" diff --name-only base patched -- '*.c' |
		grep -Ev '^(Documentation|include|samples|scripts|tools)/' |
		xargs -r -n 1 dirname | sort -u | sed 's,$,/,'
}

# Warnings without line numbers, which change with every patch.
warnings() {
	grep -hE 'warning:' "$@" | sed -E 's/:[0-9]+:[0-9]+:/:/' | sort -u
}

# build_commit COMMIT SPARSE FOLDER...: the log of the step holds the warnings. SPARSE is that of
# make: 1 for files that are compiled, 2 for all.
build_commit() {
	git -C "$tree" checkout -q --detach "$1"
	configure_lab "$tree" "$build" core.config net.config check.config patched.config
	make_kernel "$tree" "$build" W=1 C="$2" "${@:3}"
}

"$LAB/tree.sh"
rm -rf "$build"
mkdir -p "$build"
git -C "$repo" worktree prune
[[ -e $tree ]] || git -C "$repo" worktree add -q -f --detach "$tree" base
mapfile -t folders < <(touched_folders)
commits=$(git -C "$repo" log --reverse --format='%h %s' base..patched)
count=0
last=$(grep -c . <<<"$commits")
step bisect-0 "base" build_commit base 1 "${folders[@]}"
while read -r id subject; do
	count=$((count + 1))
	step "bisect-$count" "$id $subject" build_commit "$id" $((count < last ? 0 : 2)) \
		"${folders[@]}"
	new=$(comm -13 <(warnings "$OUT/log/bisect-0.log") <(warnings "$OUT/log/bisect-$count.log"))
	[[ -z $new ]] || die "new warnings at $id ($subject):"$'\n'"$new"
done <<<"$commits"
say "$count commits build, without a new warning, in: ${folders[*]}"
