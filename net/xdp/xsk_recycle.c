// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_RECYCLE, data path: transmitted chunks return to an Rx ring.
 *
 *      Tx ring of the socket ----> device ----> completion
 *            ^                                      |
 *       application                      struct xsk_recycle: addresses
 *            |                                      |
 *      Rx ring of the socket <---- device <---- refill, before the fill ring
 *
 * The Tx queue's polls record the address of each descriptor that they take
 * from the Tx ring, in kernel memory: it was validated then, and later writes
 * of user space have no effect. On completion they publish the number of
 * completed addresses, which the Rx queue's polls consume. An address is an
 * offset into the umem, which both pools share; each pool has its own buffer
 * heads and DMA addresses for it.
 *
 * Recording is switched between two descriptors: those that were in the Tx
 * ring at the time of the request are treated as before. The runs of
 * xsk_inorder.c keep the setting of descriptors in flight.
 *
 * Transmission never waits for the Rx queue: a surplus stays here, or goes to
 * the completion ring if there is one; the fill ring covers a shortage. An Rx
 * queue below its low watermark sets recycle_low, and the next completion
 * triggers its NAPI.
 */
#include <linux/rculist.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_refill.h>

#include "xsk_posted.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"

#define CREATE_TRACE_POINTS
#include <trace/events/xsk.h>

/**
 * xsk_recycle_switch() - apply a request at its Tx ring entry
 * @recycle: the recycling state of the Tx queue
 * @taken: index of the next Tx ring entry
 * @size: size of the Tx ring in entries
 * @max: upper limit
 *
 * Return: number of entries before the next switch, at most @max
 */
u32 xsk_recycle_switch(struct xsk_recycle *recycle, u32 taken, u32 size,
		       u32 max)
{
	u32 request, left;

	/* Matches the release in xsk_recycle_request() */
	request = smp_load_acquire(&recycle->request);
	if (request == recycle->applied)
		return max;
	left = recycle->request_entry - taken;
	/* User space wrote the index: an impossible one counts as reached */
	if (left && left <= size)
		return min(left, max);

	WRITE_ONCE(recycle->on, recycle->request_on);
	WRITE_ONCE(recycle->entry, taken);
	/* Pairs with the acquire in xsk_recycle_state(), xsk_recycle_settled() */
	smp_store_release(&recycle->applied, request);
	return max;
}

/**
 * xsk_recycle_record() - record the addresses of descriptors
 * @pool: pool of a Tx queue
 * @descs: the descriptors
 * @count: number of descriptors, limited by xsk_recycle_room()
 *
 * Return: true if addresses are recorded
 */
bool xsk_recycle_record(struct xsk_buff_pool *pool,
			const struct xdp_desc *descs, u32 count)
{
	struct xsk_recycle *recycle = READ_ONCE(pool->recycle);
	u32 i;

	if (!recycle || !recycle->on)
		return false;

	for (i = 0; i < count; i++)
		recycle->addrs[(recycle->recorded + i) & recycle->mask] =
			descs[i].addr;
	recycle->recorded += count;
	return true;
}

/**
 * xsk_recycle_excess() - get the number of chunks above the limit
 * @recycle: the recycling state of the Tx queue
 * @count: number of chunks to publish
 *
 * Return: number of these chunks that exceed the limit
 */
u32 xsk_recycle_excess(const struct xsk_recycle *recycle, u32 count)
{
	u32 pending = recycle->published + count - READ_ONCE(recycle->read);
	u32 limit = READ_ONCE(recycle->limit);

	if (pending <= limit)
		return 0;
	return min(count, pending - limit);
}

/*
 * Move the last @excess chunks before @end to the completion ring, as far as it
 * has room, and close the gap: the Rx queue may not read for a long time.
 * Returns the number of chunks moved. Not inlined: rare, and each completion
 * would save registers for it.
 */
static noinline u32 xsk_recycle_spill(struct xsk_buff_pool *pool, u32 end,
				      u32 excess, const char *reason)
{
	struct xsk_recycle *recycle = pool->recycle;
	u32 count = xskq_prod_nb_free(pool->cq, excess);
	u64 *addrs = recycle->addrs;
	u32 mask = recycle->mask, i;

	trace_xsk_recycle_spill(pool, excess, count, reason);
	if (!count)
		return 0;

	for (i = end - count; i != end; i++)
		xskq_prod_reserve_addr(pool->cq, addrs[i & mask]);
	xskq_prod_submit(pool->cq);
	for (; i != recycle->recorded; i++)
		addrs[(i - count) & mask] = addrs[i & mask];
	recycle->recorded -= count;
	recycle->spilled += count;
	return count;
}

/**
 * xsk_recycle_wakeup() - trigger NAPI of a queue
 * @pool: its pool
 * @flags: XDP_WAKEUP_*
 *
 * Return: 0, or the driver's error
 */
int xsk_recycle_wakeup(const struct xsk_buff_pool *pool, u32 flags)
{
	struct net_device *dev;
	int err = 0;

	/* The device may be unregistered, see xsk_notifier():
	 * unregister_netdevice() waits for readers
	 */
	rcu_read_lock();
	dev = READ_ONCE(pool->netdev);
	if (likely(dev))
		err = dev->netdev_ops->ndo_xsk_wakeup(dev, pool->queue_id,
						      flags);
	rcu_read_unlock();
	return err;
}

/* Not inlined, as xsk_recycle_spill() */
static noinline void xsk_recycle_kick(struct xsk_recycle *recycle,
				      struct xsk_buff_pool *to)
{
	/* Before the wakeup: the poll may set it again */
	WRITE_ONCE(to->recycle_low, false);
	recycle->kicks++;
	/* The driver may refuse it while another queue is set up: try again */
	if (xsk_recycle_wakeup(to, XDP_WAKEUP_RX))
		WRITE_ONCE(to->recycle_low, true);
}

/**
 * xsk_recycle_publish() - make chunks available to the Rx queue
 * @recycle: the recycling state of the Tx queue
 * @to: pool of the Rx queue, NULL if the Tx queue is not paired
 * @published: index behind the last available address
 *
 * Context: RCU read section
 */
void xsk_recycle_publish(struct xsk_recycle *recycle, struct xsk_buff_pool *to,
			 u32 published)
{
	/* Addresses first. Pairs with the acquire in xsk_recycle_available() */
	smp_store_release(&recycle->published, published);
	if (!to)
		return;

	/* Either the Rx queue sees the chunks, or we see that it is low:
	 * pairs with the barrier in xsk_refill_begin()
	 */
	smp_mb();
	if (unlikely(READ_ONCE(to->recycle_low)))
		xsk_recycle_kick(recycle, to);
}

/**
 * xsk_recycle_completed() - recycle completed descriptors
 * @pool: pool of the Tx queue
 * @count: number of descriptors, oldest first
 *
 * Context: RCU read section
 */
void xsk_recycle_completed(struct xsk_buff_pool *pool, u32 count)
{
	struct xsk_recycle *recycle = pool->recycle;
	u32 published = recycle->published + count;
	struct xsk_buff_pool *to;
	u32 excess;

	to = rcu_dereference(recycle->to);
	excess = to ? xsk_recycle_excess(recycle, count) : count;
	if (unlikely(excess && pool->cq))
		published -= xsk_recycle_spill(pool, published, excess,
					       to ? "limit" : "no_pair");

	xsk_recycle_publish(recycle, to, published);
}

static u32 xsk_recycle_available(const struct xsk_recycle *recycle)
{
	/* Pairs with the release in xsk_recycle_publish() */
	return smp_load_acquire(&recycle->published) - recycle->read;
}

/**
 * xsk_recycle_has_pending() - check for pending chunks
 * @pool: pool of an Rx queue
 *
 * Return: true if a Tx queue has chunks for it
 */
bool xsk_recycle_has_pending(const struct xsk_buff_pool *pool)
{
	const struct xsk_recycle *recycle;
	bool pending = false;

	rcu_read_lock();
	list_for_each_entry_rcu(recycle, &pool->recycle_from, node) {
		pending = xsk_recycle_available(recycle);
		if (pending)
			break;
	}
	rcu_read_unlock();
	return pending;
}

/**
 * xsk_recycle_fq() - extend the fill ring's consumer index to 64 bits
 * @pool: pool of an Rx queue
 *
 * Return: the index, if xsk_recycle_see_fq() ran since it last wrapped
 */
u64 xsk_recycle_fq(const struct xsk_buff_pool *pool)
{
	u64 seen = READ_ONCE(pool->recycle_fq);

	return seen + (u32)(READ_ONCE(pool->fq->cached_cons) - (u32)seen);
}

/* Polls of a paired Rx queue record it before they read the fill ring */
static void xsk_recycle_see_fq(struct xsk_buff_pool *pool)
{
	WRITE_ONCE(pool->recycle_fq, xsk_recycle_fq(pool));
}

/**
 * xsk_recycle_next() - get contiguous addresses of paired Tx queues
 * @pool: pool of the Rx queue
 * @span: receives the addresses
 * @max: number of contiguous free descriptors
 *
 * Context: RCU read section
 * Return: true if there are any
 */
bool xsk_recycle_next(struct xsk_buff_pool *pool, struct xsk_refill_span *span,
		      u32 max)
{
	struct xsk_recycle *recycle;
	u32 index;

	span->last = false;
	span->kind = READ_ONCE(pool->refill_kind);
	if (span->kind == XSK_REFILL_USER)
		span->kind = XSK_REFILL_RECORDED;
	list_for_each_entry_rcu(recycle, &pool->recycle_from, node) {
		index = recycle->read & recycle->mask;
		span->count = min3(max, xsk_recycle_available(recycle),
				   recycle->mask + 1 - index);
		span->addrs = &recycle->addrs[index];
		span->recycle = recycle;
		if (span->count)
			return true;
	}

	xsk_recycle_see_fq(pool);
	return false;
}

/**
 * xsk_recycle_taken() - consume addresses of a Tx queue
 * @recycle: the recycling state of the Tx queue
 * @count: number of addresses
 * @posted: number of descriptors written
 */
void xsk_recycle_taken(struct xsk_recycle *recycle, u32 count, u32 posted)
{
	/* Pairs with READ_ONCE() in xsk_recycle_room(): the entries are free */
	smp_store_release(&recycle->read, recycle->read + count);
	recycle->recycled += posted;
}

/* Move chunks of one Tx queue to the free list, until it has @count */
static void xsk_recycle_free(struct xsk_recycle *recycle,
			     struct xsk_buff_pool *pool, u32 count)
{
	u32 available = xsk_recycle_available(recycle);
	u32 read = recycle->read;
	struct xdp_buff_xsk *xskb;

	for (; available && pool->free_list_cnt < count; available--) {
		if (!xp_free_heads(pool))
			break;
		xskb = xp_take(pool, recycle->addrs[read++ & recycle->mask]);
		if (!xskb)
			continue;
		if (xsk_is_posted(xskb)) {
			if (xsk_checks_posted(pool))
				xsk_drop_duplicate(pool, xskb);
			continue;
		}
		xp_free(xskb);
		recycle->recycled++;
	}
	/* As in xsk_recycle_taken() */
	smp_store_release(&recycle->read, read);
}

/**
 * xsk_recycle_to_free_list() - fill the free list for xp_alloc()
 * @pool: pool of the Rx queue
 * @count: number of buffers wanted on the free list
 */
void xsk_recycle_to_free_list(struct xsk_buff_pool *pool, u32 count)
{
	struct xsk_recycle *recycle;

	/* Also called when a ring is set up, outside of polls */
	rcu_read_lock();
	list_for_each_entry_rcu(recycle, &pool->recycle_from, node)
		xsk_recycle_free(recycle, pool, count);
	rcu_read_unlock();

	xsk_recycle_see_fq(pool);
}
