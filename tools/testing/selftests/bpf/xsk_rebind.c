// SPDX-License-Identifier: GPL-2.0
/* bind() and ethtool right after close(): queues that are being released.
 * XSK_REBIND_CYCLES is the number of sockets of the longer tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/ethtool.h>
#include <sched.h>

#include "xsk_attach_common.h"

#define UPPER		"xa_up"
#define CYCLES		20
/* Rounds in which a NIC is reset, which takes long */
#define RESETS		2
/* bind() waits for 10 seconds: less than half of them is "at once" */
#define AT_ONCE_MS	5000
#define TRIES		1000

FIXTURE(xsk_rebind)
{
	struct testbed bed;
	struct xsk keeper;
	int cycles;
};

FIXTURE_VARIANT(xsk_rebind)
{
	bool plain;	/* without XDP_ATTACH */
	bool skb;
	bool zc;
};

FIXTURE_VARIANT_ADD(xsk_rebind, plain)
{
	.plain = true,
};

FIXTURE_VARIANT_ADD(xsk_rebind, skb)
{
	.skb = true,
};

FIXTURE_VARIANT_ADD(xsk_rebind, drv)
{
};

FIXTURE_VARIANT_ADD(xsk_rebind, zc)
{
	.zc = true,
};

FIXTURE_VARIANT_ADD(xsk_rebind, zc_plain)
{
	.plain = true,
	.zc = true,
};

FIXTURE_SETUP(xsk_rebind)
{
	const char *cycles = getenv("XSK_REBIND_CYCLES");
	struct testbed *b = &self->bed;

	if (!bed_make(_metadata, b, variant->skb, variant->zc, false))
		return;
	b->opts.attach = !variant->plain;
	b->opts.attach_flags = variant->skb ? XDP_ATTACH_F_SKB_MODE :
					      XDP_ATTACH_F_DRV_MODE;
	self->cycles = cycles ? atoi(cycles) : CYCLES;
}

FIXTURE_TEARDOWN(xsk_rebind)
{
}

/* A NIC is reset when its first or last program comes or goes: not every time */
static void keep_builtin(struct __test_metadata *_metadata, struct testbed *b,
			 struct xsk *keeper)
{
	struct xsk_opts opts = b->opts;

	if (!b->zc || !b->opts.attach)
		return;
	opts.queue = 1;
	opts.no_rx = true;
	opts.tx = true;
	ASSERT_EQ(0, xsk_create(keeper, &opts));
}

static int bind_once(struct xsk *x)
{
	int err = xsk_bind(x);

	return err ? complain(err, "bind to queue %u of %s", x->opts.queue,
			      x->opts.dev) : 0;
}

/* Bind a socket on each byte from @from, close it, and write a byte to @to */
static int take_turns(const struct xsk_opts *opts, const int *from,
		      const int *to, int turns)
{
	struct xsk x;
	int err;

	while (turns--) {
		/* Not between the other's close() and the own bind() */
		err = xsk_open(&x, opts);
		if (!err && !helper_wait(from))
			err = -EPIPE;
		err = err ?: bind_once(&x);
		if (err)
			return err;
		xsk_close(&x);
		/* Fails in the last turn, and if the other one has failed */
		helper_tell(to);
	}
	return 0;
}

static void alternate(struct __test_metadata *_metadata, struct testbed *b,
		      int turns)
{
	struct helper other;
	int status;

	signal(SIGPIPE, SIG_IGN);
	ASSERT_LE(0, helper_fork(&other));
	if (!other.pid)
		_exit(!!take_turns(&b->opts, other.to, other.from, turns));
	ASSERT_TRUE(helper_tell(other.to));
	ASSERT_EQ(0, take_turns(&b->opts, other.from, other.to, turns));
	ASSERT_EQ(other.pid, waitpid(other.pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Two processes alternate on a queue, and never find it busy */
TEST_F_TIMEOUT(xsk_rebind, after_close, TIMEOUT)
{
	struct testbed *b = &self->bed;

	/* Each bind() and close() installs and removes the built-in program */
	if (b->zc && b->opts.attach)
		alternate(_metadata, b, RESETS);
	keep_builtin(_metadata, b, &self->keeper);
	alternate(_metadata, b, self->cycles / 2);
}

/* Open a socket, bind it when told, and keep it until killed */
static void own_for_ever(const struct xsk_opts *opts, const struct helper *h)
{
	struct xsk x;

	if (xsk_open(&x, opts) || !helper_tell(h->from) ||
	    !helper_wait(h->to) || bind_once(&x))
		_exit(1);
	helper_tell(h->from);
	for (;;)
		pause();
}

static void owner_fork(struct __test_metadata *_metadata,
		       const struct xsk_opts *opts, struct helper *h)
{
	ASSERT_LE(0, helper_fork(h));
	if (!h->pid)
		own_for_ever(opts, h);
	ASSERT_TRUE(helper_wait(h->from));
}

static void owner_bind(struct __test_metadata *_metadata, struct helper *h)
{
	ASSERT_TRUE(helper_tell(h->to));
	ASSERT_TRUE(helper_wait(h->from));
}

static void owner_end(struct helper *h)
{
	helper_kill(h);
	close(h->to[1]);
	close(h->from[0]);
}

static void succeed(struct __test_metadata *_metadata,
		    const struct xsk_opts *opts, int turns)
{
	struct helper owner, heir;

	owner_fork(_metadata, opts, &owner);
	owner_bind(_metadata, &owner);
	while (turns--) {
		owner_fork(_metadata, opts, &heir);
		owner_end(&owner);
		owner_bind(_metadata, &heir);
		owner = heir;
	}
	owner_end(&owner);
}

/* A queue is never busy once SIGKILL has ended its owner */
TEST_F_TIMEOUT(xsk_rebind, after_kill, TIMEOUT)
{
	struct testbed *b = &self->bed;

	if (b->zc && b->opts.attach)
		succeed(_metadata, &b->opts, RESETS);
	keep_builtin(_metadata, b, &self->keeper);
	succeed(_metadata, &b->opts, self->cycles);
}

static void expect_busy_at_once(struct __test_metadata *_metadata,
				struct xsk *x)
{
	long long start = now_ms();

	EXPECT_EQ(-EBUSY, xsk_bind(x));
	EXPECT_GT(AT_ONCE_MS, now_ms() - start);
}

/* bind() does not wait for a socket that is open, whoever holds it */
TEST_F_TIMEOUT(xsk_rebind, busy_while_open, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct helper heir;
	struct xsk second;

	keep_builtin(_metadata, b, &self->keeper);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, xsk_open(&second, &b->opts));
	expect_busy_at_once(_metadata, &second);

	/* A process that inherited the descriptor */
	ASSERT_LE(0, helper_fork(&heir));
	if (!heir.pid)
		for (;;)
			pause();
	xsk_close(&b->rx);
	expect_busy_at_once(_metadata, &second);
	helper_kill(&heir);
	EXPECT_EQ(0, xsk_bind(&second));
	xsk_close(&second);
}

/* Two sockets share the queue: it is released with the second one */
TEST_F_TIMEOUT(xsk_rebind, shared_queue, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk_opts opts = b->opts;
	struct xsk sharing, next;

	opts.attach = false;
	opts.tx = true;
	opts.no_rx = true;
	keep_builtin(_metadata, b, &self->keeper);
	b->opts.chunks = CHUNKS / 2;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	opts.share = &b->rx;
	opts.share_rings = true;
	ASSERT_EQ(0, xsk_create(&sharing, &opts));
	ASSERT_EQ(0, xsk_open(&next, &b->opts));

	ASSERT_EQ(0, close(b->rx.fd));
	expect_busy_at_once(_metadata, &next);
	xsk_close(&sharing);
	expect_busy_at_once(_metadata, &next);
	/* Mappings of rings hold the first one */
	b->rx.fd = -1;
	xsk_close(&b->rx);
	EXPECT_EQ(0, xsk_bind(&next));
	xsk_close(&next);
}

static void set_nonblock(struct __test_metadata *_metadata, struct xsk *x,
			 bool on)
{
	ASSERT_EQ(0, fcntl(x->fd, F_SETFL, on ? O_NONBLOCK : 0));
}

/* With O_NONBLOCK, bind() fails while the queue is being released */
TEST_F_TIMEOUT(xsk_rebind, nonblock, TIMEOUT)
{
	struct testbed *b = &self->bed;
	int err = 0, tries = TRIES;
	cpu_set_t cpu;
	struct xsk x;

	/* The work item runs on the CPU of close(), and so after bind() */
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpu), &cpu));
	keep_builtin(_metadata, b, &self->keeper);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	while (!err && tries--) {
		ASSERT_EQ(0, xsk_open(&x, &b->opts));
		set_nonblock(_metadata, &x, true);
		xsk_close(&b->rx);
		err = xsk_bind(&x);
		if (err) {
			EXPECT_EQ(-EBUSY, err);
			set_nonblock(_metadata, &x, false);
			EXPECT_EQ(0, xsk_bind(&x));
		}
		b->rx = x;
	}
	EXPECT_EQ(-EBUSY, err);
	xsk_close(&b->rx);
}

/* A process can be killed while it waits, which disturbs nobody */
TEST_F_TIMEOUT(xsk_rebind, waiter_killed, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct helper waiter;
	int i;

	for (i = 0; i < RESETS; i++) {
		ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
		ASSERT_LE(0, helper_fork(&waiter));
		if (!waiter.pid) {
			/* Inherited */
			xsk_close(&b->rx);
			own_for_ever(&b->opts, &waiter);
		}
		ASSERT_TRUE(helper_wait(waiter.from));
		xsk_close(&b->rx);
		ASSERT_TRUE(helper_tell(waiter.to));
		nap(5);
		owner_end(&waiter);
	}
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	xsk_close(&b->rx);
}

/* Packets of a closed socket in a qdisc do not keep the queue */
TEST_F_TIMEOUT(xsk_rebind, held_packets, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct flow f = { .tx = &b->tx, .max_len = FRAME_LEN };
	struct xsk next;

	if (b->zc)
		SKIP(return, "zero-copy packets pass no qdisc");
	ASSERT_EQ(0, run("ip link add link " TX_DEV " name " UPPER
			 " type vlan id 5"));
	ASSERT_EQ(0, run("ip link set " UPPER " up"));
	ASSERT_EQ(0, run("tc qdisc add dev " TX_DEV
			 " root plug limit 10000000"));
	ASSERT_EQ(0, run("tc qdisc change dev " TX_DEV " root plug block"));
	b->opts.dev = UPPER;
	b->opts.attach_flags = XDP_ATTACH_F_SKB_MODE;
	b->opts.tx = true;
	b->opts.no_rx = true;

	ASSERT_EQ(0, xsk_create(&b->tx, &b->opts));
	ASSERT_EQ(0, flow_put(&f, SOME / 2));
	ASSERT_EQ(0, xsk_kick(&b->tx));
	ASSERT_EQ(0, xsk_open(&next, &b->opts));
	xsk_close(&b->tx);
	ASSERT_EQ(0, xsk_bind(&next));

	/* Complete them, while another socket has the queue, and after it */
	ASSERT_EQ(0, run("tc qdisc change dev " TX_DEV
			 " root plug release_indefinite"));
	xsk_close(&next);
	ASSERT_EQ(0, xsk_create(&next, &b->opts));
	xsk_close(&next);
}

/* Sockets of the other mode are closed, but not yet released */
TEST_F_TIMEOUT(xsk_rebind, other_mode, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk_opts opts = b->opts;
	struct xsk x;
	int i;

	if (!b->opts.attach)
		SKIP(return, "no mode without XDP_ATTACH");
	opts.queue = 1;
	opts.attach_flags ^= XDP_ATTACH_F_SKB_MODE | XDP_ATTACH_F_DRV_MODE;
	opts.bind_flags = 0;
	for (i = 0; i < RESETS; i++) {
		ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
		ASSERT_EQ(0, xsk_open(&x, &opts));
		EXPECT_EQ(-EEXIST, xsk_bind(&x));
		xsk_close(&b->rx);
		ASSERT_EQ(0, xsk_bind(&x));
		xsk_close(&x);
	}
}

/* ethtool -L, by netlink and by ioctl, removes the queue of a closed socket */
TEST_F_TIMEOUT(xsk_rebind, channels, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct ethtool_channels queues;
	int i;

	/* A filter of an earlier test keeps its queue in use, too */
	if (b->zc)
		ASSERT_EQ(0, run("ethtool -N " RX_DEV " delete 1 || true"));
	b->opts.queue = 1;
	for (i = 0; i < RESETS; i++) {
		ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
		if (!b->zc)
			ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx 1"));
		queues.cmd = ETHTOOL_GCHANNELS;
		ASSERT_EQ(0, dev_ethtool(RX_DEV, &queues));
		queues.cmd = ETHTOOL_SCHANNELS;
		if (b->zc)
			queues.combined_count = 1;
		else
			queues.rx_count = 1;
		EXPECT_EQ(-EINVAL, dev_ethtool(RX_DEV, &queues));
		xsk_close(&b->rx);
		EXPECT_EQ(0, i % 2 ? dev_ethtool(RX_DEV, &queues) :
				     run("ethtool -L " RX_DEV " %s 1",
					 b->zc ? "combined" : "rx"));
		ASSERT_EQ(0, run(b->zc ? "ethtool -L " RX_DEV " combined 2" :
					 "ethtool -L " RX_DEV " rx 3"));
		if (!b->zc)
			ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx 3"));
	}
}

/* ethtool -G, which i40e refuses while a queue is zero-copy */
TEST_F_TIMEOUT(xsk_rebind, ring_size, TIMEOUT)
{
	struct testbed *b = &self->bed;
	int i;

	if (!b->zc)
		SKIP(return, "veth has no rings to resize");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
		xsk_close(&b->rx);
		EXPECT_EQ(0, run("ethtool -G " RX_DEV " rx %d",
				 i ? 512 : 1024));
	}
}

/* Without arguments: the zero-copy variants if there are ports, else the others */
int main(int argc, char **argv)
{
	char only[][16] = { "-Vzc", "-Vzc_plain" };
	char *args[3] = { argv[0], only[0], only[1] };
	int i;

	for (i = 0; with_ports() && i < ARRAY_SIZE(only); i++)
		only[i][1] = 'v';
	return argc > 1 ? run_tests(argc, argv) :
			  run_tests(ARRAY_SIZE(args), args);
}
