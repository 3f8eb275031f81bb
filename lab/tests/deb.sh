#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/deb.sh: Debian packages of the patched kernel, in the small configuration.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

in_package() {
	# shellcheck disable=SC2016 # expanded inside the lab
	"$LAB/enter.sh" bash -c 'dpkg-deb -c /out/deb-lab/$1 | grep -q "$2"' - "$1" "$2"
}

# shellcheck disable=SC2016 # expanded inside the lab
runs() {
	"$LAB/enter.sh" bash -ec 'dpkg-deb -x /out/deb-lab/xsk-tools_*.deb /tmp
		dpkg-deb -f /out/deb-lab/xsk-tools_*.deb Depends | grep libxdp1
		export LD_LIBRARY_PATH=$(echo /tmp/usr/lib/*)
		/tmp/usr/sbin/xsk-probe --help
		LD_PRELOAD=libxsk-preload.so LD_TRACE_LOADED_OBJECTS=1 /tmp/usr/bin/xdpsock |
			grep "libxsk-preload.so => /tmp/\|/libxsk-preload.so ("
		/tmp/usr/bin/xdpsock --help'
}

check "make deb CONFIG=lab" env CONFIG=lab "$LAB/deb.sh"
check "the name of the kernel" in_package 'linux-image-*-xsk-fastpath_*.deb' \
	'boot/vmlinuz-.*-xsk-fastpath$'
check "the UAPI header is installed" in_package 'linux-libc-dev_*.deb' \
	'include/linux/if_xdp_fastpath.h$'
for file in usr/lib/.*/libxsk-preload.so usr/sbin/xsk-probe usr/bin/xdpsock \
	usr/include/xsk/{xsk_fastpath,linux/if_xdp_fastpath}.h \
	usr/share/man/man{1/xdpsock.1,7/xsk_fastpath.7,8/libxsk-preload.8,8/xsk-probe.8}.gz; do
	check "xsk-tools: ${file##*/}" in_package 'xsk-tools_*.deb' "/$file\$"
done
check "the tools of the package run" runs
plan
