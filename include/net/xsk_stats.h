/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_STATS_H
#define _NET_XSK_STATS_H

#include <linux/types.h>

struct net_device;

/*
 * Counters of zero-copy queues for ethtool -S of a driver: as many for each
 * queue of the device, whatever runs there. Called with the RTNL held.
 */

#ifdef CONFIG_XDP_SOCKETS

unsigned int xsk_ethtool_stats_count(const struct net_device *dev);
void xsk_ethtool_stats_strings(const struct net_device *dev, u8 **data);
void xsk_ethtool_stats_get(struct net_device *dev, u64 **data);

#else

static inline unsigned int
xsk_ethtool_stats_count(const struct net_device *dev)
{
	return 0;
}

static inline void xsk_ethtool_stats_strings(const struct net_device *dev,
					     u8 **data)
{
}

static inline void xsk_ethtool_stats_get(struct net_device *dev, u64 **data)
{
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_STATS_H */
