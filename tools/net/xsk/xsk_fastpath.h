/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * AF_XDP fast path: helpers over the socket options of if_xdp_fastpath.h.
 *
 * Header only, for C and C++. Needs nothing but the UAPI headers: it works
 * on a socket of libxdp and on one made with plain system calls alike.
 *
 * With libxdp: xsk_socket__create() binds, and an option has to be set before
 * that. The first socket of a umem uses the file descriptor of the umem, so:
 *
 *	xsk_umem__create(&umem, area, size, &fill, &comp, &umem_config);
 *	xsk_fastpath__attach(xsk_umem__fd(umem), 0);
 *	config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
 *	err = xsk_socket__create(&xsk, ifname, queue, umem, &rx, &tx, &config);
 *	if (err)
 *		xsk_fastpath__attach_query(xsk_umem__fd(umem), &attach);
 *
 * The umem keeps the descriptor when xsk_socket__create() fails, so the reason
 * can be read until xsk_umem__delete(). A further socket on the same umem gets
 * a descriptor that libxdp makes and binds in one call: make such a socket
 * with plain system calls if it is to be attached.
 */
#ifndef __XSK_FASTPATH_H
#define __XSK_FASTPATH_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/if_xdp_fastpath.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * xsk_fastpath__features() - what this kernel offers
 * @fd: an AF_XDP socket, bound or not
 * @mask: result, XDP_FASTPATH_F_*; 0 on a kernel without the fast path
 *
 * Return: 0, also on a kernel without the fast path; else a negative errno:
 * -EBADF, -ENOTSOCK.
 */
static inline int xsk_fastpath__features(int fd, __u64 *mask)
{
	socklen_t len = sizeof(*mask);

	*mask = 0;
	if (!getsockopt(fd, SOL_XDP, XDP_FASTPATH_FEATURES, mask, &len))
		return 0;
	*mask = 0;
	return errno == EOPNOTSUPP || errno == ENOPROTOOPT ? 0 : -errno;
}

/**
 * xsk_fastpath__attach() - have bind() attach the socket to its queue
 * @fd: an AF_XDP socket that is not bound yet
 * @flags: XDP_ATTACH_F_*; 0 for native mode, or generic where there is none
 *
 * Needs no privilege: bind() does.
 *
 * Return: 0, or a negative errno: -ENOPROTOOPT from a kernel without
 * XDP_ATTACH, -EINVAL for unknown flags or both modes at once, -EBUSY after
 * bind().
 */
static inline int xsk_fastpath__attach(int fd, __u32 flags)
{
	struct xdp_attach attach;

	memset(&attach, 0, sizeof(attach));
	attach.flags = flags;
	if (setsockopt(fd, SOL_XDP, XDP_ATTACH, &attach, sizeof(attach)))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__attach_query() - how a socket is attached, or why it is not
 * @fd: an AF_XDP socket, bound or not
 * @attach: result; all zero on failure
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP from a kernel without
 * XDP_ATTACH.
 */
static inline int xsk_fastpath__attach_query(int fd, struct xdp_attach *attach)
{
	socklen_t len = sizeof(*attach);

	memset(attach, 0, sizeof(*attach));
	if (getsockopt(fd, SOL_XDP, XDP_ATTACH, attach, &len))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__tx_inorder() - have the Tx ring complete in order
 * @fd: an AF_XDP socket that is not bound yet
 * @on: 1, or 0 to take it back
 *
 * No completion ring is needed then.
 *
 * Return: 0, or a negative errno: -ENOPROTOOPT from a kernel without
 * XDP_TX_INORDER, -EBUSY after bind(). bind() says EPROTOTYPE if another
 * socket of the queue completes in the other way.
 */
static inline int xsk_fastpath__tx_inorder(int fd, int on)
{
	__u32 value = !!on;

	if (setsockopt(fd, SOL_XDP, XDP_TX_INORDER, &value, sizeof(value)))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__tx_completed() - how many slots of the Tx ring are done
 * @consumer: the ring's consumer index, of a socket that completes in order
 * @seen: the first slot not known to be done; starts with 0
 *
 * Slots @seen to @seen + n - 1 are the application's again: their buffers, and
 * their descriptors, which still name them as long as nothing new was written
 * there. Add n to @seen once they were looked at. With libxdp, @consumer is
 * that of struct xsk_ring_prod, and xsk_ring_prod__reserve() gives the slots
 * out again as soon as they are done: look at them before that.
 *
 * Return: n, at most the size of the ring
 */
static inline __u32 xsk_fastpath__tx_completed(const __u32 *consumer,
					       __u32 seen)
{
	/* What the kernel did with the buffers comes before the index */
	return __atomic_load_n(consumer, __ATOMIC_ACQUIRE) - seen;
}

/**
 * xsk_fastpath__tx_needs_wakeup() - whether to call sendto()
 * @flags: flags of the Tx ring of a socket that completes in order
 *
 * To be called after the ring's producer index was written. The flag alone
 * would not do: see XDP_TX_INORDER.
 *
 * Return: 1 if the kernel has to be told, else 0
 */
static inline int xsk_fastpath__tx_needs_wakeup(const __u32 *flags)
{
	/* The kernel sets the flag and then reads the producer */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !!(__atomic_load_n(flags, __ATOMIC_RELAXED) &
		  XDP_RING_NEED_WAKEUP);
}

/**
 * xsk_fastpath__recycle() - what a socket has sent goes to an Rx queue
 * @fd: a bound AF_XDP socket, with XDP_TX_INORDER
 * @rx_fd: the socket whose Rx queue it is; -1 for none
 * @flags: XDP_RECYCLE_F_*, or 0
 *
 * Return: 0, or a negative errno; see &struct xdp_recycle.
 */
static inline int xsk_fastpath__recycle(int fd, int rx_fd, __u32 flags)
{
	struct xdp_recycle recycle;

	memset(&recycle, 0, sizeof(recycle));
	recycle.fd = rx_fd;
	recycle.flags = flags;
	if (setsockopt(fd, SOL_XDP, XDP_RECYCLE, &recycle, sizeof(recycle)))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__recycle_query() - what became of a socket's chunks
 * @fd: an AF_XDP socket
 * @recycle: result; all zero on failure
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP from a kernel without
 * XDP_RECYCLE.
 */
static inline int xsk_fastpath__recycle_query(int fd,
					      struct xdp_recycle *recycle)
{
	socklen_t len = sizeof(*recycle);

	memset(recycle, 0, sizeof(*recycle));
	if (getsockopt(fd, SOL_XDP, XDP_RECYCLE, recycle, &len))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__attach_state_str() - one word for a state
 * @state: XDP_ATTACH_S_*, from &struct xdp_attach
 *
 * Return: a constant string, "unknown" for a state of a later kernel.
 */
static inline const char *xsk_fastpath__attach_state_str(__u32 state)
{
	switch (state) {
	case XDP_ATTACH_S_NONE:
		return "none";
	case XDP_ATTACH_S_REQUESTED:
		return "requested";
	case XDP_ATTACH_S_ACTIVE:
		return "active";
	case XDP_ATTACH_S_SHADOWED:
		return "shadowed";
	case XDP_ATTACH_S_STALLED:
		return "stalled";
	case XDP_ATTACH_S_DETACHED:
		return "detached";
	}
	return "unknown";
}

/**
 * xsk_fastpath__attach_reason_str() - the cause and the way out
 * @reason: XDP_ATTACH_R_*, from &struct xdp_attach
 *
 * Return: a constant string without full stop, to be shown to a user.
 */
static inline const char *xsk_fastpath__attach_reason_str(__u32 reason)
{
	switch (reason) {
	case XDP_ATTACH_R_NONE:
		return "nothing was refused";
	case XDP_ATTACH_R_CAPABILITY:
		return "no permission: needs CAP_NET_ADMIN in the device's network namespace";
	case XDP_ATTACH_R_NO_QUEUE:
		return "no such Rx queue: choose a lower one, or add channels with ethtool -L";
	case XDP_ATTACH_R_QUEUE_BUSY:
		return "another socket is attached: close it (ss --xdp -p), or use another queue";
	case XDP_ATTACH_R_NO_NATIVE:
		return "the driver has no native XDP: use generic mode";
	case XDP_ATTACH_R_DRIVER:
		return "the driver refused (see dmesg): lower the MTU, or use generic mode";
	case XDP_ATTACH_R_MODE_CONFLICT:
		return "a socket attached in the other XDP mode holds the device: use that mode";
	case XDP_ATTACH_R_UPPER:
		return "an upper device (bond, team) runs an XDP program: detach that program";
	case XDP_ATTACH_R_REGULAR:
		return "an XDP program has precedence: detach it (ip link set dev NAME xdp off)";
	case XDP_ATTACH_R_ZC_GENERIC:
		return "generic mode has no zero-copy: ask for copy mode, or for native mode";
	case XDP_ATTACH_R_BUILTIN:
		return "no built-in program: free memory, or see what a security module refused";
	case XDP_ATTACH_R_DEVICE_BUSY:
		return "device memory is bound to a queue: release it first";
	}
	return "a reason that this program does not know: update it";
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* __XSK_FASTPATH_H */
