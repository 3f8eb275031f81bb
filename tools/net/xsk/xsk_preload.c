// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libxsk-preload.so: attach the sockets of applications that use libxdp.
 *
 * To be preloaded. The AF_XDP sockets that the application creates through
 * libxdp are attached by XDP_ATTACH and XDP_ATTACH_F_PASS, and libxdp neither
 * loads a program nor creates an XSKMAP for them. Where this does not work, the
 * application behaves as without this library. libxsk-preload(8) has the rules
 * and the limits.
 *
 * xsk_socket__create() and xsk_socket__create_shared() of libxdp call
 * xsk_socket__create_opts() through the PLT, which leads here. It calls bind()
 * in the same thread, which leads here as well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <xdp/xsk.h>

#include "xsk_fastpath.h"

#define EXPORT __attribute__((visibility("default")))

#define NEEDED (XDP_FASTPATH_F_ATTACH | XDP_FASTPATH_F_PASS)

/* A socket that libxdp creates in this thread */
struct request {
	const char *ifname;
	__u32 queue;
	__u32 flags;		/* XDP_ATTACH_F_* */
	bool rx;		/* has an Rx ring */
	bool refused;		/* result of bind(): cannot be attached */
};

static __thread struct request *current;

/* Fields of later versions of libxdp fit as well */
union opts_copy {
	struct xsk_socket_opts opts;
	char bytes[512];
};

static void *next_function(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found) {
		fprintf(stderr, "xsk-preload: no %s(): needs libxdp 1.5\n",
			name);
		abort();
	}
	return found;
}

static void report(const struct request *request, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (!secure_getenv("XSK_PRELOAD_LOG"))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* One call, as other threads write as well */
	fprintf(stderr, "xsk-preload: %s queue %u: %s\n", request->ifname,
		request->queue, text);
}

static bool is_zero_copy(int fd)
{
	struct xdp_options options = {};
	socklen_t len = sizeof(options);

	return !getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &len) &&
	       options.flags & XDP_OPTIONS_ZEROCOPY;
}

/* A regular program can be one that no native or zero-copy socket is behind */
static bool receives(const struct xdp_attach *attach)
{
	return attach->state == XDP_ATTACH_S_ACTIVE ||
	       attach->state == XDP_ATTACH_S_PASSED;
}

static int bound(const struct request *request, int fd,
		 const struct xdp_attach *attach)
{
	if (request->rx && !receives(attach)) {
		report(request, "failed: %s (program id %u)",
		       xsk_fastpath__attach_reason_str(attach->reason),
		       attach->prog_id);
		/* Else it receives when that program is detached */
		xsk_fastpath__attach(fd, XDP_ATTACH_F_OFF);
		errno = EEXIST;
		return -1;
	}
	report(request, "attached, %s, %s, %s",
	       attach->flags & XDP_ATTACH_F_SKB_MODE ? "generic" : "native",
	       is_zero_copy(fd) ? "zero-copy" : "copy",
	       xsk_fastpath__attach_state_str(attach->state));
	return 0;
}

static int bind_attached(struct request *request, __typeof__(bind) *real,
			 int fd, const struct sockaddr *addr, socklen_t len)
{
	struct xdp_attach attach;
	int err;

	err = -xsk_fastpath__attach(fd, request->flags);
	if (!err && real(fd, addr, len))
		err = errno;
	xsk_fastpath__attach_query(fd, &attach);
	if (!err)
		return bound(request, fd, &attach);

	/* The umem keeps the descriptor of its first socket */
	xsk_fastpath__attach(fd, XDP_ATTACH_F_OFF);
	request->refused = attach.reason != XDP_ATTACH_R_NONE;
	report(request, "%s: %s",
	       request->refused ? "not attached" : "failed",
	       request->refused ?
	       xsk_fastpath__attach_reason_str(attach.reason) : strerror(err));
	errno = err;
	return -1;
}

EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	static __typeof__(bind) *real;

	/* All threads find the same */
	if (!__atomic_load_n(&real, __ATOMIC_RELAXED))
		__atomic_store_n(&real, next_function("bind"),
				 __ATOMIC_RELAXED);
	if (!current || !addr || len < sizeof(struct sockaddr_xdp) ||
	    addr->sa_family != AF_XDP)
		return real(fd, addr, len);
	return bind_attached(current, real, fd, addr, len);
}

static bool kernel_attaches(const struct xsk_umem *umem)
{
	__u64 features;

	return !xsk_fastpath__features(xsk_umem__fd(umem), &features) &&
	       (features & NEEDED) == NEEDED;
}

static bool copy_opts(union opts_copy *copy, const struct xsk_socket_opts *opts)
{
	if (!opts || opts->sz < sizeof(opts->sz) || opts->sz > sizeof(*copy))
		return false;
	memset(copy, 0, sizeof(*copy));
	memcpy(copy, opts, opts->sz);
	if (copy->opts.sz < sizeof(copy->opts))
		copy->opts.sz = sizeof(copy->opts);
	return true;
}

/* Why the socket is left to libxdp, or NULL */
static const char *not_ours(const struct xsk_umem *umem,
			    const struct xsk_socket_opts *opts)
{
	if (opts->libxdp_flags & XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD)
		return "the application inhibits the program of libxdp";
	if (opts->libxdp_flags)
		return "the application sets flags of libxdp";
	if (opts->xdp_flags & XDP_FLAGS_HW_MODE)
		return "offload mode is requested";
	if (!kernel_attaches(umem))
		return "the kernel has no XDP_ATTACH_F_PASS";
	return NULL;
}

/*
 * Without a mode flag, libxdp tries native mode first, too. It falls back to
 * generic mode, which this library leaves to it: its program can be native on
 * drivers for which XDP_ATTACH has generic mode only.
 */
static __u32 attach_flags(const struct xsk_socket_opts *opts)
{
	return XDP_ATTACH_F_PASS | (opts->xdp_flags & XDP_FLAGS_SKB_MODE ?
				    XDP_ATTACH_F_SKB_MODE :
				    XDP_ATTACH_F_DRV_MODE);
}

EXPORT struct xsk_socket *
xsk_socket__create_opts(const char *ifname, __u32 queue, struct xsk_umem *umem,
			struct xsk_socket_opts *opts)
{
	__typeof__(xsk_socket__create_opts) *real = next_function(__func__);
	struct request request = { .ifname = ifname, .queue = queue };
	struct xsk_socket *xsk;
	union opts_copy copy;
	const char *why;

	if (!ifname || !umem || !copy_opts(&copy, opts))
		return real(ifname, queue, umem, opts);
	why = not_ours(umem, &copy.opts);
	if (why) {
		report(&request, "not attached: %s", why);
		return real(ifname, queue, umem, opts);
	}

	request.flags = attach_flags(&copy.opts);
	request.rx = copy.opts.rx;
	copy.opts.libxdp_flags |= XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
	current = &request;
	xsk = real(ifname, queue, umem, &copy.opts);
	current = NULL;
	return request.refused ? real(ifname, queue, umem, opts) : xsk;
}

/* The umem keeps the descriptor of its first socket, which takes no packets then */
EXPORT void xsk_socket__delete(struct xsk_socket *xsk)
{
	__typeof__(xsk_socket__delete) *real = next_function(__func__);

	if (xsk)
		xsk_fastpath__attach(xsk_socket__fd(xsk), XDP_ATTACH_F_OFF);
	real(xsk);
}
