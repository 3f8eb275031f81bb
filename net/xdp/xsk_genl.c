// SPDX-License-Identifier: GPL-2.0
/*
 * State of a queue in the netdev netlink family: the nest xsk of queue-get.
 *
 * The names of the family are those of if_xdp_fastpath.h in lower case. Values
 * are the same, so that they need no translation.
 */
#include <linux/if_xdp_fastpath.h>
#include <linux/rtnetlink.h>
#include <net/netdev_rx_queue.h>
#include <net/netlink.h>
#include <net/xdp_sock_drv.h>
#include <uapi/linux/netdev.h>

#include "xsk_attach.h"
#include "xsk_recycle.h"

#define SAME(a, b)	static_assert((int)NETDEV_XSK_##a == (int)XDP_##b)
#define SAME_STATE(s)	SAME(ATTACH_STATE_##s, ATTACH_S_##s)
#define SAME_FLAG(f)	SAME(ATTACH_FLAGS_##f, ATTACH_F_##f)
#define SAME_REASON(r)	SAME(REASON_##r, ATTACH_R_##r)
#define SAME_RECYCLE(s)	SAME(RECYCLE_STATE_##s, RECYCLE_S_##s)

SAME_STATE(NONE);
SAME_STATE(REQUESTED);
SAME_STATE(ACTIVE);
SAME_STATE(SHADOWED);
SAME_STATE(STALLED);
SAME_STATE(DETACHED);
SAME_STATE(PASSED);

SAME_FLAG(SKB_MODE);
SAME_FLAG(DRV_MODE);
SAME_FLAG(IF_NOEXIST);
SAME_FLAG(PASS);

SAME_REASON(NONE);
SAME_REASON(CAPABILITY);
SAME_REASON(NO_QUEUE);
SAME_REASON(QUEUE_BUSY);
SAME_REASON(NO_NATIVE);
SAME_REASON(DRIVER);
SAME_REASON(MODE_CONFLICT);
SAME_REASON(UPPER);
SAME_REASON(REGULAR);
SAME_REASON(ZC_GENERIC);
SAME_REASON(BUILTIN);
SAME_REASON(DEVICE_BUSY);
SAME_REASON(PEER);
SAME_REASON(ZC_DRIVER);
SAME_REASON(ZC_SG);
SAME_REASON(ZC_MTU);
SAME_REASON(ZC_DMA);
SAME_REASON(ZC_REFUSED);
SAME_REASON(POOL_BUSY);

SAME_RECYCLE(OFF);
SAME_RECYCLE(ON);
SAME_RECYCLE(SWITCHING);

static int xsk_genl_put_mode(struct sk_buff *rsp,
			     const struct xsk_buff_pool *pool)
{
	if (pool->umem->zc)
		return nla_put_flag(rsp, NETDEV_A_XSK_INFO_ZERO_COPY);
	return nla_put_u32(rsp, NETDEV_A_XSK_INFO_ZC_REASON, pool->zc_reason);
}

static int xsk_genl_put_attach(struct sk_buff *rsp,
			       const struct xsk_buff_pool *pool)
{
	struct xdp_attach attach = { .state = XDP_ATTACH_S_NONE };
	struct xdp_sock *xs;

	/* Detached under RTNL before it is freed */
	xs = rtnl_dereference(pool->netdev->_rx[pool->queue_id].xsk);
	if (xs)
		xsk_attach_query(xs, &attach);
	if (nla_put_u32(rsp, NETDEV_A_XSK_INFO_ATTACH_STATE, attach.state))
		return -EMSGSIZE;
	if (!xs)
		return 0;

	if (nla_put_u32(rsp, NETDEV_A_XSK_INFO_ATTACH_FLAGS, attach.flags) ||
	    nla_put_u32(rsp, NETDEV_A_XSK_INFO_ATTACH_PROG_ID,
			attach.prog_id) ||
	    nla_put_u32(rsp, NETDEV_A_XSK_INFO_ATTACH_REASON, attach.reason))
		return -EMSGSIZE;
	return 0;
}

/* The Rx queue that takes the chunks, unless it is another namespace's */
static int xsk_genl_put_peer(struct sk_buff *rsp,
			     const struct xsk_buff_pool *pool,
			     const struct xsk_buff_pool *to)
{
	/* Under RTNL it changes neither its namespace nor its device, which is
	 * NULL after it was unregistered
	 */
	if (!to || !to->netdev ||
	    !net_eq(dev_net(to->netdev), dev_net(pool->netdev)))
		return 0;

	if (nla_put_u32(rsp, NETDEV_A_XSK_INFO_RECYCLE_IFINDEX,
			to->netdev->ifindex) ||
	    nla_put_u32(rsp, NETDEV_A_XSK_INFO_RECYCLE_QUEUE, to->queue_id))
		return -EMSGSIZE;
	return 0;
}

static int xsk_genl_put_recycle(struct sk_buff *rsp,
				const struct xsk_buff_pool *pool)
{
	/* Set once, under RTNL */
	const struct xsk_recycle *recycle = pool->recycle;
	u32 state;
	int err;

	state = recycle ? xsk_recycle_state(recycle) : XDP_RECYCLE_S_OFF;
	if (nla_put_u32(rsp, NETDEV_A_XSK_INFO_RECYCLE_STATE, state))
		return -EMSGSIZE;
	if (state == XDP_RECYCLE_S_OFF)
		return 0;

	/* Without recycle_lock, whose holder may wait for polls. The pool is
	 * valid: see synchronize_net() in xsk_recycle_unlink().
	 */
	rcu_read_lock();
	err = xsk_genl_put_peer(rsp, pool, rcu_dereference(recycle->to));
	rcu_read_unlock();
	return err;
}

static int xsk_genl_put_tx(struct sk_buff *rsp,
			   const struct xsk_buff_pool *pool)
{
	if (pool->inorder && nla_put_flag(rsp, NETDEV_A_XSK_INFO_TX_INORDER))
		return -EMSGSIZE;
	return xsk_genl_put_recycle(rsp, pool);
}

/**
 * xsk_genl_put() - put the attributes of the nest xsk of a queue
 * @rsp: the message
 * @pool: pool of the queue
 * @type: NETDEV_QUEUE_TYPE_*
 *
 * Context: RTNL, under which the pool stays at its queue
 * Return: 0; -EMSGSIZE if the message has no room
 */
int xsk_genl_put(struct sk_buff *rsp, const struct xsk_buff_pool *pool,
		 u32 type)
{
	ASSERT_RTNL();

	if (xsk_genl_put_mode(rsp, pool))
		return -EMSGSIZE;
	if (type == NETDEV_QUEUE_TYPE_RX)
		return xsk_genl_put_attach(rsp, pool);
	return xsk_genl_put_tx(rsp, pool);
}
