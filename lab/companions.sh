#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/companions.sh [--force] [libxdp|iproute2]...: builds tools that know the fast path: each one's base
# with the patches of companions/NAME, installed below out/companions. All of them by default.
#
# In a guest (make shell): PATH=/out/companions/usr/sbin:$PATH, and
# LD_LIBRARY_PATH=/out/companions/usr/lib/x86_64-linux-gnu. The sources are git trees in
# out/companions/src: tag base, then one commit per patch. To install them on a real machine, apply the
# patches (git am) to a source tree of your own, and build it as its README says. Changes in these
# trees are not thrown away, except with --force.
#
#   IPROUTE2SRC=PATH  tarball or folder of iproute2, which no package registry has. Without it, a
#                     tarball in shared/sources beside this repository is used, if there is one;
#                     if not, iproute2 is left out with a message.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"

PREFIX=$OUT/companions
SOURCES=$PREFIX/src
LIBRARIES=lib/x86_64-linux-gnu

# base_field COMPANION FIELD: the value of a field of its BASE.
base_field() {
	awk -v field="$2" '$1 == field { $1 = ""; print substr($0, 2) }' "$REPO/companions/$1/BASE"
}

# Outside the lab, where all files are visible: copies a source that is not in a registry to $PREFIX.
copy_iproute2() {
	local from=${IPROUTE2SRC:-$REPO/../shared/sources/$(base_field iproute2 file)}
	[[ -r $from ]] || { [[ -z ${IPROUTE2SRC:-} ]] || need "IPROUTE2SRC=$from cannot be read"; return 0; }
	mkdir -p "$PREFIX"
	rm -rf "$PREFIX/iproute2.source"
	if [[ -d $from ]]; then
		cp -r "$from" "$PREFIX/iproute2.source"
	else
		cp "$from" "$PREFIX/iproute2.source"
	fi
}

if [[ ! -e /.xsk-lab ]]; then
	copy_iproute2
fi
in_lab "$@"

# verified FILE COMPANION: fails if it is not the file that BASE pins.
verified() {
	local got
	got=$(sha256sum <"$1" | cut -d' ' -f1)
	[[ $got == "$(base_field "$2" sha256)" ]] ||
		die "the source of $2 is not the file that companions/$2/BASE pins (its sha256 is" \
			"$got); to try the patches on another version, unpack it and name the folder"
}

# cargo downloads a crate, with its dependencies, only for a package that needs it.
get_libxdp() {
	local name version file
	read -r name version <<<"$(base_field libxdp crate)"
	mkdir -p /tmp/crate/src
	touch /tmp/crate/src/lib.rs
	printf '%s\n' '[package]' 'name = "fetch"' 'version = "0.0.0"' 'edition = "2021"' \
		'[dependencies]' "$name = \"=${version%+*}\"" >/tmp/crate/Cargo.toml
	file=$(compgen -G "$CARGO_HOME/registry/cache/*/$name-$version.crate") || {
		cargo fetch --manifest-path /tmp/crate/Cargo.toml
		file=$(compgen -G "$CARGO_HOME/registry/cache/*/$name-$version.crate")
	}
	verified "$file" libxdp
	tar -xf "$file" -C "$1" --strip-components=2 "$name-$version/$(base_field libxdp folder)"
}

get_iproute2() {
	if [[ -d $PREFIX/iproute2.source ]]; then
		cp -r "$PREFIX/iproute2.source/." "$1"
		rm -rf "$1/.git"
		return
	fi
	verified "$PREFIX/iproute2.source" iproute2
	tar -xf "$PREFIX/iproute2.source" -C "$1" --strip-components=1
}

# PREFIX is compiled into the library, which looks for its BPF programs there.
build_libxdp() {
	local options=(-j "$(nproc)" V=1 "PREFIX=$PREFIX/usr" "LIBDIR=$PREFIX/usr/$LIBRARIES")
	./configure
	make "${options[@]}" libxdp
	make -C lib/libxdp/tests "${options[@]}"
	make -C lib/libxdp "${options[@]}" install
}

build_iproute2() {
	./configure
	make -j "$(nproc)" SUBDIRS="lib misc" TARGETS=ss
	install -D -m 755 misc/ss "$PREFIX/usr/sbin/ss"
	install -D -m 644 man/man8/ss.8 "$PREFIX/usr/share/man/man8/ss.8"
}

# Commits or changes that the patches do not have
has_work() {
	[[ -d $1/.git && -e $1.head ]] || return 1
	[[ $(git -C "$1" rev-parse HEAD) != "$(<"$1.head")" ||
		-n $(git -C "$1" status --porcelain --untracked-files=no) ]]
}

# The git tree of a companion: the base, then the patches.
make_tree() {
	local tree=$SOURCES/$1
	[[ -n $force ]] || ! has_work "$tree" || die "${tree#/} has changes: export them with" \
		"git format-patch base -o companions/$1, or throw them away with lab/companions.sh --force $1"
	rm -rf "$tree" "$tree.head"
	mkdir -p "$tree"
	"get_$1" "$tree"
	cd "$tree"
	git init -q .
	git config user.name lab
	git config user.email lab@localhost
	git add -Af .
	git commit -q -m "$1 $(base_field "$1" version)"
	git tag base
	git rev-parse HEAD >"$tree.head"
	compgen -G "$REPO/companions/$1/*.patch" >/dev/null || return 0
	git am --whitespace=nowarn "$REPO/companions/$1"/*.patch
	git rev-parse HEAD >"$tree.head"
}

build() {
	make_tree "$1"
	"build_$1"
}

# What decides the result of a build.
digest() {
	{
		cat "$REPO/companions/$1"/* "$REPO/lab/companions.sh"
		[[ ! -e $PREFIX/$1.source ]] ||
			tar --sort=name --mtime=@0 -cf - -C "$PREFIX" "$1.source"
	} | sha256sum | cut -d' ' -f1
}

force=''
[[ ${1:-} != --force ]] || { force=1; shift; }
(($#)) || set -- libxdp iproute2
mkdir -p "$SOURCES"
for companion; do
	[[ -d $REPO/companions/$companion ]] || need "no companion $companion; there are: libxdp iproute2"
	if [[ $companion == iproute2 && ! -e $PREFIX/iproute2.source ]]; then
		say "iproute2: no source; IPROUTE2SRC=PATH names one (see --help)"
		continue
	fi
	digest=$(digest "$companion")
	[[ "$(cat "$PREFIX/$companion.stamp" 2>/dev/null)" != "$digest" ]] || continue
	rm -f "$PREFIX/$companion.stamp"
	step "companion-$companion" "building the companion $companion" build "$companion"
	echo "$digest" >"$PREFIX/$companion.stamp"
done
