/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XDP_REDIRECT_H
#define _NET_XDP_REDIRECT_H

#include <linux/filter.h>
#include <linux/if_xdp.h>
#include <linux/types.h>
#include <net/xdp.h>

struct xdp_sock;

/*
 * The explicit redirect context. A driver whose poll redirects frames keeps
 * one on its stack for the frames of one Rx queue:
 *
 *   xdp_redirect_ctx_init()	once, before the first frame
 *   xdp_do_redirect_ctx()	for each frame whose program said XDP_REDIRECT
 *   xdp_do_flush_ctx()		once, if any of them succeeded
 *
 * What would be looked up anew for each frame is then kept for the poll: the
 * redirect information of the task, in which helpers of the program leave
 * their answer, and the socket that the last frame of an XSKMAP went to. It
 * does not outlive the poll: both are good for one section with BHs disabled.
 *
 * xdp_do_redirect() and xdp_do_flush() do the same without a context.
 */

/**
 * struct xdp_redirect_ctx - the redirects of one poll of one Rx queue
 * @net: the task's, NULL until the first redirect. All else is only valid
 *	where this is set.
 * @xs: the socket whose Rx ring @desc is in, or NULL. It was checked against
 *	the queue, and is in the flush list.
 * @base: what to subtract from the address of a frame's data to get its
 *	address in the umem of @xs
 * @desc: the next place in the Rx ring
 * @prod: counts the places that were filled, which the flush publishes
 * @room: free places in a row from @desc on
 * @max_len: the longest frame that @xs takes, in bytes
 */
struct xdp_redirect_ctx {
	struct bpf_net_context *net;
	struct xdp_sock *xs;
	void *base;
	struct xdp_desc *desc;
	u32 *prod;
	u32 room;
	u32 max_len;
};

/**
 * xdp_redirect_ctx_init() - begin a poll that may redirect frames
 * @ctx: the context, on the poll's stack
 *
 * Polls that redirect nothing pay for one store.
 */
static inline void xdp_redirect_ctx_init(struct xdp_redirect_ctx *ctx)
{
	ctx->net = NULL;
}

/**
 * xdp_redirect_net() - the task's context, for what a frame is queued in
 * @ctx: the poll's context, NULL for a caller that has none
 *
 * Return: the context with the flush lists of the task
 */
static inline struct bpf_net_context *
xdp_redirect_net(const struct xdp_redirect_ctx *ctx)
{
	return ctx ? ctx->net : bpf_net_ctx_get();
}

int xdp_do_redirect_ctx(struct xdp_redirect_ctx *ctx, struct net_device *dev,
			struct xdp_buff *xdp, struct bpf_prog *prog);
void xdp_do_flush_ctx(struct xdp_redirect_ctx *ctx);

#ifdef CONFIG_XDP_SOCKETS

int xsk_map_redirect_ctx(struct xdp_redirect_ctx *ctx, struct xdp_sock *xs,
			 struct xdp_buff *xdp);

/**
 * xsk_redirect_next() - put a frame where the last one of its socket went
 * @ctx: the poll's context
 * @xs: the socket that the program chose
 * @xdp: the frame
 *
 * Return: true if the frame is in the Rx ring; false if it has to go through
 * xsk_map_redirect_ctx(), which looks at all that is not as it was last time.
 */
static inline bool xsk_redirect_next(struct xdp_redirect_ctx *ctx,
				     const struct xdp_sock *xs,
				     const struct xdp_buff *xdp)
{
	u32 len = xdp->data_end - xdp->data;
	struct xdp_desc *desc = ctx->desc;

	if (xs != ctx->xs || !ctx->room || len > ctx->max_len ||
	    unlikely(xdp_buff_has_frags(xdp)))
		return false;

	desc->addr = xdp->data - ctx->base;
	desc->len = len;
	desc->options = 0;
	ctx->desc = desc + 1;
	ctx->room--;
	(*ctx->prod)++;
	return true;
}

#else

static inline int xsk_map_redirect_ctx(struct xdp_redirect_ctx *ctx,
				       struct xdp_sock *xs,
				       struct xdp_buff *xdp)
{
	return -EOPNOTSUPP;
}

static inline bool xsk_redirect_next(struct xdp_redirect_ctx *ctx,
				     const struct xdp_sock *xs,
				     const struct xdp_buff *xdp)
{
	return false;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XDP_REDIRECT_H */
