/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * AF_XDP fast path: socket options beside those of if_xdp.h.
 *
 * All are off unless asked for. A kernel without them answers
 * setsockopt() with ENOPROTOOPT and getsockopt() with EOPNOTSUPP.
 *
 * The numbers keep clear of if_xdp.h, which counts up from 1: options
 * and netlink attributes start at 256, bits in words that if_xdp.h owns
 * come from the top.
 */
#ifndef _UAPI_LINUX_IF_XDP_FASTPATH_H
#define _UAPI_LINUX_IF_XDP_FASTPATH_H

#include <linux/types.h>

/* Options of level SOL_XDP */

/* getsockopt(), also before bind(): __u64, mask of XDP_FASTPATH_F_* */
#define XDP_FASTPATH_FEATURES	256
/* setsockopt() before bind(), getsockopt(): struct xdp_attach */
#define XDP_ATTACH		257
/* setsockopt() before bind(), getsockopt(): __u32, 0 or 1 */
#define XDP_TX_INORDER		258
/* setsockopt() after bind(), getsockopt(): struct xdp_recycle */
#define XDP_RECYCLE		259

/* Bits of XDP_FASTPATH_FEATURES */
#define XDP_FASTPATH_F_ATTACH	(1ULL << 0)	/* XDP_ATTACH */
#define XDP_FASTPATH_F_INORDER	(1ULL << 1)	/* XDP_TX_INORDER */
#define XDP_FASTPATH_F_RECYCLE	(1ULL << 2)	/* XDP_RECYCLE */

/*
 * XDP_TX_INORDER - the consumer index of the Tx ring is the completion
 *
 * The kernel moves the index over a slot when its frame is complete and not
 * when it is picked up, in the order in which frames were sent: its buffer
 * belongs to user space again, and so does the slot. That goes for frames
 * that were dropped and for invalid descriptors, too. Nothing is written to a
 * completion ring, and none need exist at bind().
 *
 * POLLOUT means that at least half of the ring is complete. The ring's size
 * is how many frames can be in flight: as many as the device's ring has
 * descriptors, and a batch or two more, keep it busy.
 *
 * With XDP_USE_NEED_WAKEUP, a driver may clear XDP_RING_NEED_WAKEUP of the Tx
 * ring as long as it polls the queue. So user space needs a full memory barrier
 * between its store to the producer index and its load of the flag.
 *
 * All Tx sockets of a queue complete in the same way; bind() fails with
 * EPROTOTYPE for one that does not. Those of other queues may differ, also
 * where they share the umem. setsockopt() fails with EBUSY after bind(), and
 * with EINVAL for other values than 0 and 1.
 */

/*
 * struct xdp_attach - a socket on a queue, without XDP program and map
 * @flags: XDP_ATTACH_F_*. getsockopt() adds the mode that was chosen.
 * @state: XDP_ATTACH_S_*. Zero in setsockopt().
 * @prog_id: id of the program that sees the frames of the device now,
 *	built-in or regular, 0 for none. Zero in setsockopt().
 * @reason: XDP_ATTACH_R_*: why the last bind() failed, or what it had to
 *	fall back from. Zero in setsockopt().
 *
 * bind() attaches the socket to its queue: frames that arrive there reach
 * its Rx ring, until it is closed. The kernel runs a built-in program for
 * that, unless the device runs a regular program, which always has
 * precedence and shadows the socket. A socket without an Rx ring keeps the
 * built-in program in place (some drivers have no zero-copy Tx without
 * one), but takes no queue.
 *
 * bind() needs CAP_NET_ADMIN in the user namespace that owns the device's
 * network namespace, and fails with:
 * EPERM	without that capability, or without it over the network
 *		namespace of the device at the other end if native mode is
 *		asked for
 * ERANGE	the device has no such Rx queue now
 * EBUSY	another socket is attached to the queue, or device memory is
 *		bound to a queue of the device; or the queue, or the device in
 *		the other mode, is not released yet by a socket that was closed
 * EOPNOTSUPP	the mode asked for is one that the device cannot do
 * EEXIST	another attached socket holds the device in the other mode,
 *		or an upper device runs a program; with XDP_ATTACH_F_FORCE
 *		also: a regular program runs
 * or with the error with which the driver refused the program.
 */
struct xdp_attach {
	__u32 flags;
	__u32 state;
	__u32 prog_id;
	__u32 reason;
};

/*
 * Flags: the default is native where the driver redirects frames and runs XDP
 * in the NAPI poll of the queue, else generic.
 */
#define XDP_ATTACH_F_SKB_MODE	(1U << 0)	/* generic XDP */
#define XDP_ATTACH_F_DRV_MODE	(1U << 1)	/* native XDP */
/*
 * Fail instead of falling back: from native to generic, or to the wait for
 * a regular program to go.
 */
#define XDP_ATTACH_F_FORCE	(1U << 2)

enum {
	XDP_ATTACH_S_NONE,	/* not asked for */
	XDP_ATTACH_S_REQUESTED,	/* asked for, not bound yet */
	XDP_ATTACH_S_ACTIVE,	/* the built-in program runs */
	XDP_ATTACH_S_SHADOWED,	/* a regular program runs */
	XDP_ATTACH_S_STALLED,	/* the driver refused the built-in when it
				 * was to come back: no program runs
				 */
	XDP_ATTACH_S_DETACHED,	/* the device is gone, or moved to another
				 * network namespace
				 */
};

enum {
	XDP_ATTACH_R_NONE,
	XDP_ATTACH_R_CAPABILITY,	/* no CAP_NET_ADMIN */
	XDP_ATTACH_R_NO_QUEUE,		/* no such Rx queue */
	XDP_ATTACH_R_QUEUE_BUSY,	/* another socket is attached */
	XDP_ATTACH_R_NO_NATIVE,		/* no native XDP with redirection, or
					 * not in the NAPI poll of the queue
					 */
	XDP_ATTACH_R_DRIVER,		/* the driver refused the program */
	XDP_ATTACH_R_MODE_CONFLICT,	/* held in the other mode */
	XDP_ATTACH_R_UPPER,		/* an upper device runs a program */
	XDP_ATTACH_R_REGULAR,		/* a regular program runs */
	XDP_ATTACH_R_ZC_GENERIC,	/* zero-copy asked for in generic mode */
	XDP_ATTACH_R_BUILTIN,		/* no memory for, or a security module
					 * refused, the built-in program
					 */
	XDP_ATTACH_R_DEVICE_BUSY,	/* device memory is bound to a queue */
	XDP_ATTACH_R_PEER,		/* the device at the other end, which
					 * native mode changes, is of another
					 * network namespace
					 */
};

/*
 * struct xdp_recycle - chunks that were sent go straight back to an Rx queue
 * @fd: socket whose Rx queue gets the chunks that this socket has sent; -1:
 *	none. -1 in getsockopt().
 * @flags: XDP_RECYCLE_F_*. Those of the Rx queue of this socket in
 *	getsockopt().
 * @state: XDP_RECYCLE_S_*. Zero in setsockopt(), as all that follow.
 * @slot: slot of the Tx ring from which on @state holds
 * @waiting: chunks that are complete and wait for room in the Rx queue
 * @recycled: chunks that went to the Rx queue
 * @spilled: chunks that went to the completion ring, as too many waited
 * @kicks: how often the Rx queue had run low and was woken up
 * @received: chunks that the Rx queue of this socket took from Tx queues
 * @filled: entries of the fill ring that it took while Tx queues fed it
 * @duplicates: chunks that it refused, as it had them already
 *
 * setsockopt() pairs the Tx side of a socket, which has XDP_TX_INORDER, with
 * the Rx side of another or its own: of the same queue, another queue, or
 * another device. Both are zero-copy and share the umem. It can be called at
 * any time, and holds for frames that are put into the Tx ring after it. Frames
 * that were there before are completed as they would have been, and chunks
 * that still wait go to the Rx queue, or to the one that is paired next.
 *
 * The Rx queue takes chunks that were sent before those of its fill ring. A
 * chunk that waits is the kernel's. As many as the Tx ring has slots wait;
 * more than that go to the completion ring, or wait, too, if there is none or
 * it is full. bind() of another Tx socket on the queue fails with EBUSY, until
 * the one that was paired is closed.
 *
 * A chunk that user space gives away twice, to Tx, to the fill ring, or to both,
 * may be written to by two frames. XDP_RECYCLE_F_CHECK has the Rx queue refuse
 * and count chunks that the device got since then and still has, with i40e and
 * ixgbe; it holds for the queue, until its last socket is closed.
 *
 * Fails with one of these. The kernel log says why two bound sockets cannot be
 * paired.
 * ENOTCONN	a socket is not bound
 * EINVAL	no Tx ring, or no Rx ring in the other socket; unknown flags
 * EXDEV	they do not share the umem
 * EOPNOTSUPP	one is not zero-copy, or chunks are not aligned, or the socket
 *		has XDP_USE_SG, or the driver of the Rx queue does not take
 *		chunks from Tx queues; XDP_RECYCLE_F_CHECK where the device's
 *		memory needs to be synced
 * EPROTOTYPE	no XDP_TX_INORDER
 * EMLINK	several sockets send on the queue
 * EAGAIN	an earlier call does not hold yet: the frames before it were
 *		not yet picked up
 * ENOMEM	no memory to record addresses
 * EBADF, ENOTSOCK, ENOPROTOOPT	@fd is no AF_XDP socket
 */
struct xdp_recycle {
	__s32 fd;
	__u32 flags;
	__u32 state;
	__u32 slot;
	__u64 waiting;
	__u64 recycled;
	__u64 spilled;
	__u64 kicks;
	__u64 received;
	__u64 filled;
	__u64 duplicates;
};

#define XDP_RECYCLE_F_CHECK	(1U << 0)

enum {
	XDP_RECYCLE_S_OFF,
	XDP_RECYCLE_S_ON,
	XDP_RECYCLE_S_SWITCHING,	/* @slot was not picked up yet */
};

/* sock_diag: bit of xdp_diag_req.xdiag_show, and the attribute it brings */
#define XDP_SHOW_ATTACH		(1U << 31)
#define XDP_DIAG_ATTACH		256	/* struct xdp_attach */

#endif /* _UAPI_LINUX_IF_XDP_FASTPATH_H */
