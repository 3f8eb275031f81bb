/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_RELEASE_H_
#define XSK_RELEASE_H_

#include <linux/jiffies.h>
#include <linux/types.h>

struct net_device;
struct xdp_sock;

/* A driver that resets its device needs seconds, and others may hold RTNL */
#define XSK_RELEASE_TIMEOUT	(10 * HZ)

/**
 * struct xsk_release - a wait for closed sockets to release their queues
 * @timeout: maximum time, in jiffies
 * @deadline: end of that time, once @started
 * @seen: number of released queues when one was found that is being released
 * @started: such a queue was found
 * @pending: it has not been waited for
 */
struct xsk_release {
	unsigned long timeout;
	unsigned long deadline;
	u32 seen;
	bool started;
	bool pending;
};

void xsk_release_init(struct xsk_release *release, unsigned long timeout);
void xsk_release_check(struct xsk_release *release, const struct xdp_sock *xs,
		       struct net_device *dev, u16 qid, int err);
bool xsk_release_wait(struct xsk_release *release);
void xsk_release_done(void);

#endif /* XSK_RELEASE_H_ */
