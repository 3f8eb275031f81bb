// SPDX-License-Identifier: GPL-2.0
/* XDP_ATTACH: delivery to attached sockets */
#define _GNU_SOURCE
#include "xsk_attach_modes.h"
#include "xsk_fastpath.h"

/* Programs loaded before the tests */
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

/* Programs are freed some time after the exit of their process */
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

/*
 * All packets are received in order and unmodified. The built-in is the only
 * program that is loaded. It stays loaded for the next socket.
 */
TEST_F_TIMEOUT(xsk_attach, delivers_without_program_and_map, TIMEOUT)
{
	struct bpf_census before, now;
	struct testbed *b = &self->bed;
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

/* XDP_ATTACH_F_OFF gives the queue back to the stack, without close() */
TEST_F_TIMEOUT(xsk_attach, detached_while_bound, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xdp_attach attach;

	bed_connect(_metadata, b);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_DETACHED, attach.state);
	/* The driver has the umem, and needs a program for that */
	if (!b->zc)
		expect_no_prog(_metadata, RX_DEV);
	b->flow.rx = NULL;
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
	EXPECT_EQ(0, xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	EXPECT_EQ(-EBUSY, xsk_fastpath__attach(b->rx.fd, 0));

	bed_close_rx(_metadata, b);
	expect_no_prog(_metadata, RX_DEV);
}

/* Another socket of the queue takes the place of a detached one */
TEST_F_TIMEOUT(xsk_attach, attached_after_detached, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk first;

	b->opts.chunks = CHUNKS / 2;
	ASSERT_EQ(0, xsk_create(&first, &b->opts));
	ASSERT_EQ(0, xsk_fastpath__attach(first.fd, XDP_ATTACH_F_OFF));

	b->opts.share = &first;
	b->opts.share_rings = true;
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	EXPECT_EQ(0, xsk_fastpath__attach(first.fd, XDP_ATTACH_F_OFF));
	expect_active(_metadata, &b->rx);

	close(first.fd);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Packets of a queue without a socket go to the stack */
TEST_F_TIMEOUT(xsk_attach, other_queue_passes, TIMEOUT)
{
	struct testbed *b = &self->bed;
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

/* Packets of up to three chunks are delivered to a socket with XDP_USE_SG */
TEST_F_TIMEOUT(xsk_attach, multi_buffer, TIMEOUT)
{
	struct testbed *b = &self->bed;

	b->opts.bind_flags |= XDP_USE_SG;
	if (!bed_connect_jumbo(_metadata, b))
		SKIP(return, "no zero-copy of such frames");
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, many(), true));
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A socket without XDP_USE_SG drops and counts multi-buffer packets */
TEST_F_TIMEOUT(xsk_attach, oversize_is_dropped, TIMEOUT)
{
	struct xdp_statistics stats;
	struct testbed *b = &self->bed;
	__u32 rounds = 4;

	if (!bed_connect_jumbo(_metadata, b))
		SKIP(return, "no zero-copy of such frames");
	b->flow.gaps = true;
	/* The last four lengths of each round take more than one chunk */
	ASSERT_EQ(0, flow_send(&b->flow, rounds * FRAME_LENS + 1));
	ASSERT_EQ(0, flow_wait(&b->flow, rounds * (FRAME_LENS - 4) + 1));
	EXPECT_EQ(b->flow.sent, b->flow.next);
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(rounds * 4, stats.rx_dropped);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* Sockets on two queues that share a umem receive from their own queue */
TEST_F_TIMEOUT(xsk_attach, shared_umem_on_two_queues, TIMEOUT)
{
	struct testbed *b = &self->bed;
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
	/* The sequence numbers tell which flow a packet belongs to */
	other.sent = 1000000;
	other.next = other.sent;
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, flow_transfer(&b->flow, many() / 8, true));
		ASSERT_EQ(0, flow_transfer(&other, many() / 8, true));
	}
	ASSERT_EQ(0, flow_drain(&b->flow));
	ASSERT_EQ(0, flow_drain(&other));

	/* The owner of the umem may be closed first */
	close(b->rx.fd);
	expect_active(_metadata, &rx);
	ASSERT_EQ(0, flow_transfer(&other, SOME, true));
}

/* A second socket on the rings of the same queue can bind, but not attach */
TEST_F_TIMEOUT(xsk_attach, one_attached_socket_per_queue, TIMEOUT)
{
	struct testbed *b = &self->bed;
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

/* Send each received packet back from the same socket */
static int echo(struct testbed *b, struct stack *back, __u32 frames)
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
			return complain(-ENOSPC, "Tx ring full");
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

/* An attached socket with need_wakeup sends, and all packets complete */
TEST_F_TIMEOUT(xsk_attach, echo_with_need_wakeup, TIMEOUT)
{
	struct testbed *b = &self->bed;
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

/* A socket without an Rx ring runs the built-in, but does not occupy the queue */
TEST_F_TIMEOUT(xsk_attach, tx_only_takes_no_queue, TIMEOUT)
{
	struct flow out = { .max_len = FRAME_LEN };
	struct testbed *b = &self->bed;
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

/* A full Rx ring or an empty fill ring drops packets, but leaks no chunk */
TEST_F_TIMEOUT(xsk_attach, overflow_leaks_nothing, TIMEOUT)
{
	struct xdp_statistics stats;
	struct testbed *b = &self->bed;
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

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
