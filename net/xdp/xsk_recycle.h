/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_RECYCLE_H_
#define XSK_RECYCLE_H_

#include <linux/cache.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/sockptr.h>
#include <linux/types.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

#include "xsk_queue.h"

struct xsk_refill_span;

/**
 * struct xsk_recycle - chunks in transit from a Tx queue to an Rx queue
 * @addrs: ring of addresses
 * @mask: its size less one
 * @limit: number of pending chunks above which more are spilled
 * @to: pool of the Rx queue; NULL if there is none
 * @node: in recycle_from of that pool
 * @tx_xs: the sending socket; NULL after it was closed
 * @rx_xs: the receiving socket; NULL if there is none
 * @orphaned: the Tx queue's pool was freed, and the Rx queue's owns this
 * @request: number of requests to switch recording
 * @request_on: setting that the last request is for
 * @request_entry: index of the Tx ring entry from which it holds
 * @applied: the last request that was applied
 * @on: addresses are recorded
 * @entry: index of the Tx ring entry from which @on holds
 * @recorded: index behind the last recorded address; falls when chunks are
 *	spilled
 * @read_seen: the last known value of @read
 * @spilled: number of chunks that went to the completion ring
 * @kicks: number of times that the Rx queue's NAPI was triggered
 * @published: index behind the last completed address
 * @read: index behind the last address that the Rx queue consumed
 * @recycled: number of chunks that it accepted
 *
 * read <= published <= recorded <= read + entries. The Tx queue's polls write
 * the members from @applied to @published, the Rx queue's polls @read and
 * @recycled; links and requests are protected by recycle_lock of the umem. Each
 * index has one writer, so the two queues can be polled on different CPUs without
 * a lock.
 */
struct xsk_recycle {
	u64 *addrs;
	u32 mask;
	u32 limit;
	struct xsk_buff_pool __rcu *to;
	struct list_head node;
	struct xdp_sock *tx_xs;
	struct xdp_sock *rx_xs;
	bool orphaned;
	u32 request;
	bool request_on;
	u32 request_entry;

	u32 applied ____cacheline_aligned_in_smp;
	bool on;
	u32 entry;
	u32 recorded;
	u32 read_seen;
	u64 spilled;
	u64 kicks;
	u32 published;

	u32 read ____cacheline_aligned_in_smp;
	u64 recycled;
};

/* The index logic, apart from sockets and rings */
u32 xsk_recycle_switch(struct xsk_recycle *recycle, u32 taken, u32 size,
		       u32 max);
u32 xsk_recycle_excess(const struct xsk_recycle *recycle, u32 count);

/* Checks of a pairing that need neither rings nor a bound socket */
int xsk_recycle_check_mode(const struct xdp_sock *tx_xs,
			   const struct xdp_sock *rx_xs, u32 flags);

/* Socket options, xsk_recycle_pair.c */
int xsk_recycle_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen);
int xsk_recycle_getsockopt(struct xdp_sock *xs, int optname,
			   char __user *optval, int __user *optlen, int len);
void xsk_recycle_stats(const struct xdp_sock *xs,
		       struct xdp_recycle_stats *stats);
void xsk_recycle_query_pair(const struct xdp_sock *xs,
			    struct xdp_diag_pair *pair);
u32 xsk_recycle_state(const struct xsk_recycle *recycle);

/* Teardown, xsk_recycle_unbind.c */
void xsk_recycle_detach(struct xdp_sock *xs);
void xsk_recycle_unbind(struct xdp_sock *xs);
void xsk_recycle_destroy(struct xsk_buff_pool *pool);

/* Links, for both */
void xsk_recycle_request(struct xsk_recycle *recycle, bool on, u32 entry);
void xsk_recycle_trace_end(const struct xsk_recycle *recycle,
			   const char *reason);
void xsk_recycle_unlink(struct xsk_recycle *recycle);
void xsk_recycle_release(struct xsk_recycle *recycle);

/* For bind(): until a paired socket is unbound */
static inline bool xsk_recycle_is_paired(const struct xsk_buff_pool *pool)
{
	return pool->recycle && READ_ONCE(pool->recycle->tx_xs);
}

/* Polls of the Tx queue, xsk_recycle.c */

/**
 * xsk_recycle_room() - limit a batch to what can be recorded
 * @recycle: the recycling state of the Tx queue, or NULL
 * @tx: its Tx ring, whose producer index was read before: entries that were
 *	written after setsockopt(XDP_RECYCLE) are taken with its setting
 * @max: upper limit
 *
 * Return: number of descriptors that can be taken; the setting is the same
 * for all of them
 */
static inline u32 xsk_recycle_room(struct xsk_recycle *recycle,
				   const struct xsk_queue *tx, u32 max)
{
	u32 size;

	if (!recycle)
		return max;
	/* Matches the release in xsk_recycle_request() */
	if (unlikely(smp_load_acquire(&recycle->request) != recycle->applied))
		max = xsk_recycle_switch(recycle, tx->cached_cons,
					 tx->nentries, max);
	if (!recycle->on)
		return max;

	size = recycle->mask + 1;
	/* The last known value is good enough, unless it limits the batch */
	if (size - (recycle->recorded - recycle->read_seen) < max)
		recycle->read_seen = READ_ONCE(recycle->read);
	return min(max, size - (recycle->recorded - recycle->read_seen));
}

/**
 * xsk_recycle_span() - get contiguous entries to record addresses in
 * @recycle: the recycling state of the Tx queue, or NULL
 * @max: number of addresses, limited by xsk_recycle_room(); reduced to the
 *	number of contiguous entries
 *
 * Return: the first entry, NULL if addresses are not recorded
 */
static inline u64 *xsk_recycle_span(const struct xsk_recycle *recycle, u32 *max)
{
	u32 index;

	if (!recycle || !recycle->on)
		return NULL;

	index = recycle->recorded & recycle->mask;
	*max = min(*max, recycle->mask + 1 - index);
	return &recycle->addrs[index];
}

bool xsk_recycle_record(struct xsk_buff_pool *pool,
			const struct xdp_desc *descs, u32 count);
void xsk_recycle_completed(struct xsk_buff_pool *pool, u32 count);
void xsk_recycle_publish(struct xsk_recycle *recycle, struct xsk_buff_pool *to,
			 u32 published);
int xsk_recycle_wakeup(const struct xsk_buff_pool *pool, u32 flags);

/* Polls of the Rx queue, xsk_recycle.c */
bool xsk_recycle_has_pending(const struct xsk_buff_pool *pool);
bool xsk_recycle_next(struct xsk_buff_pool *pool, struct xsk_refill_span *span,
		      u32 max);
void xsk_recycle_taken(struct xsk_recycle *recycle, u32 count, u32 posted);
void xsk_recycle_to_free_list(struct xsk_buff_pool *pool, u32 count);
u64 xsk_recycle_fq(const struct xsk_buff_pool *pool);

#endif /* XSK_RECYCLE_H_ */
