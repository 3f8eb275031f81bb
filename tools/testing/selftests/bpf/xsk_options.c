// SPDX-License-Identifier: GPL-2.0
/* The socket options of if_xdp_fastpath.h as an interface: sizes, withdrawal,
 * reasons, the kernel log
 */
#define _GNU_SOURCE
#include <limits.h>

#include "xsk_attach_common.h"
#include "xsk_fastpath.h"

FIXTURE(xsk_options)
{
	struct testbed bed;
	int kmsg;
};

FIXTURE_SETUP(xsk_options)
{
	bed_attach(_metadata, &self->bed, false, false, false);
	self->kmsg = kmsg_open();
	ASSERT_LE(0, self->kmsg);
}

FIXTURE_TEARDOWN(xsk_options)
{
}

/* Larger than the structures of this kernel, smaller than a page */
#define LONG	256
#define HUGE	65536

static int set(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, option, value, len) ? errno : 0;
}

/* Return: number of bytes that getsockopt() wrote; -1 on failure */
static int get(int fd, int option, void *value, socklen_t len)
{
	memset(value, 0xa5, LONG);
	return getsockopt(fd, SOL_XDP, option, value, &len) ? -1 : (int)len;
}

static bool untouched(const unsigned char *value, int from)
{
	while (from < LONG && value[from] == 0xa5)
		from++;
	return from == LONG;
}

/*
 * setsockopt() accepts @min to LONG bytes if the rest is zero, with the result
 * @ok, and nothing else
 */
static void expect_set_sizes(struct __test_metadata *_metadata, int fd,
			     int option, const void *request, int size,
			     int min, int ok)
{
	unsigned char *value = calloc(1, HUGE);
	int len;

	ASSERT_NE(NULL, value);
	memcpy(value, request, size);
	for (len = 0; len <= LONG; len++) {
		EXPECT_EQ(len < min ? EINVAL : ok, set(fd, option, value, len))
			TH_LOG("%d bytes", len);
	}
	EXPECT_EQ(E2BIG, set(fd, option, value, HUGE));
	EXPECT_EQ(E2BIG, set(fd, option, value, INT_MAX));
	for (len = size; len < LONG; len++) {
		value[len] = 1;
		EXPECT_EQ(E2BIG, set(fd, option, value, LONG));
		value[len] = 0;
	}
	EXPECT_EQ(EFAULT, set(fd, option, NULL, size));
	free(value);
}

/* getsockopt() writes what fits, and no more than @size bytes */
static void expect_get_sizes(struct __test_metadata *_metadata, int fd,
			     int option, int size)
{
	unsigned char value[LONG], whole[LONG];
	int len;

	ASSERT_EQ(size, get(fd, option, whole, LONG));
	EXPECT_TRUE(untouched(whole, size));
	for (len = 0; len <= LONG; len++) {
		int fits = len < size ? len : size;

		EXPECT_EQ(fits, get(fd, option, value, len));
		EXPECT_EQ(0, memcmp(value, whole, fits));
		EXPECT_TRUE(untouched(value, fits));
	}
}

/* Binaries with a shorter or longer struct xdp_attach work */
TEST_F_TIMEOUT(xsk_options, attach_sizes, TIMEOUT)
{
	struct xdp_attach attach = { .flags = XDP_ATTACH_F_SKB_MODE };
	int fd = socket(AF_XDP, SOCK_RAW, 0);
	__u32 flags = XDP_ATTACH_F_DRV_MODE;

	ASSERT_LE(0, fd);
	expect_set_sizes(_metadata, fd, XDP_ATTACH, &attach, sizeof(attach),
			 sizeof(flags), 0);
	expect_get_sizes(_metadata, fd, XDP_ATTACH, sizeof(attach));
	expect_get_sizes(_metadata, fd, XDP_FASTPATH_FEATURES, sizeof(__u64));

	/* What fails has changed nothing */
	ASSERT_EQ(0, xsk_fastpath__attach_query(fd, &attach));
	EXPECT_EQ(XDP_ATTACH_F_SKB_MODE, attach.flags);
	ASSERT_EQ(0, set(fd, XDP_ATTACH, &flags, sizeof(flags)));
	ASSERT_EQ(0, xsk_fastpath__attach_query(fd, &attach));
	EXPECT_EQ(flags, attach.flags);
	EXPECT_EQ(XDP_ATTACH_S_REQUESTED, attach.state);
	close(fd);
}

/* Binaries with a shorter or longer struct xdp_recycle work */
TEST_F_TIMEOUT(xsk_options, recycle_sizes, TIMEOUT)
{
	struct xdp_recycle recycle = { .fd = -1 };
	int fd = socket(AF_XDP, SOCK_RAW, 0);

	ASSERT_LE(0, fd);
	/* The size comes first, then that the socket is not bound */
	expect_set_sizes(_metadata, fd, XDP_RECYCLE, &recycle, sizeof(recycle),
			 sizeof(recycle.fd), ENOTCONN);
	expect_get_sizes(_metadata, fd, XDP_RECYCLE, sizeof(recycle));
	expect_get_sizes(_metadata, fd, XDP_RECYCLE_STATS,
			 sizeof(struct xdp_recycle_stats));
	EXPECT_EQ(ENOPROTOOPT, set(fd, XDP_RECYCLE_STATS, &recycle,
				   sizeof(recycle)));
	close(fd);

	/* A bound socket that is not paired can be unpaired */
	ASSERT_EQ(0, xsk_create(&self->bed.rx, &self->bed.opts));
	expect_set_sizes(_metadata, self->bed.rx.fd, XDP_RECYCLE, &recycle,
			 sizeof(recycle), sizeof(recycle.fd), 0);
	recycle.entry = 1;
	EXPECT_EQ(EINVAL, set(self->bed.rx.fd, XDP_RECYCLE, &recycle,
			      sizeof(recycle)));
	recycle.entry = 0;
	recycle.flags = XDP_RECYCLE_F_CHECK;
	EXPECT_EQ(EINVAL, set(self->bed.rx.fd, XDP_RECYCLE, &recycle,
			      sizeof(recycle)));
	recycle.flags = 0;
	recycle.state = XDP_RECYCLE_S_ON;
	EXPECT_EQ(EINVAL, set(self->bed.rx.fd, XDP_RECYCLE, &recycle,
			      sizeof(recycle)));
}

/* A library whose attached bind() failed continues with a program and a map */
TEST_F_TIMEOUT(xsk_options, withdrawn_before_bind, TIMEOUT)
{
	const struct xdp_attach both = {
		.flags = XDP_ATTACH_F_OFF | XDP_ATTACH_F_SKB_MODE,
	};
	struct testbed *b = &self->bed;
	struct xdp_attach attach;

	bed_load(_metadata, b, NULL);
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	b->opts.attach_flags |= XDP_ATTACH_F_IF_NOEXIST;
	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	ASSERT_EQ(-EEXIST, xsk_bind(&b->rx));

	EXPECT_EQ(EINVAL, set(b->rx.fd, XDP_ATTACH, &both, sizeof(both)));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_R_REGULAR, attach.reason);
	ASSERT_EQ(0, xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.reason);

	ASSERT_EQ(0, xsk_bind(&b->rx));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);
	EXPECT_EQ(-EBUSY, xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	/* Bound without the option: no built-in program afterwards */
	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	expect_no_prog(_metadata, RX_DEV);
}

/* The option can be set again after it was withdrawn */
TEST_F_TIMEOUT(xsk_options, requested_after_withdrawal, TIMEOUT)
{
	struct testbed *b = &self->bed;

	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	ASSERT_EQ(0, xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	ASSERT_EQ(0, xsk_fastpath__attach(b->rx.fd, b->opts.attach_flags));
	ASSERT_EQ(0, xsk_bind(&b->rx));
	expect_active(_metadata, &b->rx);
}

/* A regular program is the reason while it is attached, and no longer */
TEST_F_TIMEOUT(xsk_options, reason_follows_state, TIMEOUT)
{
	static const char waits[] =
		RX_DEV ": AF_XDP socket attached to queue 0 waits for XDP program";
	struct testbed *b = &self->bed;
	struct xdp_attach attach;

	bed_load(_metadata, b, NULL);
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	EXPECT_TRUE(kmsg_find(self->kmsg, waits));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_SHADOWED, attach.state);
	EXPECT_EQ(XDP_ATTACH_R_REGULAR, attach.reason);

	ASSERT_EQ(0, regular_detach(b->xdp_flags));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_ACTIVE, attach.state);
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.reason);

	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_pass, b->xdp_flags));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_R_REGULAR, attach.reason);
}

/* Repeated attempts of one socket log interface, queue and reason once */
TEST_F_TIMEOUT(xsk_options, failure_is_logged_once, TIMEOUT)
{
	static const char text[] =
		RX_DEV ": AF_XDP socket not attached to queue 1: another socket is";
	struct testbed *b = &self->bed;
	struct xsk other;
	int i;

	b->opts.queue = 1;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, xsk_open(&other, &b->opts));
	ASSERT_EQ(-EBUSY, xsk_bind(&other));
	EXPECT_TRUE(kmsg_find(self->kmsg, text));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(-EBUSY, xsk_bind(&other));
	EXPECT_FALSE(kmsg_find(self->kmsg, "AF_XDP socket not attached"));
}

/* Root of a user namespace does not write to the log of the host */
TEST_F_TIMEOUT(xsk_options, container_does_not_log, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct veth_opts veth = {};
	struct xdp_attach attach;
	struct xsk x;

	if (!root_of_new_user_ns())
		SKIP(return, "no user namespaces");
	ASSERT_EQ(0, veth_create(&veth));
	b->opts.queue = QUEUES;
	ASSERT_EQ(0, xsk_open(&x, &b->opts));
	ASSERT_EQ(-ERANGE, xsk_bind(&x));
	ASSERT_EQ(0, xsk_query(&x, &attach));
	EXPECT_EQ(XDP_ATTACH_R_NO_QUEUE, attach.reason);
	EXPECT_FALSE(kmsg_find(self->kmsg, "AF_XDP socket"));
}

/* "xdp off" warns that there is only the built-in program */
TEST_F_TIMEOUT(xsk_options, xdp_off_warns, TIMEOUT)
{
	struct testbed *b = &self->bed;

	ASSERT_EQ(0, run("! ip link set dev " RX_DEV " xdp off 2>&1 | grep ."));
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	EXPECT_EQ(0, run("ip link set " RX_DEV " xdp off 2>&1 | grep -q Warning"));
	EXPECT_EQ(0, run("ip link set dev " RX_DEV " xdp off 2>/dev/null"));
	expect_active(_metadata, &b->rx);
}

/* sock_diag dumps statistics and pair of recycling on request */
TEST_F_TIMEOUT(xsk_options, recycle_in_sock_diag, TIMEOUT)
{
	const struct xdp_recycle_stats none = {};
	const struct xdp_diag_pair no_pair = {};
	struct testbed *b = &self->bed;
	const struct diag_socket *s;
	static struct diag d;

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, diag_dump(&d, XDP_SHOW_ATTACH));
	s = diag_find(&d, b->rx.fd);
	ASSERT_NE(NULL, s);
	EXPECT_FALSE(s->has_recycle);
	EXPECT_FALSE(s->has_pair);
	ASSERT_EQ(0, diag_dump(&d, XDP_SHOW_RECYCLE));
	s = diag_find(&d, b->rx.fd);
	ASSERT_NE(NULL, s);
	ASSERT_TRUE(s->has_recycle);
	ASSERT_TRUE(s->has_pair);
	EXPECT_FALSE(s->has_attach);
	EXPECT_EQ(0, memcmp(&s->recycle, &none, sizeof(none)));
	EXPECT_EQ(0, memcmp(&s->pair, &no_pair, sizeof(no_pair)));
}

/* sock_diag dumps the value of XDP_TX_INORDER on request, also before bind() */
TEST_F_TIMEOUT(xsk_options, inorder_in_sock_diag, TIMEOUT)
{
	const struct diag_socket *s;
	static struct diag d;
	__u32 on;
	int fd;

	fd = socket(AF_XDP, SOCK_RAW, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, diag_dump(&d, ~XDP_SHOW_INORDER));
	s = diag_find(&d, fd);
	ASSERT_NE(NULL, s);
	EXPECT_FALSE(s->has_inorder);

	for (on = 0; on < 2; on++) {
		ASSERT_EQ(0, set(fd, XDP_TX_INORDER, &on, sizeof(on)));
		ASSERT_EQ(0, diag_dump(&d, XDP_SHOW_INORDER));
		s = diag_find(&d, fd);
		ASSERT_NE(NULL, s);
		ASSERT_TRUE(s->has_inorder);
		EXPECT_EQ(on, s->inorder);
		EXPECT_FALSE(s->has_recycle);
	}
	close(fd);
}

/* A queue that AF_XDP uses has the nest in queue-get, another one has not */
TEST_F_TIMEOUT(xsk_options, queue_in_use, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct queue_info q;

	ASSERT_EQ(0, queue_get(&q, RX_DEV, 0, false));
	EXPECT_FALSE(q.used);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, queue_get(&q, RX_DEV, 1, false));
	EXPECT_FALSE(q.used);
	ASSERT_EQ(0, queue_get(&q, TX_DEV, 0, true));
	EXPECT_FALSE(q.used);

	/* Released asynchronously */
	xsk_close(&b->rx);
	ASSERT_EQ(0, queue_settle(RX_DEV, 0));
	ASSERT_EQ(0, run("ethtool -L " RX_DEV " rx 1"));
	ASSERT_EQ(0, queue_get(&q, RX_DEV, 0, false));
	EXPECT_FALSE(q.used);
}

/* Without XDP_ATTACH, an Rx queue has no attached socket */
TEST_F_TIMEOUT(xsk_options, queue_without_attach, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct queue_info q;

	b->opts.attach = false;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, queue_get(&q, RX_DEV, 0, false));
	EXPECT_TRUE(queue_has(&q, NETDEV_A_XSK_INFO_ATTACH_STATE));
	EXPECT_EQ(NETDEV_XSK_ATTACH_STATE_NONE,
		  queue_value(&q, NETDEV_A_XSK_INFO_ATTACH_STATE));
	EXPECT_FALSE(queue_has(&q, NETDEV_A_XSK_INFO_ATTACH_PROG_ID));
	EXPECT_EQ(NETDEV_XSK_REASON_ZC_DRIVER,
		  queue_value(&q, NETDEV_A_XSK_INFO_ZC_REASON));
}

/* A Tx queue reports how it completes */
TEST_F_TIMEOUT(xsk_options, queue_inorder, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct queue_info q;
	int inorder;

	b->opts.attach = false;
	b->opts.tx = true;
	b->opts.dev = TX_DEV;
	for (inorder = 0; inorder < 2; inorder++) {
		b->opts.queue = inorder;
		b->opts.inorder = inorder;
		ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
		ASSERT_EQ(0, queue_get(&q, TX_DEV, inorder, true));
		EXPECT_EQ(inorder,
			  queue_has(&q, NETDEV_A_XSK_INFO_TX_INORDER));
		EXPECT_TRUE(queue_has(&q, NETDEV_A_XSK_INFO_RECYCLE_STATE));
		EXPECT_EQ(NETDEV_XSK_RECYCLE_STATE_OFF,
			  queue_value(&q, NETDEV_A_XSK_INFO_RECYCLE_STATE));
		EXPECT_FALSE(queue_has(&q, NETDEV_A_XSK_INFO_RECYCLE_IFINDEX));
		EXPECT_FALSE(queue_has(&q, NETDEV_A_XSK_INFO_ATTACH_STATE));
	}
}

/* Sockets with and without XDP_ATTACH know why they are not zero-copy */
TEST_F_TIMEOUT(xsk_options, zero_copy_reason, TIMEOUT)
{
	static const char text[] =
		RX_DEV ": AF_XDP socket not zero-copy on queue 0: the driver has no";
	struct testbed *b = &self->bed;
	struct xdp_attach attach = { .zc_reason = XDP_ATTACH_R_ZC_DRIVER };
	struct xsk x;

	ASSERT_EQ(0, xsk_open(&x, &b->opts));
	EXPECT_EQ(EINVAL, set(x.fd, XDP_ATTACH, &attach, sizeof(attach)));
	x.opts.bind_flags = XDP_ZEROCOPY;
	ASSERT_EQ(-EOPNOTSUPP, xsk_bind(&x));
	EXPECT_TRUE(kmsg_find(self->kmsg, text));
	ASSERT_EQ(0, xsk_query(&x, &attach));
	EXPECT_EQ(XDP_ATTACH_R_ZC_DRIVER, attach.reason);
	EXPECT_EQ(XDP_ATTACH_R_ZC_DRIVER, attach.zc_reason);
	x.opts.bind_flags = XDP_COPY;
	ASSERT_EQ(0, xsk_bind(&x));
	ASSERT_EQ(0, xsk_query(&x, &attach));
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.zc_reason);
	xsk_close(&x);

	b->opts.attach = false;
	b->opts.bind_flags = 0;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.reason);
	EXPECT_EQ(XDP_ATTACH_R_ZC_DRIVER, attach.zc_reason);
}

/* Root of a user namespace reads the reason, but does not write to the log */
TEST_F_TIMEOUT(xsk_options, container_zero_copy_reason, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct veth_opts veth = {};
	struct xdp_attach attach;
	struct xsk x;

	if (!root_of_new_user_ns())
		SKIP(return, "no user namespaces");
	ASSERT_EQ(0, veth_create(&veth));
	b->opts.attach = false;
	b->opts.bind_flags = XDP_ZEROCOPY;
	ASSERT_EQ(0, xsk_open(&x, &b->opts));
	ASSERT_EQ(-EOPNOTSUPP, xsk_bind(&x));
	ASSERT_EQ(0, xsk_query(&x, &attach));
	EXPECT_EQ(XDP_ATTACH_R_ZC_DRIVER, attach.zc_reason);
	EXPECT_FALSE(kmsg_find(self->kmsg, "AF_XDP socket"));
}

#define TRACEFS	"/sys/kernel/tracing/"

/* Whether the trace has an event of @x with that text */
static bool traced(const struct xsk *x, const char *text)
{
	char pattern[256];

	snprintf(pattern, sizeof(pattern),
		 "grep -q 'xsk_drop: ifindex=%u queue=0 cookie=[1-9][0-9]* %s' "
		 TRACEFS "trace", if_nametoindex(x->opts.dev), text);
	return !run("%s", pattern);
}

static int drops_read(const struct xsk *x, struct xdp_drop_stats *stats)
{
	return xsk_fastpath__drop_stats(x->fd, stats);
}

/* The cause of each drop is in the option, in sock_diag and in the trace */
TEST_F_TIMEOUT(xsk_options, drop_causes, TIMEOUT)
{
	struct testbed *b = &self->bed;
	const struct diag_socket *s;
	struct xdp_statistics stats;
	struct xdp_drop_stats now, want = {};
	static struct diag d;
	int i;

	ASSERT_TRUE(kernel_has(XDP_FASTPATH_F_DROPS));
	b->opts.tx = true;
	b->opts.rx_size = 8;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	expect_get_sizes(_metadata, b->rx.fd, XDP_DROP_STATS, sizeof(now));
	EXPECT_EQ(ENOPROTOOPT, set(b->rx.fd, XDP_DROP_STATS, &now,
				   sizeof(now)));
	ASSERT_EQ(0, drops_read(&b->rx, &now));
	EXPECT_EQ(0, memcmp(&now, &want, sizeof(now)));
	/* The sysfs of the network namespace has none */
	ASSERT_EQ(0, run("mount -t tracefs none " TRACEFS));
	ASSERT_EQ(0, write_file(TRACEFS "events/xsk/xsk_drop/enable", "1"));

	/* Eight packets fill the Rx ring, and three are dropped */
	b->flow.gaps = true;
	bed_sender(_metadata, b);
	b->flow.rx = &b->rx;
	xsk_refill(&b->rx);
	ASSERT_EQ(0, flow_send(&b->flow, 8 + 3));
	want.count[XDP_DROP_RX_RING_FULL] = 3;

	xsk_put(&b->rx, 0, 0, 0);
	xsk_put(&b->rx, CHUNK - 1, 60, 0);
	xsk_put(&b->rx, 1ULL << 40, 60, 0);
	xsk_put(&b->rx, 0, 60, 1 << 31);
	/* Each call ends at an invalid descriptor */
	for (i = 0; i < 4; i++)
		xsk_kick(&b->rx);
	want.count[XDP_DROP_TX_EMPTY] = 1;
	want.count[XDP_DROP_TX_CHUNK] = 1;
	want.count[XDP_DROP_TX_ADDR] = 1;
	want.count[XDP_DROP_TX_OPTIONS] = 1;

	ASSERT_EQ(0, drops_read(&b->rx, &now));
	EXPECT_EQ(0, memcmp(&now, &want, sizeof(now)));
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(3, stats.rx_ring_full);
	EXPECT_EQ(0, stats.rx_dropped);
	EXPECT_EQ(4, stats.tx_invalid_descs);

	ASSERT_EQ(0, diag_dump(&d, XDP_SHOW_DROPS));
	s = diag_find(&d, b->rx.fd);
	ASSERT_NE(NULL, s);
	ASSERT_TRUE(s->has_drops);
	EXPECT_FALSE(s->has_recycle);
	EXPECT_EQ(0, memcmp(&s->drops, &want, sizeof(want)));

	EXPECT_EQ(0, write_file(TRACEFS "events/xsk/xsk_drop/enable", "0"));
	EXPECT_TRUE(traced(&b->rx, "reason=rx_ring_full count=1 len="));
	EXPECT_TRUE(traced(&b->rx,
			   "reason=tx_chunk count=1 len=60 addr=0xfff options=0x0$"));
	EXPECT_TRUE(traced(&b->rx,
			   "reason=tx_options count=1 len=60 addr=0x0 options=0x80000000$"));
	EXPECT_FALSE(traced(&b->rx, "reason=tx_page"));
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
