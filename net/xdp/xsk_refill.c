// SPDX-License-Identifier: GPL-2.0
/*
 * Refill of a zero-copy Rx ring: which chunks come next. The loops that post
 * them are inlined into the driver, see include/net/xsk_refill.h.
 *
 * Buffers on the free list come first, then chunks of paired Tx queues, then
 * the fill ring.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_refill.h>

#include "xsk_posted.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"

static bool xsk_refill_available(struct xsk_buff_pool *pool)
{
	return pool->free_list_cnt || xskq_cons_nb_entries(pool->fq, 1) ||
	       xsk_recycle_has_pending(pool);
}

/* At most @count buffers of xsk_buff_alloc_batch() */
static u32 xsk_refill_next_buff(struct xsk_refill_span *span, u32 count)
{
	*span = (struct xsk_refill_span) {
		.count = min_t(u32, count, XSK_REFILL_BUFFS_MAX),
		.kind = XSK_REFILL_BUFFS,
	};
	return span->count;
}

static u32 xsk_refill_next_fill(struct xsk_buff_pool *pool,
				struct xsk_refill_span *span, u32 max)
{
	struct xsk_queue *fq = pool->fq;
	struct xdp_umem_ring *ring = (struct xdp_umem_ring *)fq->ring;
	u32 index = fq->cached_cons & fq->ring_mask;
	u32 entries = xskq_cons_nb_entries(fq, max);

	span->addrs = &ring->desc[index];
	span->count = min(entries, fq->nentries - index);
	span->last = entries < max && span->count == entries;
	span->kind = READ_ONCE(pool->refill_kind);
	span->recycle = NULL;
	return span->count;
}

/**
 * xsk_refill_next() - get the next contiguous addresses to post
 * @pool: the pool
 * @span: receives the addresses
 * @max: number of contiguous free descriptors
 *
 * Context: RCU read section, NAPI poll or the queue is not running
 * Return: number of addresses, 0 if there are no chunks
 */
u32 xsk_refill_next(struct xsk_buff_pool *pool, struct xsk_refill_span *span,
		    u32 max)
{
	if (unlikely(dma_dev_need_sync(pool->dev)))
		return xsk_refill_next_buff(span, xsk_refill_available(pool) ?
						  max : 0);
	if (unlikely(pool->free_list_cnt))
		return xsk_refill_next_buff(span,
					    min(max, pool->free_list_cnt));
	/* A buffer for each posted chunk: xsk_rx_take() cannot fail */
	if (unlikely(pool->unaligned))
		max = min(max, xp_free_heads(pool));
	if (!list_empty(&pool->recycle_from) &&
	    xsk_recycle_next(pool, span, max))
		return span->count;
	return xsk_refill_next_fill(pool, span, max);
}
EXPORT_SYMBOL_GPL(xsk_refill_next);

static __always_inline u32
xsk_refill_consume(struct xsk_buff_pool *pool,
		   const struct xsk_refill_span *span, u32 posted, u32 consumed)
{
	if (span->kind == XSK_REFILL_UNALIGNED)
		pool->reserved_heads += posted;
	if (span->recycle)
		xsk_recycle_taken(span->recycle, consumed, posted);
	else if (span->kind != XSK_REFILL_BUFFS)
		pool->fq->cached_cons += consumed;
	return consumed;
}

/* An invalid address ends the span, and is consumed as well. User space may
 * have written another one since: it is for the trace only. A tail call of
 * xsk_refill_done(), which then needs no stack.
 */
static noinline __cold u32
xsk_refill_consume_invalid(struct xsk_buff_pool *pool,
			   const struct xsk_refill_span *span, u32 posted)
{
	xsk_drop_fill(pool, READ_ONCE(span->addrs[posted]));
	return xsk_refill_consume(pool, span, posted, posted + 1);
}

/**
 * xsk_refill_done() - consume addresses of xsk_refill_next()
 * @pool: the pool
 * @span: the addresses
 * @posted: number of descriptors written
 *
 * Context: RCU read section of xsk_refill_next()
 * Return: number of addresses consumed
 */
u32 xsk_refill_done(struct xsk_buff_pool *pool,
		    const struct xsk_refill_span *span, u32 posted)
{
	if (unlikely(posted != span->count) && span->kind != XSK_REFILL_CHECK &&
	    span->kind != XSK_REFILL_BUFFS)
		return xsk_refill_consume_invalid(pool, span, posted);

	return xsk_refill_consume(pool, span, posted, span->count);
}
EXPORT_SYMBOL_GPL(xsk_refill_done);

/**
 * xsk_refill_buffs() - get buffers of a span without addresses
 * @pool: the pool
 * @buffs: receives the buffers
 * @max: maximum number of buffers
 *
 * Context: as xsk_refill_next()
 * Return: number of buffers; less than @max if there are no more chunks, or if
 * some addresses are invalid
 */
u32 xsk_refill_buffs(struct xsk_buff_pool *pool, struct xdp_buff **buffs,
		     u32 max)
{
	u32 i, got = xsk_buff_alloc_batch(pool, buffs, max);

	if (likely(!xsk_checks_posted(pool)))
		return got;

	for (i = 0; i < got; i++)
		xsk_mark_posted(pool, container_of(buffs[i],
						   struct xdp_buff_xsk, xdp));
	return got;
}
EXPORT_SYMBOL_GPL(xsk_refill_buffs);

/**
 * xsk_refill_take() - get the buffer of an address to check
 * @pool: the pool
 * @span: the addresses
 * @i: index of an address
 *
 * Return: the buffer, NULL if the address is invalid or a duplicate
 */
struct xdp_buff_xsk *xsk_refill_take(struct xsk_buff_pool *pool,
				     const struct xsk_refill_span *span, u32 i)
{
	struct xdp_buff_xsk *xskb;
	u64 addr;

	/* In the fill ring, user space can change it: read it once */
	addr = READ_ONCE(span->addrs[i]);
	if (addr >= pool->addrs_cnt) {
		xsk_drop_fill(pool, addr);
		return NULL;
	}
	xskb = &pool->heads[addr >> pool->chunk_shift];
	return xsk_mark_posted(pool, xskb) ? xskb : NULL;
}
EXPORT_SYMBOL_GPL(xsk_refill_take);

/**
 * xsk_refill_count_empty() - count a refill without chunks
 * @pool: the pool
 */
void xsk_refill_count_empty(struct xsk_buff_pool *pool)
{
	pool->fq->queue_empty_descs++;
}
EXPORT_SYMBOL_GPL(xsk_refill_count_empty);

/**
 * xsk_refill_starved() - check whether there is no chunk for a refill
 * @pool: the pool
 *
 * Context: NAPI poll
 * Return: true if there is none, which is counted as by a refill
 */
bool xsk_refill_starved(struct xsk_buff_pool *pool)
{
	if (xsk_refill_available(pool))
		return false;

	xsk_refill_count_empty(pool);
	return true;
}
EXPORT_SYMBOL_GPL(xsk_refill_starved);
