/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_CAPTURE_H
#define _NET_XSK_CAPTURE_H

#include <linux/jump_label_ratelimit.h>
#include <linux/netdevice.h>

struct sk_buff;

/*
 * Capture: network taps, such as packet sockets, see what the AF_XDP sockets of
 * a device receive and transmit, while the feature xsk-capture of the device is
 * on. Paths that receive or transmit ask xsk_capture_wanted() once per poll.
 */

#ifdef CONFIG_XDP_SOCKETS

extern struct static_key_false_deferred xsk_capture_key;

bool xsk_capture_has_tap(const struct net_device *dev);
void xsk_capture_skb(struct sk_buff *skb);

/**
 * xsk_capture_wanted() - check whether packets of a device are captured
 * @dev: the device
 *
 * Context: RCU read section
 * Return: true if the feature is on, and there is a tap
 */
static inline bool xsk_capture_wanted(const struct net_device *dev)
{
	return static_branch_unlikely(&xsk_capture_key.key) &&
	       dev->features & NETIF_F_XSK_CAPTURE && xsk_capture_has_tap(dev);
}

#else

static inline bool xsk_capture_wanted(const struct net_device *dev)
{
	return false;
}

static inline void xsk_capture_skb(struct sk_buff *skb)
{
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_XSK_CAPTURE_H */
