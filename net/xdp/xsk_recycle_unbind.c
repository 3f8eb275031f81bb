// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_RECYCLE, teardown: no chunk is lost when a socket of a pair is closed,
 * or its device unregistered.
 *
 * Pending chunks of a closed Tx socket still go to the Rx queue, which owns
 * their struct xsk_recycle once the Tx queue's pool is freed. Those of a
 * closed Rx socket wait for the next pairing of the Tx socket.
 */
#include <linux/rculist.h>
#include <net/xdp_sock_drv.h>

#include "xsk_recycle.h"

static void xsk_recycle_unbind_rx(struct xsk_recycle *recycle,
				  const char *reason)
{
	xsk_recycle_trace_end(recycle, reason);
	xsk_recycle_unlink(recycle);
	if (recycle->orphaned)
		xsk_recycle_release(recycle);
	else if (recycle->tx_xs)
		/* An index that was passed: from the next descriptor on */
		xsk_recycle_request(recycle, false,
				    READ_ONCE(recycle->tx_xs->inorder.done));
}

/* The link stays: the Rx queue receives what is in flight */
static void xsk_recycle_unbind_tx(struct xsk_recycle *recycle,
				  const char *reason)
{
	xsk_recycle_trace_end(recycle, reason);
	recycle->request_on = false;
	WRITE_ONCE(recycle->on, false);
	/* Pairs with the load in xsk_recycle_state() */
	smp_store_release(&recycle->applied, recycle->request);
	WRITE_ONCE(recycle->limit, U32_MAX);
	WRITE_ONCE(recycle->tx_xs, NULL);
}

/* Context: recycle_lock of the umem */
static void xsk_recycle_unbind_rx_all(struct xdp_sock *xs, const char *reason)
{
	struct xsk_recycle *recycle, *next;

	list_for_each_entry_safe(recycle, next, &xs->pool->recycle_from, node) {
		if (recycle->rx_xs == xs)
			xsk_recycle_unbind_rx(recycle, reason);
	}
}

/**
 * xsk_recycle_detach() - end the pairings with an Rx socket that stays bound
 * @xs: the socket, to whose Rx ring no packets are delivered any more
 *
 * The Rx queue takes few chunks then, and the Tx sockets would run out of them.
 */
void xsk_recycle_detach(struct xdp_sock *xs)
{
	mutex_lock(&xs->umem->recycle_lock);
	xsk_recycle_unbind_rx_all(xs, "rx_detached");
	mutex_unlock(&xs->umem->recycle_lock);
}

/**
 * xsk_recycle_unbind() - end the pairings of a socket, on either side
 * @xs: the socket, which is no longer bound, and whose Tx ring is not polled
 *
 * Chunks in flight and pending ones still go to the Rx queue. If @xs is the Rx
 * socket, pending chunks wait for the next pairing of the Tx socket; chunks in
 * flight go to its completion ring, or are pending.
 */
void xsk_recycle_unbind(struct xdp_sock *xs)
{
	/* See xsk_notifier() */
	bool unregistered = READ_ONCE(xs->sk.sk_err) == ENETDOWN;
	struct xsk_recycle *recycle;

	mutex_lock(&xs->umem->recycle_lock);
	xsk_recycle_unbind_rx_all(xs, unregistered ? "rx_unregistered" :
						     "rx_closed");
	recycle = xs->pool->recycle;
	if (recycle && recycle->tx_xs == xs)
		xsk_recycle_unbind_tx(recycle, unregistered ?
				      "tx_unregistered" : "tx_closed");
	mutex_unlock(&xs->umem->recycle_lock);
}

/* One backlog without a Tx queue is enough for an Rx queue. There is room,
 * except for chunks that were sent more than once.
 */
static void xsk_recycle_merge(struct xsk_recycle *recycle,
			      struct xsk_recycle *orphan,
			      struct xsk_buff_pool *to)
{
	u32 i, count = min(recycle->published - recycle->read,
			   orphan->mask + 1 -
			   (orphan->published - READ_ONCE(orphan->read)));

	for (i = 0; i < count; i++)
		orphan->addrs[(orphan->published + i) & orphan->mask] =
			recycle->addrs[(recycle->read + i) & recycle->mask];

	rcu_read_lock();
	xsk_recycle_publish(orphan, to, orphan->published + count);
	rcu_read_unlock();
}

/* Leave the backlog to the Rx queue. Returns false if @recycle itself is not
 * needed for that.
 */
static bool xsk_recycle_orphan(struct xsk_recycle *recycle)
{
	struct xsk_buff_pool *to;
	struct xsk_recycle *orphan;

	if (!recycle->rx_xs)
		return false;

	to = recycle->rx_xs->pool;
	list_for_each_entry(orphan, &to->recycle_from, node) {
		if (orphan->orphaned) {
			xsk_recycle_unlink(recycle);
			xsk_recycle_merge(recycle, orphan, to);
			return false;
		}
	}

	recycle->orphaned = true;
	return true;
}

/**
 * xsk_recycle_destroy() - free the recycling state of a pool
 * @pool: the pool, which no socket and no poll uses any more
 *
 * Context: the pool still holds its umem
 */
void xsk_recycle_destroy(struct xsk_buff_pool *pool)
{
	if (!pool->recycle)
		return;

	mutex_lock(&pool->umem->recycle_lock);
	if (!xsk_recycle_orphan(pool->recycle))
		xsk_recycle_release(pool->recycle);
	mutex_unlock(&pool->umem->recycle_lock);
}
