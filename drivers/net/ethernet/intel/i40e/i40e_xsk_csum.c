// SPDX-License-Identifier: GPL-2.0
/*
 * AF_XDP zero-copy Tx of packets that may have metadata, which can request a
 * checksum. Packets without it are transmitted by i40e_xsk_tx.c.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_tx_csum.h>

#include "i40e.h"
#include "i40e_txrx_common.h"
#include "i40e_xsk.h"

/**
 * struct i40e_xsk_packet - a packet, on the stack of a poll
 * @pool: the pool
 * @descs: its descriptors
 * @count: number of descriptors
 * @cmd: command of the device's descriptors
 * @offset: lengths of its headers, if the device computes the checksum
 */
struct i40e_xsk_packet {
	struct xsk_buff_pool *pool;
	const struct xdp_desc *descs;
	u32 count;
	u32 cmd;
	u32 offset;
};

static void i40e_xsk_request_checksum(u16 start, u16 offset, void *priv)
{
	struct i40e_xsk_packet *packet = priv;
	struct xsk_tx_csum csum;

	if (!xsk_tx_csum_prepare(&csum, packet->pool, packet->descs,
				 packet->count, start, offset))
		return;

	packet->cmd |= csum.ipv4 ? I40E_TX_DESC_CMD_IIPT_IPV4 :
				   I40E_TX_DESC_CMD_IIPT_IPV6;
	packet->cmd |= csum.tcp ? I40E_TX_DESC_CMD_L4T_EOFT_TCP :
				  I40E_TX_DESC_CMD_L4T_EOFT_UDP;
	packet->offset = csum.mac_len / 2 << I40E_TX_DESC_LENGTH_MACLEN_SHIFT |
			 csum.ip_len / 4 << I40E_TX_DESC_LENGTH_IPLEN_SHIFT |
			 csum.l4_len / 4 <<
			 I40E_TX_DESC_LENGTH_L4_FC_LEN_SHIFT;
}

/* The timestamp of a packet is not reported: see af_xdp_fastpath.rst */
const struct xsk_tx_metadata_ops i40e_xsk_tx_metadata_ops = {
	.tmo_request_checksum = i40e_xsk_request_checksum,
	.csum_offsets = true,
};

/* All descriptors of a packet have the same command and offsets */
static void i40e_xsk_write_desc(struct i40e_ring *xdp_ring,
				const struct i40e_xsk_packet *packet,
				const struct xdp_desc *desc)
{
	u32 cmd = packet->cmd | (xsk_is_eop_desc(desc) ?
				 I40E_TX_DESC_CMD_EOP : 0);
	struct i40e_tx_desc *tx_desc;
	dma_addr_t dma;

	dma = xsk_buff_raw_get_dma(packet->pool, desc->addr);
	xsk_buff_raw_dma_sync_for_device(packet->pool, dma, desc->len);

	tx_desc = I40E_TX_DESC(xdp_ring, xdp_ring->next_to_use);
	tx_desc->buffer_addr = cpu_to_le64(dma);
	tx_desc->cmd_type_offset_bsz = build_ctob(cmd, packet->offset,
						  desc->len, 0);
	if (++xdp_ring->next_to_use == xdp_ring->count)
		xdp_ring->next_to_use = 0;
}

/* Number of descriptors of the first packet */
static u32 i40e_xsk_packet_count(const struct xdp_desc *descs, u32 max)
{
	u32 count = 1;

	while (count < max && !xsk_is_eop_desc(&descs[count - 1]))
		count++;

	return count;
}

/**
 * i40e_xsk_fill_packets() - write packets that may have metadata to the ring
 * @xdp_ring: Tx ring of the device
 * @descs: valid descriptors of whole packets
 * @count: number of descriptors, which the ring has room for
 * @total_bytes: number of bytes transmitted; updated
 *
 * Only the first descriptor of a packet has metadata.
 */
void i40e_xsk_fill_packets(struct i40e_ring *xdp_ring,
			   const struct xdp_desc *descs, u32 count,
			   unsigned int *total_bytes)
{
	struct xsk_tx_metadata *meta;
	u32 i;

	while (count) {
		struct i40e_xsk_packet packet = {
			.pool = xdp_ring->xsk_pool,
			.descs = descs,
			.count = i40e_xsk_packet_count(descs, count),
			.cmd = I40E_TX_DESC_CMD_ICRC,
		};

		meta = xsk_buff_get_metadata(packet.pool, descs->addr,
					     descs->options);
		xsk_tx_metadata_request(meta, &i40e_xsk_tx_metadata_ops,
					&packet);
		for (i = 0; i < packet.count; i++) {
			i40e_xsk_write_desc(xdp_ring, &packet, &descs[i]);
			*total_bytes += descs[i].len;
		}
		descs += packet.count;
		count -= packet.count;
	}
}
