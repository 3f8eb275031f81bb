// SPDX-License-Identifier: GPL-2.0
/*
 * pin_dispatcher: keeps the kernel from patching its text whenever an XDP
 * program is attached or detached. QEMU's emulation of several CPUs drops the
 * translation of an instruction before it stores the new one; a CPU that
 * translates in between keeps the old one. The kernel's text_poke writes int3
 * for a moment, which then persists: "Oops: int3". The BPF dispatcher is
 * patched for each XDP program up to the 48th at a time; so this attaches as
 * many, each to the loopback device of its own network namespace, and stays
 * in the background to keep them.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAMS 48 /* BPF_DISPATCHER_MAX of kernel/bpf/dispatcher.c */
#define LOOPBACK 1  /* the first interface of each namespace */

static int attach_one(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd, err;

	if (unshare(CLONE_NEWNET))
		return -errno;
	/* Open for as long as this runs, which keeps the namespace */
	if (open("/proc/self/ns/net", O_RDONLY) < 0)
		return -errno;
	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pin_dispatcher",
			   "GPL", insns, 2, NULL);
	if (fd < 0)
		return fd;

	err = bpf_xdp_attach(LOOPBACK, fd, XDP_FLAGS_SKB_MODE, NULL);
	close(fd);
	return err;
}

int main(void)
{
	int i, err;

	for (i = 0; i < PROGRAMS; i++) {
		err = attach_one();
		if (err) {
			fprintf(stderr, "pin_dispatcher: program %d: %s\n", i,
				strerror(-err));
			return 1;
		}
	}
	if (daemon(0, 0)) {
		perror("pin_dispatcher: daemon");
		return 1;
	}
	pause();
	return 0;
}
