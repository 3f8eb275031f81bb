// SPDX-License-Identifier: GPL-2.0
/*
 * Regular XDP programs whose packets with XDP_PASS go to sockets.
 *
 * While a device has users here, a kernel program, the wrapper, runs in place of
 * its regular program. It calls the regular program, returns its action, and
 * redirects the packet to a socket if that action is XDP_PASS. So this works on
 * all drivers and replaces programs in one step, as the drivers do.
 *
 * Drivers decide by aux->xdp_has_frags which packets a program can take. There
 * is one wrapper of each kind, and each has its own pointer to the regular
 * program: what the driver does for programs without frags holds for it, also
 * while one kind replaces the other.
 *
 * Programs are swapped in three steps. The regular program is set for its
 * wrapper, then the driver replaces the old program, and the previous wrapper
 * loses its regular program when no poll can run it any more. A wrapper without
 * a regular program drops: no packet reaches a socket past the program.
 *
 * If the regular program is native and the sockets use generic mode, the driver
 * runs the regular program itself. What it passes reaches the generic program
 * @beside as an skb.
 *
 * Users of the device hold its built-in program as well, see xdp_builtin_get().
 * All state is protected by RTNL. @pass_state of struct xdp_builtin may be read
 * without it, and polls read @inner under RCU.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <net/xdp_builtin.h>

#include "dev.h"
#include "xdp_builtin.h"

static struct bpf_prog *xdp_pass_wrapper(const struct net_device *dev,
					 enum bpf_xdp_mode mode,
					 const struct bpf_prog *prog)
{
	const struct xdp_builtin *b = &dev->xdp_builtin;

	/* The built-in program, which users can attach as a regular one, too,
	 * redirects itself.
	 */
	if (!prog || prog == b->prog || !b->pass_users)
		return NULL;
	/* Native mode is safe where the users chose it */
	if (mode == XDP_MODE_DRV && b->mode != XDP_MODE_DRV)
		return NULL;
	return b->pass->wrapper[mode][prog->aux->xdp_has_frags];
}

/* Pairs with rcu_dereference() in the wrapper. The device has a reference of its
 * own, because a driver may fail to detach the wrapper.
 */
static void xdp_pass_set_inner(struct net_device *dev, bool frags,
			       struct bpf_prog *prog)
{
	struct bpf_prog *old;

	if (prog)
		bpf_prog_inc(prog);
	old = rcu_replace_pointer_rtnl(dev->xdp_builtin.inner[frags], prog);
	if (old)
		bpf_prog_put(old);
}

static void xdp_pass_set_wrapper(struct net_device *dev, enum bpf_xdp_mode mode,
				 struct bpf_prog *wrapper)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	enum xdp_pass_state state = XDP_PASS_NONE;

	if (wrapper)
		state = mode == XDP_MODE_DRV ? XDP_PASS_DRV : XDP_PASS_SKB;
	b->wrapper = wrapper;
	WRITE_ONCE(b->pass_state, state);
}

/* Have the driver run @wrapper, or @prog without one. The entry of the regular
 * program in the XDP dispatcher stays: the wrapper calls it through that.
 */
static int xdp_pass_replace(struct net_device *dev, enum bpf_xdp_mode mode,
			    struct netlink_ext_ack *extack, u32 flags,
			    struct bpf_prog *old, struct bpf_prog *prog,
			    struct bpf_prog *wrapper)
{
	struct bpf_prog *prev = dev->xdp_builtin.wrapper;
	int err;

	if (wrapper) {
		xdp_pass_set_inner(dev, wrapper->aux->xdp_has_frags, prog);
		bpf_prog_change_xdp(NULL, prog);
	}

	err = __dev_xdp_install(dev, mode, dev_xdp_bpf_op(dev, mode), extack,
				flags, prev ?: old, wrapper ?: prog);
	if (err && wrapper) {
		bpf_prog_change_xdp(prog, NULL);
		xdp_pass_set_inner(dev, wrapper->aux->xdp_has_frags, NULL);
	}
	if (err)
		return err;

	if (wrapper || prev)
		xdp_pass_set_wrapper(dev, mode, wrapper);
	if (prev) {
		bpf_prog_change_xdp(old, NULL);
		/* Polls may still run the previous wrapper */
		synchronize_net();
		xdp_pass_set_inner(dev, prev->aux->xdp_has_frags, NULL);
	}
	return 0;
}

static int xdp_pass_try(struct net_device *dev, enum bpf_xdp_mode mode,
			struct netlink_ext_ack *extack, u32 flags,
			struct bpf_prog *old, struct bpf_prog *prog,
			struct bpf_prog *wrapper)
{
	/* The driver is not involved: this cannot fail */
	if (wrapper && wrapper == dev->xdp_builtin.wrapper) {
		xdp_pass_set_inner(dev, wrapper->aux->xdp_has_frags, prog);
		bpf_prog_change_xdp(old, prog);
		return 0;
	}

	return xdp_pass_replace(dev, mode, extack, flags, old, prog, wrapper);
}

/**
 * xdp_pass_install() - have a device run a regular program, or none
 * @dev: the device
 * @mode: generic or native mode
 * @extack: message of the driver, may be NULL
 * @flags: XDP_FLAGS_* of the request
 * @old: the current program in that mode, regular or built-in, or NULL
 * @prog: the new program, regular or built-in, or NULL
 *
 * If there are users, the wrapper runs in place of a regular program. A regular
 * program that the driver accepts is not refused because of the wrapper.
 *
 * Context: RTNL
 * Return: 0, or the driver's error
 */
int xdp_pass_install(struct net_device *dev, enum bpf_xdp_mode mode,
		     struct netlink_ext_ack *extack, u32 flags,
		     struct bpf_prog *old, struct bpf_prog *prog)
{
	struct bpf_prog *wrapper = xdp_pass_wrapper(dev, mode, prog);
	int err;

	err = xdp_pass_try(dev, mode, extack, flags, old, prog, wrapper);
	if (err && wrapper)
		err = xdp_pass_try(dev, mode, extack, flags, old, prog, NULL);
	return err;
}

/**
 * xdp_pass_lost() - account for a driver that runs another program now
 * @dev: the device; a program that is not in dev->xdp_state replaced the native
 *	regular one
 *
 * Context: RTNL
 */
void xdp_pass_lost(struct net_device *dev)
{
	struct bpf_prog *wrapper = dev->xdp_builtin.wrapper;

	if (!wrapper || dev->xdp_builtin.pass_state != XDP_PASS_DRV)
		return;

	xdp_pass_set_wrapper(dev, XDP_MODE_DRV, NULL);
	bpf_prog_change_xdp(wrapper, NULL);
	synchronize_net();
	xdp_pass_set_inner(dev, wrapper->aux->xdp_has_frags, NULL);
}

/**
 * xdp_pass_may_stand_beside() - check how to treat a native regular program
 * @dev: the device
 * @mode: mode of the regular program
 *
 * Context: RTNL
 * Return: true if what it passes goes to users in generic mode
 */
bool xdp_pass_may_stand_beside(const struct net_device *dev,
			       enum bpf_xdp_mode mode)
{
	const struct xdp_builtin *b = &dev->xdp_builtin;

	return mode == XDP_MODE_DRV && b->mode == XDP_MODE_SKB && b->pass_users;
}

/**
 * xdp_pass_stand_beside() - install the program after a native regular one
 * @dev: the device
 * @old: the current program in generic mode: the built-in one, or NULL
 *
 * Context: RTNL
 * Return: 0, or an error
 */
int xdp_pass_stand_beside(struct net_device *dev, struct bpf_prog *old)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	err = __dev_xdp_install(dev, XDP_MODE_SKB,
				dev_xdp_bpf_op(dev, XDP_MODE_SKB), NULL,
				XDP_FLAGS_SKB_MODE, old, b->pass->beside);
	if (err)
		return err;

	b->beside = true;
	WRITE_ONCE(b->pass_state, XDP_PASS_SKB);
	return 0;
}

/**
 * xdp_pass_step_aside() - remove the program after a native regular one
 * @dev: the device
 * @prog: the next program in generic mode: the built-in one, or NULL
 *
 * Context: RTNL
 * Return: 0, or an error
 */
int xdp_pass_step_aside(struct net_device *dev, struct bpf_prog *prog)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	err = __dev_xdp_install(dev, XDP_MODE_SKB,
				dev_xdp_bpf_op(dev, XDP_MODE_SKB), NULL,
				XDP_FLAGS_SKB_MODE, b->pass->beside, prog);
	if (err)
		return err;

	b->beside = false;
	WRITE_ONCE(b->pass_state, XDP_PASS_NONE);
	return 0;
}

/* Wrap or unwrap the regular program, when the first user is added or the last
 * one removed
 */
static int xdp_pass_apply(struct net_device *dev, enum bpf_xdp_mode mode,
			  struct netlink_ext_ack *extack)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	struct bpf_prog *prog = dev_xdp_prog(dev, mode);
	struct bpf_prog *wrapper = xdp_pass_wrapper(dev, mode, prog);

	if (!prog)
		return 0;
	if (xdp_pass_may_stand_beside(dev, mode))
		return b->beside ? 0 : xdp_pass_stand_beside(dev, NULL);
	if (b->beside)
		return xdp_pass_step_aside(dev, NULL);
	if (wrapper == b->wrapper)
		return 0;
	return xdp_pass_try(dev, mode, extack, xdp_builtin_flags(mode), prog,
			    prog, wrapper);
}

/* A device has a regular program in one of the modes only */
static int xdp_pass_update(struct net_device *dev,
			   struct netlink_ext_ack *extack)
{
	return xdp_pass_apply(dev, XDP_MODE_DRV, extack) ?:
	       xdp_pass_apply(dev, XDP_MODE_SKB, extack);
}

/**
 * xdp_pass_get() - add a user of what regular programs pass
 * @dev: the device; the user holds its built-in program
 * @progs: the programs, the same for all users
 * @extack: message of the driver
 *
 * Context: RTNL
 * Return: 0, or the driver's error if it refuses to replace the regular program
 */
int xdp_pass_get(struct net_device *dev, const struct xdp_pass_progs *progs,
		 struct netlink_ext_ack *extack)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	ASSERT_RTNL();

	b->pass = progs;
	b->pass_users++;
	err = xdp_pass_update(dev, extack);
	if (err)
		b->pass_users--;
	return err;
}

/**
 * xdp_pass_put() - remove a user that xdp_pass_get() added
 * @dev: the device, whose built-in program the user still holds
 *
 * If the driver refuses to run the regular program itself, the wrapper still
 * runs it, with the same result, until the next change.
 *
 * Context: RTNL
 */
void xdp_pass_put(struct net_device *dev)
{
	struct netlink_ext_ack extack = {};
	int err;

	ASSERT_RTNL();

	if (--dev->xdp_builtin.pass_users)
		return;

	err = xdp_pass_update(dev, &extack);
	if (err && net_ratelimit())
		netdev_warn(dev, "Failed to detach a program of AF_XDP (%d): %s\n",
			    err, extack._msg ?: "no reason given");
}
