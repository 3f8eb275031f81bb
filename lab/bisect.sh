#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/bisect.sh [FROM]: builds the folders that a commit of the series touches, at every commit, and
# all that the series touches where it changes a shared header; with W=1, the last one also with
# sparse. Where a commit touches user space, also the samples and selftests of the series; and the
# kernel-doc that the reference page includes must be there. Fails at the first commit that does not
# build or brings a warning that the base does not have, or if the last one does not build without
# AF_XDP. FROM, a commit or section/NAME, takes the place of the base: only later commits are built.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

repo=$OUT/linux
tree=$OUT/linux-bisect
build=$OUT/build-bisect

# touched_folders FROM TO: folders with files that become part of the kernel, without those that are
# in another one: make would build these twice at the same time.
touched_folders() {
	git -C "$repo" diff --name-only "$1" "$2" |
		grep -Ev '^(Documentation|include|samples|scripts|tools)/' | grep / |
		xargs -r -n 1 dirname | sort -u | sed 's,$,/,' |
		awk 'NR == 1 || index($0, last) != 1 { print; last = $0 }'
}

# folders_of COMMIT: the folders that it can change; all, if they share one of its headers, or if it
# is the last one.
folders_of() {
	if [[ $1 == "$tip" ]] || ! git -C "$repo" diff --quiet "$1^" "$1" -- include; then
		touched_folders base patched
	else
		touched_folders "$1^" "$1"
	fi
}

# Warnings without line numbers, which change with every patch.
warnings() {
	grep -hE 'warning:' "$@" | sed -E 's/:[0-9]+:[0-9]+:/:/' | sort -u
}

# Samples and selftests, by the makefiles that the series adds for them.
build_user() {
	local makefile makefiles
	mapfile -t makefiles < <(git -C "$tree" diff --name-only --diff-filter=A base HEAD -- \
		'samples/*.mk' 'tools/*.mk')
	rm -rf "$build-user"
	for makefile in "${makefiles[@]}"; do
		mkdir -p "$build-user/$makefile"
		make -j "$(nproc)" -C "$tree" -f "$makefile" O="$build-user/$makefile" KTREE="$tree"
	done
}

check_docs() {
	local page=$tree/Documentation/networking/af_xdp_fastpath.rst files
	[[ -e $page ]] || return 0
	mapfile -t files < <(sed -n 's/^\.\. kernel-doc:: *//p' "$page")
	((${#files[@]})) || return 0
	(cd "$tree" && ls -- "${files[@]}" && scripts/kernel-doc -none -Wall -Werror "${files[@]}")
}

# build_commit COMMIT SPARSE FOLDER...: the log of the step holds the warnings. SPARSE is that of
# make: 1 for files that are compiled, 2 for all.
build_commit() {
	local before
	before=$(git -C "$tree" rev-parse HEAD)
	git -C "$tree" checkout -q --detach "$1"
	# Takes longer than what most commits change
	if [[ ! -e $build/.config ]] ||
		! git -C "$tree" diff --quiet "$before" HEAD -- '*Kconfig*'; then
		configure_lab "$tree" "$build" core.config net.config check.config patched.config
	fi
	(($# == 2)) || make_kernel "$tree" "$build" W=1 C="$2" "${@:3}"
	[[ $1 != "$from" ]] || return 0
	git -C "$tree" diff --quiet "$1^" "$1" -- include/uapi samples tools || build_user
	check_docs
}

# The tip without AF_XDP: drivers need a stub of each function.
build_without() {
	"$tree/scripts/config" --file "$build/.config" -d XDP_SOCKETS
	make_kernel "$tree" "$build" olddefconfig
	make_kernel "$tree" "$build" "$@"
}

from=${1:-base}
"$LAB/tree.sh"
rm -rf "$build"
mkdir -p "$build"
git -C "$repo" worktree prune
[[ -e $tree ]] || git -C "$repo" worktree add -q -f --detach "$tree" base
mapfile -t folders < <(touched_folders base patched)
tip=$(git -C "$repo" log -1 --format=%h patched)
commits=$(git -C "$repo" log --reverse --format='%h %s' "$from..patched")
count=0
last=$(grep -c . <<<"$commits")
step bisect-0 "$from" build_commit "$from" 1 "${folders[@]}"
while read -r id subject; do
	count=$((count + 1))
	mapfile -t touched < <(folders_of "$id")
	step "bisect-$count" "$id $subject" build_commit "$id" $((count < last ? 0 : 2)) \
		"${touched[@]}"
	new=$(comm -13 <(warnings "$OUT/log/bisect-0.log") <(warnings "$OUT/log/bisect-$count.log"))
	[[ -z $new ]] || die "new warnings at $id ($subject):"$'\n'"$new"
done <<<"$commits"
step bisect-without "CONFIG_XDP_SOCKETS=n" build_without "${folders[@]}"
say "$count commits build, without a new warning, in: ${folders[*]}"
