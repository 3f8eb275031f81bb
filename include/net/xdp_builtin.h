/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XDP_BUILTIN_H
#define _NET_XDP_BUILTIN_H

#include <linux/netdevice.h>

struct bpf_prog;
struct netlink_ext_ack;

int xdp_builtin_get(struct net_device *dev, struct bpf_prog *prog,
		    enum bpf_xdp_mode mode, bool fallback,
		    struct netlink_ext_ack *extack);
void xdp_builtin_pin(struct net_device *dev);
void xdp_builtin_put(struct net_device *dev, bool fallback);
struct bpf_prog *xdp_builtin_regular(struct net_device *dev);

#endif /* _NET_XDP_BUILTIN_H */
