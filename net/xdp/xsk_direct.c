// SPDX-License-Identifier: GPL-2.0
/*
 * Direct delivery: frames of a zero-copy queue go to the attached socket
 * without BPF. What the redirect path checks for each frame is checked once
 * for each poll here, since it cannot change in between: the poll is an RCU
 * read section, and xsk_unbind_dev() waits for it after it emptied the slot.
 */
#include <linux/bpf.h>
#include <net/busy_poll.h>
#include <net/netdev_rx_queue.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_direct.h>

#include "xsk_attach.h"
#include "xsk_queue.h"
#include "xsk_recycle.h"
#include "xsk_refill.h"

static struct xdp_sock *xsk_direct_socket(const struct xdp_rxq_info *rxq)
{
	if (unlikely(rxq->queue_index >= rxq->dev->num_rx_queues))
		return NULL;

	/* Pairs with rcu_assign_pointer() in xsk_attach_publish() */
	return rcu_dereference_check(rxq->dev->_rx[rxq->queue_index].xsk,
				     rcu_read_lock_bh_held());
}

static void xsk_direct_place(struct xsk_direct *direct)
{
	struct xsk_queue *rx = direct->xs->rx;
	struct xdp_rxtx_ring *ring = (struct xdp_rxtx_ring *)rx->ring;

	direct->desc = &ring->desc[rx->cached_prod & rx->ring_mask];
}

/**
 * xsk_direct_begin() - begin a poll that delivers directly, if it can
 * @direct: the poll
 * @prog: the program that the driver would run
 * @rxq: the queue
 * @pool: the pool that the queue's buffers come from
 * @budget: how many frames may come
 *
 * Context: NAPI poll
 * Return: true if frames of one buffer can be delivered directly; false if
 * they have to go through @prog, as all that is unusual does: another program
 * than the built-in one, no socket, chunks that are not aligned, no room.
 */
bool xsk_direct_begin(struct xsk_direct *direct, const struct bpf_prog *prog,
		      const struct xdp_rxq_info *rxq,
		      struct xsk_buff_pool *pool, u32 budget)
{
	struct xdp_sock *xs;

	if (!xsk_is_builtin(prog) || pool->unaligned)
		return false;

	xs = xsk_direct_socket(rxq);
	/* A socket that came before the pool was set up has another one */
	if (!xs || xs->pool != pool)
		return false;

	direct->xs = xs;
	direct->base = pool->addrs - XDP_PACKET_HEADROOM;
	direct->max_len = xsk_pool_get_rx_frame_size(pool);
	direct->room = xskq_prod_nb_free(xs->rx, budget);
	if (!direct->room)
		return false;

	__sk_mark_napi_id_once(&xs->sk, rxq->napi_id);
	xsk_direct_place(direct);
	return true;
}
EXPORT_SYMBOL_GPL(xsk_direct_begin);

/**
 * xsk_direct_span() - how many places there are from the next one on
 * @direct: the poll
 *
 * Return: the number of free places in a row, 0 if the ring is full
 */
u32 xsk_direct_span(struct xsk_direct *direct)
{
	struct xsk_queue *rx = direct->xs->rx;

	return min(direct->room,
		   rx->nentries - (rx->cached_prod & rx->ring_mask));
}
EXPORT_SYMBOL_GPL(xsk_direct_span);

/* What user space writes there at the same time may be to its own disadvantage */
static void xsk_direct_sync(struct xsk_buff_pool *pool,
			    const struct xdp_desc *desc, u32 count)
{
	u64 addr;

	for (; count--; desc++) {
		addr = READ_ONCE(desc->addr);
		if (addr < pool->addrs_cnt)
			xp_dma_sync_for_cpu(&pool->heads[addr >>
							 pool->chunk_shift]);
	}
}

/**
 * xsk_direct_commit() - count frames as delivered
 * @direct: the poll
 * @count: how many places were filled, no more than the last span
 */
void xsk_direct_commit(struct xsk_direct *direct, u32 count)
{
	struct xsk_buff_pool *pool = direct->xs->pool;

	if (unlikely(dma_dev_need_sync(pool->dev)))
		xsk_direct_sync(pool, direct->desc, count);
	if (unlikely(READ_ONCE(pool->recycle_check)))
		xsk_refill_disclaim(pool, direct->desc, count);

	direct->xs->rx->cached_prod += count;
	direct->room -= count;
	xsk_direct_place(direct);
}
EXPORT_SYMBOL_GPL(xsk_direct_commit);

/* Chunks that were given back or are not aligned, or devices that need their
 * memory synced. Returns how many of at most @count
 */
static u32 xsk_direct_refill_slow(struct xsk_buff_pool *pool, void *slot,
				  size_t step, __le64 *rx_desc, u32 count)
{
	struct xdp_buff_xsk *xskb;
	struct xdp_buff *xdp;
	u32 i;

	for (i = 0; i < count; i++) {
		xdp = xsk_buff_alloc(pool);
		if (!xdp)
			break;

		xskb = container_of(xdp, struct xdp_buff_xsk, xdp);
		if (unlikely(READ_ONCE(pool->recycle_check)))
			xsk_refill_claim(pool, xskb);
		xsk_refill_write(xskb, slot, rx_desc);
		slot += step;
		rx_desc += 2;
	}

	return i;
}

/* Chunks that lie in a row in the fill ring. Returns how many are valid */
static size_t xsk_direct_refill_row(const struct xsk_buff_pool *pool,
				    const u64 *addrs, size_t count, void *slot,
				    size_t step, __le64 *rx_desc)
{
	struct xdp_buff_xsk *heads = pool->heads;
	const u64 addrs_cnt = pool->addrs_cnt;
	const u32 shift = pool->chunk_shift;
	const __le64 *first = rx_desc;
	size_t i;
	u64 addr;

#pragma GCC unroll 4
	for (i = 0; i < count; i++) {
		/* User space can change it at any time: read it once */
		addr = READ_ONCE(addrs[i]);
		if (unlikely(addr >= addrs_cnt))
			continue;

		xsk_refill_write(&heads[addr >> shift], slot, rx_desc);
		slot += step;
		rx_desc += 2;
	}

	return (rx_desc - first) / 2;
}

/* Chunks of the fill ring. Returns how many of at most @count */
static u32 xsk_direct_refill_fast(struct xsk_buff_pool *pool, void *slot,
				  size_t step, __le64 *rx_desc, u32 count)
{
	struct xsk_queue *fq = pool->fq;
	struct xdp_umem_ring *ring = (struct xdp_umem_ring *)fq->ring;
	u32 index, row, got, done = 0;

	count = xskq_cons_nb_entries(fq, count);
	while (count) {
		index = fq->cached_cons & fq->ring_mask;
		row = min(count, fq->nentries - index);
		if (unlikely(READ_ONCE(pool->recycle_check))) {
			done += xsk_refill_checked(pool, &ring->desc[index],
						   row, slot + done * step,
						   step, rx_desc + done * 2);
		} else {
			got = xsk_direct_refill_row(pool, &ring->desc[index],
						    row, slot + done * step,
						    step, rx_desc + done * 2);
			fq->invalid_descs += row - got;
			done += got;
		}
		fq->cached_cons += row;
		count -= row;
	}

	return done;
}

/**
 * xsk_direct_refill() - give chunks of the fill ring to the device
 * @pool: the pool
 * @slot: where the pointer to the first buffer goes
 * @step: bytes from one such place to the next
 * @rx_desc: the first Rx descriptor, of 16 bytes: DMA address, zero
 * @count: how many descriptors there are in a row
 *
 * The buffers' data pointers are not set: drivers that use it call
 * xsk_buff_set_size() before anything looks at them.
 *
 * Context: NAPI poll, or the queue is not running
 * Return: how many descriptors were written
 */
u32 xsk_direct_refill(struct xsk_buff_pool *pool, void *slot, size_t step,
		      __le64 *rx_desc, u32 count)
{
	u32 done = 0;

	if (unlikely(pool->unaligned || dma_dev_need_sync(pool->dev)))
		return xsk_direct_refill_slow(pool, slot, step, rx_desc, count);

	if (unlikely(pool->free_list_cnt))
		done = xsk_direct_refill_slow(pool, slot, step, rx_desc,
					      min(count, pool->free_list_cnt));
	if (!list_empty(&pool->recycle_from))
		done += xsk_recycle_refill(pool, slot + done * step, step,
					   rx_desc + done * 2, count - done);
	done += xsk_direct_refill_fast(pool, slot + done * step, step,
				       rx_desc + done * 2, count - done);
	if (!done)
		pool->fq->queue_empty_descs++;
	return done;
}
EXPORT_SYMBOL_GPL(xsk_direct_refill);

/**
 * xsk_direct_starved() - check whether a refill would be in vain
 * @pool: the pool
 *
 * Context: NAPI poll
 * Return: true if there is no chunk, which is counted as a refill would
 */
bool xsk_direct_starved(struct xsk_buff_pool *pool)
{
	if (pool->free_list_cnt || xskq_cons_nb_entries(pool->fq, 1) ||
	    xsk_recycle_waiting(pool))
		return false;

	pool->fq->queue_empty_descs++;
	return true;
}
EXPORT_SYMBOL_GPL(xsk_direct_starved);

/**
 * xsk_direct_end() - publish what a poll did, and wake the socket
 * @direct: the poll
 */
void xsk_direct_end(struct xsk_direct *direct)
{
	struct xdp_sock *xs = direct->xs;

	xskq_prod_submit(xs->rx);
	__xskq_cons_release(xs->pool->fq);
	sock_def_readable(&xs->sk);
}
EXPORT_SYMBOL_GPL(xsk_direct_end);
