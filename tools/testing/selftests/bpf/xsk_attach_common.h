/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of XDP_ATTACH share, in xsk_attach.c and xsk_attach_*.c. They
 * run on a veth pair.
 *
 * With XSK_ATTACH_TX and XSK_ATTACH_RX, in the initial network namespace, they
 * run in zero-copy mode on the second of these two interfaces, ports of a NIC
 * that receive each other's packets. They change channels, filters and MTU of
 * the ports.
 *
 * Each test runs in a child process and in a network namespace of its own, with
 * packets from TX_DEV to RX_DEV. XSK_ATTACH_FRAMES is the number of packets of
 * the longer tests, for slow kernels.
 */
#ifndef XSK_ATTACH_COMMON_H
#define XSK_ATTACH_COMMON_H

#include "xsk_test_fixture.h"

static inline void bed_attach(struct __test_metadata *_metadata,
			      struct testbed *b, bool skb, bool zc,
			      bool busy_poll)
{
	if (!bed_make(_metadata, b, skb, zc, busy_poll))
		return;
	ASSERT_EQ(0, stack_open(&b->stack, RX_DEV));
	b->opts.attach = true;
	b->opts.attach_flags = skb ? XDP_ATTACH_F_SKB_MODE :
				     XDP_ATTACH_F_DRV_MODE;
}

/* To queue 1, which has no socket or a socket of its own */
static inline void flow_open_other(struct __test_metadata *_metadata,
				   struct testbed *b, struct flow *f,
				   struct xsk *tx)
{
	flow_open(_metadata, f, tx, TX_DEV, tx_queue(b, 1));
	f->udp = b->zc;
}

/* A port drops packets for some time after a reset: wait until it is over */
static inline void settle(struct __test_metadata *_metadata,
			  const struct testbed *b, struct flow *f,
			  struct stack *s)
{
	bool gaps = f->gaps;

	if (!b->zc)
		return;
	f->gaps = true;
	ASSERT_EQ(0, f->rx ? flow_settle(f) : flow_settle_stack(f, s));
	f->gaps = gaps;
}

/* The same, and start to count at 0 */
static inline void bed_settle(struct __test_metadata *_metadata,
			      struct testbed *b)
{
	settle(_metadata, b, &b->flow, &b->stack);
	b->flow.sent = 0;
	b->flow.next = 0;
	b->flow.received = 0;
}

static inline void bed_connect(struct __test_metadata *_metadata,
			       struct testbed *b)
{
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	bed_sender(_metadata, b);
	b->flow.rx = &b->rx;
	bed_settle(_metadata, b);
}

/* With jumbo frames. Return: false if the driver has no zero-copy for them */
static inline bool bed_connect_jumbo(struct __test_metadata *_metadata,
				     struct testbed *b)
{
	int err;

	ASSERT_EQ(0, run("ip link set " RX_DEV " mtu %u", JUMBO_MTU));
	ASSERT_EQ(0, run("ip link set " TX_DEV " mtu %u", JUMBO_MTU));
	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	err = xsk_bind(&b->rx);
	if (b->zc && (err == -EINVAL || err == -EOPNOTSUPP))
		return false;
	ASSERT_EQ(0, err);
	xsk_refill(&b->rx);
	bed_sender(_metadata, b);
	b->flow.rx = &b->rx;
	bed_settle(_metadata, b);
	b->flow.max_len = JUMBO_LEN;
	return true;
}

/* Packets of the queue go to the stack or to a program afterwards */
static inline void bed_close_rx(struct __test_metadata *_metadata,
				struct testbed *b)
{
	xsk_close(&b->rx);
	b->flow.rx = NULL;
	ASSERT_EQ(0, queue_settle(RX_DEV, b->opts.queue));
}

static inline int set_rx_queues(const struct testbed *b, __u32 queues)
{
	/* A filter keeps its queue in use, too */
	if (b->zc)
		return run("ethtool -N %s delete 1; ethtool -L %s combined %u",
			   RX_DEV, RX_DEV, queues);
	return run("ethtool -L " RX_DEV " rx %u", queues);
}

static inline int rx_ifindex(void)
{
	return if_nametoindex(RX_DEV);
}

static inline int regular_attach(const struct bpf_program *prog, __u32 flags)
{
	return prog_attach(RX_DEV, prog, flags);
}

static inline int regular_detach(__u32 flags)
{
	return prog_detach(RX_DEV, flags);
}

/* In zero-copy mode, the program is removed some time after close() */
static inline void expect_no_prog(struct __test_metadata *_metadata,
				  const char *dev)
{
	long long deadline = now_ms() + STALL_MS;
	struct bpf_xdp_query_opts link;

	link_query(_metadata, dev, &link);
	while (link.prog_id && now_ms() < deadline) {
		nap(5);
		link_query(_metadata, dev, &link);
	}
	EXPECT_EQ(XDP_ATTACHED_NONE, link.attach_mode);
	EXPECT_EQ(0, link.prog_id);
}

static inline __u8 attached_mode(__u32 attach_flags)
{
	return attach_flags & XDP_ATTACH_F_SKB_MODE ? XDP_ATTACHED_SKB :
						      XDP_ATTACHED_DRV;
}

/* The built-in runs in the requested mode. Return: its id */
static inline __u32 expect_active(struct __test_metadata *_metadata,
				  const struct xsk *x)
{
	struct bpf_prog_info info = {};
	struct bpf_xdp_query_opts link;
	__u32 len = sizeof(info);
	struct xdp_attach attach;
	int fd;

	ASSERT_EQ(0, xsk_query(x, &attach));
	ASSERT_EQ(XDP_ATTACH_S_ACTIVE, attach.state);
	EXPECT_EQ(x->opts.attach_flags,
		  attach.flags & x->opts.attach_flags);
	expect_in_queue(_metadata, x, &attach);

	link_query(_metadata, x->opts.dev, &link);
	EXPECT_EQ(attached_mode(attach.flags), link.attach_mode);
	EXPECT_EQ(attach.prog_id, link.prog_id);
	EXPECT_EQ(0, link.skb_prog_id);
	EXPECT_EQ(0, link.drv_prog_id);
	EXPECT_EQ(0, link.hw_prog_id);

	fd = bpf_prog_get_fd_by_id(attach.prog_id);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, bpf_prog_get_info_by_fd(fd, &info, &len));
	EXPECT_STREQ("xsk_builtin", info.name);
	close(fd);
	return attach.prog_id;
}

/* A regular program runs in the mode of @flags */
static inline void expect_regular(struct __test_metadata *_metadata,
				  const struct xsk *x, int id, __u32 flags)
{
	struct bpf_xdp_query_opts link;

	expect_shadowed(_metadata, x, id);

	link_query(_metadata, x->opts.dev, &link);
	EXPECT_EQ(id, link.prog_id);
	EXPECT_EQ(flags & XDP_FLAGS_SKB_MODE ? id : 0, link.skb_prog_id);
	EXPECT_EQ(flags & XDP_FLAGS_DRV_MODE ? id : 0, link.drv_prog_id);
}

/*
 * A regular program runs in the mode of @flags, and the socket behind it; in
 * generic mode if one of them does
 */
static inline void expect_passed(struct __test_metadata *_metadata,
				 const struct xsk *x, int id, __u32 flags)
{
	bool skb = flags & XDP_FLAGS_SKB_MODE ||
		   x->opts.attach_flags & XDP_ATTACH_F_SKB_MODE;
	__u32 mode = skb ? XDP_ATTACH_F_SKB_MODE : XDP_ATTACH_F_DRV_MODE;
	struct bpf_xdp_query_opts link;
	struct xdp_attach attach, diag;

	ASSERT_EQ(0, xsk_query(x, &attach));
	ASSERT_EQ(XDP_ATTACH_S_PASSED, attach.state);
	EXPECT_EQ(XDP_ATTACH_F_PASS | mode, attach.flags);
	EXPECT_EQ(id, attach.prog_id);
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.reason);
	ASSERT_EQ(1, xsk_diag(x, XDP_SHOW_ATTACH, &diag));
	EXPECT_EQ(0, memcmp(&attach, &diag, sizeof(attach)));
	expect_in_queue(_metadata, x, &attach);

	link_query(_metadata, x->opts.dev, &link);
	EXPECT_EQ(id, link.prog_id);
	EXPECT_EQ(flags & XDP_FLAGS_SKB_MODE ? id : 0, link.skb_prog_id);
	EXPECT_EQ(flags & XDP_FLAGS_DRV_MODE ? id : 0, link.drv_prog_id);
}

/* The tests run without a rate limit of the kernel log. Return: the old value */
static inline int set_message_cost(int cost)
{
	FILE *f = fopen("/proc/sys/net/core/message_cost", "r+");
	int old = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &old) == 1 && cost >= 0) {
		rewind(f);
		fprintf(f, "%d\n", cost);
	}
	fclose(f);
	return old;
}

static int message_cost;

static inline void restore_message_cost(void)
{
	set_message_cost(message_cost);
}

/* Without arguments: the zero-copy variants if there are ports, else the others */
static inline int run_tests(int argc, char **argv)
{
	char only[][16] = { "-Vzc_softirq", "-Vzc_busy_poll", "-Vzc" };
	char *args[5] = { argv[0], only[0], only[1], only[2] };
	int i;

	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (!kernel_has_attach())
		ksft_exit_skip("this kernel has no XDP_ATTACH\n");
	ports_init();
	libbpf_set_print(tap_print_libbpf);
	message_cost = set_message_cost(0);
	atexit(restore_message_cost);
	if (argc > 1)
		return test_harness_run(argc, argv);

	for (i = 0; with_ports() && i < ARRAY_SIZE(only); i++)
		only[i][1] = 'v';
	return test_harness_run(ARRAY_SIZE(args) - 1, args);
}

#endif /* XSK_ATTACH_COMMON_H */
