// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_ATTACH as its users see it: sockets on the queues of a veth device, in
 * generic and native mode, driven by softirqs and by busy polling.
 *
 * With XSK_ATTACH_TX and XSK_ATTACH_RX, in the initial network namespace: in
 * zero-copy mode on the second of these two interfaces, ports of a NIC that see
 * each other's frames. The tests change their channels, filters and MTU.
 *
 * Every test runs in a child process and network namespace of its own, with
 * frames going from TX_DEV to RX_DEV. XSK_ATTACH_FRAMES says how many frames
 * the longer tests send, for kernels that are slow.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kselftest_harness.h"

#include "xsk_attach_lib.h"
#include "xsk_attach_progs.skel.h"

/* Emulated machines with a debug kernel are slow */
#define TIMEOUT		600
#define JUMBO_MTU	9000
#define JUMBO_LEN	9014
#define FRAME_LEN	1514
#define SOME		64
#define SWAPS		60
/* A NIC takes its time for one */
#define FLAPS		10
#define PORT_FLAPS	3

/*
 * struct bed - what a test stands on
 * @opts: of an attached socket on queue 0 of RX_DEV
 * @skb: in generic mode, else native
 * @zc: ports of a NIC in zero-copy mode
 * @xdp_flags: XDP_FLAGS_* of that mode
 * @flow: from @tx to @rx, once bed_connect() made them
 * @stack: the frames that reach the stack of RX_DEV
 * @skel: regular programs, once bed_load() loaded them
 */
struct bed {
	struct xsk_opts opts;
	bool skb;
	bool zc;
	__u32 xdp_flags;
	struct xsk rx, tx;
	struct flow flow;
	struct stack stack;
	struct xsk_attach_progs *skel;
};

static __u32 many(void)
{
	const char *frames = getenv("XSK_ATTACH_FRAMES");

	return frames ? atoi(frames) : 4096;
}

static void bed_make(struct __test_metadata *_metadata, struct bed *b,
		     bool skb, bool zc, bool busy_poll)
{
	struct veth_opts veth = { .busy_poll = busy_poll };

	if (zc && !with_ports())
		SKIP(return, "needs XSK_ATTACH_TX and XSK_ATTACH_RX");
	if (zc) {
		ASSERT_EQ(0, ports_take(busy_poll));
	} else {
		ASSERT_EQ(0, netns_enter());
		ASSERT_EQ(0, veth_create(&veth));
	}
	ASSERT_EQ(0, stack_open(&b->stack, RX_DEV));

	b->skb = skb;
	b->zc = zc;
	b->opts.bind_flags = zc ? XDP_ZEROCOPY : 0;
	b->opts.dev = RX_DEV;
	b->opts.attach = true;
	b->opts.attach_flags = skb ? XDP_ATTACH_F_SKB_MODE :
				     XDP_ATTACH_F_DRV_MODE;
	b->opts.busy_poll = busy_poll;
	b->xdp_flags = skb ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

static void flow_open(struct __test_metadata *_metadata, struct flow *f,
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
 * The Tx queue whose frames arrive on an Rx queue: the same in native mode.
 * In generic mode veth leaves the number of the Tx queue in the skb, where it
 * means the Rx queue before that one.
 */
static __u32 tx_queue(const struct bed *b, __u32 rx_queue)
{
	return rx_queue + b->skb;
}

/* To a queue that has no socket, or one of its own */
static void flow_open_other(struct __test_metadata *_metadata, struct bed *b,
			    struct flow *f, struct xsk *tx)
{
	flow_open(_metadata, f, tx, TX_DEV, tx_queue(b, 1));
	f->udp = b->zc;
}

static void bed_sender(struct __test_metadata *_metadata, struct bed *b)
{
	flow_open(_metadata, &b->flow, &b->tx, TX_DEV,
		  tx_queue(b, b->opts.queue));
	b->flow.udp = b->zc && b->opts.queue;
	b->flow.rx = &b->rx;
}

/* A port loses frames for a while after a reset: go on when it does not */
static void settle(struct __test_metadata *_metadata, const struct bed *b,
		   struct flow *f, struct stack *s)
{
	bool gaps = f->gaps;

	if (!b->zc)
		return;
	f->gaps = true;
	ASSERT_EQ(0, f->rx ? flow_settle(f) : flow_settle_stack(f, s));
	f->gaps = gaps;
}

/* As if there had been no frame */
static void bed_settle(struct __test_metadata *_metadata, struct bed *b)
{
	settle(_metadata, b, &b->flow, &b->stack);
	b->flow.sent = 0;
	b->flow.next = 0;
	b->flow.received = 0;
}

static void bed_connect(struct __test_metadata *_metadata, struct bed *b)
{
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	bed_sender(_metadata, b);
	bed_settle(_metadata, b);
}

/* With large frames. Return: false if there is no zero-copy of such frames */
static bool bed_connect_jumbo(struct __test_metadata *_metadata, struct bed *b)
{
	int err;

	ASSERT_EQ(0, run("ip link set " RX_DEV " mtu %u", JUMBO_MTU));
	ASSERT_EQ(0, run("ip link set " TX_DEV " mtu %u", JUMBO_MTU));
	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	err = xsk_bind_soon(&b->rx);
	if (b->zc && (err == -EINVAL || err == -EOPNOTSUPP))
		return false;
	ASSERT_EQ(0, err);
	xsk_refill(&b->rx);
	bed_sender(_metadata, b);
	bed_settle(_metadata, b);
	b->flow.max_len = JUMBO_LEN;
	return true;
}

/* Frames of its queue go elsewhere from here on */
static void bed_close_rx(struct __test_metadata *_metadata, struct bed *b)
{
	xsk_close(&b->rx);
	b->flow.rx = NULL;
	ASSERT_EQ(0, queue_settle(RX_DEV, b->opts.queue));
}

static int set_rx_queues(const struct bed *b, __u32 queues)
{
	/* A filter that names a queue keeps it, too */
	if (b->zc)
		return run("ethtool -N %s delete 1; ethtool -L %s combined %u",
			   RX_DEV, RX_DEV, queues);
	return run("ethtool -L " RX_DEV " rx %u", queues);
}

static void bed_load(struct __test_metadata *_metadata, struct bed *b)
{
	b->skel = xsk_attach_progs__open();
	ASSERT_NE(NULL, b->skel);
	bpf_program__set_autoload(b->skel->progs.xsk_redirect, true);
	ASSERT_EQ(0, xsk_attach_progs__load(b->skel));
}

static int rx_ifindex(void)
{
	return if_nametoindex(RX_DEV);
}

static int regular_attach(const struct bpf_program *prog, __u32 flags)
{
	return bpf_xdp_attach(rx_ifindex(), bpf_program__fd(prog), flags, NULL);
}

static int tx_dev_attach(const struct bpf_program *prog)
{
	return bpf_xdp_attach(if_nametoindex(TX_DEV), bpf_program__fd(prog),
			      XDP_FLAGS_DRV_MODE, NULL);
}

static int regular_detach(__u32 flags)
{
	return bpf_xdp_detach(rx_ifindex(), flags, NULL);
}

/* The program that a link dump shows, and its mode */
static void link_query(struct __test_metadata *_metadata, const char *dev,
		       struct bpf_xdp_query_opts *link)
{
	memset(link, 0, sizeof(*link));
	link->sz = sizeof(*link);
	ASSERT_EQ(0, bpf_xdp_query(if_nametoindex(dev), 0, link));
}

/* With zero-copy, the program is removed a moment after the socket was closed */
static void expect_no_prog(struct __test_metadata *_metadata, const char *dev)
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

static __u8 attached_mode(__u32 attach_flags)
{
	return attach_flags & XDP_ATTACH_F_SKB_MODE ? XDP_ATTACHED_SKB :
						      XDP_ATTACHED_DRV;
}

/* The built-in runs, in the mode that was asked for; its id is the result */
static __u32 expect_active(struct __test_metadata *_metadata,
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

/* A regular program runs, in the mode that flags say */
static void expect_shadowed(struct __test_metadata *_metadata,
			    const struct xsk *x, int id, __u32 flags)
{
	struct bpf_xdp_query_opts link;
	struct xdp_attach attach;

	ASSERT_EQ(0, xsk_query(x, &attach));
	EXPECT_EQ(XDP_ATTACH_S_SHADOWED, attach.state);
	EXPECT_EQ(id, attach.prog_id);

	link_query(_metadata, x->opts.dev, &link);
	EXPECT_EQ(id, link.prog_id);
	EXPECT_EQ(flags & XDP_FLAGS_SKB_MODE ? id : 0, link.skb_prog_id);
	EXPECT_EQ(flags & XDP_FLAGS_DRV_MODE ? id : 0, link.drv_prog_id);
}

static int id_of(const struct bpf_program *prog)
{
	return prog_id(bpf_program__fd(prog));
}

/* Programs that are none of ours */
static struct bpf_census others;

/* Before main(), which runs the tests */
static void __attribute__((constructor)) count_others(void)
{
	bpf_count(&others);
}

static __u32 regular_progs(const struct bpf_census *census)
{
	return census->xdp_progs - census->builtins;
}

/* Programs are freed some time after their last process */
static bool no_regular_soon(void)
{
	long long deadline = now_ms() + STALL_MS;
	struct bpf_census census;

	while (!bpf_count(&census) &&
	       regular_progs(&census) > regular_progs(&others)) {
		if (now_ms() > deadline)
			return false;
		nap(20);
	}
	return regular_progs(&census) <= regular_progs(&others);
}

static int socket_error(const struct xsk *x)
{
	socklen_t len = sizeof(int);
	int err = -1;

	getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

static void expect_detached(struct __test_metadata *_metadata, struct xsk *x)
{
	struct xdp_attach attach;

	EXPECT_EQ(ENETDOWN, socket_error(x));
	EXPECT_GT(0, recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL));
	EXPECT_EQ(ENXIO, errno);
	ASSERT_EQ(0, xsk_query(x, &attach));
	EXPECT_EQ(XDP_ATTACH_S_DETACHED, attach.state);
	EXPECT_EQ(0, attach.prog_id);
}

/* Own a socket and receive until somebody kills us */
static void receive_for_ever(const struct xsk_opts *opts, const int *pipe)
{
	struct flow f = { .max_len = FRAME_LEN, .gaps = true };
	struct xsk x;

	if (xsk_create(&x, opts))
		_exit(1);
	f.rx = &x;
	helper_tell(pipe);
	while (flow_recv(&f) >= 0) {
		xsk_refill(&x);
		xsk_drive(&x, 10);
	}
	_exit(1);
}

FIXTURE(xsk_attach)
{
	struct bed bed;
};

FIXTURE_VARIANT(xsk_attach)
{
	bool skb;
	bool zc;
	bool busy_poll;
};

FIXTURE_VARIANT_ADD(xsk_attach, skb_softirq)
{
	.skb = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, skb_busy_poll)
{
	.skb = true,
	.busy_poll = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, drv_softirq)
{
};

FIXTURE_VARIANT_ADD(xsk_attach, drv_busy_poll)
{
	.busy_poll = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, zc_softirq)
{
	.zc = true,
};

FIXTURE_VARIANT_ADD(xsk_attach, zc_busy_poll)
{
	.zc = true,
	.busy_poll = true,
};

FIXTURE_SETUP(xsk_attach)
{
	bed_make(_metadata, &self->bed, variant->skb, variant->zc,
		 variant->busy_poll);
}

/* The end of the process takes sockets, programs and network namespace along */
FIXTURE_TEARDOWN(xsk_attach)
{
}

/*
 * All frames arrive in order and unchanged, and no program is loaded for it but
 * the built-in, once, which stays loaded and serves the next socket, too
 */
TEST_F_TIMEOUT(xsk_attach, delivers_without_program_and_map, TIMEOUT)
{
	struct bpf_census before, now;
	struct bed *b = &self->bed;
	char frame[FRAME_MAX];
	__u32 regular;

	ASSERT_TRUE(no_regular_soon());
	ASSERT_EQ(0, bpf_count(&before));
	regular = regular_progs(&before);
	before.progs -= before.builtins;
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);

	ASSERT_EQ(0, bpf_count(&now));
	EXPECT_EQ(0, now.xskmaps);
	EXPECT_EQ(1, now.builtins);
	EXPECT_EQ(regular, regular_progs(&now));
	EXPECT_EQ(before.progs + 1, now.progs);
	EXPECT_EQ(before.maps, now.maps);

	ASSERT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
	ASSERT_EQ(0, flow_drain(&b->flow));

	bed_close_rx(_metadata, b);
	expect_no_prog(_metadata, RX_DEV);
	ASSERT_EQ(0, bpf_count(&now));
	EXPECT_EQ(1, now.builtins);
	EXPECT_EQ(before.progs + 1, now.progs);
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
}

/* A program attached by netlink gets the frames until it is detached */
TEST_F_TIMEOUT(xsk_attach, yields_to_netlink, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 flags = b->xdp_flags | XDP_FLAGS_UPDATE_IF_NOEXIST;
	struct bpf_program *drop;
	__u32 builtin;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	drop = b->skel->progs.xsk_drop;
	builtin = expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, regular_attach(drop, flags));
	expect_shadowed(_metadata, &b->rx, id_of(drop), b->xdp_flags);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	EXPECT_EQ(-EBUSY, regular_attach(b->skel->progs.xsk_pass, flags));

	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	expect_shadowed(_metadata, &b->rx, id_of(b->skel->progs.xsk_pass),
			b->xdp_flags);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A bpf_link gets the frames, also when updated, until detached or closed */
TEST_F_TIMEOUT(xsk_attach, yields_to_bpf_link, TIMEOUT)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct bed *b = &self->bed;
	int drop, pass, link;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	pass = bpf_program__fd(b->skel->progs.xsk_pass);
	opts.flags = b->xdp_flags;

	link = bpf_link_create(drop, rx_ifindex(), BPF_XDP, &opts);
	ASSERT_LE(0, link);
	expect_shadowed(_metadata, &b->rx, prog_id(drop), b->xdp_flags);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, bpf_link_update(link, pass, NULL));
	expect_shadowed(_metadata, &b->rx, prog_id(pass), b->xdp_flags);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, bpf_link_detach(link));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	close(link);

	link = bpf_link_create(drop, rx_ifindex(), BPF_XDP, &opts);
	ASSERT_LE(0, link);
	expect_shadowed(_metadata, &b->rx, prog_id(drop), b->xdp_flags);
	close(link);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A program loaded by xdp-loader gets the frames until it is unloaded */
TEST_F_TIMEOUT(xsk_attach, yields_to_libxdp_dispatcher, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;
	char exe[PATH_MAX] = "";
	__u32 builtin;

	if (system("command -v xdp-loader >/dev/null"))
		SKIP(return, "no xdp-loader: install xdp-tools");

	bed_connect(_metadata, b);
	builtin = expect_active(_metadata, &b->rx);
	ASSERT_LT(0, readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	ASSERT_EQ(0, run("xdp-loader load -m %s -n xsk_pass %s '%s/%s'",
			 variant->skb ? "skb" : "native", RX_DEV, dirname(exe),
			 "xsk_attach_progs.bpf.o"));

	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_SHADOWED, attach.state);
	EXPECT_NE(builtin, attach.prog_id);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, run("xdp-loader unload --all " RX_DEV));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Who expects a certain program, or none, does not see the built-in */
TEST_F_TIMEOUT(xsk_attach, is_invisible_to_expected_fd, TIMEOUT)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	struct bed *b = &self->bed;
	int builtin, drop, pass;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	pass = bpf_program__fd(b->skel->progs.xsk_pass);
	builtin = bpf_prog_get_fd_by_id(expect_active(_metadata, &b->rx));
	ASSERT_LE(0, builtin);

	opts.old_prog_fd = builtin;
	EXPECT_EQ(-EEXIST, bpf_xdp_attach(rx_ifindex(), drop, b->xdp_flags,
					  &opts));
	EXPECT_EQ(-EEXIST, bpf_xdp_detach(rx_ifindex(), b->xdp_flags, &opts));
	opts.old_prog_fd = -1;
	ASSERT_EQ(0, bpf_xdp_attach(rx_ifindex(), drop, b->xdp_flags, &opts));

	opts.old_prog_fd = pass;
	EXPECT_EQ(-EEXIST, bpf_xdp_attach(rx_ifindex(), pass, b->xdp_flags,
					  &opts));
	opts.old_prog_fd = drop;
	ASSERT_EQ(0, bpf_xdp_attach(rx_ifindex(), pass, b->xdp_flags, &opts));
	expect_shadowed(_metadata, &b->rx, prog_id(pass), b->xdp_flags);

	opts.old_prog_fd = pass;
	ASSERT_EQ(0, bpf_xdp_detach(rx_ifindex(), b->xdp_flags, &opts));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* "xdp off" while only the built-in runs succeeds and changes nothing */
TEST_F_TIMEOUT(xsk_attach, stays_on_xdp_off, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 builtin;

	bed_connect(_metadata, b);
	builtin = expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, run("ip link set dev " RX_DEV " xdp off"));
	ASSERT_EQ(0, run("ip link set dev " RX_DEV " xdpgeneric off"));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A socket bound while a regular program runs waits for that to go */
TEST_F_TIMEOUT(xsk_attach, waits_for_regular_to_go, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct bpf_program *drop;
	struct xdp_attach attach;

	bed_load(_metadata, b);
	drop = b->skel->progs.xsk_drop;
	bed_sender(_metadata, b);
	b->flow.rx = NULL;
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, regular_attach(drop, b->xdp_flags));
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	expect_shadowed(_metadata, &b->rx, id_of(drop), b->xdp_flags);
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_R_REGULAR, attach.reason);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, regular_attach(drop, b->xdp_flags));
	bed_close_rx(_metadata, b);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	expect_no_prog(_metadata, RX_DEV);
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
}

/* A regular program of the other mode is not refused, nor do both run */
TEST_F_TIMEOUT(xsk_attach, yields_to_the_other_mode, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct bpf_program *pass;
	__u32 other = variant->skb ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	int i;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	pass = b->skel->progs.xsk_pass;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, regular_attach(pass, other));
		expect_shadowed(_metadata, &b->rx, id_of(pass), other);
		b->flow.rx = NULL;
		settle(_metadata, b, &b->flow, &b->stack);
		b->flow.rx = &b->rx;
		b->skel->bss->seen = 0;
		ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
		EXPECT_EQ(SOME, b->skel->bss->seen);

		ASSERT_EQ(0, regular_detach(other));
		expect_active(_metadata, &b->rx);
		settle(_metadata, b, &b->flow, &b->stack);
		ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
		EXPECT_EQ(SOME, b->skel->bss->seen);
	}
}

/* Receive, and count what the program took, until both came some way */
static int pump(struct bed *b, struct traffic *t, __u32 received, __u64 seen)
{
	const __u64 *counter = &b->skel->bss->seen;
	long long deadline = now_ms() + STALL_MS;
	__u64 took = counter_read(counter);

	received += b->flow.received;
	seen += took;
	while ((__s32)(b->flow.received - received) < 0 || took < seen) {
		int n = flow_recv(&b->flow);

		if (n < 0)
			return n;
		xsk_refill(&b->rx);
		took = counter_read(counter);
		__atomic_store_n(&t->accounted, b->flow.received + took,
				 __ATOMIC_RELEASE);
		if (!n)
			xsk_drive(&b->rx, 1);
		if (now_ms() > deadline)
			return complain(-ETIMEDOUT, "received %u, seen %llu",
					b->flow.received,
					(unsigned long long)took);
	}
	return 0;
}

/* A program that comes and goes under traffic loses and reorders nothing */
TEST_F_TIMEOUT(xsk_attach, swaps_under_traffic, TIMEOUT)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct xdp_statistics stats;
	struct bed *b = &self->bed;
	struct traffic traffic = {};
	int drop, link, i;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	b->flow.gaps = true;
	opts.flags = b->xdp_flags;
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));

	for (i = 0; i < SWAPS / 2; i++) {
		ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop,
					    b->xdp_flags));
		ASSERT_EQ(0, pump(b, &traffic, 0, 8));
		ASSERT_EQ(0, regular_detach(b->xdp_flags));
		ASSERT_EQ(0, pump(b, &traffic, 8, 0));

		link = bpf_link_create(drop, rx_ifindex(), BPF_XDP, &opts);
		ASSERT_LE(0, link);
		ASSERT_EQ(0, pump(b, &traffic, 0, 8));
		close(link);
		ASSERT_EQ(0, pump(b, &traffic, 8, 0));
	}

	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_wait(&b->flow, b->flow.sent - b->skel->bss->seen));
	EXPECT_EQ(b->flow.sent, b->flow.received + b->skel->bss->seen);
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(0, stats.rx_dropped);
	EXPECT_EQ(0, stats.rx_ring_full);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A program that redirects all frames to the socket, and then the built-in */
static void expect_delivery(struct __test_metadata *_metadata, struct bed *b,
			    const struct bpf_program *prog)
{
	char frame[FRAME_MAX];

	ASSERT_EQ(0, regular_attach(prog, b->xdp_flags));
	expect_shadowed(_metadata, &b->rx, id_of(prog), b->xdp_flags);
	ASSERT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(many(), b->skel->bss->seen);
	EXPECT_EQ(0, stack_recv(&b->stack, frame));

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	EXPECT_EQ(many(), b->skel->bss->seen);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A user's program sends frames to the socket by bpf_xsk_redirect() */
TEST_F_TIMEOUT(xsk_attach, kfunc_delivers, TIMEOUT)
{
	struct bed *b = &self->bed;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	b->skel->bss->redirect_flags = XDP_DROP;
	expect_delivery(_metadata, b, b->skel->progs.xsk_redirect);
}

/* A user's program with an XSKMAP, as without XDP_ATTACH */
TEST_F_TIMEOUT(xsk_attach, xskmap_delivers, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 queue = 0;

	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	ASSERT_EQ(0, bpf_map_update_elem(bpf_map__fd(b->skel->maps.sockets),
					 &queue, &b->rx.fd, BPF_ANY));
	expect_delivery(_metadata, b, b->skel->progs.xsk_map);
}

/* Without a socket on the queue, bpf_xsk_redirect() does what flags say */
TEST_F_TIMEOUT(xsk_attach, kfunc_without_socket, TIMEOUT)
{
	struct bed *b = &self->bed;
	char frame[FRAME_MAX];
	struct stack back;
	struct flow other;
	struct xsk tx;

	ASSERT_EQ(0, stack_open(&back, TX_DEV));
	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	/* The peer of XDP_TX on a veth device has to run a program, too */
	if (!b->zc)
		ASSERT_EQ(0, tx_dev_attach(b->skel->progs.xsk_pass));
	flow_open_other(_metadata, b, &other, &tx);
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_redirect, b->xdp_flags));

	b->skel->bss->redirect_flags = XDP_PASS;
	ASSERT_EQ(0, flow_to_stack(&other, &b->stack, SOME));
	b->skel->bss->redirect_flags = 0;
	ASSERT_EQ(0, flow_to_stack(&other, &b->stack, SOME));
	b->skel->bss->redirect_flags = XDP_TX;
	ASSERT_EQ(0, flow_to_stack(&other, &back, SOME));
	b->skel->bss->redirect_flags = XDP_DROP;
	ASSERT_EQ(0, flow_to_program(&other, &b->skel->bss->seen, SOME));
	b->skel->bss->redirect_flags = XDP_REDIRECT;
	ASSERT_EQ(0, flow_to_program(&other, &b->skel->bss->seen, SOME));
	b->skel->bss->redirect_flags = ~0ULL;
	ASSERT_EQ(0, flow_to_program(&other, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
	EXPECT_EQ(0, stack_recv(&back, frame));
}

/* Frames of a queue without a socket go to the stack */
TEST_F_TIMEOUT(xsk_attach, other_queue_passes, TIMEOUT)
{
	struct bed *b = &self->bed;
	char frame[FRAME_MAX];
	struct flow other;
	struct xsk tx;
	int i;

	bed_connect(_metadata, b);
	flow_open_other(_metadata, b, &other, &tx);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, flow_to_stack(&other, &b->stack, SOME));
		ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
		EXPECT_EQ(0, stack_recv(&b->stack, frame));
	}
}

/* Frames of up to three chunks arrive whole at a socket with XDP_USE_SG */
TEST_F_TIMEOUT(xsk_attach, multi_buffer, TIMEOUT)
{
	struct bed *b = &self->bed;

	b->opts.bind_flags |= XDP_USE_SG;
	if (!bed_connect_jumbo(_metadata, b))
		SKIP(return, "no zero-copy of such frames");
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, many(), true));
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A socket without XDP_USE_SG gets the short frames and counts the others */
TEST_F_TIMEOUT(xsk_attach, oversize_is_dropped, TIMEOUT)
{
	struct xdp_statistics stats;
	struct bed *b = &self->bed;
	__u32 rounds = 4;

	if (!bed_connect_jumbo(_metadata, b))
		SKIP(return, "no zero-copy of such frames");
	b->flow.gaps = true;
	/* Each round ends in the four lengths that take more than a chunk */
	ASSERT_EQ(0, flow_send(&b->flow, rounds * FRAME_LENS + 1));
	ASSERT_EQ(0, flow_wait(&b->flow, rounds * (FRAME_LENS - 4) + 1));
	EXPECT_EQ(b->flow.sent, b->flow.next);
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(rounds * 4, stats.rx_dropped);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* Sockets that share a umem on two queues get the frames of their own queue */
TEST_F_TIMEOUT(xsk_attach, shared_umem_on_two_queues, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xsk_opts opts;
	struct xsk rx, tx;
	struct flow other;
	int i;

	b->opts.chunks = CHUNKS / 2;
	bed_connect(_metadata, b);
	opts = b->opts;
	opts.queue = 1;
	opts.share = &b->rx;
	ASSERT_EQ(0, xsk_create(&rx, &opts));
	expect_active(_metadata, &rx);

	flow_open_other(_metadata, b, &other, &tx);
	other.rx = &rx;
	/* A frame that took the wrong way is out of order by far */
	other.sent = 1000000;
	other.next = other.sent;
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, flow_transfer(&b->flow, many() / 8, true));
		ASSERT_EQ(0, flow_transfer(&other, many() / 8, true));
	}
	ASSERT_EQ(0, flow_drain(&b->flow));
	ASSERT_EQ(0, flow_drain(&other));

	/* The owner of the umem may go first */
	close(b->rx.fd);
	expect_active(_metadata, &rx);
	ASSERT_EQ(0, flow_transfer(&other, SOME, true));
}

/* A second socket on the rings of the same queue can bind, but not attach */
TEST_F_TIMEOUT(xsk_attach, one_attached_socket_per_queue, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;
	struct xsk_opts opts;
	struct xsk second;

	bed_connect(_metadata, b);
	opts = b->opts;
	opts.share = &b->rx;
	opts.share_rings = true;
	ASSERT_EQ(0, xsk_open(&second, &opts));
	EXPECT_EQ(-EBUSY, xsk_bind(&second));
	ASSERT_EQ(0, xsk_query(&second, &attach));
	EXPECT_EQ(XDP_ATTACH_S_REQUESTED, attach.state);
	EXPECT_EQ(XDP_ATTACH_R_QUEUE_BUSY, attach.reason);
	xsk_close(&second);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	opts.attach = false;
	ASSERT_EQ(0, xsk_open(&second, &opts));
	ASSERT_EQ(0, xsk_bind(&second));
	ASSERT_EQ(0, xsk_query(&second, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	xsk_close(&second);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Send each frame that arrives back, from the socket it arrived at */
static int echo(struct bed *b, struct stack *back, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	__u32 sent = 0, done = 0, returned = 0;
	char frame[FRAME_MAX];

	while (done < frames || returned < frames) {
		int len = sent < frames ? xsk_recv(&b->rx, frame) : 0;
		int n = xsk_reap(&b->rx);

		if (len < 0 || n < 0 || now_ms() > deadline)
			return complain(-EIO, "%u sent, %u done, %u returned",
					sent, done, returned);
		if (len && !xsk_send(&b->rx, frame, len))
			return complain(-ENOSPC, "no room to send back");
		sent += !!len;
		done += n;
		if (sent != done && *b->rx.tx.flags & XDP_RING_NEED_WAKEUP)
			xsk_kick(&b->rx);
		if (!len)
			xsk_drive(&b->rx, 1);
		returned += stack_recv(back, frame) > 0;
	}
	return 0;
}

/* An attached socket with need_wakeup sends too, and all of it completes */
TEST_F_TIMEOUT(xsk_attach, echo_with_need_wakeup, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct stack back;
	int i;

	ASSERT_EQ(0, stack_open(&back, TX_DEV));
	b->opts.tx = true;
	b->opts.bind_flags |= XDP_USE_NEED_WAKEUP;
	bed_connect(_metadata, b);
	EXPECT_TRUE(*b->rx.tx.flags & XDP_RING_NEED_WAKEUP);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, flow_send(&b->flow, SOME));
		ASSERT_EQ(0, echo(b, &back, SOME));
		xsk_refill(&b->rx);
	}
	EXPECT_EQ(CHUNKS, xsk_held(&b->rx));
	b->flow.next = b->flow.sent;
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A socket without Rx ring runs the built-in but takes no queue */
TEST_F_TIMEOUT(xsk_attach, tx_only_takes_no_queue, TIMEOUT)
{
	struct flow out = { .max_len = FRAME_LEN };
	struct bed *b = &self->bed;
	struct xsk_opts opts;
	struct stack back;
	struct xsk txonly;

	ASSERT_EQ(0, stack_open(&back, TX_DEV));
	opts = b->opts;
	opts.no_rx = true;
	opts.tx = true;
	ASSERT_EQ(0, xsk_create(&txonly, &opts));
	expect_active(_metadata, &txonly);
	out.tx = &txonly;
	settle(_metadata, b, &out, &back);
	ASSERT_EQ(0, flow_to_stack(&out, &back, SOME));

	b->opts.share = &txonly;
	b->opts.share_rings = true;
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	xsk_close(&b->rx);
	b->flow.rx = NULL;
	expect_active(_metadata, &txonly);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
	xsk_close(&txonly);
	expect_no_prog(_metadata, RX_DEV);
}

/* kill -9 of the owner under traffic gives the queue back to the stack */
TEST_F_TIMEOUT(xsk_attach, killed_owner, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct bed *b = &self->bed;
	struct helper owner;
	pid_t pid;

	pid = helper_fork(&owner);
	ASSERT_LE(0, pid);
	if (!pid)
		receive_for_ever(&b->opts, owner.from);
	ASSERT_TRUE(helper_wait(owner.from));

	flow_open(_metadata, &b->flow, &b->tx, TX_DEV, tx_queue(b, 0));
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	nap(300);
	helper_kill(&owner);
	expect_no_prog(_metadata, RX_DEV);
	ASSERT_EQ(0, queue_settle(RX_DEV, b->opts.queue));
	nap(200);
	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_settle_stack(&b->flow, &b->stack));
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	expect_active(_metadata, &b->rx);
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A port is back in the initial network namespace, and runs no program */
static bool port_without_prog_soon(void)
{
	long long deadline = now_ms() + STALL_MS;
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "nsenter -t %d -n ip -o link show " RX_DEV
		 " 2>/dev/null | grep -qv xdp", getppid());
	while (system(cmd)) {
		if (now_ms() > deadline)
			return false;
		nap(20);
	}
	return true;
}

/* A network namespace that goes with its owner takes device and built-in */
TEST_F_TIMEOUT(xsk_attach, netns_deletion, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct bed *b = &self->bed;
	struct helper owner;
	long long deadline;
	pid_t pid;

	pid = helper_fork(&owner);
	ASSERT_LE(0, pid);
	if (!pid) {
		if (unshare(CLONE_NEWNET) || !helper_tell(owner.from) ||
		    !helper_wait(owner.to) ||
		    run("ip link set " RX_DEV " up"))
			_exit(1);
		receive_for_ever(&b->opts, owner.from);
	}
	ASSERT_TRUE(helper_wait(owner.from));
	ASSERT_EQ(0, run("ip link set " RX_DEV " netns %d", pid));
	ASSERT_TRUE(helper_tell(owner.to));
	ASSERT_TRUE(helper_wait(owner.from));

	flow_open(_metadata, &b->flow, &b->tx, TX_DEV, tx_queue(b, 0));
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	nap(300);
	helper_kill(&owner);
	deadline = now_ms() + STALL_MS;
	/* A port goes back to the initial namespace, which the next test sees */
	while (!b->zc && if_nametoindex(TX_DEV) && now_ms() < deadline)
		nap(20);
	EXPECT_EQ(!b->zc, !if_nametoindex(TX_DEV));
	if (b->zc)
		EXPECT_TRUE(port_without_prog_soon());
	traffic_stop(&traffic);
}

/* A device that goes under traffic detaches the socket, which says so */
TEST_F_TIMEOUT(xsk_attach, device_removal, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct bed *b = &self->bed;

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	ASSERT_EQ(0, flow_wait(&b->flow, SOME));
	ASSERT_EQ(0, run(b->zc ? "echo 1 >/sys/class/net/" RX_DEV
				 "/device/remove" : "ip link del " RX_DEV));
	traffic_stop(&traffic);

	expect_detached(_metadata, &b->rx);
	xsk_close(&b->rx);
}

/* The new home of a moved device: no program there, all goes to the stack */
static void take_device(const struct helper *h, struct flow *f)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, link);
	struct flow seen = { .max_len = f->max_len, .gaps = true };
	char frame[FRAME_MAX];
	struct stack s;
	int n = 0;

	if (unshare(CLONE_NEWNET) || !helper_tell(h->from) ||
	    !helper_wait(h->to) || run("ip link set " RX_DEV " up") ||
	    bpf_xdp_query(rx_ifindex(), 0, &link) || link.prog_id ||
	    stack_open(&s, RX_DEV))
		_exit(1);

	while (n < SOME) {
		int len = stack_recv(&s, frame);

		if (len && flow_check(&seen, frame, len))
			_exit(1);
		n += !!len;
		nap(1);
	}
	helper_tell(h->from);
	helper_wait(h->to);
	_exit(0);
}

/* A device that moves to another network namespace leaves the socket behind */
TEST_F_TIMEOUT(xsk_attach, device_moves_away, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct bed *b = &self->bed;
	struct helper home;
	pid_t pid;

	b->flow.max_len = FRAME_LEN;
	pid = helper_fork(&home);
	ASSERT_LE(0, pid);
	if (!pid)
		take_device(&home, &b->flow);
	ASSERT_TRUE(helper_wait(home.from));

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	ASSERT_EQ(0, flow_wait(&b->flow, SOME));
	ASSERT_EQ(0, run("ip link set " RX_DEV " netns %d", pid));
	expect_detached(_metadata, &b->rx);
	ASSERT_TRUE(helper_tell(home.to));
	EXPECT_TRUE(helper_wait(home.from));
	ASSERT_EQ(0, traffic_stop(&traffic));
	xsk_close(&b->rx);
	helper_kill(&home);
}

/* ethtool -L cannot take the queue of an attached socket away */
TEST_F_TIMEOUT(xsk_attach, channels_stay, TIMEOUT)
{
	struct bed *b = &self->bed;
	long long deadline;

	b->opts.queue = 1;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	if (!b->zc)
		ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx 1"));
	ASSERT_EQ(-EIO, set_rx_queues(b, 1));
	if (!b->zc)
		ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx %u", QUEUES));
	xsk_close(&b->rx);

	bed_connect(_metadata, b);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	xsk_close(&b->tx);
	xsk_close(&b->rx);
	/* close() does not wait until the pool has left its queue */
	deadline = now_ms() + STALL_MS;
	while (!b->zc && run("ethtool -L " TX_DEV " tx 1")) {
		ASSERT_LT(now_ms(), deadline);
		nap(20);
	}
	while (set_rx_queues(b, 1)) {
		ASSERT_LT(now_ms(), deadline);
		nap(20);
	}
}

/* A link that goes down and up under traffic delivers again */
TEST_F_TIMEOUT(xsk_attach, link_flaps, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct bed *b = &self->bed;
	int i;

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	for (i = 0; i < (b->zc ? PORT_FLAPS : FLAPS); i++) {
		ASSERT_EQ(0, run("ip link set " RX_DEV " down"));
		ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
		/* Not only what had arrived before */
		ASSERT_EQ(0, flow_reach(&b->flow, flow_sent(&b->flow) + SOME));
	}
	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_settle(&b->flow));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/*
 * Attach and detach regular programs until killed: in both modes, but that a
 * port would be at nothing but its resets with those in generic mode
 */
static void swap_for_ever(const struct bed *b)
{
	__u32 other = b->zc ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;

	for (;;) {
		regular_attach(b->skel->progs.xsk_drop, other);
		regular_detach(other);
		regular_attach(b->skel->progs.xsk_redirect, XDP_FLAGS_DRV_MODE);
		regular_detach(XDP_FLAGS_DRV_MODE);
	}
}

/* Attach sockets to another queue and close them until killed */
static void churn_for_ever(const struct bed *b)
{
	struct xsk_opts opts = b->opts;
	struct xsk x;

	opts.queue = 1;
	while (!xsk_create(&x, &opts))
		xsk_close(&x);
	_exit(1);
}

/* Programs, other sockets and the link come and go: delivery comes through */
TEST_F_TIMEOUT(xsk_attach, storm, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct helper swapper, churner;
	struct bed *b = &self->bed;
	int i;

	bed_load(_metadata, b);
	if (!helper_fork(&swapper))
		swap_for_ever(b);
	if (!helper_fork(&churner))
		churn_for_ever(b);
	ASSERT_LT(0, swapper.pid);
	ASSERT_LT(0, churner.pid);

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	for (i = 0; i < (b->zc ? PORT_FLAPS : FLAPS); i++) {
		ASSERT_EQ(0, run("ip link set " RX_DEV " down"));
		ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
		ASSERT_EQ(0, flow_reach(&b->flow, flow_sent(&b->flow) + SOME));
	}
	EXPECT_EQ(0, waitpid(churner.pid, NULL, WNOHANG));
	helper_kill(&churner);
	helper_kill(&swapper);
	regular_detach(XDP_FLAGS_SKB_MODE);
	regular_detach(XDP_FLAGS_DRV_MODE);

	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_settle(&b->flow));
	expect_active(_metadata, &b->rx);
	b->flow.gaps = false;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* The built-in stays until the last of two sockets is closed */
TEST_F_TIMEOUT(xsk_attach, last_close_removes_builtin, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xsk rx[2], tx[2];
	struct flow flows[2];
	int first, last, q;

	for (q = 0; q < 2; q++)
		if (q)
			flow_open_other(_metadata, b, &flows[q], &tx[q]);
		else
			flow_open(_metadata, &flows[q], &tx[q], TX_DEV,
				  tx_queue(b, q));

	for (first = 0; first < 2; first++) {
		last = !first;
		for (q = 0; q < 2; q++) {
			b->opts.queue = q;
			ASSERT_EQ(0, xsk_create(&rx[q], &b->opts));
			flows[q].rx = &rx[q];
			settle(_metadata, b, &flows[q], &b->stack);
			ASSERT_EQ(0, flow_transfer(&flows[q], SOME, true));
		}
		xsk_close(&rx[first]);
		flows[first].rx = NULL;
		ASSERT_EQ(0, queue_settle(RX_DEV, first));
		expect_active(_metadata, &rx[last]);
		ASSERT_EQ(0, flow_to_stack(&flows[first], &b->stack, SOME));
		ASSERT_EQ(0, flow_transfer(&flows[last], SOME, true));

		xsk_close(&rx[last]);
		flows[last].rx = NULL;
		ASSERT_EQ(0, queue_settle(RX_DEV, last));
		expect_no_prog(_metadata, RX_DEV);
		settle(_metadata, b, &flows[last], &b->stack);
		ASSERT_EQ(0, flow_to_stack(&flows[last], &b->stack, SOME));
	}
}

/* A file descriptor of a socket and one of its umem's memory */
union fds {
	struct cmsghdr hdr;
	char room[CMSG_SPACE(2 * sizeof(int))];
};

static bool fds_send(int sock, int fd, int memfd)
{
	int fds[2] = { fd, memfd };
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	union fds control = {};
	struct msghdr msg = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.hdr.cmsg_level = SOL_SOCKET;
	control.hdr.cmsg_type = SCM_RIGHTS;
	control.hdr.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.hdr), fds, sizeof(fds));
	return sendmsg(sock, &msg, 0) == 1;
}

static bool fds_recv(int sock, int *fds)
{
	char room;
	struct iovec byte = { .iov_base = &room, .iov_len = 1 };
	union fds control;
	struct msghdr msg = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	if (recvmsg(sock, &msg, 0) != 1 ||
	    control.hdr.cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(&control.hdr), 2 * sizeof(int));
	return true;
}

/* Receive with what comes through a UNIX socket and no privilege at all */
static int receive_as_nobody(int sock, const struct xsk_opts *opts)
{
	struct flow f = { .max_len = FRAME_LEN };
	struct xdp_attach attach;
	struct xsk x;
	int fds[2];
	int i;

	if (!become_nobody() || !fds_recv(sock, fds) ||
	    xsk_adopt(&x, fds[0], fds[1], opts) || xsk_query(&x, &attach) ||
	    attach.state != XDP_ATTACH_S_ACTIVE)
		return 1;

	f.rx = &x;
	for (i = 1; i <= 4; i++) {
		if (write(sock, "", 1) != 1 || flow_wait(&f, i * SOME))
			return 1;
	}
	return 0;
}

/* So that the port is not reset for the first socket */
static void keep_builtin(struct __test_metadata *_metadata, struct bed *b,
			 struct xsk *keeper)
{
	struct xsk_opts opts = b->opts;

	opts.queue = 1;
	opts.no_rx = true;
	opts.tx = true;
	ASSERT_EQ(0, xsk_create(keeper, &opts));
	bed_sender(_metadata, b);
	b->flow.rx = NULL;
	bed_settle(_metadata, b);
}

/* A socket attached by a privileged process serves one without privileges */
TEST_F_TIMEOUT(xsk_attach, passed_to_nobody, TIMEOUT)
{
	struct bed *b = &self->bed;
	int pair[2], status, i;
	struct xsk keeper;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				pair));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(pair[0]);
		_exit(receive_as_nobody(pair[1], &b->opts));
	}
	close(pair[1]);

	keep_builtin(_metadata, b, &keeper);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_TRUE(fds_send(pair[0], b->rx.fd, b->rx.umem->memfd));
	xsk_close(&b->rx);
	xsk_close(&keeper);

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, read(pair[0], &byte, 1));
		ASSERT_EQ(0, flow_send(&b->flow, SOME));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	expect_no_prog(_metadata, RX_DEV);
}

static int wait_ring_full(const struct xsk *x, __u64 frames)
{
	long long deadline = now_ms() + STALL_MS;
	struct xdp_statistics stats = {};

	while (stats.rx_ring_full < frames) {
		if (xsk_stats(x, &stats) || now_ms() > deadline)
			return -ETIMEDOUT;
		nap(1);
	}
	return stats.rx_ring_full == frames ? 0 : -EOVERFLOW;
}

/* Overflow of the Rx ring and an empty fill ring lose frames, but no chunk */
TEST_F_TIMEOUT(xsk_attach, overflow_leaks_nothing, TIMEOUT)
{
	struct xdp_statistics stats;
	struct bed *b = &self->bed;
	int i;

	b->opts.rx_size = SOME;
	bed_connect(_metadata, b);
	b->flow.gaps = true;
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(0, flow_send(&b->flow, SOME));
		ASSERT_EQ(0, flow_send(&b->flow, SOME));
		ASSERT_EQ(0, wait_ring_full(&b->rx, i * SOME));
		ASSERT_EQ(SOME, flow_recv(&b->flow));
		if (i == 2)
			xsk_refill(&b->rx);
	}
	ASSERT_EQ(0, flow_drain(&b->flow));
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(!b->zc, stats.rx_dropped);
	EXPECT_LT(0, stats.rx_fill_ring_empty_descs);
	EXPECT_EQ(0, stats.rx_invalid_descs);

	b->flow.gaps = false;
	ASSERT_EQ(0, flow_transfer(&b->flow, CHUNKS, true));
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* What is the same however frames are driven: bind(), options, tools */
FIXTURE(xsk_bind)
{
	struct bed bed;
	int kmsg;
};

FIXTURE_VARIANT(xsk_bind)
{
	bool zc;
};

FIXTURE_VARIANT_ADD(xsk_bind, veth)
{
};

FIXTURE_VARIANT_ADD(xsk_bind, zc)
{
	.zc = true,
};

FIXTURE_SETUP(xsk_bind)
{
	bed_make(_metadata, &self->bed, false, variant->zc, false);
	self->kmsg = kmsg_open();
	ASSERT_LE(0, self->kmsg);
}

FIXTURE_TEARDOWN(xsk_bind)
{
}

/* bind() fails, and both getsockopt() and the kernel's log say why */
static void expect_refusal(struct __test_metadata *_metadata, int kmsg,
			   const struct xsk_opts *opts, int err, __u32 reason,
			   const char *text)
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
	EXPECT_EQ(!!text, kmsg_find(kmsg, text ?: "socket not attached"));
	xsk_close(&x);
}

/* The features can be asked for before all else, the state at any time */
TEST_F_TIMEOUT(xsk_bind, features_and_state, TIMEOUT)
{
	struct xdp_attach attach[2];
	struct bed *b = &self->bed;
	__u64 features = 0;
	socklen_t len;
	int fd, i;

	fd = socket(AF_XDP, SOCK_RAW, 0);
	ASSERT_LE(0, fd);
	for (i = 0; i < (int)sizeof(features); i++) {
		len = i;
		EXPECT_EQ(-1, getsockopt(fd, SOL_XDP, XDP_FASTPATH_FEATURES,
					 &features, &len));
		EXPECT_EQ(EINVAL, errno);
	}
	len = sizeof(features);
	ASSERT_EQ(0, getsockopt(fd, SOL_XDP, XDP_FASTPATH_FEATURES, &features,
				&len));
	EXPECT_EQ(sizeof(features), len);
	EXPECT_TRUE(features & XDP_FASTPATH_F_ATTACH);
	close(fd);

	b->opts.attach = false;
	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	ASSERT_EQ(0, xsk_query(&b->rx, attach));
	EXPECT_EQ(0, attach->flags);
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach->state);
	for (i = 0; i < (int)sizeof(*attach); i++) {
		len = i;
		EXPECT_EQ(-1, getsockopt(b->rx.fd, SOL_XDP, XDP_ATTACH, attach,
					 &len));
		EXPECT_EQ(EINVAL, errno);
	}
	len = sizeof(attach);
	ASSERT_EQ(0, getsockopt(b->rx.fd, SOL_XDP, XDP_ATTACH, attach, &len));
	EXPECT_EQ(sizeof(*attach), len);

	b->opts.attach = true;
	ASSERT_EQ(0, xsk_open(&b->tx, &b->opts));
	ASSERT_EQ(0, xsk_query(&b->tx, attach));
	EXPECT_EQ(XDP_ATTACH_F_DRV_MODE, attach->flags);
	EXPECT_EQ(XDP_ATTACH_S_REQUESTED, attach->state);
}

static int attach_errno(int fd, const struct xdp_attach *attach, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, XDP_ATTACH, attach, len) ? errno : 0;
}

/* The option with another size, unknown flags or answers in it is refused */
TEST_F_TIMEOUT(xsk_bind, malformed_option, TIMEOUT)
{
	static const struct xdp_attach bad[] = {
		{ .flags = XDP_ATTACH_F_SKB_MODE | XDP_ATTACH_F_DRV_MODE },
		{ .flags = 1U << 3 },
		{ .flags = 1U << 31 },
		{ .state = XDP_ATTACH_S_REQUESTED },
		{ .prog_id = 1 },
		{ .reason = XDP_ATTACH_R_CAPABILITY },
	};
	struct xdp_attach room[5] = {};
	size_t i;
	int fd;

	fd = socket(AF_XDP, SOCK_RAW, 0);
	ASSERT_LE(0, fd);
	for (i = 0; i <= 64; i++)
		EXPECT_EQ(i == sizeof(*room) ? 0 : EINVAL,
			  attach_errno(fd, room, i));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(EINVAL, attach_errno(fd, &bad[i], sizeof(*bad)));
	EXPECT_EQ(EFAULT, attach_errno(fd, NULL, sizeof(*room)));
}

/* It is too late after bind(), and too early for a socket of another kind */
TEST_F_TIMEOUT(xsk_bind, too_late_and_other_kinds, TIMEOUT)
{
	struct xdp_attach attach = {};
	struct bed *b = &self->bed;
	socklen_t len;
	int udp;

	b->opts.attach = false;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	EXPECT_EQ(EBUSY, attach_errno(b->rx.fd, &attach, sizeof(attach)));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);

	udp = socket(AF_INET, SOCK_DGRAM, 0);
	ASSERT_LE(0, udp);
	EXPECT_EQ(ENOPROTOOPT, attach_errno(udp, &attach, sizeof(attach)));
	len = sizeof(attach);
	EXPECT_EQ(-1, getsockopt(udp, SOL_XDP, XDP_ATTACH, &attach, &len));
}

static int drop_cap(int cap)
{
	struct __user_cap_header_struct hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &hdr, data))
		return -errno;
	data[0].effective &= ~(1U << cap);
	data[0].permitted &= ~(1U << cap);
	return syscall(SYS_capset, &hdr, data) ? -errno : 0;
}

/* CAP_NET_RAW makes the socket, but only CAP_NET_ADMIN attaches it */
TEST_F_TIMEOUT(xsk_bind, refused_without_cap_net_admin, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xsk plain;

	ASSERT_EQ(0, drop_cap(CAP_NET_ADMIN));
	expect_refusal(_metadata, self->kmsg, &b->opts, -EPERM,
		       XDP_ATTACH_R_CAPABILITY, NULL);
	expect_no_prog(_metadata, RX_DEV);
	b->opts.attach = false;
	EXPECT_EQ(0, xsk_create(&plain, &b->opts));
}

/* The process that binds needs the capability, not the one that asked */
TEST_F_TIMEOUT(xsk_bind, capability_counts_at_bind, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;

	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	ASSERT_EQ(0, drop_cap(CAP_NET_ADMIN));
	EXPECT_EQ(-EPERM, xsk_bind(&b->rx));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_R_CAPABILITY, attach.reason);
}

/* Devices for a container, which its root cannot bring there */
static void container_devices(struct __test_metadata *_metadata,
			      const struct bed *b, struct helper *host)
{
	struct veth_opts veth = {};

	if (!b->zc) {
		ASSERT_EQ(0, veth_create(&veth));
		return;
	}
	ASSERT_TRUE(helper_tell(host->to));
	ASSERT_TRUE(helper_wait(host->from));
	ASSERT_EQ(0, ports_up());
}

static void move_ports(const struct helper *h, pid_t pid)
{
	if (helper_wait(h->to) &&
	    !run("ip link set " RX_DEV " netns %d", pid) &&
	    !run("ip link set " TX_DEV " netns %d", pid))
		helper_tell(h->from);
	_exit(0);
}

/* Root of a container may attach to the devices of the container */
TEST_F_TIMEOUT(xsk_bind, container_root_attaches, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;
	struct helper host;
	pid_t pid;

	pid = helper_fork(&host);
	ASSERT_LE(0, pid);
	if (!pid)
		move_ports(&host, getppid());
	if (!root_of_new_user_ns())
		SKIP(return, "no user namespaces");

	container_devices(_metadata, b, &host);
	bed_connect(_metadata, b);
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_ACTIVE, attach.state);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Only a queue in use can be attached to */
TEST_F_TIMEOUT(xsk_bind, refused_queue_out_of_range, TIMEOUT)
{
	const char *text = "the device has no such Rx queue";
	struct bed *b = &self->bed;

	b->opts.queue = QUEUES;
	expect_refusal(_metadata, self->kmsg, &b->opts, -ERANGE,
		       XDP_ATTACH_R_NO_QUEUE, text);
	b->opts.queue = ~0U;
	expect_refusal(_metadata, self->kmsg, &b->opts, -ERANGE,
		       XDP_ATTACH_R_NO_QUEUE, text);

	ASSERT_EQ(0, set_rx_queues(b, 1));
	b->opts.queue = 1;
	expect_refusal(_metadata, self->kmsg, &b->opts, -ERANGE,
		       XDP_ATTACH_R_NO_QUEUE, text);
	expect_no_prog(_metadata, RX_DEV);
}

/* A queue has one attached socket; a failed bind() can be done again */
TEST_F_TIMEOUT(xsk_bind, refused_queue_busy, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;
	struct xsk second;

	bed_connect(_metadata, b);
	expect_refusal(_metadata, self->kmsg, &b->opts, -EBUSY,
		       XDP_ATTACH_R_QUEUE_BUSY, "another socket is attached");
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, xsk_open(&second, &b->opts));
	EXPECT_EQ(-EBUSY, xsk_bind(&second));
	xsk_close(&b->rx);
	ASSERT_EQ(0, xsk_bind_soon(&second));
	expect_active(_metadata, &second);
	ASSERT_EQ(0, xsk_query(&second, &attach));
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.reason);
}

/* Native mode where the driver has no XDP */
TEST_F_TIMEOUT(xsk_bind, refused_no_native, TIMEOUT)
{
	const char *text = "the driver cannot redirect in NAPI";
	struct bed *b = &self->bed;

	b->opts.dev = "lo";
	expect_refusal(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_NO_NATIVE, text);
	b->opts.attach_flags = XDP_ATTACH_F_FORCE;
	expect_refusal(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_NO_NATIVE, text);
	b->opts.attach_flags = 0;
	b->opts.bind_flags = XDP_ZEROCOPY;
	expect_refusal(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_NO_NATIVE, text);
	b->opts.bind_flags = 0;

	ASSERT_EQ(0, run("ip link add xa_dummy up type dummy"));
	b->opts.dev = "xa_dummy";
	b->opts.attach_flags = XDP_ATTACH_F_DRV_MODE;
	expect_refusal(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_NO_NATIVE, text);
	expect_no_prog(_metadata, "xa_dummy");
}

/* Zero-copy in generic mode cannot be, and veth has none in native mode */
TEST_F_TIMEOUT(xsk_bind, refused_zero_copy, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xsk_opts opts = b->opts;
	struct xsk x;

	opts.attach_flags = XDP_ATTACH_F_SKB_MODE;
	opts.bind_flags = XDP_ZEROCOPY;
	expect_refusal(_metadata, self->kmsg, &opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_ZC_GENERIC,
		       "no zero-copy in generic mode");

	if (b->zc)
		return;
	opts.attach_flags = XDP_ATTACH_F_DRV_MODE;
	ASSERT_EQ(0, xsk_open(&x, &opts));
	EXPECT_EQ(-EOPNOTSUPP, xsk_bind(&x));
	expect_no_prog(_metadata, RX_DEV);

	x.opts.bind_flags = 0;
	ASSERT_EQ(0, xsk_bind(&x));
	xsk_refill(&x);
	expect_active(_metadata, &x);
	flow_open(_metadata, &b->flow, &b->tx, TX_DEV, tx_queue(b, 0));
	b->flow.rx = &x;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* All sockets of a device are in one mode; one without wishes joins it */
TEST_F_TIMEOUT(xsk_bind, refused_mode_conflict, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xsk first, second;
	struct xsk_opts opts;
	int i;

	b->opts.bind_flags = 0;
	for (i = 0; i < 2; i++) {
		opts = b->opts;
		opts.attach_flags = i ? XDP_ATTACH_F_SKB_MODE :
					XDP_ATTACH_F_DRV_MODE;
		ASSERT_EQ(0, xsk_create(&first, &opts));
		opts.queue = 1;
		opts.attach_flags = i ? XDP_ATTACH_F_DRV_MODE :
					XDP_ATTACH_F_SKB_MODE;
		expect_refusal(_metadata, self->kmsg, &opts, -EEXIST,
			       XDP_ATTACH_R_MODE_CONFLICT,
			       "another socket holds the other mode");
		opts.attach_flags = 0;
		ASSERT_EQ(0, xsk_create(&second, &opts));
		EXPECT_EQ(expect_active(_metadata, &first),
			  expect_active(_metadata, &second));
		xsk_close(&second);
		xsk_close(&first);
	}
}

/* XDP_ATTACH_F_FORCE does not wait for a regular program to go */
TEST_F_TIMEOUT(xsk_bind, refused_force_with_regular, TIMEOUT)
{
	struct bed *b = &self->bed;
	int i;

	bed_load(_metadata, b);
	b->opts.attach_flags |= XDP_ATTACH_F_FORCE;
	for (i = 0; i < 2; i++) {
		__u32 flags = i ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;

		ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop, flags));
		expect_refusal(_metadata, self->kmsg, &b->opts, -EEXIST,
			       XDP_ATTACH_R_REGULAR, "a regular program runs");
		ASSERT_EQ(0, regular_detach(flags));
	}
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);
}

/* As for regular programs: none below a device that runs one */
TEST_F_TIMEOUT(xsk_bind, refused_upper_runs_program, TIMEOUT)
{
	struct bed *b = &self->bed;
	int vlan, drop;

	bed_load(_metadata, b);
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	ASSERT_EQ(0, run("ip link add link %s name xa_vlan type vlan id 5",
			 RX_DEV));
	ASSERT_EQ(0, run("ip link set xa_vlan up"));
	vlan = if_nametoindex("xa_vlan");
	ASSERT_EQ(0, bpf_xdp_attach(vlan, drop, XDP_FLAGS_SKB_MODE, NULL));
	expect_refusal(_metadata, self->kmsg, &b->opts, -EEXIST,
		       XDP_ATTACH_R_UPPER, "an upper device runs a program");

	ASSERT_EQ(0, bpf_xdp_detach(vlan, XDP_FLAGS_SKB_MODE, NULL));
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);
}

static void expect_mode(struct __test_metadata *_metadata, const struct xsk *x,
			__u32 mode, __u32 reason)
{
	struct xdp_attach attach;

	expect_active(_metadata, x);
	ASSERT_EQ(0, xsk_query(x, &attach));
	EXPECT_EQ(mode, attach.flags);
	EXPECT_EQ(reason, attach.reason);
}

static bool is_zero_copy(const struct xsk *x)
{
	struct xdp_options options = {};
	socklen_t len = sizeof(options);

	getsockopt(x->fd, SOL_XDP, XDP_OPTIONS, &options, &len);
	return options.flags & XDP_OPTIONS_ZEROCOPY;
}

/*
 * Without wishes, the mode is native where the driver has XDP, else generic,
 * and zero-copy where the driver has that
 */
TEST_F_TIMEOUT(xsk_bind, chooses_mode, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct stack lo;
	struct flow f = { .max_len = FRAME_LEN };
	struct xsk x;

	b->opts.attach_flags = 0;
	b->opts.bind_flags = 0;
	bed_connect(_metadata, b);
	expect_mode(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
		    XDP_ATTACH_R_NONE);
	EXPECT_EQ(b->zc, is_zero_copy(&b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	b->opts.dev = "lo";
	ASSERT_EQ(0, xsk_create(&x, &b->opts));
	expect_mode(_metadata, &x, XDP_ATTACH_F_SKB_MODE,
		    XDP_ATTACH_R_NO_NATIVE);
	ASSERT_EQ(0, stack_open(&lo, "lo"));
	f.rx = &x;
	ASSERT_EQ(0, flow_send_raw(&f, &lo, SOME));
	ASSERT_EQ(0, flow_wait(&f, SOME));
}

/* Without native XDP on the device, generic mode serves, unless ruled out */
TEST_F_TIMEOUT(xsk_bind, falls_back_without_native, TIMEOUT)
{
	const char *text = "the driver cannot redirect in NAPI";
	struct bed *b = &self->bed;

	if (b->zc)
		SKIP(return, "veth has native XDP only with enough Rx queues");
	ASSERT_EQ(0, run("ip link add %s type veth peer name %s",
			 "xa_few up numrxqueues 1 numtxqueues 1",
			 "xa_many numrxqueues 2 numtxqueues 2"));
	ASSERT_EQ(0, run("ip link set xa_many up"));
	b->opts.dev = "xa_few";
	expect_refusal(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_NO_NATIVE, text);
	b->opts.attach_flags = XDP_ATTACH_F_FORCE;
	expect_refusal(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		       XDP_ATTACH_R_NO_NATIVE, text);
	expect_no_prog(_metadata, "xa_few");

	b->opts.attach_flags = 0;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	expect_mode(_metadata, &b->rx, XDP_ATTACH_F_SKB_MODE,
		    XDP_ATTACH_R_NO_NATIVE);
	flow_open(_metadata, &b->flow, &b->tx, "xa_many", 0);
	b->flow.rx = &b->rx;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/*
 * Have the driver refuse the built-in at the moment when it is to come back:
 * veth wants as many Rx queues as its peer has Tx queues.
 */
static void come_back_refused(struct __test_metadata *_metadata, struct bed *b)
{
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop,
				    XDP_FLAGS_SKB_MODE));
	ASSERT_EQ(0, run("ethtool -L " RX_DEV " rx 1"));
	ASSERT_EQ(0, regular_detach(XDP_FLAGS_SKB_MODE));
}

/* A built-in that cannot come back is reported, and comes back later */
TEST_F_TIMEOUT(xsk_bind, stalls_when_driver_refuses, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;

	if (b->zc)
		SKIP(return, "it is veth that refuses");
	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	come_back_refused(_metadata, b);
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_STALLED, attach.state);
	EXPECT_EQ(0, attach.prog_id);
	EXPECT_TRUE(kmsg_find(self->kmsg, "program did not come back"));
	expect_no_prog(_metadata, RX_DEV);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, run("ethtool -L " RX_DEV " rx %u", QUEUES));
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop,
				    XDP_FLAGS_DRV_MODE));
	ASSERT_EQ(0, regular_detach(XDP_FLAGS_DRV_MODE));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* If generic mode will do, the built-in comes back there */
TEST_F_TIMEOUT(xsk_bind, comes_back_in_generic_mode, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach;

	if (b->zc)
		SKIP(return, "it is veth that refuses");
	b->opts.attach_flags = 0;
	bed_load(_metadata, b);
	bed_connect(_metadata, b);
	expect_mode(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
		    XDP_ATTACH_R_NONE);
	come_back_refused(_metadata, b);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_F_SKB_MODE, attach.flags);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

static int load_errno(struct __test_metadata *_metadata, bool devmap)
{
	struct xsk_attach_progs *skel = xsk_attach_progs__open();
	int err;

	ASSERT_NE(NULL, skel);
	bpf_program__set_autoload(devmap ? skel->progs.xsk_redirect_dev :
					   skel->progs.xsk_redirect_cpu, true);
	err = xsk_attach_progs__load(skel);
	xsk_attach_progs__destroy(skel);
	return err;
}

/* bpf_xsk_redirect() is not for programs of cpumap and devmap entries */
TEST_F_TIMEOUT(xsk_bind, kfunc_refused_in_maps, TIMEOUT)
{
	libbpf_set_print(NULL);
	EXPECT_EQ(-EACCES, load_errno(_metadata, false));
	EXPECT_EQ(-EACCES, load_errno(_metadata, true));
}

/* sock_diag tells the state to those who ask for it, and only to them */
TEST_F_TIMEOUT(xsk_bind, sock_diag, TIMEOUT)
{
	struct bed *b = &self->bed;
	struct xdp_attach attach = {}, want;

	bed_connect(_metadata, b);
	EXPECT_EQ(0, xsk_diag(&b->rx, ~XDP_SHOW_ATTACH, &attach));
	ASSERT_EQ(1, xsk_diag(&b->rx, XDP_SHOW_ATTACH, &attach));
	ASSERT_EQ(0, xsk_query(&b->rx, &want));
	EXPECT_EQ(XDP_ATTACH_S_ACTIVE, attach.state);
	EXPECT_EQ(0, memcmp(&want, &attach, sizeof(want)));

	ASSERT_EQ(1, xsk_diag(&b->tx, XDP_SHOW_ATTACH, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);
}

/* ip and bpftool show that the built-in runs, ss still works */
TEST_F_TIMEOUT(xsk_bind, tools_show_builtin, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 id;

	bed_connect(_metadata, b);
	id = expect_active(_metadata, &b->rx);
	EXPECT_EQ(0, run("ip link show %s | grep -qw 'xdp id %u'", RX_DEV, id));
	EXPECT_EQ(0, run("bpftool net show dev %s | grep -qw 'driver id %u'",
			 RX_DEV, id));
	EXPECT_EQ(0, run("bpftool prog show id %u | grep -qw xsk_builtin", id));
	EXPECT_EQ(0, run("ss --xdp -e | grep -qw " RX_DEV));
}

/* The refusals are in the log at any rate while the tests run */
static int set_message_cost(int cost)
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

/* The harness does not return */
static void clean_up(void)
{
	set_message_cost(message_cost);
	if (with_ports())
		ports_give_back(getenv("XSK_ATTACH_RX"),
				getenv("XSK_ATTACH_TX"));
}

int main(int argc, char **argv)
{
	char only[][16] = { "-Vzc_softirq", "-Vzc_busy_poll", "-Vzc" };
	char *args[5] = { argv[0], only[0], only[1], only[2] };
	int i;

	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (!kernel_has_attach())
		ksft_exit_skip("this kernel has no XDP_ATTACH\n");
	if (with_ports() && ports_find(getenv("XSK_ATTACH_RX"),
				       getenv("XSK_ATTACH_TX")))
		ksft_exit_fail_msg("no such ports\n");

	libbpf_set_print(tap_print_libbpf);
	message_cost = set_message_cost(0);
	atexit(clean_up);
	if (argc > 1)
		return test_harness_run(argc, argv);

	for (i = 0; with_ports() && i < ARRAY_SIZE(only); i++)
		only[i][1] = 'v';
	return test_harness_run(ARRAY_SIZE(args) - 1, args);
}
