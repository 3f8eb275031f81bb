// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_TX_INORDER: the consumer index of the Tx ring is the completion.
 *
 * The kernel has three private indices of such a Tx ring, and publishes the
 * first one as the consumer index:
 *
 *   done   <=   cached_cons   <=   cached_prod   <=   done + nentries
 *     entries in flight  entries to take
 *
 * An entry belongs to user space again when done has passed it. The size of
 * the ring therefore limits the number of packets in flight, and completion
 * needs no reservation elsewhere.
 *
 * Zero-copy: a driver completes descriptors in the order in which it took
 * them, and reports only their number. Runs (struct xsk_inorder_run) record the
 * owning sockets, and the invalid entries that the driver did not get. While
 * one socket transmits valid descriptors there is a single run, which grows at
 * its end and shrinks at its beginning.
 *
 * Copy mode: skbs are freed in any order. Each marks its entries in a bitmap;
 * done advances over the marked prefix.
 *
 * A run has the id of its socket instead of a pointer, because the socket can
 * be closed before its packets are complete. New sockets get other ids.
 */
#include <linux/bitmap.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/xdp_sock_drv.h>

#include "xsk_capture.h"
#include "xsk_inorder.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"

static_assert(!(XSK_INORDER_RUNS & (XSK_INORDER_RUNS - 1)));
static_assert(XSK_INORDER_ENTRY_BITS + XSK_INORDER_DESCS_BITS <= BITS_PER_LONG);
/* Descriptors of an skb: linear part, fragments, and one that exceeds them */
static_assert(MAX_SKB_FRAGS + 2 < 1 << XSK_INORDER_DESCS_BITS);

/* Descriptors per turn of a socket, if several share a queue */
#define XSK_INORDER_TURN	32U

/*
 * Number of invalid entries that one attempt skips. This bounds the time of a
 * poll, because user space can write any number of them. If some may be left,
 * xsk_tx_wakeup_arm() requests another poll.
 */
#define XSK_INORDER_SKIP	64U

/**
 * xsk_inorder_new_id() - allocate an id for a socket
 * @order: the in-order state of the queue
 *
 * Context: RTNL
 * Return: an id that no run in flight has
 */
u32 xsk_inorder_new_id(struct xsk_inorder_pool *order)
{
	/* Bit 31 is a flag in the id of a run */
	order->last_id = (order->last_id + 1) & ~XSK_INORDER_RECORDED;
	return order->last_id;
}

/**
 * xsk_inorder_prefix() - advance over the marked entries
 * @finished: bitmap of entries, marked ones are complete; cleared on the way
 * @mask: size of the ring in entries, less one
 * @done: index of the first entry that is not complete
 *
 * Return: the new value of @done
 */
u32 xsk_inorder_prefix(unsigned long *finished, u32 mask, u32 done)
{
	while (__test_and_clear_bit(done & mask, finished)) {
		done++;
		/* Whole words if possible: the caller disables interrupts */
		while (mask >= BITS_PER_LONG && !(done % BITS_PER_LONG) &&
		       finished[BIT_WORD(done & mask)] == ~0UL) {
			finished[BIT_WORD(done & mask)] = 0;
			done += BITS_PER_LONG;
		}
	}
	return done;
}

/**
 * xsk_inorder_setsockopt() - request or withdraw XDP_TX_INORDER
 * @xs: the socket
 * @optval: __u32, 0 or 1
 * @optlen: its size
 *
 * Return: 0; -EINVAL if @optval is neither, or has another size; -EBUSY after
 * bind(); -EFAULT.
 */
int xsk_inorder_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen)
{
	u32 value;
	int err = 0;

	if (optlen != sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(&value, optval, sizeof(value)))
		return -EFAULT;
	if (value > 1)
		return -EINVAL;

	mutex_lock(&xs->mutex);
	if (xs->state == XSK_READY)
		WRITE_ONCE(xs->inorder.requested, value);
	else
		err = -EBUSY;
	mutex_unlock(&xs->mutex);
	return err;
}

/**
 * xsk_inorder_getsockopt() - get the setting of XDP_TX_INORDER
 * @xs: the socket
 * @optval: the user's buffer
 * @optlen: receives the number of bytes copied
 * @len: size of the buffer
 *
 * Return: 0; -EINVAL if @len is less than that of a __u32; -EFAULT.
 */
int xsk_inorder_getsockopt(struct xdp_sock *xs, char __user *optval,
			   int __user *optlen, int len)
{
	u32 value = READ_ONCE(xs->inorder.requested);

	if (len < sizeof(value))
		return -EINVAL;
	if (copy_to_user(optval, &value, sizeof(value)))
		return -EFAULT;
	return put_user(sizeof(value), optlen);
}

/**
 * xsk_inorder_prepare() - allocate the bitmap of a socket, for bind()
 * @xs: the socket
 *
 * Context: without RTNL: the allocation may wait for the memory cgroup to
 * reclaim
 * Return: 0, or -ENOMEM
 */
int xsk_inorder_prepare(struct xdp_sock *xs)
{
	const struct xsk_queue *tx = READ_ONCE(xs->tx);
	unsigned long *finished;

	/* An earlier bind() that failed may have allocated it */
	if (!xsk_is_inorder(xs) || !tx || READ_ONCE(xs->inorder.finished))
		return 0;
	if (tx->nentries > 1U << XSK_INORDER_ENTRY_BITS)
		return -ENOMEM;

	/* Without the mutex, which xsk_notifier() takes under RTNL */
	finished = bitmap_zalloc(tx->nentries,
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!finished)
		return -ENOMEM;

	mutex_lock(&xs->mutex);
	if (!xs->inorder.finished)
		swap(xs->inorder.finished, finished);
	mutex_unlock(&xs->mutex);
	bitmap_free(finished);
	return 0;
}

static int xsk_inorder_prepare_pool(struct xsk_buff_pool *pool)
{
	struct xsk_inorder_pool *order;

	if (pool->inorder)
		return 0;

	order = kzalloc(sizeof(*order), GFP_KERNEL);
	if (!order)
		return -ENOMEM;
	WRITE_ONCE(pool->inorder, order);
	/* A poll that does not see it must end before xp_add_xsk() */
	if (pool->netdev)
		synchronize_net();
	return 0;
}

/**
 * xsk_inorder_check() - check whether a socket can join a pool
 * @pool: the pool
 * @xs: the socket, in bind()
 *
 * Context: RTNL
 * Return: 0; -EPROTOTYPE if its setting of XDP_TX_INORDER is not that of the
 * queue; -EBUSY if another socket of the queue is paired by XDP_RECYCLE;
 * -ENOMEM if the Tx ring has more than 2^24 entries, or there is no bitmap
 */
int xsk_inorder_check(const struct xsk_buff_pool *pool,
		      const struct xdp_sock *xs)
{
	if (!xs->tx && !xsk_is_inorder(xs))
		return 0;
	if (pool->tx_joined && xsk_is_inorder(xs) != !!pool->inorder)
		return -EPROTOTYPE;
	/* No bitmap if xsk_inorder_prepare() ran before setsockopt() */
	if (xs->tx && xsk_is_inorder(xs) &&
	    (xs->tx->nentries > 1U << XSK_INORDER_ENTRY_BITS ||
	     !xs->inorder.finished))
		return -ENOMEM;
	/* Addresses are recorded for one Tx ring per queue */
	if (xs->tx && xsk_recycle_is_paired(pool))
		return -EBUSY;
	return 0;
}

/**
 * xsk_inorder_join() - add a socket to the in-order state of a pool
 * @pool: the pool
 * @xs: the socket, in bind()
 *
 * The first socket with a Tx ring or with XDP_TX_INORDER determines how the
 * queue completes, for the lifetime of the pool: packets may be in flight when
 * the last socket is closed. bind() requires a completion ring without
 * XDP_TX_INORDER, so a pool that does not complete in order always has one.
 *
 * Context: RTNL, after xsk_inorder_check()
 * Return: 0, or -ENOMEM
 */
int xsk_inorder_join(struct xsk_buff_pool *pool, struct xdp_sock *xs)
{
	int err;

	if (!xs->tx && !xsk_is_inorder(xs))
		return 0;

	if (xsk_is_inorder(xs)) {
		err = xsk_inorder_prepare_pool(pool);
		if (err)
			return err;
		xs->inorder.id = xsk_inorder_new_id(pool->inorder);
	}
	pool->tx_joined = true;
	return 0;
}

/**
 * xsk_inorder_destroy() - free the in-order state of a socket
 * @xs: the socket, to which no skb refers
 *
 * This includes the Tx ring, which xsk_release() leaves to it.
 *
 * Context: any but NMI: the last skb may be freed under a spinlock
 */
void xsk_inorder_destroy(struct xdp_sock *xs)
{
	if (xsk_is_inorder(xs) && xs->tx) {
		vfree_atomic(xs->tx->ring);
		kfree(xs->tx);
	}
	bitmap_free(xs->inorder.finished);
}

/* Return the entries before @done to user space. Callers are serialised: by the
 * driver in zero-copy mode, by cq_lock in copy mode.
 */
static void xsk_inorder_publish(struct xdp_sock *xs, u32 done)
{
	/* Before the release, so that xsk_inorder_peek() sees it */
	WRITE_ONCE(xs->inorder.done, done);
	smp_store_release(&xs->tx->ring->consumer, done); /* D, matches A */
}

/**
 * xsk_inorder_entries() - get the number of entries with the same setting of
 *	XDP_RECYCLE that can be taken
 * @xs: the socket
 * @max: upper limit
 *
 * Return: number of entries, at most @max
 */
u32 xsk_inorder_entries(struct xdp_sock *xs, u32 max)
{
	max = xsk_inorder_available(xs, max);
	return xsk_recycle_room(READ_ONCE(xs->pool->recycle), xs->tx, max);
}

static void xsk_inorder_credit(struct xdp_sock *xs, u32 entries)
{
	xsk_inorder_publish(xs, xs->inorder.done + entries);
	xs->sk.sk_write_space(&xs->sk);
}

/**
 * xsk_inorder_taken() - record entries that were taken from a socket's Tx ring
 * @pool: the pool, which has a free run
 * @xs: the socket
 * @descs: the valid descriptors
 * @count: number of valid descriptors, which the driver gets
 * @entries: number of entries taken
 */
void xsk_inorder_taken(struct xsk_buff_pool *pool, struct xdp_sock *xs,
		       const struct xdp_desc *descs, u32 count, u32 entries)
{
	u32 id = xs->inorder.id, done;

	if (xsk_recycle_record(pool, descs, count))
		id |= XSK_INORDER_RECORDED;

	done = xsk_inorder_add(pool->inorder, id, count, entries);
	if (done)
		xsk_inorder_credit(xs, done);
}

/* Number of entries to take, 0 without a free run to record them */
static u32 xsk_inorder_ready(struct xsk_buff_pool *pool, struct xdp_sock *xs,
			     u32 max)
{
	if (xsk_inorder_full(pool->inorder))
		return 0;

	max = xsk_inorder_entries(xs, max);
	if (!max)
		xs->tx->queue_empty_descs++;
	return max;
}

/* One if several sockets share the queue, because a poll visits all of them */
static u32 xsk_inorder_max_skip(const struct xsk_buff_pool *pool)
{
	return list_is_singular(&pool->xsk_tx_list) ? XSK_INORDER_SKIP : 1;
}

/* Take at most @max descriptors, and skip invalid ones before them */
static u32 xsk_inorder_take(struct xsk_buff_pool *pool, struct xdp_sock *xs,
			    struct xdp_desc *descs, u32 max)
{
	struct xsk_queue *tx = xs->tx;
	u32 ready, entries, skipped = 0, max_skip = xsk_inorder_max_skip(pool);
	struct xsk_tx_batch batch;

	do {
		ready = xsk_inorder_ready(pool, xs, max);
		if (!ready)
			return 0;

		entries = tx->cached_cons;
		batch = xskq_cons_read_desc_batch(xs, pool, descs, ready);
		entries = tx->cached_cons - entries;
		/* A multi-buffer packet that is incomplete, or exceeds @max */
		if (!entries)
			return 0;

		xsk_inorder_taken(pool, xs, descs, batch.tx_descs, entries);
		skipped += entries;
	} while (!batch.tx_descs && skipped < max_skip);

	pool->inorder->skipped |= !batch.tx_descs;
	return batch.tx_descs;
}

/* Take descriptors, one turn of each socket, and add them to the first @taken
 * ones. Returns the total number.
 */
static u32 xsk_inorder_turn(struct xsk_buff_pool *pool, u32 taken, u32 max)
{
	u32 turn = max_t(u32, XSK_INORDER_TURN, pool->netdev->xdp_zc_max_segs);
	struct xdp_sock *xs;
	u32 got;

	list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list) {
		if (taken == max)
			break;
		if (xs->tx_budget_spent >= turn)
			continue;

		got = xsk_inorder_take(pool, xs, pool->tx_descs + taken,
				       min(max - taken, turn));
		xs->tx_budget_spent += got;
		taken += got;
	}

	return taken;
}

static void xsk_inorder_new_round(struct xsk_buff_pool *pool)
{
	struct xdp_sock *xs;

	list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list)
		xs->tx_budget_spent = 0;
}

/* Round-robin: a socket has its next turn after all others had theirs */
static u32 xsk_inorder_take_shared(struct xsk_buff_pool *pool, u32 max)
{
	bool new_round = false;
	u32 before, taken = 0;

	while (taken < max) {
		before = taken;
		taken = xsk_inorder_turn(pool, taken, max);
		if (taken == before) {
			if (new_round)
				break;
			xsk_inorder_new_round(pool);
		}
		new_round = taken == before;
	}

	return taken;
}

/**
 * xsk_inorder_peek_batch() - take descriptors of all sockets of a queue
 * @pool: the pool, which completes in order
 * @max: upper limit
 *
 * Return: number of descriptors in tx_descs of @pool
 */
u32 xsk_inorder_peek_batch(struct xsk_buff_pool *pool, u32 max)
{
	struct xdp_sock *xs;
	u32 taken = 0;

	max = min(max, pool->tx_descs_nentries);
	if (!max)
		return 0;

	rcu_read_lock();
	xs = list_first_or_null_rcu(&pool->xsk_tx_list, struct xdp_sock,
				    tx_list);
	if (xs && list_is_singular(&pool->xsk_tx_list))
		taken = xsk_inorder_take(pool, xs, pool->tx_descs, max);
	else if (xs)
		taken = xsk_inorder_take_shared(pool, max);
	xsk_capture_taken(pool, pool->tx_descs, taken);
	rcu_read_unlock();
	return taken;
}

/* Take one descriptor, and skip invalid ones before it */
static bool xsk_inorder_take_one(struct xsk_buff_pool *pool,
				 struct xdp_sock *xs, struct xdp_desc *desc)
{
	u32 tries;
	bool valid;

	for (tries = xsk_inorder_max_skip(pool); tries; tries--) {
		if (!xsk_inorder_ready(pool, xs, 1))
			return false;
		valid = xskq_cons_read_desc(xs->tx, desc, pool);
		xskq_cons_release(xs->tx);
		xsk_inorder_taken(pool, xs, desc, valid, 1);
		if (valid)
			return true;
		xsk_drop_tx_desc(xs, desc);
	}

	pool->inorder->skipped = true;
	return false;
}

/**
 * xsk_inorder_peek_desc() - take one descriptor of a queue
 * @pool: the pool, which completes in order
 * @desc: the descriptor, on return
 *
 * Return: true; false if there is none
 */
bool xsk_inorder_peek_desc(struct xsk_buff_pool *pool, struct xdp_desc *desc)
{
	bool found = false, pending;
	struct xdp_sock *xs;

	rcu_read_lock();
	do {
		pending = false;
		list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list) {
			if (xs->tx_budget_spent >= XSK_INORDER_TURN) {
				pending = true;
				continue;
			}
			found = xsk_inorder_take_one(pool, xs, desc);
			if (found) {
				xs->tx_budget_spent++;
				break;
			}
		}
		if (!found)
			xsk_inorder_new_round(pool);
	} while (!found && pending);
	xsk_capture_taken(pool, desc, found);
	rcu_read_unlock();
	return found;
}

static struct xdp_sock *xsk_inorder_find(struct xsk_buff_pool *pool, u32 id)
{
	struct xdp_sock *xs = READ_ONCE(pool->tx_span_xs);

	if (likely(xs && xs->inorder.id == id))
		return xs;

	list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list) {
		if (xs->inorder.id == id)
			return xs;
	}
	return NULL;
}

/**
 * xsk_inorder_completed() - complete descriptors of a queue
 * @pool: the pool, which completes in order
 * @descs: number of descriptors, oldest first
 */
void xsk_inorder_completed(struct xsk_buff_pool *pool, u32 descs)
{
	u32 entries, run_id, before = descs;
	struct xdp_sock *xs;

	rcu_read_lock();
	while ((entries = xsk_inorder_next(pool->inorder, &descs, &run_id))) {
		if (run_id & XSK_INORDER_RECORDED)
			xsk_recycle_completed(pool, before - descs);
		before = descs;
		xs = xsk_inorder_find(pool, run_id & ~XSK_INORDER_RECORDED);
		if (xs)
			xsk_inorder_credit(xs, entries);
	}
	rcu_read_unlock();
}

/**
 * xsk_inorder_peek_copy() - read the next descriptor, in copy mode
 * @xs: the socket
 * @desc: the descriptor, on return
 *
 * Return: as xskq_cons_peek_desc(): true; false if there is none or it is
 * invalid
 */
bool xsk_inorder_peek_copy(struct xdp_sock *xs, struct xdp_desc *desc)
{
	xsk_inorder_entries(xs, 1);
	return xskq_cons_read_desc(xs->tx, desc, xs->pool);
}

/**
 * xsk_inorder_finish() - complete descriptors, in copy mode
 * @xs: the socket
 * @entry: entry of the first descriptor
 * @count: number of descriptors
 *
 * Context: any
 */
void xsk_inorder_finish(struct xdp_sock *xs, u32 entry, u32 count)
{
	u32 mask = xs->tx->ring_mask, done, i;
	unsigned long flags;

	/* Protects bitmap and done: skbs are freed on any CPU */
	spin_lock_irqsave(&xs->pool->cq_lock, flags);
	for (i = 0; i < count; i++)
		__set_bit((entry + i) & mask, xs->inorder.finished);
	done = xsk_inorder_prefix(xs->inorder.finished, mask, xs->inorder.done);
	if (done != xs->inorder.done)
		xsk_inorder_publish(xs, done);
	spin_unlock_irqrestore(&xs->pool->cq_lock, flags);
}

/**
 * xsk_inorder_skip() - complete the next descriptor, which is invalid
 * @xs: the socket, in copy mode
 */
void xsk_inorder_skip(struct xdp_sock *xs)
{
	xsk_inorder_finish(xs, xs->tx->cached_cons, 1);
	/* As sock_wfree() of an skb would do: poll() transmits the rest */
	xs->sk.sk_write_space(&xs->sk);
}
