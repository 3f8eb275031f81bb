#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/bisect.sh [--sections] [FROM]: builds the files that the series touches at every commit, with W=1,
# the last one also with sparse. Where a commit touches user space, also the samples and selftests of
# the series; and the kernel-doc that the reference page includes must be there. Fails at the first
# commit that does not build or brings a warning that the base does not have, or if the last one does
# not build without AF_XDP.
#
# FROM, a commit or section/NAME, takes the place of the base: only later commits are built.
#
#   --sections  only the last commit of each section

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

which=()
if [[ ${1:-} == --sections ]]; then
	which=(--simplify-by-decoration '--decorate-refs=refs/heads/section/*')
	shift
fi

repo=$OUT/linux
tree=$OUT/linux-bisect
build=$OUT/build-bisect

# Files of the kernel that the series touches and the lab's configuration compiles, as objects.
touched_objects() {
	git -C "$repo" diff --name-only base patched |
		grep -Ev '^(Documentation|include|samples|scripts|tools)/' | sed -n 's/c$/o/p' |
		while read -r object; do
			[[ ! -e $OUT/build-patched/$object ]] || echo "$object"
		done
}

# Warnings without line numbers, which change with every patch.
warnings() {
	grep -hE 'warning:' "$@" | sed -E 's/:[0-9]+:[0-9]+:/:/' | sort -u
}

# Samples and selftests, by the makefiles that the series adds for them.
build_user() {
	local makefile makefiles
	mapfile -t makefiles < <(git -C "$tree" diff --name-only --diff-filter=A base HEAD -- \
		'samples/*.mk' 'tools/*.mk' tools/net/xsk/Makefile)
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

# build_commit COMMIT SPARSE: the log of the step holds the warnings. SPARSE is that of make: 1 for
# files that are compiled, 2 for all.
build_commit() {
	local before object present=()
	before=$(git -C "$tree" rev-parse HEAD)
	git -C "$tree" checkout -q --detach "$1"
	# Takes longer than what most commits change
	if [[ ! -e $build/.config ]] ||
		! git -C "$tree" diff --quiet "$before" HEAD -- '*Kconfig*'; then
		configure_lab "$tree" "$build" core.config net.config check.config patched.config
	fi
	for object in "${objects[@]}"; do
		[[ ! -e $tree/${object%o}c ]] || present+=("$object")
	done
	make_kernel "$tree" "$build" W=1 C="$2" "${present[@]}"
	[[ $1 != "$from" ]] || return 0
	git -C "$tree" diff --quiet "$before" HEAD -- include/uapi samples tools || build_user
	check_docs
}

# The tip without AF_XDP: drivers need a stub of each function. Some files are not compiled then, so
# that make gets folders, but for large ones.
build_without() {
	local targets
	mapfile -t targets < <(printf '%s\n' "${objects[@]}" |
		sed -E '/^net\/xdp\//d; /^(net|drivers\/net)\/[^/]+$/!s,[^/]+$,,' | sort -u)
	"$tree/scripts/config" --file "$build/.config" -d XDP_SOCKETS
	make_kernel "$tree" "$build" olddefconfig
	make_kernel "$tree" "$build" "${targets[@]}"
}

from=${1:-base}
"$LAB/build.sh" patched
rm -rf "$build" "$build-user"
mkdir -p "$build"
git -C "$repo" worktree prune
[[ -e $tree ]] || git -C "$repo" worktree add -q -f --detach "$tree" base
mapfile -t objects < <(touched_objects)
mapfile -t commits < <(git -C "$repo" log --reverse "${which[@]}" --format='%h %s' "$from..patched")
count=0
step bisect-0 "$from" build_commit "$from" 1
while read -r id subject; do
	count=$((count + 1))
	step "bisect-$count" "$id $subject" build_commit "$id" $((count < ${#commits[@]} ? 0 : 2))
	new=$(comm -13 <(warnings "$OUT/log/bisect-0.log") <(warnings "$OUT/log/bisect-$count.log"))
	[[ -z $new ]] || die "new warnings at $id ($subject):"$'\n'"$new"
done < <(printf '%s\n' "${commits[@]}")
step bisect-without "CONFIG_XDP_SOCKETS=n" build_without
say "$count commits build without a new warning: ${#objects[@]} files"
