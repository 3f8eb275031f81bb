/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Testbed and assertions of the tests of XDP_ATTACH. One source file of a
 * program includes this, as kselftest_harness.h supports one only.
 */
#ifndef XSK_TEST_FIXTURE_H
#define XSK_TEST_FIXTURE_H

#include <linux/if_link.h>
#include <net/if.h>
#include <sys/socket.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kselftest_harness.h"

#include "xsk_test.h"
#include "xsk_test_progs.skel.h"

/* Number of packets of a short transfer */
#define SOME		64

/*
 * struct testbed - packets from TX_DEV to RX_DEV, in one mode of XDP
 * @opts: of a socket on a queue of RX_DEV
 * @skb: generic mode, else native mode
 * @zc: ports of a NIC in zero-copy mode
 * @xdp_flags: XDP_FLAGS_* of the mode
 * @flow: from @tx, see bed_sender(), to @rx
 * @stack: packets that reach the stack of RX_DEV
 * @skel: regular programs, see bed_load()
 */
struct testbed {
	struct xsk_opts opts;
	bool skb;
	bool zc;
	__u32 xdp_flags;
	struct xsk rx, tx;
	struct flow flow;
	struct stack stack;
	struct xsk_test_progs *skel;
};

static inline __u32 many(void)
{
	return env_frames("XSK_ATTACH_FRAMES");
}

static inline bool kernel_has_attach(void)
{
	return kernel_has(XDP_FASTPATH_F_ATTACH);
}

/* Return: false if the test is skipped */
static inline bool bed_make(struct __test_metadata *_metadata,
			    struct testbed *b, bool skb, bool zc,
			    bool busy_poll)
{
	struct veth_opts veth = { .busy_poll = busy_poll };

	if (zc && !with_ports())
		SKIP(return false, "needs XSK_ATTACH_TX and XSK_ATTACH_RX");
	if (zc) {
		ASSERT_EQ(0, ports_take(busy_poll));
	} else {
		ASSERT_EQ(0, netns_enter());
		ASSERT_EQ(0, veth_create(&veth));
	}
	b->skb = skb;
	b->zc = zc;
	b->xdp_flags = skb ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	b->opts.dev = RX_DEV;
	b->opts.bind_flags = zc ? XDP_ZEROCOPY : 0;
	b->opts.busy_poll = busy_poll;
	return true;
}

static inline void flow_open(struct __test_metadata *_metadata, struct flow *f,
			     struct xsk *tx, const char *dev, __u32 queue)
{
	struct xsk_opts opts = {
		.dev = dev,
		.queue = queue,
		.no_rx = true,
		.tx = true,
		.bind_flags = XDP_COPY | XDP_USE_SG,
	};

	memset(f, 0, sizeof(*f));
	ASSERT_EQ(0, xsk_create(tx, &opts));
	f->tx = tx;
	f->max_len = FRAME_LEN;
}

/*
 * The Tx queue whose packets arrive on an Rx queue. In native mode it has the
 * same number. In generic mode veth leaves the number of the Tx queue in the
 * skb, where it refers to the Rx queue before that one.
 */
static inline __u32 tx_queue(const struct testbed *b, __u32 rx_queue)
{
	return rx_queue + b->skb;
}

static inline void bed_sender(struct __test_metadata *_metadata,
			      struct testbed *b)
{
	flow_open(_metadata, &b->flow, &b->tx, TX_DEV,
		  tx_queue(b, b->opts.queue));
	b->flow.udp = b->zc && b->opts.queue;
}

/* Return: the regular programs and @optional; NULL on failure */
static inline struct xsk_test_progs *progs_load(const char *optional)
{
	struct xsk_test_progs *skel = xsk_test_progs__open();
	struct bpf_program *prog;

	if (!skel)
		return NULL;
	if (optional) {
		prog = bpf_object__find_program_by_name(skel->obj, optional);
		bpf_program__set_autoload(prog, true);
	}
	if (!xsk_test_progs__load(skel))
		return skel;
	xsk_test_progs__destroy(skel);
	return NULL;
}

static inline void bed_load(struct __test_metadata *_metadata,
			    struct testbed *b, const char *optional)
{
	b->skel = progs_load(optional);
	ASSERT_NE(NULL, b->skel);
}

static inline int prog_attach(const char *dev, const struct bpf_program *prog,
			      __u32 flags)
{
	return bpf_xdp_attach(if_nametoindex(dev), bpf_program__fd(prog), flags,
			      NULL);
}

static inline int prog_detach(const char *dev, __u32 flags)
{
	return bpf_xdp_detach(if_nametoindex(dev), flags, NULL);
}

static inline int id_of(const struct bpf_program *prog)
{
	return prog_id(bpf_program__fd(prog));
}

/* Query the program of a device and its mode */
static inline void link_query(struct __test_metadata *_metadata,
			      const char *dev, struct bpf_xdp_query_opts *link)
{
	memset(link, 0, sizeof(*link));
	link->sz = sizeof(*link);
	ASSERT_EQ(0, bpf_xdp_query(if_nametoindex(dev), 0, link));
}

static inline bool queue_has(const struct queue_info *q, __u32 attr)
{
	return q->has[attr - QUEUE_INFO_FIRST];
}

static inline __u32 queue_value(const struct queue_info *q, __u32 attr)
{
	return q->value[attr - QUEUE_INFO_FIRST];
}

/* queue-get reports the same of an attached socket as getsockopt() */
static inline void expect_in_queue(struct __test_metadata *_metadata,
				   const struct xsk *x,
				   const struct xdp_attach *attach)
{
	struct queue_info q;

	if (x->opts.no_rx)
		return;
	ASSERT_EQ(0, queue_get(&q, x->opts.dev, x->opts.queue, false));
	ASSERT_TRUE(q.used);
	EXPECT_EQ(attach->state,
		  queue_value(&q, NETDEV_A_XSK_INFO_ATTACH_STATE));
	EXPECT_EQ(attach->flags,
		  queue_value(&q, NETDEV_A_XSK_INFO_ATTACH_FLAGS));
	EXPECT_EQ(attach->prog_id,
		  queue_value(&q, NETDEV_A_XSK_INFO_ATTACH_PROG_ID));
	EXPECT_EQ(attach->reason,
		  queue_value(&q, NETDEV_A_XSK_INFO_ATTACH_REASON));
	EXPECT_TRUE(queue_has(&q, NETDEV_A_XSK_INFO_ATTACH_REASON));
	EXPECT_NE(queue_has(&q, NETDEV_A_XSK_INFO_ZERO_COPY),
		  queue_has(&q, NETDEV_A_XSK_INFO_ZC_REASON));
	EXPECT_EQ(attach->zc_reason,
		  queue_value(&q, NETDEV_A_XSK_INFO_ZC_REASON));
	EXPECT_FALSE(queue_has(&q, NETDEV_A_XSK_INFO_RECYCLE_STATE));
}

static inline void expect_attached(struct __test_metadata *_metadata,
				   const struct xsk *x, __u32 flags,
				   __u32 reason)
{
	struct xdp_attach attach;

	ASSERT_EQ(0, xsk_query(x, &attach));
	EXPECT_EQ(XDP_ATTACH_S_ACTIVE, attach.state);
	EXPECT_EQ(flags, attach.flags);
	EXPECT_EQ(reason, attach.reason);
	expect_in_queue(_metadata, x, &attach);
}

static inline void expect_shadowed(struct __test_metadata *_metadata,
				   const struct xsk *x, __u32 prog)
{
	struct xdp_attach attach;

	ASSERT_EQ(0, xsk_query(x, &attach));
	EXPECT_EQ(XDP_ATTACH_S_SHADOWED, attach.state);
	EXPECT_EQ(prog, attach.prog_id);
	expect_in_queue(_metadata, x, &attach);
}

/* bind() fails with @err, and getsockopt() reports @reason */
static inline void expect_refusal(struct __test_metadata *_metadata,
				  const struct xsk_opts *opts, int err,
				  __u32 reason)
{
	struct xdp_attach attach;
	struct xsk x;

	ASSERT_EQ(0, xsk_open(&x, opts));
	EXPECT_EQ(err, xsk_bind(&x));
	ASSERT_EQ(0, xsk_query(&x, &attach));
	EXPECT_EQ(XDP_ATTACH_S_REQUESTED, attach.state);
	EXPECT_EQ(reason, attach.reason);
	EXPECT_EQ(opts->attach_flags, attach.flags);
	EXPECT_EQ(0, attach.prog_id);
	xsk_close(&x);
}

/* Before the harness, which does not return */
static inline void ports_init(void)
{
	if (!with_ports())
		return;
	if (ports_find())
		ksft_exit_fail_msg("no such ports\n");
	atexit(ports_give_back);
}

#endif /* XSK_TEST_FIXTURE_H */
