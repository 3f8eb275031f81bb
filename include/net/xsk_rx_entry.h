/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_RX_ENTRY_H
#define _NET_XSK_RX_ENTRY_H

#include <linux/types.h>
#include <net/xdp_sock_drv.h>

/*
 * The software Rx ring of a zero-copy queue has an entry of 64 bits for each
 * posted descriptor. If chunks are aligned, it is the buffer of the chunk. If
 * not, it is the address that the socket receives, and the packet gets a buffer
 * when a program runs: one is reserved for each posted descriptor.
 */

#ifdef CONFIG_XDP_SOCKETS

struct xdp_buff *__xsk_rx_take(struct xsk_buff_pool *pool, u64 entry);
u64 __xsk_rx_put(struct xsk_buff_pool *pool, struct xdp_buff *xdp);

/**
 * xsk_rx_entry() - get the entry of an aligned chunk
 * @xdp: its buffer
 *
 * Return: the entry
 */
static inline u64 xsk_rx_entry(const struct xdp_buff *xdp)
{
	return (uintptr_t)xdp;
}

/**
 * xsk_rx_take() - get the buffer of an entry
 * @pool: the pool
 * @entry: an entry, which is not used afterwards
 *
 * Context: NAPI poll, or the queue is not running
 * Return: the buffer
 */
static inline struct xdp_buff *xsk_rx_take(struct xsk_buff_pool *pool,
					   u64 entry)
{
	if (unlikely(pool->unaligned))
		return __xsk_rx_take(pool, entry);
	return (struct xdp_buff *)(uintptr_t)entry;
}

/**
 * xsk_rx_put() - get the entry of a buffer
 * @pool: the pool
 * @xdp: the buffer, which is not used afterwards
 *
 * Context: NAPI poll, or the queue is not running
 * Return: the entry
 */
static inline u64 xsk_rx_put(struct xsk_buff_pool *pool, struct xdp_buff *xdp)
{
	if (unlikely(pool->unaligned))
		return __xsk_rx_put(pool, xdp);
	return xsk_rx_entry(xdp);
}

#else

static inline u64 xsk_rx_put(struct xsk_buff_pool *pool, struct xdp_buff *xdp)
{
	return 0;
}

static inline struct xdp_buff *xsk_rx_take(struct xsk_buff_pool *pool,
					   u64 entry)
{
	return NULL;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_RX_ENTRY_H */
