#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/clean.sh [out] [cache]: removes the output folder of this clone, and the
# per-user cache (base, lab root, compiler cache) that all clones of a user share.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"

# Files in the lab root may belong to other users of the user namespace.
for what in "$@"; do
	case $what in
	out) folder=$OUT ;;
	cache) folder=$CACHE ;;
	*) need "unknown: $what; see --help" ;;
	esac
	say "removing $folder"
	ns_run rm -rf --one-file-system -- "$folder"
done
