/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_TX_SPAN_H
#define _NET_XSK_TX_SPAN_H

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/if_xdp.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/types.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

/*
 * Zero-copy Tx in spans: contiguous descriptors in the Tx ring of the only
 * socket of a queue, whose addresses are recorded contiguously for completion,
 * are written to the device in one pass, without an intermediate copy. A driver
 * calls xsk_tx_spans() in each poll, with functions that consist only of
 * xsk_tx_span_write_single() and xsk_tx_span_write(), or of
 * xsk_tx_span_write_any() or xsk_tx_span_write_packets() if not
 * xsk_tx_spans_are_simple(): not inlined, because a loop needs all registers.
 *
 * A descriptor that is invalid or has options ends a span, other than those of a
 * multi-buffer packet that is whole within it. One with Tx metadata is such a
 * descriptor. It is handled by xsk_tx_peek_desc() or
 * xsk_tx_peek_release_desc_batch(), as are pools with several Tx sockets or DMA
 * syncs.
 */

/**
 * struct xsk_tx_dev_ring - Tx ring of a device, on the stack of a poll
 * @desc: descriptors of the ring
 * @next: index of the next descriptor to use; updated
 * @count: number of descriptors
 * @room: number of free descriptors; updated
 * @bytes: number of bytes transmitted; updated
 */
struct xsk_tx_dev_ring {
	void *desc;
	u32 next;
	u32 count;
	u32 room;
	u32 bytes;
};

/**
 * struct xsk_tx_span - contiguous descriptors of a Tx ring
 * @xs: the socket
 * @desc: the first descriptor
 * @done: location to record its address for completion; NULL if addresses are
 *	not recorded
 * @count: number of descriptors
 * @more: the ring has further entries, which are not contiguous or for which
 *	there is no room
 */
struct xsk_tx_span {
	struct xdp_sock *xs;
	const struct xdp_desc *desc;
	u64 *done;
	u32 count;
	bool more;
};

/* Write descriptor @index of a device's ring, for a buffer that is the last one
 * of a packet if @eop
 */
typedef void (*xsk_tx_write_t)(void *desc, size_t index, dma_addr_t dma,
			       u32 len, bool eop);

/* Correct the first descriptor of a multi-buffer packet of @bytes, at @index,
 * once all of them are written; see xsk_tx_span_write_packets()
 */
typedef void (*xsk_tx_packet_t)(void *desc, size_t index, u32 bytes);

/* xsk_tx_span_write() of a driver, or one of its variants */
typedef u32 (*xsk_tx_span_write_t)(const struct xsk_tx_span *span,
				   struct xsk_tx_dev_ring *ring);

#ifdef CONFIG_XDP_SOCKETS

int xsk_tx_span_begin(struct xsk_tx_span *span, struct xsk_buff_pool *pool,
		      u32 max, bool count_empty);
void xsk_tx_span_end(const struct xsk_tx_span *span, u32 sent);

/* Whether the queue has one Tx socket, whose descriptors spans support */
static inline bool xsk_tx_has_spans(const struct xsk_buff_pool *pool)
{
	return READ_ONCE(pool->tx_span_xs);
}

/* Whether all packets are single-buffer packets in aligned chunks: it does not
 * change while the pool is bound
 */
static inline bool xsk_tx_spans_are_simple(const struct xsk_buff_pool *pool)
{
	return !pool->tx_span_any;
}

/* Whether multi-buffer packets are transmitted in spans, if they are whole */
static inline bool xsk_tx_spans_have_packets(const struct xsk_buff_pool *pool)
{
	return xsk_tx_has_spans(pool) && pool->umem->flags & XDP_UMEM_SG_FLAG;
}

static_assert(offsetof(struct xdp_desc, options) ==
	      offsetof(struct xdp_desc, len) + sizeof(u32));

/* Length and options in one load: options make it exceed any chunk */
static inline u64 xsk_tx_desc_len(const struct xdp_desc *desc)
{
	u64 word = READ_ONCE(*(const u64 *)&desc->len);

	return IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? rol64(word, 32) : word;
}

/* Whether a packet is in the umem, in one chunk, and not empty. @chunks is the
 * mask of the chunk number in an address: if all of these bits are set, the sum
 * overflows at the end of the chunk, and for a length of zero.
 */
static __always_inline bool xsk_tx_desc_fits(u64 addr, u64 len, u64 chunks,
					     u64 addrs_cnt)
{
	u64 end;

	return addr < addrs_cnt &&
	       !check_add_overflow(addr | chunks, len - 1, &end);
}

/* Internal to xsk_tx_span_write(): what it keeps in registers */
struct xsk_tx_span_regs {
	const struct xdp_desc *desc;
	const dma_addr_t *dma_offsets;
	u64 addrs_cnt;
	u64 chunks;
	void *dev_desc;
	size_t next;
	u64 *done;
	u32 bytes;
};

/* Internal to xsk_tx_span_write(): from descriptor @from on */
static __always_inline struct xsk_tx_span_regs
xsk_tx_span_load(const struct xsk_tx_span *span,
		 const struct xsk_tx_dev_ring *ring, size_t from)
{
	const struct xsk_buff_pool *pool = span->xs->pool;

	return (struct xsk_tx_span_regs) {
		.desc = span->desc + from,
		.dma_offsets = pool->dma_offsets,
		.addrs_cnt = pool->addrs_cnt,
		.chunks = pool->chunk_mask,
		.dev_desc = ring->desc,
		.next = ring->next + from,
		.done = span->done + from,
	};
}

/* Internal to xsk_tx_span_write(). Returns false if descriptor @i is invalid or
 * has options.
 */
static __always_inline bool
xsk_tx_span_write_one(struct xsk_tx_span_regs *regs, size_t i,
		      xsk_tx_write_t write, bool record)
{
	/* User space can change the descriptor at any time: read it once */
	const u64 addr = READ_ONCE(regs->desc[i].addr);
	const u64 len = xsk_tx_desc_len(&regs->desc[i]);

	if (unlikely(!xsk_tx_desc_fits(addr, len, regs->chunks,
				       regs->addrs_cnt)))
		return false;

	write(regs->dev_desc, regs->next + i,
	      regs->dma_offsets[addr >> PAGE_SHIFT] + addr, len, true);
	if (record)
		regs->done[i] = addr;
	regs->bytes += len;
	return true;
}

/* Internal to xsk_tx_span_write(): number of descriptors written, at most 4 */
static __always_inline size_t
xsk_tx_span_write_four(struct xsk_tx_span_regs *regs, xsk_tx_write_t write,
		       bool record)
{
	if (!xsk_tx_span_write_one(regs, 0, write, record))
		return 0;
	if (!xsk_tx_span_write_one(regs, 1, write, record))
		return 1;
	if (!xsk_tx_span_write_one(regs, 2, write, record))
		return 2;
	return xsk_tx_span_write_one(regs, 3, write, record) ? 4 : 3;
}

/* Internal to xsk_tx_span_write(): all descriptors, four at a time, or the up
 * to three that are left then. Called once for each: with both loops in one
 * function, the first one would not have all registers.
 */
static __always_inline u32
__xsk_tx_span_write(const struct xsk_tx_span *span,
		    struct xsk_tx_dev_ring *ring, xsk_tx_write_t write,
		    bool record, bool four)
{
	const size_t count = span->count;
	struct xsk_tx_span_regs regs =
		xsk_tx_span_load(span, ring, four ? 0 : ALIGN_DOWN(count, 4));
	const struct xdp_desc *end = span->desc +
				     (four ? ALIGN_DOWN(count, 4) : count);
	size_t got, step = four ? 4 : 1;

	for (; regs.desc != end; regs.desc += step, regs.next += step) {
		got = four ? xsk_tx_span_write_four(&regs, write, record) :
			     xsk_tx_span_write_one(&regs, 0, write, record);
		if (got < step) {
			regs.desc += got;
			break;
		}
		if (record)
			regs.done += step;
	}

	ring->bytes += regs.bytes;
	return regs.desc - span->desc;
}

/* Internal to xsk_tx_span_write(): one instance with @record, one without */
static __always_inline u32
xsk_tx_span_write_all(const struct xsk_tx_span *span,
		      struct xsk_tx_dev_ring *ring, xsk_tx_write_t write,
		      bool record)
{
	u32 done;

	if (span->count >= 4) {
		done = __xsk_tx_span_write(span, ring, write, record, true);
		if (done < ALIGN_DOWN(span->count, 4) ||
		    IS_ALIGNED(span->count, 4))
			return done;
	}
	return __xsk_tx_span_write(span, ring, write, record, false);
}

/**
 * xsk_tx_span_write() - write the descriptors of a span to the device
 * @span: the span
 * @ring: Tx ring of the device
 * @write: function of the driver that writes one descriptor; inlined
 *
 * Return: number of descriptors written, before the first one that is invalid
 * or has options
 */
static __always_inline u32
xsk_tx_span_write(const struct xsk_tx_span *span, struct xsk_tx_dev_ring *ring,
		  xsk_tx_write_t write)
{
	return span->done ? xsk_tx_span_write_all(span, ring, write, true) :
			    xsk_tx_span_write_all(span, ring, write, false);
}

/**
 * xsk_tx_span_write_single() - write the only descriptor of a span
 * @span: the span, of one descriptor
 * @ring: Tx ring of the device
 * @write: function of the driver that writes one descriptor; inlined
 *
 * As xsk_tx_span_write(), without its loops and the registers that they save.
 *
 * Return: 1; 0 if the descriptor is invalid or has options
 */
static __always_inline u32
xsk_tx_span_write_single(const struct xsk_tx_span *span,
			 struct xsk_tx_dev_ring *ring, xsk_tx_write_t write)
{
	struct xsk_tx_span_regs regs = xsk_tx_span_load(span, ring, 0);
	bool done = xsk_tx_span_write_one(&regs, 0, write, span->done);

	ring->bytes += regs.bytes;
	return done;
}

/* As xsk_tx_desc_fits(), for an unaligned chunk and an address with its offset
 * added: a packet is at most as long as a chunk, on pages that are contiguous
 * for the device. No sum overflows: @addr is a sum of 48 and 16 bits.
 */
static __always_inline bool
xsk_tx_desc_fits_unaligned(const struct xsk_tx_span_regs *regs, u64 addr,
			   u64 len, u64 chunk_size)
{
	const u64 last = addr + len - 1;

	return len - 1 < chunk_size && last < regs->addrs_cnt &&
	       regs->dma_offsets[addr >> PAGE_SHIFT] ==
	       regs->dma_offsets[last >> PAGE_SHIFT];
}

/* Internal to xsk_tx_span_write_packets(). @contd is the option of a further
 * buffer in xsk_tx_desc_len(), or zero.
 */
static __always_inline u32
__xsk_tx_span_write_any(const struct xsk_tx_span *span,
			struct xsk_tx_dev_ring *ring, xsk_tx_write_t write,
			xsk_tx_packet_t packet, bool unaligned, u64 contd)
{
	const u32 max_segs = contd ? span->xs->pool->netdev->xdp_zc_max_segs : 0;
	const u64 max_len = contd ? xp_max_packet_len(span->xs->pool) : 0;
	struct xsk_tx_span_regs regs = xsk_tx_span_load(span, ring, 0);
	const u64 chunk_size = span->xs->pool->chunk_size;
	u32 sent = 0, frags = 0, bytes = 0;
	const size_t count = span->count;
	u64 user, addr, len;
	size_t i;
	bool eop;

	for (i = 0; i < count; i++) {
		/* As in xsk_tx_span_write_one() */
		user = READ_ONCE(regs.desc[i].addr);
		len = xsk_tx_desc_len(&regs.desc[i]);
		eop = !(len & contd);
		len &= ~contd;
		addr = unaligned ? xp_unaligned_add_offset_to_addr(user) : user;
		if (unlikely(unaligned ?
			     !xsk_tx_desc_fits_unaligned(&regs, addr, len,
							 chunk_size) :
			     !xsk_tx_desc_fits(addr, len, regs.chunks,
					       regs.addrs_cnt)))
			break;

		write(regs.dev_desc, regs.next + i,
		      regs.dma_offsets[addr >> PAGE_SHIFT] + addr, len, eop);
		if (regs.done)
			regs.done[i] = user;
		bytes += len;
		if (eop) {
			if (contd && unlikely(bytes > max_len))
				break;
			if (packet && contd && frags)
				packet(regs.dev_desc, regs.next + sent, bytes);
			sent = i + 1;
			frags = 0;
			regs.bytes += bytes;
			bytes = 0;
		} else if (++frags == max_segs) {
			break;
		}
	}

	ring->bytes += regs.bytes;
	return sent;
}

/**
 * xsk_tx_span_write_packets() - write the packets of a span to the device
 * @span: the span
 * @ring: Tx ring of the device
 * @write: function of the driver that writes one descriptor; inlined
 * @packet: function of the driver for the length of a multi-buffer packet, or
 *	NULL if no descriptor contains it; inlined
 *
 * As xsk_tx_span_write(), also for unaligned chunks and multi-buffer packets.
 * Descriptors behind the last whole packet may be written: the device does not
 * own them.
 *
 * Return: number of descriptors of whole packets before the first descriptor
 * that is invalid, has other options, or exceeds a limit of the device
 */
static __always_inline u32
xsk_tx_span_write_packets(const struct xsk_tx_span *span,
			  struct xsk_tx_dev_ring *ring, xsk_tx_write_t write,
			  xsk_tx_packet_t packet)
{
	const u64 contd = (u64)XDP_PKT_CONTD << 32;

	if (!span->xs->sg)
		return __xsk_tx_span_write_any(span, ring, write, packet, true,
					       0);
	return span->xs->pool->unaligned ?
	       __xsk_tx_span_write_any(span, ring, write, packet, true, contd) :
	       __xsk_tx_span_write_any(span, ring, write, packet, false, contd);
}

/**
 * xsk_tx_span_write_any() - write the packets of a span to the device
 * @span: the span
 * @ring: Tx ring of the device
 * @write: function of the driver that writes one descriptor; inlined
 *
 * As xsk_tx_span_write_packets(), for a device whose descriptors do not contain
 * the length of a packet.
 *
 * Return: number of descriptors of whole packets, as
 * xsk_tx_span_write_packets()
 */
static __always_inline u32
xsk_tx_span_write_any(const struct xsk_tx_span *span,
		      struct xsk_tx_dev_ring *ring, xsk_tx_write_t write)
{
	return xsk_tx_span_write_packets(span, ring, write, NULL);
}

/**
 * xsk_tx_spans() - transmit descriptors in spans
 * @pool: the pool
 * @ring: Tx ring of the device
 * @single: function of the driver that calls xsk_tx_span_write_single(), or
 *	xsk_tx_span_write_any() or xsk_tx_span_write_packets(); not inlined
 * @several: function of the driver that calls xsk_tx_span_write(), or the same
 *	as @single; not inlined
 * @count_empty: see xsk_tx_span_begin()
 *
 * Context: NAPI poll
 * Return: 0; -EOPNOTSUPP if descriptors may be left that spans do not support;
 * -EAGAIN if some are left that have to wait for a completion
 */
static __always_inline int xsk_tx_spans(struct xsk_buff_pool *pool,
					struct xsk_tx_dev_ring *ring,
					xsk_tx_span_write_t single,
					xsk_tx_span_write_t several,
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

		sent = count == 1 ? single(&span, ring) : several(&span, ring);
		xsk_tx_span_end(&span, sent);
		ring->room -= sent;
		ring->next += sent;
		if (ring->next == ring->count)
			ring->next = 0;
		if (sent < count)
			return -EOPNOTSUPP;
		/* At the wrap of the device's ring, xsk_tx_span_begin() has
		 * not counted an empty Tx ring yet
		 */
		if (!span.more && (!count_empty || ring->next))
			break;
	}

	return 0;
}

#else

static inline bool xsk_tx_has_spans(const struct xsk_buff_pool *pool)
{
	return false;
}

static inline bool xsk_tx_spans_are_simple(const struct xsk_buff_pool *pool)
{
	return true;
}

static inline bool xsk_tx_spans_have_packets(const struct xsk_buff_pool *pool)
{
	return false;
}

static inline u32 xsk_tx_span_write_single(const struct xsk_tx_span *span,
					   struct xsk_tx_dev_ring *ring,
					   xsk_tx_write_t write)
{
	return 0;
}

static inline u32 xsk_tx_span_write_packets(const struct xsk_tx_span *span,
					    struct xsk_tx_dev_ring *ring,
					    xsk_tx_write_t write,
					    xsk_tx_packet_t packet)
{
	return 0;
}

static inline u32 xsk_tx_span_write_any(const struct xsk_tx_span *span,
					struct xsk_tx_dev_ring *ring,
					xsk_tx_write_t write)
{
	return 0;
}

static inline u32 xsk_tx_span_write(const struct xsk_tx_span *span,
				    struct xsk_tx_dev_ring *ring,
				    xsk_tx_write_t write)
{
	return 0;
}

static inline int xsk_tx_spans(struct xsk_buff_pool *pool,
			       struct xsk_tx_dev_ring *ring,
			       xsk_tx_span_write_t single,
			       xsk_tx_span_write_t several, bool count_empty)
{
	return -EOPNOTSUPP;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_TX_SPAN_H */
