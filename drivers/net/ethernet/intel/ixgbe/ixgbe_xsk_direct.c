// SPDX-License-Identifier: GPL-2.0
/*
 * Poll of a zero-copy queue: refill, and direct delivery to the attached
 * socket. See include/net/xsk_refill.h and include/net/xsk_direct.h.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_direct.h>

#include "ixgbe.h"
#include "ixgbe_txrx_common.h"

static struct xsk_rx_ring ixgbe_xsk_ring(const struct ixgbe_ring *rx_ring)
{
	return (struct xsk_rx_ring) {
		.pool = rx_ring->xsk_pool,
		.desc = rx_ring->desc,
		.bufs = rx_ring->rx_buffer_info,
		.count = rx_ring->count,
		.next_to_use = rx_ring->next_to_use,
		.next_to_clean = rx_ring->next_to_clean,
	};
}

static __always_inline u64 ixgbe_xsk_read(void *desc, void *bufs, size_t index,
					  u64 max_len, u64 *entry, bool *eop)
{
	union ixgbe_adv_rx_desc *rx_desc;
	u32 len;

	rx_desc = &((union ixgbe_adv_rx_desc *)desc)[index];
	len = le16_to_cpu(READ_ONCE(rx_desc->wb.upper.length));
	/* Zero: not written back */
	if (len - 1 >= (u32)max_len)
		return 0;

	/* The device writes the length last */
	dma_rmb();
	*eop = ixgbe_test_staterr(rx_desc, IXGBE_RXD_STAT_EOP);
	*entry = ((struct ixgbe_rx_buffer *)bufs)[index].entry;
	return len;
}

static noinline u32 ixgbe_xsk_read_span(struct xsk_direct *direct,
					const struct xsk_rx_ring *ring,
					size_t count)
{
	return xsk_direct_read(direct, ring, count, ixgbe_xsk_read);
}

static noinline u32 ixgbe_xsk_read_packets(struct xsk_direct_packets *state,
					   const struct xsk_rx_ring *ring,
					   size_t count)
{
	return xsk_direct_read_packets(state, ring, count, ixgbe_xsk_read);
}

static __always_inline void ixgbe_xsk_write(void *desc, void *bufs,
					    size_t index, u64 entry,
					    dma_addr_t dma)
{
	union ixgbe_adv_rx_desc *rx_desc;

	rx_desc = &((union ixgbe_adv_rx_desc *)desc)[index];
	((struct ixgbe_rx_buffer *)bufs)[index].entry = entry;
	rx_desc->read.pkt_addr = cpu_to_le64(dma);
	rx_desc->read.hdr_addr = 0;
}

static noinline u32 ixgbe_xsk_post_span(const struct xsk_refill_span *span,
					const struct xsk_rx_ring *ring)
{
	return xsk_refill_post(span, ring, ixgbe_xsk_write);
}

/* Post at most @count chunks. Returns the number that is missing. */
static u32 ixgbe_xsk_post(struct ixgbe_ring *rx_ring, struct xsk_rx_ring *ring,
			  u32 count)
{
	u32 left = xsk_refill(ring, count, ixgbe_xsk_post_span);

	/* The first descriptor that is not posted must not look complete */
	IXGBE_RX_DESC(rx_ring, ring->next_to_use)->wb.upper.length = 0;
	if (ring->next_to_use != rx_ring->next_to_use) {
		rx_ring->next_to_use = ring->next_to_use;

		/* Descriptors before the doorbell, also on weakly ordered
		 * architectures
		 */
		wmb();
		writel(ring->next_to_use, rx_ring->tail);
	}

	return left;
}

/**
 * ixgbe_alloc_rx_buffers_zc - post a number of chunks
 * @rx_ring: Rx ring
 * @count: number of free descriptors to use
 *
 * Return: false if there are not enough chunks
 */
bool ixgbe_alloc_rx_buffers_zc(struct ixgbe_ring *rx_ring, u16 count)
{
	struct xsk_rx_ring ring = ixgbe_xsk_ring(rx_ring);

	return !ixgbe_xsk_post(rx_ring, &ring, count);
}

/* Returns false if there are not enough chunks */
static bool ixgbe_xsk_refill_ring(struct ixgbe_ring *rx_ring,
				  struct xsk_rx_ring *ring)
{
	u32 left = ixgbe_desc_unused(rx_ring);

	if (left < IXGBE_RX_BUFFER_WRITE)
		return true;

	xsk_refill_begin(ring->pool, left, ring->count);
	left = ixgbe_xsk_post(rx_ring, ring, left);
	return xsk_refill_enough(ring->pool, left, ring->count);
}

/**
 * ixgbe_xsk_refill - post chunks, if it is worth it
 * @rx_ring: Rx ring
 *
 * Return: false if there are not enough chunks
 */
bool ixgbe_xsk_refill(struct ixgbe_ring *rx_ring)
{
	struct xsk_rx_ring ring = ixgbe_xsk_ring(rx_ring);

	return ixgbe_xsk_refill_ring(rx_ring, &ring);
}

static bool ixgbe_xsk_idle(const struct ixgbe_ring *rx_ring, u32 index)
{
	const union ixgbe_adv_rx_desc *rx_desc = IXGBE_RX_DESC(rx_ring, index);

	return !READ_ONCE(rx_desc->wb.upper.length);
}

static int ixgbe_xsk_direct_poll(struct ixgbe_q_vector *q_vector,
				 struct ixgbe_ring *rx_ring,
				 struct xsk_direct *direct, int budget)
{
	struct xsk_rx_ring ring = ixgbe_xsk_ring(rx_ring);
	u32 done, stop;
	bool filled;

	done = xsk_direct_receive(direct, &ring, budget, &stop,
				  ixgbe_xsk_read_span, ixgbe_xsk_read_packets);
	rx_ring->next_to_clean = ring.next_to_clean;
	ixgbe_update_rx_ring_stats(rx_ring, q_vector, done, direct->bytes);
	if (unlikely(done < budget && !ixgbe_xsk_idle(rx_ring, stop))) {
		xsk_direct_end(direct);
		return done + ixgbe_clean_rx_irq_xdp_zc(q_vector, rx_ring,
							budget - done);
	}

	filled = ixgbe_xsk_refill_ring(rx_ring, &ring);
	xsk_direct_end(direct);
	return xsk_refill_result(ring.pool, filled,
				 ring.next_to_clean == ring.next_to_use, done,
				 budget);
}

/**
 * ixgbe_clean_rx_irq_zc - receive packets of a zero-copy queue
 * @q_vector: the vector
 * @rx_ring: Rx ring
 * @budget: NAPI budget
 *
 * Return: amount of work completed
 */
int ixgbe_clean_rx_irq_zc(struct ixgbe_q_vector *q_vector,
			  struct ixgbe_ring *rx_ring, const int budget)
{
	struct xsk_buff_pool *pool = rx_ring->xsk_pool;
	struct xsk_direct direct;
	bool filled;

	if (ixgbe_xsk_idle(rx_ring, rx_ring->next_to_clean) &&
	    xsk_refill_idle(pool, ixgbe_desc_unused(rx_ring), rx_ring->count,
			    IXGBE_RX_BUFFER_WRITE, &filled))
		return xsk_refill_result(pool, filled, rx_ring->next_to_clean ==
					 rx_ring->next_to_use, 0, budget);
	/* The rest of a multi-buffer packet is dropped */
	if (!rx_ring->rx_buffer_info[rx_ring->next_to_clean].discard &&
	    xsk_direct_begin(&direct, READ_ONCE(rx_ring->xdp_prog),
			     &rx_ring->xdp_rxq, pool, budget))
		return ixgbe_xsk_direct_poll(q_vector, rx_ring, &direct,
					     budget);

	return ixgbe_clean_rx_irq_xdp_zc(q_vector, rx_ring, budget);
}
