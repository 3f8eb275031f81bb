/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_INORDER_H_
#define XSK_INORDER_H_

#include <linux/bits.h>
#include <linux/sockptr.h>
#include <linux/types.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

#include "xsk_queue.h"

/* Maximum number of runs in flight per queue; a power of two */
#define XSK_INORDER_RUNS	256

/* Flag in the id of a run: the addresses of its descriptors were recorded */
#define XSK_INORDER_RECORDED	BIT(31)

/*
 * Bits of an skb's destructor_arg, in copy mode: the entry of its first
 * descriptor, which limits the size of the Tx ring, above the number of its
 * descriptors.
 */
#define XSK_INORDER_ENTRY_BITS	24
#define XSK_INORDER_DESCS_BITS	8

/**
 * struct xsk_inorder_run - descriptors of one socket that the driver has
 * @id: id of the socket, with XSK_INORDER_RECORDED if addresses were recorded
 * @descs: number of descriptors that are not complete
 * @extra: number of invalid entries behind them, which the driver did not get;
 *	they are complete when all of @descs are
 */
struct xsk_inorder_run {
	u32 id;
	u32 descs;
	u32 extra;
};

/**
 * struct xsk_inorder_pool - runs of a queue that are in flight
 * @head: index of the oldest run
 * @tail: index of the next run to add
 * @last_id: the last id that was allocated, protected by RTNL
 * @skipped: an attempt ended at invalid entries, more may follow
 * @runs: ring of runs
 *
 * Drivers serialise taking and completing descriptors, as the completion ring
 * requires, too. This protects all other members.
 */
struct xsk_inorder_pool {
	u32 head;
	u32 tail;
	u32 last_id;
	bool skipped;
	struct xsk_inorder_run runs[XSK_INORDER_RUNS];
};

static inline bool xsk_is_inorder(const struct xdp_sock *xs)
{
	return xs->inorder.requested;
}

/* Can become true during polls, if no socket of the queue had a Tx ring */
static inline bool xsk_pool_is_inorder(const struct xsk_buff_pool *pool)
{
	return READ_ONCE(pool->inorder);
}

/* The index logic, apart from sockets and rings */
u32 xsk_inorder_new_id(struct xsk_inorder_pool *order);

static inline struct xsk_inorder_run *
xsk_inorder_run(struct xsk_inorder_pool *order, u32 index)
{
	return &order->runs[index & (XSK_INORDER_RUNS - 1)];
}

/**
 * xsk_inorder_full() - check whether all runs are in use
 * @order: the in-order state of the queue
 *
 * Return: true if no run can be added
 */
static inline bool xsk_inorder_full(const struct xsk_inorder_pool *order)
{
	return order->tail - order->head == XSK_INORDER_RUNS;
}

/**
 * xsk_inorder_add() - record entries that were taken from a Tx ring
 * @order: the in-order state of the queue, not full
 * @id: id of the socket, with XSK_INORDER_RECORDED if addresses are recorded
 * @descs: number of valid descriptors, which the driver gets
 * @entries: number of entries taken: the valid ones, followed by invalid ones
 *
 * Return: number of entries that are complete at once, because none before
 * them is in flight
 */
static inline u32 xsk_inorder_add(struct xsk_inorder_pool *order, u32 id,
				  u32 descs, u32 entries)
{
	bool empty = order->head == order->tail;
	struct xsk_inorder_run *last;

	if (empty && !descs)
		return entries;

	last = xsk_inorder_run(order, order->tail - 1);
	if (empty || last->id != id || (last->extra && descs)) {
		last = xsk_inorder_run(order, order->tail++);
		*last = (struct xsk_inorder_run){ .id = id };
	}
	last->descs += descs;
	last->extra += entries - descs;
	return 0;
}

/**
 * xsk_inorder_next() - complete descriptors of the oldest run
 * @order: the in-order state of the queue
 * @descs: number of descriptors to complete; reduced by those of the run
 * @id: id of the run, on return
 *
 * Return: number of entries completed; 0 if nothing is left to complete
 */
static inline u32 xsk_inorder_next(struct xsk_inorder_pool *order, u32 *descs,
				   u32 *id)
{
	struct xsk_inorder_run *run;
	u32 entries;

	if (order->head == order->tail)
		return 0;

	run = xsk_inorder_run(order, order->head);
	*id = run->id;
	entries = min(*descs, run->descs);
	*descs -= entries;
	run->descs -= entries;
	if (!run->descs) {
		entries += run->extra;
		order->head++;
	}
	return entries;
}

/**
 * xsk_inorder_limit() - validate the producer index of user space
 * @done: index of the first entry that is not complete
 * @taken: index of the first entry that was not taken
 * @produced: the producer index
 * @size: size of the ring in entries
 *
 * Entries in flight must not be taken again.
 *
 * Return: @produced; @taken if that is out of range: behind @taken, or more
 * than @size ahead of @done
 */
static inline u32 xsk_inorder_limit(u32 done, u32 taken, u32 produced,
				    u32 size)
{
	if (produced - done > size || produced - done < taken - done)
		return taken;
	return produced;
}

u32 xsk_inorder_prefix(unsigned long *finished, u32 mask, u32 done);

/* Sockets */
int xsk_inorder_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen);
int xsk_inorder_getsockopt(struct xdp_sock *xs, char __user *optval,
			   int __user *optlen, int len);
int xsk_inorder_prepare(struct xdp_sock *xs);
int xsk_inorder_check(const struct xsk_buff_pool *pool,
		      const struct xdp_sock *xs);
int xsk_inorder_join(struct xsk_buff_pool *pool, struct xdp_sock *xs);
void xsk_inorder_destroy(struct xdp_sock *xs);

/* Zero-copy */

/**
 * xsk_inorder_peek() - refresh the producer index of the Tx ring
 * @xs: the socket
 *
 * Return: true if it has changed
 */
static inline bool xsk_inorder_peek(struct xdp_sock *xs)
{
	struct xsk_queue *tx = xs->tx;
	u32 seen = tx->cached_prod;

	/* User space that produced into an entry has seen the consumer index
	 * pass it. The acquire in __xskq_cons_peek() orders the load of done
	 * after that of the producer index, so that it is at least as new.
	 * Pairs with smp_store_release() in xsk_inorder_publish(), by way of
	 * user space.
	 */
	__xskq_cons_peek(tx);
	tx->cached_prod = xsk_inorder_limit(READ_ONCE(xs->inorder.done),
					    tx->cached_cons, tx->cached_prod,
					    tx->nentries);
	return tx->cached_prod != seen;
}

/**
 * xsk_inorder_available() - get the number of entries that can be taken
 * @xs: the socket
 * @max: upper limit
 *
 * Return: number of entries, at most @max
 */
static inline u32 xsk_inorder_available(struct xdp_sock *xs, u32 max)
{
	struct xsk_queue *tx = xs->tx;

	if (tx->cached_prod - tx->cached_cons < max)
		xsk_inorder_peek(xs);

	return min(max, tx->cached_prod - tx->cached_cons);
}

u32 xsk_inorder_entries(struct xdp_sock *xs, u32 max);
void xsk_inorder_taken(struct xsk_buff_pool *pool, struct xdp_sock *xs,
		       const struct xdp_desc *descs, u32 count, u32 entries);
bool xsk_inorder_peek_desc(struct xsk_buff_pool *pool, struct xdp_desc *desc);
u32 xsk_inorder_peek_batch(struct xsk_buff_pool *pool, u32 max);
void xsk_inorder_completed(struct xsk_buff_pool *pool, u32 descs);

/* Copy mode */
bool xsk_inorder_peek_copy(struct xdp_sock *xs, struct xdp_desc *desc);
void xsk_inorder_finish(struct xdp_sock *xs, u32 entry, u32 count);
void xsk_inorder_skip(struct xdp_sock *xs);

/**
 * xsk_inorder_skb_entry() - get the Tx ring entry of an skb's first descriptor
 * @xs: the socket
 *
 * Return: the entry, in the bits of destructor_arg above the number of
 * descriptors; 0 if the socket does not complete in order
 */
static inline long xsk_inorder_skb_entry(const struct xdp_sock *xs)
{
	if (!xsk_is_inorder(xs))
		return 0;
	return (long)((unsigned long)(xs->tx->cached_cons & xs->tx->ring_mask)
		      << XSK_INORDER_DESCS_BITS);
}

#endif /* XSK_INORDER_H_ */
