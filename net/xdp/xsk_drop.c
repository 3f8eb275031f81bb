// SPDX-License-Identifier: GPL-2.0
/*
 * Reasons for dropped packets and refused descriptors: XDP_DROP_STATS and the
 * tracepoint xsk_drop.
 *
 * All functions here are for branches in which something failed. The checks
 * themselves have no reason: a descriptor is checked again here, in the copy
 * that the kernel made of it, because user space can change the ring entry.
 */
#include <linux/sock_diag.h>
#include <net/xdp_sock_drv.h>
#include <trace/events/xsk.h>

#include "xsk_attach.h"
#include "xsk_drop.h"
#include "xsk_option.h"
#include "xsk_queue.h"

static void xsk_drop_trace(const struct xdp_sock *xs, int ifindex, u32 queue,
			   u32 reason, u32 count, const struct xdp_desc *desc)
{
	/* The id of the socket in sock_diag; 0 if the queue has several */
	u64 cookie = xs ? sock_gen_cookie((struct sock *)&xs->sk) : 0;

	trace_xsk_drop(ifindex, queue, cookie, reason, count, desc);
}

static void xsk_drop_trace_xdp(const struct xdp_sock *xs,
			       const struct xdp_buff *xdp, u32 reason)
{
	struct xdp_desc desc = { .len = xdp_get_buff_len(xdp) };

	xsk_drop_trace(xs, xdp->rxq->dev->ifindex, xdp->rxq->queue_index,
		       reason, 1, &desc);
}

static void xsk_drop_trace_pool(const struct xsk_buff_pool *pool, u64 addr,
				u32 reason)
{
	/* In copy mode, the device may be unregistered meanwhile */
	const struct net_device *dev = READ_ONCE(pool->netdev);
	struct xdp_desc desc = { .addr = addr };

	xsk_drop_trace(NULL, dev ? dev->ifindex : 0, pool->queue_id, reason, 1,
		       &desc);
}

/* Also called by close(), when the device may be unregistered: xsk_unbind_dev()
 * changes the state and then waits for readers.
 */
static void xsk_drop_trace_tx(const struct xdp_sock *xs, u32 reason, u32 count,
			      const struct xdp_desc *desc)
{
	int ifindex = 0;

	rcu_read_lock();
	if (READ_ONCE(xs->state) == XSK_BOUND)
		ifindex = xs->dev->ifindex;
	xsk_drop_trace(xs, ifindex, xs->queue_id, reason, count, desc);
	rcu_read_unlock();
}

/**
 * xsk_drop_rx() - count a packet that a socket does not receive
 * @xs: the socket, bound or not
 * @xdp: the packet, which the caller drops
 * @reason: XDP_DROP_RX_*
 *
 * Context: BHs disabled; atomic, as packets of any queue can be redirected to
 * a socket
 */
void xsk_drop_rx(struct xdp_sock *xs, const struct xdp_buff *xdp, u32 reason)
{
	atomic64_inc(&xs->drops[reason]);
	if (trace_xsk_drop_enabled())
		xsk_drop_trace_xdp(xs, xdp, reason);
}

/**
 * xsk_drop_multi_buffer() - count a packet that a driver drops, as it has
 *	several buffers
 * @pool: the pool of the queue
 * @xdp: the last buffer
 *
 * The driver knows no socket: counted for all sockets of the queue.
 *
 * Context: NAPI poll
 */
void xsk_drop_multi_buffer(struct xsk_buff_pool *pool,
			   const struct xdp_buff *xdp)
{
	WRITE_ONCE(pool->rx_multi_buffer, pool->rx_multi_buffer + 1);
	if (trace_xsk_drop_enabled())
		xsk_drop_trace_xdp(xsk_attached(xdp->rxq), xdp,
				   XDP_DROP_RX_MULTI_BUFFER);
}
EXPORT_SYMBOL_GPL(xsk_drop_multi_buffer);

/**
 * xsk_drop_fill() - count an invalid address in the fill ring
 * @pool: the pool
 * @addr: the address
 */
void xsk_drop_fill(struct xsk_buff_pool *pool, u64 addr)
{
	pool->fq->invalid_descs++;
	if (trace_xsk_drop_enabled())
		xsk_drop_trace_pool(pool, addr, XDP_DROP_FILL_INVALID);
}

/**
 * xsk_drop_duplicate() - count a chunk that the device already has
 * @pool: the pool, with XDP_RECYCLE_F_CHECK: its chunks are aligned
 * @xskb: the buffer of the chunk
 */
void xsk_drop_duplicate(struct xsk_buff_pool *pool,
			const struct xdp_buff_xsk *xskb)
{
	pool->recycle_duplicates++;
	if (trace_xsk_drop_enabled())
		xsk_drop_trace_pool(pool, (u64)(xskb - pool->heads) <<
					  pool->chunk_shift,
				    XDP_DROP_FILL_DUPLICATE);
}

static void __xsk_drop_tx(struct xdp_sock *xs, u32 reason, u32 descs,
			  const struct xdp_desc *desc)
{
	atomic64_add(descs, &xs->drops[reason]);
	if (trace_xsk_drop_enabled())
		xsk_drop_trace_tx(xs, reason, descs, desc);
}

/**
 * xsk_drop_tx() - count descriptors that are not transmitted
 * @xs: the socket
 * @reason: XDP_DROP_TX_*
 * @descs: number of descriptors
 */
void xsk_drop_tx(struct xdp_sock *xs, u32 reason, u32 descs)
{
	const struct xdp_desc desc = {};

	if (descs)
		__xsk_drop_tx(xs, reason, descs, &desc);
}

static u32 xsk_drop_metadata_len(const struct xsk_buff_pool *pool,
				 const struct xdp_desc *desc)
{
	return desc->options & XDP_TX_METADATA ? pool->tx_metadata_len : 0;
}

/* Whether a packet, with its metadata before it, leaves the umem. As in
 * xp_aligned_validate_desc() and xp_unaligned_validate_desc(), for a length
 * that is not larger than a chunk.
 */
static bool xsk_drop_tx_is_outside(const struct xsk_buff_pool *pool,
				   const struct xdp_desc *desc)
{
	u64 len = xsk_drop_metadata_len(pool, desc), addr = desc->addr, end;

	if (pool->unaligned)
		addr = xp_unaligned_add_offset_to_addr(addr);
	return check_sub_overflow(addr, len, &addr) ||
	       addr >= pool->addrs_cnt ||
	       check_add_overflow(addr, desc->len + len, &end) ||
	       end > pool->addrs_cnt;
}

/**
 * xsk_drop_tx_reason() - find out why a descriptor is invalid
 * @pool: the pool
 * @desc: a copy of the descriptor
 *
 * Return: XDP_DROP_TX_*; XDP_DROP_REASONS if it is valid
 */
u32 xsk_drop_tx_reason(struct xsk_buff_pool *pool, struct xdp_desc *desc)
{
	if (xp_validate_desc(pool, desc))
		return XDP_DROP_REASONS;
	if (!desc->len)
		return XDP_DROP_TX_EMPTY;
	if (xp_unused_options_set(desc->options))
		return XDP_DROP_TX_OPTIONS;
	if ((u64)desc->len + xsk_drop_metadata_len(pool, desc) >
	    pool->chunk_size)
		return XDP_DROP_TX_CHUNK;
	if (xsk_drop_tx_is_outside(pool, desc))
		return XDP_DROP_TX_ADDR;
	if (__xp_validate_desc(pool, desc, xsk_drop_metadata_len(pool, desc)))
		return XDP_DROP_TX_CHECKSUM;
	return pool->unaligned ? XDP_DROP_TX_PAGE : XDP_DROP_TX_CHUNK;
}

/**
 * xsk_drop_tx_desc() - count a descriptor that is refused alone
 * @xs: the socket
 * @desc: a copy of the descriptor; if it is valid, it belongs to a packet that
 *	was refused before
 *
 * Context: as for the consumer of the Tx ring
 */
void xsk_drop_tx_desc(struct xdp_sock *xs, struct xdp_desc *desc)
{
	u32 reason = xsk_drop_tx_reason(xs->pool, desc);

	/* User space may have made the metadata valid in the meantime */
	if (reason == XDP_DROP_REASONS)
		reason = xs->drain_reason ?: XDP_DROP_TX_CHECKSUM;
	__xsk_drop_tx(xs, reason, 1, desc);
}

/* Why the valid descriptors of a refused packet are refused: it has an invalid
 * one, or too many. The rest of the packet may follow in a later batch.
 */
static u8 xsk_drop_packet_reason(const struct xdp_sock *xs,
				 struct xdp_desc *descs, u32 count)
{
	if (READ_ONCE(xs->drain_cont))
		return xs->drain_reason;

	while (count--) {
		if (!xp_validate_desc(xs->pool, descs++))
			return XDP_DROP_TX_PACKET;
	}
	return XDP_DROP_TX_FRAGS;
}

/**
 * xsk_drop_tx_packet() - count the descriptors of a refused packet
 * @xs: the socket, whose @drain_cont still tells whether the packet began in
 *	an earlier batch
 * @descs: copies of the descriptors
 * @count: number of descriptors
 *
 * Context: NAPI poll
 */
void xsk_drop_tx_packet(struct xdp_sock *xs, struct xdp_desc *descs, u32 count)
{
	xs->drain_reason = xsk_drop_packet_reason(xs, descs, count);
	for (; count--; descs++)
		xsk_drop_tx_desc(xs, descs);
}

/**
 * xsk_drop_tx_device() - count a packet that the device dropped, in copy mode
 * @xs: the socket
 *
 * The skb was freed, and its number of descriptors with it.
 *
 * Context: the socket's mutex
 */
void xsk_drop_tx_device(struct xdp_sock *xs)
{
	bool up = netif_running(xs->dev) && netif_carrier_ok(xs->dev);

	xsk_drop_tx(xs, up ? XDP_DROP_TX_DEVICE : XDP_DROP_TX_LINK, 1);
}

/* Drops that are counted for the queue, in the context that drops */
static u64 xsk_drops_of_pool(const struct xsk_buff_pool *pool, u32 reason)
{
	switch (reason) {
	case XDP_DROP_RX_MULTI_BUFFER:
		return READ_ONCE(pool->rx_multi_buffer);
	case XDP_DROP_FILL_INVALID:
		return xskq_nb_invalid_descs(pool->fq);
	case XDP_DROP_FILL_DUPLICATE:
		return READ_ONCE(pool->recycle_duplicates);
	default:
		return 0;
	}
}

/**
 * xsk_drops() - get the number of drops for some reasons
 * @xs: the socket
 * @first: the first reason
 * @last: the last reason
 *
 * Context: the socket's mutex
 * Return: the sum of their counters
 */
u64 xsk_drops(const struct xdp_sock *xs, u32 first, u32 last)
{
	u64 sum = 0;

	for (; first <= last; first++) {
		sum += atomic64_read(&xs->drops[first]);
		if (xs->pool)
			sum += xsk_drops_of_pool(xs->pool, first);
	}
	return sum;
}
EXPORT_SYMBOL_GPL(xsk_drops);

/**
 * xsk_drop_stats() - get the number of drops for each reason
 * @xs: the socket
 * @stats: the result
 *
 * Context: the socket's mutex
 */
void xsk_drop_stats(const struct xdp_sock *xs, struct xdp_drop_stats *stats)
{
	u32 reason;

	for (reason = 0; reason < XDP_DROP_REASONS; reason++)
		stats->count[reason] = xsk_drops(xs, reason, reason);
}
EXPORT_SYMBOL_GPL(xsk_drop_stats);

/**
 * xsk_drop_getsockopt() - get XDP_DROP_STATS
 * @xs: the socket
 * @optval: the user's buffer
 * @optlen: receives the number of bytes copied
 * @len: size of the buffer
 *
 * Return: 0, or -EFAULT.
 */
int xsk_drop_getsockopt(struct xdp_sock *xs, char __user *optval,
			int __user *optlen, int len)
{
	struct xdp_drop_stats stats;

	mutex_lock(&xs->mutex);
	xsk_drop_stats(xs, &stats);
	mutex_unlock(&xs->mutex);
	return xsk_put_option(optval, optlen, len, &stats, sizeof(stats));
}
