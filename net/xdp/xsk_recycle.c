// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_RECYCLE: chunks whose frames were sent go back to an Rx ring.
 *
 *      Tx ring of the socket ----> device ----> completion
 *            ^                                      |
 *       application                      struct xsk_recycle: addresses
 *            |                                      |
 *      Rx ring of the socket <---- device <---- refill, before the fill ring
 *
 * The polls of the Tx queue note the address of each frame when they take it,
 * in memory of the kernel: it was judged then, and what user space writes
 * later does not matter. When frames are complete, they publish as many. The
 * polls of the Rx queue take what is published. The currency is the address
 * in the umem, which both pools share; each has its own buffer heads and DMA
 * addresses for it.
 *
 * Whether addresses are noted is switched between two frames: what was in the
 * Tx ring when the switch was asked for is treated as before. The runs of
 * xsk_inorder.c remember it for frames in flight.
 *
 * Rx needs what Tx has completed, and the other way round nothing is needed:
 * a surplus waits here, or goes to the completion ring if there is one; if
 * there is too little, the fill ring serves. If the Rx queue runs low it says
 * so (recycle_low) and is woken up by the next completion.
 */
#include <linux/dma-mapping.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/xdp_sock_drv.h>

#include "xsk_inorder.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"
#include "xsk_refill.h"

#define CREATE_TRACE_POINTS
#include <trace/events/xsk.h>

/* How often setsockopt() looks for an earlier switch, about once in 1 ms */
#define XSK_RECYCLE_PATIENCE	20

/*
 * Links between pools, and requests. Taken after RTNL and the socket's mutex.
 * setsockopt() has the RTNL so that no socket joins a queue meanwhile.
 */
static DEFINE_MUTEX(xsk_recycle_mutex);

static bool xsk_recycle_pending(const struct xsk_recycle *recycle)
{
	/* Matches the release in xsk_recycle_switch(): for who reads @on then */
	return smp_load_acquire(&recycle->applied) != recycle->request;
}

/**
 * xsk_recycle_switch() - carry out a request when its slot has come
 * @recycle: what is switched
 * @taken: the next slot of the Tx ring
 * @size: slots of it
 * @max: how many are to be taken
 *
 * Return: how many can be taken before the next switch, at most @max
 */
u32 xsk_recycle_switch(struct xsk_recycle *recycle, u32 taken, u32 size,
		       u32 max)
{
	u32 request, left;

	/* Matches the release in xsk_recycle_request() */
	request = smp_load_acquire(&recycle->request);
	if (request == recycle->applied)
		return max;
	left = recycle->request_slot - taken;
	/* User space wrote the slot: one that cannot be counts as passed */
	if (left && left <= size)
		return min(left, max);

	WRITE_ONCE(recycle->on, recycle->request_on);
	WRITE_ONCE(recycle->slot, taken);
	/* Matches the acquire in xsk_recycle_getsockopt() */
	smp_store_release(&recycle->applied, request);
	return max;
}

/**
 * xsk_recycle_room() - how many descriptors can be taken
 * @pool: pool of a Tx queue that recycles, or did
 * @xs: its socket
 * @max: how many are wanted
 *
 * Return: how many have room to be noted, and are all to be or not
 */
u32 xsk_recycle_room(struct xsk_buff_pool *pool, const struct xdp_sock *xs,
		     u32 max)
{
	struct xsk_recycle *recycle = pool->recycle;

	max = xsk_recycle_switch(recycle, xs->tx->cached_cons,
				 xs->tx->nentries, max);
	if (!recycle->on)
		return max;
	return min(max, recycle->mask + 1 -
			(recycle->noted - READ_ONCE(recycle->read)));
}

/**
 * xsk_recycle_row() - where addresses are noted
 * @pool: pool of a Tx queue
 * @max: how many are wanted; gets how many there is room for in a row
 *
 * Return: the first place, NULL if addresses are not noted
 */
u64 *xsk_recycle_row(struct xsk_buff_pool *pool, u32 *max)
{
	struct xsk_recycle *recycle = READ_ONCE(pool->recycle);
	u32 index;

	if (!recycle || !recycle->on)
		return NULL;

	index = recycle->noted & recycle->mask;
	*max = min(*max, recycle->mask + 1 - index);
	return &recycle->addrs[index];
}

/**
 * xsk_recycle_note() - note the addresses of frames, or count them as noted
 * @pool: pool of a Tx queue
 * @descs: their descriptors; NULL if they were written where
 *	xsk_recycle_row() said
 * @count: how many, no more than there was room for
 */
void xsk_recycle_note(struct xsk_buff_pool *pool, const struct xdp_desc *descs,
		      u32 count)
{
	struct xsk_recycle *recycle = READ_ONCE(pool->recycle);
	u32 i;

	if (!recycle || !recycle->on)
		return;

	for (i = 0; descs && i < count; i++)
		recycle->addrs[(recycle->noted + i) & recycle->mask] =
			descs[i].addr;
	recycle->noted += count;
}

/**
 * xsk_recycle_excess() - how many chunks are too many
 * @recycle: where they are to wait
 * @count: how many are to be added
 *
 * Return: how many of them are above the limit
 */
u32 xsk_recycle_excess(const struct xsk_recycle *recycle, u32 count)
{
	u32 waiting = recycle->published + count - READ_ONCE(recycle->read);
	u32 limit = READ_ONCE(recycle->limit);

	if (waiting <= limit)
		return 0;
	return min(count, waiting - limit);
}

/*
 * The last of @count chunks before @end go to the completion ring. What is
 * noted behind them moves up, so that they take no room: the Rx queue may not
 * read for long. Returns how many there was room for.
 */
static u32 xsk_recycle_spill(struct xsk_buff_pool *pool, u32 end, u32 count)
{
	struct xsk_recycle *recycle = pool->recycle;
	u64 *addrs = recycle->addrs;
	u32 mask = recycle->mask, i;

	count = xskq_prod_nb_free(pool->cq, count);
	if (!count)
		return 0;

	for (i = end - count; i != end; i++)
		xskq_prod_reserve_addr(pool->cq, addrs[i & mask]);
	xskq_prod_submit(pool->cq);
	for (; i != recycle->noted; i++)
		addrs[(i - count) & mask] = addrs[i & mask];
	recycle->noted -= count;
	recycle->spilled += count;
	return count;
}

/* Too many chunks before @end: returns how many went to the completion ring */
static u32 xsk_recycle_reduce(struct xsk_buff_pool *pool, u32 end, u32 excess,
			      const char *reason)
{
	u32 spilled = xsk_recycle_spill(pool, end, excess);

	trace_xsk_recycle_spill(pool, excess, spilled, reason);
	return spilled;
}

static void xsk_recycle_kick(struct xsk_recycle *recycle,
			     struct xsk_buff_pool *to)
{
	/* Of several sockets of a queue that goes, see xsk_notifier(), the one
	 * that is paired may be the last. We are in an RCU read section, and
	 * unregister_netdevice() waits for those after that.
	 */
	struct net_device *dev = READ_ONCE(to->netdev);

	if (unlikely(!dev))
		return;

	/* Before: the poll may say again that it is low */
	WRITE_ONCE(to->recycle_low, false);
	recycle->kicks++;
	/* Another queue of the device is set up, say: try again next time */
	if (dev->netdev_ops->ndo_xsk_wakeup(dev, to->queue_id, XDP_WAKEUP_RX))
		WRITE_ONCE(to->recycle_low, true);
}

static void xsk_recycle_publish(struct xsk_recycle *recycle,
				struct xsk_buff_pool *to, u32 published)
{
	/* Addresses first. Pairs with the acquire in xsk_recycle_available() */
	smp_store_release(&recycle->published, published);
	if (!to)
		return;

	/* Either the Rx queue sees the chunks, or we see that it is low:
	 * pairs with the barrier in xsk_direct_refill_begin()
	 */
	smp_mb();
	if (unlikely(READ_ONCE(to->recycle_low)))
		xsk_recycle_kick(recycle, to);
}

/**
 * xsk_recycle_completed() - hand over the chunks of complete frames
 * @pool: pool of the Tx queue
 * @count: how many, in the order in which they were noted
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
		published -= xsk_recycle_reduce(pool, published, excess,
						to ? "limit" : "no_pair");

	xsk_recycle_publish(recycle, to, published);
}

static u32 xsk_recycle_available(const struct xsk_recycle *recycle)
{
	/* Pairs with the release in xsk_recycle_publish() */
	return smp_load_acquire(&recycle->published) - recycle->read;
}

/**
 * xsk_recycle_waiting() - check for chunks to take
 * @pool: pool of an Rx queue
 *
 * Return: true if there are any
 */
bool xsk_recycle_waiting(const struct xsk_buff_pool *pool)
{
	const struct xsk_recycle *recycle;
	bool waiting = false;

	rcu_read_lock();
	list_for_each_entry_rcu(recycle, &pool->recycle_from, node) {
		waiting = xsk_recycle_available(recycle);
		if (waiting)
			break;
	}
	rcu_read_unlock();
	return waiting;
}

/* The fill ring's index in 64 bits, if it was seen since it wrapped around */
static u64 xsk_recycle_fq(const struct xsk_buff_pool *pool)
{
	u64 seen = READ_ONCE(pool->recycle_fq);

	return seen + (u32)(READ_ONCE(pool->fq->cached_cons) - (u32)seen);
}

/* Polls of a paired Rx queue see it before they take from the fill ring */
static void xsk_recycle_see_fq(struct xsk_buff_pool *pool)
{
	WRITE_ONCE(pool->recycle_fq, xsk_recycle_fq(pool));
}

/* Give @count chunks in a row to the device */
static void xsk_recycle_take_row(const struct xsk_buff_pool *pool,
				 const u64 *addrs, size_t count, void *slot,
				 size_t step, __le64 *rx_desc)
{
	struct xdp_buff_xsk *heads = pool->heads;
	const u32 shift = pool->chunk_shift;
	size_t i;

#pragma GCC unroll 4
	for (i = 0; i < count; i++) {
		xsk_refill_write(&heads[addrs[i] >> shift], slot, rx_desc);
		slot += step;
		rx_desc += 2;
	}
}

/* Give @recycle's chunks to the device. Returns how many of at most @count */
static u32 xsk_recycle_take(struct xsk_recycle *recycle,
			    struct xsk_buff_pool *pool, void *slot,
			    size_t step, __le64 *rx_desc, u32 count)
{
	u32 read = recycle->read, index, row, done = 0;
	const u64 *addrs;

	count = min(count, xsk_recycle_available(recycle));
	for (; count; count -= row, read += row) {
		index = read & recycle->mask;
		row = min(count, recycle->mask + 1 - index);
		addrs = &recycle->addrs[index];
		if (unlikely(READ_ONCE(pool->recycle_check))) {
			done += xsk_refill_checked(pool, addrs, row,
						   slot + done * step, step,
						   rx_desc + done * 2);
			continue;
		}
		xsk_recycle_take_row(pool, addrs, row, slot + done * step,
				     step, rx_desc + done * 2);
		done += row;
	}

	/* The Tx queue can note others there, now that they were read */
	smp_store_release(&recycle->read, read);
	recycle->recycled += done;
	return done;
}

/**
 * xsk_recycle_refill() - as xsk_direct_refill(), from Tx queues
 * @pool: pool of the Rx queue
 * @slot: where the pointer to the first buffer goes
 * @step: bytes from one such place to the next
 * @rx_desc: the first Rx descriptor
 * @count: how many descriptors there are in a row
 *
 * Return: how many descriptors were written
 */
u32 xsk_recycle_refill(struct xsk_buff_pool *pool, void *slot, size_t step,
		       __le64 *rx_desc, u32 count)
{
	struct xsk_recycle *recycle;
	u32 done = 0;

	/* Also called where a ring is set up, outside of polls */
	rcu_read_lock();
	list_for_each_entry_rcu(recycle, &pool->recycle_from, node) {
		done += xsk_recycle_take(recycle, pool, slot + done * step,
					 step, rx_desc + done * 2,
					 count - done);
		if (done == count)
			break;
	}
	rcu_read_unlock();

	if (done < count)
		xsk_recycle_see_fq(pool);
	return done;
}

/* Move @recycle's chunks to the free list, until there are @count */
static void xsk_recycle_free(struct xsk_recycle *recycle,
			     struct xsk_buff_pool *pool, u32 count)
{
	u32 available = xsk_recycle_available(recycle);
	u32 read = recycle->read;
	struct xdp_buff_xsk *xskb;
	u64 addr;

	for (; available && pool->free_list_cnt < count; available--) {
		addr = recycle->addrs[read++ & recycle->mask];
		xskb = &pool->heads[addr >> pool->chunk_shift];
		if (xskb->xdp.flags & XSK_REFILL_CLAIMED ||
		    !list_empty(&xskb->list_node)) {
			pool->recycle_duplicates++;
			continue;
		}
		xp_free(xskb);
		recycle->recycled++;
	}
	/* As in xsk_recycle_take() */
	smp_store_release(&recycle->read, read);
}

/**
 * xsk_recycle_to_free_list() - take chunks for xp_alloc() to find
 * @pool: pool of the Rx queue
 * @count: how many are wanted on the free list
 */
void xsk_recycle_to_free_list(struct xsk_buff_pool *pool, u32 count)
{
	struct xsk_recycle *recycle;

	/* Also called where a ring is set up, outside of polls */
	rcu_read_lock();
	list_for_each_entry_rcu(recycle, &pool->recycle_from, node)
		xsk_recycle_free(recycle, pool, count);
	rcu_read_unlock();

	xsk_recycle_see_fq(pool);
}

static int xsk_recycle_refuse(const struct xdp_sock *tx_xs, int err,
			      const char *why)
{
	if (net_ratelimit())
		netdev_info(tx_xs->dev, "AF_XDP socket not paired: %s\n", why);
	return err;
}

/**
 * xsk_recycle_check_mode() - check that devices and umem allow a pairing
 * @tx_xs: sending socket
 * @rx_xs: receiving socket, of the same umem
 * @flags: flags of struct xdp_recycle
 *
 * Return: 0, or -EOPNOTSUPP after the reason was logged
 */
int xsk_recycle_check_mode(const struct xdp_sock *tx_xs,
			   const struct xdp_sock *rx_xs, u32 flags)
{
	const char *why = NULL;

	if (!tx_xs->zc)
		why = "it sends in copy mode";
	else if (!rx_xs->zc)
		why = "the other one receives in copy mode";
	/* Other drivers check only the fill ring before they allocate, or have
	 * no low watermark
	 */
	else if (!rx_xs->dev->xsk_recycle)
		why = "the driver of the other one does not take chunks";
	else if (tx_xs->pool->unaligned)
		why = "the chunks of the umem are not aligned";
	else if (tx_xs->sg)
		why = "it sends frames of several buffers";
	/* xp_alloc() does not look at the mark, nor keep it */
	else if (flags & XDP_RECYCLE_F_CHECK &&
		 dma_dev_need_sync(rx_xs->pool->dev))
		why = "DMA needs syncs, and that leaves no check";

	return why ? xsk_recycle_refuse(tx_xs, -EOPNOTSUPP, why) : 0;
}

/* Whether two sockets can be paired: 0, or why they cannot */
static int xsk_recycle_check(const struct xdp_sock *tx_xs,
			     const struct xdp_sock *rx_xs, u32 flags)
{
	if (!tx_xs->tx)
		return xsk_recycle_refuse(tx_xs, -EINVAL, "it has no Tx ring");
	if (!rx_xs->rx)
		return xsk_recycle_refuse(tx_xs, -EINVAL,
					  "the other one has no Rx ring");
	if (tx_xs->umem != rx_xs->umem)
		return xsk_recycle_refuse(tx_xs, -EXDEV,
					  "they have not the same umem");
	if (!xsk_is_inorder(tx_xs))
		return xsk_recycle_refuse(tx_xs, -EPROTOTYPE,
					  "it has not XDP_TX_INORDER");
	if (!list_is_singular(&tx_xs->pool->xsk_tx_list))
		return xsk_recycle_refuse(tx_xs, -EMLINK,
					  "others send by its queue");
	return xsk_recycle_check_mode(tx_xs, rx_xs, flags);
}

static struct xsk_recycle *xsk_recycle_create(struct xdp_sock *tx_xs)
{
	unsigned long chunks = tx_xs->umem->chunks;
	unsigned long entries;
	struct xsk_recycle *recycle;

	entries = roundup_pow_of_two(chunks + tx_xs->tx->nentries);

	recycle = kzalloc(sizeof(*recycle), GFP_KERNEL_ACCOUNT);
	if (!recycle)
		return NULL;

	recycle->addrs = kvcalloc(entries, sizeof(*recycle->addrs),
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!recycle->addrs) {
		kfree(recycle);
		return NULL;
	}

	recycle->mask = entries - 1;
	return recycle;
}

static void xsk_recycle_release(struct xsk_recycle *recycle)
{
	kvfree(recycle->addrs);
	kfree(recycle);
}

/* A pairing ends, if it was not ended before */
static void xsk_recycle_end(const struct xsk_recycle *recycle,
			    const char *reason)
{
	if (recycle->request_on)
		trace_xsk_recycle_unpair(recycle->tx_xs, recycle->rx_xs,
					 reason);
}

/* Take chunks away from an Rx queue: none of its polls uses @recycle after */
static void xsk_recycle_unlink(struct xsk_recycle *recycle)
{
	struct xsk_buff_pool *pool;

	if (!recycle->rx_xs)
		return;

	pool = recycle->rx_xs->pool;
	list_del_rcu(&recycle->node);
	RCU_INIT_POINTER(recycle->to, NULL);
	recycle->rx_xs = NULL;
	synchronize_net();
	pool->recycle_received += recycle->recycled;
	if (list_empty(&pool->recycle_from))
		pool->recycle_filled += xsk_recycle_fq(pool);
}

/* Both sockets of a pair are bound, and stay bound under RTNL */
static void xsk_recycle_wakeup(const struct xdp_sock *xs, u32 flags)
{
	struct net_device *dev = xs->dev;

	rcu_read_lock();
	dev->netdev_ops->ndo_xsk_wakeup(dev, xs->queue_id, flags);
	rcu_read_unlock();
}

static void xsk_recycle_link(struct xsk_recycle *recycle,
			     struct xdp_sock *rx_xs)
{
	struct xsk_buff_pool *pool = rx_xs->pool;

	if (recycle->rx_xs == rx_xs)
		return;

	xsk_recycle_end(recycle, "moved");
	xsk_recycle_unlink(recycle);
	recycle->rx_xs = rx_xs;
	/* Less what was counted before: see xsk_recycle_query_rx() */
	pool->recycle_received -= recycle->recycled;
	if (list_empty(&pool->recycle_from))
		pool->recycle_filled -= xsk_recycle_fq(pool);
	list_add_tail_rcu(&recycle->node, &pool->recycle_from);
	/* The device's ring may be empty, so that no poll would set this: the
	 * next completion kicks the queue
	 */
	WRITE_ONCE(pool->recycle_low, true);
	/* Pairs with rcu_dereference() in xsk_recycle_completed() */
	rcu_assign_pointer(recycle->to, pool);
	/* There may be no further completion for the pending chunks */
	if (READ_ONCE(recycle->published) != READ_ONCE(recycle->read))
		xsk_recycle_wakeup(rx_xs, XDP_WAKEUP_RX);
}

static void xsk_recycle_request(struct xsk_recycle *recycle, bool on, u32 slot)
{
	recycle->request_on = on;
	recycle->request_slot = slot;
	/* Matches the acquire in xsk_recycle_switch() */
	smp_store_release(&recycle->request, recycle->request + 1);
}

/* Where an earlier switch waits for its slot, have the driver go on */
static int xsk_recycle_settled(struct xdp_sock *xs)
{
	if (!xsk_recycle_pending(xs->pool->recycle))
		return 0;

	xsk_recycle_wakeup(xs, XDP_WAKEUP_TX);
	return -EAGAIN;
}

static int xsk_recycle_pair(struct xdp_sock *xs, struct xdp_sock *rx_xs,
			    u32 flags, struct xsk_recycle **spare)
{
	struct xsk_recycle *recycle = xs->pool->recycle;
	int err = xsk_recycle_check(xs, rx_xs, flags);
	u32 slot;

	if (err)
		return err;

	if (!recycle) {
		swap(recycle, *spare);
		/* Polls see it whole */
		smp_store_release(&xs->pool->recycle, recycle);
	}
	err = xsk_recycle_settled(xs);
	if (err)
		return err;

	/* For ever: no chunk can be delivered with the mark of an earlier time */
	if (flags & XDP_RECYCLE_F_CHECK)
		WRITE_ONCE(rx_xs->pool->recycle_check, true);
	WRITE_ONCE(recycle->tx_xs, xs);
	WRITE_ONCE(recycle->limit, xs->tx->nentries);
	xsk_recycle_link(recycle, rx_xs);
	/* A poll may still send for a socket of the queue that was closed just
	 * before, whose slots are not those of this one
	 */
	if (!recycle->on)
		synchronize_net();
	slot = READ_ONCE(xs->tx->ring->producer);
	trace_xsk_recycle_pair(xs, rx_xs, slot);
	if (!recycle->on)
		xsk_recycle_request(recycle, true, slot);
	return 0;
}

/* What is in flight still goes to the Rx queue, and what waits */
static int xsk_recycle_unpair(struct xdp_sock *xs)
{
	struct xsk_recycle *recycle = xs->pool->recycle;
	int err;

	/* The pool may be that of a socket with a Tx ring, too */
	if (!recycle || recycle->tx_xs != xs)
		return 0;
	err = xsk_recycle_settled(xs);
	if (err || !recycle->on)
		return err;

	xsk_recycle_end(recycle, "setsockopt");
	xsk_recycle_request(recycle, false, READ_ONCE(xs->tx->ring->producer));
	return 0;
}

static bool xsk_recycle_bound(const struct xdp_sock *xs)
{
	if (READ_ONCE(xs->state) != XSK_BOUND)
		return false;
	/* Matches smp_wmb() in xsk_bind() */
	smp_rmb();
	return true;
}

static int xsk_recycle_pair_fd(struct xdp_sock *xs,
			       const struct xdp_recycle *opt,
			       struct xsk_recycle **spare)
{
	struct socket *sock;
	int err;

	sock = sockfd_lookup(opt->fd, &err);
	if (!sock)
		return err;

	if (sock->sk->sk_family != PF_XDP)
		err = -ENOPROTOOPT;
	else if (!xsk_recycle_bound(xdp_sk(sock->sk)))
		err = -ENOTCONN;
	else
		err = xsk_recycle_pair(xs, xdp_sk(sock->sk), opt->flags, spare);
	sockfd_put(sock);
	return err;
}

/* What xsk_recycle_check() refuses and never changes needs no memory */
static bool xsk_recycle_may_send(const struct xdp_sock *xs)
{
	return xs->tx && xs->zc && xsk_is_inorder(xs) && !xs->pool->unaligned;
}

/* Pair with the socket that fd is, or with none */
static int xsk_recycle_set(struct xdp_sock *xs, const struct xdp_recycle *opt)
{
	struct xsk_recycle *spare = NULL;
	int err;

	/* A bound socket keeps umem, Tx ring and pool until it is closed */
	if (!xsk_recycle_bound(xs))
		return -ENOTCONN;
	/* Without locks, as it may wait for the memory cgroup to reclaim. The
	 * pool keeps it once it has one.
	 */
	if (opt->fd != -1 && xsk_recycle_may_send(xs) &&
	    !READ_ONCE(xs->pool->recycle)) {
		spare = xsk_recycle_create(xs);
		if (!spare)
			return -ENOMEM;
	}

	rtnl_lock();
	mutex_lock(&xs->mutex);
	mutex_lock(&xsk_recycle_mutex);
	if (!xsk_recycle_bound(xs))
		err = -ENOTCONN;
	else if (opt->fd == -1)
		err = xsk_recycle_unpair(xs);
	else
		err = xsk_recycle_pair_fd(xs, opt, &spare);
	mutex_unlock(&xsk_recycle_mutex);
	mutex_unlock(&xs->mutex);
	rtnl_unlock();
	if (spare)
		xsk_recycle_release(spare);
	return err;
}

int xsk_recycle_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen)
{
	int tries = XSK_RECYCLE_PATIENCE;
	struct xdp_recycle opt;
	int err;

	if (optlen != sizeof(opt))
		return -EINVAL;
	if (copy_from_sockptr(&opt, optval, sizeof(opt)))
		return -EFAULT;
	if (opt.flags & ~XDP_RECYCLE_F_CHECK ||
	    memchr_inv(&opt.state, 0,
		       sizeof(opt) - offsetof(struct xdp_recycle, state)))
		return -EINVAL;

	/* Others need not wait for the locks meanwhile */
	while ((err = xsk_recycle_set(xs, &opt)) == -EAGAIN && tries--)
		usleep_range(1000, 1100);
	return err;
}

static void xsk_recycle_query_rx(const struct xsk_buff_pool *pool,
				 struct xdp_recycle *opt)
{
	const struct xsk_recycle *recycle;

	if (READ_ONCE(pool->recycle_check))
		opt->flags |= XDP_RECYCLE_F_CHECK;
	opt->duplicates = READ_ONCE(pool->recycle_duplicates);
	opt->received = pool->recycle_received;
	list_for_each_entry(recycle, &pool->recycle_from, node)
		opt->received += READ_ONCE(recycle->recycled);

	opt->filled = pool->recycle_filled;
	if (!list_empty(&pool->recycle_from))
		opt->filled += xsk_recycle_fq(pool);
}

static void xsk_recycle_query_tx(const struct xsk_recycle *recycle,
				 struct xdp_recycle *opt)
{
	opt->waiting = READ_ONCE(recycle->published) - READ_ONCE(recycle->read);
	opt->recycled = READ_ONCE(recycle->recycled);
	opt->spilled = READ_ONCE(recycle->spilled);
	opt->kicks = READ_ONCE(recycle->kicks);
}

/**
 * xsk_recycle_stats() - what became of the chunks of a queue
 * @pool: its pool
 * @stats: gets the counters
 */
void xsk_recycle_stats(const struct xsk_buff_pool *pool,
		       struct xdp_recycle *stats)
{
	mutex_lock(&xsk_recycle_mutex);
	xsk_recycle_query_rx(pool, stats);
	if (pool->recycle)
		xsk_recycle_query_tx(pool->recycle, stats);
	mutex_unlock(&xsk_recycle_mutex);
}

static void xsk_recycle_query(const struct xsk_recycle *recycle,
			      struct xdp_recycle *opt)
{
	/* Matches the release in xsk_recycle_switch() */
	u32 applied = smp_load_acquire(&recycle->applied);

	opt->state = READ_ONCE(recycle->on) && recycle->rx_xs ?
		     XDP_RECYCLE_S_ON : XDP_RECYCLE_S_OFF;
	opt->slot = READ_ONCE(recycle->slot);
	if (applied != recycle->request) {
		opt->state = XDP_RECYCLE_S_SWITCHING;
		opt->slot = recycle->request_slot;
	}
	xsk_recycle_query_tx(recycle, opt);
}

int xsk_recycle_getsockopt(struct xdp_sock *xs, char __user *optval,
			   int __user *optlen, int len)
{
	struct xdp_recycle opt = { .fd = -1 };
	struct xsk_buff_pool *pool;

	if (len < sizeof(opt))
		return -EINVAL;

	mutex_lock(&xs->mutex);
	mutex_lock(&xsk_recycle_mutex);
	pool = xs->pool;
	if (pool && pool->recycle && pool->recycle->tx_xs == xs)
		xsk_recycle_query(pool->recycle, &opt);
	if (pool && xs->rx)
		xsk_recycle_query_rx(pool, &opt);
	mutex_unlock(&xsk_recycle_mutex);
	mutex_unlock(&xs->mutex);

	if (copy_to_user(optval, &opt, sizeof(opt)))
		return -EFAULT;
	return put_user(sizeof(opt), optlen);
}

static void xsk_recycle_rx_gone(struct xsk_recycle *recycle,
				const char *reason)
{
	xsk_recycle_end(recycle, reason);
	xsk_recycle_unlink(recycle);
	if (recycle->left)
		xsk_recycle_release(recycle);
	else if (recycle->tx_xs)
		/* From the next frame on: a slot that was passed */
		xsk_recycle_request(recycle, false,
				    READ_ONCE(recycle->tx_xs->inorder.done));
}

/* The link stays: the Rx queue has what is in flight, and has it all */
static void xsk_recycle_tx_gone(struct xsk_recycle *recycle,
				const char *reason)
{
	xsk_recycle_end(recycle, reason);
	recycle->on = false;
	recycle->request_on = false;
	recycle->applied = recycle->request;
	WRITE_ONCE(recycle->limit, U32_MAX);
	WRITE_ONCE(recycle->tx_xs, NULL);
}

/**
 * xsk_recycle_unbind() - a socket goes: it is no longer paired, on either side
 * @xs: the socket, which is no longer bound, and whose Tx ring is not polled
 *
 * What its pairing has in flight or waiting still goes to the Rx queue. If that
 * is the one that goes, it comes back with the next pairing of the Tx queue;
 * what is in flight also with its completion ring.
 */
void xsk_recycle_unbind(struct xdp_sock *xs)
{
	/* See xsk_notifier() */
	bool gone = READ_ONCE(xs->sk.sk_err) == ENETDOWN;
	struct xsk_recycle *recycle, *next;

	mutex_lock(&xsk_recycle_mutex);
	list_for_each_entry_safe(recycle, next, &xs->pool->recycle_from, node) {
		if (recycle->rx_xs == xs)
			xsk_recycle_rx_gone(recycle,
					    gone ? "rx_gone" : "rx_closed");
	}

	recycle = xs->pool->recycle;
	if (recycle && recycle->tx_xs == xs)
		xsk_recycle_tx_gone(recycle, gone ? "tx_gone" : "tx_closed");
	mutex_unlock(&xsk_recycle_mutex);
}

/* Of two whose Tx queues are gone, one is enough. There is room, but for chunks
 * that were sent more than once.
 */
static void xsk_recycle_merge(struct xsk_recycle *recycle,
			      struct xsk_recycle *left,
			      struct xsk_buff_pool *to)
{
	u32 i, count = min(recycle->published - recycle->read,
			   left->mask + 1 -
			   (left->published - READ_ONCE(left->read)));

	for (i = 0; i < count; i++)
		left->addrs[(left->published + i) & left->mask] =
			recycle->addrs[(recycle->read + i) & recycle->mask];

	rcu_read_lock();
	xsk_recycle_publish(left, to, left->published + count);
	rcu_read_unlock();
}

/* The pool of a Tx queue goes, and what waits there is left to the Rx queue.
 * Returns false if @recycle itself is not needed for that.
 */
static bool xsk_recycle_leave(struct xsk_recycle *recycle)
{
	struct xsk_buff_pool *to;
	struct xsk_recycle *left;

	if (!recycle->rx_xs)
		return false;

	to = recycle->rx_xs->pool;
	list_for_each_entry(left, &to->recycle_from, node) {
		if (left->left) {
			xsk_recycle_unlink(recycle);
			xsk_recycle_merge(recycle, left, to);
			return false;
		}
	}

	recycle->left = true;
	return true;
}

/**
 * xsk_recycle_destroy() - free what a pool has
 * @pool: the pool, which no socket and no poll uses any more
 */
void xsk_recycle_destroy(struct xsk_buff_pool *pool)
{
	if (!pool->recycle)
		return;

	mutex_lock(&xsk_recycle_mutex);
	if (!xsk_recycle_leave(pool->recycle))
		xsk_recycle_release(pool->recycle);
	mutex_unlock(&xsk_recycle_mutex);
}
