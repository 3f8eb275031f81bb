/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef XSK_PROBE_H_
#define XSK_PROBE_H_

#include <stdbool.h>
#include <net/if.h>

#include "xsk_fastpath.h"

/* A feature of ethtool, or a private flag of the driver */
enum xsk_probe_switch { SWITCH_NONE, SWITCH_OFF, SWITCH_ON };

/* What can be found out without a socket on the queue */
struct xsk_probe_dev {
	char name[IF_NAMESIZE];
	unsigned int ifindex;
	__u32 queue;

	__u64 kernel;			/* XDP_FASTPATH_F_* */
	bool unaligned;			/* a umem with unaligned chunks */

	char driver[32];
	__u32 mtu;
	__u32 rx_queues;
	enum xsk_probe_switch capture;
	enum xsk_probe_switch tx_rings;	/* attaching resets no port */

	__u64 xdp_features;		/* NETDEV_XDP_ACT_* */
	__u64 xsk_features;		/* NETDEV_XSK_FLAGS_* */
	__u32 zc_max_segs;
	__u32 drv_prog;			/* ids of regular programs */
	__u32 skb_prog;
	bool no_diag;			/* @sockets is unknown */
	__u32 sockets;			/* on the queue, in this namespace */
	bool attached;			/* one of them is attached to it */
};

/* The result of binding a socket */
struct xsk_probe_try {
	bool tried;
	int err;
	int recycle_err;
	struct xdp_attach attach;
	bool zero_copy;
};

/* Sockets that --bind binds, one after the other */
enum {
	TRY_NATIVE,			/* in zero-copy mode if possible */
	TRY_UNALIGNED,
	TRY_MULTI_BUFFER,
	TRY_GENERIC,
	TRIES,
};

int xsk_probe_kernel(struct xsk_probe_dev *dev);
int xsk_probe_ethtool(struct xsk_probe_dev *dev);
int xsk_probe_netlink(struct xsk_probe_dev *dev);
int xsk_probe_bind(const struct xsk_probe_dev *dev,
		   struct xsk_probe_try tries[TRIES]);

#endif /* XSK_PROBE_H_ */
