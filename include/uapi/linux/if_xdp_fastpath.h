/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * AF_XDP fast path: socket options in addition to those of if_xdp.h.
 *
 * All are off by default. On a kernel without them, setsockopt() fails with
 * ENOPROTOOPT and getsockopt() with EOPNOTSUPP.
 *
 * The structures can grow. setsockopt() takes a shorter one, whose missing
 * fields are zero, and fails with E2BIG if a field that the kernel does not
 * know is not zero. getsockopt() copies what fits and returns its size.
 *
 * Numbers do not collide with those of if_xdp.h and xdp_diag.h, which count up:
 * options and netlink attributes start at 256, and bits of xdiag_show are
 * allocated from the top.
 */
#ifndef _UAPI_LINUX_IF_XDP_FASTPATH_H
#define _UAPI_LINUX_IF_XDP_FASTPATH_H

#include <linux/types.h>

/* Options of level SOL_XDP */

/* getsockopt(), also before bind(): __u64, mask of XDP_FASTPATH_F_* */
#define XDP_FASTPATH_FEATURES	256
/* setsockopt(), to attach before bind(); getsockopt(): struct xdp_attach */
#define XDP_ATTACH		257
/* setsockopt() before bind(), getsockopt(): __u32, 0 or 1 */
#define XDP_TX_INORDER		258
/* setsockopt() after bind(), getsockopt(): struct xdp_recycle */
#define XDP_RECYCLE		259
/* getsockopt(): struct xdp_recycle_stats */
#define XDP_RECYCLE_STATS	260
/* getsockopt(): struct xdp_drop_stats */
#define XDP_DROP_STATS		261

/* Bits of XDP_FASTPATH_FEATURES */
#define XDP_FASTPATH_F_ATTACH	(1ULL << 0)	/* XDP_ATTACH */
#define XDP_FASTPATH_F_INORDER	(1ULL << 1)	/* XDP_TX_INORDER */
#define XDP_FASTPATH_F_RECYCLE	(1ULL << 2)	/* XDP_RECYCLE */
#define XDP_FASTPATH_F_PASS	(1ULL << 3)	/* XDP_ATTACH_F_PASS */
#define XDP_FASTPATH_F_DROPS	(1ULL << 4)	/* XDP_DROP_STATS */

/*
 * struct xdp_attach - attach a socket to a queue, without XDP program and map
 * @flags: XDP_ATTACH_F_*. getsockopt() adds the mode in use.
 * @state: XDP_ATTACH_S_*. Zero in setsockopt().
 * @prog_id: id of the active XDP program of the device, built-in or regular;
 *	0 for none. Zero in setsockopt().
 * @reason: XDP_ATTACH_R_*: why the last bind() failed, fell back to another
 *	mode, or why the socket is not active. Zero in setsockopt().
 * @zc_reason: XDP_ATTACH_R_*: why the queue is not zero-copy, or why the last
 *	bind() failed for want of it, also of a socket without XDP_ATTACH; that
 *	of the first socket if the umem is shared. Zero in setsockopt().
 *
 * setsockopt() fails with EINVAL for unknown flags, both modes or a result that
 * is not zero, and with EBUSY after bind(), except for XDP_ATTACH_F_OFF of a
 * socket that was attached, which may wait for the device and fails with EPERM
 * without CAP_NET_ADMIN.
 *
 * bind() attaches the socket to its queue: all packets of the queue go to its
 * Rx ring, until it is closed or detached. The kernel runs a built-in program
 * for this purpose, unless the device runs a regular program, which always has
 * precedence and shadows the socket, or, with XDP_ATTACH_F_PASS, decides which
 * packets the socket receives. A socket without an Rx ring keeps the
 * built-in program attached (some drivers have no zero-copy Tx without a
 * program), but uses no queue.
 *
 * bind() needs CAP_NET_ADMIN in the user namespace that owns the device's
 * network namespace, and fails with:
 * EPERM	no such capability, or, if native mode is requested, none over
 *		the network namespace of the device's peer
 * ERANGE	the device has no such Rx queue
 * EBUSY	another socket is attached to the queue; or device memory is
 *		bound to a queue of the device; or the queue, or the device in
 *		the other mode, was not released within 10 seconds by a socket
 *		that was closed; with O_NONBLOCK, bind() does not wait for it
 * EOPNOTSUPP	the device does not support the requested mode
 * EEXIST	another socket that was attached uses the device in the other
 *		mode; or
 *		an upper device runs a program; or, with
 *		XDP_ATTACH_F_IF_NOEXIST, a regular program runs
 * or with the error of the driver that refused the program, or of the creation
 * of the built-in program.
 *
 * Newer kernels may have more states and reasons than listed here.
 */
struct xdp_attach {
	__u32 flags;
	__u32 state;
	__u32 prog_id;
	__u32 reason;
	__u32 zc_reason;
};

/*
 * The default is native mode where the driver supports redirection and runs
 * XDP in the NAPI poll of the queue, else generic mode. With a mode flag there
 * is no fallback to the other mode.
 */
#define XDP_ATTACH_F_SKB_MODE	(1U << 0)	/* generic XDP */
#define XDP_ATTACH_F_DRV_MODE	(1U << 1)	/* native XDP */
/* Fail if a regular program is attached: the socket would be shadowed */
#define XDP_ATTACH_F_IF_NOEXIST	(1U << 2)
/*
 * Before bind(): withdraw the option. Afterwards: detach the socket, which stays
 * bound and can transmit. When the call returns, no packet is delivered to it,
 * and XDP_RECYCLE does not return chunks to its Rx queue any more. Packets of the
 * queue go to the stack; in zero-copy mode, they are received into chunks of the
 * fill ring before, and the device keeps its program and mode until the last
 * socket of the queue is closed. No other flag is allowed with it.
 */
#define XDP_ATTACH_F_OFF	(1U << 3)
/*
 * Receive what a regular program passes: packets of the queue for which it
 * returns XDP_PASS go to the socket instead of the stack. It decides about all
 * other packets as without the socket.
 */
#define XDP_ATTACH_F_PASS	(1U << 4)

enum {
	XDP_ATTACH_S_NONE,	/* not requested */
	XDP_ATTACH_S_REQUESTED,	/* requested, not bound yet */
	XDP_ATTACH_S_ACTIVE,	/* the built-in program is active */
	XDP_ATTACH_S_SHADOWED,	/* a regular program is active */
	XDP_ATTACH_S_STALLED,	/* no program is active: the driver refused
				 * the built-in one after a regular one was
				 * detached
				 */
	XDP_ATTACH_S_DETACHED,	/* detached by XDP_ATTACH_F_OFF, or the device
				 * was unregistered or moved to another network
				 * namespace
				 */
	XDP_ATTACH_S_PASSED,	/* a regular program is active, and the socket
				 * receives the packets that it passes
				 */
};

enum {
	XDP_ATTACH_R_NONE,
	XDP_ATTACH_R_CAPABILITY,	/* no CAP_NET_ADMIN */
	XDP_ATTACH_R_NO_QUEUE,		/* no such Rx queue */
	XDP_ATTACH_R_QUEUE_BUSY,	/* another socket is attached */
	XDP_ATTACH_R_NO_NATIVE,		/* the driver does not declare that it
					 * redirects in the queue's NAPI poll
					 */
	XDP_ATTACH_R_DRIVER,		/* the driver refused the program */
	XDP_ATTACH_R_MODE_CONFLICT,	/* the device is used in another mode */
	XDP_ATTACH_R_UPPER,		/* an upper device runs a program */
	XDP_ATTACH_R_REGULAR,		/* a regular program is active */
	XDP_ATTACH_R_ZC_GENERIC,	/* zero-copy requested in generic mode,
					 * or behind a generic program
					 */
	XDP_ATTACH_R_BUILTIN,		/* the built-in program could not be
					 * created: no memory, or refused by a
					 * security module
					 */
	XDP_ATTACH_R_DEVICE_BUSY,	/* device memory is bound to a queue */
	XDP_ATTACH_R_PEER,		/* native mode changes the peer device,
					 * which is in another network
					 * namespace
					 */
	XDP_ATTACH_R_ZC_DRIVER,		/* the driver has no zero-copy */
	XDP_ATTACH_R_ZC_SG,		/* no zero-copy with XDP_USE_SG */
	XDP_ATTACH_R_ZC_MTU,		/* the MTU exceeds the chunks */
	XDP_ATTACH_R_ZC_DMA,		/* the umem could not be mapped */
	XDP_ATTACH_R_ZC_REFUSED,	/* the driver refused: see the log */
	XDP_ATTACH_R_POOL_BUSY,		/* a socket with another umem is bound
					 * to the queue
					 */
};

/*
 * XDP_TX_INORDER - the consumer index of the Tx ring is the completion
 *
 * The kernel advances the consumer index past an entry when its packet is
 * complete, not when it is taken, and in the order of the ring: user space
 * then owns the entry and its buffer again. This includes dropped packets and
 * invalid descriptors. No completion ring is used, and bind() needs none.
 *
 * POLLOUT means that at least half of the ring is complete. The size of the
 * ring limits the number of packets in flight: to keep a device busy it needs
 * as many entries as the device's ring has descriptors, and a batch or two.
 *
 * With XDP_USE_NEED_WAKEUP, a driver may clear XDP_RING_NEED_WAKEUP of the Tx
 * ring while it polls the queue. User space therefore needs a full memory
 * barrier between its store to the producer index and its load of the flag.
 *
 * All Tx sockets of a queue complete in the same way, else bind() fails with
 * EPROTOTYPE. Sockets of other queues may differ, also if they share the umem.
 * bind() fails with ENOMEM if the Tx ring has more than 2^24 entries.
 * setsockopt() fails with EBUSY after bind(), and with EINVAL for values other
 * than 0 and 1.
 */

/*
 * struct xdp_recycle - return transmitted chunks to an Rx queue
 * @fd: socket whose Rx queue receives the chunks that this socket transmits;
 *	-1: none. -1 in getsockopt().
 * @flags: XDP_RECYCLE_F_*. Those of this socket's Rx queue in getsockopt().
 * @state: XDP_RECYCLE_S_*. Zero in setsockopt().
 * @entry: index of the Tx ring entry from which @state holds. Zero in
 *	setsockopt().
 *
 * setsockopt() pairs the Tx side of a socket, which has XDP_TX_INORDER, with
 * the Rx side of the same or another socket: of the same queue, another queue
 * or another device. Both are bound, zero-copy and share the umem. It can be
 * called at any time and holds for descriptors that are put into the Tx ring
 * afterwards. Earlier descriptors complete as before the call; chunks that are
 * still pending go to the Rx queue, or to the next one that is paired.
 *
 * The Rx queue takes transmitted chunks before those of its fill ring. Pending
 * chunks belong to the kernel. If more are pending than the Tx ring has entries,
 * further ones go to the completion ring; if there is none or it is full, they
 * are pending as well. bind() of another Tx socket on the queue fails with EBUSY
 * until the paired one is closed.
 *
 * Two packets may be written to a chunk that user space posts twice, to Tx, to
 * the fill ring, or to both. With XDP_RECYCLE_F_CHECK the Rx queue refuses and
 * counts chunks that were posted to the device before and are still there. This
 * holds for the queue until its last socket is closed, and needs aligned chunks.
 *
 * Fails with one of these. The kernel log has the reason why two bound sockets
 * cannot be paired.
 * ENOTCONN	a socket is not bound
 * EINVAL	no Tx ring, or no Rx ring in the other socket; unknown flags
 * EXDEV	the sockets do not share a umem
 * EOPNOTSUPP	a socket is not zero-copy; the socket has XDP_USE_SG; the driver
 *		of the Rx queue does not take recycled chunks;
 *		XDP_RECYCLE_F_CHECK with unaligned chunks, or on a device whose
 *		memory needs DMA syncs
 * EPROTOTYPE	no XDP_TX_INORDER
 * EMLINK	several sockets transmit on the queue
 * EAGAIN	an earlier call is not effective yet, because descriptors
 *		before it were not taken; or another thread pairs, closes or
 *		queries sockets of the umem. Nothing has changed; try again
 * ENOMEM	no memory to record addresses
 * EBADF, ENOTSOCK, ENOPROTOOPT	@fd is not an AF_XDP socket
 */
struct xdp_recycle {
	__s32 fd;
	__u32 flags;
	__u32 state;
	__u32 entry;
};

#define XDP_RECYCLE_F_CHECK	(1U << 0)

enum {
	XDP_RECYCLE_S_OFF,
	XDP_RECYCLE_S_ON,
	XDP_RECYCLE_S_SWITCHING,	/* @entry was not taken yet */
};

/*
 * struct xdp_recycle_stats - statistics of XDP_RECYCLE
 * @pending: completed chunks that the Rx queue has not taken yet
 * @recycled: chunks that the Rx queue took
 * @spilled: chunks that went to the completion ring as a surplus
 * @kicks: times that NAPI of the Rx queue was triggered, as it was below its
 *	low watermark
 * @received: chunks that the Rx queue of this socket took from Tx queues
 * @filled: fill ring entries that it took while Tx queues were paired with it
 * @duplicates: chunks that it refused because of XDP_RECYCLE_F_CHECK
 *
 * @pending to @kicks are those of the Tx side of the socket.
 */
struct xdp_recycle_stats {
	__u64 pending;
	__u64 recycled;
	__u64 spilled;
	__u64 kicks;
	__u64 received;
	__u64 filled;
	__u64 duplicates;
};

/*
 * Why AF_XDP drops a packet or refuses a descriptor: index of @count in struct
 * xdp_drop_stats, and reason of the tracepoint xsk:xsk_drop. Newer kernels may
 * have more.
 */
enum {
	/* Received packets */
	XDP_DROP_RX_RING_FULL,	/* the Rx ring has not enough free entries */
	XDP_DROP_RX_NO_BUFFER,	/* copy mode: the fill ring has not enough
				 * entries
				 */
	XDP_DROP_RX_TOO_LONG,	/* longer than a chunk, without XDP_USE_SG */
	XDP_DROP_RX_MULTI_BUFFER,	/* several buffers, without XDP_USE_SG
					 * or a program with frags
					 */
	XDP_DROP_RX_UNBOUND,	/* redirected to a socket that is not bound */
	XDP_DROP_RX_WRONG_QUEUE, /* redirected to a socket of another queue */
	XDP_DROP_RX_NO_RING,	/* redirected to a socket without an Rx ring */
	XDP_DROP_RX_BUSY,	/* another CPU receives for the same queue */
	/* Entries of the fill ring */
	XDP_DROP_FILL_INVALID,	/* not the address of a chunk */
	XDP_DROP_FILL_DUPLICATE, /* refused by XDP_RECYCLE_F_CHECK */
	/* Descriptors of the Tx ring, which are taken but not transmitted */
	XDP_DROP_TX_EMPTY,	/* the length is zero */
	XDP_DROP_TX_ADDR,	/* outside of the umem */
	XDP_DROP_TX_CHUNK,	/* longer than a chunk, or across the end of an
				 * aligned one, metadata included
				 */
	XDP_DROP_TX_PAGE,	/* unaligned: across pages that are not
				 * contiguous for the device
				 */
	XDP_DROP_TX_OPTIONS,	/* unknown options */
	XDP_DROP_TX_FRAGS,	/* more descriptors per packet than the device,
				 * or an skb, takes, or longer than the largest
				 * MTU of the device permits
				 */
	XDP_DROP_TX_PACKET,	/* valid, but another descriptor of the packet
				 * is not, or the socket is closed
				 */
	XDP_DROP_TX_METADATA,	/* copy mode, invalid metadata: sendto() fails
				 * with EINVAL, and the descriptor stays.
				 * Counts the attempts.
				 */
	XDP_DROP_TX_NO_MEMORY,	/* copy mode: no memory for the header */
	/* Packets sent in copy mode, whose descriptors are completed */
	XDP_DROP_TX_LINK,	/* the device is down or has no carrier */
	XDP_DROP_TX_DEVICE,	/* the device or its driver refused it */
	/* A descriptor of the Tx ring, as above */
	XDP_DROP_TX_CHECKSUM,	/* zero-copy: a checksum is requested that is
				 * not within the first buffer
				 */
	XDP_DROP_REASONS,	/* number of reasons */
};

/*
 * struct xdp_drop_stats - drops of a socket, since it was created
 * @count: number of drops for each reason
 *
 * XDP_DROP_RX_MULTI_BUFFER, if the driver drops, and XDP_DROP_FILL_* count for
 * the queue, which all of its sockets report.
 *
 * In terms of struct xdp_statistics, rx_ring_full is XDP_DROP_RX_RING_FULL,
 * rx_dropped is the sum from XDP_DROP_RX_NO_BUFFER to XDP_DROP_RX_MULTI_BUFFER,
 * and tx_invalid_descs is that from XDP_DROP_TX_EMPTY to XDP_DROP_TX_PACKET,
 * and of XDP_DROP_TX_CHECKSUM.
 */
struct xdp_drop_stats {
	__u64 count[XDP_DROP_REASONS];
};

/*
 * struct xdp_diag_pair - a socket's side of XDP_RECYCLE, in sock_diag
 * @state: XDP_RECYCLE_S_*
 * @flags: XDP_RECYCLE_F_* of this socket's Rx queue
 * @ifindex: device of the Rx queue that takes the chunks that this socket
 *	transmits, also of those that are pending when @state is off; 0 if there
 *	is none
 * @queue_id: that Rx queue
 * @ino: inode number of its socket
 *
 * The last three are zero if that socket is in another network namespace.
 */
struct xdp_diag_pair {
	__u32 state;
	__u32 flags;
	__u32 ifindex;
	__u32 queue_id;
	__u32 ino;
};

/*
 * sock_diag: bits of xdp_diag_req.xdiag_show, and the attributes that they
 * request. XDP_SHOW_RECYCLE requests both that XDP_RECYCLE has.
 */
#define XDP_SHOW_ATTACH		(1U << 31)
#define XDP_SHOW_RECYCLE	(1U << 30)
#define XDP_SHOW_DROPS		(1U << 29)
#define XDP_SHOW_INORDER	(1U << 28)
#define XDP_DIAG_ATTACH		256	/* struct xdp_attach */
#define XDP_DIAG_RECYCLE	257	/* struct xdp_recycle_stats */
#define XDP_DIAG_DROPS		258	/* struct xdp_drop_stats */
#define XDP_DIAG_INORDER	259	/* __u32: value of XDP_TX_INORDER */
#define XDP_DIAG_PAIR		260	/* struct xdp_diag_pair */

#endif /* _UAPI_LINUX_IF_XDP_FASTPATH_H */
