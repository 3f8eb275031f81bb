/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_TX_WAKEUP_H
#define _NET_XSK_TX_WAKEUP_H

#include <linux/netdevice.h>
#include <linux/types.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_buff_pool.h>

/*
 * Whether user space has to wake up a zero-copy Tx queue. A driver whose polls
 * send as long as there is something to send calls
 *
 *   xsk_tx_wakeup_begin()	before a poll looks into the Tx rings
 *   xsk_tx_wakeup_end()	before polling ends; if it refuses, it goes on
 *
 * and xsk_set_tx_need_wakeup() where the queue is stopped.
 */

#ifdef CONFIG_XDP_SOCKETS

bool xsk_tx_wakeup_arm(struct xsk_buff_pool *pool);
bool xsk_tx_busy_polls(struct xsk_buff_pool *pool);

/* Whether user space sees by the flag of the Tx ring if the queue is polled.
 * Where user space does the polling, it has to go on with it; netpoll does not
 * come back.
 */
static inline bool xsk_tx_is_polled(struct xsk_buff_pool *pool,
				    const struct napi_struct *napi)
{
	const unsigned long once = NAPIF_STATE_IN_BUSY_POLL |
				   NAPIF_STATE_PREFER_BUSY_POLL |
				   NAPIF_STATE_NPSVC;

	return READ_ONCE(pool->inorder) && pool->uses_need_wakeup &&
	       !(READ_ONCE(napi->state) & once) && !xsk_tx_busy_polls(pool);
}

/**
 * xsk_tx_wakeup_begin() - a poll is going to look into the Tx rings
 * @pool: the pool
 * @napi: what is polled
 *
 * Context: NAPI poll
 */
static inline void xsk_tx_wakeup_begin(struct xsk_buff_pool *pool,
				       const struct napi_struct *napi)
{
	if (xsk_tx_is_polled(pool, napi))
		xsk_clear_tx_need_wakeup(pool);
	else if (pool->uses_need_wakeup)
		xsk_set_tx_need_wakeup(pool);
}

/**
 * xsk_tx_wakeup_end() - polling is about to end
 * @pool: the pool
 *
 * Looks at what xsk_tx_wakeup_begin() did, and not again at why: a system call
 * that wants to poll may have said so in between.
 *
 * Context: NAPI poll, after xsk_tx_wakeup_begin()
 * Return: false if there is more to send: it has to be polled again
 */
static inline bool xsk_tx_wakeup_end(struct xsk_buff_pool *pool)
{
	return pool->tx_need_wakeup || xsk_tx_wakeup_arm(pool);
}

#else

static inline void xsk_tx_wakeup_begin(struct xsk_buff_pool *pool,
				       const struct napi_struct *napi)
{
}

static inline bool xsk_tx_wakeup_end(struct xsk_buff_pool *pool)
{
	return true;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_TX_WAKEUP_H */
