// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_RECYCLE, control path: pairing of a Tx queue with an Rx queue, socket
 * options and statistics.
 *
 * The links between the pools of a umem are protected by its recycle_lock,
 * which is taken after RTNL and the socket's mutex. setsockopt() checks a
 * pairing under RTNL, so that no other socket joins the Tx queue in between,
 * and waits for polls under recycle_lock only. RTNL waits with it if a socket
 * of the same umem is closed, or its device is unregistered, at that time;
 * sockets of other umems do not.
 */
#include <linux/dma-mapping.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/xdp_sock_drv.h>
#include <trace/events/xsk.h>

#include "xsk_inorder.h"
#include "xsk_option.h"
#include "xsk_posted.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"

static int xsk_recycle_refuse(const struct xdp_sock *tx_xs, int err,
			      const char *why)
{
	/* Only the initial user namespace may write to the kernel log */
	if (ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN) && net_ratelimit())
		netdev_info(tx_xs->dev, "AF_XDP socket of queue %u not paired: %s\n",
			    tx_xs->queue_id, why);
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
		why = "it transmits in copy mode";
	else if (!rx_xs->zc)
		why = "the other socket receives in copy mode";
	/* Other drivers check only the fill ring before they allocate, or have
	 * no low watermark
	 */
	else if (!rx_xs->dev->xsk_recycle)
		why = "the driver of the other socket does not take recycled chunks";
	else if (tx_xs->sg)
		why = "it has XDP_USE_SG";
	/* The mark is in the buffer, and those of unaligned chunks change */
	else if (flags & XDP_RECYCLE_F_CHECK && rx_xs->pool->unaligned)
		why = "XDP_RECYCLE_F_CHECK does not support unaligned chunks";
	/* xp_alloc() neither checks the mark nor keeps it */
	else if (flags & XDP_RECYCLE_F_CHECK &&
		 dma_dev_need_sync(rx_xs->pool->dev))
		why = "XDP_RECYCLE_F_CHECK does not support DMA syncs";

	return why ? xsk_recycle_refuse(tx_xs, -EOPNOTSUPP, why) : 0;
}

static int xsk_recycle_check(const struct xdp_sock *tx_xs,
			     const struct xdp_sock *rx_xs, u32 flags)
{
	if (!tx_xs->tx)
		return xsk_recycle_refuse(tx_xs, -EINVAL, "it has no Tx ring");
	if (!rx_xs->rx)
		return xsk_recycle_refuse(tx_xs, -EINVAL,
					  "the other socket has no Rx ring");
	if (tx_xs->umem != rx_xs->umem)
		return xsk_recycle_refuse(tx_xs, -EXDEV,
					  "the sockets do not share a umem");
	if (!xsk_is_inorder(tx_xs))
		return xsk_recycle_refuse(tx_xs, -EPROTOTYPE,
					  "it does not have XDP_TX_INORDER");
	if (!list_is_singular(&tx_xs->pool->xsk_tx_list))
		return xsk_recycle_refuse(tx_xs, -EMLINK,
					  "other sockets transmit on its queue");
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

/**
 * xsk_recycle_release() - free the recycling state of a Tx queue
 * @recycle: the state, which is not linked
 */
void xsk_recycle_release(struct xsk_recycle *recycle)
{
	kvfree(recycle->addrs);
	kfree(recycle);
}

/**
 * xsk_recycle_trace_end() - trace the end of a pairing
 * @recycle: the pairing, which may have ended before
 * @reason: the cause
 */
void xsk_recycle_trace_end(const struct xsk_recycle *recycle,
			   const char *reason)
{
	if (recycle->request_on)
		trace_xsk_recycle_unpair(recycle->tx_xs, recycle->rx_xs,
					 reason);
}

/**
 * xsk_recycle_unlink() - unlink a Tx queue from its Rx queue, if any
 * @recycle: the recycling state of the Tx queue
 *
 * Waits for polls of the Rx queue that use @recycle.
 *
 * Context: recycle_lock of the umem
 */
void xsk_recycle_unlink(struct xsk_recycle *recycle)
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

static void xsk_recycle_link(struct xsk_recycle *recycle,
			     struct xdp_sock *rx_xs)
{
	struct xsk_buff_pool *pool = rx_xs->pool;

	if (recycle->rx_xs == rx_xs)
		return;

	xsk_recycle_trace_end(recycle, "moved");
	xsk_recycle_unlink(recycle);
	recycle->rx_xs = rx_xs;
	/* Less what was counted before: see xsk_recycle_query_rx() */
	pool->recycle_received -= recycle->recycled;
	if (list_empty(&pool->recycle_from))
		pool->recycle_filled -= xsk_recycle_fq(pool);
	list_add_tail_rcu(&recycle->node, &pool->recycle_from);
	/* The device's ring may be empty, so that no poll would set this: the
	 * next completion triggers NAPI
	 */
	WRITE_ONCE(pool->recycle_low, true);
	/* Pairs with rcu_dereference() in xsk_recycle_completed() */
	rcu_assign_pointer(recycle->to, pool);
	/* There may be no further completion for the pending chunks */
	if (READ_ONCE(recycle->published) != READ_ONCE(recycle->read))
		xsk_recycle_wakeup(pool, XDP_WAKEUP_RX);
}

/**
 * xsk_recycle_request() - request that recording starts or stops
 * @recycle: the recycling state of the Tx queue
 * @on: start or stop
 * @entry: index of the first Tx ring entry that it holds for
 *
 * Context: recycle_lock of the umem
 */
void xsk_recycle_request(struct xsk_recycle *recycle, bool on, u32 entry)
{
	recycle->request_on = on;
	recycle->request_entry = entry;
	/* Pairs with the acquire in xsk_recycle_switch() */
	smp_store_release(&recycle->request, recycle->request + 1);
}

/* -EAGAIN while a request has not reached its entry; triggers a poll */
static int xsk_recycle_settled(const struct xsk_buff_pool *pool)
{
	const struct xsk_recycle *recycle = pool->recycle;

	if (!recycle)
		return 0;
	/* Pairs with the release in xsk_recycle_switch(), for reading @on */
	if (smp_load_acquire(&recycle->applied) == recycle->request)
		return 0;

	xsk_recycle_wakeup(pool, XDP_WAKEUP_TX);
	return -EAGAIN;
}

static bool xsk_recycle_bound(const struct xdp_sock *xs)
{
	if (READ_ONCE(xs->state) != XSK_BOUND)
		return false;
	/* Pairs with smp_wmb() in xsk_bind() */
	smp_rmb();
	return true;
}

static bool xsk_recycle_owns(const struct xdp_sock *xs)
{
	return xs->pool->recycle && xs->pool->recycle->tx_xs == xs;
}

/* Reserve the Tx queue for @xs */
static int xsk_recycle_claim(struct xdp_sock *xs, const struct xdp_sock *rx_xs,
			     u32 flags, struct xsk_recycle **spare)
{
	int err;

	if (!xsk_recycle_bound(rx_xs))
		return -ENOTCONN;
	err = xsk_recycle_check(xs, rx_xs, flags);
	if (err)
		return err;
	err = xsk_recycle_settled(xs->pool);
	if (err)
		return err;

	if (!xs->pool->recycle) {
		/* Pairs with READ_ONCE() in polls: they see it initialised */
		smp_store_release(&xs->pool->recycle, *spare);
		*spare = NULL;
	}
	WRITE_ONCE(xs->pool->recycle->tx_xs, xs);
	return 0;
}

/* Make all checks, with recycle_lock held on success */
static int xsk_recycle_begin(struct xdp_sock *xs, const struct xdp_sock *rx_xs,
			     u32 flags, struct xsk_recycle **spare)
{
	int err;

	if (!xsk_recycle_bound(xs))
		return -ENOTCONN;
	/* Its holder may wait for polls: do not wait for it under RTNL */
	if (!mutex_trylock(&xs->umem->recycle_lock))
		return -EAGAIN;

	if (rx_xs)
		err = xsk_recycle_claim(xs, rx_xs, flags, spare);
	else
		err = xsk_recycle_owns(xs) ? xsk_recycle_settled(xs->pool) : 0;
	if (err)
		mutex_unlock(&xs->umem->recycle_lock);
	return err;
}

static void xsk_recycle_pair(struct xdp_sock *xs, struct xdp_sock *rx_xs,
			     u32 flags)
{
	struct xsk_recycle *recycle = xs->pool->recycle;
	u32 entry;

	/* Never cleared: no chunk is delivered with a mark of earlier use */
	if (flags & XDP_RECYCLE_F_CHECK)
		WRITE_ONCE(rx_xs->pool->refill_kind, XSK_REFILL_CHECK);
	WRITE_ONCE(recycle->limit, xs->tx->nentries);
	xsk_recycle_link(recycle, rx_xs);
	/* A poll may still transmit for a socket of the queue that was just
	 * closed, whose ring has other indices
	 */
	if (!recycle->on)
		synchronize_net();
	entry = READ_ONCE(xs->tx->ring->producer);
	trace_xsk_recycle_pair(xs, rx_xs, entry);
	if (!recycle->on)
		xsk_recycle_request(recycle, true, entry);
}

/* Chunks in flight and pending ones still go to the Rx queue */
static void xsk_recycle_unpair(struct xdp_sock *xs)
{
	struct xsk_recycle *recycle = xs->pool->recycle;

	/* The pool may be that of another socket with a Tx ring */
	if (!xsk_recycle_owns(xs) || !recycle->on)
		return;

	xsk_recycle_trace_end(recycle, "setsockopt");
	xsk_recycle_request(recycle, false, READ_ONCE(xs->tx->ring->producer));
}

/* Do not allocate for sockets that xsk_recycle_check() always refuses */
static bool xsk_recycle_may_send(const struct xdp_sock *xs)
{
	return xs->tx && xs->zc && xsk_is_inorder(xs);
}

/* Pair with @rx_xs, or unpair if it is NULL */
static int xsk_recycle_set(struct xdp_sock *xs, struct xdp_sock *rx_xs,
			   u32 flags)
{
	struct xsk_recycle *spare = NULL;
	int err;

	/* A bound socket keeps umem, Tx ring and pool until it is closed */
	if (!xsk_recycle_bound(xs))
		return -ENOTCONN;
	/* Without locks: it may wait for the memory cgroup to reclaim. The
	 * pool keeps it.
	 */
	if (rx_xs && xsk_recycle_may_send(xs) && !READ_ONCE(xs->pool->recycle)) {
		spare = xsk_recycle_create(xs);
		if (!spare)
			return -ENOMEM;
	}

	rtnl_lock();
	mutex_lock(&xs->mutex);
	err = xsk_recycle_begin(xs, rx_xs, flags, &spare);
	mutex_unlock(&xs->mutex);
	rtnl_unlock();

	if (!err) {
		/* xsk_recycle_unbind() of either socket waits */
		if (rx_xs)
			xsk_recycle_pair(xs, rx_xs, flags);
		else
			xsk_recycle_unpair(xs);
		mutex_unlock(&xs->umem->recycle_lock);
	}
	if (spare)
		xsk_recycle_release(spare);
	return err;
}

static int xsk_recycle_set_fd(struct xdp_sock *xs,
			      const struct xdp_recycle *opt)
{
	struct socket *sock;
	int err;

	if (opt->fd == -1)
		return opt->flags ? -EINVAL : xsk_recycle_set(xs, NULL, 0);

	if (!xsk_recycle_bound(xs))
		return -ENOTCONN;
	sock = sockfd_lookup(opt->fd, &err);
	if (!sock)
		return err;

	if (sock->sk->sk_family == PF_XDP)
		err = xsk_recycle_set(xs, xdp_sk(sock->sk), opt->flags);
	else
		err = -ENOPROTOOPT;
	sockfd_put(sock);
	return err;
}

/**
 * xsk_recycle_setsockopt() - pair or unpair a Tx socket
 * @xs: the socket, whose chunks are recycled
 * @optval: struct xdp_recycle
 * @optlen: its size
 *
 * Return: 0, or an error that if_xdp_fastpath.h lists.
 */
int xsk_recycle_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen)
{
	struct xdp_recycle opt;
	int err;

	err = xsk_get_option(&opt, sizeof(opt), sizeof(opt.fd), optval, optlen);
	if (err)
		return err;
	if (opt.flags & ~XDP_RECYCLE_F_CHECK || opt.state || opt.entry)
		return -EINVAL;

	return xsk_recycle_set_fd(xs, &opt);
}

static void xsk_recycle_query_rx(const struct xsk_buff_pool *pool,
				 struct xdp_recycle_stats *stats)
{
	const struct xsk_recycle *recycle;

	stats->duplicates = READ_ONCE(pool->recycle_duplicates);
	stats->received = pool->recycle_received;
	list_for_each_entry(recycle, &pool->recycle_from, node)
		stats->received += READ_ONCE(recycle->recycled);

	stats->filled = pool->recycle_filled;
	if (!list_empty(&pool->recycle_from))
		stats->filled += xsk_recycle_fq(pool);
}

static void xsk_recycle_query_tx(const struct xsk_recycle *recycle,
				 struct xdp_recycle_stats *stats)
{
	stats->pending = READ_ONCE(recycle->published) -
			 READ_ONCE(recycle->read);
	stats->recycled = READ_ONCE(recycle->recycled);
	stats->spilled = READ_ONCE(recycle->spilled);
	stats->kicks = READ_ONCE(recycle->kicks);
}

/**
 * xsk_recycle_stats() - get the statistics of a socket
 * @xs: the socket
 * @stats: the result, zero for a socket that is not bound
 *
 * Context: the socket's mutex
 */
void xsk_recycle_stats(const struct xdp_sock *xs,
		       struct xdp_recycle_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	if (!xs->pool)
		return;

	mutex_lock(&xs->umem->recycle_lock);
	if (xsk_recycle_owns(xs))
		xsk_recycle_query_tx(xs->pool->recycle, stats);
	if (xs->rx)
		xsk_recycle_query_rx(xs->pool, stats);
	mutex_unlock(&xs->umem->recycle_lock);
}
EXPORT_SYMBOL_GPL(xsk_recycle_stats);

/**
 * xsk_recycle_state() - get the state of recycling of a Tx queue
 * @recycle: its recycling state
 *
 * Context: recycle_lock of the umem. Without it the state may be that of a
 * moment ago.
 * Return: XDP_RECYCLE_S_*
 */
u32 xsk_recycle_state(const struct xsk_recycle *recycle)
{
	/* Pairs with the release in xsk_recycle_switch(), for reading @on */
	u32 applied = smp_load_acquire(&recycle->applied);

	if (applied != READ_ONCE(recycle->request))
		return XDP_RECYCLE_S_SWITCHING;
	if (READ_ONCE(recycle->on) && rcu_access_pointer(recycle->to))
		return XDP_RECYCLE_S_ON;
	return XDP_RECYCLE_S_OFF;
}

static void xsk_recycle_query(const struct xdp_sock *xs,
			      struct xdp_recycle *opt)
{
	const struct xsk_recycle *recycle = xs->pool->recycle;

	if (xs->rx && xsk_checks_posted(xs->pool))
		opt->flags |= XDP_RECYCLE_F_CHECK;
	if (!xsk_recycle_owns(xs))
		return;

	opt->state = xsk_recycle_state(recycle);
	opt->entry = opt->state == XDP_RECYCLE_S_SWITCHING ?
		     recycle->request_entry : READ_ONCE(recycle->entry);
}

/* @rx_xs cannot be unbound or closed: xsk_recycle_unbind() waits for the lock */
static void xsk_recycle_query_peer(const struct xdp_sock *xs,
				   struct xdp_sock *rx_xs,
				   struct xdp_diag_pair *pair)
{
	/* An index of another network namespace has no meaning in this one */
	if (!rx_xs || !net_eq(sock_net(&rx_xs->sk), sock_net(&xs->sk)))
		return;

	pair->ifindex = rx_xs->dev->ifindex;
	pair->queue_id = rx_xs->queue_id;
	pair->ino = sock_i_ino(&rx_xs->sk);
}

/**
 * xsk_recycle_query_pair() - get the pair of a socket, for sock_diag
 * @xs: the socket
 * @pair: the result, zero for a socket that is not bound
 *
 * Context: the socket's mutex
 */
void xsk_recycle_query_pair(const struct xdp_sock *xs,
			    struct xdp_diag_pair *pair)
{
	struct xdp_recycle opt = {};

	memset(pair, 0, sizeof(*pair));
	if (!xs->pool)
		return;

	mutex_lock(&xs->umem->recycle_lock);
	xsk_recycle_query(xs, &opt);
	if (xsk_recycle_owns(xs))
		xsk_recycle_query_peer(xs, xs->pool->recycle->rx_xs, pair);
	mutex_unlock(&xs->umem->recycle_lock);
	pair->state = opt.state;
	pair->flags = opt.flags;
}
EXPORT_SYMBOL_GPL(xsk_recycle_query_pair);

/**
 * xsk_recycle_getsockopt() - get the state or the statistics of recycling
 * @xs: the socket
 * @optname: XDP_RECYCLE or XDP_RECYCLE_STATS
 * @optval: the user's buffer
 * @optlen: receives the number of bytes copied
 * @len: size of the buffer
 *
 * Return: 0, or -EFAULT.
 */
int xsk_recycle_getsockopt(struct xdp_sock *xs, int optname,
			   char __user *optval, int __user *optlen, int len)
{
	const bool want_stats = optname == XDP_RECYCLE_STATS;
	struct xdp_recycle opt = { .fd = -1 };
	struct xdp_recycle_stats stats;

	mutex_lock(&xs->mutex);
	if (want_stats) {
		xsk_recycle_stats(xs, &stats);
	} else if (xs->pool) {
		mutex_lock(&xs->umem->recycle_lock);
		xsk_recycle_query(xs, &opt);
		mutex_unlock(&xs->umem->recycle_lock);
	}
	mutex_unlock(&xs->mutex);

	if (want_stats)
		return xsk_put_option(optval, optlen, len, &stats,
				      sizeof(stats));
	return xsk_put_option(optval, optlen, len, &opt, sizeof(opt));
}
