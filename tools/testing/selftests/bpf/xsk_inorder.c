// SPDX-License-Identifier: GPL-2.0
/*
 * XDP_TX_INORDER as its users see it: the consumer index of the Tx ring moves
 * when frames are complete, in order, over every slot once.
 *
 * Without arguments: copy mode on a veth pair, in a network namespace of each
 * test's own; frames are received by a socket in generic and in native mode.
 * What holds frames back and lets them overtake is a VLAN device on the pair,
 * behind which a queueing discipline has a band for each priority.
 *
 * With XSK_INORDER_TX and XSK_INORDER_RX: zero-copy on these two interfaces,
 * whose ports see each other's frames (copy mode with XSK_INORDER_COPY).
 * They have two queues. XSK_INORDER_HOLD and XSK_INORDER_RELEASE are commands
 * that stop and restart completion, XSK_INORDER_REMOVE one that removes the
 * first. XSK_INORDER_FRAMES says how many frames the longer tests send.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "xsk_attach_lib.h"
#include "xsk_fastpath.h"

/* Emulated machines with a debug kernel are slow */
#define TIMEOUT		600
#define FRAME_LEN	1514
#define JUMBO_MTU	9000
#define JUMBO_LEN	9014
/* A device above TX_DEV: its frames pass the queueing discipline of TX_DEV */
#define UPPER		"xa_vlan"
#define BANDS		3
#define SMALL		64
#define BAD_ADDR	0x10000000000ULL
/* More than an skb has room for, and than a driver takes */
#define FRAGS_MANY	24
/* Time in which an index that should stay would have moved */
#define STILL_MS	100

/*
 * struct bed - what a test stands on
 * @device: interfaces from outside, else a veth pair
 * @opts: of an in-order socket
 * @rx: an attached socket that gets what @tx sends
 */
struct bed {
	bool device;
	struct xsk_opts opts;
	struct xsk rx, tx;
	struct flow flow;
};

static __u32 many(void)
{
	const char *frames = getenv("XSK_INORDER_FRAMES");

	return frames ? atoi(frames) : 4096;
}

static __u32 load(const __u32 *index)
{
	return __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

static void store(__u32 *index, __u32 value)
{
	__atomic_store_n(index, value, __ATOMIC_RELEASE);
}

/* Wait, sending, until the kernel's index is there */
static int reaches(struct xsk *x, __u32 index)
{
	long long deadline = now_ms() + STALL_MS;
	int err = 0;

	while (!err && load(x->tx.consumer) != index) {
		if (now_ms() > deadline)
			return complain(-ETIMEDOUT, "index is %u, not %u",
					load(x->tx.consumer), index);
		err = xsk_kick(x);
		nap(1);
	}
	return err;
}

/* The index is there, and stays whatever is sent */
static int stays(struct xsk *x, __u32 index)
{
	int err = reaches(x, index);
	int ms;

	for (ms = 0; !err && ms < STILL_MS; ms += 10) {
		err = xsk_kick(x);
		nap(10);
	}
	if (!err && load(x->tx.consumer) != index)
		err = complain(-EBUSY, "index went on to %u from %u",
			       load(x->tx.consumer), index);
	return err;
}

static int all_done(struct xsk *x)
{
	int err = reaches(x, load(x->tx.producer));

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

/* An interface from outside may have to get its link first */
static void device_up(struct __test_metadata *_metadata, const char *dev)
{
	ASSERT_EQ(0, run("ip link set %s up", dev));
	ASSERT_EQ(0, run("timeout 20 sh -c '%s ip link show %s | %s'", "until",
			 dev, "grep -q LOWER_UP; do sleep 0.1; done"));
}

static void bed_make(struct __test_metadata *_metadata, struct bed *b,
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
		/* Some drivers have no zero-copy Tx without a program */
		b->opts.attach = true;
		b->opts.bind_flags = XDP_ZEROCOPY | XDP_USE_NEED_WAKEUP;
	}
	device_up(_metadata, b->opts.dev);
	device_up(_metadata, getenv("XSK_INORDER_RX"));
}

static void bed_receiver(struct __test_metadata *_metadata, struct bed *b,
			 bool skb, __u16 bind_flags)
{
	struct xsk_opts opts = {
		.dev = b->device ? getenv("XSK_INORDER_RX") : RX_DEV,
		.attach = true,
		.attach_flags = skb ? XDP_ATTACH_F_SKB_MODE : 0,
		.bind_flags = bind_flags,
	};

	/* The Tx queue whose frames arrive at queue 0 there */
	b->opts.queue = skb;
	ASSERT_EQ(0, xsk_create(&b->rx, &opts));
	b->flow = (struct flow){ .tx = &b->tx, .rx = &b->rx,
				 .max_len = FRAME_LEN };
}

static void bed_sender(struct __test_metadata *_metadata, struct bed *b)
{
	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
}

/* With frames of several buffers. Return: false if the driver has none */
static bool bed_sender_sg(struct __test_metadata *_metadata, struct bed *b)
{
	int err;

	b->opts.bind_flags |= XDP_USE_SG;
	ASSERT_EQ(0, xsk_open(&b->tx, &b->opts));
	err = xsk_bind_soon(&b->tx);
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

/* Only Tx, to a device whose queueing discipline holds what it gets */
static void bed_held(struct __test_metadata *_metadata, struct bed *b)
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

/* Send the next frames with a priority, which is the band they wait in */
static int send_band(struct flow *f, int band, __u32 frames)
{
	int err;

	if (setsockopt(f->tx->fd, SOL_SOCKET, SO_PRIORITY, &band, sizeof(band)))
		return -errno;
	err = flow_put(f, frames);
	return err ?: xsk_kick(f->tx);
}

static int hold(struct bed *b)
{
	return b->device ? run("%s", getenv("XSK_INORDER_HOLD")) : 0;
}

static int release(struct bed *b)
{
	int err = 0, band;

	if (b->device)
		return run("%s", getenv("XSK_INORDER_RELEASE"));
	for (band = 0; band < BANDS; band++)
		err = err ?: release_band(band);
	return err;
}

/* Options, errors and what bind() wants; the device does not matter */

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
	struct bed bed;
};

FIXTURE_SETUP(bind)
{
	bed_make(_metadata, &self->bed, 0);
}

FIXTURE_TEARDOWN(bind)
{
}

/* Opened with a shared umem, if @share is not NULL, and bound */
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

/* Without completion ring, only in order; the same socket may try again */
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

/* A queue completes in one way, whoever comes first; queues may differ */
TEST_F(bind, one_way_in_a_queue)
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
	/* Without Tx, it does not matter */
	classic.tx = false;
	classic.no_rx = false;
	EXPECT_EQ(0, bind_like(&rx_only, classic, &first, 0));
	/* A classic socket of its own queue has a completion ring, as ever */
	classic.tx = true;
	classic.no_comp = true;
	EXPECT_EQ(-EINVAL, bind_like(&wrong, classic, &first, 2));
}

/* A socket without Tx that asks decides for the queue: no completion ring */
TEST_F(bind, decided_without_tx)
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

/* What completes, and when: the queueing discipline holds the frames */

FIXTURE(held)
{
	struct bed bed;
};

FIXTURE_SETUP(held)
{
	bed_make(_metadata, &self->bed, 0);
	bed_held(_metadata, &self->bed);
}

FIXTURE_TEARDOWN(held)
{
}

TEST_F_TIMEOUT(held, index_moves_on_completion, TIMEOUT)
{
	struct bed *b = &self->bed;

	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
	ASSERT_EQ(0, flow_put(&b->flow, 20));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, release(b));
	EXPECT_EQ(0, stays(&b->tx, 20));
	EXPECT_EQ(0, all_done(&b->tx));
}

/* Frames that overtake others wait for them, and only their prefix counts */
TEST_F_TIMEOUT(held, only_the_finished_prefix_counts, TIMEOUT)
{
	struct flow *f = &self->bed.flow;
	struct xsk *x = &self->bed.tx;

	ASSERT_EQ(0, xsk_create(x, &self->bed.opts));
	ASSERT_EQ(0, send_band(f, 0, 3));	/* slots 0 to 2 */
	ASSERT_EQ(0, send_band(f, 1, 4));	/* 3 to 6 */
	ASSERT_EQ(0, send_band(f, 2, 2));	/* 7 and 8 */
	ASSERT_EQ(0, send_band(f, 1, 1));	/* 9 */
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, send_band(f, 1, 5));	/* 10 to 14 finish at once */
	EXPECT_EQ(0, stays(x, 0));
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, stays(x, 7));
	ASSERT_EQ(0, release_band(2));
	EXPECT_EQ(0, stays(x, 15));
	EXPECT_EQ(0, all_done(x));
}

/* The same round and round a small ring */
TEST_F_TIMEOUT(held, overtaking_at_the_end_of_the_ring, TIMEOUT)
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

/* A queueing discipline that goes drops what it holds, in any order */
TEST_F_TIMEOUT(held, dropped_frames_count, TIMEOUT)
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

/* An invalid descriptor is done at once, but not before those before it */
TEST_F_TIMEOUT(held, invalid_ones_wait_their_turn, TIMEOUT)
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

/* The timestamp of a frame is there before the index has passed it */
TEST_F_TIMEOUT(held, timestamp_comes_first, TIMEOUT)
{
	struct bed *b = &self->bed;
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
	for (i = 0; i < STALL_MS && !load(b->tx.tx.consumer); i++)
		nap(1);
	EXPECT_EQ(1, load(b->tx.tx.consumer));
	EXPECT_NE(0, *stamp);
}

/* No skb for want of memory: the frame waits, and none is counted twice */
TEST_F_TIMEOUT(held, no_memory_for_skbs, TIMEOUT)
{
	struct bed *b = &self->bed;
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
	EXPECT_EQ(100, load(b->tx.tx.consumer));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* POLLOUT: at least half of the ring is complete */
TEST_F_TIMEOUT(held, pollout_means_complete, TIMEOUT)
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
	/* Full: the kernel took all, and the ring has no slot for another */
	EXPECT_EQ(-ENOSPC, flow_put(f, 1));
	ASSERT_EQ(0, release_band(1));
	EXPECT_EQ(0, stays(x, 0));
	EXPECT_EQ(0, writable(x));
	EXPECT_EQ(0, poll(&pfd, 1, STILL_MS));

	/* Someone who sleeps is woken up */
	if (!fork()) {
		nap(STILL_MS);
		_exit(release_band(0) ? 1 : 0);
	}
	EXPECT_EQ(1, poll(&pfd, 1, STALL_MS));
	EXPECT_EQ(POLLOUT, pfd.revents);
	EXPECT_EQ(0, all_done(x));
}

/* poll() alone sends a full ring, whatever is invalid in it */
TEST_F_TIMEOUT(held, poll_sends_past_invalid_ones, TIMEOUT)
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
	EXPECT_LE(SMALL / 2, load(x->tx.consumer));
}

/* Each socket of a queue sees its own completions only */
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

/* A socket that is closed leaves its frames alone, also to a new one */
TEST_F_TIMEOUT(held, closed_with_frames_in_flight, TIMEOUT)
{
	struct bed *b = &self->bed;
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

/* One of those that share a queue is closed; another one comes */
TEST_F_TIMEOUT(held, closed_beside_others, TIMEOUT)
{
	struct bed *b = &self->bed;
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

TEST_F_TIMEOUT(held, killed_with_frames_in_flight, TIMEOUT)
{
	struct bed *b = &self->bed;
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

	/* The queue of a generic device is free once its frames are */
	ASSERT_EQ(0, release(b));
	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, flow_put(&b->flow, 10));
	EXPECT_EQ(0, stays(&b->tx, 10));
}

/* The kernel has its own indices; what it took is not read again */
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
		store(x->tx.producer, 10 + wrong[i]);
		for (j = 0; j < 20; j++)
			xsk_kick(x);
		EXPECT_EQ(0, load(x->tx.consumer));
	}
	store(x->tx.producer, 10);
	/* Descriptors in flight are rewritten, and the consumer index */
	for (i = 0; i < 10; i++)
		memset((struct xdp_desc *)x->tx.descs + i, 0xff,
		       sizeof(struct xdp_desc));
	store(x->tx.consumer, 3000);
	ASSERT_EQ(0, release_band(0));
	EXPECT_EQ(0, reaches(x, 10));
	EXPECT_EQ(0, invalid_descs(x));
	EXPECT_EQ(0, all_done(x));
	ASSERT_EQ(0, flow_put(f, 200));
	EXPECT_EQ(0, stays(x, 210));
}

/* Content and order, at both ends: RX_DEV in generic and native mode */

FIXTURE(through)
{
	struct bed bed;
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
	struct bed *b = &self->bed;

	b->opts.no_comp = false;
	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(many(), load(b->tx.tx.consumer));
	EXPECT_EQ(0, xsk_held(&b->tx));
	EXPECT_EQ(0, invalid_descs(&b->tx));
	/* A completion ring is allowed, and nothing is in it */
	EXPECT_EQ(0, load(b->tx.comp.producer));
}

TEST_F_TIMEOUT(through, ring_of_64, TIMEOUT)
{
	struct bed *b = &self->bed;

	b->opts.tx_size = 64;
	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, many(), true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(many(), load(b->tx.tx.consumer));
}

/* Once round it: mostly with what is cheap, then with frames */
TEST_F_TIMEOUT(through, ring_of_32768, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 cheap = b->device ? 32768 - 500 : 0;
	__u32 frames = 32768 + 500 - cheap;

	b->opts.tx_size = 32768;
	b->flow.max_len = 128;
	bed_sender(_metadata, b);
	/* Zero-copy steps over many at a time, copy mode over one */
	while (*b->tx.tx.producer < cheap)
		xsk_put(&b->tx, BAD_ADDR, 60, 0);
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, flow_transfer(&b->flow, frames, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(cheap + frames, load(b->tx.tx.consumer));
	EXPECT_EQ(cheap, invalid_descs(&b->tx));
}

/* Invalid descriptors: alone, first, in the middle, last, in every batch */
TEST_F_TIMEOUT(through, invalid_descriptors, TIMEOUT)
{
	struct bed *b = &self->bed;
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

TEST_F_TIMEOUT(through, frames_of_several_buffers, TIMEOUT)
{
	struct bed *b = &self->bed;

	b->opts.tx_part = 400;
	if (!bed_sender_sg(_metadata, b))
		SKIP(return, "the driver has no such frames");
	EXPECT_EQ(0, flow_transfer(&b->flow, many() / 4, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, xsk_held(&b->tx));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* What comes behind an invalid descriptor of a frame is no frame by itself */
TEST_F_TIMEOUT(through, the_rest_of_a_bad_frame, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 index = 0;
	int i;

	if (!bed_sender_sg(_metadata, b))
		SKIP(return, "the driver has no such frames");
	for (i = 0; i < 5; i++) {
		/* It looks like one */
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

/* A whole ring of them, and a frame behind */
TEST_F_TIMEOUT(through, nothing_but_invalid, TIMEOUT)
{
	struct bed *b = &self->bed;
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
	struct bed *b = &self->bed;
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

	/* In turns, so that the order between them is known, too */
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
	EXPECT_EQ(160, load(b->tx.tx.consumer) + load(second.tx.consumer));

	/* Both at once: order is known for each only */
	ASSERT_EQ(0, flow_put(&b->flow, 60));
	other = b->flow;
	other.tx = &second;
	xsk_put(&second, BAD_ADDR, 60, 0);
	ASSERT_EQ(0, flow_put(&other, 60));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, all_done(&second));
	EXPECT_EQ(281, load(b->tx.tx.consumer) + load(second.tx.consumer));
	EXPECT_EQ(1, invalid_descs(&second));
	EXPECT_EQ(0, invalid_descs(&b->tx));
}

/* The device goes down: what is in flight completes, the rest waits */
TEST_F_TIMEOUT(through, device_down, TIMEOUT)
{
	struct bed *b = &self->bed;

	bed_sender(_metadata, b);
	EXPECT_EQ(0, flow_transfer(&b->flow, 100, true));
	EXPECT_EQ(0, all_done(&b->tx));
	ASSERT_EQ(0, run("ip link set %s down", b->opts.dev));
	ASSERT_EQ(0, flow_put(&b->flow, 10));
	EXPECT_EQ(-ENETDOWN, xsk_kick(&b->tx));
	EXPECT_EQ(100, load(b->tx.tx.consumer));
	device_up(_metadata, b->opts.dev);
	device_up(_metadata, b->rx.opts.dev);
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
}

/* No carrier: frames are dropped, and their slots complete */
TEST_F_TIMEOUT(through, peer_down, TIMEOUT)
{
	struct bed *b = &self->bed;

	if (b->device)
		SKIP(return, "a port sends without a link, or waits");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, run("ip link set %s down", b->rx.opts.dev));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, all_done(&b->tx));
	ASSERT_EQ(0, run("ip link set %s up", b->rx.opts.dev));
	b->flow.next = b->flow.sent;
	EXPECT_EQ(0, flow_transfer(&b->flow, 100, true));
	EXPECT_EQ(0, all_done(&b->tx));
}

/* In flight in the device: the commands of the environment hold them */
TEST_F_TIMEOUT(through, held_by_the_device, TIMEOUT)
{
	struct bed *b = &self->bed;
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
	/* The kernel does not look at what it took */
	done = 50;
	while (done != *b->tx.tx.producer)
		memset((struct xdp_desc *)b->tx.tx.descs + done++, 0xff,
		       sizeof(struct xdp_desc));
	store(b->tx.tx.consumer, 12345);
	store(b->tx.tx.producer, 30);
	xsk_kick(&b->tx);
	store(b->tx.tx.producer, 71);
	ASSERT_EQ(0, release(b));
	EXPECT_EQ(0, stays(&b->tx, 71));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
}

/* As many changes between valid and invalid as the kernel can note, and more */
TEST_F_TIMEOUT(through, held_in_pieces, TIMEOUT)
{
	struct bed *b = &self->bed;
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
	EXPECT_EQ(800, load(b->tx.tx.consumer));
	EXPECT_EQ(400, invalid_descs(&b->tx));
	EXPECT_EQ(0, receive_all(&b->flow));
}

/* A full device: the rest waits, in copy mode with NETDEV_TX_BUSY */
TEST_F_TIMEOUT(through, full_device, TIMEOUT)
{
	struct bed *b = &self->bed;
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

/* Closed with frames in the device, and opened again */
TEST_F_TIMEOUT(through, closed_while_held, TIMEOUT)
{
	struct bed *b = &self->bed;
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
	/* What is still under way of them may arrive or not */
	nap(STILL_MS);
	bed_sender(_metadata, b);
	b->flow.sent = 0;
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, all_done(&b->tx));
}

/* A reset, or the end of the device, with frames in it */
TEST_F_TIMEOUT(through, down_while_held, TIMEOUT)
{
	struct bed *b = &self->bed;

	if (!b->device || !getenv("XSK_INORDER_HOLD"))
		SKIP(return, "needs XSK_INORDER_HOLD");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, hold(b));
	ASSERT_EQ(0, flow_put(&b->flow, 30));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, run("ip link set %s down", b->opts.dev));
	/* Not sent, perhaps, but complete */
	EXPECT_EQ(30, load(b->tx.tx.consumer));
	ASSERT_EQ(0, release(b));
	device_up(_metadata, b->opts.dev);
	device_up(_metadata, b->rx.opts.dev);
	b->flow.next = b->flow.sent;
	EXPECT_LE(0, xsk_reap(&b->tx));
	EXPECT_EQ(0, xsk_held(&b->tx));
	ASSERT_EQ(0, flow_put(&b->flow, 100));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(130, load(b->tx.tx.consumer));
}

/* The device goes for good, with frames in it */
TEST_F_TIMEOUT(through, removed_while_held, TIMEOUT)
{
	struct bed *b = &self->bed;

	if (!getenv("XSK_INORDER_REMOVE"))
		SKIP(return, "needs XSK_INORDER_REMOVE");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, hold(b));
	ASSERT_EQ(0, flow_put(&b->flow, 30));
	EXPECT_EQ(0, stays(&b->tx, 0));
	ASSERT_EQ(0, run("%s", getenv("XSK_INORDER_REMOVE")));
	EXPECT_EQ(30, load(b->tx.tx.consumer));
	EXPECT_EQ(-ENXIO, xsk_kick(&b->tx));
}

/* Frames of several buffers */

FIXTURE(jumbo)
{
	struct bed bed;
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
	struct bed *b = &self->bed;

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

/* Frames that cannot be sent, at each of their descriptors */
TEST_F_TIMEOUT(jumbo, bad_frames, TIMEOUT)
{
	struct bed *b = &self->bed;
	__u32 bad, index = 0;

	b->flow.max_len = FRAME_LEN;
	bed_sender(_metadata, b);
	for (bad = 0; bad < 4; bad++) {
		put_frags(&b->tx, 4, bad);
		EXPECT_EQ(0, stays(&b->tx, index += 4));
		EXPECT_EQ(4 * (bad + 1), invalid_descs(&b->tx));
		ASSERT_EQ(0, flow_transfer(&b->flow, 1, true));
		ASSERT_EQ(0, all_done(&b->tx));
		EXPECT_EQ(++index, load(b->tx.tx.consumer));
	}
}

/* More descriptors than a frame can have */
TEST_F_TIMEOUT(jumbo, too_many_descriptors, TIMEOUT)
{
	struct bed *b = &self->bed;

	b->flow.max_len = FRAME_LEN;
	bed_sender(_metadata, b);
	put_frags(&b->tx, FRAGS_MANY, FRAGS_MANY);
	ASSERT_EQ(0, flow_transfer(&b->flow, 10, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(FRAGS_MANY + 10, load(b->tx.tx.consumer));
	EXPECT_EQ(FRAGS_MANY, invalid_descs(&b->tx));
	/* Without its end, and then it comes */
	put_frags(&b->tx, FRAGS_MANY, FRAGS_MANY);
	store(b->tx.tx.producer, *b->tx.tx.producer - 1);
	EXPECT_EQ(0, stays(&b->tx, 2 * FRAGS_MANY + 10 - 1));
	store(b->tx.tx.producer, *b->tx.tx.producer + 1);
	ASSERT_EQ(0, flow_transfer(&b->flow, 10, true));
	EXPECT_EQ(0, all_done(&b->tx));
	EXPECT_EQ(2 * FRAGS_MANY + 20, load(b->tx.tx.consumer));
}

static bool kernel_has_inorder(void)
{
	int fd = socket(AF_XDP, SOCK_RAW, 0);
	__u64 features = 0;

	xsk_fastpath__features(fd, &features);
	close(fd);
	return features & XDP_FASTPATH_F_INORDER;
}

/*
 * The built-in program on a device from outside, for as long as the tests run:
 * drivers reset their port for the first program and after the last one.
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

/* Programs on both devices, which lose frames until the resets are over */
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
	if (!kernel_has_inorder())
		ksft_exit_skip("this kernel has no XDP_TX_INORDER\n");
	if (device && keep_programs(keep))
		ksft_exit_fail_msg("no program on the devices\n");
	if (device)
		option[1] = 'v';
	return argc > 1 ? test_harness_run(argc, argv) :
			  test_harness_run(2, only);
}
