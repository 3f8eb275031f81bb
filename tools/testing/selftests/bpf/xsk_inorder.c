// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_TX_INORDER: the consumer index of the Tx ring advances on completion, in
 * order, once per entry.
 *
 * By default: copy mode on a veth pair, in a network namespace per test; a
 * socket receives in generic or native mode. A VLAN device on the pair, above a
 * queueing discipline with one band per priority, delays and reorders packets.
 *
 * With XSK_INORDER_TX and XSK_INORDER_RX: zero-copy mode on these two
 * interfaces, ports that receive each other's packets (copy mode with
 * XSK_INORDER_COPY). They have two queues. XSK_INORDER_HOLD and
 * XSK_INORDER_RELEASE are commands that stop and restart completion,
 * XSK_INORDER_REMOVE one that removes the first interface. XSK_INORDER_FRAMES
 * is the number of packets of the longer tests.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "xsk_test.h"
#include "xsk_fastpath.h"

/* A device above TX_DEV: its packets pass the queueing discipline of TX_DEV */
#define UPPER		"xa_vlan"
#define BANDS		3
#define SMALL		64
#define BAD_ADDR	0x10000000000ULL
/* More than the maximum of an skb, and of a driver */
#define FRAGS_MANY	24
/* Time in which an index that must not advance would have advanced */
#define HOLD_MS	100

/*
 * struct tx_testbed - packets from an in-order socket to an attached one
 * @device: interfaces of the environment, else a veth pair
 * @opts: of the in-order socket
 * @rx: attached socket that receives the packets of @tx
 */
struct tx_testbed {
	bool device;
	struct xsk_opts opts;
	struct xsk rx, tx;
	struct flow flow;
};

static __u32 many(void)
{
	return env_frames("XSK_INORDER_FRAMES");
}

/* Transmit until the consumer index reaches @index */
static int reaches(struct xsk *x, __u32 index)
{
	long long deadline = now_ms() + STALL_MS;
	int err = 0;

	while (!err && load_acquire(x->tx.consumer) != index) {
		if (now_ms() > deadline)
			return complain(-ETIMEDOUT, "index is %u, not %u",
					load_acquire(x->tx.consumer), index);
		err = xsk_kick(x);
		nap(1);
	}
	return err;
}

/* The consumer index reaches @index and does not advance any further */
static int stays(struct xsk *x, __u32 index)
{
	int err = reaches(x, index);
	int ms;

	for (ms = 0; !err && ms < HOLD_MS; ms += 10) {
		err = xsk_kick(x);
		nap(10);
	}
	if (!err && load_acquire(x->tx.consumer) != index)
		err = complain(-EBUSY, "index advanced to %u from %u",
			       load_acquire(x->tx.consumer), index);
	return err;
}

static int all_done(struct xsk *x)
{
	int err = reaches(x, load_acquire(x->tx.producer));

	return err ?: xsk_reap(x) < 0 ? -EIO : 0;
}

static int receive_all(struct flow *f)
{
	return flow_reach(f, f->sent);
}

static int invalid_descs(struct xsk *x)
{
	struct xdp_statistics stats;

	return xsk_stats(x, &stats) ? -1 : stats.tx_invalid_descs;
}

static short writable(struct xsk *x)
{
	struct pollfd pfd = { .fd = x->fd, .events = POLLOUT };

	return poll(&pfd, 1, 0) == 1 ? pfd.revents : 0;
}

/* An interface of the environment may have no link yet */
static void device_up(struct __test_metadata *_metadata, const char *dev)
{
	ASSERT_EQ(0, run("ip link set %s up", dev));
	ASSERT_EQ(0, run("timeout 20 sh -c '%s ip link show %s | %s'", "until",
			 dev, "grep -q LOWER_UP; do sleep 0.1; done"));
}

static void bed_make(struct __test_metadata *_metadata, struct tx_testbed *b,
		     __u32 mtu)
{
	struct veth_opts veth = { .mtu = mtu };

	b->device = getenv("XSK_INORDER_TX");
	b->opts = (struct xsk_opts){
		.dev = b->device ? getenv("XSK_INORDER_TX") : TX_DEV,
		.no_rx = true,
		.tx = true,
		.inorder = true,
		.no_comp = true,
		.bind_flags = XDP_COPY | XDP_USE_SG,
	};
	if (!b->device) {
		ASSERT_EQ(0, netns_enter());
		ASSERT_EQ(0, veth_create(&veth));
		return;
	}
	if (!getenv("XSK_INORDER_COPY")) {
		/* Some drivers have zero-copy Tx only with a program */
		b->opts.attach = true;
		b->opts.bind_flags = XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP;
	}
	device_up(_metadata, b->opts.dev);
	device_up(_metadata, getenv("XSK_INORDER_RX"));
}

static void bed_receiver(struct __test_metadata *_metadata, struct tx_testbed *b,
			 bool skb, __u16 bind_flags)
{
	struct xsk_opts opts = {
		.dev = b->device ? getenv("XSK_INORDER_RX") : RX_DEV,
		.attach = true,
		.attach_flags = skb ? XDP_ATTACH_F_SKB_MODE : 0,
		.bind_flags = bind_flags,
	};

	/* The Tx queue whose packets arrive on Rx queue 0 */
	b->opts.queue = skb;
	ASSERT_EQ(0, xsk_create(&b->rx, &opts));
	b->flow = (struct flow){ .tx = &b->tx, .rx = &b->rx,
				 .max_len = FRAME_LEN };
}

static void bed_sender(struct __test_metadata *_metadata, struct tx_testbed *b)
{
	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
}

/* With multi-buffer packets. Return: false if the driver does not support them */
static bool bed_sender_sg(struct __test_metadata *_metadata, struct tx_testbed *b)
{
	int err;

	b->opts.bind_flags |= XDP_USE_SG;
	ASSERT_EQ(0, xsk_open(&b->tx, &b->opts));
	err = xsk_bind(&b->tx);
	if (err != -EOPNOTSUPP)
		ASSERT_EQ(0, err);
	return !err;
}

static int band_qdisc(int band, const char *verb, const char *what)
{
	return run("tc qdisc %s dev %s parent 1:%d handle 1%d: plug %s", verb,
		   TX_DEV, band + 1, band + 1, what);
}

static int release_band(int band)
{
	return band_qdisc(band, "change", "release_indefinite");
}

/* Only Tx, to a device whose queueing discipline holds the packets */
static void bed_held(struct __test_metadata *_metadata, struct tx_testbed *b)
{
	int band;

	b->flow = (struct flow){ .tx = &b->tx, .max_len = FRAME_LEN };
	ASSERT_EQ(0, run("ip link add link " TX_DEV " name " UPPER
			 " numtxqueues 2 numrxqueues 2 type vlan id 5"));
	ASSERT_EQ(0, run("ip link set " UPPER " up"));
	ASSERT_EQ(0, run("tc qdisc add dev %s root handle 1: prio bands 3 priomap 0 1 2 %s",
			 TX_DEV, "0 0 0 0 0 0 0 0 0 0 0 0 0"));
	for (band = 0; band < BANDS; band++) {
		ASSERT_EQ(0, band_qdisc(band, "add", "limit 10000000"));
		ASSERT_EQ(0, band_qdisc(band, "change", "block"));
	}
	b->opts.dev = UPPER;
}

/* Send the next packets to a band, by their priority */
static int send_band(struct flow *f, int band, __u32 frames)
{
	int err;

	if (setsockopt(f->tx->fd, SOL_SOCKET, SO_PRIORITY, &band, sizeof(band)))
		return -errno;
	err = flow_put(f, frames);
	return err ?: xsk_kick(f->tx);
}

static int hold(struct tx_testbed *b)
{
	return b->device ? run("%s", getenv("XSK_INORDER_HOLD")) : 0;
}

static int release(struct tx_testbed *b)
{
	int err = 0, band;

	if (b->device)
		return run("%s", getenv("XSK_INORDER_RELEASE"));
	for (band = 0; band < BANDS; band++)
		err = err ?: release_band(band);
	return err;
}

/* Options and errors of bind() */

static int set_inorder(int fd, __u32 value, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, XDP_TX_INORDER, &value, len) ? -errno :
								      0;
}

static int get_inorder(int fd)
{
	__u32 value = 7;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, SOL_XDP, XDP_TX_INORDER, &value, &len))
		return -errno;
	return len == sizeof(value) ? value : -EMSGSIZE;
}

TEST(option)
{
	int fd = socket(AF_XDP, SOCK_RAW, 0);
	socklen_t len = 2;
	__u64 features;
	__u32 value;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, xsk_fastpath__features(fd, &features));
	EXPECT_TRUE(features & XDP_FASTPATH_F_INORDER);

	EXPECT_EQ(0, get_inorder(fd));
	EXPECT_EQ(0, xsk_fastpath__tx_inorder(fd, true));
	EXPECT_EQ(1, get_inorder(fd));
	EXPECT_EQ(-EINVAL, set_inorder(fd, 2, sizeof(value)));
	EXPECT_EQ(-EINVAL, set_inorder(fd, -1, sizeof(value)));
	EXPECT_EQ(-EINVAL, set_inorder(fd, 0, 0));
	EXPECT_EQ(-EINVAL, set_inorder(fd, 0, 3));
	EXPECT_EQ(-EINVAL, set_inorder(fd, 0, 8));
	EXPECT_EQ(-1, setsockopt(fd, SOL_XDP, XDP_TX_INORDER, NULL, 4));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, getsockopt(fd, SOL_XDP, XDP_TX_INORDER, &value, &len));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, get_inorder(fd));
	EXPECT_EQ(0, xsk_fastpath__tx_inorder(fd, false));
	EXPECT_EQ(0, get_inorder(fd));
}

FIXTURE(bind)
{
	struct tx_testbed bed;
};

FIXTURE_SETUP(bind)
{
	bed_make(_metadata, &self->bed, 0);
}

FIXTURE_TEARDOWN(bind)
{
}

/* Open and bind, with a shared umem if @share is not NULL */
static int bind_like(struct xsk *x, struct xsk_opts opts, struct xsk *share,
		     __u32 queue)
{
	int err;

	opts.queue = queue;
	opts.share = share;
	opts.share_rings = share && share->opts.queue == queue;
	if (share)
		opts.bind_flags = 0;
	opts.chunks = CHUNKS / 4;
	err = xsk_open(x, &opts);
	return err ?: xsk_bind(x);
}

TEST_F(bind, is_final)
{
	struct xsk x;

	ASSERT_EQ(0, bind_like(&x, self->bed.opts, NULL, 0));
	EXPECT_EQ(-EBUSY, set_inorder(x.fd, 0, sizeof(__u32)));
	EXPECT_EQ(-EBUSY, set_inorder(x.fd, 1, sizeof(__u32)));
	EXPECT_EQ(1, get_inorder(x.fd));
}

/* Only an in-order queue needs no completion ring; bind() can be repeated */
TEST_F(bind, needs_no_completion_ring)
{
	struct xsk x;

	ASSERT_EQ(0, bind_like(&x, self->bed.opts, NULL, 0));
	xsk_close(&x);

	ASSERT_EQ(-EINVAL, bind_like(&x, self->bed.opts, NULL, QUEUES + 5));
	x.opts.queue = 1;
	ASSERT_EQ(0, set_inorder(x.fd, 0, sizeof(__u32)));
	EXPECT_EQ(-EINVAL, xsk_bind(&x));
	ASSERT_EQ(0, set_inorder(x.fd, 1, sizeof(__u32)));
	EXPECT_EQ(0, xsk_bind(&x));
}

/* The first socket sets the completion mode of a queue; queues may differ */
TEST_F(bind, one_mode_per_queue)
{
	struct xsk_opts inorder = self->bed.opts, classic = inorder;
	struct xsk first, other, wrong, right, rx_only;

	classic.inorder = false;
	classic.no_comp = false;
	ASSERT_EQ(0, bind_like(&first, inorder, NULL, 0));
	EXPECT_EQ(-EPROTOTYPE, bind_like(&wrong, classic, &first, 0));
	EXPECT_EQ(0, bind_like(&other, classic, &first, 1));
	EXPECT_EQ(-EPROTOTYPE, bind_like(&wrong, inorder, &other, 1));
	EXPECT_EQ(0, bind_like(&right, inorder, &first, 0));
	/* A socket without Tx fits both modes */
	classic.tx = false;
	classic.no_rx = false;
	EXPECT_EQ(0, bind_like(&rx_only, classic, &first, 0));
	/* The first socket of another queue without in-order needs the ring */
	classic.tx = true;
	classic.no_comp = true;
	EXPECT_EQ(-EINVAL, bind_like(&wrong, classic, &first, 2));
}

/* A socket without Tx can set the mode, too */
TEST_F(bind, mode_set_without_tx)
{
	struct xsk_opts inorder = self->bed.opts, classic = inorder;
	struct xsk rx_only, tx;

	inorder.tx = false;
	inorder.no_rx = false;
	classic.inorder = false;
	ASSERT_EQ(0, bind_like(&rx_only, inorder, NULL, 0));
	EXPECT_EQ(-EPROTOTYPE, bind_like(&tx, classic, &rx_only, 0));
	EXPECT_EQ(0, bind_like(&tx, self->bed.opts, &rx_only, 0));
}

/* Completion while the queueing discipline holds packets */

FIXTURE(held)
{
	struct tx_testbed bed;
};

FIXTURE_SETUP(held)
{
	bed_make(_metadata, &self->bed, 0);
	bed_held(_metadata, &self->bed);
}

FIXTURE_TEARDOWN(held)
{
}

/* The index advances over the contiguous prefix of completed packets only */
TEST_F_TIMEOUT(held, completes_contiguous_prefix, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;

	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	ASSERT_EQ(0, send_band(f, 0, 3));	/* entries 0 to 2 */
	ASSERT_EQ(0, send_band(f, 1, 4));	/* 3 to 6 */
	ASSERT_EQ(0, send_band(f, 2, 2));	/* 7 and 8 */
	ASSERT_EQ(0, send_band(f, 1, 1));	/* 9 */
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, send_band(f, 1, 5));	/* 10 to 14 complete at once */
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, stays(x, 7));
	ASSERT_EQ(0, release_band(2));
	EXPECT_EQ(0, stays(x, 15));
	EXPECT_EQ(0, all_done(x));
}

/* The same, several times around a small ring */
TEST_F_TIMEOUT(held, reordering_across_ring_end, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;
	__u32 round;

	self->bed.opts.tx_size = SMALL;
	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	for (round = 0; round < 4; round++) {
		__u32 first = *x->tx.producer;

		ASSERT_EQ(0, send_band(f, 0, 23));
		ASSERT_EQ(0, send_band(f, 1, 11));
		ASSERT_EQ(0, release_band(1));
		EXPECT_EQ(0, stays(x, first));
		ASSERT_EQ(0, release_band(0));
		EXPECT_EQ(0, stays(x, first + 34));
		ASSERT_EQ(0, all_done(x));
		ASSERT_EQ(0, band_qdisc(0, "change", "block"));
		ASSERT_EQ(0, band_qdisc(1, "change", "block"));
	}
}

/* A deleted queueing discipline drops its packets in any order */
TEST_F_TIMEOUT(held, dropped_packets_complete, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;

	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	ASSERT_EQ(0, send_band(f, 2, 5));
	ASSERT_EQ(0, send_band(f, 0, 5));
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, run("tc qdisc del dev " TX_DEV " root"));
	EXPECT_EQ(0, stays(x, 10));
	EXPECT_EQ(0, all_done(x));
}

/* An invalid descriptor completes at once, but after all entries before it */
TEST_F_TIMEOUT(held, invalid_descriptors_in_order, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;

	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	xsk_put(x, BAD_ADDR, 60, 0);
	EXPECT_EQ(0, stays(x, 1));
	ASSERT_EQ(0, send_band(f, 0, 2));
	xsk_put(x, BAD_ADDR, 60, 0);
	xsk_put(x, 0, 0, 0);
	EXPECT_EQ(0, stays(x, 1));
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, stays(x, 5));
	EXPECT_EQ(3, invalid_descs(x));
	EXPECT_EQ(0, all_done(x));
}

/* The timestamp of a packet is written before the index passes it */
TEST_F_TIMEOUT(held, timestamp_before_index, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	struct xsk_tx_metadata *meta;
	__u64 *stamp;
	int i;

	b->opts.tx_metadata = sizeof(*meta);
	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
	meta = (void *)b->tx.umem->area;
	memset(meta, 0, sizeof(*meta));
	meta->flags = XDP_TXMD_FLAGS_TIMESTAMP;
	xsk_put(&b->tx, sizeof(*meta), 60, XDP_TX_METADATA);
	EXPECT_EQ(0, stays(&b->tx, 0));
	stamp = &meta->completion.tx_timestamp;
	EXPECT_EQ(0, *stamp);
	ASSERT_EQ(0, release(b));
	for (i = 0; i < STALL_MS && !load_acquire(b->tx.tx.consumer); i++)
		nap(1);
	EXPECT_EQ(1, load_acquire(b->tx.tx.consumer));
	EXPECT_NE(0, *stamp);
}

/* A packet without memory for its skb waits, and is not completed twice */
TEST_F_TIMEOUT(held, no_memory_for_skbs, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	int sndbuf = 1;

	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
	ASSERT_EQ(0, setsockopt(b->tx.fd, SOL_SOCKET, SO_SNDBUF, &sndbuf,
				sizeof(sndbuf)));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, stays(&b->tx, 0));
	EXPECT_EQ(-1, sendto(b->tx.fd, NULL, 0, MSG_DONTWAIT, NULL, 0));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(0, release(b));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(100, load_acquire(b->tx.tx.consumer));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* POLLOUT requires that at least half of the ring is complete */
TEST_F_TIMEOUT(held, pollout_on_completion, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;
	struct pollfd pfd = { .events = POLLOUT };

	self->bed.opts.tx_size = SMALL;
	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	pfd.fd = x->fd;
	EXPECT_EQ(POLLOUT, writable(x));
	ASSERT_EQ(0, send_band(f, 0, SMALL / 2 + 1));
	EXPECT_EQ(0, stays(x, 0));
	EXPECT_EQ(0, writable(x));
	ASSERT_EQ(0, send_band(f, 1, SMALL / 2 - 1));
	/* Full: the kernel consumed all descriptors, none is complete */
	EXPECT_EQ(-ENOSPC, flow_put(f, 1));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(x, 0));
	EXPECT_EQ(0, writable(x));
	EXPECT_EQ(0, poll(&pfd, 1, HOLD_MS));

	/* A sleeping poll() returns */
	if (!fork()) {
		nap(HOLD_MS);
		_exit(release_band(0) ? 1 : 0);
	}
	EXPECT_EQ(1, poll(&pfd, 1, STALL_MS));
	EXPECT_EQ(POLLOUT, pfd.revents);
	EXPECT_EQ(0, all_done(x));
}

/* poll() transmits a full ring with invalid descriptors */
TEST_F_TIMEOUT(held, poll_skips_invalid, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;
	struct pollfd pfd = { .events = POLLOUT };

	self->bed.opts.tx_size = SMALL;
	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	ASSERT_EQ(0, release(&self->bed));
	pfd.fd = x->fd;
	while (*x->tx.producer < SMALL / 2)
		xsk_put(x, BAD_ADDR, 60, 0);
	ASSERT_EQ(0, flow_put(f, SMALL / 2));
	EXPECT_EQ(1, poll(&pfd, 1, STALL_MS));
	EXPECT_LE(SMALL / 2, load_acquire(x->tx.consumer));
}

/* Sockets of one queue complete independently */
TEST_F_TIMEOUT(held, sockets_of_one_queue, TIMEOUT)
{
	struct flow f[3] = {};
	struct xsk x[3];
	__u32 i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, bind_like(&x[i], self->bed.opts,
				       i ? &x[i - 1] : NULL, 0));
		f[i].tx = &x[i];
		f[i].max_len = FRAME_LEN;
		ASSERT_EQ(0, send_band(&f[i], i, 5 + i));
	}
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, stays(&x[i], 0));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(&x[1], 6));
	EXPECT_EQ(0, stays(&x[0], 0));
	EXPECT_EQ(0, stays(&x[2], 0));
	ASSERT_EQ(0, release(&self->bed));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, all_done(&x[i]));
}

/* Packets of a closed socket do not complete in a new one */
TEST_F_TIMEOUT(held, closed_with_packets_in_flight, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	struct xsk old;

	ASSERT_EQ(0, xsk_create(&old, &b->opts));
	b->flow.tx = &old;
	ASSERT_EQ(0, send_band(&b->flow, 0, 30));
	EXPECT_EQ(0, stays(&old, 0));
	xsk_close(&old);

	ASSERT_EQ(0, bind_like(&b->tx, b->opts, NULL, 1));
	b->flow.tx = &b->tx;
	ASSERT_EQ(0, send_band(&b->flow, 1, 4));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(&b->tx, 4));
}

/* A socket that shares a queue is closed, and another one is bound */
TEST_F_TIMEOUT(held, closed_while_others_send, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	struct flow f[3] = {};
	struct xsk x[3];
	__u32 i;

	for (i = 0; i < 3; i++) {
		f[i].tx = &x[i];
		f[i].max_len = FRAME_LEN;
	}
	ASSERT_EQ(0, bind_like(&x[0], b->opts, NULL, 0));
	ASSERT_EQ(0, bind_like(&x[1], b->opts, &x[0], 0));
	ASSERT_EQ(0, send_band(&f[0], 0, 3));
	ASSERT_EQ(0, send_band(&f[1], 0, 20));
	xsk_close(&x[1]);
	ASSERT_EQ(0, bind_like(&x[2], b->opts, &x[0], 0));
	ASSERT_EQ(0, send_band(&f[2], 1, 7));
	EXPECT_EQ(0, stays(&x[2], 0));
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, stays(&x[0], 3));
	EXPECT_EQ(0, stays(&x[2], 0));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(&x[2], 7));
}

TEST_F_TIMEOUT(held, killed_with_packets_in_flight, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (!xsk_create(&b->tx, &b->opts) &&
		    !send_band(&b->flow, 0, 40) && !stays(&b->tx, 0))
			raise(SIGKILL);
		_exit(1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));

	/* In copy mode, the pool of the queue lives until its skbs are freed */
	ASSERT_EQ(0, release(b));
	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, flow_put(&b->flow, 10));
	EXPECT_EQ(0, stays(&b->tx, 10));
}

/* The kernel keeps its own indices, and reads each descriptor once */
TEST_F_TIMEOUT(held, hostile_indices, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;
	static const __s32 wrong[] = { -1, -9, -513, 513, 600, 1 << 20, 1 << 30,
				       -(1 << 30), 0x7fffffff };
	__u32 i, j;

	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	ASSERT_EQ(0, send_band(f, 0, 10));
	EXPECT_EQ(0, stays(x, 0));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		store_release(x->tx.producer, 10 + wrong[i]);
		for (j = 0; j < 20; j++)
			xsk_kick(x);
		EXPECT_EQ(0, load_acquire(x->tx.consumer));
	}
	store_release(x->tx.producer, 10);
	/* Overwrite descriptors in flight and the consumer index */
	for (i = 0; i < 10; i++)
		memset((struct xdp_desc *)x->tx.descs + i, 0xff,
		       sizeof(struct xdp_desc));
	store_release(x->tx.consumer, 3000);
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, reaches(x, 10));
	EXPECT_EQ(0, invalid_descs(x));
	EXPECT_EQ(0, all_done(x));
	ASSERT_EQ(0, flow_put(f, 200));
	EXPECT_EQ(0, stays(x, 210));
}

/* Packets from end to end: RX_DEV in generic and native mode */

FIXTURE(through)
{
	struct tx_testbed bed;
};

FIXTURE_VARIANT(through)
{
	bool skb;
};

FIXTURE_VARIANT_ADD(through, generic)
{
	.skb = true,
};

FIXTURE_VARIANT_ADD(through, native)
{
};

FIXTURE_VARIANT_ADD(through, device)
{
};

FIXTURE_SETUP(through)
{
	bed_make(_metadata, &self->bed, 0);
	bed_receiver(_metadata, &self->bed, variant->skb, 0);
}

FIXTURE_TEARDOWN(through)
{
}

TEST_F_TIMEOUT(through, many_frames, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	b->opts.no_comp = false;
	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(many(), load_acquire(b->tx.tx.consumer));
	EXPECT_EQ(0, xsk_held(&b->tx));
	EXPECT_EQ(0, invalid_descs(&b->tx));
	/* A completion ring is allowed and stays empty */
	EXPECT_EQ(0, load_acquire(b->tx.comp.producer));
}

TEST_F_TIMEOUT(through, ring_of_64, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	b->opts.tx_size = 64;
	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(many(), load_acquire(b->tx.tx.consumer));
}

/* Once around: with invalid descriptors if they are faster, then with packets */
TEST_F_TIMEOUT(through, ring_of_32768, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 skipped = b->device ? 32768 - 500 : 0;
	__u32 frames = 32768 + 500 - skipped;

	b->opts.tx_size = 32768;
	b->flow.max_len = 128;
	bed_sender(_metadata, b);
	/* Zero-copy mode skips many at a time, copy mode one */
	while (*b->tx.tx.producer < skipped)
		xsk_put(&b->tx, BAD_ADDR, 60, 0);
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, flow_transfer(&b->flow, frames, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(skipped + frames, load_acquire(b->tx.tx.consumer));
	EXPECT_EQ(skipped, invalid_descs(&b->tx));
}

/* Invalid descriptors: alone, first, in the middle, last, in every batch */
TEST_F_TIMEOUT(through, invalid_descriptors, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 i, invalid = 0;

	bed_sender(_metadata, b);
	xsk_put(&b->tx, BAD_ADDR, 60, 0);
	EXPECT_EQ(0, stays(&b->tx, ++invalid));
	for (i = 0; i < 48; i++) {
		if (i % 3 != 1)
			xsk_put(&b->tx, 0, 0, 0);
		if (i % 5 == 2)
			xsk_put(&b->tx, CHUNK - 10, 60, 0);
		invalid += (i % 3 != 1) + (i % 5 == 2);
		ASSERT_EQ(0, flow_put(&b->flow, 1 + i % 2));
	}
	xsk_put(&b->tx, 0, 60, 1 << 15);
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(invalid + 1, invalid_descs(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
	EXPECT_EQ(0, xsk_held(&b->tx));
}

TEST_F_TIMEOUT(through, multi_buffer, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	b->opts.tx_part = 400;
	if (!bed_sender_sg(_metadata, b))
		SKIP(return, "the driver has no multi-buffer Tx");
	EXPECT_EQ(0, flow_transfer(&b->flow, many() / 4, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, xsk_held(&b->tx));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* The rest of a packet after an invalid descriptor is no packet of its own */
TEST_F_TIMEOUT(through, rest_of_invalid_packet, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 index = 0;
	int i;

	if (!bed_sender_sg(_metadata, b))
		SKIP(return, "the driver has no multi-buffer Tx");
	for (i = 0; i < 5; i++) {
		/* It resembles one */
		memset(b->tx.umem->area, 0xff, 12);
		xsk_put(&b->tx, 0, 60, XDP_PKT_CONTD);
		xsk_put(&b->tx, BAD_ADDR, 60, XDP_PKT_CONTD);
		EXPECT_EQ(0, stays(&b->tx, index += 2));
		xsk_put(&b->tx, 0, 60, XDP_PKT_CONTD);
		EXPECT_EQ(0, stays(&b->tx, ++index));
		xsk_put(&b->tx, 0, 60, 0);
		EXPECT_EQ(0, stays(&b->tx, ++index));
		ASSERT_EQ(0, flow_transfer(&b->flow, 1, true));
		EXPECT_EQ(0, stays(&b->tx, ++index));
	}
	EXPECT_EQ(0, all_done(&b->tx));
}

/* A whole ring of invalid descriptors and one packet */
TEST_F_TIMEOUT(through, only_invalid_descriptors, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 round, i;

	bed_sender(_metadata, b);
	for (round = 1; round < 4; round++) {
		for (i = 0; i < RING - 1; i++)
			xsk_put(&b->tx, BAD_ADDR + i, 60, 0);
		ASSERT_EQ(0, flow_put(&b->flow, 1));
		EXPECT_EQ(0, all_done(&b->tx));
		EXPECT_EQ(0, receive_all(&b->flow));
		EXPECT_EQ(round * (RING - 1), invalid_descs(&b->tx));
	}
}

TEST_F_TIMEOUT(through, sockets_of_one_queue, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	struct flow other = {};
	struct xsk second;
	struct xsk_opts opts;
	__u32 i, n;

	b->opts.chunks = CHUNKS / 4;
	bed_sender(_metadata, b);
	opts = b->opts;
	opts.share = &b->tx;
	opts.share_rings = true;
	opts.attach = false;
	opts.bind_flags = 0;
	ASSERT_EQ(0, xsk_create(&second, &opts));

	/* Alternating, so that the order between the sockets is known, too */
	for (i = 0; i < 40; i++) {
		n = 1 + i % 3;
		ASSERT_EQ(0, flow_transfer(&b->flow, n, true));
		other = b->flow;
		other.tx = &second;
		ASSERT_EQ(0, flow_transfer(&other, 4 - n, true));
		b->flow.sent = other.sent;
		b->flow.next = other.next;
	}
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, all_done(&second));
	EXPECT_EQ(160, load_acquire(b->tx.tx.consumer) +
		       load_acquire(second.tx.consumer));

	/* At the same time: only the order per socket is known */
	ASSERT_EQ(0, flow_put(&b->flow, 60));
	other = b->flow;
	other.tx = &second;
	xsk_put(&second, BAD_ADDR, 60, 0);
	ASSERT_EQ(0, flow_put(&other, 60));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, all_done(&second));
	EXPECT_EQ(281, load_acquire(b->tx.tx.consumer) +
		       load_acquire(second.tx.consumer));
	EXPECT_EQ(1, invalid_descs(&second));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* The device is set down: packets in flight complete, the others wait */
TEST_F_TIMEOUT(through, device_down, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, 100, true));
	EXPECT_EQ(0, all_done(&b->tx));
	ASSERT_EQ(0, run("ip link set %s down", b->opts.dev));
	ASSERT_EQ(0, flow_put(&b->flow, 10));
	EXPECT_EQ(-ENETDOWN, xsk_kick(&b->tx));
	EXPECT_EQ(100, load_acquire(b->tx.tx.consumer));
	device_up(_metadata, b->opts.dev);
	device_up(_metadata, b->rx.opts.dev);
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
}

/* No carrier: packets are dropped and complete */
TEST_F_TIMEOUT(through, peer_down, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	if (b->device)
		SKIP(return, "a port transmits without a link, or waits");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, run("ip link set %s down", b->rx.opts.dev));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, all_done(&b->tx));
	ASSERT_EQ(0, run("ip link set %s up", b->rx.opts.dev));
	b->flow.next = b->flow.sent;
	EXPECT_EQ(0, flow_transfer(&b->flow, 100, true));
	EXPECT_EQ(0, all_done(&b->tx));
}

/* The device holds the packets, by the commands of the environment */
TEST_F_TIMEOUT(through, held_by_the_device, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 done;

	if (!b->device || !getenv("XSK_INORDER_HOLD"))
		SKIP(return, "needs XSK_INORDER_HOLD");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, flow_transfer(&b->flow, 50, true));
	ASSERT_EQ(0, all_done(&b->tx));
	ASSERT_EQ(0, hold(b));
	ASSERT_EQ(0, flow_put(&b->flow, 20));
	xsk_put(&b->tx, BAD_ADDR, 60, 0);
	EXPECT_EQ(0, stays(&b->tx, 50));
	/* The kernel does not read consumed descriptors again */
	done = 50;
	while (done != *b->tx.tx.producer)
		memset((struct xdp_desc *)b->tx.tx.descs + done++, 0xff,
		       sizeof(struct xdp_desc));
	store_release(b->tx.tx.consumer, 12345);
	store_release(b->tx.tx.producer, 30);
	xsk_kick(&b->tx);
	store_release(b->tx.tx.producer, 71);
	ASSERT_EQ(0, release(b));
	EXPECT_EQ(0, stays(&b->tx, 71));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
}

/* More changes between valid and invalid than the kernel can record */
TEST_F_TIMEOUT(through, held_alternating_with_invalid, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 i;

	if (!b->device || !getenv("XSK_INORDER_HOLD"))
		SKIP(return, "needs XSK_INORDER_HOLD");
	b->opts.tx_size = 1024;
	bed_sender(_metadata, b);
	ASSERT_EQ(0, hold(b));
	for (i = 0; i < 400; i++) {
		ASSERT_EQ(0, flow_put(&b->flow, 1));
		xsk_put(&b->tx, BAD_ADDR, 60, 0);
		ASSERT_EQ(0, xsk_kick(&b->tx));
	}
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, release(b));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(800, load_acquire(b->tx.tx.consumer));
	EXPECT_EQ(400, invalid_descs(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
}

/* A full device: packets wait, in copy mode after NETDEV_TX_BUSY */
TEST_F_TIMEOUT(through, full_device, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	int sndbuf = 16 << 20;
	__u32 i;

	if (!b->device || !getenv("XSK_INORDER_HOLD"))
		SKIP(return, "needs XSK_INORDER_HOLD");
	b->opts.tx_size = 4096;
	bed_sender(_metadata, b);
	ASSERT_EQ(0, setsockopt(b->tx.fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf,
				sizeof(sndbuf)));
	ASSERT_EQ(0, hold(b));
	for (i = 0; i < 4096; i++)
		xsk_put(&b->tx, CHUNK * (i % 64), 64, 0);
	for (i = 0; i < 4096 / 16; i++)
		ASSERT_EQ(0, xsk_kick(&b->tx));
	EXPECT_EQ(0, stays(&b->tx, 0));
	if (getenv("XSK_INORDER_COPY")) {
		EXPECT_EQ(-1, sendto(b->tx.fd, NULL, 0, MSG_DONTWAIT, NULL, 0));
		EXPECT_EQ(EAGAIN, errno);
	}
	ASSERT_EQ(0, release(b));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* Close while the device holds packets, and open again */
TEST_F_TIMEOUT(through, closed_while_held, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	int i;

	if (!b->device || !getenv("XSK_INORDER_HOLD"))
		SKIP(return, "needs XSK_INORDER_HOLD");
	for (i = 0; i < 3; i++) {
		bed_sender(_metadata, b);
		b->flow.sent = 0;
		ASSERT_EQ(0, hold(b));
		ASSERT_EQ(0, flow_put(&b->flow, 20));
		EXPECT_EQ(0, stays(&b->tx, 0));
		xsk_close(&b->tx);
		ASSERT_EQ(0, release(b));
	}
	/* Packets still in flight may arrive or not */
	nap(HOLD_MS);
	bed_sender(_metadata, b);
	b->flow.sent = 0;
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, all_done(&b->tx));
}

/* The device is set down while it holds packets */
TEST_F_TIMEOUT(through, down_while_held, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	if (!b->device || !getenv("XSK_INORDER_HOLD"))
		SKIP(return, "needs XSK_INORDER_HOLD");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, hold(b));
	ASSERT_EQ(0, flow_put(&b->flow, 30));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, run("ip link set %s down", b->opts.dev));
	/* Complete, whether they were transmitted or not */
	EXPECT_EQ(30, load_acquire(b->tx.tx.consumer));
	ASSERT_EQ(0, release(b));
	device_up(_metadata, b->opts.dev);
	device_up(_metadata, b->rx.opts.dev);
	b->flow.next = b->flow.sent;
	EXPECT_LE(0, xsk_reap(&b->tx));
	EXPECT_EQ(0, xsk_held(&b->tx));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(130, load_acquire(b->tx.tx.consumer));
}

/* The device is removed while it holds packets */
TEST_F_TIMEOUT(through, removed_while_held, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	if (!getenv("XSK_INORDER_REMOVE"))
		SKIP(return, "needs XSK_INORDER_REMOVE");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, hold(b));
	ASSERT_EQ(0, flow_put(&b->flow, 30));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, run("%s", getenv("XSK_INORDER_REMOVE")));
	EXPECT_EQ(30, load_acquire(b->tx.tx.consumer));
	EXPECT_EQ(-ENXIO, xsk_kick(&b->tx));
}

/* Multi-buffer packets */

FIXTURE(jumbo)
{
	struct tx_testbed bed;
};

FIXTURE_SETUP(jumbo)
{
	bed_make(_metadata, &self->bed, JUMBO_MTU);
	bed_receiver(_metadata, &self->bed, true, XDP_COPY | XDP_USE_SG);
	self->bed.flow.max_len = JUMBO_LEN;
}

FIXTURE_TEARDOWN(jumbo)
{
}

TEST_F_TIMEOUT(jumbo, frames, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, many() / 8, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, xsk_held(&b->tx));
}

static void put_frags(struct xsk *x, __u32 count, __u32 bad)
{
	__u32 i;

	for (i = 0; i < count; i++)
		xsk_put(x, i == bad ? BAD_ADDR : i * CHUNK, 200,
			i < count - 1 ? XDP_PKT_CONTD : 0);
}

/* Packets with one invalid descriptor, at each position */
TEST_F_TIMEOUT(jumbo, invalid_packets, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;
	__u32 bad, index = 0;

	b->flow.max_len = FRAME_LEN;
	bed_sender(_metadata, b);
	for (bad = 0; bad < 4; bad++) {
		put_frags(&b->tx, 4, bad);
		EXPECT_EQ(0, stays(&b->tx, index += 4));
		EXPECT_EQ(4 * (bad + 1), invalid_descs(&b->tx));
		ASSERT_EQ(0, flow_transfer(&b->flow, 1, true));
		ASSERT_EQ(0, all_done(&b->tx));
		EXPECT_EQ(++index, load_acquire(b->tx.tx.consumer));
	}
}

/* More descriptors than the maximum of a packet */
TEST_F_TIMEOUT(jumbo, too_many_descriptors, TIMEOUT)
{
	struct tx_testbed *b = &self->bed;

	b->flow.max_len = FRAME_LEN;
	bed_sender(_metadata, b);
	put_frags(&b->tx, FRAGS_MANY, FRAGS_MANY);
	ASSERT_EQ(0, flow_transfer(&b->flow, 10, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(FRAGS_MANY + 10, load_acquire(b->tx.tx.consumer));
	EXPECT_EQ(FRAGS_MANY, invalid_descs(&b->tx));
	/* First without the last descriptor, then with it */
	put_frags(&b->tx, FRAGS_MANY, FRAGS_MANY);
	store_release(b->tx.tx.producer, *b->tx.tx.producer - 1);
	EXPECT_EQ(0, stays(&b->tx, 2 * FRAGS_MANY + 10 - 1));
	store_release(b->tx.tx.producer, *b->tx.tx.producer + 1);
	ASSERT_EQ(0, flow_transfer(&b->flow, 10, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(2 * FRAGS_MANY + 20, load_acquire(b->tx.tx.consumer));
}

/*
 * Keep the built-in program on an interface of the environment while the tests
 * run: drivers reset the port for the first program and after the last one.
 */
static int keep_program(struct xsk *x, const char *dev)
{
	struct xsk_opts opts = {
		.dev = dev,
		.queue = 1,
		.attach = true,
		.attach_flags = XDP_ATTACH_F_DRV_MODE,
		.bind_flags = XDP_COPY,
		.no_rx = true,
		.tx = true,
	};

	return xsk_create(x, &opts);
}

/* On both devices; they drop packets until the resets are over */
static int keep_programs(struct xsk keep[2])
{
	struct flow f = { .tx = &keep[0], .max_len = FRAME_LEN };
	const char *rx = getenv("XSK_INORDER_RX");
	struct stack s;
	int err;

	err = keep_program(&keep[0], getenv("XSK_INORDER_TX"));
	if (!err)
		err = keep_program(&keep[1], rx);
	if (!err)
		err = stack_open(&s, rx);
	if (!err) {
		err = flow_settle_stack(&f, &s);
		stack_close(&s);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct xsk keep[2];
	char *device = getenv("XSK_INORDER_TX");
	char option[] = "-Vdevice";
	char *only[3] = { argv[0], option };

	if (geteuid())
		ksft_exit_skip("needs root\n");
	if (!kernel_has(XDP_FASTPATH_F_INORDER))
		ksft_exit_skip("this kernel has no XDP_TX_INORDER\n");
	if (device && keep_programs(keep))
		ksft_exit_fail_msg("no program on the devices\n");
	if (device)
		option[1] = 'v';
	return argc > 1 ? test_harness_run(argc, argv) :
			  test_harness_run(2, only);
}
