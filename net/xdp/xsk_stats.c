// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of zero-copy queues for ethtool -S of a driver.
 *
 * They are those of the queue's pool: zero where no socket is, and from zero
 * on with the first socket. Their number depends on the device alone.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_stats.h>

#include "xsk_recycle.h"

static const struct {
	const char *name;
	size_t offset;
} xsk_stats[] = {
	{ "rx_recycled", offsetof(struct xdp_recycle, received) },
	{ "rx_filled", offsetof(struct xdp_recycle, filled) },
	{ "rx_duplicates", offsetof(struct xdp_recycle, duplicates) },
	{ "tx_recycled", offsetof(struct xdp_recycle, recycled) },
	{ "tx_spilled", offsetof(struct xdp_recycle, spilled) },
	{ "tx_kicks", offsetof(struct xdp_recycle, kicks) },
};

/**
 * xsk_ethtool_stats_count() - how many counters there are
 * @dev: the device
 *
 * Return: their number, which never changes
 */
unsigned int xsk_ethtool_stats_count(const struct net_device *dev)
{
	return dev->num_rx_queues * ARRAY_SIZE(xsk_stats);
}
EXPORT_SYMBOL_GPL(xsk_ethtool_stats_count);

/**
 * xsk_ethtool_stats_strings() - write the names of the counters
 * @dev: the device
 * @data: where the first one goes; gets the place behind the last one
 */
void xsk_ethtool_stats_strings(const struct net_device *dev, u8 **data)
{
	unsigned int queue, i;

	for (queue = 0; queue < dev->num_rx_queues; queue++) {
		for (i = 0; i < ARRAY_SIZE(xsk_stats); i++)
			ethtool_sprintf(data, "xsk_queue_%u_%s", queue,
					xsk_stats[i].name);
	}
}
EXPORT_SYMBOL_GPL(xsk_ethtool_stats_strings);

/**
 * xsk_ethtool_stats_get() - write the counters
 * @dev: the device
 * @data: where the first one goes; gets the place behind the last one
 *
 * Context: RTNL, under which pools come and go
 */
void xsk_ethtool_stats_get(struct net_device *dev, u64 **data)
{
	struct xdp_recycle stats;
	struct xsk_buff_pool *pool;
	unsigned int queue, i;

	ASSERT_RTNL();

	for (queue = 0; queue < dev->num_rx_queues; queue++) {
		memset(&stats, 0, sizeof(stats));
		pool = xsk_get_pool_from_qid(dev, queue);
		if (pool)
			xsk_recycle_stats(pool, &stats);

		for (i = 0; i < ARRAY_SIZE(xsk_stats); i++)
			*(*data)++ = *(u64 *)((void *)&stats +
					      xsk_stats[i].offset);
	}
}
EXPORT_SYMBOL_GPL(xsk_ethtool_stats_get);
