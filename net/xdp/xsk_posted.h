/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_POSTED_H_
#define XSK_POSTED_H_

#include <linux/bits.h>
#include <linux/types.h>
#include <net/xsk_buff_pool.h>
#include <net/xsk_refill.h>

#include "xsk_drop.h"

/*
 * XDP_RECYCLE_F_CHECK: chunks that are posted to the device are marked, so that
 * a second address of the same chunk is refused. Polls of the Rx queue call
 * these functions.
 */

/*
 * Bit of an xdp_buff's flags: the chunk is posted to the device. Only if
 * xsk_checks_posted(), and not for all posted chunks: xp_alloc() and
 * xsk_buff_set_size() clear all flags.
 */
#define XSK_POSTED	BIT(31)

/**
 * xsk_checks_posted() - check for XDP_RECYCLE_F_CHECK
 * @pool: the pool
 *
 * Return: true if a socket of the pool has, or had, it
 */
static inline bool xsk_checks_posted(const struct xsk_buff_pool *pool)
{
	return READ_ONCE(pool->refill_kind) == XSK_REFILL_CHECK;
}

/**
 * xsk_is_posted() - check whether a chunk belongs to the device
 * @xskb: the buffer of the chunk
 *
 * Return: true if it is marked as posted, or on the free list
 */
static inline bool xsk_is_posted(const struct xdp_buff_xsk *xskb)
{
	return xskb->xdp.flags & XSK_POSTED || !list_empty(&xskb->list_node);
}

/**
 * xsk_mark_posted() - mark a chunk as posted
 * @pool: the pool
 * @xskb: the buffer of the chunk
 *
 * Return: false if it already is: user space posted it twice
 */
static inline bool xsk_mark_posted(struct xsk_buff_pool *pool,
				   struct xdp_buff_xsk *xskb)
{
	if (xsk_is_posted(xskb)) {
		xsk_drop_duplicate(pool, xskb);
		return false;
	}

	xskb->xdp.flags |= XSK_POSTED;
	return true;
}

/**
 * xsk_unmark_posted() - clear the mark of a delivered chunk
 * @xskb: the buffer of the chunk
 */
static inline void xsk_unmark_posted(struct xdp_buff_xsk *xskb)
{
	xskb->xdp.flags = 0;
}

#endif /* XSK_POSTED_H_ */
