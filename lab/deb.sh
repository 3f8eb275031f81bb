#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/deb.sh: builds Debian packages of the patched kernel, for a real machine,
# in out/deb, or out/deb-lab with CONFIG=lab.
#
# CONFIG=FILE is the kernel configuration; CONFIG=lab is the small one of the lab
# (for virtual machines only; takes minutes). The default is Debian's own for amd64:
# one or two hours on two CPUs, and 25 GB of disk space.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"

tree=$OUT/linux
build=$OUT/build-deb
packages=$OUT/deb
[[ ${CONFIG:-} != lab ]] || packages+=-lab
# A file outside the repository is not visible inside the lab.
if [[ ! -e /.xsk-lab && -n ${CONFIG:-} && $CONFIG != lab ]]; then
	[[ -r $CONFIG ]] || need "CONFIG=$CONFIG cannot be read"
	mkdir -p "$OUT"
	cp "$CONFIG" "$OUT/user.config"
	CONFIG=$OUT/user.config
fi
in_lab "$@"

configure() {
	if [[ ${CONFIG:-} == lab ]]; then
		configure_lab "$tree" "$build" core.config net.config check.config patched.config
		check_config "$build" "$build/lab.config"
		return
	fi
	local start=$OUT/user.config
	[[ -n ${CONFIG:-} ]] || start=$("$LAB/fetch.sh" config)
	cat "$start" "$LAB/kconfig/deb.config" >"$build/.config"
	make_kernel "$tree" "$build" olddefconfig
	check_config "$build" "$LAB/kconfig/deb.config"
}

# Packages are put next to the build folder, which is mounted at /tmp/kernel/build.
build_packages() {
	configure
	rm -f "$build"/debian/files
	make_kernel "$tree" "$build" bindeb-pkg DPKG_FLAGS=-d \
		DEB_BUILD_PROFILES=pkg.linux-upstream.nokerneldbg \
		KDEB_PKGVERSION="$(make -s -C "$tree" kernelversion)-1"
	rm -rf "$packages"
	mkdir "$packages"
	mv /tmp/kernel/*.deb "$packages"
}

"$LAB/tree.sh"
mkdir -p "$build"
step deb "building Debian packages" build_packages
say "Packages, in out/${packages##*/}:" "$(ls "$packages")"
