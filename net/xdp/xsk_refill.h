/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_REFILL_H_
#define XSK_REFILL_H_

#include <linux/types.h>
#include <net/xsk_buff_pool.h>

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

#endif /* XSK_REFILL_H_ */
