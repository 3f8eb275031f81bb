#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/fetch.sh [base|config]: downloads the files that BASE pins, once, and verifies them each time.
#
#   base     the kernel source; prints its path, version, and "tested" or, if the
#            archive has only a version that is not in BASE, "drift"
#   config   Debian's own kernel configuration for amd64; prints its path
#
# Files are kept in the per-user cache, which all clones share.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"

SERIES=6.12
DIR=$CACHE/base
APT=(-o Dir::State::Lists=/tmp/apt/lists -o Dir::Cache=/tmp/apt -o APT::Sandbox::User=root)

# The expected sha256 of the tarball of VERSION; none for an untested version.
pinned_sums() {
	awk -v version="$1" '$1 == version { print $2 }' "$REPO/BASE"
}

tested_version() {
	awk '!/^#/ && NF { print $1; exit }' "$REPO/BASE"
}

tarball() {
	echo "$DIR/linux-source-${SERIES}_$1.tar.xz"
}

# The version to download: VERSION if any suite has it, else the newest of the series.
choose_version() {
	local offered
	mkdir -p /tmp/apt/lists/partial /tmp/apt/archives/partial
	apt-get "${APT[@]}" update -q --error-on=any >&2 || die "the package lists cannot be fetched:" \
		"is there a network? (mirrors are those of this machine's apt, see lab/root.sh)"
	offered=$(apt-cache "${APT[@]}" madison "linux-source-$SERIES" | awk '{ print $3 }')
	[[ -n $offered ]] || die "the archive has no linux-source-$SERIES any more"
	grep -m 1 -xF "$1" <<<"$offered" || head -n 1 <<<"$offered"
}

# extract PACKAGE VERSION PATH FILE: extracts PATH of that package to FILE.
extract() {
	cd /tmp
	apt-get "${APT[@]}" download "$1=$2" >&2
	dpkg-deb --fsys-tarfile "$1"_*.deb | tar -xO "./$3" >"$4.new"
	rm "$1"_*.deb
	mv "$4.new" "$4"
}

fetch_source() {
	local version file
	version=$(choose_version "$1")
	file=$(tarball "$version")
	[[ -e $file ]] || extract "linux-source-$SERIES" "$version" \
		"usr/src/linux-source-$SERIES.tar.xz" "$file"
	if [[ $version != "$1" ]]; then
		sha256sum <"$file" | cut -d' ' -f1 >"$file.sha256"
		echo "$version" >"$DIR/drift"
	fi
}

# Verifies the tarball of VERSION against BASE or, for a version that is not in BASE, against the
# checksum recorded when apt verified it.
verify() {
	local file want got
	file=$(tarball "$1")
	want=$(pinned_sums "$1")
	[[ -n $want ]] || want=$(cat "$file.sha256")
	got=$(sha256sum <"$file" | cut -d' ' -f1)
	[[ $got == "$want" ]] && return 0
	say "${0##*/}: corrupted: $file" "  expected sha256 $want" "  got      sha256 $got"
	return 1
}

# The cached version to use: a tested one if there is one, else the one that the archive had.
cached_version() {
	local version
	while read -r version _; do
		[[ $version != \#* && -e $(tarball "$version") ]] || continue
		echo "$version"
		return
	done <"$REPO/BASE"
	cat "$DIR/drift" 2>/dev/null || true
}

get_base() {
	local version state=tested
	version=$(cached_version)
	if [[ -n $version ]] && ! verify "$version"; then
		say "It is fetched again."
		rm -f "$(tarball "$version")" "$DIR/drift"
		version=''
	fi
	if [[ -z $version ]]; then
		step fetch "fetching the base" fetch_source "$(tested_version)"
		version=$(cached_version)
		verify "$version" || die "the archive's file is not the one that BASE pins:" \
			"if BASE is right, delete $(tarball "$version") and use another MIRROR"
	fi
	[[ -n $(pinned_sums "$version") ]] || state=drift
	[[ $state == tested ]] || say "" \
		"NOTE: the archive no longer has $(tested_version), which BASE pins and all was" \
		"tested on. This uses $version; patches may apply with an offset." ""
	echo "$(tarball "$version") $version $state"
}

get_config() {
	local file=$DIR/config-amd64 version
	if [[ ! -e $file ]]; then
		version=$(choose_version "$(tested_version)")
		extract "linux-config-$SERIES" "$version" \
			"usr/src/linux-config-$SERIES/config.amd64_none_amd64.xz" "$file.xz"
		xz -d "$file.xz"
	fi
	echo "$file"
}

mkdir -p "$DIR"
exec 8>"$CACHE/base.lock"
flock 8
case ${1:-base} in
base) get_base ;;
config) get_config ;;
*) need "unknown: $1; see --help" ;;
esac
