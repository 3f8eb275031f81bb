#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/build.sh base|patched [TARGET...]: builds a kernel for the lab, in
# out/build-base or out/build-patched; targets are bzImage and modules.
#
# Builds what is in out/linux (patched) or out/linux-base (base), also work that
# is not committed. Takes a second when nothing has changed since the last time.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

declare -A TREES=([base]=$OUT/linux-base [patched]=$OUT/linux)
kernel=${1:-}
tree=${TREES[${kernel:-none}]:-}
[[ -n $tree ]] || need "which kernel, base or patched? See --help"
shift
(($#)) || set -- bzImage modules
build=$OUT/build-$kernel
fragments=({core,net,check,"$kernel"}.config)

# Identifies what is in the tree now, committed or not.
tree_id() {
	local index
	index=$(mktemp)
	cp "$(git -C "$tree" rev-parse --path-format=absolute --git-path index)" "$index"
	GIT_INDEX_FILE=$index git -C "$tree" add -A
	GIT_INDEX_FILE=$index git -C "$tree" write-tree
	rm "$index"
}

inputs() {
	tree_id
	cat "${fragments[@]/#/$LAB/kconfig/}"
	gcc --version
	echo "$@"
}

# Modules go where lab/boot.sh shows them to the guest.
build_kernel() {
	configure_lab "$tree" "$build" "${fragments[@]}"
	check_config "$build" "$build/lab.config"
	make_kernel "$tree" "$build" "$@"
	rm -rf "$build/root"
	make_kernel "$tree" "$build" modules_install \
		INSTALL_MOD_PATH=/tmp/kernel/build/root INSTALL_MOD_STRIP=1
}

[[ -e $OUT/linux ]] || "$LAB/tree.sh"
mkdir -p "$build"
stamp=$(inputs "$@" | sha256sum)
if [[ -e $build/lab.stamp && $(<"$build/lab.stamp") == "$stamp" ]]; then
	say "kernel ($kernel): up to date"
	exit
fi
rm -f "$build/lab.stamp"
step "build-$kernel" "building kernel ($kernel)" build_kernel "$@"
echo "$stamp" >"$build/lab.stamp"
