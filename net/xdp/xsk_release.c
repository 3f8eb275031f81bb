// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for the queues of closed sockets.
 *
 * close() neither takes RTNL nor waits for the driver: a work item takes the
 * pool from its queue, see xp_put_owner(). Until then, the queue has a pool
 * without owner. A caller that finds one drops all locks, waits until any queue
 * is released, and starts over, as if called again.
 *
 * Lifetime: a waiter refers to nothing, so it delays nothing. Meanwhile, pool
 * and device may be freed, or the device may change its network namespace. Both
 * need the queue to be released first.
 *
 * No wakeup is lost: the pool is found, and the number of released queues read,
 * in one RTNL section; the queue is released, and the number changed, in a
 * later one.
 *
 * The wait queue is a global one. A release elsewhere costs each waiter one more
 * check. Waiters exist only while queues are being released, and a process that
 * wants to keep the RTNL busy can call bind() in a loop anyway.
 */
#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <net/xdp_sock.h>
#include <net/xdp_sock_drv.h>

#include "xsk_attach.h"
#include "xsk_release.h"

static DECLARE_WAIT_QUEUE_HEAD(xsk_release_queue);
/* Number of released queues, modulo 2^32; written under RTNL */
static u32 xsk_released;

/**
 * xsk_release_init() - prepare to wait
 * @release: the wait
 * @timeout: maximum time in jiffies, from when a queue is first found that is
 *	being released; 0 not to wait
 */
void xsk_release_init(struct xsk_release *release, unsigned long timeout)
{
	*release = (struct xsk_release) { .timeout = timeout };
}

static void xsk_release_expect(struct xsk_release *release)
{
	/* Not before: others may have held RTNL for long */
	if (!release->started)
		release->deadline = jiffies + release->timeout;
	release->started = true;
	release->seen = xsk_released;
	release->pending = true;
}

static bool xsk_queue_is_released(struct net_device *dev, u16 qid)
{
	const struct xsk_buff_pool *pool = xsk_get_pool_from_qid(dev, qid);

	return pool && xp_is_closed(pool);
}

/**
 * xsk_release_check() - check whether bind() failed because of closed sockets
 * @release: the wait
 * @xs: the socket
 * @dev: the device
 * @qid: the queue
 * @err: the error of bind()
 *
 * Context: the RTNL section in which it failed
 */
void xsk_release_check(struct xsk_release *release, const struct xdp_sock *xs,
		       struct net_device *dev, u16 qid, int err)
{
	ASSERT_RTNL();

	if (err == -EBUSY && (xsk_queue_is_released(dev, qid) ||
			      xsk_attach_is_released(xs, err)))
		xsk_release_expect(release);
}

/**
 * xsk_release_wait() - wait until a queue is released
 * @release: the wait
 *
 * Only a signal that kills the process ends it early: applications do not
 * expect EINTR here, and the time is limited.
 *
 * Context: process context, without RTNL, which the work item takes, and
 * without any lock that is taken under RTNL
 * Return: true if the caller should try again; false if no queue is expected to
 * be released, the time has elapsed, or the process is being killed
 */
bool xsk_release_wait(struct xsk_release *release)
{
	long left = release->deadline - jiffies;

	if (!release->pending || left <= 0)
		return false;

	release->pending = false;
	/* Pairs with xsk_release_done() */
	return wait_event_killable_timeout(xsk_release_queue,
					   READ_ONCE(xsk_released) !=
					   release->seen, left) > 0;
}

static bool xsk_dev_is_released(struct net_device *dev)
{
	u32 queues = max(dev->real_num_rx_queues, dev->real_num_tx_queues);
	u32 i;

	for (i = 0; i < queues; i++) {
		if (xsk_queue_is_released(dev, i))
			return true;
	}
	return false;
}

/**
 * xsk_wait_released() - wait until closed sockets have released their queues
 * @dev: the device
 *
 * For operations that fail while a queue has a pool. If the time elapses, or
 * the process is being killed, they find out themselves. If @dev is
 * unregistered meanwhile, which waits for the caller's reference, its queues
 * are released.
 *
 * Context: process context, without RTNL; the caller has a reference to @dev.
 * Netlink requests hold the cb_lock of generic netlink for reading, as in all of
 * their handlers. The release does not need it, but a new family has to wait:
 * the administrator of a network namespace must not delay others, and does not
 * wait here.
 */
void xsk_wait_released(struct net_device *dev)
{
	struct xsk_release release;

	if (!ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN))
		return;

	xsk_release_init(&release, XSK_RELEASE_TIMEOUT);
	do {
		rtnl_lock();
		if (xsk_dev_is_released(dev))
			xsk_release_expect(&release);
		rtnl_unlock();
	} while (xsk_release_wait(&release));
}

/**
 * xsk_release_done() - wake up the waiters for a queue
 *
 * Context: the RTNL section in which a pool was taken from its queue
 */
void xsk_release_done(void)
{
	ASSERT_RTNL();

	/* wake_up_all() orders it before the check for waiters */
	WRITE_ONCE(xsk_released, xsk_released + 1);
	wake_up_all(&xsk_release_queue);
}
