// SPDX-License-Identifier: GPL-2.0
/*
 * Receive loop for a zero-copy queue whose frames all go to the attached
 * socket: no BPF, no redirect, nothing for each frame that can be done once
 * for each poll. See include/net/xsk_direct.h.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_direct.h>

#include "ixgbe.h"
#include "ixgbe_txrx_common.h"

/* Deliver a frame. Returns its length, 0 if there is none of one buffer */
static __always_inline u32
ixgbe_xsk_direct_frame(union ixgbe_adv_rx_desc *rx_desc,
		       struct ixgbe_rx_buffer *bi,
		       const struct xsk_direct *direct, struct xdp_desc *desc,
		       u32 max_len)
{
	u32 len = le16_to_cpu(READ_ONCE(rx_desc->wb.upper.length));

	/* Zero is "not yet" */
	if (len - 1 >= max_len)
		return 0;

	/* The length is written last */
	dma_rmb();
	if (!ixgbe_test_staterr(rx_desc, IXGBE_RXD_STAT_EOP))
		return 0;

	xsk_direct_deliver(direct, desc, bi->xdp, len);
	bi->xdp = NULL;
	return len;
}

/**
 * ixgbe_xsk_direct_span - deliver frames, up to the wrap of either ring
 * @rx_ring: Rx ring
 * @direct: the poll
 * @count: how many at most
 * @bytes: gets more by the bytes of the frames
 *
 * Return: how many frames were delivered; less than @count if there are no
 * more, or the next one is not of one buffer.
 */
static u32 ixgbe_xsk_direct_span(struct ixgbe_ring *rx_ring,
				 struct xsk_direct *direct, size_t count,
				 unsigned int *bytes)
{
	u32 ntc = rx_ring->next_to_clean;
	union ixgbe_adv_rx_desc *rx_desc = IXGBE_RX_DESC(rx_ring, ntc);
	struct ixgbe_rx_buffer *bi = &rx_ring->rx_buffer_info[ntc];
	const u32 max_len = direct->max_len;
	struct xdp_desc *desc = direct->desc;
	unsigned int total = 0;
	size_t i, j;
	u32 len;

	/* By hand: the compiler keeps an index for each of the four */
	for (i = 0; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
		for (j = 0; j < 4; j++) {
			len = ixgbe_xsk_direct_frame(&rx_desc[i + j],
						     &bi[i + j], direct,
						     &desc[i + j], max_len);
			if (!len)
				goto out;
			total += len;
		}
	}
	for (j = 0; i + j < count; j++) {
		len = ixgbe_xsk_direct_frame(&rx_desc[i + j], &bi[i + j],
					     direct, &desc[i + j], max_len);
		if (!len)
			break;
		total += len;
	}
out:
	*bytes += total;
	return i + j;
}

static u32 ixgbe_xsk_direct_deliver(struct ixgbe_ring *rx_ring,
				    struct xsk_direct *direct, u32 budget,
				    unsigned int *bytes)
{
	u32 count, got, done = 0;

	while (done < budget) {
		count = min3(budget - done, xsk_direct_span(direct),
			     (u32)rx_ring->count - rx_ring->next_to_clean);
		got = ixgbe_xsk_direct_span(rx_ring, direct, count, bytes);

		xsk_direct_commit(direct, got);
		done += got;
		rx_ring->next_to_clean += got;
		if (rx_ring->next_to_clean == rx_ring->count)
			rx_ring->next_to_clean = 0;
		if (!got || got < count)
			break;
	}

	return done;
}

/**
 * ixgbe_xsk_refill - post chunks, many at a time
 * @rx_ring: Rx ring
 *
 * Return: false if there were too few
 */
bool ixgbe_xsk_refill(struct ixgbe_ring *rx_ring)
{
	struct xsk_buff_pool *pool = rx_ring->xsk_pool;
	u32 left = ixgbe_desc_unused(rx_ring);

	if (left < IXGBE_RX_BUFFER_WRITE)
		return true;

	xsk_direct_refill_begin(pool, left, rx_ring->count);
	return ixgbe_alloc_rx_buffers_zc(rx_ring, left) ||
	       xsk_direct_enough(pool, ixgbe_desc_unused(rx_ring),
				 rx_ring->count);
}

static bool ixgbe_xsk_direct_idle(const struct ixgbe_ring *rx_ring)
{
	const union ixgbe_adv_rx_desc *rx_desc;

	rx_desc = IXGBE_RX_DESC(rx_ring, rx_ring->next_to_clean);
	return !READ_ONCE(rx_desc->wb.upper.length);
}

/* The end of a poll. Returns what it is to return */
static int ixgbe_xsk_rx_done(struct ixgbe_ring *rx_ring, bool filled, u32 done,
			     int budget)
{
	if (!xsk_uses_need_wakeup(rx_ring->xsk_pool))
		return filled ? done : budget;

	if (!filled || rx_ring->next_to_clean == rx_ring->next_to_use)
		xsk_set_rx_need_wakeup(rx_ring->xsk_pool);
	else
		xsk_clear_rx_need_wakeup(rx_ring->xsk_pool);
	return done;
}

static int ixgbe_xsk_direct_poll(struct ixgbe_q_vector *q_vector,
				 struct ixgbe_ring *rx_ring,
				 struct xsk_direct *direct, int budget)
{
	unsigned int bytes = 0;
	bool filled;
	u32 done;

	done = ixgbe_xsk_direct_deliver(rx_ring, direct, budget, &bytes);
	ixgbe_update_rx_ring_stats(rx_ring, q_vector, done, bytes);
	if (unlikely(done < budget && !ixgbe_xsk_direct_idle(rx_ring))) {
		xsk_direct_end(direct);
		return done + ixgbe_clean_rx_irq_xdp_zc(q_vector, rx_ring,
							budget - done);
	}

	filled = ixgbe_xsk_refill(rx_ring);
	xsk_direct_end(direct);
	return ixgbe_xsk_rx_done(rx_ring, filled, done, budget);
}

/* No frame came, and there is nothing to refill, or nothing to refill with */
static bool ixgbe_xsk_rx_idle(struct ixgbe_ring *rx_ring, bool *filled)
{
	struct xsk_buff_pool *pool = rx_ring->xsk_pool;
	u32 left = ixgbe_desc_unused(rx_ring);

	if (!ixgbe_xsk_direct_idle(rx_ring))
		return false;

	*filled = true;
	if (left < IXGBE_RX_BUFFER_WRITE)
		return true;

	xsk_direct_refill_begin(pool, left, rx_ring->count);
	*filled = xsk_direct_enough(pool, left, rx_ring->count);
	return xsk_direct_starved(pool);
}

/**
 * ixgbe_clean_rx_irq_zc - consume frames of a zero-copy queue
 * @q_vector: the vector
 * @rx_ring: Rx ring
 * @budget: NAPI budget
 *
 * Return: amount of work completed
 */
int ixgbe_clean_rx_irq_zc(struct ixgbe_q_vector *q_vector,
			  struct ixgbe_ring *rx_ring, const int budget)
{
	struct xsk_direct direct;
	bool filled;

	if (ixgbe_xsk_rx_idle(rx_ring, &filled))
		return ixgbe_xsk_rx_done(rx_ring, filled, 0, budget);
	/* What is left of a frame of several buffers is not for here */
	if (!rx_ring->rx_buffer_info[rx_ring->next_to_clean].discard &&
	    xsk_direct_begin(&direct, READ_ONCE(rx_ring->xdp_prog),
			     &rx_ring->xdp_rxq, rx_ring->xsk_pool, budget))
		return ixgbe_xsk_direct_poll(q_vector, rx_ring, &direct,
					     budget);

	return ixgbe_clean_rx_irq_xdp_zc(q_vector, rx_ring, budget);
}
