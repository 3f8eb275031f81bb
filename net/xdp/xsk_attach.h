/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_ATTACH_H_
#define XSK_ATTACH_H_

#include <linux/if_xdp_fastpath.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sockptr.h>
#include <net/xdp_sock.h>

/**
 * struct xsk_attach_choice - mode of the built-in program
 * @mode: mode to try first
 * @fallback: generic mode is acceptable if @mode is refused
 * @reason: XDP_ATTACH_R_* of the failure or of the fallback
 */
struct xsk_attach_choice {
	enum bpf_xdp_mode mode;
	bool fallback;
	u32 reason;
};

/* xsk_builtin.c */
struct bpf_prog *xsk_builtin_get(void);
u32 xsk_builtin_id(void);
bool xsk_is_builtin(const struct bpf_prog *prog);
int xsk_redirect_action(u64 flags);
int bpf_xsk_redirect(struct xdp_md *ctx, u64 flags);

/* xsk_attach.c */
int xsk_attach_choose(u32 flags, bool zerocopy, u32 obstacle,
		      const struct xdp_builtin *held,
		      struct xsk_attach_choice *choice);
int xsk_attach_setsockopt(struct xdp_sock *xs, sockptr_t optval,
			  unsigned int optlen);
int xsk_attach_getsockopt(struct xdp_sock *xs, int optname,
			  char __user *optval, int __user *optlen, int len);
int xsk_attach_check(struct xdp_sock *xs, struct net_device *dev, u32 qid,
		     u32 bind_flags);
int xsk_attach_prepare(struct xdp_sock *xs, struct net_device *dev, u32 qid,
		       u32 *bind_flags, const struct xdp_umem *umem);
void xsk_attach_publish(struct xdp_sock *xs);
void xsk_attach_cancel(struct xdp_sock *xs, struct net_device *dev);
void xsk_detach(struct xdp_sock *xs);
void xsk_attach_release(struct xsk_buff_pool *pool);
void xsk_attach_query(struct xdp_sock *xs, struct xdp_attach *attach);

/* Only a socket that attaches needs the RTNL to be released */
static inline void xsk_attach_lock(struct xdp_sock *xs)
{
	if (xs->attach.requested)
		rtnl_lock();
}

static inline void xsk_attach_unlock(struct xdp_sock *xs)
{
	if (xs->attach.requested)
		rtnl_unlock();
}

#endif /* XSK_ATTACH_H_ */
