/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_DIRECT_H
#define _NET_XSK_DIRECT_H

#include <linux/bitops.h>
#include <linux/if_xdp.h>
#include <linux/types.h>
#include <net/xdp.h>
#include <net/xsk_buff_pool.h>

struct bpf_prog;
struct xdp_sock;
struct xsk_buff_pool;

/*
 * Direct delivery: while the built-in program rules, a driver can hand the
 * frames of a zero-copy queue to the attached socket without running BPF. In
 * a poll it calls
 *
 *   xsk_direct_begin()		once; if it refuses, frames go through BPF
 *   xsk_direct_span()		places in the Rx ring, up to its wrap
 *   xsk_direct_deliver()	for each frame of one buffer, into such a place
 *   xsk_direct_commit()	once for each span
 *   xsk_direct_refill()	chunks of the fill ring into Rx descriptors
 *   xsk_direct_end()		once: publishes rings and wakes the socket
 *
 * What is no plain frame of one buffer goes through BPF; between commit and
 * end, any number of frames may do so.
 */

/**
 * struct xsk_direct - a poll that delivers directly, on its stack
 * @xs: the attached socket
 * @base: what to subtract from an xdp_buff's data_hard_start to get the
 *	address of its data in the umem
 * @desc: the next place in the socket's Rx ring
 * @room: places that are free there, across the wrap
 * @max_len: the longest frame that fits into a chunk, in bytes
 */
struct xsk_direct {
	struct xdp_sock *xs;
	void *base;
	struct xdp_desc *desc;
	u32 room;
	u32 max_len;
};

#ifdef CONFIG_XDP_SOCKETS

bool xsk_direct_begin(struct xsk_direct *direct, const struct bpf_prog *prog,
		      const struct xdp_rxq_info *rxq,
		      struct xsk_buff_pool *pool, u32 budget);
u32 xsk_direct_span(struct xsk_direct *direct);
void xsk_direct_commit(struct xsk_direct *direct, u32 count);
u32 xsk_direct_refill(struct xsk_buff_pool *pool, void *slot, size_t step,
		      __le64 *rx_desc, u32 count);
bool xsk_direct_starved(struct xsk_buff_pool *pool);
void xsk_direct_end(struct xsk_direct *direct);

/**
 * xsk_direct_enough() - check whether the device can go on
 * @pool: the pool
 * @left: how many descriptors of its ring have no chunk
 * @size: how many the ring has
 *
 * Where chunks come back from Tx queues, an empty fill ring is nothing that
 * user space has to be woken up for, before the ring runs low.
 *
 * Return: true if it can without more chunks in the fill ring
 */
static inline bool xsk_direct_enough(const struct xsk_buff_pool *pool,
				     u32 left, u32 size)
{
	return !left || (!list_empty(&pool->recycle_from) &&
			 left < size - size / 4);
}

/**
 * xsk_direct_refill_begin() - to be called before chunks are looked for
 * @pool: the pool
 * @left: how many descriptors of the ring have no chunk
 * @size: how many the ring has
 *
 * Has Tx queues wake up the Rx queue if it runs low.
 */
static inline void xsk_direct_refill_begin(struct xsk_buff_pool *pool,
					   u32 left, u32 size)
{
	bool low;

	if (list_empty(&pool->recycle_from))
		return;

	low = !xsk_direct_enough(pool, left, size);
	if (low == READ_ONCE(pool->recycle_low))
		return;

	WRITE_ONCE(pool->recycle_low, low);
	if (!low)
		return;
	/* Either we see chunks, or the Tx queue sees that we are low: pairs
	 * with the barrier in xsk_recycle_completed()
	 */
	smp_mb();
}

/* The length and no options, in one store */
static inline void xsk_direct_set_len(struct xdp_desc *desc, u32 len)
{
	u64 word = len;

	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		word = rol64(word, 32);
	*(u64 *)&desc->len = word;
}

/**
 * xsk_direct_deliver() - put a frame into a place of the socket's Rx ring
 * @direct: the poll
 * @desc: the place
 * @xdp: the frame's buffer, whose chunk is the socket's from the end on
 * @len: bytes of the frame
 */
static inline void xsk_direct_deliver(const struct xsk_direct *direct,
				      struct xdp_desc *desc,
				      const struct xdp_buff *xdp, u32 len)
{
	desc->addr = xdp->data_hard_start - direct->base;
	xsk_direct_set_len(desc, len);
}

#else

static inline bool xsk_direct_begin(struct xsk_direct *direct,
				    const struct bpf_prog *prog,
				    const struct xdp_rxq_info *rxq,
				    struct xsk_buff_pool *pool, u32 budget)
{
	return false;
}

static inline u32 xsk_direct_span(struct xsk_direct *direct)
{
	return 0;
}

static inline void xsk_direct_commit(struct xsk_direct *direct, u32 count)
{
}

static inline u32 xsk_direct_refill(struct xsk_buff_pool *pool, void *slot,
				    size_t step, __le64 *rx_desc, u32 count)
{
	return 0;
}

static inline bool xsk_direct_starved(struct xsk_buff_pool *pool)
{
	return false;
}

static inline bool xsk_direct_enough(const struct xsk_buff_pool *pool,
				     u32 left, u32 size)
{
	return !left;
}

static inline void xsk_direct_refill_begin(struct xsk_buff_pool *pool,
					   u32 left, u32 size)
{
}

static inline void xsk_direct_end(struct xsk_direct *direct)
{
}

static inline void xsk_direct_deliver(const struct xsk_direct *direct,
				      struct xdp_desc *desc,
				      const struct xdp_buff *xdp, u32 len)
{
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_DIRECT_H */
