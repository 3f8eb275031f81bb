// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_ATTACH: a socket on a queue, without an XDP program and an XSKMAP.
 *
 * dev->_rx[queue].xsk is the slot of a queue. bind() reserves it by holding
 * the RTNL from the check to the store, and has the built-in program of
 * xsk_builtin.c run on the device, which sends the frames of a queue to the
 * socket in its slot.
 *
 * Teardown goes the other way: empty the slot, remove the program, wait for
 * the polls that may have seen either (synchronize_net() in
 * xsk_unbind_dev()), and only then let go of rings and pool.
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
	[XDP_ATTACH_R_NO_NATIVE]	= "the driver has no XDP",
	[XDP_ATTACH_R_DRIVER]		= "the driver refused the program",
	[XDP_ATTACH_R_MODE_CONFLICT]	= "another socket holds the other mode",
	[XDP_ATTACH_R_UPPER]		= "an upper device runs a program",
	[XDP_ATTACH_R_REGULAR]		= "a regular program runs",
	[XDP_ATTACH_R_ZC_GENERIC]	= "no zero-copy in generic mode",
	[XDP_ATTACH_R_BUILTIN]		= "no built-in program",
	[XDP_ATTACH_R_DEVICE_BUSY]	= "device memory is bound to a queue",
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
 * @native: the driver has native XDP
 * @held: what the device's built-in level is at now
 * @choice: the result; its reason says why there is none, or what was
 *	fallen back from
 *
 * Return: 0; -EOPNOTSUPP or -EEXIST if what is asked for cannot be had.
 */
int xsk_attach_choose(u32 flags, bool zerocopy, bool native,
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
	choice->reason = skb || native ? XDP_ATTACH_R_NONE :
					 XDP_ATTACH_R_NO_NATIVE;
	if (drv && !native)
		return -EOPNOTSUPP;

	choice->mode = skb || !native ? XDP_MODE_SKB : XDP_MODE_DRV;
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

/* Frames of a bond's ports carry the queue of the port, not of the bond */
static bool xsk_attach_native(const struct net_device *dev)
{
	return dev->netdev_ops->ndo_bpf && !netif_is_bond_master(dev);
}

static bool xsk_attach_upper_runs(struct net_device *dev)
{
	struct net_device *upper;
	struct list_head *iter;

	netdev_for_each_upper_dev_rcu(dev, upper, iter) {
		if (xdp_builtin_regular(upper))
			return true;
	}
	return false;
}

static int xsk_attach_check(struct xdp_sock *xs, struct net_device *dev,
			    u32 qid)
{
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
	return 0;
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
 * @qid: the queue to bind to
 * @bind_flags: flags of bind(); generic mode adds XDP_COPY
 *
 * Does nothing for a socket that did not ask for it. What can fail about
 * attaching fails here, before the pool is made.
 *
 * Context: RTNL and the socket's mutex
 * Return: 0, or an error that if_xdp_fastpath.h lists.
 */
int xsk_attach_prepare(struct xdp_sock *xs, struct net_device *dev, u32 qid,
		       u32 *bind_flags)
{
	struct xsk_attach_choice choice;
	struct bpf_prog *prog;
	int err;

	if (!xs->attach.requested)
		return 0;

	err = xsk_attach_check(xs, dev, qid);
	if (err)
		return err;

	err = xsk_attach_choose(xs->attach.flags, *bind_flags & XDP_ZEROCOPY,
				xsk_attach_native(dev), &dev->xdp_builtin,
				&choice);
	if (err)
		return xsk_attach_refuse(xs, dev, choice.reason, NULL, err);

	prog = xsk_builtin_get();
	if (IS_ERR(prog))
		return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_BUILTIN, NULL,
					 PTR_ERR(prog));

	xs->attach.reason = choice.reason;
	err = xsk_attach_hold(xs, dev, prog, &choice);
	if (err) {
		xsk_builtin_put();
		return err;
	}

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
 * xsk_attach_check_umem() - check the umem that a socket is to share
 * @xs: the socket
 * @dev: the device to bind to
 * @umem: the umem of another socket
 *
 * Context: RTNL and the socket's mutex
 * Return: 0; -EOPNOTSUPP if the umem is zero-copy and the device is held in
 * generic mode.
 */
int xsk_attach_check_umem(struct xdp_sock *xs, const struct net_device *dev,
			  const struct xdp_umem *umem)
{
	if (!xs->attach.held || !umem->zc ||
	    dev->xdp_builtin.mode != XDP_MODE_SKB)
		return 0;

	return xsk_attach_refuse(xs, dev, XDP_ATTACH_R_ZC_GENERIC, NULL,
				 -EOPNOTSUPP);
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

	/* Something else made bind() fail, or xsk_attach_check_umem() did */
	if (xs->attach.reason != XDP_ATTACH_R_ZC_GENERIC)
		xs->attach.reason = XDP_ATTACH_R_NONE;
	xs->attach.held = false;
	xdp_builtin_put(dev, xs->attach.fallback);
	xsk_builtin_put();
}

/**
 * xsk_detach() - take a socket off its queue
 * @xs: the socket
 *
 * The caller waits for the polls that still see it, with synchronize_net().
 *
 * Context: RTNL and the socket's mutex
 */
void xsk_detach(struct xdp_sock *xs)
{
	if (xs->attach.held && xs->rx)
		RCU_INIT_POINTER(xs->dev->_rx[xs->queue_id].xsk, NULL);
	xsk_attach_cancel(xs, xs->dev);
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
