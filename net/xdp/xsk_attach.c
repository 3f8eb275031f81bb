// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_ATTACH: a socket on a queue, without an XDP program and an XSKMAP.
 *
 * dev->_rx[queue].xsk is the slot of a queue. bind() reserves it by holding
 * the RTNL from the check to the store, and has the built-in program of
 * xsk_builtin.c run on the device, which sends the frames of a queue to the
 * socket in its slot.
 *
 * Teardown: empty the slot, wait for the polls that may have seen the socket
 * there (synchronize_net() in xsk_unbind_dev()), take the pool from the driver
 * if the queue is zero-copy, and only then remove the program and free rings
 * and pool. A driver may have set up the queue for the program.
 *
 * Lock order: RTNL, xs->mutex.
 */
#include <linux/capability.h>
#include <linux/if_xdp.h>
#include <linux/net.h>
#include <net/netdev_rx_queue.h>
#include <net/xdp_builtin.h>
#include <net/xdp_sock_drv.h>

#include "xsk_attach.h"

#define XDP_ATTACH_F_MODES	(XDP_ATTACH_F_SKB_MODE | XDP_ATTACH_F_DRV_MODE)
#define XDP_ATTACH_F_ALL	(XDP_ATTACH_F_MODES | XDP_ATTACH_F_FORCE)

static const char * const xsk_attach_reasons[] = {
	[XDP_ATTACH_R_NONE]		= "no reason",
	[XDP_ATTACH_R_CAPABILITY]	= "CAP_NET_ADMIN is missing",
	[XDP_ATTACH_R_NO_QUEUE]		= "the device has no such Rx queue",
	[XDP_ATTACH_R_QUEUE_BUSY]	= "another socket is attached",
	[XDP_ATTACH_R_NO_NATIVE]	= "the driver cannot redirect in NAPI",
	[XDP_ATTACH_R_DRIVER]		= "the driver refused the program",
	[XDP_ATTACH_R_MODE_CONFLICT]	= "another socket holds the other mode",
	[XDP_ATTACH_R_UPPER]		= "an upper device runs a program",
	[XDP_ATTACH_R_REGULAR]		= "a regular program runs",
	[XDP_ATTACH_R_ZC_GENERIC]	= "no zero-copy in generic mode",
	[XDP_ATTACH_R_BUILTIN]		= "no built-in program",
	[XDP_ATTACH_R_DEVICE_BUSY]	= "device memory is bound to a queue",
	[XDP_ATTACH_R_PEER]		= "its peer is in another namespace",
};

static int xsk_attach_refuse(struct xdp_sock *xs,
			     const struct net_device *dev, u32 reason,
			     const struct netlink_ext_ack *extack, int err)
{
	const char *why = extack ? extack->_msg : NULL;

	xs->attach.reason = reason;
	/* The log is not for those without any power over the device */
	if (reason != XDP_ATTACH_R_CAPABILITY && net_ratelimit())
		netdev_info(dev, "AF_XDP socket not attached: %s%s%s\n",
			    xsk_attach_reasons[reason], why ? ": " : "",
			    why ?: "");
	return err;
}

/**
 * xsk_attach_choose() - choose the mode of the built-in program
 * @flags: XDP_ATTACH_F_*
 * @zerocopy: the socket insists on zero-copy
 * @obstacle: XDP_ATTACH_R_*: why native mode cannot be had, or
 *	XDP_ATTACH_R_NONE
 * @held: what the device's built-in level is at now
 * @choice: the result; its reason says why there is none, or what was
 *	fallen back from
 *
 * Return: 0; -EOPNOTSUPP, -EPERM or -EEXIST if what is asked for cannot be had.
 */
int xsk_attach_choose(u32 flags, bool zerocopy, u32 obstacle,
		      const struct xdp_builtin *held,
		      struct xsk_attach_choice *choice)
{
	bool skb = flags & XDP_ATTACH_F_SKB_MODE;
	bool drv = (flags & XDP_ATTACH_F_DRV_MODE) || zerocopy ||
		   (!skb && (flags & XDP_ATTACH_F_FORCE));

	if (skb && zerocopy) {
		choice->reason = XDP_ATTACH_R_ZC_GENERIC;
		return -EOPNOTSUPP;
	}
	choice->reason = skb ? XDP_ATTACH_R_NONE : obstacle;
	if (drv && obstacle)
		return obstacle == XDP_ATTACH_R_PEER ? -EPERM : -EOPNOTSUPP;

	choice->mode = skb || obstacle ? XDP_MODE_SKB : XDP_MODE_DRV;
	choice->fallback = !skb && !drv;
	if (!held->users || held->mode == choice->mode)
		return 0;

	if (!choice->fallback) {
		choice->reason = XDP_ATTACH_R_MODE_CONFLICT;
		return -EEXIST;
	}
	choice->mode = held->mode;
	choice->reason = XDP_ATTACH_R_MODE_CONFLICT;
	return 0;
}

/**
 * xsk_attach_native() - check whether native mode is safe on a device
 * @dev: the device
 *
 * Rings and pool of a socket have no lock in native mode: one context at a time
 * may receive from a queue, its NAPI poll. A driver for which that is so says
 * it by @xdp_napi of its device, and so that it redirects frames in copy mode.
 * It is not so, for instance, where XDP runs in the context of whoever writes
 * to a character device, where several NAPIs receive from a queue, or where a
 * device shows the frames of others as its own, with their queue numbers.
 *
 * Return: true if the driver redirects frames and runs XDP in the queue's NAPI
 */
static bool xsk_attach_native(const struct net_device *dev)
{
	const xdp_features_t needed = NETDEV_XDP_ACT_BASIC |
				      NETDEV_XDP_ACT_REDIRECT;

	return dev->xdp_napi && (dev->xdp_features & needed) == needed;
}

/* A program in native mode can change features and the largest MTU of the
 * peer device, as on veth.
 */
static bool xsk_attach_may_change_peer(struct net_device *dev)
{
	struct net_device *peer = NULL;
	bool may;

	rcu_read_lock();
	if (dev->netdev_ops->ndo_get_peer_dev)
		peer = dev->netdev_ops->ndo_get_peer_dev(dev);
	may = !peer || net_eq(dev_net(peer), dev_net(dev)) ||
		ns_capable(dev_net(peer)->user_ns, CAP_NET_ADMIN);
	rcu_read_unlock();
	return may;
}

static u32 xsk_attach_obstacle(struct net_device *dev)
{
	if (!xsk_attach_native(dev))
		return XDP_ATTACH_R_NO_NATIVE;
	if (!xsk_attach_may_change_peer(dev))
		return XDP_ATTACH_R_PEER;
	return XDP_ATTACH_R_NONE;
}

/* A propagated program is recorded at the port, from any level above */
static bool xsk_attach_upper_runs(struct net_device *dev)
{
	struct net_device *upper;
	struct list_head *iter;

	if (dev->xdp_builtin.propagated)
		return true;

	netdev_for_each_upper_dev_rcu(dev, upper, iter) {
		if (xdp_builtin_regular(upper))
			return true;
	}
	return false;
}

/* Only closed sockets still hold the program, until their pools are released */
static bool xsk_attach_being_released(struct net_device *dev)
{
	u32 queues = max(dev->real_num_rx_queues, dev->real_num_tx_queues);
	const struct xsk_buff_pool *pool;
	u32 i, held = 0;

	for (i = 0; i < queues; i++) {
		pool = xsk_get_pool_from_qid(dev, i);
		held += pool ? pool->attach_held : 0;
	}
	return held == dev->xdp_builtin.users;
}

static int xsk_attach_pick(struct xdp_sock *xs, struct net_device *dev,
			   bool zerocopy, struct xsk_attach_choice *choice)
{
	int err;

	err = xsk_attach_choose(xs->attach.flags, zerocopy,
				xsk_attach_obstacle(dev), &dev->xdp_builtin,
				choice);
	/* As for a queue whose pool is being released */
	if (err == -EEXIST && xsk_attach_being_released(dev))
		err = -EBUSY;
	if (err)
		return xsk_attach_refuse(xs, dev, choice->reason, NULL, err);
	return 0;
}

/**
 * xsk_attach_check() - check whether a socket may be attached
 * @xs: the socket
 * @dev: the device to bind to
 * @qid: the queue to bind to
 * @bind_flags: flags of bind()
 *
 * Does nothing for a socket that did not ask for it.
 *
 * Context: RTNL and the socket's mutex
 * Return: 0, or an error that if_xdp_fastpath.h lists.
 */
int xsk_attach_check(struct xdp_sock *xs, struct net_device *dev, u32 qid,
		     u32 bind_flags)
{
	struct xsk_attach_choice choice;

	xs->attach.reason = XDP_ATTACH_R_NONE;
	if (!xs->attach.requested)
		return 0;
	if (!ns_capable(dev_net(dev)->user_ns, CAP_NET_ADMIN))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_CAPABILITY, NULL,
					 -EPERM);
	if (xs->rx && qid >= dev->real_num_rx_queues)
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_NO_QUEUE, NULL,
					 -ERANGE);
	if (xs->rx && rtnl_dereference(dev->_rx[qid].xsk))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_QUEUE_BUSY, NULL,
					 -EBUSY);
	if (dev_get_min_mp_channel_count(dev))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_DEVICE_BUSY,
					 NULL, -EBUSY);
	if (xsk_attach_upper_runs(dev))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_UPPER, NULL,
					 -EEXIST);
	if ((xs->attach.flags & XDP_ATTACH_F_FORCE) && xdp_builtin_regular(dev))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_REGULAR, NULL,
					 -EEXIST);
	return xsk_attach_pick(xs, dev, bind_flags & XDP_ZEROCOPY, &choice);
}

/* Take a use of the built-in program on the device, in the best mode */
static int xsk_attach_hold(struct xdp_sock *xs, struct net_device *dev,
			   struct bpf_prog *prog,
			   const struct xsk_attach_choice *choice)
{
	struct netlink_ext_ack extack = {};
	int err;

	err = xdp_builtin_get(dev, prog, choice->mode, choice->fallback,
			      &extack);
	if (!err)
		return 0;

	if (choice->fallback && choice->mode != XDP_MODE_SKB) {
		xs->attach.reason = XDP_ATTACH_R_DRIVER;
		memset(&extack, 0, sizeof(extack));
		err = xdp_builtin_get(dev, prog, XDP_MODE_SKB, true, &extack);
		if (!err)
			return 0;
	}

	return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_DRIVER, &extack, err);
}

/**
 * xsk_attach_prepare() - have the built-in program run, for bind()
 * @xs: the socket
 * @dev: the device to bind to
 * @bind_flags: flags of bind(); generic mode adds XDP_COPY
 * @umem: the umem
 *
 * Does nothing for a socket that did not ask for it. bind() calls it when
 * nothing but the driver can make it fail any more: a NIC may lose its link for
 * seconds when a program comes or goes.
 *
 * Context: RTNL and the socket's mutex
 * Return: 0, or an error that if_xdp_fastpath.h lists.
 */
int xsk_attach_prepare(struct xdp_sock *xs, struct net_device *dev,
		       u32 *bind_flags, const struct xdp_umem *umem)
{
	bool zerocopy = umem->zc || (*bind_flags & XDP_ZEROCOPY);
	struct xsk_attach_choice choice;
	struct bpf_prog *prog;
	int err;

	if (!xs->attach.requested)
		return 0;

	err = xsk_attach_pick(xs, dev, zerocopy, &choice);
	if (err)
		return err;

	prog = xsk_builtin_get();
	if (IS_ERR(prog))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_BUILTIN, NULL,
					 PTR_ERR(prog));

	xs->attach.reason = choice.reason;
	err = xsk_attach_hold(xs, dev, prog, &choice);
	if (err)
		return err;

	xs->attach.held = true;
	xs->attach.fallback = choice.fallback;
	if (xdp_builtin_regular(dev))
		xs->attach.reason = XDP_ATTACH_R_REGULAR;
	/* Sockets that share a umem say nothing of copy or zero-copy */
	if (dev->xdp_builtin.mode == XDP_MODE_SKB &&
	    !(*bind_flags & XDP_SHARED_UMEM))
		*bind_flags |= XDP_COPY;
	return 0;
}

/**
 * xsk_attach_publish() - let the frames of the queue reach a bound socket
 * @xs: the socket
 *
 * Context: RTNL and the socket's mutex
 */
void xsk_attach_publish(struct xdp_sock *xs)
{
	if (!xs->attach.held)
		return;

	/* The frames of a zero-copy queue never pass generic XDP */
	if (xs->zc && xs->attach.fallback) {
		xs->attach.fallback = false;
		xdp_builtin_pin(xs->dev);
	}
	/* Nobody had to be privileged to have frames sent here */
	WRITE_ONCE(xs->pool->rx_claim, true);
	if (xs->rx)
		rcu_assign_pointer(xs->dev->_rx[xs->queue_id].xsk, xs);
}

/**
 * xsk_attach_cancel() - undo xsk_attach_prepare()
 * @xs: the socket
 * @dev: the device that it was to be bound to
 *
 * Context: RTNL and the socket's mutex
 */
void xsk_attach_cancel(struct xdp_sock *xs, struct net_device *dev)
{
	if (!xs->attach.held)
		return;

	/* Something else made bind() fail */
	xs->attach.reason = XDP_ATTACH_R_NONE;
	xs->attach.held = false;
	xdp_builtin_put(dev, xs->attach.fallback);
}

/**
 * xsk_detach() - take a socket off its queue
 * @xs: the socket
 *
 * The caller waits for the polls that still see it, with synchronize_net().
 * While the driver has the pool, the program stays for that.
 *
 * Context: RTNL and the socket's mutex
 */
void xsk_detach(struct xdp_sock *xs)
{
	if (!xs->attach.held)
		return;

	if (xs->rx)
		RCU_INIT_POINTER(xs->dev->_rx[xs->queue_id].xsk, NULL);
	if (!xs->zc || !xs->pool->netdev) {
		xsk_attach_cancel(xs, xs->dev);
		return;
	}

	xs->attach.held = false;
	xs->pool->attach_held++;
}

/**
 * xsk_attach_release() - remove the program that a pool still needed
 * @pool: the pool, which the driver does not have any more
 *
 * Context: RTNL
 */
void xsk_attach_release(struct xsk_buff_pool *pool)
{
	/* Pinned, see xsk_attach_publish() */
	for (; pool->attach_held; pool->attach_held--)
		xdp_builtin_put(pool->netdev, false);
}

static void xsk_attach_query_dev(const struct net_device *dev,
				 struct xdp_attach *attach)
{
	const struct xdp_builtin *b = &dev->xdp_builtin;

	/* Without the RTNL, which sock_diag cannot take here: one word tells
	 * the state, so that any answer was true at some time.
	 */
	attach->flags &= ~XDP_ATTACH_F_MODES;
	attach->flags |= READ_ONCE(b->mode) == XDP_MODE_SKB ?
			 XDP_ATTACH_F_SKB_MODE : XDP_ATTACH_F_DRV_MODE;
	attach->prog_id = READ_ONCE(b->active_id);
	if (!attach->prog_id)
		attach->state = XDP_ATTACH_S_STALLED;
	else if (attach->prog_id == xsk_builtin_id())
		attach->state = XDP_ATTACH_S_ACTIVE;
	else
		attach->state = XDP_ATTACH_S_SHADOWED;
}

/**
 * xsk_attach_query() - tell what became of XDP_ATTACH
 * @xs: the socket
 * @attach: the answer
 *
 * Context: the socket's mutex
 */
void xsk_attach_query(struct xdp_sock *xs, struct xdp_attach *attach)
{
	memset(attach, 0, sizeof(*attach));
	if (!xs->attach.requested)
		return;

	attach->flags = xs->attach.flags;
	attach->reason = xs->attach.reason;
	if (xs->attach.held)
		xsk_attach_query_dev(xs->dev, attach);
	else if (xs->state == XSK_READY)
		attach->state = XDP_ATTACH_S_REQUESTED;
	else
		attach->state = XDP_ATTACH_S_DETACHED;
}
EXPORT_SYMBOL_GPL(xsk_attach_query);

/**
 * xsk_attach_setsockopt() - ask for a socket to be attached by bind()
 * @xs: the socket
 * @optval: struct xdp_attach
 * @optlen: its size
 *
 * Return: 0; -EINVAL for another size, unknown flags or what the kernel
 * fills in; -EBUSY after bind(); -EFAULT.
 */
int xsk_attach_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			  unsigned int optlen)
{
	struct xdp_attach attach;
	int err = 0;

	if (optlen != sizeof(attach))
		return -EINVAL;
	if (copy_from_sockptr(&attach, optval, sizeof(attach)))
		return -EFAULT;
	if (attach.flags & ~XDP_ATTACH_F_ALL ||
	    (attach.flags & XDP_ATTACH_F_MODES) == XDP_ATTACH_F_MODES ||
	    attach.state || attach.prog_id || attach.reason)
		return -EINVAL;

	mutex_lock(&xs->mutex);
	if (xs->state == XSK_READY) {
		xs->attach.requested = true;
		xs->attach.flags = attach.flags;
	} else {
		err = -EBUSY;
	}
	mutex_unlock(&xs->mutex);
	return err;
}

/**
 * xsk_attach_getsockopt() - features of the kernel, state of the attachment
 * @xs: the socket
 * @optname: XDP_FASTPATH_FEATURES or XDP_ATTACH
 * @optval: room for the answer
 * @optlen: where to put its size
 * @len: the size of the room
 *
 * Return: 0; -EINVAL if there is too little room; -EFAULT.
 */
int xsk_attach_getsockopt(struct xdp_sock *xs, int optname,
			  char __user *optval, int __user *optlen, int len)
{
	struct xdp_attach attach;
	u64 features = XDP_FASTPATH_F_ATTACH |
		       XDP_FASTPATH_F_INORDER |
		       XDP_FASTPATH_F_RECYCLE;
	const void *answer = &features;
	int size = sizeof(features);

	if (optname == XDP_ATTACH) {
		mutex_lock(&xs->mutex);
		xsk_attach_query(xs, &attach);
		mutex_unlock(&xs->mutex);
		answer = &attach;
		size = sizeof(attach);
	}

	if (len < size)
		return -EINVAL;
	if (copy_to_user(optval, answer, size) || put_user(size, optlen))
		return -EFAULT;
	return 0;
}
