// SPDX-License-Identifier: GPL-2.0
/*
 * Fast path for consecutive packets that a program redirects to the same socket
 * through an XSKMAP, see include/net/xdp_redirect.h. The socket is checked for
 * the first packet only. The result is valid until the poll ends, because a
 * poll is an RCU read section, and xsk_unbind_dev() waits for it before it
 * releases anything. If the program selects another socket, or the map entry
 * was updated, the new socket is checked.
 */
#include <net/xdp_redirect.h>
#include <net/xdp_sock_drv.h>

#include "xsk_queue.h"

/* Chunks of this pool only: packets in other memory are copied */
static bool xsk_redirect_is_cacheable(const struct xdp_sock *xs,
				      const struct xdp_buff *xdp)
{
	return xdp->rxq->mem.type == MEM_TYPE_XSK_BUFF_POOL &&
	       container_of(xdp, struct xdp_buff_xsk, xdp)->pool == xs->pool;
}

/* Cache the contiguous free entries of the Rx ring, up to its wrap */
static void xsk_redirect_aim(struct xdp_redirect_ctx *ctx, struct xdp_sock *xs)
{
	struct xsk_queue *rx = xs->rx;
	struct xdp_rxtx_ring *ring = (struct xdp_rxtx_ring *)rx->ring;
	u32 index = rx->cached_prod & rx->ring_mask;

	if (xs->pool->unaligned)
		ctx->unaligned = xs;
	else
		ctx->xs = xs;
	ctx->base = xs->pool->addrs;
	ctx->desc = &ring->desc[index];
	ctx->prod = &rx->cached_prod;
	ctx->room = xskq_prod_nb_free(rx, rx->nentries - index);
	ctx->max_len = xs->sg ? U32_MAX :
				__xsk_pool_get_rx_frame_size(xs->pool);
}

/* As xsk_redirect_next(), for unaligned chunks, where @xs of the context is
 * NULL. Returns the buffer head to the pool.
 */
static bool xsk_redirect_unaligned(struct xdp_redirect_ctx *ctx,
				   struct xdp_sock *xs, struct xdp_buff *xdp)
{
	struct xdp_buff_xsk *xskb = container_of(xdp, struct xdp_buff_xsk, xdp);
	struct xdp_desc *desc;

	if (xs != ctx->unaligned)
		return false;

	desc = ctx->desc;
	if (!xsk_redirect_next(ctx, NULL, xdp))
		return false;

	desc->addr = xp_get_handle(xskb, xskb->pool);
	xp_release(xskb);
	return true;
}

/**
 * xsk_map_redirect_ctx() - redirect a packet to a socket of an XSKMAP
 * @ctx: redirect context of the poll
 * @xs: the socket
 * @xdp: the packet
 *
 * For a packet that xsk_redirect_next() refused. Prepares @ctx for further
 * packets to the same socket.
 *
 * Context: NAPI poll
 * Return: as __xsk_map_redirect()
 */
int xsk_map_redirect_ctx(struct xdp_redirect_ctx *ctx, struct xdp_sock *xs,
			 struct xdp_buff *xdp)
{
	int err;

	if (xsk_redirect_unaligned(ctx, xs, xdp))
		return 0;

	/* The packet may use entries that are cached as free */
	ctx->xs = NULL;
	ctx->unaligned = NULL;

	err = __xsk_map_redirect(xs, xdp);
	if (!err && xsk_redirect_is_cacheable(xs, xdp))
		xsk_redirect_aim(ctx, xs);

	return err;
}
