// SPDX-License-Identifier: GPL-2.0
/*
 * Direct delivery: packets of a zero-copy queue go to the attached socket
 * without BPF. Checks that the redirect path makes per packet are made per poll
 * here, because their result cannot change in between: a poll is an RCU read
 * section, and xsk_unbind_dev() waits for readers after xsk_detach().
 */
#include <linux/bpf.h>
#include <net/busy_poll.h>
#include <net/xdp_builtin.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_direct.h>

#include "xsk_attach.h"
#include "xsk_capture.h"
#include "xsk_posted.h"
#include "xsk_queue.h"

static void xsk_direct_aim(struct xsk_direct *direct, struct xsk_queue *rx)
{
	struct xdp_rxtx_ring *ring = (struct xdp_rxtx_ring *)rx->ring;
	u32 index = rx->cached_prod & rx->ring_mask;

	direct->desc = &ring->desc[index];
	direct->span = min(direct->room, rx->nentries - index);
}

/**
 * xsk_direct_begin() - begin a poll with direct delivery, if possible
 * @direct: state of the poll
 * @prog: the program of the driver
 * @rxq: the queue
 * @pool: the pool of the queue
 * @budget: maximum number of packets
 *
 * Context: NAPI poll
 * Return: true if packets can be delivered directly; false if
 * they must go through @prog: it is not the built-in program, @pool is left out
 * by xsk_direct_init(), there is no socket, or its Rx ring is full
 */
bool xsk_direct_begin(struct xsk_direct *direct, const struct bpf_prog *prog,
		      const struct xdp_rxq_info *rxq,
		      struct xsk_buff_pool *pool, u32 budget)
{
	struct xdp_sock *xs;

	if (!xsk_is_builtin(prog) || !pool->direct_scale)
		return false;

	xs = xsk_attached(rxq);
	/* A socket that was bound before @pool was set up has another pool */
	if (!xs || xs->pool != pool)
		return false;

	direct->xs = xs;
	direct->bytes = 0;
	direct->max_len = xsk_pool_get_rx_frame_size(pool);
	direct->room = xskq_prod_nb_free(xs->rx, budget);
	if (!direct->room)
		return false;

	__sk_mark_napi_id_once(&xs->sk, rxq->napi_id);
	xsk_direct_aim(direct, xs->rx);
	return true;
}
EXPORT_SYMBOL_GPL(xsk_direct_begin);

/* Values that user space writes at the same time are to its own disadvantage */
static void xsk_direct_commit_slow(struct xsk_buff_pool *pool,
				   const struct xdp_desc *desc, u32 count)
{
	struct xdp_buff_xsk *xskb;
	u64 addr;

	if (pool->unaligned) {
		pool->reserved_heads -= count;
		return;
	}

	for (; count--; desc++) {
		addr = READ_ONCE(desc->addr);
		if (addr >= pool->addrs_cnt)
			continue;
		xskb = &pool->heads[addr >> pool->chunk_shift];
		xp_dma_sync_for_cpu(xskb);
		xsk_unmark_posted(xskb);
	}
}

/**
 * xsk_direct_commit() - commit delivered packets
 * @direct: state of the poll
 * @count: number of entries written, at most @span of @direct
 */
void xsk_direct_commit(struct xsk_direct *direct, u32 count)
{
	struct xsk_buff_pool *pool = direct->xs->pool;
	struct xsk_queue *rx = direct->xs->rx;

	if (unlikely(dma_dev_need_sync(pool->dev) ||
		     READ_ONCE(pool->refill_kind) != XSK_REFILL_USER))
		xsk_direct_commit_slow(pool, direct->desc, count);

	rx->cached_prod += count;
	direct->desc += count;
	direct->room -= count;
	direct->span -= count;
	if (!direct->span)
		xsk_direct_aim(direct, rx);
}
EXPORT_SYMBOL_GPL(xsk_direct_commit);

/**
 * xsk_direct_aim_all() - use all free entries of the Rx ring
 * @direct: state of the poll
 *
 * For multi-buffer packets: the budget is a number of packets.
 */
void xsk_direct_aim_all(struct xsk_direct *direct)
{
	struct xsk_queue *rx = direct->xs->rx;

	direct->room = xskq_prod_nb_free(rx, rx->nentries);
	xsk_direct_aim(direct, rx);
}
EXPORT_SYMBOL_GPL(xsk_direct_aim_all);

/**
 * xsk_direct_rewind() - return to the end of the last packet
 * @direct: state of the poll
 * @ring: the Rx ring, whose next_to_clean moves back
 * @count: number of descriptors of the partial packet, which the next poll reads
 *	again
 */
void xsk_direct_rewind(struct xsk_direct *direct, struct xsk_rx_ring *ring,
		       u32 count)
{
	struct xdp_sock *xs = direct->xs;

	xs->rx->cached_prod -= count;
	if (xs->pool->unaligned)
		xs->pool->reserved_heads += count;
	if (ring->next_to_clean < count)
		ring->next_to_clean += ring->count;
	ring->next_to_clean -= count;
}
EXPORT_SYMBOL_GPL(xsk_direct_rewind);

/**
 * xsk_direct_end() - publish the delivered packets and wake up the socket
 * @direct: state of the poll
 */
void xsk_direct_end(struct xsk_direct *direct)
{
	struct xdp_sock *xs = direct->xs;

	__xskq_cons_release(xs->pool->fq);
	if (!direct->bytes)
		return;

	xsk_rx_publish(xs);
}
EXPORT_SYMBOL_GPL(xsk_direct_end);
