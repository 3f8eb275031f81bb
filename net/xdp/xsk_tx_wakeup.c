// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_RING_NEED_WAKEUP of a Tx ring is clear while the queue is polled, because
 * each poll transmits, and is set before polling ends.
 *
 *	user space			end of polling
 *	  writes the producer		  sets the flag
 *	  full barrier			  full barrier
 *	  reads the flag		  reads the producer
 *
 * At least one of them sees the store of the other. Existing applications may
 * lack the barrier, because drivers that always set the flag need none.
 * Therefore, the flag is only cleared on queues with XDP_TX_INORDER, which
 * requires it.
 */
#include <linux/rculist.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_tx_wakeup.h>

#include "xsk_inorder.h"

/* Check for entries that were added since the poll read the producer index, or
 * that it left behind invalid ones. They are reported once, because the device
 * may have no room for them.
 */
static bool xsk_tx_arrived(struct xsk_buff_pool *pool)
{
	bool arrived = pool->inorder->skipped;
	struct xdp_sock *xs;

	pool->inorder->skipped = false;
	rcu_read_lock();
	list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list)
		arrived |= xsk_inorder_peek(xs);
	rcu_read_unlock();
	return arrived;
}

/**
 * xsk_tx_busy_polls() - check for Tx sockets with busy polling
 * @pool: the pool
 *
 * The last poll of a busy polling system call looks interrupt-driven, but may
 * defer the next one to a timer: see busy_poll_stop().
 *
 * Context: NAPI poll
 * Return: true if there is such a socket
 */
bool xsk_tx_busy_polls(struct xsk_buff_pool *pool)
{
	bool polls = false;
#ifdef CONFIG_NET_RX_BUSY_POLL
	struct xdp_sock *xs;

	rcu_read_lock();
	list_for_each_entry_rcu(xs, &pool->xsk_tx_list, tx_list)
		polls |= READ_ONCE(xs->sk.sk_ll_usec);
	rcu_read_unlock();
#endif
	return polls;
}
EXPORT_SYMBOL_GPL(xsk_tx_busy_polls);

/**
 * xsk_tx_wakeup_arm() - request wakeups from user space
 * @pool: the pool, which completes in order
 *
 * Context: NAPI poll
 * Return: true if polling can end; false if there is something to transmit
 */
bool xsk_tx_wakeup_arm(struct xsk_buff_pool *pool)
{
	xsk_set_tx_need_wakeup(pool);
	/* Pairs with the full barrier in user space, see XDP_TX_INORDER */
	smp_mb();
	return !xsk_tx_arrived(pool);
}
EXPORT_SYMBOL_GPL(xsk_tx_wakeup_arm);
