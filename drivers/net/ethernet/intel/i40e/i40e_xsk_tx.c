// SPDX-License-Identifier: GPL-2.0
/*
 * AF_XDP zero-copy Tx of contiguous descriptors. See include/net/xsk_tx_span.h.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_tx_span.h>
#include <net/xsk_tx_wakeup.h>

#include "i40e.h"
#include "i40e_txrx_common.h"
#include "i40e_xsk.h"

static __always_inline void i40e_xsk_write_tx(void *desc, size_t index,
					      dma_addr_t dma, u32 len, bool eop)
{
	u32 cmd = I40E_TX_DESC_CMD_ICRC | (eop ? I40E_TX_DESC_CMD_EOP : 0);
	struct i40e_tx_desc *tx_desc = (struct i40e_tx_desc *)desc + index;

	tx_desc->buffer_addr = cpu_to_le64(dma);
	tx_desc->cmd_type_offset_bsz = build_ctob(cmd, 0, len, 0);
}

static noinline u32 i40e_xsk_write_single(const struct xsk_tx_span *span,
					  struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_span_write_single(span, ring, i40e_xsk_write_tx);
}

static noinline u32 i40e_xsk_write_span(const struct xsk_tx_span *span,
					struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_span_write(span, ring, i40e_xsk_write_tx);
}

static noinline u32 i40e_xsk_write_any(const struct xsk_tx_span *span,
				       struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_span_write_any(span, ring, i40e_xsk_write_tx);
}

static noinline int i40e_xsk_spans_any(struct xsk_buff_pool *pool,
				       struct xsk_tx_dev_ring *ring)
{
	return xsk_tx_spans(pool, ring, i40e_xsk_write_any, i40e_xsk_write_any,
			    false);
}

/* Transmit descriptors that spans do not support. Returns true if the work is
 * finished.
 */
static noinline bool i40e_xsk_xmit_rest(struct i40e_ring *xdp_ring, u32 room)
{
	const struct xsk_buff_pool *pool = xdp_ring->xsk_pool;
	u16 next = xdp_ring->next_to_use;

	/* Packets with metadata often follow each other */
	if (!xsk_tx_spans_have_packets(pool) || pool->tx_metadata_len)
		return i40e_xmit_zc(xdp_ring, room);

	/* Maybe only a packet across the end of a ring: spans go on behind it */
	i40e_xmit_zc(xdp_ring, min_t(u32, room, I40E_MAX_BUFFER_TXD));
	if (xdp_ring->next_to_use != next)
		return false;

	/* Something else: an invalid packet may have any length */
	return i40e_xmit_zc(xdp_ring, room);
}

/**
 * i40e_xsk_xmit() - transmit descriptors of the sockets' Tx rings
 * @xdp_ring: Tx ring of the device
 * @again: set if a completion may allow it to transmit more
 *
 * Return: true if the work is finished
 */
bool i40e_xsk_xmit(struct i40e_ring *xdp_ring, bool *again)
{
	u32 sent, room = I40E_DESC_UNUSED(xdp_ring);
	struct xsk_tx_dev_ring ring = {
		.desc = xdp_ring->desc,
		.next = xdp_ring->next_to_use,
		.count = xdp_ring->count,
		.room = room,
	};
	int err;

	if (likely(xsk_tx_spans_are_simple(xdp_ring->xsk_pool)))
		err = xsk_tx_spans(xdp_ring->xsk_pool, &ring,
				   i40e_xsk_write_single, i40e_xsk_write_span,
				   false);
	else
		err = i40e_xsk_spans_any(xdp_ring->xsk_pool, &ring);
	sent = room - ring.room;
	if (sent) {
		xdp_ring->next_to_use = ring.next;
		i40e_set_rs_bit(xdp_ring);
		i40e_xdp_ring_update_tail(xdp_ring);
		i40e_update_tx_stats(xdp_ring, sent, ring.bytes);
	}

	*again = err || !ring.room;
	if (unlikely(err == -EOPNOTSUPP))
		return i40e_xsk_xmit_rest(xdp_ring, ring.room);
	return !sent || ring.room;
}

/**
 * i40e_xsk_may_complete() - check whether polling can end
 * @q_vector: the vector
 *
 * Return: true if it can; false if there is more to transmit for sockets that
 * rely on polling
 */
bool i40e_xsk_may_complete(struct i40e_q_vector *q_vector)
{
	struct i40e_ring *ring;
	bool may = true;

	i40e_for_each_ring(ring, q_vector->tx) {
		if (ring->xsk_pool)
			may &= xsk_tx_wakeup_end(ring->xsk_pool);
	}

	return may;
}
