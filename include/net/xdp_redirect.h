/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XDP_REDIRECT_H
#define _NET_XDP_REDIRECT_H

#include <linux/filter.h>
#include <linux/if_xdp.h>
#include <linux/types.h>
#include <net/xdp.h>

struct xdp_sock;

/*
 * Redirect context of a poll. A driver has one on its stack for the packets of
 * one Rx queue, and calls
 *
 *   xdp_redirect_ctx_init()	once, before the first packet
 *   xdp_do_redirect_ctx()	for each packet with the action XDP_REDIRECT
 *   xdp_do_flush_ctx()		once, if any of them succeeded
 *
 * The context caches lookups that are otherwise made for each packet: the
 * redirect information of the task, in which helpers of the program store the
 * target, and the last socket that an XSKMAP selected. Both are valid until
 * the poll ends, in one section with BHs disabled.
 *
 * xdp_do_redirect() and xdp_do_flush() do the same without a context.
 */

/**
 * struct xdp_redirect_ctx - redirect context of one poll of one Rx queue
 * @net: BPF context of the task, NULL before the first redirect; the other
 *	members are only valid if it is set
 * @xs: the last socket, or NULL. It was checked against the queue and is in
 *	the flush list.
 * @unaligned: instead of @xs if the chunks are unaligned. The following members
 *	are only valid if one of both is set.
 * @base: kernel address of the umem, which is address 0 of descriptors
 * @desc: the next entry of the Rx ring
 * @prod: producer index of the Rx ring, which the flush publishes
 * @room: number of contiguous free entries from @desc
 * @max_len: maximum length of a packet in bytes
 */
struct xdp_redirect_ctx {
	struct bpf_net_context *net;
	struct xdp_sock *xs;
	struct xdp_sock *unaligned;
	void *base;
	struct xdp_desc *desc;
	u32 *prod;
	u32 room;
	u32 max_len;
};

/**
 * xdp_redirect_ctx_init() - initialise a redirect context
 * @ctx: the context, on the stack of the poll
 *
 * One store only, for polls that redirect nothing.
 */
static inline void xdp_redirect_ctx_init(struct xdp_redirect_ctx *ctx)
{
	ctx->net = NULL;
}

/**
 * xdp_redirect_net() - get the BPF context of the task, with its flush lists
 * @ctx: redirect context of the poll, or NULL
 *
 * Return: the BPF context
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
 * xsk_redirect_next() - redirect a packet to the same socket as the last one
 * @ctx: redirect context of the poll
 * @xs: the socket that the program selected
 * @xdp: the packet
 *
 * Return: true if the packet is in the Rx ring; false if it has to go through
 * xsk_map_redirect_ctx(), which makes all checks
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
