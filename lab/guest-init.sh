#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# First process of a guest that lab/boot.sh boots: mounts file systems, runs the
# command, writes its status into the folder that lab/boot.sh gave, and reboots.

dir=${labdir:?} # from the kernel command line
export HOME=/tmp LC_ALL=C.UTF-8 TERM=${labterm:-dumb} PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH+=:/src/lab/guest PYTHONDONTWRITEBYTECODE=1

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=0666,mode=0620 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
[[ ! -d $dir/modules ]] || mount --bind "$dir/modules" /usr/lib/modules
ln -s /proc/self/fd /dev/fd
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
ip link set lo up
hostname lab
ulimit -l unlimited
cd /
# With several CPUs, and if user space is built
(($(nproc) == 1)) || [[ ! -x /out/user/pin_dispatcher ]] || /out/user/pin_dispatcher

# port NAME: the character device of a virtio-serial port
port() {
	local name
	for name in /sys/class/virtio-ports/*/name; do
		[[ $(<"$name") != "$1" ]] || { name=${name%/name}; echo "/dev/${name##*/}"; }
	done
}

# Runs the command and, with kmemleak=on, the leak check
run() {
	local status=0 left=0
	bash "$dir/command" || status=$?
	[[ $(</proc/cmdline) != *kmemleak=on* ]] || /src/lab/guest/leaks.py || left=$?
	return "$((status ? status : left))"
}

if [[ -n ${labterm:-} ]]; then
	setsid -cw bash "$dir/command" <>/dev/hvc0 >&0 2>&1
else
	run </dev/null >"$(port stdout)" 2>"$(port stderr)"
fi
echo "$?" >"$dir/status"
sync
echo b >/proc/sysrq-trigger
sleep 60
