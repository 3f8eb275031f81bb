// SPDX-License-Identifier: GPL-2.0
/*
 * Receive loop for a zero-copy queue whose frames all go to the attached
 * socket: no BPF, no redirect, nothing for each frame that can be done once
 * for each poll. See include/net/xsk_direct.h.
 */
#include <net/xdp_sock_drv.h>
#include <net/xsk_direct.h>

#include "i40e.h"
#include "i40e_txrx_common.h"
#include "i40e_xsk.h"

/* xsk_direct_refill() writes descriptors of this size */
static_assert(sizeof(union i40e_rx_desc) == 16);

/* Deliver a frame. Returns its length, 0 if there is none of one buffer */
static __always_inline u64
i40e_xsk_direct_frame(const union i40e_rx_desc *rx_desc,
		      const struct xdp_buff *xdp,
		      const struct xsk_direct *direct, struct xdp_desc *desc,
		      u64 max_len)
{
	u64 qword = le64_to_cpu(READ_ONCE(rx_desc->wb.qword1.status_error_len));
	/* With what is above: zero, as headers are not split */
	u64 len = qword >> I40E_RXD_QW1_LENGTH_PBUF_SHIFT;

	/* Zero is "not yet", or a status of the flow director */
	if (len - 1 >= max_len || !(qword & BIT(I40E_RX_DESC_STATUS_EOF_SHIFT)))
		return 0;

	xsk_direct_deliver(direct, desc, xdp, len);
	return len;
}

/**
 * i40e_xsk_direct_span - deliver frames, up to the wrap of either ring
 * @rx_ring: Rx ring
 * @direct: the poll
 * @count: how many at most
 * @bytes: gets more by the bytes of the frames
 *
 * Return: how many frames were delivered; less than @count if there are no
 * more, or the next one is not of one buffer.
 */
static u32 i40e_xsk_direct_span(struct i40e_ring *rx_ring,
				struct xsk_direct *direct, size_t count,
				unsigned int *bytes)
{
	u32 ntc = rx_ring->next_to_clean;
	union i40e_rx_desc *rx_desc = I40E_RX_DESC(rx_ring, ntc);
	struct xdp_buff **bi = &rx_ring->rx_bi_zc[ntc];
	const u64 max_len = direct->max_len;
	struct xdp_desc *desc = direct->desc;
	unsigned int total = 0;
	size_t i, j;
	u64 len;

	/* By hand: the compiler keeps an index for each of the four */
	for (i = 0; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
		for (j = 0; j < 4; j++) {
			len = i40e_xsk_direct_frame(&rx_desc[i + j], bi[i + j],
						    direct, &desc[i + j],
						    max_len);
			if (!len)
				goto out;
			total += len;
		}
	}
	for (j = 0; i + j < count; j++) {
		len = i40e_xsk_direct_frame(&rx_desc[i + j], bi[i + j], direct,
					    &desc[i + j], max_len);
		if (!len)
			break;
		total += len;
	}
out:
	*bytes += total;
	return i + j;
}

static u32 i40e_xsk_direct_deliver(struct i40e_ring *rx_ring,
				   struct xsk_direct *direct, u32 budget,
				   unsigned int *bytes)
{
	u32 count, got, done = 0;

	while (done < budget) {
		count = min3(budget - done, xsk_direct_span(direct),
			     (u32)rx_ring->count - rx_ring->next_to_clean);
		got = i40e_xsk_direct_span(rx_ring, direct, count, bytes);
		/* The device wrote the frames before it wrote the descriptors;
		 * the commit may copy frames from a bounce buffer.
		 */
		dma_rmb();
		xsk_direct_commit(direct, got);
		done += got;
		rx_ring->next_to_clean += got;
		if (rx_ring->next_to_clean == rx_ring->count)
			rx_ring->next_to_clean = 0;
		if (!got || got < count)
			break;
	}

	rx_ring->next_to_process = rx_ring->next_to_clean;
	return done;
}

/**
 * i40e_xsk_refill - post chunks, many at a time
 * @rx_ring: Rx ring
 *
 * Return: false if there were too few
 */
bool i40e_xsk_refill(struct i40e_ring *rx_ring)
{
	u32 left = I40E_DESC_UNUSED(rx_ring);
	u32 ntu = rx_ring->next_to_use;
	u32 count, got;

	if (left < I40E_RX_BUFFER_WRITE)
		return true;

	xsk_direct_refill_begin(rx_ring->xsk_pool, left, rx_ring->count);
	do {
		count = min_t(u32, left, rx_ring->count - ntu);
		got = xsk_direct_refill(rx_ring->xsk_pool,
					&rx_ring->rx_bi_zc[ntu],
					sizeof(*rx_ring->rx_bi_zc),
					(__le64 *)I40E_RX_DESC(rx_ring, ntu),
					count);
		ntu += got;
		if (ntu == rx_ring->count)
			ntu = 0;
		left -= got;
	} while (left && got == count);

	/* Where the device does not go on, nothing must look as if it had */
	I40E_RX_DESC(rx_ring, ntu)->wb.qword1.status_error_len = 0;
	if (ntu != rx_ring->next_to_use)
		i40e_release_rx_desc(rx_ring, ntu);

	return xsk_direct_enough(rx_ring->xsk_pool, left, rx_ring->count);
}

static bool i40e_xsk_direct_idle(const struct i40e_ring *rx_ring)
{
	const union i40e_rx_desc *rx_desc;

	rx_desc = I40E_RX_DESC(rx_ring, rx_ring->next_to_clean);
	return !(le64_to_cpu(READ_ONCE(rx_desc->wb.qword1.status_error_len)) &
		 (I40E_RXD_QW1_LENGTH_PBUF_MASK | I40E_RXD_QW1_LENGTH_SPH_MASK));
}

/* The end of a poll. Returns what it is to return */
static int i40e_xsk_rx_done(struct i40e_ring *rx_ring, bool filled, u32 done,
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

static int i40e_xsk_direct_poll(struct i40e_ring *rx_ring,
				struct xsk_direct *direct, int budget)
{
	unsigned int bytes = 0;
	bool filled;
	u32 done;

	done = i40e_xsk_direct_deliver(rx_ring, direct, budget, &bytes);
	i40e_update_rx_stats(rx_ring, bytes, done);
	if (unlikely(done < budget && !i40e_xsk_direct_idle(rx_ring))) {
		xsk_direct_end(direct);
		return done + i40e_clean_rx_irq_xdp_zc(rx_ring, budget - done);
	}

	filled = i40e_xsk_refill(rx_ring);
	xsk_direct_end(direct);
	return i40e_xsk_rx_done(rx_ring, filled, done, budget);
}

/* No frame came, and there is nothing to refill, or nothing to refill with */
static bool i40e_xsk_rx_idle(struct i40e_ring *rx_ring, bool *filled)
{
	struct xsk_buff_pool *pool = rx_ring->xsk_pool;
	u32 left = I40E_DESC_UNUSED(rx_ring);

	if (!i40e_xsk_direct_idle(rx_ring))
		return false;

	*filled = true;
	if (left < I40E_RX_BUFFER_WRITE)
		return true;

	xsk_direct_refill_begin(pool, left, rx_ring->count);
	*filled = xsk_direct_enough(pool, left, rx_ring->count);
	return xsk_direct_starved(pool);
}

/**
 * i40e_clean_rx_irq_zc - consume frames of a zero-copy queue
 * @rx_ring: Rx ring
 * @budget: NAPI budget
 *
 * Return: amount of work completed
 */
int i40e_clean_rx_irq_zc(struct i40e_ring *rx_ring, int budget)
{
	struct xsk_direct direct;
	bool filled;

	/* A frame of several buffers that is not complete is not for here */
	if (rx_ring->next_to_process != rx_ring->next_to_clean)
		return i40e_clean_rx_irq_xdp_zc(rx_ring, budget);
	if (i40e_xsk_rx_idle(rx_ring, &filled))
		return i40e_xsk_rx_done(rx_ring, filled, 0, budget);
	if (xsk_direct_begin(&direct, READ_ONCE(rx_ring->xdp_prog),
			     &rx_ring->xdp_rxq, rx_ring->xsk_pool, budget))
		return i40e_xsk_direct_poll(rx_ring, &direct, budget);

	return i40e_clean_rx_irq_xdp_zc(rx_ring, budget);
}
