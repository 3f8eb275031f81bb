/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_CAPTURE_H_
#define XSK_CAPTURE_H_

#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>
#include <net/xsk_capture.h>

#include "xsk_queue.h"

void xsk_capture_publish(struct xdp_sock *xs);
void xsk_capture_tx(struct xsk_buff_pool *pool, const struct xdp_desc *descs,
		    u32 count);

/* Capture descriptors that the driver of the pool gets */
static inline void xsk_capture_taken(struct xsk_buff_pool *pool,
				     const struct xdp_desc *descs, u32 count)
{
	if (count && xsk_capture_wanted(pool->netdev))
		xsk_capture_tx(pool, descs, count);
}

/* User space can write to the producer index: capture starts at a private one */
static inline void __xsk_rx_publish(struct xdp_sock *xs)
{
	struct xsk_queue *rx = xs->rx;

	rx->submitted = rx->cached_prod;
	xskq_prod_submit(rx);
	sock_def_readable(&xs->sk);
}

/* Publish the new entries of the Rx ring, and wake up the socket */
static inline void xsk_rx_publish(struct xdp_sock *xs)
{
	if (static_branch_unlikely(&xsk_capture_key.key))
		xsk_capture_publish(xs);
	else
		__xsk_rx_publish(xs);
}

#endif /* XSK_CAPTURE_H_ */
