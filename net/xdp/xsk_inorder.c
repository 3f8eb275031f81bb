// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_TX_INORDER: the consumer index of the Tx ring is the completion.
 *
 * Each Tx ring has three indices of the kernel then, all private to it but the
 * copy of the first that user space sees:
 *
 *   done   <=   cached_cons   <=   cached_prod   <=   done + nentries
 *     slots in flight   slots to take
 *
 * A slot belongs to user space again when done has passed it, never before:
 * so the ring's size bounds what is in flight, and nothing needs to be
 * reserved elsewhere.
 *
 * Zero-copy: a driver completes descriptors in the order in which it took
 * them, but says how many only. Whose they were, and which slots between them
 * it never saw, is kept in runs (struct xsk_inorder_run): while one socket
 * sends valid descriptors there is a single run that grows at its end and
 * shrinks at its beginning, whatever the number of frames.
 *
 * Copy mode: skbs are freed in any order. Each marks its slots in a bitmap;
 * done moves over the finished prefix.
 *
 * A run has the id of its socket and no pointer, since the socket can be
 * closed before its frames are complete: nobody has that id then, and a
 * socket that comes later has another one.
 */
#include <linux/bitmap.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/xdp_sock_drv.h>

#include "xsk_inorder.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"

static_assert(!(XSK_INORDER_RUNS & (XSK_INORDER_RUNS - 1)));
static_assert(XSK_INORDER_SLOT_BITS + XSK_INORDER_DESCS_BITS <= BITS_PER_LONG);
/* Of one skb: fragments, the linear part, and the one too many */
static_assert(MAX_SKB_FRAGS + 2 < 1 << XSK_INORDER_DESCS_BITS);

/* Frames in a row of one socket, where several share a queue */
#define XSK_INORDER_TURN	32U

/*
 * Slots without a valid descriptor that one attempt steps over, which bounds
 * the time of a poll: user space can make any number of them. The next poll
 * goes on behind these: see xsk_tx_wakeup_arm().
 */
#define XSK_INORDER_SKIP	64U

static struct xsk_inorder_run *xsk_inorder_run(struct xsk_inorder_pool *order,
					       u32 index)
{
	return &order->runs[index & (XSK_INORDER_RUNS - 1)];
}

/**
 * xsk_inorder_new_id() - make an id for a socket
 * @order: the queue
 *
 * Return: an id that no run in flight has
 */
u32 xsk_inorder_new_id(struct xsk_inorder_pool *order)
{
	/* Bit 31 of a run's id is a flag */
	order->last_id = (order->last_id + 1) & ~XSK_RECYCLE_NOTED;
	return order->last_id;
}

/**
 * xsk_inorder_full() - check for room
 * @order: the queue
 *
 * Return: true if there is no room for another run
 */
bool xsk_inorder_full(const struct xsk_inorder_pool *order)
{
	return order->tail - order->head == XSK_INORDER_RUNS;
}

/**
 * xsk_inorder_add() - note what was taken from a Tx ring
 * @order: the queue, not full
 * @id: of the socket
 * @descs: how many descriptors the driver gets
 * @slots: how many slots were taken, the first @descs of which are those
 *
 * Return: how many slots are done at once, since nothing is in flight that
 * they would have to wait for
 */
u32 xsk_inorder_add(struct xsk_inorder_pool *order, u32 id, u32 descs,
		    u32 slots)
{
	bool empty = order->head == order->tail;
	struct xsk_inorder_run *last;

	if (empty && !descs)
		return slots;

	last = xsk_inorder_run(order, order->tail - 1);
	if (empty || last->id != id || (last->extra && descs)) {
		last = xsk_inorder_run(order, order->tail++);
		*last = (struct xsk_inorder_run){ .id = id };
	}
	last->descs += descs;
	last->extra += slots - descs;
	return 0;
}

/**
 * xsk_inorder_next() - complete descriptors, of one run at a time
 * @order: the queue
 * @descs: how many are to be completed; gets less
 * @id: gets the id of the socket
 *
 * Return: how many slots are done; 0 if that was all
 */
u32 xsk_inorder_next(struct xsk_inorder_pool *order, u32 *descs, u32 *id)
{
	struct xsk_inorder_run *run;
	u32 slots;

	if (order->head == order->tail)
		return 0;

	run = xsk_inorder_run(order, order->head);
	*id = run->id;
	slots = min(*descs, run->descs);
	*descs -= slots;
	run->descs -= slots;
	if (!run->descs) {
		slots += run->extra;
		order->head++;
	}
	return slots;
}

/**
 * xsk_inorder_limit() - check the producer that user space wrote
 * @done: the first slot that is not done
 * @taken: the first slot that was not taken
 * @produced: what user space says
 * @size: slots of the ring
 *
 * Return: @produced, or @taken if it is behind that, or farther from @done
 * than the ring is long: slots in flight must not be taken again
 */
u32 xsk_inorder_limit(u32 done, u32 taken, u32 produced, u32 size)
{
	if (produced - done > size || produced - done < taken - done)
		return taken;
	return produced;
}

/**
 * xsk_inorder_prefix() - take away the finished slots at the beginning
 * @finished: a bit for each slot
 * @mask: slots of the ring, less one
 * @done: the first slot that is not done
 *
 * Return: the first slot that is not done now
 */
u32 xsk_inorder_prefix(unsigned long *finished, u32 mask, u32 done)
{
	while (__test_and_clear_bit(done & mask, finished)) {
		done++;
		/* Interrupts are off: clear whole words where possible */
		while (mask >= BITS_PER_LONG && !(done % BITS_PER_LONG) &&
		       finished[BIT_WORD(done & mask)] == ~0UL) {
			finished[BIT_WORD(done & mask)] = 0;
			done += BITS_PER_LONG;
		}
	}
	return done;
}

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

/* What the socket and, if it is the first, the pool need */
static int xsk_inorder_prepare(struct xsk_buff_pool *pool, struct xdp_sock *xs)
{
	struct xsk_inorder_pool *order;

	/* From a bind() that failed later, there may be a bitmap */
	if (xs->tx && !xs->inorder.finished) {
		xs->inorder.finished = bitmap_zalloc(xs->tx->nentries,
						     GFP_KERNEL_ACCOUNT |
						     __GFP_NOWARN);
		if (!xs->inorder.finished)
			return -ENOMEM;
	}

	if (pool->inorder)
		return 0;

	order = kzalloc(sizeof(*order), GFP_KERNEL);
	if (!order)
		return -ENOMEM;
	WRITE_ONCE(pool->inorder, order);
	/* A poll that still sees none must not see the socket, either */
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
 * Return: 0; -EPROTOTYPE if the queue completes in the other way; -EBUSY if it
 * recycles; -ENOMEM if the Tx ring has more than 2^24 slots
 */
int xsk_inorder_check(const struct xsk_buff_pool *pool,
		      const struct xdp_sock *xs)
{
	if (!xs->tx && !xsk_is_inorder(xs))
		return 0;
	if (pool->tx_joined && xsk_is_inorder(xs) != !!pool->inorder)
		return -EPROTOTYPE;
	if (xs->tx && xsk_is_inorder(xs) &&
	    xs->tx->nentries > 1U << XSK_INORDER_SLOT_BITS)
		return -ENOMEM;
	/* Addresses are noted for one Tx ring at a time */
	if (xs->tx && xsk_recycle_is_paired(pool))
		return -EBUSY;
	return 0;
}

/**
 * xsk_inorder_join() - a socket's Tx ring becomes one of a pool
 * @pool: the pool
 * @xs: the socket, in bind()
 *
 * The first socket that has a Tx ring, or asks for in-order completion,
 * decides how the queue completes, for as long as the pool lives: frames may
 * be in flight when the last one is closed. A pool without a completion ring
 * is that of a socket that asked, so that drivers never look for the ring.
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
		err = xsk_inorder_prepare(pool, xs);
		if (err)
			return err;
		xs->inorder.id = xsk_inorder_new_id(pool->inorder);
	}
	pool->tx_joined = true;
	return 0;
}

/**
 * xsk_inorder_destroy() - free what a socket has for in-order completion
 * @xs: the socket, which nothing in flight refers to any more
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

/* Give slots back to user space. @done is written by one context at a time */
static void xsk_inorder_publish(struct xdp_sock *xs, u32 done)
{
	/* Before the store that user space sees: see xsk_inorder_entries() */
	WRITE_ONCE(xs->inorder.done, done);
	smp_store_release(&xs->tx->ring->consumer, done); /* D, matches A */
}

/**
 * xsk_inorder_peek() - see what user space has put into the Tx ring
 * @xs: the socket
 *
 * Return: true if there is more than at the last time
 */
bool xsk_inorder_peek(struct xdp_sock *xs)
{
	struct xsk_queue *tx = xs->tx;
	u32 seen = tx->cached_prod;

	/* The acquire in it orders the load of done behind: user space that
	 * produces into a slot has seen done pass it.
	 */
	__xskq_cons_peek(tx);
	tx->cached_prod = xsk_inorder_limit(READ_ONCE(xs->inorder.done),
					    tx->cached_cons, tx->cached_prod,
					    tx->nentries);
	return tx->cached_prod != seen;
}

/**
 * xsk_inorder_entries() - look for descriptors to take
 * @xs: the socket
 * @max: how many are wanted
 *
 * Return: how many there are, at most @max
 */
u32 xsk_inorder_entries(struct xdp_sock *xs, u32 max)
{
	struct xsk_queue *tx = xs->tx;

	if (tx->cached_prod - tx->cached_cons < max)
		xsk_inorder_peek(xs);

	max = min(max, tx->cached_prod - tx->cached_cons);
	/* After the producer: no slot that user space wrote after it called
	 * setsockopt() may be taken as before that
	 */
	if (READ_ONCE(xs->pool->recycle))
		max = xsk_recycle_room(xs->pool, xs, max);

	return max;
}

static void xsk_inorder_credit(struct xdp_sock *xs, u32 slots)
{
	xsk_inorder_publish(xs, xs->inorder.done + slots);
	xs->sk.sk_write_space(&xs->sk);
}

/**
 * xsk_inorder_taken() - note what was taken from a socket's Tx ring
 * @pool: the pool, whose runs are not full
 * @xs: the socket
 * @descs: how many descriptors the driver gets
 * @slots: how many slots were taken
 */
void xsk_inorder_taken(struct xsk_buff_pool *pool, struct xdp_sock *xs,
		       u32 descs, u32 slots)
{
	u32 tag = xs->inorder.id | xsk_recycle_tag(pool);
	u32 done = xsk_inorder_add(pool->inorder, tag, descs, slots);

	if (done)
		xsk_inorder_credit(xs, done);
}

/* How many descriptors there are to take, with room to note them? */
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

/* One slot where several sockets share the queue, of which each poll visits all */
static u32 xsk_inorder_max_skip(const struct xsk_buff_pool *pool)
{
	return list_is_singular(&pool->xsk_tx_list) ? XSK_INORDER_SKIP : 1;
}

/* Take at most @max descriptors, and step over what is invalid before them */
static u32 xsk_inorder_take(struct xsk_buff_pool *pool, struct xdp_sock *xs,
			    struct xdp_desc *descs, u32 max)
{
	struct xsk_queue *tx = xs->tx;
	u32 ready, slots, skipped = 0, max_skip = xsk_inorder_max_skip(pool);
	struct xsk_tx_batch batch;

	do {
		ready = xsk_inorder_ready(pool, xs, max);
		if (!ready)
			return 0;

		slots = tx->cached_cons;
		batch = xskq_cons_read_desc_batch(xs, pool, descs, ready);
		slots = tx->cached_cons - slots;
		/* A frame that is not all there, or too long for now */
		if (!slots)
			return 0;

		xsk_recycle_note(pool, descs, batch.tx_descs);
		xsk_inorder_taken(pool, xs, batch.tx_descs, slots);
		skipped += slots;
	} while (!batch.tx_descs && skipped < max_skip);

	pool->inorder->skipped |= !batch.tx_descs;
	return batch.tx_descs;
}

/* One turn of each socket, @taken descriptors are there. Returns how many are */
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

/* Those that had their turn wait until all have had it */
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
 * @max: how many at most
 *
 * Return: how many are in tx_descs of @pool
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
	rcu_read_unlock();
	return taken;
}

/* One descriptor, and what is invalid before it */
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
		xsk_recycle_note(pool, desc, valid);
		xsk_inorder_taken(pool, xs, valid, 1);
		if (valid)
			return true;
	}

	pool->inorder->skipped = true;
	return false;
}

/**
 * xsk_inorder_peek_desc() - take a descriptor of one of the sockets
 * @pool: the pool, which completes in order
 * @desc: gets it
 *
 * Return: false if there is none
 */
bool xsk_inorder_peek_desc(struct xsk_buff_pool *pool, struct xdp_desc *desc)
{
	bool found = false, waiting;
	struct xdp_sock *xs;

	rcu_read_lock();
	do {
		waiting = false;
		list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list) {
			if (xs->tx_budget_spent >= XSK_INORDER_TURN) {
				waiting = true;
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
	} while (!found && waiting);
	rcu_read_unlock();
	return found;
}

static struct xdp_sock *xsk_inorder_find(struct xsk_buff_pool *pool, u32 id)
{
	struct xdp_sock *xs;

	list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list) {
		if (xs->inorder.id == id)
			return xs;
	}
	return NULL;
}

/**
 * xsk_inorder_completed() - complete descriptors
 * @pool: the pool, which completes in order
 * @descs: how many
 */
void xsk_inorder_completed(struct xsk_buff_pool *pool, u32 descs)
{
	u32 slots, tag, before = descs;
	struct xdp_sock *xs;

	rcu_read_lock();
	while ((slots = xsk_inorder_next(pool->inorder, &descs, &tag))) {
		if (tag & XSK_RECYCLE_NOTED)
			xsk_recycle_completed(pool, before - descs);
		before = descs;
		xs = xsk_inorder_find(pool, tag & ~XSK_RECYCLE_NOTED);
		if (xs)
			xsk_inorder_credit(xs, slots);
	}
	rcu_read_unlock();
}

/**
 * xsk_inorder_peek_copy() - look at the next descriptor, in copy mode
 * @xs: the socket
 * @desc: gets it
 *
 * Return: false if there is none or it is invalid, as xskq_cons_peek_desc()
 */
bool xsk_inorder_peek_copy(struct xdp_sock *xs, struct xdp_desc *desc)
{
	xsk_inorder_entries(xs, 1);
	return xskq_cons_read_desc(xs->tx, desc, xs->pool);
}

/**
 * xsk_inorder_slot() - where the next descriptor is, for an skb
 * @xs: the socket
 *
 * Return: the slot, in the bits of destructor_arg above the number of
 * descriptors; 0 if the socket does not complete in order
 */
long xsk_inorder_slot(const struct xdp_sock *xs)
{
	if (!xsk_is_inorder(xs))
		return 0;
	return (long)((unsigned long)(xs->tx->cached_cons & xs->tx->ring_mask)
		      << XSK_INORDER_DESCS_BITS);
}

/**
 * xsk_inorder_finish() - descriptors are finished, in copy mode
 * @xs: the socket
 * @slot: of the first one
 * @count: how many
 *
 * Context: any
 */
void xsk_inorder_finish(struct xdp_sock *xs, u32 slot, u32 count)
{
	u32 mask = xs->tx->ring_mask, done, i;
	unsigned long flags;

	/* Also for bits and done: skbs are freed on any CPU */
	spin_lock_irqsave(&xs->pool->cq_lock, flags);
	for (i = 0; i < count; i++)
		__set_bit((slot + i) & mask, xs->inorder.finished);
	done = xsk_inorder_prefix(xs->inorder.finished, mask, xs->inorder.done);
	if (done != xs->inorder.done)
		xsk_inorder_publish(xs, done);
	spin_unlock_irqrestore(&xs->pool->cq_lock, flags);
}

/**
 * xsk_inorder_skip() - step over an invalid descriptor, in copy mode
 * @xs: the socket, whose next descriptor it is
 */
void xsk_inorder_skip(struct xdp_sock *xs)
{
	xsk_inorder_finish(xs, xs->tx->cached_cons, 1);
	/* No skb is freed that would wake up poll(), which sends the rest */
	xs->sk.sk_write_space(&xs->sk);
}
