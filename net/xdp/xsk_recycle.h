/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_RECYCLE_H_
#define XSK_RECYCLE_H_

#include <linux/cache.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/sockptr.h>
#include <linux/types.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

/**
 * struct xsk_recycle - chunks on their way from a Tx queue to an Rx queue
 * @addrs: addresses, as a ring
 * @mask: entries of it, less one
 * @limit: how many may wait before more go to a completion ring
 * @to: pool of the Rx queue; NULL while there is none
 * @node: in recycle_from of that pool
 * @tx_xs: the socket that sends
 * @rx_xs: the socket that receives; NULL while there is none
 * @left: the Tx queue's pool is gone, and the Rx queue's owns this
 * @request: counts the switches that were asked for
 * @request_on: what the last one asked for
 * @request_slot: slot of the Tx ring from which on it holds
 * @applied: the last request that was carried out
 * @on: addresses are noted
 * @slot: slot of the Tx ring from which on that is so
 * @noted: up to where addresses are noted; falls when chunks are spilled
 * @spilled: how many went to the completion ring
 * @kicks: how often the Rx queue was woken up
 * @published: up to where frames are complete
 * @read: up to where the Rx queue took chunks
 * @recycled: how many those were
 *
 * read <= published <= noted <= read + entries. The polls of the Tx queue
 * write all from @applied to @published, those of the Rx queue the rest; links
 * and requests are written under xsk_recycle_mutex. So each index has one
 * writer, and the two queues can be polled on different CPUs without a lock.
 */
struct xsk_recycle {
	u64 *addrs;
	u32 mask;
	u32 limit;
	struct xsk_buff_pool __rcu *to;
	struct list_head node;
	struct xdp_sock *tx_xs;
	struct xdp_sock *rx_xs;
	bool left;
	u32 request;
	bool request_on;
	u32 request_slot;

	u32 applied ____cacheline_aligned_in_smp;
	bool on;
	u32 slot;
	u32 noted;
	u64 spilled;
	u64 kicks;
	u32 published;

	u32 read ____cacheline_aligned_in_smp;
	u64 recycled;
};

/* Of a run (struct xsk_inorder_run): addresses are noted, beside the id */
#define XSK_RECYCLE_NOTED	BIT(31)

static inline u32 xsk_recycle_tag(const struct xsk_buff_pool *pool)
{
	const struct xsk_recycle *recycle = READ_ONCE(pool->recycle);

	return recycle && recycle->on ? XSK_RECYCLE_NOTED : 0;
}

/* The index logic, apart from sockets and rings */
u32 xsk_recycle_switch(struct xsk_recycle *recycle, u32 taken, u32 size,
		       u32 max);
u32 xsk_recycle_excess(const struct xsk_recycle *recycle, u32 count);

/* Checks of a pairing that need neither rings nor a bound socket */
int xsk_recycle_check_mode(const struct xdp_sock *tx_xs,
			   const struct xdp_sock *rx_xs, u32 flags);

/* Sockets */
int xsk_recycle_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			   unsigned int optlen);
int xsk_recycle_getsockopt(struct xdp_sock *xs, char __user *optval,
			   int __user *optlen, int len);
void xsk_recycle_unbind(struct xdp_sock *xs);
void xsk_recycle_destroy(struct xsk_buff_pool *pool);

/* For ethtool */
void xsk_recycle_stats(const struct xsk_buff_pool *pool,
		       struct xdp_recycle *stats);

/* For bind(): until a socket that was paired has left the queue for good */
static inline bool xsk_recycle_is_paired(const struct xsk_buff_pool *pool)
{
	return pool->recycle && READ_ONCE(pool->recycle->tx_xs);
}

/* Polls of the Tx queue */
u32 xsk_recycle_room(struct xsk_buff_pool *pool, const struct xdp_sock *xs,
		     u32 max);
u64 *xsk_recycle_row(struct xsk_buff_pool *pool, u32 *max);
void xsk_recycle_note(struct xsk_buff_pool *pool, const struct xdp_desc *descs,
		      u32 count);
void xsk_recycle_completed(struct xsk_buff_pool *pool, u32 count);

/* Polls of the Rx queue */
bool xsk_recycle_waiting(const struct xsk_buff_pool *pool);
u32 xsk_recycle_refill(struct xsk_buff_pool *pool, void *slot, size_t step,
		       __le64 *rx_desc, u32 count);
void xsk_recycle_to_free_list(struct xsk_buff_pool *pool, u32 count);

#endif /* XSK_RECYCLE_H_ */
