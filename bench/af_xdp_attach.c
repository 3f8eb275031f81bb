// SPDX-License-Identifier: GPL-2.0
/*
 * To preload into a program that uses libxdp: its AF_XDP sockets are attached by XDP_ATTACH, and
 * libxdp loads no program. The library of the benchmark's DPDK opens libxdp by itself, so the next
 * function of a name is looked up there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <xdp/xsk.h>

#include "xsk_fastpath.h"

#define EXPORT __attribute__((visibility("default")))

static void *next(const char *library, const char *name)
{
	void *handle = library ? dlopen(library, RTLD_NOW) : RTLD_NEXT;
	void *found = handle ? dlsym(handle, name) : NULL;

	if (!found) {
		fprintf(stderr, "af_xdp_attach: no %s: %s\n", name, dlerror());
		abort();
	}
	return found;
}

EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	__typeof__(bind) *real = next(NULL, "bind");
	int err;

	if (addr && len >= sizeof(addr->sa_family) && addr->sa_family == AF_XDP) {
		err = xsk_fastpath__attach(fd, 0);
		if (err) {
			errno = -err;
			return -1;
		}
	}
	return real(fd, addr, len);
}

EXPORT int xsk_socket__create_shared(struct xsk_socket **xsk, const char *ifname, __u32 queue,
				     struct xsk_umem *umem, struct xsk_ring_cons *rx,
				     struct xsk_ring_prod *tx, struct xsk_ring_prod *fill,
				     struct xsk_ring_cons *comp,
				     const struct xsk_socket_config *config)
{
	__typeof__(xsk_socket__create_shared) *real = next("libxdp.so.1", __func__);
	struct xsk_socket_config attached = *config;

	attached.libxdp_flags |= XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
	return real(xsk, ifname, queue, umem, rx, tx, fill, comp, &attached);
}

EXPORT int xsk_socket__create(struct xsk_socket **xsk, const char *ifname, __u32 queue,
			      struct xsk_umem *umem, struct xsk_ring_cons *rx,
			      struct xsk_ring_prod *tx, const struct xsk_socket_config *config)
{
	__typeof__(xsk_socket__create) *real = next("libxdp.so.1", __func__);
	struct xsk_socket_config attached = *config;

	attached.libxdp_flags |= XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
	return real(xsk, ifname, queue, umem, rx, tx, &attached);
}
