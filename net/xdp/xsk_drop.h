/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_DROP_H_
#define XSK_DROP_H_

#include <linux/compiler_attributes.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/types.h>

struct xdp_buff;
struct xdp_buff_xsk;
struct xdp_desc;
struct xdp_sock;
struct xsk_buff_pool;

/* All are calls for failure branches only: the compiler moves those away from
 * the code of success.
 */
void __cold xsk_drop_rx(struct xdp_sock *xs, const struct xdp_buff *xdp,
			u32 reason);
void __cold xsk_drop_fill(struct xsk_buff_pool *pool, u64 addr);
void __cold xsk_drop_duplicate(struct xsk_buff_pool *pool,
			       const struct xdp_buff_xsk *xskb);
void __cold xsk_drop_tx(struct xdp_sock *xs, u32 reason, u32 descs);
void __cold xsk_drop_tx_desc(struct xdp_sock *xs, struct xdp_desc *desc);
void __cold xsk_drop_tx_packet(struct xdp_sock *xs, struct xdp_desc *descs,
			       u32 count);
void __cold xsk_drop_tx_device(struct xdp_sock *xs);

u32 xsk_drop_tx_reason(struct xsk_buff_pool *pool, struct xdp_desc *desc);

u64 xsk_drops(const struct xdp_sock *xs, u32 first, u32 last);
void xsk_drop_stats(const struct xdp_sock *xs, struct xdp_drop_stats *stats);
int xsk_drop_getsockopt(struct xdp_sock *xs, char __user *optval,
			int __user *optlen, int len);

/* Sums for struct xdp_statistics: the order of the reasons is ABI */

static inline u64 xsk_drops_rx_ring_full(const struct xdp_sock *xs)
{
	return xsk_drops(xs, XDP_DROP_RX_RING_FULL, XDP_DROP_RX_RING_FULL);
}

static inline u64 xsk_drops_rx_other(const struct xdp_sock *xs)
{
	return xsk_drops(xs, XDP_DROP_RX_NO_BUFFER, XDP_DROP_RX_MULTI_BUFFER);
}

static inline u64 xsk_drops_tx_invalid(const struct xdp_sock *xs)
{
	return xsk_drops(xs, XDP_DROP_TX_EMPTY, XDP_DROP_TX_PACKET) +
	       xsk_drops(xs, XDP_DROP_TX_CHECKSUM, XDP_DROP_TX_CHECKSUM);
}

#endif /* XSK_DROP_H_ */
