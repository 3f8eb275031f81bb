/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_CORE_XDP_BUILTIN_H
#define _NET_CORE_XDP_BUILTIN_H

#include <linux/netdevice.h>

#include "dev.h"

struct bpf_prog;
struct netlink_ext_ack;

/* In dev.c */
bpf_op_t dev_xdp_bpf_op(struct net_device *dev, enum bpf_xdp_mode mode);
struct bpf_prog *dev_xdp_prog(struct net_device *dev, enum bpf_xdp_mode mode);
int __dev_xdp_install(struct net_device *dev, enum bpf_xdp_mode mode,
		      bpf_op_t bpf_op, struct netlink_ext_ack *extack,
		      u32 flags, struct bpf_prog *old, struct bpf_prog *prog);

#ifdef CONFIG_XDP_SOCKETS

int xdp_builtin_switch(struct net_device *dev, enum bpf_xdp_mode mode,
		       struct netlink_ext_ack *extack, u32 flags,
		       struct bpf_prog *old, struct bpf_prog *prog);
int xdp_builtin_propagate(struct net_device *dev, struct netdev_bpf *bpf);
void xdp_builtin_uninstall(struct net_device *dev);

/**
 * xdp_builtin_running() - check whether the built-in program runs
 * @dev: the device
 *
 * Context: RTNL
 * Return: true if it runs
 */
static inline bool xdp_builtin_running(const struct net_device *dev)
{
	return dev->xdp_builtin.running;
}

u32 xdp_builtin_report(const struct net_device *dev, u8 *attached);

/* XDP_FLAGS_* of a request by the kernel */
static inline u32 xdp_builtin_flags(enum bpf_xdp_mode mode)
{
	return mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

int xdp_pass_install(struct net_device *dev, enum bpf_xdp_mode mode,
		     struct netlink_ext_ack *extack, u32 flags,
		     struct bpf_prog *old, struct bpf_prog *prog);
void xdp_pass_lost(struct net_device *dev);
bool xdp_pass_may_stand_beside(const struct net_device *dev,
			       enum bpf_xdp_mode mode);
int xdp_pass_stand_beside(struct net_device *dev, struct bpf_prog *old);
int xdp_pass_step_aside(struct net_device *dev, struct bpf_prog *prog);

#else

static inline int xdp_builtin_switch(struct net_device *dev,
				     enum bpf_xdp_mode mode,
				     struct netlink_ext_ack *extack, u32 flags,
				     struct bpf_prog *old,
				     struct bpf_prog *prog)
{
	return __dev_xdp_install(dev, mode, dev_xdp_bpf_op(dev, mode), extack,
				 flags, old, prog);
}

static inline int xdp_builtin_propagate(struct net_device *dev,
					struct netdev_bpf *bpf)
{
	return dev->netdev_ops->ndo_bpf(dev, bpf);
}

static inline void xdp_builtin_uninstall(struct net_device *dev)
{
}

static inline bool xdp_builtin_running(const struct net_device *dev)
{
	return false;
}

static inline u32 xdp_builtin_report(const struct net_device *dev,
				     u8 *attached)
{
	return 0;
}

#endif /* CONFIG_XDP_SOCKETS */

#endif /* _NET_CORE_XDP_BUILTIN_H */
