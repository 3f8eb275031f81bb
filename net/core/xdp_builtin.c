// SPDX-License-Identifier: GPL-2.0
/*
 * A second level of XDP programs: a built-in one that belongs to the kernel.
 *
 * The programs that users attach, by netlink or bpf_link, are the first
 * level, called regular here; dev->xdp_state tracks them and this file does
 * not change what it says. The built-in program runs while no regular
 * program does: it is replaced when one comes, and comes back when that one
 * goes. Nothing that a user does to a regular program fails because of it,
 * unless the driver refuses to let go of the built-in.
 *
 * One regular program runs at a time in generic or native mode, and so does
 * the built-in, in the mode that its users chose. Offloaded programs run
 * before all of this and are not concerned.
 *
 * A master such as a bond hands its own program down to its ports, past
 * dev->xdp_state of the port. It counts as regular here, too.
 *
 * Everything here is protected by the RTNL. @mode and @active_id of struct
 * xdp_builtin may be read without it.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <net/xdp_builtin.h>

#include "dev.h"
#include "xdp_builtin.h"

/* Note what runs now: the built-in (@running), a regular program, or none */
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
 * xdp_builtin_regular() - the regular program that shadows the built-in one
 * @dev: the device
 *
 * Context: RTNL
 * Return: the program attached in native or generic mode, or the one that a
 * master runs on the device, or NULL.
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
	b->propagated = prog;
	if (old)
		bpf_prog_put(old);
}

static u32 xdp_builtin_flags(enum bpf_xdp_mode mode)
{
	return mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

static int xdp_builtin_install(struct net_device *dev, enum bpf_xdp_mode mode,
			       struct netlink_ext_ack *extack)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	bpf_op_t bpf_op = dev_xdp_bpf_op(dev, mode);
	int err;

	if (!bpf_op)
		return -EOPNOTSUPP;

	err = __dev_xdp_install(dev, mode, bpf_op, extack,
				xdp_builtin_flags(mode), NULL, b->prog);
	if (err)
		return err;

	WRITE_ONCE(b->mode, mode);
	xdp_builtin_set_active(dev, b->prog, true);
	return 0;
}

/* Some drivers refuse that, for a setting that has changed meanwhile */
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

/* No user waits for an answer here: what cannot be done is logged. */
static void xdp_builtin_resume(struct net_device *dev)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	struct netlink_ext_ack extack = {};
	int err;

	err = xdp_builtin_install(dev, b->mode, &extack);
	if (err && !b->pinned && b->mode != XDP_MODE_SKB)
		err = xdp_builtin_install(dev, XDP_MODE_SKB, &extack);
	if (err)
		netdev_warn(dev, "Built-in XDP program did not come back (%d): %s\n",
			    err, extack._msg ?: "no reason given");
}

static int xdp_builtin_yield(struct net_device *dev, enum bpf_xdp_mode mode,
			     bpf_op_t bpf_op, struct netlink_ext_ack *extack,
			     u32 flags, struct bpf_prog *prog)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	struct bpf_prog *old = b->prog;
	int err;

	/* Only in the same mode does one driver call replace the other */
	if (b->mode != mode) {
		err = xdp_builtin_remove(dev, extack);
		if (err)
			return err;
		old = NULL;
	}

	err = __dev_xdp_install(dev, mode, bpf_op, extack, flags, old, prog);
	if (err && !b->running && xdp_builtin_wanted(b))
		xdp_builtin_resume(dev);
	return err;
}

static int xdp_builtin_return(struct net_device *dev, enum bpf_xdp_mode mode,
			      bpf_op_t bpf_op, struct netlink_ext_ack *extack,
			      u32 flags, struct bpf_prog *old)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	if (!b->propagated && b->mode == mode &&
	    !__dev_xdp_install(dev, mode, bpf_op, NULL, xdp_builtin_flags(mode),
			       old, b->prog)) {
		xdp_builtin_set_active(dev, b->prog, true);
		return 0;
	}

	err = __dev_xdp_install(dev, mode, bpf_op, extack, flags, old, NULL);
	if (err)
		return err;

	/* In native mode, which a generic program has not displaced */
	xdp_builtin_set_active(dev, b->propagated, false);
	if (!b->propagated)
		xdp_builtin_resume(dev);
	return 0;
}

/**
 * xdp_builtin_switch() - a regular program comes, changes or goes
 * @dev: the device
 * @mode: generic or native mode
 * @bpf_op: what installs a program in that mode
 * @extack: for the driver's reason, may be NULL
 * @flags: XDP_FLAGS_* of the request
 * @old: the regular program that runs in that mode, or NULL
 * @prog: the regular program to run, or NULL
 *
 * Makes the program that has precedence run: @prog, else the built-in one if
 * somebody uses it. When @prog cannot be installed, what ran before runs.
 *
 * Context: RTNL
 * Return: 0, or the error with which the driver refused @prog.
 */
int xdp_builtin_switch(struct net_device *dev, enum bpf_xdp_mode mode,
		       bpf_op_t bpf_op, struct netlink_ext_ack *extack,
		       u32 flags, struct bpf_prog *old, struct bpf_prog *prog)
{
	struct xdp_builtin *b = &dev->xdp_builtin;
	int err;

	if (xdp_builtin_wanted(b) && !prog)
		return xdp_builtin_return(dev, mode, bpf_op, extack, flags,
					  old);

	if (b->running)
		err = xdp_builtin_yield(dev, mode, bpf_op, extack, flags, prog);
	else
		err = __dev_xdp_install(dev, mode, bpf_op, extack, flags, old,
					prog);
	if (err)
		return err;

	/* The driver let go of a master's program, if it ran one */
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

	/* The master has no program here that it could take away */
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
 * The program is recorded at the port: the master may be the port of another
 * master, and then dev->xdp_state of the upper device does not show it.
 *
 * Context: RTNL
 * Return: 0, or the driver's error.
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
 * xdp_builtin_uninstall() - drop the built-in program of a dying device
 * @dev: the device
 *
 * The users stay counted until they call xdp_builtin_put(). Zero-copy pools
 * are still there, as they are when the core drops regular programs here.
 *
 * Context: RTNL
 */
void xdp_builtin_uninstall(struct net_device *dev)
{
	struct xdp_builtin *b = &dev->xdp_builtin;

	xdp_builtin_set_propagated(b, NULL);
	if (!b->prog)
		return;

	if (b->running && xdp_builtin_remove(dev, NULL)) {
		netdev_warn(dev, "Driver keeps the built-in XDP program\n");
		bpf_prog_change_xdp(b->prog, NULL);
	}
	xdp_builtin_drop(dev);
}

/**
 * xdp_builtin_report() - what a link dump says of the built-in program
 * @dev: the device
 * @attached: set to XDP_ATTACHED_* if the program runs
 *
 * Context: RTNL
 * Return: the program's id if it runs, else 0.
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
 * xdp_builtin_get() - use a built-in program on a device
 * @dev: the device
 * @prog: the program, the same for all users of a device
 * @mode: generic or native mode
 * @fallback: the program may come back in generic mode if the driver refuses
 *	it, after a regular program went
 * @extack: for the driver's reason
 *
 * The first user's call installs the program, unless a regular program runs.
 * One that the driver did not let go of is removed first. A later user's call
 * tries again if the program did not come back after a regular one.
 *
 * Context: RTNL
 * Return: 0; -EEXIST if another user holds the device in the other mode;
 * -EOPNOTSUPP if the device cannot do that mode; or the driver's error.
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
		/* It did not come back when it was to: this is another try */
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
 * xdp_builtin_pin() - withdraw that generic mode would do
 * @dev: the device
 *
 * For a user that said so to xdp_builtin_get().
 *
 * Context: RTNL
 */
void xdp_builtin_pin(struct net_device *dev)
{
	dev->xdp_builtin.pinned++;
}

/**
 * xdp_builtin_put() - end the use that xdp_builtin_get() began
 * @dev: the device
 * @fallback: as for xdp_builtin_get(), false after xdp_builtin_pin()
 *
 * The last user's call removes the program. If the driver refuses, it runs on,
 * is still reported, and goes when a regular program comes or the device goes.
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
	if (err)
		netdev_warn(dev, "Driver keeps the built-in XDP program (%d): %s\n",
			    err, extack._msg ?: "no reason given");
	else
		xdp_builtin_drop(dev);
}
