#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/enter.sh CMD [ARG...]: runs CMD inside the lab root, in new namespaces;
# nothing stays mounted or running when it ends. The lab root is read-only.
#
#   /src    this repository             /out   its folder out/
#   /cache  the per-user cache          /ksrc  the folder that KSRC names, if any
#   /tmp    empty, discarded afterwards

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"

# Called by ns_run as process 1: mounts the lab and runs the command in it.
setup() {
	local root=$1 node
	shift
	mount --bind "$root" "$root"
	mount -o remount,bind,ro "$root"
	mount --bind "$REPO" "$root/src"
	mount --bind "$OUT" "$root/out"
	mount --bind "$CACHE" "$root/cache"
	if [[ -n ${KSRC:-} ]]; then
		mount --bind "$KSRC" "$root/ksrc"
		mount -o remount,bind,ro "$root/ksrc"
	fi
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount -o remount,bind,ro "$root/sys"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	mkdir "$root/dev/net"
	for node in null zero full random urandom tty net/tun; do
		[[ -e /dev/$node ]] || continue
		touch "$root/dev/$node"
		mount --bind "/dev/$node" "$root/dev/$node"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	ln -s fd/0 "$root/dev/stdin"
	ln -s fd/1 "$root/dev/stdout"
	ln -s fd/2 "$root/dev/stderr"
	bind_file /etc/resolv.conf "$root"
	bind_file /etc/ssl/certs/ca-certificates.crt "$root"
	cd /
	chroot "$root" /usr/bin/env -i "${environment[@]}" "$@"
}

# For downloads: the host's resolver configuration and CA certificates.
bind_file() {
	[[ ! -r $1 || ! -e $2$1 ]] || mount --bind "$(readlink -f "$1")" "$2$1"
}

# ccache: the dependency mode makes a first build 20 % faster (no run of the preprocessor
# for the cache). CCACHE_NOCPP2 would too, but it changes what Kconfig detects about the
# compiler, and so the kernel.
environment=(
	HOME=/tmp LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" PATH=/usr/sbin:/usr/bin:/sbin:/bin
	CCACHE_DIR=/cache/ccache CCACHE_DEPEND=1
	PYTHONDONTWRITEBYTECODE=1
	CARGO_HOME=/cache/cargo CARGO_TARGET_DIR=/out/nicsim
	${KSRC:+KSRC=/ksrc} ${CONFIG:+CONFIG="$CONFIG"}
)

if [[ ${1:-} == --setup ]]; then
	shift
	setup "$@"
	exit
fi
help_if_asked "$@"
(($#)) || need "no command; see --help"
[[ -z ${KSRC:-} || -e $KSRC/Kbuild ]] || need "KSRC=$KSRC is not a kernel tree"
root=$("$LAB/root.sh")
mkdir -p "$OUT" "$CACHE"
ns_run "$LAB/enter.sh" --setup "$root" "$@"
