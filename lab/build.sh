#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/build.sh KERNEL [TARGET...]: builds a kernel for the lab, in out/build-KERNEL; the default
# targets are bzImage and modules.
#
#   base                     out/linux-base
#   patched                  out/linux
#   kasan, lockdep, kcsan    the same with debug options: lab/kconfig/KERNEL.config
#   base-kasan and so on     the base with these
#
# It builds uncommitted changes as well. Takes only a second when nothing has changed since the
# previous build.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

kernel=${1:-}
case $kernel in
base) fragments=(base) ;;
patched) fragments=(patched) ;;
kasan | lockdep | kcsan) fragments=(patched "$kernel") ;;
base-kasan | base-lockdep | base-kcsan) fragments=(base "${kernel#base-}") ;;
*) need "which kernel? See --help" ;;
esac
shift
(($#)) || set -- bzImage modules
declare -A TREES=([base]=$OUT/linux-base [patched]=$OUT/linux)
tree=${TREES[${fragments[0]}]}
build=$OUT/build-$kernel
fragments=({core,net,check}.config "${fragments[@]/%/.config}")

# Prints the git tree of the current content, committed or not.
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
	cat "${fragments[@]/#/$LAB/kconfig/}" "$LAB/cc"
	gcc --version
	echo "$@"
}

# lab/boot.sh shows the guest the modules in $build/root.
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
