// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of XDP_ATTACH_F_PASS: packets for which the regular program of a
 * device returns XDP_PASS go to the socket that is attached to their queue.
 * net/core/xdp_pass.c installs them.
 *
 * They have no id, so that no user can get a file descriptor: a regular program
 * that ran them by a tail call would run itself.
 */
#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/filter.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/rtnetlink.h>
#include <net/xdp_builtin.h>

#include "xsk_attach.h"

static __always_inline u32 xsk_pass_redirect(const struct xdp_buff *xdp,
					     bool native)
{
	struct xdp_sock *xs = xsk_attached(xdp->rxq);

	if (!xs || !(xs->attach.flags & XDP_ATTACH_F_PASS))
		return XDP_PASS;
	/* A driver may use the pool of the queue at the same time */
	if (!native && xs->zc)
		return XDP_PASS;

	xsk_set_redirect(xdp, xs);
	return XDP_REDIRECT;
}

static __always_inline struct bpf_prog *
xsk_pass_inner(const struct xdp_builtin *b, bool frags)
{
	/* Pairs with rcu_replace_pointer_rtnl() in xdp_pass_set_inner() */
	return rcu_dereference_check(b->inner[frags], rcu_read_lock_bh_held());
}

static __always_inline u32 xsk_pass_run(struct xdp_buff *xdp, bool native,
					bool frags)
{
	const struct xdp_builtin *b = &xdp->rxq->dev->xdp_builtin;
	const struct bpf_prog *prog;
	u32 act;

	prog = xsk_pass_inner(b, frags);
	if (unlikely(!prog)) {
		/* The driver reads the wrapper without ordering, but got it
		 * after the regular program was set.
		 */
		smp_rmb();
		prog = xsk_pass_inner(b, frags);
		if (!prog)
			return XDP_ABORTED;
	}

	/* Not bpf_prog_run_xdp(): the driver's call handles ports of a bond */
	act = __bpf_prog_run(prog, xdp, BPF_DISPATCHER_FUNC(xdp));
	return act == XDP_PASS ? xsk_pass_redirect(xdp, native) : act;
}

BPF_CALL_1(xsk_pass_drv, struct xdp_buff *, xdp)
{
	return xsk_pass_run(xdp, true, false);
}

BPF_CALL_1(xsk_pass_drv_frags, struct xdp_buff *, xdp)
{
	return xsk_pass_run(xdp, true, true);
}

BPF_CALL_1(xsk_pass_skb, struct xdp_buff *, xdp)
{
	return xsk_pass_run(xdp, false, false);
}

BPF_CALL_1(xsk_pass_skb_frags, struct xdp_buff *, xdp)
{
	return xsk_pass_run(xdp, false, true);
}

BPF_CALL_1(xsk_pass_beside, struct xdp_buff *, xdp)
{
	return xsk_pass_redirect(xdp, false);
}

/* Protected by RTNL */
static struct xdp_pass_progs xsk_pass;

static int xsk_pass_create(struct bpf_prog **prog, const char *name,
			   u64 (*func)(u64, u64, u64, u64, u64), bool frags)
{
	const struct xsk_prog desc = {
		.name = name,
		.func = func,
		.frags = frags,
	};
	struct bpf_prog *new;

	if (*prog)
		return 0;

	new = xsk_prog_create(&desc);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*prog = new;
	return 0;
}

/**
 * xsk_pass_progs() - get the programs, and create them if necessary
 *
 * All are created at once, so that a regular program that is attached later
 * finds them. They are never freed.
 *
 * Context: RTNL
 * Return: the programs, or ERR_PTR() of an error of xsk_prog_create()
 */
const struct xdp_pass_progs *xsk_pass_progs(void)
{
	struct bpf_prog **drv = xsk_pass.wrapper[XDP_MODE_DRV];
	struct bpf_prog **skb = xsk_pass.wrapper[XDP_MODE_SKB];
	int err;

	err = xsk_pass_create(&drv[0], "xsk_pass", xsk_pass_drv, false) ?:
	      xsk_pass_create(&drv[1], "xsk_pass", xsk_pass_drv_frags, true) ?:
	      xsk_pass_create(&skb[0], "xsk_pass", xsk_pass_skb, false) ?:
	      xsk_pass_create(&skb[1], "xsk_pass", xsk_pass_skb_frags, true) ?:
	      xsk_pass_create(&xsk_pass.beside, "xsk_pass", xsk_pass_beside,
			      true);
	return err ? ERR_PTR(err) : &xsk_pass;
}

/**
 * xsk_pass_enter() - keep the program that a device runs in the XDP dispatcher
 * @dev: the device, after xdp_pass_get()
 *
 * Attaching and closing sockets in a loop behind a regular program does not
 * patch the kernel's text each time.
 *
 * Context: RTNL
 */
void xsk_pass_enter(const struct net_device *dev)
{
	const struct xdp_builtin *b = &dev->xdp_builtin;

	if (b->wrapper)
		xsk_prog_enter(b->wrapper);
	else if (b->beside)
		xsk_prog_enter(b->pass->beside);
}
