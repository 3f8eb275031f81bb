/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xsk

#if !defined(_TRACE_XSK_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_XSK_H

#include <linux/if_xdp.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/netdevice.h>
#include <linux/tracepoint.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

/* Reasons of unpair: setsockopt, moved (paired with another Rx queue),
 * tx_closed, rx_closed (socket), tx_unregistered, rx_unregistered (device).
 * Reasons of spill: limit (of pending chunks), no_pair (no Rx queue).
 */

TRACE_EVENT(xsk_recycle_pair,

	TP_PROTO(const struct xdp_sock *tx, const struct xdp_sock *rx,
		 u32 tx_entry),

	TP_ARGS(tx, rx, tx_entry),

	TP_STRUCT__entry(
		__field(int, tx_ifindex)
		__field(u32, tx_queue)
		__field(int, rx_ifindex)
		__field(u32, rx_queue)
		__field(u32, tx_entry)
	),

	TP_fast_assign(
		__entry->tx_ifindex	= tx->dev->ifindex;
		__entry->tx_queue	= tx->queue_id;
		__entry->rx_ifindex	= rx->dev->ifindex;
		__entry->rx_queue	= rx->queue_id;
		__entry->tx_entry	= tx_entry;
	),

	TP_printk("tx_ifindex=%d tx_queue=%u rx_ifindex=%d rx_queue=%u tx_entry=%u",
		  __entry->tx_ifindex, __entry->tx_queue, __entry->rx_ifindex,
		  __entry->rx_queue, __entry->tx_entry)
);

TRACE_EVENT(xsk_recycle_unpair,

	TP_PROTO(const struct xdp_sock *tx, const struct xdp_sock *rx,
		 const char *reason),

	TP_ARGS(tx, rx, reason),

	TP_STRUCT__entry(
		__field(int, tx_ifindex)
		__field(u32, tx_queue)
		__field(int, rx_ifindex)
		__field(u32, rx_queue)
		__string(reason, reason)
	),

	TP_fast_assign(
		__entry->tx_ifindex	= tx->dev->ifindex;
		__entry->tx_queue	= tx->queue_id;
		__entry->rx_ifindex	= rx->dev->ifindex;
		__entry->rx_queue	= rx->queue_id;
		__assign_str(reason);
	),

	TP_printk("tx_ifindex=%d tx_queue=%u rx_ifindex=%d rx_queue=%u reason=%s",
		  __entry->tx_ifindex, __entry->tx_queue, __entry->rx_ifindex,
		  __entry->rx_queue, __get_str(reason))
);

TRACE_EVENT(xsk_recycle_spill,

	TP_PROTO(const struct xsk_buff_pool *pool, u32 excess, u32 spilled,
		 const char *reason),

	TP_ARGS(pool, excess, spilled, reason),

	TP_STRUCT__entry(
		__field(int, ifindex)
		__field(u32, queue)
		__field(u32, excess)
		__field(u32, spilled)
		__string(reason, reason)
	),

	TP_fast_assign(
		__entry->ifindex	= pool->netdev->ifindex;
		__entry->queue		= pool->queue_id;
		__entry->excess		= excess;
		__entry->spilled	= spilled;
		__assign_str(reason);
	),

	TP_printk("ifindex=%d queue=%u excess=%u spilled=%u reason=%s",
		  __entry->ifindex, __entry->queue, __entry->excess,
		  __entry->spilled, __get_str(reason))
);

TRACE_DEFINE_ENUM(XDP_DROP_RX_RING_FULL);
TRACE_DEFINE_ENUM(XDP_DROP_RX_NO_BUFFER);
TRACE_DEFINE_ENUM(XDP_DROP_RX_TOO_LONG);
TRACE_DEFINE_ENUM(XDP_DROP_RX_MULTI_BUFFER);
TRACE_DEFINE_ENUM(XDP_DROP_RX_UNBOUND);
TRACE_DEFINE_ENUM(XDP_DROP_RX_WRONG_QUEUE);
TRACE_DEFINE_ENUM(XDP_DROP_RX_NO_RING);
TRACE_DEFINE_ENUM(XDP_DROP_RX_BUSY);
TRACE_DEFINE_ENUM(XDP_DROP_FILL_INVALID);
TRACE_DEFINE_ENUM(XDP_DROP_FILL_DUPLICATE);
TRACE_DEFINE_ENUM(XDP_DROP_TX_EMPTY);
TRACE_DEFINE_ENUM(XDP_DROP_TX_ADDR);
TRACE_DEFINE_ENUM(XDP_DROP_TX_CHUNK);
TRACE_DEFINE_ENUM(XDP_DROP_TX_PAGE);
TRACE_DEFINE_ENUM(XDP_DROP_TX_OPTIONS);
TRACE_DEFINE_ENUM(XDP_DROP_TX_FRAGS);
TRACE_DEFINE_ENUM(XDP_DROP_TX_PACKET);
TRACE_DEFINE_ENUM(XDP_DROP_TX_METADATA);
TRACE_DEFINE_ENUM(XDP_DROP_TX_NO_MEMORY);
TRACE_DEFINE_ENUM(XDP_DROP_TX_LINK);
TRACE_DEFINE_ENUM(XDP_DROP_TX_DEVICE);
TRACE_DEFINE_ENUM(XDP_DROP_TX_CHECKSUM);

/* @cookie is the id of the socket in sock_diag, 0 if only the queue is known.
 * @desc is the descriptor as user space wrote it, or has only the length of a
 * received packet. @count is the number of descriptors that are refused alike.
 */
TRACE_EVENT(xsk_drop,

	TP_PROTO(int ifindex, u32 queue, u64 cookie, u32 reason, u32 count,
		 const struct xdp_desc *desc),

	TP_ARGS(ifindex, queue, cookie, reason, count, desc),

	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, addr)
		__field(int, ifindex)
		__field(u32, queue)
		__field(u32, reason)
		__field(u32, count)
		__field(u32, len)
		__field(u32, options)
	),

	TP_fast_assign(
		__entry->cookie		= cookie;
		__entry->addr		= desc->addr;
		__entry->ifindex	= ifindex;
		__entry->queue		= queue;
		__entry->reason		= reason;
		__entry->count		= count;
		__entry->len		= desc->len;
		__entry->options	= desc->options;
	),

	TP_printk("ifindex=%d queue=%u cookie=%llu reason=%s count=%u len=%u addr=%#llx options=%#x",
		  __entry->ifindex, __entry->queue, __entry->cookie,
		  __print_symbolic(__entry->reason,
				   { XDP_DROP_RX_RING_FULL, "rx_ring_full" },
				   { XDP_DROP_RX_NO_BUFFER, "rx_no_buffer" },
				   { XDP_DROP_RX_TOO_LONG, "rx_too_long" },
				   { XDP_DROP_RX_MULTI_BUFFER, "rx_multi_buffer" },
				   { XDP_DROP_RX_UNBOUND, "rx_unbound" },
				   { XDP_DROP_RX_WRONG_QUEUE, "rx_wrong_queue" },
				   { XDP_DROP_RX_NO_RING, "rx_no_ring" },
				   { XDP_DROP_RX_BUSY, "rx_busy" },
				   { XDP_DROP_FILL_INVALID, "fill_invalid" },
				   { XDP_DROP_FILL_DUPLICATE, "fill_duplicate" },
				   { XDP_DROP_TX_EMPTY, "tx_empty" },
				   { XDP_DROP_TX_ADDR, "tx_addr" },
				   { XDP_DROP_TX_CHUNK, "tx_chunk" },
				   { XDP_DROP_TX_PAGE, "tx_page" },
				   { XDP_DROP_TX_OPTIONS, "tx_options" },
				   { XDP_DROP_TX_FRAGS, "tx_frags" },
				   { XDP_DROP_TX_PACKET, "tx_packet" },
				   { XDP_DROP_TX_METADATA, "tx_metadata" },
				   { XDP_DROP_TX_NO_MEMORY, "tx_no_memory" },
				   { XDP_DROP_TX_LINK, "tx_link" },
				   { XDP_DROP_TX_DEVICE, "tx_device" },
				   { XDP_DROP_TX_CHECKSUM, "tx_checksum" }),
		  __entry->count, __entry->len, __entry->addr,
		  __entry->options)
);

/* A packet that taps do not see: no memory, or user space has changed an entry */
TRACE_EVENT(xsk_capture_lost,

	TP_PROTO(const struct net_device *dev, u32 queue, u32 len),

	TP_ARGS(dev, queue, len),

	TP_STRUCT__entry(
		__field(int, ifindex)
		__field(u32, queue)
		__field(u32, len)
	),

	TP_fast_assign(
		__entry->ifindex	= dev->ifindex;
		__entry->queue		= queue;
		__entry->len		= len;
	),

	TP_printk("ifindex=%d queue=%u len=%u",
		  __entry->ifindex, __entry->queue, __entry->len)
);

#endif /* _TRACE_XSK_H */

#include <trace/define_trace.h>
