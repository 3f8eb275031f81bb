// SPDX-License-Identifier: GPL-2.0
/*
 * AF_XDP zero-copy Tx. Descriptors are taken from the Tx ring and completed in
 * batches, and only the last one of a batch has the RS bit. As for a
 * multi-buffer packet, the entry of the first descriptor in tx_buffer_info
 * represents the batch: its next_to_watch is the descriptor with the RS bit.
 */
#include <net/xdp_sock_drv.h>
#include <net/xdp.h>
#include <net/xsk_tx_csum.h>
#include <net/xsk_tx_span.h>
#include <net/xsk_tx_wakeup.h>

#include "ixgbe.h"
#include "ixgbe_txrx_common.h"

static __always_inline void ixgbe_xsk_write_tx(void *desc, size_t index,
					       dma_addr_t dma, u32 len,
					       bool eop)
{
	const u32 cmd = IXGBE_ADVTXD_DTYP_DATA | IXGBE_ADVTXD_DCMD_DEXT |
			IXGBE_ADVTXD_DCMD_IFCS | (eop ? IXGBE_TXD_CMD_EOP : 0);
	union ixgbe_adv_tx_desc *tx_desc =
		(union ixgbe_adv_tx_desc *)desc + index;

	tx_desc->read.buffer_addr = cpu_to_le64(dma);
	tx_desc->read.cmd_type_len = cpu_to_le32(cmd | len);
	tx_desc->read.olinfo_status =
		cpu_to_le32(len << IXGBE_ADVTXD_PAYLEN_SHIFT);
}

/* PAYLEN is the length of the packet. The device reads it in the first
 * descriptor only (data sheet of the 82599, 7.2.3.2.4).
 */
static __always_inline void ixgbe_xsk_write_paylen(void *desc, size_t index,
						   u32 bytes)
{
	union ixgbe_adv_tx_desc *tx_desc =
		(union ixgbe_adv_tx_desc *)desc + index;

	tx_desc->read.olinfo_status =
		cpu_to_le32(bytes << IXGBE_ADVTXD_PAYLEN_SHIFT);
}

static void ixgbe_xsk_set_olinfo(void *desc, size_t index, u32 olinfo)
{
	union ixgbe_adv_tx_desc *tx_desc =
		(union ixgbe_adv_tx_desc *)desc + index;

	tx_desc->read.olinfo_status |= cpu_to_le32(olinfo);
}

static noinline u32 ixgbe_xsk_write_single(const struct xsk_tx_span *span,
					   struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_span_write_single(span, ring, ixgbe_xsk_write_tx);
}

static noinline u32 ixgbe_xsk_write_span(const struct xsk_tx_span *span,
					 struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_span_write(span, ring, ixgbe_xsk_write_tx);
}

static noinline u32 ixgbe_xsk_write_any(const struct xsk_tx_span *span,
					struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_span_write_packets(span, ring, ixgbe_xsk_write_tx,
					 ixgbe_xsk_write_paylen);
}

static noinline int ixgbe_xsk_spans_any(struct xsk_buff_pool *pool,
					struct xsk_tx_dev_ring *ring)
{
	int err;

	do {
		err = xsk_tx_spans(pool, ring, ixgbe_xsk_write_any,
				   ixgbe_xsk_write_any, true);
	} while (err == -EOPNOTSUPP && xsk_tx_spans_have_packets(pool) &&
		 !pool->tx_metadata_len && ixgbe_xsk_xmit_packet(pool, ring));

	return err;
}

/* Transmit descriptors that spans do not support, one by one. Returns the
 * number of descriptors of the device that are not for a packet.
 */
static u32 ixgbe_xsk_xmit_single(struct xsk_buff_pool *pool,
				 struct xsk_tx_dev_ring *ring)
{
	u32 olinfo, room = ring->room, max = room;
	struct xdp_desc desc;
	struct ixgbe_xsk_offload offload = {
		.pool = pool,
		.ring = ring,
		.desc = &desc,
		.count = 1,
	};
	dma_addr_t dma;

	if (ixgbe_xsk_has_sg(pool)) {
		ixgbe_xsk_xmit_packets(&offload, room);
		return offload.contexts;
	}

	if (unlikely(pool->tx_metadata_len))
		max = min(max, XSK_TX_CSUM_BATCH);
	while (max-- && ring->room && xsk_tx_peek_desc(pool, &desc)) {
		olinfo = unlikely(pool->tx_metadata_len) ?
			 ixgbe_xsk_request(&offload) : 0;
		dma = xsk_buff_raw_get_dma(pool, desc.addr);
		xsk_buff_raw_dma_sync_for_device(pool, dma, desc.len);
		ixgbe_xsk_write_tx(ring->desc, ring->next, dma, desc.len, true);
		if (unlikely(olinfo))
			ixgbe_xsk_set_olinfo(ring->desc, ring->next, olinfo);
		if (++ring->next == ring->count)
			ring->next = 0;
		ring->bytes += desc.len;
		ring->room--;
	}

	if (ring->room < room)
		xsk_tx_release(pool);
	return offload.contexts;
}

/* Request a report of the last descriptor of the batch that starts at @first,
 * which has @count descriptors for @frames descriptors of AF_XDP
 */
static void ixgbe_xsk_close_batch(struct ixgbe_ring *xdp_ring, u32 first,
				  u32 count, u32 frames, u32 bytes)
{
	struct ixgbe_tx_buffer *tx_bi = &xdp_ring->tx_buffer_info[first];
	union ixgbe_adv_tx_desc *last;
	u32 index = first + count - 1;

	if (index >= xdp_ring->count)
		index -= xdp_ring->count;

	last = IXGBE_TX_DESC(xdp_ring, index);
	last->read.cmd_type_len |= cpu_to_le32(IXGBE_TXD_CMD_RS);
	tx_bi->xdpf = NULL;
	tx_bi->bytecount = bytes;
	tx_bi->gso_segs = frames;
	tx_bi->next_to_watch = last;
}

/**
 * ixgbe_xsk_xmit() - transmit descriptors of the sockets' Tx rings
 * @xdp_ring: Tx ring of the device
 * @again: set if a completion may allow it to transmit more
 *
 * Return: true if the work is finished
 */
static bool ixgbe_xsk_xmit(struct ixgbe_ring *xdp_ring, bool *again)
{
	u32 first = xdp_ring->next_to_use, room = ixgbe_desc_unused(xdp_ring);
	u32 contexts = 0;
	struct xsk_tx_dev_ring ring = {
		.desc = xdp_ring->desc,
		.next = first,
		.count = xdp_ring->count,
		.room = room,
	};
	int err;

	if (unlikely(!netif_carrier_ok(xdp_ring->netdev)))
		return true;
	*again = !room;
	if (unlikely(!room))
		return false;

	if (likely(xsk_tx_spans_are_simple(xdp_ring->xsk_pool)))
		err = xsk_tx_spans(xdp_ring->xsk_pool, &ring,
				   ixgbe_xsk_write_single,
				   ixgbe_xsk_write_span, true);
	else
		err = ixgbe_xsk_spans_any(xdp_ring->xsk_pool, &ring);
	if (unlikely(err == -EOPNOTSUPP))
		contexts = ixgbe_xsk_xmit_single(xdp_ring->xsk_pool, &ring);
	*again = err || !ring.room;
	if (ring.room == room)
		return true;

	xdp_ring->next_to_use = ring.next;
	ixgbe_xsk_close_batch(xdp_ring, first, room - ring.room,
			      room - ring.room - contexts, ring.bytes);
	ixgbe_xdp_ring_update_tail(xdp_ring);
	/* Packets with metadata are taken in limited batches */
	if (err == -EOPNOTSUPP && xdp_ring->xsk_pool->tx_metadata_len)
		return false;
	return ring.room;
}

static void ixgbe_xsk_unmap(struct ixgbe_ring *tx_ring,
			    struct ixgbe_tx_buffer *tx_bi)
{
	if (!dma_unmap_len(tx_bi, len))
		return;

	dma_unmap_single(tx_ring->dev, dma_unmap_addr(tx_bi, dma),
			 dma_unmap_len(tx_bi, len), DMA_TO_DEVICE);
	dma_unmap_len_set(tx_bi, len, 0);
}

/**
 * ixgbe_xsk_clean_first() - free the batch or packet at next_to_clean
 * @tx_ring: Tx ring
 *
 * Either a batch of AF_XDP, or a packet of XDP_TX or of a redirect.
 *
 * Return: number of AF_XDP descriptors
 */
static u32 ixgbe_xsk_clean_first(struct ixgbe_ring *tx_ring)
{
	u32 ntc = tx_ring->next_to_clean;
	struct ixgbe_tx_buffer *tx_bi = &tx_ring->tx_buffer_info[ntc];
	u32 last = tx_bi->next_to_watch - IXGBE_TX_DESC(tx_ring, 0);
	u32 count = last - ntc + 1;

	if (last < ntc)
		count += tx_ring->count;

	tx_bi->next_to_watch = NULL;
	tx_ring->next_to_clean = last + 1 == tx_ring->count ? 0 : last + 1;
	if (likely(!tx_bi->xdpf))
		return tx_bi->gso_segs;

	xdp_return_frame(tx_bi->xdpf);
	tx_bi->xdpf = NULL;
	while (count--) {
		ixgbe_xsk_unmap(tx_ring, &tx_ring->tx_buffer_info[ntc]);
		if (++ntc == tx_ring->count)
			ntc = 0;
	}
	return 0;
}

static void ixgbe_xsk_complete(struct ixgbe_q_vector *q_vector,
			       struct ixgbe_ring *tx_ring)
{
	unsigned int total_packets = 0, total_bytes = 0;
	union ixgbe_adv_tx_desc *eop_desc;
	struct ixgbe_tx_buffer *tx_bi;
	u32 xsk_frames = 0;

	while (tx_ring->next_to_clean != tx_ring->next_to_use) {
		tx_bi = &tx_ring->tx_buffer_info[tx_ring->next_to_clean];
		eop_desc = READ_ONCE(tx_bi->next_to_watch);
		if (!eop_desc ||
		    !(eop_desc->wb.status & cpu_to_le32(IXGBE_TXD_STAT_DD)))
			break;

		total_bytes += tx_bi->bytecount;
		total_packets += tx_bi->gso_segs;
		xsk_frames += ixgbe_xsk_clean_first(tx_ring);
	}

	if (total_packets)
		ixgbe_update_tx_ring_stats(tx_ring, q_vector, total_packets,
					   total_bytes);
	if (xsk_frames)
		xsk_tx_completed(tx_ring->xsk_pool, xsk_frames);
}

static bool ixgbe_xsk_poll_tx(struct ixgbe_q_vector *q_vector,
			      struct ixgbe_ring *tx_ring)
{
	bool again = !xsk_tx_has_spans(tx_ring->xsk_pool);
	bool done = true;

	xsk_tx_wakeup_begin(tx_ring->xsk_pool, &q_vector->napi);
	/* Transmit first: the doorbell of a system call comes earlier */
	if (likely(!again))
		done = ixgbe_xsk_xmit(tx_ring, &again);
	ixgbe_xsk_complete(q_vector, tx_ring);
	/* Completion may have made room */
	if (unlikely(again))
		done = ixgbe_xsk_xmit(tx_ring, &again);

	return done;
}

/**
 * ixgbe_clean_xdp_tx_irq() - transmit descriptors, complete transmitted ones
 * @q_vector: the vector
 * @tx_ring: Tx ring
 * @napi_budget: NAPI budget
 *
 * Return: true if the work is finished
 */
bool ixgbe_clean_xdp_tx_irq(struct ixgbe_q_vector *q_vector,
			    struct ixgbe_ring *tx_ring, int napi_budget)
{
	bool done;

	/* Called by netpoll, which may interrupt the holder of tx_lock */
	if (unlikely(!napi_budget))
		return true;
	/* No socket transmits, and nothing is in flight */
	if (!xsk_pool_has_tx(tx_ring->xsk_pool) &&
	    tx_ring->next_to_clean == READ_ONCE(tx_ring->next_to_use))
		return true;

	if (likely(!ixgbe_xdp_ring_is_remote(tx_ring)))
		return ixgbe_xsk_poll_tx(q_vector, tx_ring);

	spin_lock(&tx_ring->tx_lock);
	done = ixgbe_xsk_poll_tx(q_vector, tx_ring);
	spin_unlock(&tx_ring->tx_lock);

	return done;
}

/**
 * ixgbe_xsk_may_complete() - check whether polling can end
 * @q_vector: the vector
 *
 * Return: true if it can; false if there is more to transmit for sockets that
 * rely on polling
 */
bool ixgbe_xsk_may_complete(struct ixgbe_q_vector *q_vector)
{
	struct ixgbe_ring *ring;
	bool may = true;

	ixgbe_for_each_ring(ring, q_vector->tx) {
		if (ring->xsk_pool)
			may &= xsk_tx_wakeup_end(ring->xsk_pool);
	}

	return may;
}

/**
 * ixgbe_xsk_clean_tx_ring() - complete all descriptors of a stopped ring
 * @tx_ring: Tx ring
 */
void ixgbe_xsk_clean_tx_ring(struct ixgbe_ring *tx_ring)
{
	struct ixgbe_tx_buffer *tx_bi;
	u32 xsk_frames = 0;

	while (tx_ring->next_to_clean != tx_ring->next_to_use) {
		tx_bi = &tx_ring->tx_buffer_info[tx_ring->next_to_clean];
		if (!tx_bi->next_to_watch)
			break;
		xsk_frames += ixgbe_xsk_clean_first(tx_ring);
	}

	if (xsk_frames)
		xsk_tx_completed(tx_ring->xsk_pool, xsk_frames);
	/* The flag may be clear, but the queue is not polled any more */
	if (xsk_uses_need_wakeup(tx_ring->xsk_pool))
		xsk_set_tx_need_wakeup(tx_ring->xsk_pool);
}
