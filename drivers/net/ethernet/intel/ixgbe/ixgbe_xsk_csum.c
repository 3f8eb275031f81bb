// SPDX-License-Identifier: GPL-2.0
/*
 * Checksum requests in the metadata of AF_XDP packets. The device takes the
 * lengths of the headers from a context, of which each Tx queue has two.
 * Packets of XDP rings use the second one, and only with a checksum: it is
 * written when it differs from that of the packet before, in the same poll.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_tx_csum.h>
#include <net/xsk_tx_span.h>

#include "ixgbe.h"
#include "ixgbe_txrx_common.h"

#define IXGBE_XSK_CONTEXT	BIT(IXGBE_ADVTXD_IDX_SHIFT)

static void ixgbe_xsk_write_context(struct ixgbe_xsk_offload *offload)
{
	struct xsk_tx_dev_ring *ring = offload->ring;
	struct ixgbe_adv_tx_context_desc *desc =
		(struct ixgbe_adv_tx_context_desc *)ring->desc + ring->next;

	desc->vlan_macip_lens = cpu_to_le32(offload->vlan_macip_lens);
	desc->fceof_saidx = 0;
	desc->type_tucmd_mlhl = cpu_to_le32(offload->type_tucmd);
	desc->mss_l4len_idx = cpu_to_le32(IXGBE_XSK_CONTEXT);

	if (++ring->next == ring->count)
		ring->next = 0;
	ring->room--;
	offload->contexts++;
}

static void ixgbe_xsk_request_checksum(u16 start, u16 offset, void *priv)
{
	struct ixgbe_xsk_offload *offload = priv;
	u32 lens, tucmd = IXGBE_TXD_CMD_DEXT | IXGBE_ADVTXD_DTYP_CTXT;
	struct xsk_tx_csum csum;

	if (!xsk_tx_csum_prepare(&csum, offload->pool, offload->desc,
				 offload->count, start, offset))
		return;

	lens = csum.mac_len << IXGBE_ADVTXD_MACLEN_SHIFT | csum.ip_len;
	tucmd |= csum.ipv4 ? IXGBE_ADVTXD_TUCMD_IPV4 : IXGBE_ADVTXD_TUCMD_IPV6;
	tucmd |= csum.tcp ? IXGBE_ADVTXD_TUCMD_L4T_TCP :
			    IXGBE_ADVTXD_TUCMD_L4T_UDP;

	if (lens != offload->vlan_macip_lens || tucmd != offload->type_tucmd) {
		/* The packet was taken and needs a descriptor, too */
		if (unlikely(offload->ring->room < 2)) {
			xsk_tx_csum_compute(offload->pool, offload->desc,
					    offload->count, start, offset);
			return;
		}
		offload->vlan_macip_lens = lens;
		offload->type_tucmd = tucmd;
		ixgbe_xsk_write_context(offload);
	}

	offload->olinfo = IXGBE_ADVTXD_POPTS_TXSM | IXGBE_ADVTXD_CC |
			  IXGBE_XSK_CONTEXT;
}

/* The timestamp of a packet is not reported: see af_xdp_fastpath.rst */
const struct xsk_tx_metadata_ops ixgbe_xsk_tx_metadata_ops = {
	.tmo_request_checksum = ixgbe_xsk_request_checksum,
	.csum_offsets = true,
};

/**
 * ixgbe_xsk_request() - handle the metadata of a packet, if it has some
 * @offload: state of the poll, with the packet; updated, as is its ring
 *
 * Return: options of the device's descriptor for the packet
 */
u32 ixgbe_xsk_request(struct ixgbe_xsk_offload *offload)
{
	const struct xdp_desc *desc = offload->desc;
	struct xsk_tx_metadata *meta;

	offload->olinfo = 0;
	meta = xsk_buff_get_metadata(offload->pool, desc->addr, desc->options);
	xsk_tx_metadata_request(meta, &ixgbe_xsk_tx_metadata_ops, offload);
	return offload->olinfo;
}
