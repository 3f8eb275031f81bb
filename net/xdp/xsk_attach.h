/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_ATTACH_H_
#define XSK_ATTACH_H_

#include <linux/filter.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sockptr.h>
#include <net/netdev_rx_queue.h>
#include <net/xdp.h>
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

/**
 * struct xsk_prog - XDP program that calls a kernel function
 * @name: its name
 * @func: the function, defined by BPF_CALL_1() with a struct xdp_buff *
 * @frags: the function accepts multi-buffer packets
 * @publish: the program has an id, by which users can refer to it
 */
struct xsk_prog {
	const char *name;
	u64 (*func)(u64 xdp, u64 r2, u64 r3, u64 r4, u64 r5);
	bool frags;
	bool publish;
};

/* Maximum number of programs of xsk_prog_create() */
#define XSK_PROGS	6

/* xsk_builtin.c */
struct bpf_prog *xsk_prog_create(const struct xsk_prog *desc);
void xsk_prog_enter(struct bpf_prog *prog);
struct bpf_prog *xsk_builtin_get(void);
u32 xsk_builtin_id(void);
int xsk_redirect_action(u64 flags);
int bpf_xsk_redirect(struct xdp_md *ctx, u64 flags);

/* xsk_pass.c */
const struct xdp_pass_progs *xsk_pass_progs(void);
void xsk_pass_enter(const struct net_device *dev);

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

/* Closed sockets, and no others, use the device in the other mode, until their
 * pools are released: bind() waits for that
 */
static inline bool xsk_attach_is_released(const struct xdp_sock *xs, int err)
{
	return err == -EBUSY && xs->attach.reason == XDP_ATTACH_R_MODE_CONFLICT;
}

/* The socket attached to a queue, or NULL; valid until the poll ends, because
 * xsk_unbind_dev() waits for it
 */
static __always_inline struct xdp_sock *
xsk_attached(const struct xdp_rxq_info *rxq)
{
	/* A driver or a test run may have set an index outside of the array.
	 * Entries of unused queues are NULL: see xsk_attach_check().
	 */
	if (unlikely(rxq->queue_index >= rxq->dev->num_rx_queues))
		return NULL;

	/* Pairs with rcu_assign_pointer() in xsk_attach_publish() */
	return rcu_dereference_check(rxq->dev->_rx[rxq->queue_index].xsk,
				     rcu_read_lock_bh_held());
}

/* As a lookup in an XSKMAP does */
static __always_inline void xsk_set_redirect(const struct xdp_buff *xdp,
					     struct xdp_sock *xs)
{
	struct bpf_redirect_info *ri = bpf_net_ctx_get_ri();

	ri->tgt_index = xdp->rxq->queue_index;
	ri->tgt_value = xs;
	ri->map_id = 0;
	ri->map_type = BPF_MAP_TYPE_XSKMAP;
}

#endif /* XSK_ATTACH_H_ */
