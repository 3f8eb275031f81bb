// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_ATTACH: a socket on a queue, without an XDP program and an XSKMAP.
 *
 * dev->_rx[queue].xsk is the slot of a queue. bind() reserves it by holding
 * the RTNL from the check to the store, and has the built-in program of
 * xsk_builtin.c run on the device, which sends the frames of a queue to the
 * socket in its slot. With XDP_ATTACH_F_PASS, the programs of xsk_pass.c send
 * it the frames that a regular program passes.
 *
 * Teardown: empty the slot, wait for the polls that may have seen the socket
 * there (synchronize_net() in xsk_unbind_dev(), or in xsk_attach_off() if the
 * socket stays bound), take the pool from the driver
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
#include "xsk_option.h"
#include "xsk_recycle.h"

#define XDP_ATTACH_F_MODES	(XDP_ATTACH_F_SKB_MODE | XDP_ATTACH_F_DRV_MODE)
#define XDP_ATTACH_F_ALL	(XDP_ATTACH_F_MODES | \
				 XDP_ATTACH_F_IF_NOEXIST | XDP_ATTACH_F_PASS)

static const char * const xsk_attach_reasons[] = {
	[XDP_ATTACH_R_NONE]		= "no reason",
	[XDP_ATTACH_R_CAPABILITY]	= "CAP_NET_ADMIN is missing",
	[XDP_ATTACH_R_NO_QUEUE]		= "the device has no such Rx queue",
	[XDP_ATTACH_R_QUEUE_BUSY]	= "another socket is attached",
	[XDP_ATTACH_R_NO_NATIVE]	= "the driver does not declare safe native mode",
	[XDP_ATTACH_R_DRIVER]		= "the driver refused the program",
	[XDP_ATTACH_R_MODE_CONFLICT]	= "another socket holds the other mode",
	[XDP_ATTACH_R_UPPER]		= "an upper device runs a program",
	[XDP_ATTACH_R_REGULAR]		= "a regular program runs",
	[XDP_ATTACH_R_ZC_GENERIC]	= "no zero-copy in generic mode",
	[XDP_ATTACH_R_BUILTIN]		= "no built-in program",
	[XDP_ATTACH_R_DEVICE_BUSY]	= "device memory is bound to a queue",
	[XDP_ATTACH_R_PEER]		= "its peer is in another namespace",
};

static int xsk_attach_refuse(struct xdp_sock *xs, u32 reason, int err)
{
	xs->attach.reason = reason;
	return err;
}

/* The log is the host's: a user namespace can have any number of devices */
static bool xsk_attach_may_log(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN) &&
	       net_ratelimit();
}

static void xsk_attach_log(struct xdp_sock *xs, const struct net_device *dev,
			   u32 qid, const struct netlink_ext_ack *extack)
{
	u32 reason = xs->attach.reason;
	const char *why = extack ? extack->_msg : NULL;

	/* Once, also where a library repeats bind() */
	if (reason == xs->attach.logged || !xsk_attach_may_log())
		return;

	xs->attach.logged = reason;
	netdev_info(dev, "AF_XDP socket not attached to queue %u: %s%s%s\n",
		    qid, xsk_attach_reasons[reason], why ? ": " : "",
		    why ?: "");
}

/**
 * xsk_attach_choose() - choose the mode of the built-in program
 * @flags: XDP_ATTACH_F_*
 * @zerocopy: the socket insists on zero-copy
 * @obstacle: XDP_ATTACH_R_*: why native mode cannot be had, or
 *	XDP_ATTACH_R_NONE
 * @held: the built-in level of the device
 * @choice: the result; its reason is that of the failure or of the fallback
 *
 * Return: 0; -EOPNOTSUPP, -EPERM or -EEXIST if the request cannot be met.
 */
int xsk_attach_choose(u32 flags, bool zerocopy, u32 obstacle,
		      const struct xdp_builtin *held,
		      struct xsk_attach_choice *choice)
{
	bool skb = flags & XDP_ATTACH_F_SKB_MODE;
	bool drv = (flags & XDP_ATTACH_F_DRV_MODE) || zerocopy;

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
	if (!xdp_builtin_native(dev))
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
		if (pool && xp_is_closed(pool))
			held += pool->attach_held;
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
	/* As for a queue whose pool is being released: bind() waits */
	if (err == -EEXIST && xsk_attach_being_released(dev))
		err = -EBUSY;
	if (err)
		return xsk_attach_refuse(xs, choice->reason, err);
	return 0;
}

static int xsk_attach_check_dev(struct xdp_sock *xs, struct net_device *dev,
				u32 qid)
{
	if (!ns_capable(dev_net(dev)->user_ns, CAP_NET_ADMIN))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_CAPABILITY, -EPERM);
	if (xs->rx && qid >= dev->real_num_rx_queues)
		return xsk_attach_refuse(xs, XDP_ATTACH_R_NO_QUEUE, -ERANGE);
	if (xs->rx && rtnl_dereference(dev->_rx[qid].xsk))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_QUEUE_BUSY, -EBUSY);
	if (dev_get_min_mp_channel_count(dev))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_DEVICE_BUSY, -EBUSY);
	if (xsk_attach_upper_runs(dev))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_UPPER, -EEXIST);
	if ((xs->attach.flags & XDP_ATTACH_F_IF_NOEXIST) &&
	    xdp_builtin_regular(dev))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_REGULAR, -EEXIST);
	return 0;
}

/**
 * xsk_attach_check() - check whether a socket may be attached
 * @xs: the socket
 * @dev: the device to bind to
 * @qid: the queue to bind to
 * @bind_flags: flags of bind()
 *
 * Does nothing for a socket without XDP_ATTACH.
 *
 * Context: RTNL and the socket's mutex
 * Return: 0, or an error that if_xdp_fastpath.h lists.
 */
int xsk_attach_check(struct xdp_sock *xs, struct net_device *dev, u32 qid,
		     u32 bind_flags)
{
	struct xsk_attach_choice choice;
	int err;

	xs->attach.reason = XDP_ATTACH_R_NONE;
	xs->attach.zc_reason = XDP_ATTACH_R_NONE;
	if (!xs->attach.requested)
		return 0;

	err = xsk_attach_check_dev(xs, dev, qid);
	if (!err)
		err = xsk_attach_pick(xs, dev, bind_flags & XDP_ZEROCOPY,
				      &choice);
	if (err && !xsk_attach_is_released(xs, err))
		xsk_attach_log(xs, dev, qid, NULL);
	return err;
}

/* Take a use of the built-in program on the device, in the best mode */
static int xsk_attach_hold(struct xdp_sock *xs, struct net_device *dev,
			   struct bpf_prog *prog,
			   const struct xsk_attach_choice *choice,
			   struct netlink_ext_ack *extack)
{
	int err;

	xs->attach.reason = choice->reason;
	err = xdp_builtin_get(dev, prog, choice->mode, choice->fallback,
			      extack);
	if (!err)
		return 0;

	xs->attach.reason = XDP_ATTACH_R_DRIVER;
	if (!choice->fallback || choice->mode == XDP_MODE_SKB)
		return err;

	memset(extack, 0, sizeof(*extack));
	return xdp_builtin_get(dev, prog, XDP_MODE_SKB, true, extack);
}

/* Receive what regular programs pass, for a socket that holds the built-in */
static int xsk_attach_hold_pass(struct xdp_sock *xs, struct net_device *dev,
				const struct xdp_pass_progs *pass,
				struct netlink_ext_ack *extack)
{
	int err;

	if (!pass)
		return 0;

	err = xdp_pass_get(dev, pass, extack);
	if (err)
		return xsk_attach_refuse(xs, XDP_ATTACH_R_DRIVER, err);

	xsk_pass_enter(dev);
	xs->attach.passes = true;
	return 0;
}

static int xsk_attach_install(struct xdp_sock *xs, struct net_device *dev,
			      bool zerocopy, struct netlink_ext_ack *extack)
{
	const struct xdp_pass_progs *pass = NULL;
	struct xsk_attach_choice choice;
	struct bpf_prog *prog;
	int err;

	err = xsk_attach_pick(xs, dev, zerocopy, &choice);
	if (err)
		return err;

	if ((xs->attach.flags & XDP_ATTACH_F_PASS) && xs->rx)
		pass = xsk_pass_progs();
	if (IS_ERR(pass))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_BUILTIN,
					 PTR_ERR(pass));

	prog = xsk_builtin_get();
	if (IS_ERR(prog))
		return xsk_attach_refuse(xs, XDP_ATTACH_R_BUILTIN,
					 PTR_ERR(prog));

	err = xsk_attach_hold(xs, dev, prog, &choice, extack);
	if (err)
		return err;

	err = xsk_attach_hold_pass(xs, dev, pass, extack);
	if (err) {
		xdp_builtin_put(dev, choice.fallback);
		return err;
	}

	xs->attach.held = true;
	xs->attach.fallback = choice.fallback;
	return 0;
}

/**
 * xsk_attach_prepare() - install the built-in program, for bind()
 * @xs: the socket
 * @dev: the device to bind to
 * @qid: the queue to bind to
 * @bind_flags: flags of bind(); generic mode adds XDP_COPY
 * @umem: the umem
 *
 * Does nothing for a socket without XDP_ATTACH. bind() calls it when only the
 * driver can still make it fail: a NIC may lose its link for seconds when a
 * program is attached or detached.
 *
 * Context: RTNL and the socket's mutex
 * Return: 0, or an error that if_xdp_fastpath.h lists.
 */
int xsk_attach_prepare(struct xdp_sock *xs, struct net_device *dev, u32 qid,
		       u32 *bind_flags, const struct xdp_umem *umem)
{
	bool zerocopy = umem->zc || (*bind_flags & XDP_ZEROCOPY);
	struct netlink_ext_ack extack = {};
	int err;

	if (!xs->attach.requested)
		return 0;

	err = xsk_attach_install(xs, dev, zerocopy, &extack);
	if (err) {
		xsk_attach_log(xs, dev, qid, &extack);
		return err;
	}

	/* Sockets that share a umem do not choose copy or zero-copy mode */
	if (dev->xdp_builtin.mode != XDP_MODE_SKB ||
	    (*bind_flags & (XDP_SHARED_UMEM | XDP_COPY)))
		return 0;
	xs->pool->zc_reason = XDP_ATTACH_R_ZC_GENERIC;
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
	/* No privilege was needed to redirect packets to this socket */
	WRITE_ONCE(xs->pool->rx_claim, true);
	if (xs->rx)
		rcu_assign_pointer(xs->dev->_rx[xs->queue_id].xsk, xs);
	if (xdp_builtin_regular(xs->dev) && !xs->dev->xdp_builtin.pass_state &&
	    xsk_attach_may_log())
		netdev_info(xs->dev, "AF_XDP socket attached to queue %u waits for XDP program %u to be detached\n",
			    xs->queue_id, xs->dev->xdp_builtin.active_id);
}

static void xsk_attach_put_pass(struct xdp_sock *xs, struct net_device *dev)
{
	if (!xs->attach.passes)
		return;

	xs->attach.passes = false;
	xdp_pass_put(dev);
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

	/* Another check failed, or the socket is closed or detached */
	xs->attach.reason = XDP_ATTACH_R_NONE;
	xs->attach.held = false;
	xsk_attach_put_pass(xs, dev);
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
	xsk_attach_put_pass(xs, xs->dev);
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

static u32 xsk_attach_state(const struct xdp_sock *xs, u32 prog_id,
			    enum xdp_pass_state pass)
{
	if (!prog_id)
		return XDP_ATTACH_S_STALLED;
	if (prog_id == xsk_builtin_id())
		return XDP_ATTACH_S_ACTIVE;
	if (!xs->attach.passes || !pass || (pass == XDP_PASS_SKB && xs->zc))
		return XDP_ATTACH_S_SHADOWED;
	return XDP_ATTACH_S_PASSED;
}

/* Why a regular program shadows a socket */
static u32 xsk_attach_shadow_reason(const struct xdp_sock *xs,
				    enum xdp_pass_state pass)
{
	if (!xs->attach.passes)
		return XDP_ATTACH_R_REGULAR;
	if (pass)
		return XDP_ATTACH_R_ZC_GENERIC;
	return READ_ONCE(xs->dev->xdp_builtin.propagated) ?
	       XDP_ATTACH_R_UPPER : XDP_ATTACH_R_DRIVER;
}

/* Why a bound socket has not, or not in full, what it asked for */
static u32 xsk_attach_bound_reason(const struct xdp_sock *xs,
				   const struct xdp_attach *attach,
				   enum xdp_pass_state pass)
{
	switch (attach->state) {
	case XDP_ATTACH_S_SHADOWED:
		return xsk_attach_shadow_reason(xs, pass);
	case XDP_ATTACH_S_PASSED:
		return xs->attach.reason;
	case XDP_ATTACH_S_STALLED:
		return XDP_ATTACH_R_DRIVER;
	}
	/* The driver refused native mode after a regular program */
	if (!xs->attach.reason && !(xs->attach.flags & XDP_ATTACH_F_SKB_MODE) &&
	    (attach->flags & XDP_ATTACH_F_SKB_MODE))
		return XDP_ATTACH_R_DRIVER;
	return xs->attach.reason;
}

static void xsk_attach_query_dev(const struct xdp_sock *xs,
				 struct xdp_attach *attach)
{
	const struct xdp_builtin *b = &xs->dev->xdp_builtin;
	enum xdp_pass_state pass = READ_ONCE(b->pass_state);
	bool skb;

	/* sock_diag cannot take the RTNL here. Except for @pass, the state
	 * depends on one word, so it was true at some time.
	 */
	attach->prog_id = READ_ONCE(b->active_id);
	attach->state = xsk_attach_state(xs, attach->prog_id, pass);
	skb = attach->state == XDP_ATTACH_S_PASSED ?
	      pass == XDP_PASS_SKB : READ_ONCE(b->mode) == XDP_MODE_SKB;
	attach->flags &= ~XDP_ATTACH_F_MODES;
	attach->flags |= skb ? XDP_ATTACH_F_SKB_MODE : XDP_ATTACH_F_DRV_MODE;
	attach->reason = xsk_attach_bound_reason(xs, attach, pass);
}

/**
 * xsk_attach_query() - get the state of XDP_ATTACH
 * @xs: the socket
 * @attach: the result
 *
 * Context: the socket's mutex; or RTNL, for a socket in the slot of a queue,
 * which changes under both only
 */
void xsk_attach_query(struct xdp_sock *xs, struct xdp_attach *attach)
{
	memset(attach, 0, sizeof(*attach));
	attach->zc_reason = xs->attach.zc_reason;
	if (!xs->attach.requested)
		return;

	attach->flags = xs->attach.flags;
	attach->reason = xs->attach.reason;
	if (xs->state == XSK_READY && !attach->reason)
		attach->reason = xs->attach.zc_reason;
	if (xs->attach.held)
		xsk_attach_query_dev(xs, attach);
	else if (xs->state == XSK_READY)
		attach->state = XDP_ATTACH_S_REQUESTED;
	else
		attach->state = XDP_ATTACH_S_DETACHED;
}
EXPORT_SYMBOL_GPL(xsk_attach_query);

static bool xsk_attach_valid(const struct xdp_attach *attach)
{
	if (attach->state || attach->prog_id || attach->reason ||
	    attach->zc_reason)
		return false;
	if (attach->flags == XDP_ATTACH_F_OFF)
		return true;
	return !(attach->flags & ~XDP_ATTACH_F_ALL) &&
	       (attach->flags & XDP_ATTACH_F_MODES) != XDP_ATTACH_F_MODES;
}

/* Withdraw a request, or set a new one */
static int xsk_attach_request(struct xdp_sock *xs, u32 flags)
{
	int err = 0;

	mutex_lock(&xs->mutex);
	if (xs->state == XSK_READY) {
		xs->attach.requested = flags != XDP_ATTACH_F_OFF;
		xs->attach.flags = flags;
		xs->attach.reason = XDP_ATTACH_R_NONE;
		xs->attach.zc_reason = XDP_ATTACH_R_NONE;
	} else {
		err = -EBUSY;
	}
	mutex_unlock(&xs->mutex);
	return err;
}

/*
 * Returns 1 if the socket is to be detached, 0 if it is already. The queue's
 * packets go to the stack then, which the owner of the file descriptor alone
 * must not decide.
 */
static int xsk_attach_check_off(const struct xdp_sock *xs)
{
	if (!xs->attach.requested)
		return -EBUSY;
	if (!xs->attach.held)
		return 0;
	if (!ns_capable(dev_net(xs->dev)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	return 1;
}

static int xsk_attach_off(struct xdp_sock *xs)
{
	bool held;
	int err;

	err = xsk_attach_request(xs, XDP_ATTACH_F_OFF);
	if (!err)
		return 0;

	mutex_lock(&xs->mutex);
	err = xsk_attach_check_off(xs);
	mutex_unlock(&xs->mutex);
	if (err <= 0)
		return err;

	rtnl_lock();
	mutex_lock(&xs->mutex);
	held = xs->attach.held;
	if (held)
		xsk_detach(xs);
	mutex_unlock(&xs->mutex);
	rtnl_unlock();
	if (held) {
		/* Polls that still see the socket, as in xsk_unbind_dev() */
		synchronize_net();
		xsk_recycle_detach(xs);
	}
	return 0;
}

/**
 * xsk_attach_setsockopt() - request or withdraw XDP_ATTACH, or detach
 * @xs: the socket
 * @optval: struct xdp_attach
 * @optlen: its size
 *
 * Return: 0; -EINVAL if @optval is too short, has unknown flags or a result
 * that is not zero; -E2BIG if it has an unknown field; -EBUSY after bind(),
 * except for XDP_ATTACH_F_OFF of a socket that was attached; -EPERM for that
 * without CAP_NET_ADMIN; -EFAULT.
 */
int xsk_attach_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			  unsigned int optlen)
{
	struct xdp_attach attach;
	int err;

	err = xsk_get_option(&attach, sizeof(attach), sizeof(attach.flags),
			     optval, optlen);
	if (err)
		return err;
	if (!xsk_attach_valid(&attach))
		return -EINVAL;

	if (attach.flags == XDP_ATTACH_F_OFF)
		return xsk_attach_off(xs);
	return xsk_attach_request(xs, attach.flags);
}

/**
 * xsk_attach_getsockopt() - get the features of the kernel or the attach state
 * @xs: the socket
 * @optname: XDP_FASTPATH_FEATURES or XDP_ATTACH
 * @optval: the user's buffer
 * @optlen: receives the number of bytes copied
 * @len: size of the buffer
 *
 * Return: 0, or -EFAULT.
 */
int xsk_attach_getsockopt(struct xdp_sock *xs, int optname,
			  char __user *optval, int __user *optlen, int len)
{
	struct xdp_attach attach;
	u64 features = XDP_FASTPATH_F_ATTACH |
		       XDP_FASTPATH_F_INORDER |
		       XDP_FASTPATH_F_RECYCLE |
		       XDP_FASTPATH_F_PASS |
		       XDP_FASTPATH_F_DROPS;

	if (optname == XDP_FASTPATH_FEATURES)
		return xsk_put_option(optval, optlen, len, &features,
				      sizeof(features));

	mutex_lock(&xs->mutex);
	xsk_attach_query(xs, &attach);
	mutex_unlock(&xs->mutex);
	return xsk_put_option(optval, optlen, len, &attach, sizeof(attach));
}
