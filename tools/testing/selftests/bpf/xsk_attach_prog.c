// SPDX-License-Identifier: GPL-2.0
/* XDP_ATTACH: precedence of regular programs, and redirects by them */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>

#include "xsk_attach_modes.h"

#define SWAPS		60

/* A program attached by netlink takes precedence until it is detached */
TEST_F_TIMEOUT(xsk_attach, yields_to_netlink, TIMEOUT)
{
	struct testbed *b = &self->bed;
	__u32 flags = b->xdp_flags | XDP_FLAGS_UPDATE_IF_NOEXIST;
	struct bpf_program *drop;
	__u32 builtin;

	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	drop = b->skel->progs.xsk_drop;
	builtin = expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, regular_attach(drop, flags));
	expect_regular(_metadata, &b->rx, id_of(drop), b->xdp_flags);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	EXPECT_EQ(-EBUSY, regular_attach(b->skel->progs.xsk_pass, flags));

	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	expect_regular(_metadata, &b->rx, id_of(b->skel->progs.xsk_pass),
		       b->xdp_flags);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* So does a bpf_link, also after an update, until it is detached or closed */
TEST_F_TIMEOUT(xsk_attach, yields_to_bpf_link, TIMEOUT)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct testbed *b = &self->bed;
	int drop, pass, link;

	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	pass = bpf_program__fd(b->skel->progs.xsk_pass);
	opts.flags = b->xdp_flags;

	link = bpf_link_create(drop, rx_ifindex(), BPF_XDP, &opts);
	ASSERT_LE(0, link);
	expect_regular(_metadata, &b->rx, prog_id(drop), b->xdp_flags);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, bpf_link_update(link, pass, NULL));
	expect_regular(_metadata, &b->rx, prog_id(pass), b->xdp_flags);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, bpf_link_detach(link));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	close(link);

	link = bpf_link_create(drop, rx_ifindex(), BPF_XDP, &opts);
	ASSERT_LE(0, link);
	expect_regular(_metadata, &b->rx, prog_id(drop), b->xdp_flags);
	close(link);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* So does a program loaded by xdp-loader, until it is unloaded */
TEST_F_TIMEOUT(xsk_attach, yields_to_libxdp_dispatcher, TIMEOUT)
{
	struct testbed *b = &self->bed;
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
			 "xsk_test_progs.bpf.o"));

	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_SHADOWED, attach.state);
	EXPECT_NE(builtin, attach.prog_id);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, run("xdp-loader unload --all " RX_DEV));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* The expected fd of a replacement never refers to the built-in */
TEST_F_TIMEOUT(xsk_attach, is_invisible_to_expected_fd, TIMEOUT)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	struct testbed *b = &self->bed;
	int builtin, drop, pass;

	bed_load(_metadata, b, "xsk_redirect");
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
	expect_regular(_metadata, &b->rx, prog_id(pass), b->xdp_flags);

	opts.old_prog_fd = pass;
	ASSERT_EQ(0, bpf_xdp_detach(rx_ifindex(), b->xdp_flags, &opts));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* "xdp off" succeeds while only the built-in runs, and has no effect */
TEST_F_TIMEOUT(xsk_attach, stays_on_xdp_off, TIMEOUT)
{
	struct testbed *b = &self->bed;
	__u32 builtin;

	bed_connect(_metadata, b);
	builtin = expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, run("ip link set dev " RX_DEV " xdp off"));
	ASSERT_EQ(0, run("ip link set dev " RX_DEV " xdpgeneric off"));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A socket bound while a regular program runs waits until it is detached */
TEST_F_TIMEOUT(xsk_attach, waits_for_regular_detach, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_program *drop;
	struct xdp_attach attach;

	bed_load(_metadata, b, "xsk_redirect");
	drop = b->skel->progs.xsk_drop;
	bed_sender(_metadata, b);
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, regular_attach(drop, b->xdp_flags));
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	expect_regular(_metadata, &b->rx, id_of(drop), b->xdp_flags);
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

/* A regular program of the other mode replaces the built-in, too */
TEST_F_TIMEOUT(xsk_attach, yields_to_other_mode, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_program *pass;
	__u32 other = variant->skb ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	int i;

	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	pass = b->skel->progs.xsk_pass;
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, regular_attach(pass, other));
		expect_regular(_metadata, &b->rx, id_of(pass), other);
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

/* Until @received more packets arrived, and the program counted @seen more */
static int pump(struct testbed *b, struct traffic *t, __u32 received, __u64 seen)
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

/* Attaching and detaching under traffic neither drops nor reorders packets */
TEST_F_TIMEOUT(xsk_attach, swaps_under_traffic, TIMEOUT)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct xdp_statistics stats;
	struct testbed *b = &self->bed;
	struct traffic traffic = {};
	int drop, link, i;

	bed_load(_metadata, b, "xsk_redirect");
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

/* A program redirects all packets to the socket, then the built-in does */
static void expect_delivery(struct __test_metadata *_metadata, struct testbed *b,
			    const struct bpf_program *prog)
{
	char frame[FRAME_MAX];

	ASSERT_EQ(0, regular_attach(prog, b->xdp_flags));
	expect_regular(_metadata, &b->rx, id_of(prog), b->xdp_flags);
	ASSERT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(many(), b->skel->bss->seen);
	EXPECT_EQ(0, stack_recv(&b->stack, frame));

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	EXPECT_EQ(many(), b->skel->bss->seen);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A regular program redirects by bpf_xsk_redirect() */
TEST_F_TIMEOUT(xsk_attach, kfunc_delivers, TIMEOUT)
{
	struct testbed *b = &self->bed;

	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	b->skel->bss->redirect_flags = XDP_DROP;
	expect_delivery(_metadata, b, b->skel->progs.xsk_redirect);
}

/* A regular program redirects by an XSKMAP, as without XDP_ATTACH */
TEST_F_TIMEOUT(xsk_attach, xskmap_delivers, TIMEOUT)
{
	struct testbed *b = &self->bed;
	__u32 queue = 0;

	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	ASSERT_EQ(0, bpf_map_update_elem(bpf_map__fd(b->skel->maps.sockets),
					 &queue, &b->rx.fd, BPF_ANY));
	expect_delivery(_metadata, b, b->skel->progs.xsk_map);
}

/* Without a socket on the queue, the flags of bpf_xsk_redirect() decide */
TEST_F_TIMEOUT(xsk_attach, kfunc_without_socket, TIMEOUT)
{
	struct testbed *b = &self->bed;
	char frame[FRAME_MAX];
	struct stack back;
	struct flow other;
	struct xsk tx;

	ASSERT_EQ(0, stack_open(&back, TX_DEV));
	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	/* XDP_TX on a veth device requires a program on the peer */
	if (!b->zc)
		ASSERT_EQ(0, prog_attach(TX_DEV, b->skel->progs.xsk_pass,
					 XDP_FLAGS_DRV_MODE));
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

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
