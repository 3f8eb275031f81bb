/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * AF_XDP fast path: helpers for the socket options of if_xdp_fastpath.h.
 *
 * Header only, for C and C++. Depends on the UAPI headers only: it works on
 * sockets of libxdp and on sockets made with plain system calls.
 *
 * With libxdp, xsk_socket__create() calls bind(), and options must be set
 * before. The first socket of a umem uses the file descriptor of the umem:
 *
 *	xsk_umem__create(&umem, area, size, &fill, &comp, &umem_config);
 *	xsk_fastpath__attach(xsk_umem__fd(umem), 0);
 *	config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
 *	err = xsk_socket__create(&xsk, ifname, queue, umem, &rx, &tx, &config);
 *	if (err)
 *		xsk_fastpath__attach_query(xsk_umem__fd(umem), &attach);
 *
 * The umem keeps the descriptor if xsk_socket__create() fails: the reason can
 * be read, and the option withdrawn (XDP_ATTACH_F_OFF) for another try with a
 * program and a map, until xsk_umem__delete(), which is also the end of that
 * socket: detach it with XDP_ATTACH_F_OFF if it is deleted before. libxdp creates
 * and binds any further socket of the umem in one call: to attach it, use plain
 * system calls, or XSK_LIBXDP_FLAGS__ATTACH of a libxdp that has it.
 */
#ifndef __XSK_FASTPATH_H
#define __XSK_FASTPATH_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/if_xdp.h>
#include <linux/if_xdp_fastpath.h>

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * xsk_fastpath__features() - get the features of the kernel
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
 * xsk_fastpath__attach() - request that bind() attaches the socket
 * @fd: an AF_XDP socket that is not bound yet
 * @flags: XDP_ATTACH_F_*; 0 for native mode with fallback to generic mode
 *
 * Needs no privilege; bind() does.
 *
 * Return: 0, or a negative errno: -ENOPROTOOPT on a kernel without XDP_ATTACH,
 * -EINVAL for unknown flags or for both modes, -EBUSY after bind(), except for
 * XDP_ATTACH_F_OFF of a socket that was attached, which then needs CAP_NET_ADMIN
 * (-EPERM).
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
 * xsk_fastpath__attach_query() - get the attach state of a socket
 * @fd: an AF_XDP socket, bound or not
 * @attach: result; all zero on failure
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP on a kernel without XDP_ATTACH.
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
 * xsk_fastpath__tx_inorder() - enable in-order completion
 * @fd: an AF_XDP socket that is not bound yet
 * @on: 1, or 0 to withdraw the option
 *
 * No completion ring is needed then.
 *
 * Return: 0, or a negative errno: -ENOPROTOOPT on a kernel without
 * XDP_TX_INORDER, -EBUSY after bind(). bind() fails with EPROTOTYPE if another
 * socket of the queue does not have the option.
 */
static inline int xsk_fastpath__tx_inorder(int fd, int on)
{
	__u32 value = !!on;

	if (setsockopt(fd, SOL_XDP, XDP_TX_INORDER, &value, sizeof(value)))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__tx_completed() - count the completed entries of the Tx ring
 * @consumer: consumer index of the ring, of a socket with XDP_TX_INORDER
 * @seen: index of the first entry not known to be complete; starts with 0
 *
 * Entries @seen to @seen + n - 1 belong to the application again: their
 * buffers, and their descriptors, which still hold the addresses until they
 * are overwritten. Then add n to @seen. With libxdp, @consumer is that of
 * struct xsk_ring_prod; xsk_ring_prod__reserve() reuses completed entries, so
 * process them before.
 *
 * Return: n, at most the size of the ring
 */
static inline __u32 xsk_fastpath__tx_completed(const __u32 *consumer,
					       __u32 seen)
{
	/* Pairs with the release of the index in the kernel */
	return __atomic_load_n(consumer, __ATOMIC_ACQUIRE) - seen;
}

/**
 * xsk_fastpath__tx_needs_wakeup() - check whether to call sendto()
 * @flags: flags of the Tx ring of a socket with XDP_TX_INORDER
 *
 * Call it after the store to the producer index. A load of the flag without
 * the barrier is not enough: see XDP_TX_INORDER.
 *
 * Return: 1 if the kernel needs a wakeup, else 0
 */
static inline int xsk_fastpath__tx_needs_wakeup(const __u32 *flags)
{
	/* The kernel sets the flag and then reads the producer */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !!(__atomic_load_n(flags, __ATOMIC_RELAXED) &
		  XDP_RING_NEED_WAKEUP);
}

/**
 * xsk_fastpath__recycle() - return transmitted chunks to an Rx queue
 * @fd: a bound AF_XDP socket with XDP_TX_INORDER
 * @rx_fd: the socket of the Rx queue; -1 for none
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
 * xsk_fastpath__recycle_query() - get the state of recycling
 * @fd: an AF_XDP socket
 * @recycle: result; all zero on failure
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP on a kernel without XDP_RECYCLE.
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
 * xsk_fastpath__recycle_stats() - get the statistics of recycling
 * @fd: an AF_XDP socket
 * @stats: result; all zero on failure
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP on a kernel without XDP_RECYCLE.
 */
static inline int xsk_fastpath__recycle_stats(int fd,
					      struct xdp_recycle_stats *stats)
{
	socklen_t len = sizeof(*stats);

	memset(stats, 0, sizeof(*stats));
	if (getsockopt(fd, SOL_XDP, XDP_RECYCLE_STATS, stats, &len))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__drop_stats() - get the number of drops for each reason
 * @fd: an AF_XDP socket
 * @stats: result; zero for reasons that the kernel does not know, and on failure
 *
 * Return: 0, or a negative errno: -EOPNOTSUPP on a kernel without
 * XDP_DROP_STATS.
 */
static inline int xsk_fastpath__drop_stats(int fd, struct xdp_drop_stats *stats)
{
	socklen_t len = sizeof(*stats);

	memset(stats, 0, sizeof(*stats));
	if (getsockopt(fd, SOL_XDP, XDP_DROP_STATS, stats, &len))
		return -errno;
	return 0;
}

/**
 * xsk_fastpath__drop_str() - get the name of a reason for drops
 * @reason: XDP_DROP_*, index of &struct xdp_drop_stats
 *
 * Return: a constant string, as in the tracepoint xsk_drop; "unknown" for a
 * reason of a later kernel.
 */
static inline const char *xsk_fastpath__drop_str(__u32 reason)
{
	switch (reason) {
	case XDP_DROP_RX_RING_FULL:
		return "rx_ring_full";
	case XDP_DROP_RX_NO_BUFFER:
		return "rx_no_buffer";
	case XDP_DROP_RX_TOO_LONG:
		return "rx_too_long";
	case XDP_DROP_RX_MULTI_BUFFER:
		return "rx_multi_buffer";
	case XDP_DROP_RX_UNBOUND:
		return "rx_unbound";
	case XDP_DROP_RX_WRONG_QUEUE:
		return "rx_wrong_queue";
	case XDP_DROP_RX_NO_RING:
		return "rx_no_ring";
	case XDP_DROP_RX_BUSY:
		return "rx_busy";
	case XDP_DROP_FILL_INVALID:
		return "fill_invalid";
	case XDP_DROP_FILL_DUPLICATE:
		return "fill_duplicate";
	case XDP_DROP_TX_EMPTY:
		return "tx_empty";
	case XDP_DROP_TX_ADDR:
		return "tx_addr";
	case XDP_DROP_TX_CHUNK:
		return "tx_chunk";
	case XDP_DROP_TX_PAGE:
		return "tx_page";
	case XDP_DROP_TX_OPTIONS:
		return "tx_options";
	case XDP_DROP_TX_FRAGS:
		return "tx_frags";
	case XDP_DROP_TX_PACKET:
		return "tx_packet";
	case XDP_DROP_TX_METADATA:
		return "tx_metadata";
	case XDP_DROP_TX_NO_MEMORY:
		return "tx_no_memory";
	case XDP_DROP_TX_LINK:
		return "tx_link";
	case XDP_DROP_TX_DEVICE:
		return "tx_device";
	case XDP_DROP_TX_CHECKSUM:
		return "tx_checksum";
	}
	return "unknown";
}

/**
 * xsk_fastpath__attach_state_str() - get the name of a state
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
	case XDP_ATTACH_S_PASSED:
		return "passed";
	}
	return "unknown";
}

/**
 * xsk_fastpath__attach_reason_str() - get the cause and the remedy
 * @reason: XDP_ATTACH_R_*, from &struct xdp_attach
 *
 * Return: a constant string without full stop, for the user.
 */
static inline const char *xsk_fastpath__attach_reason_str(__u32 reason)
{
	switch (reason) {
	case XDP_ATTACH_R_NONE:
		return "no reason";
	case XDP_ATTACH_R_CAPABILITY:
		return "no permission: needs CAP_NET_ADMIN in the device's network namespace";
	case XDP_ATTACH_R_NO_QUEUE:
		return "no such Rx queue: choose a lower one, or add channels with ethtool -L";
	case XDP_ATTACH_R_QUEUE_BUSY:
		return "another socket is attached: close it (ss --xdp -p), or use another queue";
	case XDP_ATTACH_R_NO_NATIVE:
		return "the driver does not declare that native mode is safe: use generic mode";
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
		return "no built-in program: free memory, or check the security module";
	case XDP_ATTACH_R_DEVICE_BUSY:
		return "device memory is bound to a queue: release it first";
	case XDP_ATTACH_R_PEER:
		return "native mode needs CAP_NET_ADMIN over the peer, too: use generic mode";
	case XDP_ATTACH_R_ZC_DRIVER:
		return "the driver has no zero-copy: use copy mode";
	case XDP_ATTACH_R_ZC_SG:
		return "the driver has no zero-copy with XDP_USE_SG: do not set it";
	case XDP_ATTACH_R_ZC_MTU:
		return "the MTU exceeds the chunks: use larger ones, or XDP_USE_SG";
	case XDP_ATTACH_R_ZC_DMA:
		return "the umem could not be mapped for the device: free memory";
	case XDP_ATTACH_R_ZC_REFUSED:
		return "the driver refused zero-copy (see dmesg): use copy mode";
	case XDP_ATTACH_R_POOL_BUSY:
		return "another umem is bound to the queue: close its sockets, or share it";
	}
	return "unknown reason: update this program";
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* __XSK_FASTPATH_H */
