/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_TX_SPAN_H
#define _NET_XSK_TX_SPAN_H

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/if_xdp.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/types.h>
#include <net/xsk_buff_pool.h>

struct xdp_sock;

/*
 * Zero-copy Tx in spans: descriptors that lie in a row in the Tx ring of a
 * queue's only socket, and whose addresses are noted in a row for completion,
 * are written to the device in one pass, without a copy in between. A driver
 * calls xsk_tx_spans() once for each poll, with a function that does nothing
 * but xsk_tx_span_write(): not inlined, since its loop needs all registers.
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

/* Writes descriptor @index of a device's ring, for a whole frame */
typedef void (*xsk_tx_write_t)(void *desc, size_t index, dma_addr_t dma,
			       u32 len);

/* xsk_tx_span_write() of a driver */
typedef u32 (*xsk_tx_span_write_t)(const struct xsk_tx_span *span,
				   const struct xsk_buff_pool *pool,
				   struct xsk_tx_dev_ring *ring);

#ifdef CONFIG_XDP_SOCKETS

int xsk_tx_span_begin(struct xsk_tx_span *span, struct xsk_buff_pool *pool,
		      u32 max, bool count_empty);
void xsk_tx_span_end(const struct xsk_tx_span *span, u32 sent);

static_assert(offsetof(struct xdp_desc, options) ==
	      offsetof(struct xdp_desc, len) + sizeof(u32));

/* The length, or far more than a chunk has if there are options, in one load */
static inline u64 xsk_tx_desc_len(const struct xdp_desc *desc)
{
	u64 word = READ_ONCE(*(const u64 *)&desc->len);

	return IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? rol64(word, 32) : word;
}

/* Whether a frame is in the umem, in one chunk, and not empty. @chunks has the
 * bits of an address that say which chunk: with all of them set, the sum wraps
 * where a chunk ends, and a length of zero wraps, too.
 */
static __always_inline bool xsk_tx_desc_fits(u64 addr, u64 len, u64 chunks,
					     u64 addrs_cnt)
{
	u64 end;

	return addr < addrs_cnt &&
	       !check_add_overflow(addr | chunks, len - 1, &end);
}

/* Internal to xsk_tx_span_write(): what it keeps in registers */
struct xsk_tx_row {
	const struct xdp_desc *desc;
	const dma_addr_t *dma_pages;
	u64 addrs_cnt;
	u64 chunks;
	void *dev_desc;
	size_t next;
	u64 *done;
	u32 bytes;
};

/* Internal to xsk_tx_span_write(): returns false if descriptor @i is not plain */
static __always_inline bool xsk_tx_row_write(struct xsk_tx_row *row, size_t i,
					     xsk_tx_write_t write, bool note)
{
	/* User space can change them at any time: read them once */
	const u64 addr = READ_ONCE(row->desc[i].addr);
	const u64 len = xsk_tx_desc_len(&row->desc[i]);
	dma_addr_t dma;

	if (unlikely(!xsk_tx_desc_fits(addr, len, row->chunks,
				       row->addrs_cnt)))
		return false;

	dma = row->dma_pages[addr >> PAGE_SHIFT] & ~XSK_NEXT_PG_CONTIG_MASK;
	write(row->dev_desc, row->next + i, dma + (addr & ~PAGE_MASK), len);
	if (note)
		row->done[i] = addr;
	row->bytes += len;
	return true;
}

/* Internal to xsk_tx_span_write(): a loop of its own with and without @note */
static __always_inline u32
__xsk_tx_span_write(const struct xsk_tx_span *span,
		    const struct xsk_buff_pool *pool,
		    struct xsk_tx_dev_ring *ring, xsk_tx_write_t write,
		    bool note)
{
	struct xsk_tx_row row = {
		.desc = span->desc,
		.dma_pages = pool->dma_pages,
		.addrs_cnt = pool->addrs_cnt,
		.chunks = pool->chunk_mask,
		.dev_desc = ring->desc,
		.next = ring->next,
		.done = span->done,
	};
	size_t i, j;

	/* By hand: the compiler keeps an index for each of the four */
	for (i = 0; i + 4 <= span->count; i += 4) {
#pragma GCC unroll 4
		for (j = 0; j < 4; j++) {
			if (!xsk_tx_row_write(&row, i + j, write, note))
				goto out;
		}
	}
	for (j = 0; i + j < span->count; j++) {
		if (!xsk_tx_row_write(&row, i + j, write, note))
			break;
	}
out:
	ring->bytes += row.bytes;
	return i + j;
}

/**
 * xsk_tx_span_write() - write descriptors to the device
 * @span: the descriptors
 * @pool: the pool
 * @ring: Tx ring of the device
 * @write: inlined; writes a descriptor of it
 *
 * Return: how many are plain, and were written
 */
static __always_inline u32
xsk_tx_span_write(const struct xsk_tx_span *span,
		  const struct xsk_buff_pool *pool,
		  struct xsk_tx_dev_ring *ring, xsk_tx_write_t write)
{
	return span->done ? __xsk_tx_span_write(span, pool, ring, write, true) :
			    __xsk_tx_span_write(span, pool, ring, write, false);
}

/**
 * xsk_tx_spans() - send what is plain
 * @pool: the pool
 * @ring: Tx ring of the device
 * @write: the driver's xsk_tx_span_write()
 * @count_empty: see xsk_tx_span_begin()
 *
 * Context: NAPI poll
 * Return: true if there may be more, which is not for a span
 */
static __always_inline bool xsk_tx_spans(struct xsk_buff_pool *pool,
					 struct xsk_tx_dev_ring *ring,
					 xsk_tx_span_write_t write,
					 bool count_empty)
{
	struct xsk_tx_span span;
	int count;
	u32 sent;

	while (ring->room) {
		count = xsk_tx_span_begin(&span, pool,
					  min(ring->room,
					      ring->count - ring->next),
					  count_empty);
		if (count <= 0)
			return count;

		sent = write(&span, pool, ring);
		xsk_tx_span_end(&span, sent);
		ring->room -= sent;
		ring->next += sent;
		if (ring->next == ring->count)
			ring->next = 0;
		if (sent < count)
			return true;
		/* At the wrap of the device's ring, an empty Tx ring has not
		 * been counted yet
		 */
		if (!span.more && (!count_empty || ring->next))
			break;
	}

	return false;
}

#else

static inline u32 xsk_tx_span_write(const struct xsk_tx_span *span,
				    const struct xsk_buff_pool *pool,
				    struct xsk_tx_dev_ring *ring,
				    xsk_tx_write_t write)
{
	return 0;
}

static inline bool xsk_tx_spans(struct xsk_buff_pool *pool,
				struct xsk_tx_dev_ring *ring,
				xsk_tx_span_write_t write, bool count_empty)
{
	return true;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_TX_SPAN_H */
