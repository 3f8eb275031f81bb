// SPDX-License-Identifier: GPL-2.0
/*
 * The flag of a Tx ring that asks user space for a system call,
 * XDP_RING_NEED_WAKEUP: clear from one poll to the next, as each of them sends,
 * and set before polling ends.
 *
 *	user space			end of polling
 *	  writes the producer		  sets the flag
 *	  full barrier			  full barrier
 *	  reads the flag		  reads the producer
 *
 * One of them sees what the other one wrote. Applications may have been
 * written without that barrier, as drivers that always set the flag need none:
 * so this is for queues whose sockets have XDP_TX_INORDER, which asks for it.
 */
#include <linux/rculist.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_tx_wakeup.h>

#include "xsk_inorder.h"

/* More came since the poll looked, or the poll has not looked at all of it.
 * Says so once: there may be no room for it.
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
 * xsk_tx_busy_polls() - check for sockets whose system calls poll the queue
 * @pool: the pool
 *
 * The last poll of such a call is one like that after an interrupt, but may
 * have the next one wait for a timer.
 *
 * Context: NAPI poll
 * Return: true if a Tx socket is one
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
 * xsk_tx_wakeup_arm() - have user space wake up the driver from now on
 * @pool: the pool
 *
 * Context: NAPI poll
 * Return: false if there is something to send by now
 */
bool xsk_tx_wakeup_arm(struct xsk_buff_pool *pool)
{
	xsk_set_tx_need_wakeup(pool);
	/* Pairs with the barrier in user space: see above */
	smp_mb();
	return !xsk_tx_arrived(pool);
}
EXPORT_SYMBOL_GPL(xsk_tx_wakeup_arm);
