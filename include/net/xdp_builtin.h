/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XDP_BUILTIN_H
#define _NET_XDP_BUILTIN_H

#include <linux/netdevice.h>

struct bpf_prog;
struct netlink_ext_ack;

/**
 * xdp_builtin_native() - check whether native mode is safe on a device
 * @dev: the device
 *
 * Rings and pool of an AF_XDP socket have no lock in native mode: only one
 * context at a time may receive from a queue, its NAPI poll. Drivers declare
 * this by @xdp_napi of the device, and that XDP_REDIRECT works in copy mode.
 * Counterexamples: XDP in the context of a writer to a character device,
 * several NAPI instances per queue, a device that presents packets of other
 * devices with their queue numbers.
 *
 * Return: true if the driver redirects packets and runs XDP in the queue's NAPI
 */
static inline bool xdp_builtin_native(const struct net_device *dev)
{
	const xdp_features_t needed = NETDEV_XDP_ACT_BASIC |
				      NETDEV_XDP_ACT_REDIRECT;

	return dev->xdp_napi && (dev->xdp_features & needed) == needed;
}

#ifdef CONFIG_XDP_SOCKETS

/* Set once, under RTNL; read by xsk_is_builtin() without */
extern struct bpf_prog *xsk_builtin_prog;

/**
 * xsk_is_builtin() - check whether a program is the built-in one
 * @prog: the program of a device, or NULL
 *
 * Return: true if it is
 */
static inline bool xsk_is_builtin(const struct bpf_prog *prog)
{
	return prog && prog == READ_ONCE(xsk_builtin_prog);
}

/**
 * struct xdp_pass_progs - kernel programs that give sockets what a regular
 *	program passes
 * @wrapper: for XDP_MODE_SKB and XDP_MODE_DRV, and for regular programs without
 *	and with support of multi-buffer packets: calls @inner of struct
 *	xdp_builtin of that kind, and returns XDP_ABORTED if there is none
 * @beside: runs in generic mode, after a native regular program
 */
struct xdp_pass_progs {
	struct bpf_prog *wrapper[2][2];
	struct bpf_prog *beside;
};

#else

static inline bool xsk_is_builtin(const struct bpf_prog *prog)
{
	return false;
}

#endif /* CONFIG_XDP_SOCKETS */

int xdp_builtin_get(struct net_device *dev, struct bpf_prog *prog,
		    enum bpf_xdp_mode mode, bool fallback,
		    struct netlink_ext_ack *extack);
void xdp_builtin_pin(struct net_device *dev);
void xdp_builtin_put(struct net_device *dev, bool fallback);
struct bpf_prog *xdp_builtin_regular(struct net_device *dev);

int xdp_pass_get(struct net_device *dev, const struct xdp_pass_progs *progs,
		 struct netlink_ext_ack *extack);
void xdp_pass_put(struct net_device *dev);

#endif /* _NET_XDP_BUILTIN_H */
