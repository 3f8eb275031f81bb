/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xsk

#if !defined(_TRACE_XSK_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_XSK_H

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

#endif /* _TRACE_XSK_H */

#include <trace/define_trace.h>
