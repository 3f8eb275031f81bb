/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_TX_SPAN_H
#define _NET_XSK_TX_SPAN_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/if_xdp.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <net/xsk_buff_pool.h>

struct xdp_sock;

/*
 * Zero-copy Tx in spans: descriptors that lie in a row in the Tx ring of a
 * queue's only socket, and whose addresses are noted in a row for completion,
 * are written to the device in one pass, without a copy in between. A driver
 * calls xsk_tx_spans() once for each poll.
 *
 * A descriptor that is not plain ends it: one that is invalid, or has options.
 * It is left for xsk_tx_peek_desc() or xsk_tx_peek_release_desc_batch(), as
 * are pools with several Tx sockets, unaligned chunks or Tx metadata.
 */

/**
 * struct xsk_tx_dev_ring - a Tx ring of a device, on the stack of its poll
 * @desc: its descriptors
 * @next: index of the next one to use; moves
 * @count: how many it has
 * @room: how many are free; falls
 * @bytes: bytes of the frames that were sent; grows
 */
struct xsk_tx_dev_ring {
	void *desc;
	u32 next;
	u32 count;
	u32 room;
	u32 bytes;
};

/* Writes descriptor @index of a device's ring, for a whole frame */
typedef void (*xsk_tx_write_t)(void *desc, size_t index, dma_addr_t dma,
			       u32 len);

/**
 * struct xsk_tx_span - descriptors in a row
 * @xs: the socket
 * @desc: the first one
 * @done: where its address is noted for completion, NULL if it need not be
 * @count: how many there are
 * @more: there are more that are not in the row, or for which there is no
 *	room
 */
struct xsk_tx_span {
	struct xdp_sock *xs;
	const struct xdp_desc *desc;
	u64 *done;
	u32 count;
	bool more;
};

#ifdef CONFIG_XDP_SOCKETS

int xsk_tx_span_begin(struct xsk_tx_span *span, struct xsk_buff_pool *pool,
		      u32 max);
void xsk_tx_span_end(const struct xsk_tx_span *span, u32 sent);

static_assert(offsetof(struct xdp_desc, options) ==
	      offsetof(struct xdp_desc, len) + sizeof(u32));

/* The length, or far more than a chunk has if there are options, in one load */
static inline u64 xsk_tx_desc_len(const struct xdp_desc *desc)
{
	u64 word = READ_ONCE(*(const u64 *)&desc->len);

	return IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? rol64(word, 32) : word;
}

/* Internal helper for xsk_tx_spans(): returns how many descriptors are plain */
static __always_inline u32
xsk_tx_span_write(const struct xsk_tx_span *span,
		  const struct xsk_buff_pool *pool,
		  struct xsk_tx_dev_ring *ring, xsk_tx_write_t write, bool note)
{
	const dma_addr_t *dma_pages = pool->dma_pages;
	const u32 chunk_size = pool->chunk_size;
	const struct xdp_desc *desc = span->desc;
	const u64 addrs_cnt = pool->addrs_cnt;
	const size_t next = ring->next;
	const size_t count = span->count;
	u64 *done = span->done;
	u64 addr, len;
	u32 bytes = 0;
	dma_addr_t dma;
	size_t i;

#pragma GCC unroll 4
	for (i = 0; i < count; i++) {
		/* User space can change them at any time: read them once */
		addr = READ_ONCE(desc[i].addr);
		len = xsk_tx_desc_len(&desc[i]);
		if (unlikely(!len || addr >= addrs_cnt ||
			     (addr & (chunk_size - 1)) + len > chunk_size))
			break;

		dma = dma_pages[addr >> PAGE_SHIFT] & ~XSK_NEXT_PG_CONTIG_MASK;
		write(ring->desc, next + i, dma + (addr & ~PAGE_MASK), len);
		if (note)
			done[i] = addr;
		bytes += len;
	}

	ring->bytes += bytes;
	return i;
}

/**
 * xsk_tx_spans() - send what is plain
 * @pool: the pool
 * @ring: Tx ring of the device
 * @write: inlined; writes a descriptor of it
 *
 * Context: NAPI poll
 * Return: true if there may be more, which is not for a span
 */
static __always_inline bool xsk_tx_spans(struct xsk_buff_pool *pool,
					 struct xsk_tx_dev_ring *ring,
					 xsk_tx_write_t write)
{
	struct xsk_tx_span span;
	int count;
	u32 sent;

	while (ring->room) {
		count = xsk_tx_span_begin(&span, pool,
					  min(ring->room,
					      ring->count - ring->next));
		if (count <= 0)
			return count;

		/* Two loops, each without a branch for that */
		sent = span.done ?
		       xsk_tx_span_write(&span, pool, ring, write, true) :
		       xsk_tx_span_write(&span, pool, ring, write, false);
		xsk_tx_span_end(&span, sent);
		ring->room -= sent;
		ring->next += sent;
		if (ring->next == ring->count)
			ring->next = 0;
		if (sent < count)
			return true;
		if (!span.more)
			break;
	}

	return false;
}

#else

static inline bool xsk_tx_spans(struct xsk_buff_pool *pool,
				struct xsk_tx_dev_ring *ring,
				xsk_tx_write_t write)
{
	return true;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_TX_SPAN_H */
