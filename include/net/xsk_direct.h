/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_DIRECT_H
#define _NET_XSK_DIRECT_H

#include <asm/barrier.h>
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/if_xdp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <net/xdp.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_refill.h>

struct bpf_prog;
struct xdp_sock;

/*
 * Direct delivery: while no regular program is attached, a driver can write the
 * packets of a zero-copy queue to the Rx ring of the attached socket without
 * running BPF. A poll calls
 *
 *   xsk_direct_begin()		once; if it fails, packets go through BPF
 *   xsk_direct_receive()	with a function that only consists of
 *				xsk_direct_read() and the driver's function
 *				that reads a descriptor
 *   xsk_refill()		see xsk_refill.h
 *   xsk_direct_end()		once: publishes rings and wakes up the socket
 *
 * All but single-buffer packets go through BPF; after xsk_direct_end(), any
 * number of packets may do so.
 */

/**
 * struct xsk_direct - state of a poll with direct delivery, on its stack
 * @xs: the attached socket
 * @desc: the next entry of the socket's Rx ring
 * @room: number of free entries, across the wrap-around
 * @span: number of contiguous ones
 * @bytes: number of bytes received; grows
 * @max_len: size of a chunk in bytes, without headroom
 */
struct xsk_direct {
	struct xdp_sock *xs;
	struct xdp_desc *desc;
	u32 room;
	u32 span;
	u32 bytes;
	u32 max_len;
};

/*
 * Returns the length of the packet at @index, and its buffer, which is one of
 * the pool; 0 if there is no complete single-buffer packet of at most @max_len
 * bytes
 */
typedef u64 (*xsk_direct_read_t)(void *desc, void *bufs, size_t index,
				 u64 max_len, struct xdp_buff **xdp);

/* xsk_direct_read() of a driver */
typedef u32 (*xsk_direct_span_t)(struct xsk_direct *direct,
				 const struct xsk_rx_ring *ring, size_t count);

#ifdef CONFIG_XDP_SOCKETS

bool xsk_direct_begin(struct xsk_direct *direct, const struct bpf_prog *prog,
		      const struct xdp_rxq_info *rxq,
		      struct xsk_buff_pool *pool, u32 budget);
void xsk_direct_commit(struct xsk_direct *direct, u32 count);
void xsk_direct_end(struct xsk_direct *direct);

static_assert(offsetof(struct xdp_desc, options) ==
	      offsetof(struct xdp_desc, len) + sizeof(u32));

/* The length and no options, in one store */
static inline void xsk_direct_set_len(struct xdp_desc *desc, u32 len)
{
	u64 word = len;

	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		word = rol64(word, 32);
	*(u64 *)&desc->len = word;
}

/**
 * xsk_direct_init() - prepare for xsk_direct_addr()
 * @pool: a new pool
 *
 * Leaves out a pool of unaligned chunks, whose buffers are in no order, and all
 * pools if the size of a buffer is no power of two, which is possible with
 * cache lines of less than 64 bytes: their packets go through BPF.
 */
static inline void xsk_direct_init(struct xsk_buff_pool *pool)
{
	const size_t size = sizeof(*pool->heads);

	BUILD_BUG_ON(SMP_CACHE_BYTES >= 64 && !is_power_of_2(size));
	if (pool->unaligned || !is_power_of_2(size))
		return;

	pool->direct_scale = pool->chunk_size / size;
	pool->direct_base = (uintptr_t)&pool->heads->xdp * pool->direct_scale -
			    pool->headroom - XDP_PACKET_HEADROOM;
}

/* Address of the data in the umem. Buffers are in the order of their chunks, so
 * that their addresses are sufficient: their memory is not accessed.
 */
static __always_inline u64 xsk_direct_addr(const struct xsk_buff_pool *pool,
					   const struct xdp_buff *xdp)
{
	return (uintptr_t)xdp * pool->direct_scale - pool->direct_base;
}

/* Internal to xsk_direct_read(): what it keeps in registers */
struct xsk_direct_regs {
	struct xdp_desc *desc;
	const struct xsk_buff_pool *pool;
	void *dev_desc;
	void *bufs;
	size_t next;
	u64 max_len;
	u32 bytes;
};

/* Internal to xsk_direct_read(): returns false if there is no packet @i */
static __always_inline bool
xsk_direct_read_one(struct xsk_direct_regs *regs, size_t i,
		    xsk_direct_read_t read)
{
	struct xdp_buff *xdp;
	u64 len;

	len = read(regs->dev_desc, regs->bufs, regs->next + i, regs->max_len,
		   &xdp);
	if (!len)
		return false;

	regs->desc[i].addr = xsk_direct_addr(regs->pool, xdp);
	xsk_direct_set_len(&regs->desc[i], len);
	regs->bytes += len;
	return true;
}

/* Internal to xsk_direct_read(): returns the number of packets, at most 4 */
static __always_inline size_t
xsk_direct_read_four(struct xsk_direct_regs *regs, xsk_direct_read_t read)
{
	if (!xsk_direct_read_one(regs, 0, read))
		return 0;
	if (!xsk_direct_read_one(regs, 1, read))
		return 1;
	if (!xsk_direct_read_one(regs, 2, read))
		return 2;
	return xsk_direct_read_one(regs, 3, read) ? 4 : 3;
}

/* Internal to xsk_direct_read(): all packets, four at a time, or the up to
 * three that are left then. Called once for each: with both loops in one
 * function, the first one would not have all registers.
 */
static __always_inline u32
__xsk_direct_read(struct xsk_direct *direct, const struct xsk_rx_ring *ring,
		  size_t count, bool four, xsk_direct_read_t read)
{
	const size_t from = four ? 0 : ALIGN_DOWN(count, 4);
	struct xsk_direct_regs regs = {
		.desc = direct->desc + from,
		.pool = ring->pool,
		.dev_desc = ring->desc,
		.bufs = ring->bufs,
		.next = ring->next_to_clean + from,
		.max_len = direct->max_len,
	};
	const struct xdp_desc *end = direct->desc +
				     (four ? ALIGN_DOWN(count, 4) : count);
	size_t got, step = four ? 4 : 1;

	for (; regs.desc != end; regs.desc += step, regs.next += step) {
		got = four ? xsk_direct_read_four(&regs, read) :
			     xsk_direct_read_one(&regs, 0, read);
		if (got < step) {
			regs.desc += got;
			break;
		}
	}

	direct->bytes += regs.bytes;
	return regs.desc - direct->desc;
}

/**
 * xsk_direct_read() - deliver contiguous packets
 * @direct: state of the poll
 * @ring: the Rx ring
 * @count: number of contiguous descriptors and free Rx ring entries
 * @read: inlined; reads one descriptor
 *
 * Return: number of packets delivered; less than @count if there are no more,
 * or if the next one is not a single-buffer packet
 */
static __always_inline u32 xsk_direct_read(struct xsk_direct *direct,
					   const struct xsk_rx_ring *ring,
					   size_t count, xsk_direct_read_t read)
{
	u32 done = __xsk_direct_read(direct, ring, count, true, read);

	if (done < ALIGN_DOWN(count, 4))
		return done;
	return __xsk_direct_read(direct, ring, count, false, read);
}

/**
 * xsk_direct_receive() - deliver packets
 * @direct: state of the poll
 * @ring: the Rx ring, with the pool of xsk_direct_begin(); next_to_clean
 *	advances
 * @budget: maximum number of packets
 * @span: the driver's xsk_direct_read()
 *
 * Return: number of packets delivered; less than @budget if there are no more,
 * if the next one is not a single-buffer packet, or if the socket's ring is
 * full
 */
static __always_inline u32 xsk_direct_receive(struct xsk_direct *direct,
					      struct xsk_rx_ring *ring,
					      u32 budget,
					      xsk_direct_span_t span)
{
	u32 count, got, done = 0;

	while (done < budget) {
		count = min3(budget - done, direct->span,
			     ring->count - ring->next_to_clean);
		got = span(direct, ring, count);
		/* The device wrote the packets before the descriptors; the
		 * commit may copy packets from a bounce buffer
		 */
		dma_rmb();
		xsk_direct_commit(direct, got);
		done += got;
		ring->next_to_clean += got;
		if (ring->next_to_clean == ring->count)
			ring->next_to_clean = 0;
		if (!got || got < count)
			break;
	}

	return done;
}

#else

static inline bool xsk_direct_begin(struct xsk_direct *direct,
				    const struct bpf_prog *prog,
				    const struct xdp_rxq_info *rxq,
				    struct xsk_buff_pool *pool, u32 budget)
{
	return false;
}

static inline void xsk_direct_end(struct xsk_direct *direct)
{
}

static inline u32 xsk_direct_read(struct xsk_direct *direct,
				  const struct xsk_rx_ring *ring, size_t count,
				  xsk_direct_read_t read)
{
	return 0;
}

static inline u32 xsk_direct_receive(struct xsk_direct *direct,
				     struct xsk_rx_ring *ring, u32 budget,
				     xsk_direct_span_t span)
{
	return 0;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_DIRECT_H */
