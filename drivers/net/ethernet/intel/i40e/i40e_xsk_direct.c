// SPDX-License-Identifier: GPL-2.0
/*
 * Poll of a zero-copy queue: refill, and direct delivery to the attached
 * socket. See include/net/xsk_refill.h and include/net/xsk_direct.h.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_direct.h>

#include "i40e.h"
#include "i40e_txrx_common.h"
#include "i40e_xsk.h"

static struct xsk_rx_ring i40e_xsk_ring(const struct i40e_ring *rx_ring)
{
	return (struct xsk_rx_ring) {
		.pool = rx_ring->xsk_pool,
		.desc = rx_ring->desc,
		.bufs = rx_ring->rx_bi_zc,
		.count = rx_ring->count,
		.next_to_use = rx_ring->next_to_use,
		.next_to_clean = rx_ring->next_to_clean,
	};
}

/* Length and status are in one quadword, which is read once */
static __always_inline u64 i40e_xsk_read(void *desc, void *bufs, size_t index,
					 u64 max_len, u64 *entry, bool *eop)
{
	union i40e_rx_desc *rx_desc = &((union i40e_rx_desc *)desc)[index];
	u64 qword = le64_to_cpu(READ_ONCE(rx_desc->wb.qword1.status_error_len));
	/* Above the length is only SPH, which marks the status of a filter */
	u64 len = qword >> I40E_RXD_QW1_LENGTH_PBUF_SHIFT;

	/* Zero: not written back. The status of a filter exceeds max_len. */
	if (len - 1 >= max_len)
		return 0;

	*eop = qword & BIT(I40E_RX_DESC_STATUS_EOF_SHIFT);
	*entry = ((u64 *)bufs)[index];
	return len;
}

static noinline u32 i40e_xsk_read_span(struct xsk_direct *direct,
				       const struct xsk_rx_ring *ring,
				       size_t count)
{
	return xsk_direct_read(direct, ring, count, i40e_xsk_read);
}

static noinline u32 i40e_xsk_read_packets(struct xsk_direct_packets *state,
					  const struct xsk_rx_ring *ring,
					  size_t count)
{
	return xsk_direct_read_packets(state, ring, count, i40e_xsk_read);
}

static __always_inline void i40e_xsk_write(void *desc, void *bufs, size_t index,
					   u64 entry, dma_addr_t dma)
{
	union i40e_rx_desc *rx_desc = &((union i40e_rx_desc *)desc)[index];

	((u64 *)bufs)[index] = entry;
	rx_desc->read.pkt_addr = cpu_to_le64(dma);
	rx_desc->read.hdr_addr = 0;
}

static noinline u32 i40e_xsk_post_span(const struct xsk_refill_span *span,
				       const struct xsk_rx_ring *ring)
{
	return xsk_refill_post(span, ring, i40e_xsk_write);
}

/* Post at most @count chunks. Returns the number that is missing. */
static u32 i40e_xsk_post(struct i40e_ring *rx_ring, struct xsk_rx_ring *ring,
			 u32 count)
{
	u32 left = xsk_refill(ring, count, i40e_xsk_post_span);

	/* The first descriptor that is not posted must not look complete */
	I40E_RX_DESC(rx_ring, ring->next_to_use)->wb.qword1.status_error_len = 0;
	if (ring->next_to_use != rx_ring->next_to_use)
		i40e_release_rx_desc(rx_ring, ring->next_to_use);

	return left;
}

/**
 * i40e_alloc_rx_buffers_zc - post a number of chunks
 * @rx_ring: Rx ring
 * @count: number of free descriptors to use
 *
 * Return: false if there are not enough chunks
 */
bool i40e_alloc_rx_buffers_zc(struct i40e_ring *rx_ring, u16 count)
{
	struct xsk_rx_ring ring = i40e_xsk_ring(rx_ring);

	return !i40e_xsk_post(rx_ring, &ring, count);
}

/* Returns false if there are not enough chunks */
static bool i40e_xsk_refill_ring(struct i40e_ring *rx_ring,
				 struct xsk_rx_ring *ring)
{
	u32 left = I40E_DESC_UNUSED(rx_ring);

	if (left < I40E_RX_BUFFER_WRITE)
		return true;

	xsk_refill_begin(ring->pool, left, ring->count);
	left = i40e_xsk_post(rx_ring, ring, left);
	return xsk_refill_enough(ring->pool, left, ring->count);
}

/**
 * i40e_xsk_refill - post chunks
 * @rx_ring: Rx ring
 *
 * Return: false if there are not enough chunks
 */
bool i40e_xsk_refill(struct i40e_ring *rx_ring)
{
	struct xsk_rx_ring ring = i40e_xsk_ring(rx_ring);

	return i40e_xsk_refill_ring(rx_ring, &ring);
}

static bool i40e_xsk_idle(const struct i40e_ring *rx_ring, u32 index)
{
	const union i40e_rx_desc *rx_desc = I40E_RX_DESC(rx_ring, index);

	return !(le64_to_cpu(READ_ONCE(rx_desc->wb.qword1.status_error_len)) &
		 (I40E_RXD_QW1_LENGTH_PBUF_MASK | I40E_RXD_QW1_LENGTH_SPH_MASK));
}

static int i40e_xsk_direct_poll(struct i40e_ring *rx_ring,
				struct xsk_direct *direct, int budget)
{
	struct xsk_rx_ring ring = i40e_xsk_ring(rx_ring);
	u32 done, stop;
	bool filled;

	done = xsk_direct_receive(direct, &ring, budget, &stop,
				  i40e_xsk_read_span, i40e_xsk_read_packets);
	rx_ring->next_to_clean = ring.next_to_clean;
	rx_ring->next_to_process = ring.next_to_clean;
	i40e_update_rx_stats(rx_ring, direct->bytes, done);
	if (unlikely(done < budget && !i40e_xsk_idle(rx_ring, stop))) {
		xsk_direct_end(direct);
		return done + i40e_clean_rx_irq_xdp_zc(rx_ring, budget - done);
	}

	filled = i40e_xsk_refill_ring(rx_ring, &ring);
	xsk_direct_end(direct);
	return xsk_refill_result(ring.pool, filled,
				 ring.next_to_clean == ring.next_to_use, done,
				 budget);
}

/**
 * i40e_clean_rx_irq_zc - receive packets of a zero-copy queue
 * @rx_ring: Rx ring
 * @budget: NAPI budget
 *
 * Return: amount of work completed
 */
int i40e_clean_rx_irq_zc(struct i40e_ring *rx_ring, int budget)
{
	struct xsk_buff_pool *pool = rx_ring->xsk_pool;
	struct xsk_direct direct;
	bool filled;

	/* Part of a multi-buffer packet was received */
	if (rx_ring->next_to_process != rx_ring->next_to_clean)
		return i40e_clean_rx_irq_xdp_zc(rx_ring, budget);
	if (i40e_xsk_idle(rx_ring, rx_ring->next_to_clean) &&
	    xsk_refill_idle(pool, I40E_DESC_UNUSED(rx_ring), rx_ring->count,
			    I40E_RX_BUFFER_WRITE, &filled))
		return xsk_refill_result(pool, filled, rx_ring->next_to_clean ==
					 rx_ring->next_to_use, 0, budget);
	if (xsk_direct_begin(&direct, READ_ONCE(rx_ring->xdp_prog),
			     &rx_ring->xdp_rxq, pool, budget))
		return i40e_xsk_direct_poll(rx_ring, &direct, budget);

	return i40e_clean_rx_irq_xdp_zc(rx_ring, budget);
}
