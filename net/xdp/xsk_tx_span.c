// SPDX-License-Identifier: GPL-2.0
/*
 * Zero-copy Tx of contiguous descriptors. What cannot change between them is
 * checked once per span; see include/net/xsk_tx_span.h.
 */
#include <linux/dma-mapping.h>
#include <linux/rculist.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_capture.h>
#include <net/xsk_tx_span.h>

#include "xsk_inorder.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"

/* What cannot change while the pool is bound. The pages of the umem were mapped
 * before: if none of them needs DMA syncs then, none does later.
 */
static bool xsk_tx_pool_has_spans(const struct xsk_buff_pool *pool)
{
	return pool->dev && !dma_dev_need_sync(pool->dev);
}

static struct xdp_sock *xsk_tx_span_sock(struct xsk_buff_pool *pool)
{
	if (!list_is_singular(&pool->xsk_tx_list) ||
	    !xsk_tx_pool_has_spans(pool))
		return NULL;
	return list_first_or_null_rcu(&pool->xsk_tx_list, struct xdp_sock,
				      tx_list);
}

/* Without a cached socket: that of a device with xsk-capture while there is no
 * tap. Otherwise the captured descriptors have to be those that the device gets:
 * not the ones in the ring, which user space can change.
 */
static noinline struct xdp_sock *
xsk_tx_span_uncaptured(struct xsk_buff_pool *pool)
{
	const struct net_device *dev = pool->netdev;

	if (!(dev->features & NETIF_F_XSK_CAPTURE) || xsk_capture_has_tap(dev))
		return NULL;
	return xsk_tx_span_sock(pool);
}

/**
 * xsk_tx_span_update() - update the socket that transmits in spans
 * @pool: the pool, whose list of Tx sockets or feature xsk-capture has changed
 *
 * Context: under xsk_tx_list_lock; xsk_unbind_dev() waits for polls that use
 * the socket
 */
void xsk_tx_span_update(struct xsk_buff_pool *pool)
{
	const struct net_device *dev = pool->netdev;
	struct xdp_sock *xs = NULL;

	if (!dev || !(dev->features & NETIF_F_XSK_CAPTURE))
		xs = xsk_tx_span_sock(pool);
	/* Pairs with READ_ONCE() and the address dependency of its users */
	smp_store_release(&pool->tx_span_xs, xs);
}

/* Number of contiguous entries from @index, at most @max */
static u32 xsk_tx_contiguous(const struct xsk_queue *q, u32 index, u32 max)
{
	return min(max, q->nentries - (index & q->ring_mask));
}

/* Record addresses in the completion ring. Returns the number of contiguous
 * free entries, at most @max.
 */
static u32 xsk_tx_span_done(struct xsk_tx_span *span, struct xsk_queue *cq,
			    u32 max)
{
	struct xdp_umem_ring *ring = (struct xdp_umem_ring *)cq->ring;

	span->done = &ring->desc[cq->cached_prod & cq->ring_mask];
	/* Back-pressure: transmit no more than can be completed */
	return xsk_tx_contiguous(cq, cq->cached_prod,
				 xskq_prod_nb_free(cq, max));
}

/**
 * xsk_tx_span_begin() - get contiguous descriptors of the Tx ring
 * @span: the result
 * @pool: the pool
 * @max: number of contiguous free descriptors of the device, at least 1
 * @count_empty: whether to count an empty Tx ring in its statistics, also
 *	after the last descriptor: xsk_tx_peek_desc() counts it,
 *	xsk_tx_peek_release_desc_batch() does not
 *
 * Context: NAPI poll
 * Return: number of descriptors; 0 if there is nothing to transmit, or the
 * completion ring is full; -EAGAIN if completion has to make room to record
 * more; -EOPNOTSUPP if spans do not support @pool
 */
int xsk_tx_span_begin(struct xsk_tx_span *span, struct xsk_buff_pool *pool,
		      u32 max, bool count_empty)
{
	struct xsk_inorder_pool *order = READ_ONCE(pool->inorder);
	struct xdp_sock *xs = READ_ONCE(pool->tx_span_xs);
	struct xsk_recycle *recycle;
	struct xdp_rxtx_ring *ring;
	struct xsk_queue *tx;
	u32 entries, room = max;

	/* A poll is an RCU read section. xsk_unbind_dev() waits for it before
	 * the socket is freed, and xsk_inorder_prepare_pool() before a socket
	 * is added for which @order is needed.
	 */
	if (unlikely(!xs)) {
		if (static_branch_unlikely(&xsk_capture_key.key))
			xs = xsk_tx_span_uncaptured(pool);
		if (!xs)
			return list_empty(&pool->xsk_tx_list) ? 0 : -EOPNOTSUPP;
	}
	/* The remaining descriptors of an invalid packet may look valid */
	if (unlikely(READ_ONCE(pool->reclaim_descs) ||
		     READ_ONCE(xs->drain_cont)))
		return -EOPNOTSUPP;

	tx = xs->tx;
	if (order) {
		if (unlikely(xsk_inorder_full(order)))
			return -EAGAIN;
		entries = xsk_inorder_available(xs, max);
		recycle = READ_ONCE(pool->recycle);
		max = xsk_recycle_room(recycle, tx, entries);
		if (!entries)
			goto empty;
		if (unlikely(!max))
			return -EAGAIN;
		span->done = xsk_recycle_span(recycle, &max);
	} else {
		max = xsk_tx_span_done(span, pool->cq, max);
		if (!max)
			return 0;
		max = xskq_cons_nb_entries(tx, max);
	}

	span->count = xsk_tx_contiguous(tx, tx->cached_cons, max);
	if (!span->count)
		goto empty;

	ring = (struct xdp_rxtx_ring *)tx->ring;
	span->xs = xs;
	span->more = tx->cached_prod - tx->cached_cons != span->count;
	/* xsk_tx_peek_desc() would be called again, and find it empty */
	if (!span->more && span->count < room)
		tx->queue_empty_descs += count_empty;
	span->desc = &ring->desc[tx->cached_cons & tx->ring_mask];
	return span->count;

empty:
	tx->queue_empty_descs += count_empty;
	return 0;
}
EXPORT_SYMBOL_GPL(xsk_tx_span_begin);

/**
 * xsk_tx_span_end() - take the descriptors that were written to the device
 * @span: the span
 * @sent: number of descriptors written, from the first one on
 *
 * Context: NAPI poll
 */
void xsk_tx_span_end(const struct xsk_tx_span *span, u32 sent)
{
	struct xdp_sock *xs = span->xs;
	struct xsk_buff_pool *pool = xs->pool;

	if (!sent)
		return;

	xskq_cons_release_n(xs->tx, sent);
	if (pool->inorder) {
		u32 id = xs->inorder.id;

		if (span->done) {
			pool->recycle->recorded += sent;
			id |= XSK_INORDER_RECORDED;
		}
		xsk_inorder_add(pool->inorder, id, sent, sent);
		return;
	}

	pool->cq->cached_prod += sent;
	__xskq_cons_release(xs->tx);
	xs->sk.sk_write_space(&xs->sk);
}
EXPORT_SYMBOL_GPL(xsk_tx_span_end);
