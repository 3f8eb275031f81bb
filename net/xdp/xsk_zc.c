// SPDX-License-Identifier: GPL-2.0
/*
 * Reasons why bind() does not make a queue zero-copy. bind() returns only an
 * errno, and with a fallback to copy mode not even that: the reason is in struct
 * xdp_attach, and in the log with its remedy and what the driver says.
 */
#include <linux/capability.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <net/xsk_buff_pool.h>

#include "xsk_zc.h"

/* Cause and remedy */
static const char *xsk_zc_text(u32 reason)
{
	switch (reason) {
	case XDP_ATTACH_R_ZC_DRIVER:
		return "the driver has no zero-copy; use copy mode";
	case XDP_ATTACH_R_ZC_SG:
		return "the driver has no zero-copy with XDP_USE_SG; do not set it";
	case XDP_ATTACH_R_ZC_MTU:
		return "the MTU exceeds the chunks; use larger ones, or XDP_USE_SG";
	case XDP_ATTACH_R_ZC_DMA:
		return "the umem cannot be mapped for the device; free memory";
	case XDP_ATTACH_R_DEVICE_BUSY:
		return "device memory is bound to a queue; release it";
	default:
		return "the driver refused; use copy mode";
	}
}

/**
 * xsk_zc_refuse() - record why a queue is not zero-copy
 * @pool: the pool
 * @reason: XDP_ATTACH_R_*
 * @err: the error of bind()
 *
 * Context: RTNL
 * Return: @err
 */
int xsk_zc_refuse(struct xsk_buff_pool *pool, u32 reason, int err)
{
	pool->zc_reason = reason;
	return err;
}

/**
 * xsk_zc_log() - log why a queue is not zero-copy
 * @pool: the pool; a driver that failed without a reason has refused
 * @dev: the device
 * @qid: the queue
 * @required: bind() fails; otherwise the queue is in copy mode
 * @extack: message of the driver, or NULL
 *
 * The log is the host's: root of a user namespace, which can have any number of
 * devices and sockets, reads the reason with getsockopt() only.
 *
 * Context: RTNL
 */
void xsk_zc_log(struct xsk_buff_pool *pool, const struct net_device *dev,
		u16 qid, bool required, const struct netlink_ext_ack *extack)
{
	const char *said = extack ? extack->_msg : NULL;

	if (!pool->zc_reason)
		pool->zc_reason = XDP_ATTACH_R_ZC_REFUSED;
	if (!required)
		netdev_dbg(dev, "AF_XDP socket in copy mode on queue %u: %s%s%s\n",
			   qid, xsk_zc_text(pool->zc_reason),
			   said ? ": " : "", said ?: "");
	else if (ns_capable_noaudit(&init_user_ns, CAP_NET_RAW) &&
		 net_ratelimit())
		netdev_info(dev, "AF_XDP socket not zero-copy on queue %u: %s%s%s\n",
			    qid, xsk_zc_text(pool->zc_reason),
			    said ? ": " : "", said ?: "");
}
