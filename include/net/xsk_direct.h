/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_DIRECT_H
#define _NET_XSK_DIRECT_H

#include <asm/barrier.h>
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/if_xdp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <net/xdp.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_refill.h>

struct bpf_prog;
struct xdp_sock;

/*
 * Direct delivery: while no regular program is attached, a driver can write the
 * packets of a zero-copy queue to the Rx ring of the attached socket without
 * running BPF. A poll calls
 *
 *   xsk_direct_begin()		once; if it fails, packets go through BPF
 *   xsk_direct_receive()	with functions that only consist of
 *				xsk_direct_read(), or
 *				xsk_direct_read_packets(), and the driver's
 *				function that reads a descriptor
 *   xsk_refill()		see xsk_refill.h
 *   xsk_direct_end()		once: publishes rings and wakes up the socket
 *
 * Packets that cannot be delivered go through BPF after xsk_direct_end(): of a
 * socket without XDP_USE_SG all multi-buffer packets.
 */

/**
 * struct xsk_direct - state of a poll with direct delivery, on its stack
 * @xs: the attached socket
 * @desc: the next entry of the socket's Rx ring
 * @room: number of free entries, across the wrap-around
 * @span: number of contiguous ones
 * @bytes: number of bytes received; grows
 * @max_len: size of a chunk in bytes, without headroom
 */
struct xsk_direct {
	struct xdp_sock *xs;
	struct xdp_desc *desc;
	u32 room;
	u32 span;
	u32 bytes;
	u32 max_len;
};

/**
 * struct xsk_direct_packets - additional state for a socket with XDP_USE_SG
 * @direct: state of the poll; counts the bytes of whole packets
 * @packets: number of packets received; grows
 * @partial: number of descriptors read since the end of the last packet
 * @partial_bytes: number of their bytes
 */
struct xsk_direct_packets {
	struct xsk_direct *direct;
	u32 packets;
	u32 partial;
	u32 partial_bytes;
};

/*
 * Returns the length of the buffer at @index, the entry of the software ring,
 * and whether it is the last buffer of the packet; 0 if the descriptor is not
 * written back, is not that of a packet, or has more than @max_len bytes
 */
typedef u64 (*xsk_direct_read_t)(void *desc, void *bufs, size_t index,
				 u64 max_len, u64 *entry, bool *eop);

/* xsk_direct_read() of a driver */
typedef u32 (*xsk_direct_span_t)(struct xsk_direct *direct,
				 const struct xsk_rx_ring *ring, size_t count);

/* xsk_direct_read_packets() of a driver */
typedef u32 (*xsk_direct_packets_t)(struct xsk_direct_packets *state,
				    const struct xsk_rx_ring *ring,
				    size_t count);

#ifdef CONFIG_XDP_SOCKETS

bool xsk_direct_begin(struct xsk_direct *direct, const struct bpf_prog *prog,
		      const struct xdp_rxq_info *rxq,
		      struct xsk_buff_pool *pool, u32 budget);
void xsk_direct_commit(struct xsk_direct *direct, u32 count);
void xsk_direct_aim_all(struct xsk_direct *direct);
void xsk_direct_rewind(struct xsk_direct *direct, struct xsk_rx_ring *ring,
		       u32 count);
void xsk_direct_end(struct xsk_direct *direct);

static_assert(offsetof(struct xdp_desc, options) ==
	      offsetof(struct xdp_desc, len) + sizeof(u32));

/* Length and options in one store */
static inline void xsk_direct_set_len(struct xdp_desc *desc, u32 len,
				      u32 options)
{
	u64 word = len | (u64)options << 32;

	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		word = rol64(word, 32);
	*(u64 *)&desc->len = word;
}

/**
 * xsk_direct_init() - prepare for xsk_direct_addr()
 * @pool: a pool that is mapped for DMA
 *
 * Leaves out a pool of unaligned chunks that need DMA syncs, which take a
 * buffer, and all pools of aligned chunks if the size of a buffer is no power
 * of two, which is possible with cache lines of less than 64 bytes: their
 * packets go through BPF.
 */
static inline void xsk_direct_init(struct xsk_buff_pool *pool)
{
	const size_t size = sizeof(*pool->heads);

	BUILD_BUG_ON(SMP_CACHE_BYTES >= 64 && !is_power_of_2(size));
	if (pool->unaligned) {
		/* The entries are the addresses */
		pool->direct_scale = !dma_dev_need_sync(pool->dev);
		return;
	}
	if (!is_power_of_2(size))
		return;

	pool->direct_scale = pool->chunk_size / size;
	pool->direct_base = (uintptr_t)&pool->heads->xdp * pool->direct_scale -
			    pool->headroom - XDP_PACKET_HEADROOM;
}

/* Address of the packet for the socket. Buffers of aligned chunks are in the
 * order of the chunks, so that their addresses are sufficient: their memory is
 * not accessed.
 */
static __always_inline u64 xsk_direct_addr(const struct xsk_buff_pool *pool,
					   u64 entry)
{
	return entry * pool->direct_scale - pool->direct_base;
}

/* Internal to xsk_direct_read(): what it keeps in registers */
struct xsk_direct_regs {
	struct xdp_desc *desc;
	const struct xsk_buff_pool *pool;
	void *dev_desc;
	void *bufs;
	size_t next;
	u64 max_len;
	u32 bytes;
};

/* Internal to xsk_direct_read(): from descriptor @from on */
static __always_inline struct xsk_direct_regs
xsk_direct_load(const struct xsk_direct *direct,
		const struct xsk_rx_ring *ring, size_t from)
{
	return (struct xsk_direct_regs) {
		.desc = direct->desc + from,
		.pool = ring->pool,
		.dev_desc = ring->desc,
		.bufs = ring->bufs,
		.next = ring->next_to_clean + from,
		.max_len = direct->max_len,
	};
}

/* Internal to xsk_direct_read(): returns false if there is no packet @i */
static __always_inline bool
xsk_direct_read_one(struct xsk_direct_regs *regs, size_t i,
		    xsk_direct_read_t read)
{
	u64 len, entry;
	bool eop;

	len = read(regs->dev_desc, regs->bufs, regs->next + i, regs->max_len,
		   &entry, &eop);
	if (!len || !eop)
		return false;

	regs->desc[i].addr = xsk_direct_addr(regs->pool, entry);
	xsk_direct_set_len(&regs->desc[i], len, 0);
	regs->bytes += len;
	return true;
}

/* Internal to xsk_direct_read(): returns the number of packets, at most 4 */
static __always_inline size_t
xsk_direct_read_four(struct xsk_direct_regs *regs, xsk_direct_read_t read)
{
	if (!xsk_direct_read_one(regs, 0, read))
		return 0;
	if (!xsk_direct_read_one(regs, 1, read))
		return 1;
	if (!xsk_direct_read_one(regs, 2, read))
		return 2;
	return xsk_direct_read_one(regs, 3, read) ? 4 : 3;
}

/* Internal to xsk_direct_read(): all packets, four at a time, or the up to
 * three that are left then. Called once for each: with both loops in one
 * function, the first one would not have all registers.
 */
static __always_inline u32
__xsk_direct_read(struct xsk_direct *direct, const struct xsk_rx_ring *ring,
		  size_t count, bool four, xsk_direct_read_t read)
{
	struct xsk_direct_regs regs =
		xsk_direct_load(direct, ring, four ? 0 : ALIGN_DOWN(count, 4));
	const struct xdp_desc *end = direct->desc +
				     (four ? ALIGN_DOWN(count, 4) : count);
	size_t got, step = four ? 4 : 1;

	for (; regs.desc != end; regs.desc += step, regs.next += step) {
		got = four ? xsk_direct_read_four(&regs, read) :
			     xsk_direct_read_one(&regs, 0, read);
		if (got < step) {
			regs.desc += got;
			break;
		}
	}

	direct->bytes += regs.bytes;
	return regs.desc - direct->desc;
}

/**
 * xsk_direct_read() - deliver contiguous packets
 * @direct: state of the poll
 * @ring: the Rx ring
 * @count: number of contiguous descriptors and free Rx ring entries
 * @read: inlined; reads one descriptor
 *
 * Return: number of packets delivered; less than @count if there are no more,
 * or if the next one is not a single-buffer packet
 */
static __always_inline u32 xsk_direct_read(struct xsk_direct *direct,
					   const struct xsk_rx_ring *ring,
					   size_t count, xsk_direct_read_t read)
{
	u32 done = __xsk_direct_read(direct, ring, count, true, read);

	if (done < ALIGN_DOWN(count, 4))
		return done;
	return __xsk_direct_read(direct, ring, count, false, read);
}

/**
 * xsk_direct_read_packets() - deliver contiguous buffers
 * @state: state of the poll
 * @ring: the Rx ring
 * @count: number of contiguous descriptors and free Rx ring entries
 * @read: inlined; reads one descriptor
 *
 * As xsk_direct_read(), for a socket with XDP_USE_SG.
 *
 * Return: number of descriptors read; less than @count if the next one is not
 * written back, or not a buffer of a packet
 */
static __always_inline u32
xsk_direct_read_packets(struct xsk_direct_packets *state,
			const struct xsk_rx_ring *ring, size_t count,
			xsk_direct_read_t read)
{
	struct xsk_direct *direct = state->direct;
	struct xsk_direct_regs regs = xsk_direct_load(direct, ring, 0);
	u32 bytes = state->partial_bytes, packets = 0;
	u64 len, entry;
	size_t i, end;
	bool eop;

	/* Index behind the last packet; wraps around if it is an earlier one */
	end = 0 - (size_t)state->partial;
	for (i = 0; i < count; i++) {
		len = read(regs.dev_desc, regs.bufs, regs.next + i,
			   regs.max_len, &entry, &eop);
		if (!len)
			break;

		regs.desc[i].addr = xsk_direct_addr(regs.pool, entry);
		xsk_direct_set_len(&regs.desc[i], len, eop ? 0 : XDP_PKT_CONTD);
		bytes += len;
		if (eop) {
			regs.bytes += bytes;
			bytes = 0;
			packets++;
			end = i + 1;
		}
	}

	direct->bytes += regs.bytes;
	state->packets += packets;
	state->partial = i - end;
	state->partial_bytes = bytes;
	return i;
}

/* Internal to xsk_direct_receive(): for a socket with XDP_USE_SG. The rest of
 * a packet may be behind the end of a ring, or not be there yet.
 */
static __always_inline u32
xsk_direct_receive_packets(struct xsk_direct *direct, struct xsk_rx_ring *ring,
			   u32 budget, u32 *stop, xsk_direct_packets_t span)
{
	struct xsk_direct_packets state = { .direct = direct };
	u32 count, got;

	xsk_direct_aim_all(direct);
	do {
		count = min3(budget - state.packets, direct->span,
			     ring->count - ring->next_to_clean);
		got = span(&state, ring, count);
		/* As in xsk_direct_receive() */
		dma_rmb();
		xsk_direct_commit(direct, got);
		ring->next_to_clean += got;
		if (ring->next_to_clean == ring->count)
			ring->next_to_clean = 0;
	} while (got && got == count && state.packets < budget);

	*stop = ring->next_to_clean;
	if (state.partial)
		xsk_direct_rewind(direct, ring, state.partial);
	return state.packets;
}

/**
 * xsk_direct_receive() - deliver packets
 * @direct: state of the poll
 * @ring: the Rx ring, with the pool of xsk_direct_begin(); next_to_clean
 *	advances
 * @budget: maximum number of packets
 * @stop: receives the index of the descriptor behind the last one that was read
 * @span: the driver's xsk_direct_read()
 * @packets: the driver's xsk_direct_read_packets(), or NULL if it does not
 *	support XDP_USE_SG
 *
 * Return: number of packets delivered; less than @budget if the descriptor at
 * @stop is not written back, if it cannot be delivered, or if the socket's ring
 * is full
 */
static __always_inline u32 xsk_direct_receive(struct xsk_direct *direct,
					      struct xsk_rx_ring *ring,
					      u32 budget, u32 *stop,
					      xsk_direct_span_t span,
					      xsk_direct_packets_t packets)
{
	u32 count, got, done = 0;

	if (packets && unlikely(direct->xs->sg))
		return xsk_direct_receive_packets(direct, ring, budget, stop,
						  packets);

	while (done < budget) {
		count = min3(budget - done, direct->span,
			     ring->count - ring->next_to_clean);
		got = span(direct, ring, count);
		/* The device wrote the packets before the descriptors; the
		 * commit may copy packets from a bounce buffer
		 */
		dma_rmb();
		xsk_direct_commit(direct, got);
		done += got;
		ring->next_to_clean += got;
		if (ring->next_to_clean == ring->count)
			ring->next_to_clean = 0;
		if (!got || got < count)
			break;
	}

	*stop = ring->next_to_clean;
	return done;
}

#else

static inline bool xsk_direct_begin(struct xsk_direct *direct,
				    const struct bpf_prog *prog,
				    const struct xdp_rxq_info *rxq,
				    struct xsk_buff_pool *pool, u32 budget)
{
	return false;
}

static inline void xsk_direct_end(struct xsk_direct *direct)
{
}

static inline u32 xsk_direct_read(struct xsk_direct *direct,
				  const struct xsk_rx_ring *ring, size_t count,
				  xsk_direct_read_t read)
{
	return 0;
}

static inline u32 xsk_direct_read_packets(struct xsk_direct_packets *state,
					  const struct xsk_rx_ring *ring,
					  size_t count, xsk_direct_read_t read)
{
	return 0;
}

static inline u32 xsk_direct_receive(struct xsk_direct *direct,
				     struct xsk_rx_ring *ring, u32 budget,
				     u32 *stop, xsk_direct_span_t span,
				     xsk_direct_packets_t packets)
{
	*stop = ring->next_to_clean;
	return 0;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_DIRECT_H */
