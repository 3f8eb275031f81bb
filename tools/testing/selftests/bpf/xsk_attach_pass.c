// SPDX-License-Identifier: GPL-2.0
/* XDP_ATTACH_F_PASS: sockets behind a regular program */
#define _GNU_SOURCE
#include <libgen.h>
#include <limits.h>

#include "xsk_attach_modes.h"

#define SWAPS		60
#define METADATA	0x5c5d5e5f

static void bed_pass(struct testbed *b)
{
	b->opts.attach_flags |= XDP_ATTACH_F_PASS;
}

static int attach_by_name(struct testbed *b, const char *name)
{
	struct bpf_program *prog;

	prog = bpf_object__find_program_by_name(b->skel->obj, name);
	return regular_attach(prog, b->xdp_flags);
}

/* The socket receives packets that the program has seen, and the stack none */
static void expect_behind(struct __test_metadata *_metadata, struct testbed *b)
{
	__u64 seen = b->skel->bss->seen;
	char frame[FRAME_MAX];

	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	EXPECT_EQ(seen + SOME, b->skel->bss->seen);
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
}

/* A program that netlink attaches, replaces and detaches */
TEST_F_TIMEOUT(xsk_attach, behind_netlink, TIMEOUT)
{
	struct testbed *b = &self->bed;
	__u32 builtin;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	bed_connect(_metadata, b);
	builtin = expect_active(_metadata, &b->rx);

	ASSERT_EQ(0, attach_by_name(b, "xsk_pass"));
	expect_passed(_metadata, &b->rx, id_of(b->skel->progs.xsk_pass),
		      b->xdp_flags);
	expect_behind(_metadata, b);

	ASSERT_EQ(0, attach_by_name(b, "xsk_drop"));
	expect_passed(_metadata, &b->rx, id_of(b->skel->progs.xsk_drop),
		      b->xdp_flags);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, attach_by_name(b, "xsk_pass_sg"));
	expect_passed(_metadata, &b->rx, id_of(b->skel->progs.xsk_pass_sg),
		      b->xdp_flags);
	expect_behind(_metadata, b);

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	EXPECT_EQ(builtin, expect_active(_metadata, &b->rx));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	ASSERT_EQ(0, flow_drain(&b->flow));
}

TEST_F_TIMEOUT(xsk_attach, behind_bpf_link, TIMEOUT)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct testbed *b = &self->bed;
	int drop, pass, link;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	bed_connect(_metadata, b);
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	pass = bpf_program__fd(b->skel->progs.xsk_pass);
	opts.flags = b->xdp_flags;

	link = bpf_link_create(drop, rx_ifindex(), BPF_XDP, &opts);
	ASSERT_LE(0, link);
	expect_passed(_metadata, &b->rx, prog_id(drop), b->xdp_flags);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, bpf_link_update(link, pass, NULL));
	expect_passed(_metadata, &b->rx, prog_id(pass), b->xdp_flags);
	expect_behind(_metadata, b);

	close(link);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

TEST_F_TIMEOUT(xsk_attach, behind_libxdp_dispatcher, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xdp_attach attach;
	char exe[PATH_MAX] = "";
	char frame[FRAME_MAX];

	if (system("command -v xdp-loader >/dev/null"))
		SKIP(return, "no xdp-loader: install xdp-tools");

	bed_pass(b);
	bed_connect(_metadata, b);
	ASSERT_LT(0, readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	ASSERT_EQ(0, run("xdp-loader load -m %s -n xsk_pass %s '%s/%s'",
			 variant->skb ? "skb" : "native", RX_DEV, dirname(exe),
			 "xsk_test_progs.bpf.o"));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_PASSED, attach.state);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));

	ASSERT_EQ(0, run("xdp-loader unload --all " RX_DEV));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A socket is bound and closed while a program is attached */
TEST_F_TIMEOUT(xsk_attach, bound_behind, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_xdp_query_opts link;
	struct bpf_program *pass;
	int i;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	pass = b->skel->progs.xsk_pass;
	bed_sender(_metadata, b);
	ASSERT_EQ(0, regular_attach(pass, b->xdp_flags));
	settle(_metadata, b, &b->flow, &b->stack);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
		b->flow.rx = &b->rx;
		expect_passed(_metadata, &b->rx, id_of(pass), b->xdp_flags);
		settle(_metadata, b, &b->flow, &b->stack);
		expect_behind(_metadata, b);
		ASSERT_EQ(0, flow_drain(&b->flow));

		bed_close_rx(_metadata, b);
		settle(_metadata, b, &b->flow, &b->stack);
		ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
	}
	link_query(_metadata, RX_DEV, &link);
	EXPECT_EQ(id_of(pass), link.prog_id);
	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	expect_no_prog(_metadata, RX_DEV);
}

/* The program drops, transmits and redirects as without the socket */
TEST_F_TIMEOUT(xsk_attach, keeps_other_actions, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct flow redirected = { .gaps = true, .max_len = FRAME_LEN };
	struct flow sent = { .gaps = true, .max_len = FRAME_LEN };
	struct xsk_opts opts;
	char frame[FRAME_MAX];
	struct stack back;
	struct xsk other;
	__u32 queue = 0;
	int i, n;

	ASSERT_EQ(0, stack_open(&back, TX_DEV));
	bed_pass(b);
	bed_load(_metadata, b, NULL);
	/* A second socket of the queue receives by an XSKMAP */
	b->opts.chunks = CHUNKS / 2;
	bed_connect(_metadata, b);
	opts = b->opts;
	opts.attach = false;
	opts.bind_flags = 0;
	opts.share = &b->rx;
	opts.share_rings = true;
	ASSERT_EQ(0, xsk_create(&other, &opts));
	ASSERT_EQ(0, bpf_map_update_elem(bpf_map__fd(b->skel->maps.sockets),
					 &queue, &other.fd, BPF_ANY));
	redirected.rx = &other;
	/* XDP_TX on a veth device requires a program on the peer */
	if (!b->zc)
		ASSERT_EQ(0, prog_attach(TX_DEV, b->skel->progs.xsk_pass,
					 XDP_FLAGS_DRV_MODE));
	ASSERT_EQ(0, attach_by_name(b, "xsk_sort"));

	b->flow.gaps = true;
	redirected.next = b->flow.sent;
	sent.next = b->flow.sent;
	ASSERT_EQ(0, flow_send(&b->flow, SOME));
	ASSERT_EQ(0, flow_wait(&b->flow, b->flow.received + SOME / 4));
	ASSERT_EQ(0, flow_wait(&redirected, SOME / 4));
	for (i = 0; i < SOME / 4; i += !!n) {
		n = stack_recv(&back, frame);
		ASSERT_EQ(0, n ? flow_check(&sent, frame, n) : 0);
		nap(1);
	}
	EXPECT_EQ(0, stack_recv(&back, frame));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
	EXPECT_EQ(0, flow_recv(&b->flow));
	EXPECT_EQ(0, flow_recv(&redirected));
}

/* A classic socket on queue 1, whose program passes the packets of queue 0 */
TEST_F_TIMEOUT(xsk_attach, beside_classic_socket, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk classic, tx;
	struct xsk_opts opts;
	struct flow other;
	__u32 queue = 1;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	bed_connect(_metadata, b);
	ASSERT_EQ(0, attach_by_name(b, "xsk_map_or_pass"));
	opts = b->opts;
	opts.attach = false;
	opts.queue = queue;
	ASSERT_EQ(0, xsk_create(&classic, &opts));
	ASSERT_EQ(0, bpf_map_update_elem(bpf_map__fd(b->skel->maps.sockets),
					 &queue, &classic.fd, BPF_ANY));
	flow_open_other(_metadata, b, &other, &tx);
	other.rx = &classic;

	settle(_metadata, b, &other, &b->stack);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	ASSERT_EQ(0, flow_transfer(&other, SOME, true));
	xsk_close(&classic);
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Sockets without the flag are shadowed beside one that has it */
TEST_F_TIMEOUT(xsk_attach, others_stay_shadowed, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk shadowed, tx;
	struct xdp_attach attach;
	struct xsk_opts opts;
	struct flow other;

	opts = b->opts;
	opts.queue = 1;
	bed_pass(b);
	bed_load(_metadata, b, NULL);
	bed_connect(_metadata, b);
	ASSERT_EQ(0, xsk_create(&shadowed, &opts));
	flow_open_other(_metadata, b, &other, &tx);
	other.rx = &shadowed;
	settle(_metadata, b, &other, &b->stack);

	ASSERT_EQ(0, attach_by_name(b, "xsk_pass"));
	expect_shadowed(_metadata, &shadowed, id_of(b->skel->progs.xsk_pass));
	ASSERT_EQ(0, xsk_query(&shadowed, &attach));
	EXPECT_EQ(XDP_ATTACH_R_REGULAR, attach.reason);
	expect_behind(_metadata, b);
	ASSERT_EQ(0, flow_to_stack(&other, &b->stack, SOME));

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, flow_transfer(&other, SOME, true));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A program of the other mode */
TEST_F_TIMEOUT(xsk_attach, behind_other_mode, TIMEOUT)
{
	struct testbed *b = &self->bed;
	__u32 other = variant->skb ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
	struct bpf_program *drop, *pass;
	struct xdp_attach attach;
	int i;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	bed_connect(_metadata, b);
	drop = b->skel->progs.xsk_drop;
	pass = b->skel->progs.xsk_pass;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, regular_attach(drop, other));
		ASSERT_EQ(0, regular_attach(pass, other));
		b->flow.rx = NULL;
		if (variant->zc) {
			/* The driver does not use the pool without a program */
			expect_regular(_metadata, &b->rx, id_of(pass), other);
			ASSERT_EQ(0, xsk_query(&b->rx, &attach));
			EXPECT_EQ(XDP_ATTACH_R_ZC_GENERIC, attach.reason);
			settle(_metadata, b, &b->flow, &b->stack);
			ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
		} else {
			expect_passed(_metadata, &b->rx, id_of(pass), other);
			b->flow.rx = &b->rx;
			expect_behind(_metadata, b);
			ASSERT_EQ(0, regular_attach(drop, other));
			ASSERT_EQ(0, flow_to_program(&b->flow,
						     &b->skel->bss->seen,
						     SOME));
		}
		b->flow.rx = &b->rx;
		ASSERT_EQ(0, regular_detach(other));
		expect_active(_metadata, &b->rx);
		settle(_metadata, b, &b->flow, &b->stack);
		ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	}
}

TEST_F_TIMEOUT(xsk_attach, multi_buffer_behind, TIMEOUT)
{
	struct testbed *b = &self->bed;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	b->opts.bind_flags |= XDP_USE_SG;
	if (!bed_connect_jumbo(_metadata, b))
		SKIP(return, "no zero-copy of such frames");

	ASSERT_EQ(0, attach_by_name(b, "xsk_pass_sg"));
	expect_behind(_metadata, b);
	/* Without support of multi-buffer packets: as without the socket */
	if (variant->skb) {
		ASSERT_EQ(0, attach_by_name(b, "xsk_pass"));
		expect_behind(_metadata, b);
	} else if (!variant->zc) {
		EXPECT_EQ(-ERANGE, attach_by_name(b, "xsk_pass"));
		expect_behind(_metadata, b);
	}
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A program that was loaded for the device, because it reads metadata */
TEST_F_TIMEOUT(xsk_attach, behind_device_bound, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_program *prog;
	__u32 metadata;

	if (variant->skb || variant->zc)
		SKIP(return, "no metadata");

	b->skel = xsk_test_progs__open();
	ASSERT_NE(NULL, b->skel);
	prog = b->skel->progs.xsk_metadata;
	bpf_program__set_autoload(prog, true);
	bpf_program__set_ifindex(prog, rx_ifindex());
	ASSERT_EQ(0, bpf_program__set_flags(prog, BPF_F_XDP_DEV_BOUND_ONLY));
	ASSERT_EQ(0, xsk_test_progs__load(b->skel));

	bed_pass(b);
	bed_connect(_metadata, b);
	ASSERT_EQ(0, regular_attach(prog, b->xdp_flags));
	expect_passed(_metadata, &b->rx, id_of(prog), b->xdp_flags);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, false));
	memcpy(&metadata, b->rx.umem->area + b->rx.last - sizeof(metadata),
	       sizeof(metadata));
	EXPECT_EQ(METADATA, metadata);
}

/* All packets that are sent reach the socket */
static int pump(struct testbed *b, struct traffic *t, __u32 frames)
{
	int err = flow_wait(&b->flow, b->flow.received + frames);

	__atomic_store_n(&t->accounted, b->flow.received, __ATOMIC_RELEASE);
	return err;
}

/* No packet is lost while programs are attached, replaced and detached */
TEST_F_TIMEOUT(xsk_attach, loses_nothing_in_swaps, TIMEOUT)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	struct xdp_statistics stats;
	struct testbed *b = &self->bed;
	struct traffic traffic = {};
	char frame[FRAME_MAX];
	int pass, sg, link, i;

	bed_pass(b);
	bed_load(_metadata, b, NULL);
	bed_connect(_metadata, b);
	opts.flags = b->xdp_flags;
	pass = bpf_program__fd(b->skel->progs.xsk_pass);
	sg = bpf_program__fd(b->skel->progs.xsk_pass_sg);
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));

	for (i = 0; i < SWAPS / 6; i++) {
		ASSERT_EQ(0, attach_by_name(b, "xsk_pass"));
		ASSERT_EQ(0, pump(b, &traffic, 8));
		ASSERT_EQ(0, attach_by_name(b, "xsk_map_or_pass"));
		ASSERT_EQ(0, pump(b, &traffic, 8));
		ASSERT_EQ(0, attach_by_name(b, "xsk_pass_sg"));
		ASSERT_EQ(0, pump(b, &traffic, 8));
		ASSERT_EQ(0, regular_detach(b->xdp_flags));
		ASSERT_EQ(0, pump(b, &traffic, 8));

		link = bpf_link_create(sg, rx_ifindex(), BPF_XDP, &opts);
		ASSERT_LE(0, link);
		ASSERT_EQ(0, pump(b, &traffic, 8));
		ASSERT_EQ(0, bpf_link_update(link, pass, NULL));
		ASSERT_EQ(0, pump(b, &traffic, 8));
		close(link);
		ASSERT_EQ(0, pump(b, &traffic, 8));
	}

	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_wait(&b->flow, b->flow.sent));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(0, stats.rx_dropped);
	EXPECT_EQ(0, stats.rx_ring_full);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* No packet reaches the socket while programs drop all */
TEST_F_TIMEOUT(xsk_attach, never_unfiltered, TIMEOUT)
{
	static const char * const progs[] = {
		"xsk_drop", "xsk_drop_sg", "xsk_drop",
	};
	struct testbed *b = &self->bed;
	struct traffic traffic = {};
	char frame[FRAME_MAX];
	struct xsk_opts opts;
	struct xsk again;
	__u64 seen;
	int i;

	bed_pass(b);
	opts = b->opts;
	opts.queue = 1;
	bed_load(_metadata, b, NULL);
	bed_sender(_metadata, b);
	ASSERT_EQ(0, attach_by_name(b, "xsk_pass"));
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, attach_by_name(b, "xsk_drop"));
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	traffic.lossy = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));

	for (i = 0; i < 4 * SWAPS; i++) {
		ASSERT_EQ(0, attach_by_name(b, progs[i % ARRAY_SIZE(progs)]));
		__atomic_store_n(&traffic.accounted, flow_sent(&b->flow),
				 __ATOMIC_RELEASE);
		ASSERT_EQ(0, flow_recv(&b->flow));
		if (i % SWAPS)
			continue;
		/* Another socket with the flag comes and goes */
		ASSERT_EQ(0, xsk_create(&again, &opts));
		xsk_close(&again);
		ASSERT_EQ(0, queue_settle(RX_DEV, 1));
	}

	ASSERT_EQ(0, traffic_stop(&traffic));
	/* Packets may be in flight, or wait for a busy poll */
	do {
		seen = counter_read(&b->skel->bss->seen);
		xsk_drive(&b->rx, 10);
		nap(200);
	} while (seen != counter_read(&b->skel->bss->seen));
	EXPECT_LT(0, seen);
	EXPECT_EQ(0, flow_recv(&b->flow));
	b->flow.next = b->flow.sent;
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
