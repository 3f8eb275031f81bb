/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_CLAIM_H_
#define XSK_CLAIM_H_

#include <linux/filter.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

/*
 * Fill ring, free list, Rx rings and the flush list have no lock: they rely on
 * one context at a time, the NAPI poll of the queue. @rx_claim of a pool is set
 * where that is not guaranteed: the device does not declare it (@xdp_napi of
 * struct net_device), or a socket was attached without a privileged program
 * (XDP_ATTACH). There, one context at a time claims the pool until it has
 * flushed, and packets of other contexts are dropped. The cost is one atomic
 * operation per poll.
 *
 * Not claimed are zero-copy refill and direct delivery, which only NAPI does.
 * A CPUMAP program or a test run with live frames that redirects to a
 * zero-copy socket races with them, as it does without XDP_ATTACH. Loading
 * one takes CAP_BPF and CAP_NET_ADMIN.
 */

/**
 * xsk_claim() - claim a pool for the current context
 * @pool: the pool
 *
 * Context: BHs disabled
 * Return: true if the context owns the pool; false if another one does
 */
static inline bool xsk_claim(struct xsk_buff_pool *pool)
{
	const struct bpf_net_context *owner, *ctx;
	bool claimed;

	if (likely(!READ_ONCE(pool->rx_claim)))
		return true;

	ctx = bpf_net_ctx_get();
	owner = READ_ONCE(pool->rx_owner);
	if (owner)
		return owner == ctx;

	/* Pairs with smp_store_release() in xsk_unclaim(), for the stores of
	 * the last owner
	 */
	claimed = !cmpxchg_acquire(&pool->rx_owner, NULL, ctx);
	if (claimed)
		pool->rx_to_flush = 0;
	return claimed;
}

/**
 * xsk_unclaim() - release a claimed pool, unless sockets are left to flush
 * @pool: the pool
 *
 * Context: the owner, or any context if the pool is not claimed
 */
static inline void xsk_unclaim(struct xsk_buff_pool *pool)
{
	/* Negative if xsk_attach_publish() set @rx_claim after this poll had
	 * put a socket into the flush list. No other context receives then:
	 * on devices without @xdp_napi, xp_assign_dev() has set @rx_claim.
	 */
	if (unlikely(pool->rx_owner && pool->rx_to_flush <= 0))
		/* Pairs with cmpxchg_acquire() in xsk_claim() */
		smp_store_release(&pool->rx_owner, NULL);
}

/* Count sockets of the pool that were added to the flush list, or removed */
static inline void xsk_claim_to_flush(struct xsk_buff_pool *pool, int sockets)
{
	if (unlikely(pool->rx_owner))
		pool->rx_to_flush += sockets;
}

#endif /* XSK_CLAIM_H_ */
