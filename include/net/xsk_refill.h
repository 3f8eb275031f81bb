/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_REFILL_H
#define _NET_XSK_REFILL_H

#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_rx_entry.h>

struct xsk_recycle;

/* Maximum number of buffers in a span without addresses */
#define XSK_REFILL_BUFFS_MAX	16

/*
 * Refill of a zero-copy Rx ring: contiguous addresses of the fill ring, or of
 * paired Tx queues, are posted to contiguous descriptors in one pass, without
 * an array of buffers in between. A driver calls xsk_refill() once per poll,
 * with a function that only consists of xsk_refill_post() and its function
 * that writes a descriptor: not inlined, because its loops need all registers.
 */

/**
 * struct xsk_rx_ring - Rx ring of a device, on the stack of its poll
 * @pool: the pool
 * @desc: the descriptors
 * @bufs: the driver's software ring, see xsk_rx_entry.h
 * @count: number of descriptors
 * @next_to_use: index of the next descriptor to post
 * @next_to_clean: index of the next descriptor to receive
 */
struct xsk_rx_ring {
	struct xsk_buff_pool *pool;
	void *desc;
	void *bufs;
	u32 count;
	u32 next_to_use;
	u32 next_to_clean;
};

/**
 * enum xsk_refill_kind - how chunks are posted
 * @XSK_REFILL_USER: addresses in the fill ring, where user space can write
 * @XSK_REFILL_RECORDED: addresses of a Tx queue, which were validated
 * @XSK_REFILL_CHECK: each address needs xsk_refill_take()
 * @XSK_REFILL_UNALIGNED: addresses of unaligned chunks
 * @XSK_REFILL_BUFFS: buffers of xsk_refill_buffs()
 */
enum xsk_refill_kind {
	XSK_REFILL_USER,
	XSK_REFILL_RECORDED,
	XSK_REFILL_CHECK,
	XSK_REFILL_UNALIGNED,
	XSK_REFILL_BUFFS,
};

/**
 * struct xsk_refill_span - contiguous addresses to post
 * @addrs: the first address
 * @count: number of addresses, or of buffers
 * @kind: how to post them
 * @last: there are no more chunks behind it
 * @recycle: the Tx queue that they come from; NULL for the fill ring
 */
struct xsk_refill_span {
	const u64 *addrs;
	u32 count;
	enum xsk_refill_kind kind;
	bool last;
	struct xsk_recycle *recycle;
};

/* Writes descriptor and software ring entry @index, for a whole buffer */
typedef void (*xsk_refill_write_t)(void *desc, void *bufs, size_t index,
				   u64 entry, dma_addr_t dma);

/* xsk_refill_post() of a driver */
typedef u32 (*xsk_refill_post_t)(const struct xsk_refill_span *span,
				 const struct xsk_rx_ring *ring);

#ifdef CONFIG_XDP_SOCKETS

u32 xsk_refill_next(struct xsk_buff_pool *pool, struct xsk_refill_span *span,
		    u32 max);
u32 xsk_refill_done(struct xsk_buff_pool *pool,
		    const struct xsk_refill_span *span, u32 posted);
u32 xsk_refill_buffs(struct xsk_buff_pool *pool, struct xdp_buff **buffs,
		     u32 max);
struct xdp_buff_xsk *xsk_refill_take(struct xsk_buff_pool *pool,
				     const struct xsk_refill_span *span, u32 i);
void xsk_refill_count_empty(struct xsk_buff_pool *pool);
bool xsk_refill_starved(struct xsk_buff_pool *pool);

/**
 * xsk_refill_enough() - check whether the device can continue to receive
 * @pool: the pool
 * @left: number of descriptors without a chunk
 * @size: number of descriptors of the ring
 *
 * If chunks return from Tx queues, an empty fill ring needs no wakeup of user
 * space while the ring is above its low watermark.
 *
 * Return: true if it can without more chunks in the fill ring
 */
static inline bool xsk_refill_enough(const struct xsk_buff_pool *pool, u32 left,
				     u32 size)
{
	return !left || (!list_empty(&pool->recycle_from) &&
			 left < size - size / 4);
}

/**
 * xsk_refill_begin() - prepare to check for chunks
 * @pool: the pool
 * @left: number of descriptors without a chunk
 * @size: number of descriptors of the ring
 *
 * Below the low watermark, Tx queues trigger NAPI of the Rx queue.
 */
static inline void xsk_refill_begin(struct xsk_buff_pool *pool, u32 left,
				    u32 size)
{
	bool low;

	if (list_empty(&pool->recycle_from))
		return;

	low = !xsk_refill_enough(pool, left, size);
	if (low == READ_ONCE(pool->recycle_low))
		return;

	WRITE_ONCE(pool->recycle_low, low);
	if (!low)
		return;
	/* Either we see chunks, or the Tx queue sees that the ring is low:
	 * pairs with smp_mb() in xsk_recycle_publish()
	 */
	smp_mb();
}

/**
 * xsk_refill_idle() - check whether a poll without packets can refill
 * @pool: the pool
 * @left: number of descriptors without a chunk
 * @size: number of descriptors of the ring
 * @min: number of descriptors that are worth a refill
 * @filled: receives false if the device cannot continue to receive
 *
 * Context: NAPI poll
 * Return: true if there is nothing to refill, or no chunk to refill with
 */
static inline bool xsk_refill_idle(struct xsk_buff_pool *pool, u32 left,
				   u32 size, u32 min, bool *filled)
{
	*filled = true;
	if (left < min)
		return true;

	xsk_refill_begin(pool, left, size);
	*filled = xsk_refill_enough(pool, left, size);
	return xsk_refill_starved(pool);
}

/* Internal to xsk_refill_post(): a call for each address */
static __always_inline size_t
__xsk_refill_post_check(const struct xsk_refill_span *span,
			const struct xsk_rx_ring *ring,
			xsk_refill_write_t write)
{
	size_t next = ring->next_to_use;
	struct xdp_buff_xsk *xskb;
	u32 i;

	for (i = 0; i < span->count; i++) {
		xskb = xsk_refill_take(ring->pool, span, i);
		if (xskb)
			write(ring->desc, ring->bufs, next++,
			      xsk_rx_entry(&xskb->xdp), xskb->dma);
	}
	return next - ring->next_to_use;
}

/* Internal to xsk_refill_post(): buffers that are not taken by address */
static __always_inline size_t
__xsk_refill_post_buffs(const struct xsk_refill_span *span,
			const struct xsk_rx_ring *ring,
			xsk_refill_write_t write)
{
	struct xdp_buff *buffs[XSK_REFILL_BUFFS_MAX];
	size_t next = ring->next_to_use;
	u32 i, got = xsk_refill_buffs(ring->pool, buffs, span->count);

	for (i = 0; i < got; i++)
		write(ring->desc, ring->bufs, next + i,
		      xsk_rx_put(ring->pool, buffs[i]),
		      xsk_buff_xdp_get_dma(buffs[i]));
	return got;
}

/* Internal to xsk_refill_post(): what it keeps in registers */
struct xsk_refill_regs {
	const u64 *addrs;
	u64 addrs_cnt;
	struct xdp_buff_xsk *heads;
	const dma_addr_t *dma;
	u32 shift;
	u32 headroom;
	u32 last;
	u64 limit;
	u64 offset;
	void *desc;
	void *bufs;
	size_t next;
};

/* Internal to xsk_refill_post(): returns false if address @i is invalid, as in
 * xp_check_unaligned(). A chunk is on two pages at most.
 */
static __always_inline bool
xsk_refill_post_unaligned(const struct xsk_refill_regs *regs, size_t i,
			  xsk_refill_write_t write)
{
	/* User space can change it at any time: read it once */
	const u64 addr = xp_unaligned_extract_addr(READ_ONCE(regs->addrs[i]));
	dma_addr_t dma;

	if (unlikely(addr > regs->limit))
		return false;

	dma = regs->dma[addr >> PAGE_SHIFT];
	if (unlikely(dma != regs->dma[(addr + regs->last) >> PAGE_SHIFT]))
		return false;

	write(regs->desc, regs->bufs, regs->next + i, addr + regs->offset,
	      addr + dma + regs->headroom);
	return true;
}

/* Internal to xsk_refill_post(): returns false if address @i is invalid */
static __always_inline bool
xsk_refill_post_one(const struct xsk_refill_regs *regs, size_t i,
		    xsk_refill_write_t write, enum xsk_refill_kind kind)
{
	size_t chunk;
	u64 addr;

	if (kind == XSK_REFILL_UNALIGNED)
		return xsk_refill_post_unaligned(regs, i, write);

	/* User space can change it at any time: read it once */
	addr = READ_ONCE(regs->addrs[i]);
	if (kind == XSK_REFILL_USER && unlikely(addr >= regs->addrs_cnt))
		return false;

	/* The memory of the buffer is not accessed */
	chunk = addr >> regs->shift;
	write(regs->desc, regs->bufs, regs->next + i,
	      xsk_rx_entry(&regs->heads[chunk].xdp), regs->dma[chunk]);
	return true;
}

/* Internal to xsk_refill_post(): returns the number of descriptors, at most 4 */
static __always_inline size_t
xsk_refill_post_four(const struct xsk_refill_regs *regs,
		     xsk_refill_write_t write, enum xsk_refill_kind kind)
{
	if (!xsk_refill_post_one(regs, 0, write, kind))
		return 0;
	if (!xsk_refill_post_one(regs, 1, write, kind))
		return 1;
	if (!xsk_refill_post_one(regs, 2, write, kind))
		return 2;
	return xsk_refill_post_one(regs, 3, write, kind) ? 4 : 3;
}

/* Internal to xsk_refill_post(): all addresses, four at a time, or the up to
 * three that are left then. Called once for each: with both loops in one
 * function, the first one would not have all registers.
 */
static __always_inline u32
__xsk_refill_post(const struct xsk_refill_span *span,
		  const struct xsk_rx_ring *ring, xsk_refill_write_t write,
		  enum xsk_refill_kind kind, bool four)
{
	const size_t count = span->count;
	const size_t from = four ? 0 : ALIGN_DOWN(count, 4);
	const bool unaligned = kind == XSK_REFILL_UNALIGNED;
	const struct xsk_buff_pool *pool = ring->pool;
	struct xsk_refill_regs regs = {
		.addrs = span->addrs + from,
		.addrs_cnt = pool->addrs_cnt,
		.heads = pool->heads,
		.dma = unaligned ? pool->dma_offsets : pool->chunk_dma,
		.shift = pool->chunk_shift,
		.headroom = pool->headroom + XDP_PACKET_HEADROOM,
		.last = pool->chunk_size - 1,
		.limit = pool->addrs_cnt - pool->chunk_size,
		.offset = xp_unaligned_offset(pool),
		.desc = ring->desc,
		.bufs = ring->bufs,
		.next = ring->next_to_use + from,
	};
	const u64 *end = span->addrs + (four ? ALIGN_DOWN(count, 4) : count);
	size_t got, step = four ? 4 : 1;

	for (; regs.addrs != end; regs.addrs += step, regs.next += step) {
		got = four ? xsk_refill_post_four(&regs, write, kind) :
			     xsk_refill_post_one(&regs, 0, write, kind);
		if (got < step) {
			regs.addrs += got;
			break;
		}
	}
	return regs.addrs - span->addrs;
}

/* Internal to xsk_refill_post(): one instance for each kind */
static __always_inline u32
xsk_refill_post_all(const struct xsk_refill_span *span,
		    const struct xsk_rx_ring *ring, xsk_refill_write_t write,
		    enum xsk_refill_kind kind)
{
	u32 done;

	if (span->count >= 4) {
		done = __xsk_refill_post(span, ring, write, kind, true);
		if (done < ALIGN_DOWN(span->count, 4) ||
		    IS_ALIGNED(span->count, 4))
			return done;
	}
	return __xsk_refill_post(span, ring, write, kind, false);
}

/**
 * xsk_refill_post() - post contiguous addresses
 * @span: the addresses
 * @ring: the Rx ring, which has as many contiguous free descriptors
 * @write: inlined; writes one descriptor
 *
 * Return: number of descriptors written; all before the first invalid address,
 * or, for XSK_REFILL_CHECK and XSK_REFILL_BUFFS, all that are accepted
 */
static __always_inline u32 xsk_refill_post(const struct xsk_refill_span *span,
					   const struct xsk_rx_ring *ring,
					   xsk_refill_write_t write)
{
	switch (span->kind) {
	case XSK_REFILL_USER:
		return xsk_refill_post_all(span, ring, write, XSK_REFILL_USER);
	case XSK_REFILL_RECORDED:
		return xsk_refill_post_all(span, ring, write,
					   XSK_REFILL_RECORDED);
	case XSK_REFILL_UNALIGNED:
		return xsk_refill_post_all(span, ring, write,
					   XSK_REFILL_UNALIGNED);
	case XSK_REFILL_CHECK:
		return __xsk_refill_post_check(span, ring, write);
	default:
		return __xsk_refill_post_buffs(span, ring, write);
	}
}

/**
 * xsk_refill() - post chunks to free descriptors
 * @ring: the Rx ring, of a pool that is mapped for DMA; next_to_use advances
 * @wanted: number of free descriptors
 * @post: the driver's xsk_refill_post()
 *
 * The data pointers of the buffers are not set: drivers call
 * xsk_buff_set_size() before they use them. Except for DMA syncs, consumes at
 * most @wanted addresses, valid or not, which bounds the time of a poll.
 *
 * Context: NAPI poll, or the queue is not running
 * Return: number of descriptors that are still free, for want of chunks
 */
static __always_inline u32 xsk_refill(struct xsk_rx_ring *ring, u32 wanted,
				      xsk_refill_post_t post)
{
	u32 posted, consumed, tries = wanted, left = wanted;
	struct xsk_refill_span span;

	/* Also called when a ring is set up, outside of polls */
	rcu_read_lock();
	while (tries && xsk_refill_next(ring->pool, &span,
					min(tries, ring->count -
						   ring->next_to_use))) {
		posted = post(&span, ring);
		consumed = xsk_refill_done(ring->pool, &span, posted);
		tries -= consumed;
		left -= posted;
		ring->next_to_use += posted;
		if (ring->next_to_use == ring->count)
			ring->next_to_use = 0;
		/* No more chunks */
		if (span.last && consumed == span.count)
			break;
	}
	rcu_read_unlock();

	if (tries == wanted)
		xsk_refill_count_empty(ring->pool);
	return left;
}

/**
 * xsk_refill_result() - end a poll
 * @pool: the pool
 * @filled: the device can continue to receive
 * @empty: no descriptor is posted
 * @done: number of packets received
 * @budget: NAPI budget
 *
 * Return: value to return from the poll
 */
static inline int xsk_refill_result(struct xsk_buff_pool *pool, bool filled,
				    bool empty, u32 done, int budget)
{
	if (!xsk_uses_need_wakeup(pool))
		return filled ? done : budget;

	if (!filled || empty)
		xsk_set_rx_need_wakeup(pool);
	else
		xsk_clear_rx_need_wakeup(pool);
	return done;
}

#else

static inline bool xsk_refill_enough(const struct xsk_buff_pool *pool, u32 left,
				     u32 size)
{
	return !left;
}

static inline void xsk_refill_begin(struct xsk_buff_pool *pool, u32 left,
				    u32 size)
{
}

static inline bool xsk_refill_idle(struct xsk_buff_pool *pool, u32 left,
				   u32 size, u32 min, bool *filled)
{
	return false;
}

static inline u32 xsk_refill_post(const struct xsk_refill_span *span,
				  const struct xsk_rx_ring *ring,
				  xsk_refill_write_t write)
{
	return 0;
}

static inline u32 xsk_refill(struct xsk_rx_ring *ring, u32 wanted,
			     xsk_refill_post_t post)
{
	return wanted;
}

static inline int xsk_refill_result(struct xsk_buff_pool *pool, bool filled,
				    bool empty, u32 done, int budget)
{
	return done;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_REFILL_H */
