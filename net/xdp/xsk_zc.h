/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_ZC_H_
#define XSK_ZC_H_

#include <linux/compiler_attributes.h>
#include <linux/types.h>

struct net_device;
struct netlink_ext_ack;
struct xsk_buff_pool;

int __cold xsk_zc_refuse(struct xsk_buff_pool *pool, u32 reason, int err);
void __cold xsk_zc_log(struct xsk_buff_pool *pool,
		       const struct net_device *dev, u16 qid, bool required,
		       const struct netlink_ext_ack *extack);

#endif /* XSK_ZC_H_ */
