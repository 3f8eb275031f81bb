#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/deb.sh [--tools]: builds Debian packages of the patched kernel and of its tools (xsk-tools), for
# a real machine, in out/deb, or out/deb-lab with CONFIG=lab. With --tools only those, in seconds.
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

# tool_depends FILE...: the libraries that these files need, as packages.
tool_depends() {
	mkdir -p /tmp/depends/debian
	cd /tmp/depends
	printf 'Source: xsk-tools\nPackage: xsk-tools\n' >debian/control
	dpkg-shlibdeps -O "$@" | sed 's/^shlibs:Depends=//'
}

# Preload library, xsk-probe, xdpsock, header and man pages.
build_tools() {
	local stage=/tmp/xsk-tools objects=/tmp/xsk-objects version arch lib files
	version=$(make -s -C "$tree" kernelversion)-1
	arch=$(dpkg --print-architecture)
	lib=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	make -C "$tree/tools/net/xsk" O="$objects" DESTDIR="$stage" prefix=/usr libdir="$lib" install
	make -C "$tree" -f samples/bpf/xdpsock.mk O="$objects" DESTDIR="$stage" prefix=/usr install
	files=("$stage$lib/libxsk-preload.so" "$stage/usr/sbin/xsk-probe" "$stage/usr/bin/xdpsock")
	strip --strip-unneeded "${files[@]}"
	find "$stage/usr/share/man" -type f -exec gzip -9n {} +
	install -D -m 644 "$REPO/COPYING" "$stage/usr/share/doc/xsk-tools/copyright"
	mkdir "$stage/DEBIAN"
	cat >"$stage/DEBIAN/control" <<-end
		Package: xsk-tools
		Version: $version
		Architecture: $arch
		Maintainer: $(git -C "$tree" log -1 --format='%an <%ae>' patched)
		Section: net
		Priority: optional
		Depends: $(tool_depends "${files[@]}")
		Description: tools of the AF_XDP fast path
		 A library to preload, which attaches the sockets of applications that use
		 libxdp; xsk-probe, which prints what works on a queue; the benchmark xdpsock;
		 and the header of the socket options.
	end
	mkdir -p "$packages"
	dpkg-deb --root-owner-group --build "$stage" "$packages"
}

"$LAB/tree.sh"
mkdir -p "$build"
[[ ${1:-} == --tools ]] || step deb "building Debian packages" build_packages
step deb-tools "building the package of the tools" build_tools
say "Packages, in out/${packages##*/}:" "$(ls "$packages")"
