// SPDX-License-Identifier: GPL-2.0
/*
 * Multi-buffer packets of zero-copy queues: packets that are longer than a
 * buffer of the pool, and Tx packets of several descriptors.
 *
 * A packet is received when all of its descriptors are written back, so that no
 * part of it is kept between polls. Only a packet that is dropped, because the
 * socket or the program does not support multi-buffer packets, is freed as it
 * arrives.
 */
#include <linux/bpf.h>
#include <linux/bpf_trace.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_rx_entry.h>
#include <net/xsk_tx_csum.h>
#include <net/xsk_tx_span.h>

#include "ixgbe.h"
#include "ixgbe_txrx_common.h"

/* Take the buffer of descriptor @index, which is written back */
static struct xdp_buff *ixgbe_xsk_take_buffer(struct ixgbe_ring *rx_ring,
					      u32 index)
{
	struct xdp_buff *xdp;

	xdp = xsk_rx_take(rx_ring->xsk_pool,
			  rx_ring->rx_buffer_info[index].entry);
	xsk_buff_dma_sync_for_cpu(xdp);
	return xdp;
}

static u32 ixgbe_xsk_buffer_len(struct ixgbe_ring *rx_ring, u32 index)
{
	return le16_to_cpu(IXGBE_RX_DESC(rx_ring, index)->wb.upper.length);
}

/* Returns true if descriptor @index is written back; sets @eop if it is that of
 * the last buffer of a packet
 */
static bool ixgbe_xsk_is_written(struct ixgbe_ring *rx_ring, u32 index,
				 bool *eop)
{
	union ixgbe_adv_rx_desc *rx_desc = IXGBE_RX_DESC(rx_ring, index);

	if (!READ_ONCE(rx_desc->wb.upper.length))
		return false;

	/* The device writes the length last */
	dma_rmb();
	*eop = ixgbe_test_staterr(rx_desc, IXGBE_RXD_STAT_EOP);
	return true;
}

/**
 * ixgbe_xsk_discard() - free the buffers of the packet at next_to_clean
 * @rx_ring: Rx ring; next_to_clean advances
 *
 * If the packet is not complete, its rest is marked to be discarded: the device
 * may need the chunks for it.
 *
 * Return: true if the packet was complete
 */
bool ixgbe_xsk_discard(struct ixgbe_ring *rx_ring)
{
	struct ixgbe_rx_buffer *bi = rx_ring->rx_buffer_info;
	u32 ntc = rx_ring->next_to_clean;
	struct xdp_buff *xdp;
	bool eop = false;

	bi[ntc].discard = false;
	while (!eop && ixgbe_xsk_is_written(rx_ring, ntc, &eop)) {
		xdp = ixgbe_xsk_take_buffer(rx_ring, ntc);
		xsk_buff_set_size(xdp, ixgbe_xsk_buffer_len(rx_ring, ntc));
		if (eop)
			xsk_drop_multi_buffer(rx_ring->xsk_pool, xdp);
		xsk_buff_free(xdp);
		if (++ntc == rx_ring->count)
			ntc = 0;
		rx_ring->rx_stats.non_eop_descs += !eop;
	}

	bi[ntc].discard = !eop;
	rx_ring->next_to_clean = ntc;
	return eop;
}

/* Number of descriptors of the packet at next_to_clean; 0 if it is not
 * complete
 */
static u32 ixgbe_xsk_count_descs(struct ixgbe_ring *rx_ring)
{
	u32 index = rx_ring->next_to_clean, count = 0;
	bool eop = false;

	while (!eop) {
		if (!ixgbe_xsk_is_written(rx_ring, index, &eop))
			return 0;
		if (++index == rx_ring->count)
			index = 0;
		count++;
	}

	return count;
}

/* Returns true if the program of the queue gets multi-buffer packets */
static bool ixgbe_xsk_has_frags(struct ixgbe_ring *rx_ring)
{
	struct bpf_prog *prog = READ_ONCE(rx_ring->xdp_prog);

	if (!ixgbe_xsk_has_sg(rx_ring->xsk_pool))
		return false;
	if (prog->aux->xdp_has_frags)
		return true;

	trace_xdp_exception(rx_ring->netdev, prog, XDP_ABORTED);
	return false;
}

/**
 * ixgbe_xsk_take_packet() - take the multi-buffer packet at next_to_clean
 * @rx_ring: Rx ring; next_to_clean moves to the last descriptor of the packet,
 *	or behind it if the packet is dropped
 * @xdp: receives the first buffer; NULL if the packet is dropped
 *
 * Drops the packet if the socket does not use XDP_USE_SG, or if the program
 * does not support multi-buffer packets, whatever the MTU: the chunks may be
 * smaller.
 *
 * Return: false if the packet is not complete
 */
bool ixgbe_xsk_take_packet(struct ixgbe_ring *rx_ring, struct xdp_buff **xdp)
{
	u32 count, ntc = rx_ring->next_to_clean;
	struct xdp_buff *first, *frag;

	*xdp = NULL;
	if (unlikely(!ixgbe_xsk_has_frags(rx_ring)))
		return ixgbe_xsk_discard(rx_ring);

	count = ixgbe_xsk_count_descs(rx_ring);
	if (!count)
		return false;

	first = ixgbe_xsk_take_buffer(rx_ring, ntc);
	xsk_buff_set_size(first, ixgbe_xsk_buffer_len(rx_ring, ntc));
	rx_ring->rx_stats.non_eop_descs += count - 1;
	while (--count) {
		if (++ntc == rx_ring->count)
			ntc = 0;
		frag = ixgbe_xsk_take_buffer(rx_ring, ntc);
		xsk_buff_add_frag(first, frag,
				  ixgbe_xsk_buffer_len(rx_ring, ntc));
	}

	rx_ring->next_to_clean = ntc;
	*xdp = first;
	return true;
}

/**
 * ixgbe_xsk_copy_frags() - copy the further buffers of a packet
 * @skb: skb that holds the first buffer
 * @xdp: first buffer
 *
 * Frees them, but not @xdp. The skb_shared_info of @xdp has no valid pages.
 *
 * Return: false if a page cannot be allocated
 */
bool ixgbe_xsk_copy_frags(struct sk_buff *skb, struct xdp_buff *xdp)
{
	struct skb_shared_info *sinfo = skb_shinfo(skb);
	struct xdp_buff *frag;
	struct page *page;
	u32 size;

	while ((frag = xsk_buff_get_frag(xdp))) {
		size = frag->data_end - frag->data;
		page = sinfo->nr_frags < MAX_SKB_FRAGS ? dev_alloc_page() :
							 NULL;
		if (page) {
			memcpy(page_address(page), frag->data, size);
			skb_add_rx_frag(skb, sinfo->nr_frags, page, 0, size,
					PAGE_SIZE);
		}
		xsk_buff_free(frag);
		if (!page)
			return false;
	}

	return true;
}

/* Returns the options of the first descriptor of a packet, of at most @max */
static u32 ixgbe_xsk_start_packet(struct ixgbe_xsk_offload *offload,
				  const struct xdp_desc *desc, u32 max)
{
	u32 olinfo, len = desc->len;

	offload->desc = desc;
	offload->count = 1;
	while (offload->count < max && desc->options & XDP_PKT_CONTD) {
		len += (++desc)->len;
		offload->count++;
	}

	olinfo = unlikely(offload->pool->tx_metadata_len) ?
		 ixgbe_xsk_request(offload) : 0;
	return olinfo | len << IXGBE_ADVTXD_PAYLEN_SHIFT;
}

static void ixgbe_xsk_write_buffer(struct xsk_buff_pool *pool,
				   union ixgbe_adv_tx_desc *tx_desc,
				   const struct xdp_desc *desc, u32 olinfo)
{
	dma_addr_t dma = xsk_buff_raw_get_dma(pool, desc->addr);
	u32 cmd = IXGBE_ADVTXD_DTYP_DATA | IXGBE_ADVTXD_DCMD_DEXT |
		  IXGBE_ADVTXD_DCMD_IFCS | desc->len;

	if (!(desc->options & XDP_PKT_CONTD))
		cmd |= IXGBE_TXD_CMD_EOP;
	xsk_buff_raw_dma_sync_for_device(pool, dma, desc->len);
	tx_desc->read.buffer_addr = cpu_to_le64(dma);
	tx_desc->read.cmd_type_len = cpu_to_le32(cmd);
	tx_desc->read.olinfo_status = cpu_to_le32(olinfo);
}

/**
 * ixgbe_xsk_xmit_packets() - transmit packets that spans do not support
 * @offload: state of the poll, of a pool with XDP_USE_SG; updated, as is its
 *	ring
 * @max: maximum number of descriptors, not more than are free
 *
 * Return: number of descriptors of packets
 */
u32 ixgbe_xsk_xmit_packets(struct ixgbe_xsk_offload *offload, u32 max)
{
	struct xsk_tx_dev_ring *ring = offload->ring;
	const struct xdp_desc *desc = offload->pool->tx_descs;
	union ixgbe_adv_tx_desc *tx_desc = ring->desc;
	u32 i, sent, olinfo;
	bool first = true;

	/* Each packet may need a context */
	if (offload->pool->tx_metadata_len)
		max = min(max / 2, XSK_TX_CSUM_BATCH);
	if (!max)
		return 0;

	/* Whole packets, from one copy of the descriptors */
	sent = xsk_tx_peek_release_desc_batch(offload->pool, max);
	for (i = 0; i < sent; i++, desc++) {
		olinfo = first ?
			 ixgbe_xsk_start_packet(offload, desc, sent - i) : 0;
		ixgbe_xsk_write_buffer(offload->pool, &tx_desc[ring->next],
				       desc, olinfo);
		ring->bytes += desc->len;
		first = !(desc->options & XDP_PKT_CONTD);
		if (++ring->next == ring->count)
			ring->next = 0;
	}

	ring->room -= sent;
	return sent;
}

/**
 * ixgbe_xsk_xmit_packet() - transmit a packet that spans do not support
 * @pool: the pool, without metadata
 * @ring: Tx ring of the device; updated
 *
 * It may be a packet across the end of a ring: spans go on behind it.
 *
 * Return: false if no packet was transmitted
 */
bool ixgbe_xsk_xmit_packet(struct xsk_buff_pool *pool,
			   struct xsk_tx_dev_ring *ring)
{
	struct ixgbe_xsk_offload offload = { .pool = pool, .ring = ring };

	return ixgbe_xsk_xmit_packets(&offload,
				      min(ring->room,
					  pool->netdev->xdp_zc_max_segs));
}
