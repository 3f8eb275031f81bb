// SPDX-License-Identifier: GPL-2.0
/*
 * The short way of frames that an XSKMAP sends to one socket after the other,
 * see include/net/xdp_redirect.h. A socket is checked when a poll first meets
 * it: a poll is an RCU read section, and xsk_unbind_dev() waits for it before
 * anything that was checked goes away. So the frames that the program sends
 * there until the poll ends may be received, too. Once the program chooses
 * another socket, or the map has another one, that one is checked.
 */
#include <net/xdp_redirect.h>
#include <net/xdp_sock_drv.h>

#include "xsk_queue.h"

/*
 * An unaligned chunk has a head that has to be given back for each frame, and
 * what was received elsewhere has to be copied into a chunk.
 */
static bool xsk_redirect_is_plain(const struct xdp_sock *xs,
				  const struct xdp_buff *xdp)
{
	return xdp->rxq->mem.type == MEM_TYPE_XSK_BUFF_POOL &&
	       container_of(xdp, struct xdp_buff_xsk, xdp)->pool == xs->pool &&
	       !xs->pool->unaligned;
}

/* From where the Rx ring is now, up to its end */
static void xsk_redirect_aim(struct xdp_redirect_ctx *ctx, struct xdp_sock *xs)
{
	struct xsk_queue *rx = xs->rx;
	struct xdp_rxtx_ring *ring = (struct xdp_rxtx_ring *)rx->ring;
	u32 place = rx->cached_prod & rx->ring_mask;

	ctx->xs = xs;
	ctx->base = xs->pool->addrs;
	ctx->desc = &ring->desc[place];
	ctx->prod = &rx->cached_prod;
	ctx->room = xskq_prod_nb_free(rx, rx->nentries - place);
	ctx->max_len = xs->sg ? U32_MAX :
				__xsk_pool_get_rx_frame_size(xs->pool);
}

/**
 * xsk_map_redirect_ctx() - give a frame to a socket of an XSKMAP
 * @ctx: the poll's context
 * @xs: the socket
 * @xdp: the frame
 *
 * For a frame that xsk_redirect_next() did not take. Makes it take the next
 * one if that is for the same socket.
 *
 * Context: NAPI poll
 * Return: as __xsk_map_redirect()
 */
int xsk_map_redirect_ctx(struct xdp_redirect_ctx *ctx, struct xdp_sock *xs,
			 struct xdp_buff *xdp)
{
	int err;

	/* This may fill places of the ring that @ctx knows as free */
	ctx->xs = NULL;

	err = __xsk_map_redirect(xs, xdp);
	if (!err && xsk_redirect_is_plain(xs, xdp))
		xsk_redirect_aim(ctx, xs);

	return err;
}
