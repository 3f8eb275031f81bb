/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_REFILL_H_
#define XSK_REFILL_H_

#include <linux/bits.h>
#include <linux/types.h>
#include <net/xsk_buff_pool.h>

#include "xsk_queue.h"

/*
 * Of an xdp_buff's flags: the device has the chunk. Only where @recycle_check
 * of the pool is set, and not for each that it has: it is cleared wherever a
 * chunk changes hands, as xp_alloc() and xsk_buff_set_size() clear all flags.
 */
#define XSK_REFILL_CLAIMED	BIT(31)

/*
 * Give a chunk to the device: the pointer to its buffer goes to @slot, its
 * DMA address and a zero into the descriptor.
 */
static __always_inline void xsk_refill_write(struct xdp_buff_xsk *xskb,
					     void *slot, __le64 *rx_desc)
{
	*(struct xdp_buff **)slot = &xskb->xdp;
	rx_desc[0] = cpu_to_le64(xskb->dma);
	rx_desc[1] = 0;
}

/* Claim a chunk for the device. Returns false if it has it, or will get it from
 * the free list: user space gave it away twice.
 */
static inline bool xsk_refill_claim(struct xsk_buff_pool *pool,
				    struct xdp_buff_xsk *xskb)
{
	if (xskb->xdp.flags & XSK_REFILL_CLAIMED ||
	    !list_empty(&xskb->list_node)) {
		pool->recycle_duplicates++;
		return false;
	}

	xskb->xdp.flags |= XSK_REFILL_CLAIMED;
	return true;
}

/*
 * Give chunks that lie in a row to the device, but those that it has. Returns
 * how many descriptors were written. Called by the polls of the Rx queue, as is
 * xsk_refill_disclaim().
 */
static inline size_t xsk_refill_checked(struct xsk_buff_pool *pool,
					const u64 *addrs, size_t count,
					void *slot, size_t step,
					__le64 *rx_desc)
{
	const __le64 *first = rx_desc;
	struct xdp_buff_xsk *xskb;
	u64 addr;

	for (; count--; addrs++) {
		/* Of the fill ring, where user space can change it */
		addr = READ_ONCE(*addrs);
		if (addr >= pool->addrs_cnt) {
			pool->fq->invalid_descs++;
			continue;
		}

		xskb = &pool->heads[addr >> pool->chunk_shift];
		if (!xsk_refill_claim(pool, xskb))
			continue;

		xsk_refill_write(xskb, slot, rx_desc);
		slot += step;
		rx_desc += 2;
	}

	return (rx_desc - first) / 2;
}

/* Frames were delivered in a row. What user space writes there at the same time
 * may be to its own disadvantage.
 */
static inline void xsk_refill_disclaim(struct xsk_buff_pool *pool,
				       const struct xdp_desc *desc, u32 count)
{
	u64 addr;

	for (; count--; desc++) {
		addr = READ_ONCE(desc->addr);
		if (addr < pool->addrs_cnt)
			pool->heads[addr >> pool->chunk_shift].xdp.flags = 0;
	}
}

#endif /* XSK_REFILL_H_ */
