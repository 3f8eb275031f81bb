#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/tests/deb.sh: Debian packages of the patched kernel, in the small configuration.

# shellcheck source=lab/tests/lib.sh
source "$(dirname "$0")/lib.sh"

in_package() {
	# shellcheck disable=SC2016 # expanded inside the lab
	"$LAB/enter.sh" bash -c 'dpkg-deb -c /out/deb-lab/$1 | grep -q "$2"' - "$1" "$2"
}

check "make deb CONFIG=lab" env CONFIG=lab "$LAB/deb.sh"
check "the name of the kernel" in_package 'linux-image-*-xsk-fastpath_*.deb' \
	'boot/vmlinuz-.*-xsk-fastpath$'
check "the UAPI header is installed" in_package 'linux-libc-dev_*.deb' \
	'include/linux/if_xdp_fastpath.h$'
plan
