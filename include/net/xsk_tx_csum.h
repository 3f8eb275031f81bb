/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_TX_CSUM_H
#define _NET_XSK_TX_CSUM_H

#include <linux/if_xdp.h>
#include <linux/types.h>

/*
 * Tx checksum offload of zero-copy drivers: a request of user space names two
 * offsets, a device needs the lengths and the types of headers.
 */

struct xsk_buff_pool;

/* Maximum number of descriptors of a call of xsk_tx_peek_release_desc_batch() or
 * of a loop over xsk_tx_peek_desc(), for a pool with metadata: all of them may be
 * requests that the CPU has to compute
 */
#define XSK_TX_CSUM_BATCH	256

/**
 * struct xsk_tx_csum - headers of a packet whose checksum a device can compute
 * @mac_len: length of the Ethernet header with its VLAN tags: 14, 18 or 22
 * @ip_len: length of the IP header: 20 to 60 for IPv4, 40 for IPv6
 * @l4_len: length of the TCP or UDP header, which is within the first buffer
 * @ipv4: IPv4, not IPv6
 * @tcp: TCP, not UDP
 */
struct xsk_tx_csum {
	u8 mac_len;
	u8 ip_len;
	u8 l4_len;
	bool ipv4;
	bool tcp;
};

#ifdef CONFIG_XDP_SOCKETS

bool xsk_tx_csum_parse(struct xsk_tx_csum *csum, const void *data, u32 len,
		       u32 packet_len, u16 start, u16 offset);
void xsk_tx_csum_compute(struct xsk_buff_pool *pool,
			 const struct xdp_desc *descs, u32 count, u16 start,
			 u16 offset);
bool xsk_tx_csum_prepare(struct xsk_tx_csum *csum, struct xsk_buff_pool *pool,
			 const struct xdp_desc *descs, u32 count, u16 start,
			 u16 offset);

#else

static inline void xsk_tx_csum_compute(struct xsk_buff_pool *pool,
				       const struct xdp_desc *descs, u32 count,
				       u16 start, u16 offset)
{
}

static inline bool xsk_tx_csum_prepare(struct xsk_tx_csum *csum,
				       struct xsk_buff_pool *pool,
				       const struct xdp_desc *descs, u32 count,
				       u16 start, u16 offset)
{
	return false;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_TX_CSUM_H */
