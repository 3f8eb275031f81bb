/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_TX_WAKEUP_H
#define _NET_XSK_TX_WAKEUP_H

#include <asm/barrier.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_buff_pool.h>

/*
 * XDP_RING_NEED_WAKEUP of zero-copy Tx rings. A driver that is polled while
 * there is something to transmit calls
 *
 *   xsk_tx_wakeup_begin()	before a poll reads the Tx rings
 *   xsk_tx_wakeup_end()	before polling ends; if false, it continues
 *
 * and xsk_set_tx_need_wakeup() when the queue is stopped.
 */

#ifdef CONFIG_XDP_SOCKETS

bool xsk_tx_wakeup_arm(struct xsk_buff_pool *pool);
bool xsk_tx_busy_polls(struct xsk_buff_pool *pool);

/* Whether the flag can be clear while the queue is polled. Busy polling depends
 * on further system calls, and netpoll polls only once.
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
 * xsk_tx_wakeup_begin() - set or clear the flag at the start of a poll
 * @pool: the pool
 * @napi: the NAPI instance
 *
 * Context: NAPI poll, before it reads the Tx rings
 */
static inline void xsk_tx_wakeup_begin(struct xsk_buff_pool *pool,
				       const struct napi_struct *napi)
{
	if (xsk_tx_is_polled(pool, napi)) {
		xsk_clear_tx_need_wakeup(pool);
	} else if (pool->uses_need_wakeup && !pool->tx_need_wakeup) {
		xsk_set_tx_need_wakeup(pool);
		/* As in xsk_tx_wakeup_arm(): the poll reads the Tx rings next */
		smp_mb();
	}
}

/**
 * xsk_tx_wakeup_end() - set the flag before polling ends
 * @pool: the pool
 *
 * Checks the result of xsk_tx_wakeup_begin() instead of the state of NAPI, to
 * which a busy polling system call may have added flags since.
 *
 * Context: NAPI poll, after xsk_tx_wakeup_begin()
 * Return: true if polling can end; false if there is more to transmit, so that
 * the queue has to be polled again
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
