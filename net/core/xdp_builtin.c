// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in XDP program of a device, at a level below regular programs.
 *
 * Regular programs are attached by users, through netlink or as a bpf_link, and
 * are recorded in dev->xdp_state, which this file does not change. The built-in
 * program runs while no regular program is attached: a regular program replaces
 * it, and it is reinstated when that one is detached. No request for a regular
 * program fails because of it, unless the driver refuses to detach it.
 *
 * Users attach one regular program at a time, in generic or native mode; that of
 * a master may run beside one in generic mode. The mode of the built-in program
 * is chosen by its users. Offloaded programs run on the device and are not
 * affected.
 *
 * A master such as a bond propagates its program to its ports, past
 * dev->xdp_state of the port. It is a regular program of the port here.
 *
 * All state is protected by RTNL. @mode and @active_id of struct xdp_builtin
 * may be read without it.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <net/xdp_builtin.h>

#include "dev.h"
#include "xdp_builtin.h"

/* Record the active program: built-in (@running), regular, or none */
static void xdp_builtin_set_active(struct net_device *dev,
				   const struct bpf_prog *prog, bool running)
{
	struct xdp_builtin *b = &dev->xdp_builtin;

	b->running = running;
	WRITE_ONCE(b->active_id, prog ? prog->aux->id : 0);
}

static bool xdp_builtin_wanted(const struct xdp_builtin *b)
{
	return b->prog && b->users;
}

static void xdp_builtin_drop(struct net_device *dev)
{
	bpf_prog_put(dev->xdp_builtin.prog);
	dev->xdp_builtin.prog = NULL;
	xdp_builtin_set_active(dev, NULL, false);
}

/**
 * xdp_builtin_regular() - get the regular program that shadows the built-in one
 * @dev: the device
 *
 * Context: RTNL
 * Return: the program attached in native or generic mode, or propagated by a
 * master, or NULL
 */
struct bpf_prog *xdp_builtin_regular(struct net_device *dev)
{
	return dev_xdp_prog(dev, XDP_MODE_DRV) ?:
	       dev_xdp_prog(dev, XDP_MODE_SKB) ?:
	       dev->xdp_builtin.propagated;
}

static void xdp_builtin_set_propagated(struct xdp_builtin *b,
				       struct bpf_prog *prog)
{
	struct bpf_prog *old = b->propagated;

	if (prog)
		bpf_prog_inc(prog);
	/* xsk_attach_query() reads whether there is one, without RTNL */
	WRITE_ONCE(b->propagated, prog);
	if (old)
		bpf_prog_put(old);
}

static int xdp_builtin_install(struct net_device *dev, enum bpf_xdp_mode mode,
			       struct netlink_ext_ack *extack)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	bpf_op_t bpf_op = dev_xdp_bpf_op(dev, mode);
	int err;

	if (!bpf_op)
		return -EOPNOTSUPP;

	if (b->beside && mode == XDP_MODE_SKB)
		err = xdp_pass_step_aside(dev, b->prog);
	else
		err = __dev_xdp_install(dev, mode, bpf_op, extack,
					xdp_builtin_flags(mode), NULL, b->prog);
	if (err)
		return err;

	WRITE_ONCE(b->mode, mode);
	xdp_builtin_set_active(dev, b->prog, true);
	return 0;
}

/* Some drivers refuse it, because of a setting changed in the meantime */
static int xdp_builtin_remove(struct net_device *dev,
			      struct netlink_ext_ack *extack)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	err = __dev_xdp_install(dev, b->mode, dev_xdp_bpf_op(dev, b->mode),
				extack, xdp_builtin_flags(b->mode), b->prog,
				NULL);
	if (!err)
		xdp_builtin_set_active(dev, NULL, false);
	return err;
}

/* No caller can return the error to a user, so it is logged */
static void xdp_builtin_resume(struct net_device *dev)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	struct netlink_ext_ack extack = {};
	int err;

	err = xdp_builtin_install(dev, b->mode, &extack);
	if (err && !b->pinned && b->mode != XDP_MODE_SKB)
		err = xdp_builtin_install(dev, XDP_MODE_SKB, &extack);
	if (err && net_ratelimit())
		netdev_warn(dev, "Failed to reinstate the built-in XDP program (%d): %s\n",
			    err, extack._msg ?: "no reason given");
}

static int xdp_builtin_yield(struct net_device *dev, enum bpf_xdp_mode mode,
			     struct netlink_ext_ack *extack, u32 flags,
			     struct bpf_prog *prog)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	bool beside = xdp_pass_may_stand_beside(dev, mode);
	struct bpf_prog *old = b->prog;
	int err;

	/* One driver call replaces the program if the modes are the same */
	if (b->mode != mode) {
		err = beside ? 0 : xdp_builtin_remove(dev, extack);
		if (err)
			return err;
		old = NULL;
	}

	err = xdp_pass_install(dev, mode, extack, flags, old, prog);
	if (err && !b->running && xdp_builtin_wanted(b))
		xdp_builtin_resume(dev);
	/* The generic program is replaced last: no packet bypasses both */
	if (!err && beside && xdp_pass_stand_beside(dev, b->prog))
		xdp_builtin_remove(dev, NULL);
	return err;
}

static int xdp_builtin_return(struct net_device *dev, enum bpf_xdp_mode mode,
			      struct netlink_ext_ack *extack, u32 flags,
			      struct bpf_prog *old)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	if (!b->propagated && b->mode == mode &&
	    !xdp_pass_install(dev, mode, NULL, xdp_builtin_flags(mode), old,
			      b->prog)) {
		xdp_builtin_set_active(dev, b->prog, true);
		return 0;
	}

	err = xdp_pass_install(dev, mode, extack, flags, old, NULL);
	if (err)
		return err;

	/* A program of a master still runs in native mode, beside @old */
	xdp_builtin_set_active(dev, b->propagated, false);
	if (!b->propagated)
		xdp_builtin_resume(dev);
	return 0;
}

/**
 * xdp_builtin_switch() - attach, replace or detach a regular program
 * @dev: the device
 * @mode: generic or native mode
 * @extack: message of the driver, may be NULL
 * @flags: XDP_FLAGS_* of the request
 * @old: the current regular program in that mode, or NULL
 * @prog: the new regular program, or NULL
 *
 * Installs the program that has precedence: @prog, or the built-in program if
 * it has users. If @prog cannot be installed, the previous program is kept or
 * reinstated.
 *
 * Context: RTNL
 * Return: 0, or the driver's error
 */
int xdp_builtin_switch(struct net_device *dev, enum bpf_xdp_mode mode,
		       struct netlink_ext_ack *extack, u32 flags,
		       struct bpf_prog *old, struct bpf_prog *prog)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	if (xdp_builtin_wanted(b) && !prog)
		return xdp_builtin_return(dev, mode, extack, flags, old);

	if (b->running)
		err = xdp_builtin_yield(dev, mode, extack, flags, prog);
	else
		err = xdp_pass_install(dev, mode, extack, flags, old, prog);
	if (err)
		return err;

	/* The driver replaced the program of a master, if there was one */
	if (prog && mode == XDP_MODE_DRV)
		xdp_builtin_set_propagated(b, NULL);
	if (!b->prog)
		return 0;

	if (b->users)
		xdp_builtin_set_active(dev, prog, false);
	else
		xdp_builtin_drop(dev);
	return 0;
}

static int xdp_builtin_replace(struct net_device *dev, struct netdev_bpf *bpf)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	bool was_running = b->running;
	int err;

	/* The master has no program on this port to detach */
	if (was_running && !bpf->prog)
		return 0;

	if (was_running) {
		err = xdp_builtin_remove(dev, bpf->extack);
		if (err)
			return err;
	}

	err = dev->netdev_ops->ndo_bpf(dev, bpf);
	if (err) {
		if (was_running && xdp_builtin_wanted(b))
			xdp_builtin_resume(dev);
		return err;
	}

	xdp_builtin_set_propagated(b, bpf->prog);
	if (bpf->prog) {
		xdp_pass_lost(dev);
		xdp_builtin_set_active(dev, bpf->prog, false);
	} else if (xdp_builtin_wanted(b) && !xdp_builtin_regular(dev)) {
		xdp_builtin_set_active(dev, NULL, false);
		xdp_builtin_resume(dev);
	}
	return 0;
}

/**
 * xdp_builtin_propagate() - propagate the program of a master to a port
 * @dev: the port
 * @bpf: request to the port's driver
 *
 * The program is recorded at the port: if the master is itself a port of
 * another master, dev->xdp_state of the master does not have it.
 *
 * Context: RTNL
 * Return: 0, or the driver's error
 */
int xdp_builtin_propagate(struct net_device *dev, struct netdev_bpf *bpf)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	if (b->prog && bpf->command == XDP_SETUP_PROG)
		return xdp_builtin_replace(dev, bpf);

	err = dev->netdev_ops->ndo_bpf(dev, bpf);
	if (!err && bpf->command == XDP_SETUP_PROG)
		xdp_builtin_set_propagated(b, bpf->prog);
	return err;
}

/**
 * xdp_builtin_uninstall() - remove the built-in program of a device
 * @dev: the device, which is being unregistered
 *
 * Users are counted until they call xdp_builtin_put(). Zero-copy pools still
 * exist, as when dev_xdp_uninstall() removes regular programs.
 *
 * Context: RTNL
 */
void xdp_builtin_uninstall(struct net_device *dev)
{
	struct xdp_builtin *b = &dev->xdp_builtin;

	xdp_builtin_set_propagated(b, NULL);
	if (!b->prog)
		return;

	if (b->beside)
		xdp_pass_step_aside(dev, NULL);
	if (b->running && xdp_builtin_remove(dev, NULL)) {
		if (net_ratelimit())
			netdev_warn(dev, "Failed to detach the built-in XDP program\n");
		bpf_prog_change_xdp(b->prog, NULL);
	}
	xdp_builtin_drop(dev);
}

/**
 * xdp_builtin_report() - get id and mode of the built-in program, for netlink
 * @dev: the device
 * @attached: set to XDP_ATTACHED_* if the program runs
 *
 * Context: RTNL
 * Return: the program's id if it runs, else 0
 */
u32 xdp_builtin_report(const struct net_device *dev, u8 *attached)
{
	const struct xdp_builtin *b = &dev->xdp_builtin;

	if (!b->running)
		return 0;

	*attached = b->mode == XDP_MODE_SKB ? XDP_ATTACHED_SKB :
					      XDP_ATTACHED_DRV;
	return b->active_id;
}

/**
 * xdp_builtin_get() - add a user of the built-in program to a device
 * @dev: the device
 * @prog: the program, the same for all users of a device
 * @mode: generic or native mode
 * @fallback: generic mode is acceptable if the driver refuses to reinstate the
 *	program after a regular one was detached
 * @extack: message of the driver
 *
 * The first call installs the program, unless a regular program runs. If the
 * driver refused to detach an earlier built-in program, that is removed first.
 * A later call tries again if the program could not be reinstated.
 *
 * Context: RTNL
 * Return: 0; -EEXIST if the device has users in the other mode; -EOPNOTSUPP if
 * the device does not support the mode; or the driver's error
 */
int xdp_builtin_get(struct net_device *dev, struct bpf_prog *prog,
		    enum bpf_xdp_mode mode, bool fallback,
		    struct netlink_ext_ack *extack)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	struct bpf_prog *regular;
	int err = 0;

	ASSERT_RTNL();

	if (b->users) {
		if (b->mode != mode)
			return -EEXIST;
		/* It could not be reinstated: try again */
		if (!b->active_id)
			err = xdp_builtin_install(dev, mode, extack);
		if (err)
			return err;
		b->pinned += !fallback;
		b->users++;
		return 0;
	}

	if (b->prog) {
		if (b->running)
			err = xdp_builtin_remove(dev, extack);
		if (err)
			return err;
		xdp_builtin_drop(dev);
	}

	b->prog = prog;
	WRITE_ONCE(b->mode, mode);
	regular = xdp_builtin_regular(dev);
	if (regular)
		xdp_builtin_set_active(dev, regular, false);
	else
		err = xdp_builtin_install(dev, mode, extack);
	if (err) {
		b->prog = NULL;
		return err;
	}

	bpf_prog_inc(prog);
	b->pinned = !fallback;
	b->users = 1;
	return 0;
}

/**
 * xdp_builtin_pin() - withdraw @fallback of xdp_builtin_get()
 * @dev: the device
 *
 * For a user that called xdp_builtin_get() with @fallback.
 *
 * Context: RTNL
 */
void xdp_builtin_pin(struct net_device *dev)
{
	dev->xdp_builtin.pinned++;
}

/**
 * xdp_builtin_put() - remove a user that xdp_builtin_get() added
 * @dev: the device
 * @fallback: as for xdp_builtin_get(); false after xdp_builtin_pin()
 *
 * The last call removes the program. If the driver refuses, the program still
 * runs and is reported until it gets a user again, a regular program is
 * attached, or the device is unregistered.
 *
 * Context: RTNL
 */
void xdp_builtin_put(struct net_device *dev, bool fallback)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	struct netlink_ext_ack extack = {};
	int err = 0;

	ASSERT_RTNL();

	b->pinned -= !fallback;
	if (--b->users || !b->prog)
		return;

	if (b->running)
		err = xdp_builtin_remove(dev, &extack);
	if (!err)
		xdp_builtin_drop(dev);
	else if (net_ratelimit())
		netdev_warn(dev, "Failed to detach the built-in XDP program (%d): %s\n",
			    err, extack._msg ?: "no reason given");
}
