// SPDX-License-Identifier: GPL-2.0
/*
 * Entries of the software Rx ring of unaligned chunks: see
 * include/net/xsk_rx_entry.h.
 */
#include <net/xsk_rx_entry.h>

/**
 * __xsk_rx_take() - xsk_rx_take() of an unaligned chunk
 * @pool: the pool
 * @entry: an entry, which is not used afterwards
 *
 * Return: the buffer, the one that was reserved when the chunk was posted
 */
struct xdp_buff *__xsk_rx_take(struct xsk_buff_pool *pool, u64 entry)
{
	struct xdp_buff_xsk *xskb = pool->free_heads[--pool->free_heads_cnt];
	u64 addr = xp_unaligned_extract_addr(entry);

	pool->reserved_heads--;
	xp_init_xskb_addr(xskb, pool, addr);
	xp_init_xskb_dma(xskb, pool, addr);
	return &xskb->xdp;
}
EXPORT_SYMBOL_GPL(__xsk_rx_take);

/**
 * __xsk_rx_put() - xsk_rx_put() of an unaligned chunk
 * @pool: the pool
 * @xdp: the buffer, which becomes the reserved one
 *
 * Return: the entry
 */
u64 __xsk_rx_put(struct xsk_buff_pool *pool, struct xdp_buff *xdp)
{
	struct xdp_buff_xsk *xskb = container_of(xdp, struct xdp_buff_xsk, xdp);
	u64 addr = xdp->data_hard_start - pool->addrs - pool->headroom;

	xp_release(xskb);
	pool->reserved_heads++;
	return addr + xp_unaligned_offset(pool);
}
EXPORT_SYMBOL_GPL(__xsk_rx_put);
