#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tree.sh: makes or updates the kernel trees: out/linux (base, then one commit
# per mail in patches/) and out/linux-base (the base alone).
#
# The base is the one that BASE pins, or the tree that KSRC=/path names. Work in
# out/linux that is not in the repository yet is not overwritten, unless with --force.
# --allow-drift accepts 3-way merges and less context.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

if [[ -n ${KSRC:-} ]]; then
	base=(--base-dir "$KSRC" --allow-drift)
else
	found=$("$LAB/fetch.sh")
	read -r tarball version state <<<"$found"
	say "base: linux-source $version ($state)"
	base=(--base-tar "$tarball")
	[[ $state == tested ]] || base+=(--allow-drift)
fi
step tree "making the kernel trees" python3 "$LAB/series.py" tree "${base[@]}" \
	--repo "$REPO" --tree "$OUT/linux" --base-worktree "$OUT/linux-base" "$@"
