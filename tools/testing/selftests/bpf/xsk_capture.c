// SPDX-License-Identifier: GPL-2.0
/* The device feature xsk-capture: packet sockets see the packets of AF_XDP sockets */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <sys/wait.h>

#include "xsk_attach_modes.h"

#define TOGGLES		40
#define USER_TOGGLES	300
#define ROUNDS		24

static bool captures(const char *dev)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "ethtool -k %s | grep -q '^xsk-capture: on'",
		 dev);
	return !system(cmd);
}

/* Return: as stack_recv(); PACKET_* in @type */
static int listener_recv(const struct stack *s, void *frame, int *type)
{
	const struct ethhdr *eth = frame;
	struct sockaddr_ll from = {};
	socklen_t size = sizeof(from);
	ssize_t len;

	do
		len = recvfrom(s->fd, frame, FRAME_MAX, MSG_DONTWAIT,
			       (struct sockaddr *)&from, &size);
	while (len > 0 && eth->h_proto != htons(FRAME_ETHERTYPE) &&
	       eth->h_proto != htons(ETH_P_IP));
	*type = from.sll_pkttype;
	return len < 0 ? 0 : len;
}

/*
 * Receive what a listener has. A packet is there before its AF_XDP socket
 * receives it, or sendto() returns.
 * Return: number of packets of @seen; negative if one is wrong
 */
static int listener_check(const struct stack *s, struct flow *seen, int type)
{
	char frame[FRAME_MAX];
	int got, len, err, n;

	for (n = 0; (len = listener_recv(s, frame, &got)); n++) {
		if (got != type)
			return complain(-EPROTOTYPE, "type %d, not %d", got,
					type);
		err = flow_check(seen, frame, len);
		if (err)
			return err;
	}
	return n;
}

/* The listener has the @frames packets that @f has sent last, and no others */
static void expect_captured(struct __test_metadata *_metadata,
			    const struct flow *f, const struct stack *s,
			    int type, __u32 frames)
{
	struct flow seen = *f;
	struct tpacket_stats stats;
	socklen_t size = sizeof(stats);

	seen.gaps = false;
	seen.next = f->sent - frames;
	EXPECT_EQ(frames, listener_check(s, &seen, type));
	ASSERT_EQ(0, getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &stats,
				&size));
	EXPECT_EQ(0, stats.tp_drops);
}

static void expect_transfer(struct __test_metadata *_metadata,
			    struct testbed *b, __u32 frames, __u32 captured)
{
	ASSERT_EQ(0, flow_transfer(&b->flow, frames, true));
	expect_captured(_metadata, &b->flow, &b->stack, PACKET_BROADCAST,
			captured);
}

/* Packets of tests before, and of flow_settle() */
static void listener_drain(const struct stack *s)
{
	char frame[FRAME_MAX];
	int type;

	while (listener_recv(s, frame, &type))
		;
}

TEST_F_TIMEOUT(xsk_attach, captures_received, TIMEOUT)
{
	struct testbed *b = &self->bed;

	bed_connect(_metadata, b);
	listener_drain(&b->stack);
	EXPECT_FALSE(captures(RX_DEV));
	expect_transfer(_metadata, b, SOME, 0);

	ASSERT_EQ(0, dev_capture(RX_DEV, true));
	expect_active(_metadata, &b->rx);
	expect_transfer(_metadata, b, SOME, SOME);
	expect_transfer(_metadata, b, 10 * SOME, 10 * SOME);

	ASSERT_EQ(0, dev_capture(RX_DEV, false));
	expect_transfer(_metadata, b, SOME, 0);
	ASSERT_EQ(0, dev_capture(RX_DEV, true));
	expect_transfer(_metadata, b, SOME, SOME);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* A Tx socket on RX_DEV, whose packets reach the stack of TX_DEV. Return: false
 * if the driver has no zero-copy for multi-buffer packets
 */
static bool sender_open(struct __test_metadata *_metadata, struct testbed *b,
			struct flow *f, struct xsk *tx, struct stack *far)
{
	struct xsk_opts opts = b->opts;
	int err;

	opts.no_rx = true;
	opts.tx = true;
	ASSERT_EQ(0, xsk_open(tx, &opts));
	err = xsk_bind(tx);
	if (b->zc && opts.bind_flags & XDP_USE_SG &&
	    (err == -EINVAL || err == -EOPNOTSUPP))
		return false;
	ASSERT_EQ(0, err);
	memset(f, 0, sizeof(*f));
	f->tx = tx;
	f->max_len = opts.bind_flags & XDP_USE_SG ? JUMBO_LEN : FRAME_LEN;
	settle(_metadata, b, f, far);
	return true;
}

/* Packets arrive in any case, and are captured if the feature is on */
static void expect_sent(struct __test_metadata *_metadata, struct testbed *b,
			struct flow *f, struct stack *far)
{
	int on;

	for (on = 1; on >= 0; on--) {
		listener_drain(&b->stack);
		ASSERT_EQ(0, dev_capture(RX_DEV, on));
		ASSERT_EQ(0, flow_to_stack(f, far, SOME));
		expect_captured(_metadata, f, &b->stack, PACKET_OUTGOING,
				on * SOME);
	}
}

TEST_F_TIMEOUT(xsk_attach, captures_sent, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct stack far;
	struct flow f;
	struct xsk tx;
	int inorder;

	ASSERT_EQ(0, stack_open(&far, TX_DEV));
	for (inorder = 0; inorder < 2; inorder++) {
		b->opts.inorder = inorder;
		b->opts.no_comp = inorder;
		ASSERT_TRUE(sender_open(_metadata, b, &f, &tx, &far));
		expect_sent(_metadata, b, &f, &far);
		xsk_close(&tx);
		ASSERT_EQ(0, queue_settle(RX_DEV, b->opts.queue));
	}
}

TEST_F_TIMEOUT(xsk_attach, captures_multi_buffer, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct stack far;
	struct flow f;
	struct xsk tx;

	b->opts.bind_flags |= XDP_USE_SG;
	if (!bed_connect_jumbo(_metadata, b))
		SKIP(return, "no zero-copy of such frames");
	listener_drain(&b->stack);
	ASSERT_EQ(0, dev_capture(RX_DEV, true));
	expect_transfer(_metadata, b, SOME, SOME);
	ASSERT_EQ(0, flow_drain(&b->flow));
	bed_close_rx(_metadata, b);

	ASSERT_EQ(0, stack_open(&far, TX_DEV));
	ASSERT_TRUE(sender_open(_metadata, b, &f, &tx, &far));
	expect_sent(_metadata, b, &f, &far);
}

/* Packets that a program redirects to a socket, or passes to one or to the stack */
TEST_F_TIMEOUT(xsk_attach, captures_behind_programs, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk_test_progs *skel;
	__u32 queue = 0;

	bed_load(_metadata, b, NULL);
	skel = b->skel;
	b->opts.attach_flags |= XDP_ATTACH_F_PASS;
	bed_connect(_metadata, b);
	ASSERT_EQ(0, bpf_map_update_elem(bpf_map__fd(skel->maps.sockets),
					 &queue, &b->rx.fd, BPF_ANY));
	listener_drain(&b->stack);
	ASSERT_EQ(0, dev_capture(RX_DEV, true));

	ASSERT_EQ(0, regular_attach(skel->progs.xsk_map, b->xdp_flags));
	expect_transfer(_metadata, b, SOME, SOME);
	ASSERT_EQ(0, regular_attach(skel->progs.xsk_pass, b->xdp_flags));
	expect_transfer(_metadata, b, SOME, SOME);
	ASSERT_EQ(0, flow_drain(&b->flow));

	bed_close_rx(_metadata, b);
	settle(_metadata, b, &b->flow, &b->stack);
	listener_drain(&b->stack);
	/* Once: each one is in order, and none is left */
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));
	expect_captured(_metadata, &b->flow, &b->stack, PACKET_BROADCAST, 0);
}

/* Each packet that is captured is whole and in order, and none is lost */
TEST_F_TIMEOUT(xsk_attach, captures_under_traffic, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct traffic traffic = {};
	struct flow seen;
	int n, i, total = 0;

	bed_connect(_metadata, b);
	listener_drain(&b->stack);
	seen = b->flow;
	seen.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	for (i = 1; i <= TOGGLES; i++) {
		ASSERT_EQ(0, dev_capture(RX_DEV, i % 2));
		ASSERT_EQ(0, flow_wait(&b->flow, b->flow.received + 8));
		__atomic_store_n(&traffic.accounted, b->flow.received,
				 __ATOMIC_RELEASE);
		n = listener_check(&b->stack, &seen, PACKET_BROADCAST);
		ASSERT_LE(0, n);
		total += n;
	}
	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_wait(&b->flow, b->flow.sent));
	EXPECT_LE(TOGGLES / 2 * 8, total);
	EXPECT_GE(b->flow.sent, total);

	listener_drain(&b->stack);
	expect_transfer(_metadata, b, SOME, 0);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/*
 * struct scribbler - a thread that writes to the entries of an Rx ring and to
 * the packets all the time
 */
struct scribbler {
	struct xsk *x;
	pthread_t thread;
	bool stop;
};

static void *scribble(void *arg)
{
	static const __u64 addrs[] = {
		0, CHUNK - 1, CHUNKS * CHUNK - 1, CHUNKS * CHUNK, 1ULL << 32,
		1ULL << 47, 1ULL << 63, ~0ULL, ~0ULL - CHUNK, 0xffff000000000000,
	};
	static const __u32 lens[] = {
		0, 1, 13, 14, 60, CHUNK, CHUNK + 1, CHUNKS * CHUNK, ~0U,
	};
	struct scribbler *s = arg;
	struct ring *rx = &s->x->rx;
	struct xdp_desc *desc = rx->descs;
	unsigned int seed = 1;
	int r;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		r = rand_r(&seed);
		desc = (struct xdp_desc *)rx->descs + r % rx->size;
		desc->addr = addrs[r / 7 % ARRAY_SIZE(addrs)];
		desc->len = lens[r / 3 % ARRAY_SIZE(lens)];
		desc->options = r & 1 ? XDP_PKT_CONTD : r;
		s->x->umem->area[r % (CHUNKS * CHUNK)] = r;
	}
	return NULL;
}

/* Refill without the entries, which are not valid */
static void recycle_blindly(struct xsk *x)
{
	__u32 n = load_acquire(x->rx.producer) - *x->rx.consumer;

	store_release(x->rx.consumer, *x->rx.consumer + n);
	store_release(x->fill.producer, *x->fill.producer + n);
}

/* The listener may get anything from the umem, but nothing else happens */
TEST_F_TIMEOUT(xsk_attach, survives_scribbling, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct scribbler s = { .x = &b->rx };
	int i;

	bed_connect(_metadata, b);
	ASSERT_EQ(0, dev_capture(RX_DEV, true));
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, scribble, &s));
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, flow_send(&b->flow, SOME));
		xsk_drive(&b->rx, 10);
		recycle_blindly(&b->rx);
		listener_drain(&b->stack);
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
	pthread_join(s.thread, NULL);
	bed_close_rx(_metadata, b);
	xsk_close(&b->tx);

	bed_connect(_metadata, b);
	listener_drain(&b->stack);
	expect_transfer(_metadata, b, SOME, SOME);
}

/* All devices of the own network namespace, and none of another one */
TEST_F_TIMEOUT(xsk_attach, listeners_of_other_netns, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct stack all;
	struct helper h;
	char frame[FRAME_MAX];
	int status, type;

	stack_close(&b->stack);
	ASSERT_LE(0, helper_fork(&h));
	if (!h.pid) {
		if (unshare(CLONE_NEWNET) || stack_open(&all, "") ||
		    !helper_tell(h.from) || !helper_wait(h.to))
			_exit(2);
		_exit(listener_recv(&all, frame, &type) ? 1 : 0);
	}
	ASSERT_TRUE(helper_wait(h.from));
	bed_connect(_metadata, b);
	ASSERT_EQ(0, dev_capture(RX_DEV, true));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, stack_open(&b->stack, ""));
	expect_transfer(_metadata, b, SOME, SOME);
	ASSERT_TRUE(helper_tell(h.to));
	ASSERT_EQ(h.pid, waitpid(h.pid, &status, 0));
	EXPECT_EQ(0, status);
}

FIXTURE(xsk_capture)
{
};

FIXTURE_SETUP(xsk_capture)
{
	struct veth_opts veth = {};

	ASSERT_EQ(0, netns_enter());
	ASSERT_EQ(0, veth_create(&veth));
}

FIXTURE_TEARDOWN(xsk_capture)
{
}

/* The feature concerns one device, whatever its upper and lower ones have */
TEST_F(xsk_capture, does_not_spread)
{
	ASSERT_EQ(0, run("ip link add link %s name xa_vlan type vlan id 5",
			 RX_DEV));
	ASSERT_EQ(0, run("ip link set " TX_DEV " down"));
	ASSERT_EQ(0, run("ip link add xa_bond type bond"));
	ASSERT_EQ(0, run("ip link set " TX_DEV " master xa_bond"));

	ASSERT_EQ(0, dev_capture(RX_DEV, true));
	EXPECT_TRUE(captures(RX_DEV));
	EXPECT_FALSE(captures("xa_vlan"));
	ASSERT_EQ(0, dev_capture("xa_vlan", true));
	ASSERT_EQ(0, dev_capture("xa_bond", true));
	ASSERT_EQ(0, dev_capture(RX_DEV, false));
	EXPECT_TRUE(captures("xa_vlan"));
	EXPECT_FALSE(captures(RX_DEV));
	EXPECT_FALSE(captures(TX_DEV));

	ASSERT_EQ(0, dev_capture(TX_DEV, true));
	ASSERT_EQ(0, dev_capture("xa_bond", false));
	EXPECT_TRUE(captures(TX_DEV));
	/* Those that are on are deleted with the network namespace */
	ASSERT_EQ(0, run("ip link del xa_vlan"));
}

/* An unprivileged user switches it on own devices only, as often as he likes */
TEST_F(xsk_capture, of_unprivileged_user)
{
	struct helper h;
	int i, status;

	ASSERT_LE(0, helper_fork(&h));
	if (!h.pid) {
		if (!become_nobody() || dev_capture(RX_DEV, true) != -EPERM)
			_exit(1);
		if (!root_of_new_user_ns() ||
		    run("ip link add xa_a type veth peer name xa_b"))
			_exit(2);
		for (i = 1; i <= USER_TOGGLES; i++) {
			if (dev_capture(i % 2 ? "xa_a" : "xa_b", i % 4 > 1))
				_exit(3);
		}
		_exit(0);
	}
	ASSERT_EQ(h.pid, waitpid(h.pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_FALSE(captures(RX_DEV));
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
