// SPDX-License-Identifier: GPL-2.0
/*
 * AF_XDP on shared machines: unprivileged users, containers and applications
 * with bugs must harm neither the kernel nor other users.
 *
 * Tests of XDP_ATTACH are skipped on kernels without it; the others test AF_XDP
 * itself. With XSK_ATTACH_TX and XSK_ATTACH_RX, only the zc variants run, on two
 * ports of a NIC that receive each other's frames, see xsk_attach.c. As there,
 * XSK_ATTACH_FRAMES is the number of frames that the longer tests send.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/xdp_diag.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "xsk_test_fixture.h"

#define TAP_DEV		"xa_tap"

/* Return: true if @dev is bound to driver @name */
static bool driver_is(const char *dev, const char *name)
{
	char link[128], path[PATH_MAX];

	snprintf(link, sizeof(link), "/sys/class/net/%s/device/driver", dev);
	return realpath(link, path) && !strcmp(basename(path), name);
}

static int xskmap_set(const struct xsk_test_progs *skel, const struct xsk *x)
{
	__u32 key = 0;

	return bpf_map_update_elem(bpf_map__fd(skel->maps.sockets), &key,
				   &x->fd, BPF_ANY);
}

/*
 * Tap devices: native XDP runs in the context of write(), which any number of
 * threads can call on any CPU for one queue. No NAPI instance owns that queue.
 */

#define WRITERS		4
#define WRITER_SHIFT	24

/*
 * struct writer - a thread that writes frames into the tap device
 * @flow: its frames; the upper bits of their sequence numbers are the thread's
 * @frames: number of frames left to write
 * @running: number of threads that still write
 */
struct writer {
	struct flow flow;
	pthread_t thread;
	int fd;
	int err;
	__u32 frames;
	__u32 *running;
};

/*
 * struct tap - a tap device with an AF_XDP socket on queue 0
 * @fd: its queues; the second one only with IFF_MULTI_QUEUE
 * @running: number of threads that still write
 */
struct tap {
	int fd[2];
	struct xsk rx;
	struct writer writers[WRITERS];
	__u32 running;
};

FIXTURE(tap)
{
	struct tap tap;
};

FIXTURE_VARIANT(tap)
{
	short flags;
};

FIXTURE_VARIANT_ADD(tap, plain)
{
};

FIXTURE_VARIANT_ADD(tap, multi_queue)
{
	.flags = IFF_MULTI_QUEUE,
};

FIXTURE_VARIANT_ADD(tap, napi)
{
	.flags = IFF_NAPI,
};

FIXTURE_SETUP(tap)
{
}

FIXTURE_TEARDOWN(tap)
{
}

static int tap_open(short flags)
{
	struct ifreq ifr = {
		.ifr_name = TAP_DEV,
		.ifr_flags = IFF_TAP | IFF_NO_PI | flags,
	};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr))
		return complain(-errno, "tap device");
	return fd;
}

static void tap_create(struct __test_metadata *_metadata, struct tap *t,
		       short flags)
{
	t->fd[0] = tap_open(flags);
	ASSERT_LE(0, t->fd[0]);
	if (flags & IFF_MULTI_QUEUE) {
		t->fd[1] = tap_open(flags);
		ASSERT_LE(0, t->fd[1]);
	}
	ASSERT_EQ(0, run("ip link set " TAP_DEV " up"));
}

/* With the mode that udev gives it, in a mount namespace of this process */
static int tun_for_everyone(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tun", "/dev/net", "tmpfs", 0, NULL) ||
	    mknod("/dev/net/tun", S_IFCHR, makedev(10, 200)) ||
	    chmod("/dev/net/tun", 0666))
		return complain(-errno, "/dev/net/tun for everyone");
	return 0;
}

static void *writer_run(void *arg)
{
	struct writer *w = arg;
	char frame[FRAME_MAX];
	__u32 len;

	while (!w->err && w->frames--) {
		len = frame_build(&w->flow, frame, w->flow.sent++);
		if (write(w->fd, frame, len) < 0 && errno != EAGAIN &&
		    errno != ENOBUFS && errno != ENOMEM)
			w->err = complain(-errno, "write to a tap device");
	}
	__atomic_fetch_sub(w->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void writer_init(struct writer *w, __u32 id)
{
	w->flow.max_len = ETH_ZLEN;
	w->flow.gaps = true;
	w->flow.sent = id << WRITER_SHIFT;
	w->flow.next = w->flow.sent;
}

/* Return: number of frames received; negative if one is invalid */
static int writers_recv(struct writer *writers, struct xsk *x)
{
	char frame[FRAME_MAX];
	int len, n = 0;

	while ((len = xsk_recv(x, frame)) > 0) {
		__u32 id = frame_seq(frame) >> WRITER_SHIFT;
		int err;

		if (id >= WRITERS)
			return complain(-EBADMSG, "frame of writer %u", id);
		err = flow_check(&writers[id].flow, frame, len);
		if (err)
			return err;
		writers[id].flow.received++;
		n++;
	}
	return len < 0 ? len : n;
}

/* Return: 1 once the last frame of writer 0 is received, 0 after @ms */
static int writers_reach(struct tap *t, int ms, bool refill)
{
	const struct flow *f = &t->writers[0].flow;
	long long deadline = now_ms() + ms;

	while (f->next != f->sent) {
		int n = writers_recv(t->writers, &t->rx);

		if (n < 0)
			return n;
		if (now_ms() > deadline)
			return 0;
		if (refill)
			xsk_refill(&t->rx);
		if (!n)
			xsk_drive(&t->rx, 1);
	}
	return 1;
}

static int writer_send(struct tap *t)
{
	struct flow *f = &t->writers[0].flow;
	char frame[FRAME_MAX];
	__u32 len = frame_build(f, frame, f->sent++);

	if (write(t->fd[0], frame, len) != len)
		return complain(-errno, "write to a tap device");
	return 0;
}

static __u32 writers_received(const struct tap *t)
{
	__u32 received = 0;
	int i;

	for (i = 0; i < WRITERS; i++)
		received += t->writers[i].flow.received;
	return received;
}

/*
 * Nothing is in flight any more once a new frame arrives. It may be dropped, and
 * with NAPI there may be many before it.
 */
static int writers_settle(struct tap *t)
{
	int tries = STALL_MS / 500;
	int left = tries, ret = 0;

	while (!ret && left--) {
		__u32 before = writers_received(t);

		ret = writer_send(t);
		if (!ret)
			ret = writers_reach(t, 500, true);
		if (writers_received(t) != before)
			left = tries;
	}
	return ret > 0 ? 0 : complain(ret ?: -ETIMEDOUT, "no frame arrives");
}

/* Write frames one at a time, without refilling; each must arrive */
static int writer_transfer(struct tap *t, __u32 frames)
{
	int ret = 1;

	while (ret > 0 && frames--) {
		ret = writer_send(t);
		if (!ret)
			ret = writers_reach(t, STALL_MS, false);
	}
	return ret > 0 ? 0 : complain(ret ?: -ETIMEDOUT, "%u frames missing",
				      frames + 1);
}

/* Run all writers in parallel while this thread receives and refills */
static void writers_run(struct __test_metadata *_metadata, struct tap *t)
{
	struct writer *w = t->writers;
	int i, n;

	t->running = WRITERS;
	for (i = 0; i < WRITERS; i++) {
		writer_init(&w[i], i);
		w[i].fd = t->fd[0];
		w[i].frames = many() * 5;
		w[i].running = &t->running;
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, writer_run,
					    &w[i]));
	}
	while (load_acquire(&t->running)) {
		n = writers_recv(w, &t->rx);
		ASSERT_LE(0, n);
		xsk_refill(&t->rx);
		if (!n)
			xsk_drive(&t->rx, 1);
	}
	for (i = 0; i < WRITERS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].err);
	}
	ASSERT_EQ(0, writers_settle(t));
}

/* No frame is received or counted twice, and no chunk is lost */
static void writers_account(struct __test_metadata *_metadata, struct tap *t)
{
	struct xdp_statistics stats = {};
	__u64 sent = 0, received = 0;
	int i;

	for (i = 0; i < WRITERS; i++) {
		const struct flow *f = &t->writers[i].flow;

		sent += f->sent - (i << WRITER_SHIFT);
		received += f->received;
	}
	ASSERT_EQ(0, xsk_stats(&t->rx, &stats));
	EXPECT_LT(0, received);
	EXPECT_LE(received + stats.rx_dropped + stats.rx_ring_full, sent);
	EXPECT_EQ(0, stats.rx_invalid_descs);

	xsk_refill(&t->rx);
	EXPECT_EQ(CHUNKS, xsk_held(&t->rx));
	ASSERT_EQ(0, writer_transfer(t, CHUNKS));
	EXPECT_EQ(0, xsk_held(&t->rx));
}

/* An unprivileged user, as root of a user namespace of his own */
TEST_F_TIMEOUT(tap, writers, TIMEOUT)
{
	struct tap *t = &self->tap;
	struct xsk_opts opts = { .dev = TAP_DEV, .attach = true };

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	if (access("/dev/net/tun", F_OK))
		SKIP(return, "no tap devices");
	ASSERT_EQ(0, tun_for_everyone());
	ASSERT_TRUE(become_nobody());
	if (!root_of_new_user_ns())
		SKIP(return, "no user namespaces");

	tap_create(_metadata, t, variant->flags);
	ASSERT_EQ(0, xsk_create(&t->rx, &opts));
	expect_attached(_metadata, &t->rx, XDP_ATTACH_F_SKB_MODE,
			XDP_ATTACH_R_NO_NATIVE);
	writers_run(_metadata, t);
	writers_account(_metadata, t);
}

/* The same with a program and an XSKMAP, which need privileges */
TEST_F_TIMEOUT(tap, writers_xskmap, TIMEOUT)
{
	struct tap *t = &self->tap;
	struct xsk_opts opts = { .dev = TAP_DEV, .bind_flags = XDP_COPY };
	struct xsk_test_progs *skel;

	if (access("/dev/net/tun", F_OK))
		SKIP(return, "no tap devices");
	ASSERT_EQ(0, netns_enter());
	tap_create(_metadata, t, variant->flags);
	skel = progs_load(NULL);
	ASSERT_NE(NULL, skel);
	ASSERT_EQ(0, xsk_create(&t->rx, &opts));
	ASSERT_EQ(0, xskmap_set(skel, &t->rx));
	ASSERT_EQ(0, prog_attach(TAP_DEV, skel->progs.xsk_map,
				 XDP_FLAGS_DRV_MODE));
	writers_run(_metadata, t);
	EXPECT_LT(0, counter_read(&skel->bss->seen));
	writers_account(_metadata, t);
}

/* Native mode needs a queue that one NAPI instance owns */
TEST_F_TIMEOUT(tap, refuses_native_mode, TIMEOUT)
{
	struct tap *t = &self->tap;
	struct xsk_opts opts = {
		.dev = TAP_DEV,
		.attach = true,
		.attach_flags = XDP_ATTACH_F_DRV_MODE,
	};
	struct xsk x;

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	if (access("/dev/net/tun", F_OK))
		SKIP(return, "no tap devices");
	ASSERT_EQ(0, netns_enter());
	tap_create(_metadata, t, variant->flags);
	ASSERT_EQ(0, xsk_open(&x, &opts));
	EXPECT_EQ(-EOPNOTSUPP, xsk_bind(&x));
	xsk_close(&x);
}

/* Frames from TX_DEV to RX_DEV, in one mode of XDP */

static bool bed_copy(struct __test_metadata *_metadata, struct testbed *b,
		     bool skb, bool zc)
{
	if (!bed_make(_metadata, b, skb, zc, false))
		return false;
	b->opts.bind_flags = zc ? XDP_ZEROCOPY : XDP_COPY;
	return true;
}

/* Attach a program. A port drops frames for some time after the reset. */
static void bed_attach(struct __test_metadata *_metadata, struct testbed *b,
		       const struct bpf_program *prog)
{
	const __u64 *seen = &b->skel->bss->seen;
	long long deadline = now_ms() + STALL_MS;
	__u64 before = counter_read(seen);

	ASSERT_EQ(0, prog_attach(RX_DEV, prog, b->xdp_flags));
	if (!b->zc)
		return;
	while (counter_read(seen) == before) {
		ASSERT_LT(now_ms(), deadline);
		ASSERT_EQ(0, flow_send(&b->flow, 1));
		nap(10);
	}
	/* Frames may still be in flight */
	do {
		before = counter_read(seen);
		nap(500);
	} while (counter_read(seen) != before);
	b->flow.next = b->flow.sent;
}

FIXTURE(xskmap)
{
	struct testbed bed;
};

FIXTURE_VARIANT(xskmap)
{
	bool skb, zc;
};

FIXTURE_VARIANT_ADD(xskmap, skb)
{
	.skb = true,
};

FIXTURE_VARIANT_ADD(xskmap, drv)
{
};

FIXTURE_VARIANT_ADD(xskmap, zc)
{
	.zc = true,
};

FIXTURE_SETUP(xskmap)
{
	bed_copy(_metadata, &self->bed, variant->skb, variant->zc);
}

FIXTURE_TEARDOWN(xskmap)
{
}

/* Frames for a socket without an Rx ring are dropped */
TEST_F_TIMEOUT(xskmap, socket_without_rx, TIMEOUT)
{
	struct testbed *b = &self->bed;
	char frame[FRAME_MAX];

	b->opts.no_rx = true;
	b->opts.tx = true;
	bed_load(_metadata, b, NULL);
	ASSERT_EQ(0, stack_open(&b->stack, RX_DEV));
	bed_sender(_metadata, b);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	xsk_refill(&b->rx);
	ASSERT_EQ(0, xskmap_set(b->skel, &b->rx));

	bed_attach(_metadata, b, b->skel->progs.xsk_map);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	EXPECT_EQ(0, stack_recv(&b->stack, frame));
}

/* Without an attached socket, bpf_xsk_redirect() clears the redirect info */
TEST_F_TIMEOUT(xskmap, miss_clears_redirect, TIMEOUT)
{
	struct testbed *b = &self->bed;

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	bed_load(_metadata, b, "xsk_redirect_stale");
	bed_sender(_metadata, b);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, xskmap_set(b->skel, &b->rx));

	bed_attach(_metadata, b, b->skel->progs.xsk_redirect_stale);
	b->flow.rx = &b->rx;
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	/* A stale frame that arrives late would be out of order */
	ASSERT_EQ(0, prog_attach(RX_DEV, b->skel->progs.xsk_map, b->xdp_flags));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A program that a bond propagates, also through a bond, is a regular one */

FIXTURE(bonds)
{
	struct testbed bed;
	const char *top;
};

FIXTURE_VARIANT(bonds)
{
	int levels;
};

FIXTURE_VARIANT_ADD(bonds, one)
{
	.levels = 1,
};

FIXTURE_VARIANT_ADD(bonds, nested)
{
	.levels = 2,
};

FIXTURE_SETUP(bonds)
{
	static const char * const bonds[] = { "xa_bond0", "xa_bond1" };
	struct testbed *b = &self->bed;
	int i;

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	bed_copy(_metadata, b, false, false);
	b->opts.attach = true;
	b->opts.attach_flags = XDP_ATTACH_F_DRV_MODE;
	bed_load(_metadata, b, NULL);

	self->top = RX_DEV;
	for (i = 0; i < variant->levels; i++) {
		ASSERT_EQ(0, run("ip link add %s type bond mode active-backup",
				 bonds[i]));
		ASSERT_EQ(0, run("ip link set %s down", self->top));
		ASSERT_EQ(0, run("ip link set %s master %s", self->top,
				 bonds[i]));
		ASSERT_EQ(0, run("ip link set %s up", bonds[i]));
		self->top = bonds[i];
	}
	bed_sender(_metadata, b);
}

FIXTURE_TEARDOWN(bonds)
{
}

/* A socket cannot attach below a bond that runs a program */
TEST_F_TIMEOUT(bonds, program_then_socket, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_program *drop = b->skel->progs.xsk_drop;
	struct xsk_opts opts = b->opts;

	ASSERT_EQ(0, prog_attach(self->top, drop, XDP_FLAGS_DRV_MODE));
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	expect_refusal(_metadata, &opts, -EEXIST, XDP_ATTACH_R_UPPER);
	opts.attach_flags = 0;
	expect_refusal(_metadata, &opts, -EEXIST, XDP_ATTACH_R_UPPER);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));

	ASSERT_EQ(0, prog_detach(self->top, XDP_FLAGS_DRV_MODE));
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	expect_attached(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
			XDP_ATTACH_R_NONE);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* A program on the bond shadows an attached socket; no other can attach then */
TEST_F_TIMEOUT(bonds, socket_then_program, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_program *drop = b->skel->progs.xsk_drop;
	struct xsk_opts opts = b->opts;
	int i;

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	for (i = 0; i < 3; i++) {
		expect_attached(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
				XDP_ATTACH_R_NONE);
		ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

		ASSERT_EQ(0, prog_attach(self->top, drop, XDP_FLAGS_DRV_MODE));
		expect_shadowed(_metadata, &b->rx, id_of(drop));
		ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen,
					     SOME));
		opts.queue = 1;
		expect_refusal(_metadata, &opts, -EEXIST, XDP_ATTACH_R_UPPER);
		ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen,
					     SOME));
		ASSERT_EQ(0, prog_detach(self->top,
					 XDP_FLAGS_DRV_MODE));
	}
	expect_attached(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
			XDP_ATTACH_R_NONE);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Closing a shadowed socket leaves the bond's program in place */
TEST_F_TIMEOUT(bonds, close_while_shadowed, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct bpf_program *drop = b->skel->progs.xsk_drop;

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, prog_attach(self->top, drop, XDP_FLAGS_DRV_MODE));
	xsk_close(&b->rx);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
	expect_refusal(_metadata, &b->opts, -EEXIST, XDP_ATTACH_R_UPPER);
	ASSERT_EQ(0, flow_to_program(&b->flow, &b->skel->bss->seen, SOME));
}

/*
 * Native XDP on a veth device changes features and maximum MTU of its peer,
 * which belongs to the host if only one end is in a container.
 */

struct text {
	char buf[8192];
};

static int link_state(struct text *t, const char *dev)
{
	char cmd[256];
	size_t len;
	FILE *out;

	snprintf(cmd, sizeof(cmd),
		 "ethtool -k %s; ip -d link show %s | grep -o 'm[ai][nx]mtu [0-9]*'",
		 dev, dev);
	out = popen(cmd, "r");
	if (!out)
		return complain(-errno, "%s", cmd);
	len = fread(t->buf, 1, sizeof(t->buf) - 1, out);
	t->buf[len] = 0;
	return pclose(out) || !strstr(t->buf, "maxmtu") ?
	       complain(-EIO, "%s", cmd) : 0;
}

/* Return: 0 if they are equal; otherwise prints the first line that differs */
static int text_compare(const struct text *before, const struct text *after)
{
	const char *a = before->buf, *b = after->buf;
	const char *line = a;
	size_t pos = 0;

	for (; a[pos] == b[pos]; pos++) {
		if (!a[pos])
			return 0;
		if (a[pos] == '\n')
			line = a + pos + 1;
	}
	b += line - a;
	return complain(-EPERM, "the peer's was \"%.*s\" and is \"%.*s\"",
			(int)strcspn(line, "\n"), line,
			(int)strcspn(b, "\n"), b);
}

/* Move one end into the container and compare the state of the other */
static void host_run(const struct helper *h, pid_t container)
{
	struct text before, after;

	if (!helper_wait(h->to) ||
	    run("ip link set " RX_DEV " netns %d", container) ||
	    !helper_tell(h->from) || !helper_wait(h->to) ||
	    link_state(&before, TX_DEV) ||
	    !helper_tell(h->from) || !helper_wait(h->to) ||
	    link_state(&after, TX_DEV))
		_exit(1);
	_exit(!!text_compare(&before, &after));
}

static void container_run(const struct helper *h)
{
	if (root_of_new_user_ns() && helper_tell(h->from))
		helper_wait(h->to);
	_exit(0);
}

FIXTURE(peer)
{
	struct testbed bed;
	struct helper helper;
};

FIXTURE_SETUP(peer)
{
	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	/* In the network namespace of the host; helpers move one end */
	bed_make(_metadata, &self->bed, true, false, false);
	self->bed.opts.attach = true;
}

FIXTURE_TEARDOWN(peer)
{
}

/* Root of the container gets generic mode only */
TEST_F_TIMEOUT(peer, in_the_host, TIMEOUT)
{
	struct helper *host = &self->helper;
	struct testbed *b = &self->bed;
	struct xsk_opts opts = b->opts;
	int status = -1;
	pid_t pid;

	bed_sender(_metadata, b);
	pid = helper_fork(host);
	ASSERT_LE(0, pid);
	if (!pid)
		host_run(host, getppid());
	if (!root_of_new_user_ns())
		SKIP(return, "no user namespaces");
	ASSERT_TRUE(helper_tell(host->to));
	ASSERT_TRUE(helper_wait(host->from));
	ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
	ASSERT_TRUE(helper_tell(host->to));
	ASSERT_TRUE(helper_wait(host->from));

	opts.attach_flags = XDP_ATTACH_F_DRV_MODE;
	expect_refusal(_metadata, &opts, -EPERM, XDP_ATTACH_R_PEER);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	expect_attached(_metadata, &b->rx, XDP_ATTACH_F_SKB_MODE,
			XDP_ATTACH_R_PEER);
	ASSERT_TRUE(helper_tell(host->to));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);

	b->flow.rx = &b->rx;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Root of the container gets native mode if both ends are the container's */
TEST_F_TIMEOUT(peer, in_the_same_container, TIMEOUT)
{
	struct veth_opts veth = {};
	struct testbed *b = &self->bed;

	if (!root_of_new_user_ns())
		SKIP(return, "no user namespaces");
	ASSERT_EQ(0, veth_create(&veth));
	b->skb = false;
	bed_sender(_metadata, b);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	expect_attached(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
			XDP_ATTACH_R_NONE);
	b->flow.rx = &b->rx;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Root of the host is privileged over the container's end, too */
TEST_F_TIMEOUT(peer, in_a_container, TIMEOUT)
{
	struct helper *container = &self->helper;
	struct testbed *b = &self->bed;
	pid_t pid;

	pid = helper_fork(container);
	ASSERT_LE(0, pid);
	if (!pid)
		container_run(container);
	if (!helper_wait(container->from))
		SKIP(return, "no user namespaces");
	ASSERT_EQ(0, run("ip link set " RX_DEV " netns %d", pid));
	b->opts.dev = TX_DEV;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	expect_attached(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
			XDP_ATTACH_R_NONE);
	xsk_close(&b->rx);
	helper_kill(container);
}

/* sock_diag lists all sockets, also those that have lost their device */

#define DIAG_MANY	300
#define GONE_DEV	"xa_gone"

static void make_sockets(struct __test_metadata *_metadata, int *fds, int n)
{
	while (n--) {
		fds[n] = socket(AF_XDP, SOCK_RAW, 0);
		ASSERT_LE(0, fds[n]);
	}
}

/* The device of socket @x was removed; @first and @last are not bound */
static void expect_in_dump(struct __test_metadata *_metadata,
			   const struct xsk *x, const int *first,
			   const int *last)
{
	const struct diag_socket *s;
	static struct diag d;
	int i;

	ASSERT_EQ(0, diag_dump(&d, XDP_SHOW_INFO | XDP_SHOW_RING_CFG |
				   XDP_SHOW_UMEM | XDP_SHOW_STATS |
				   XDP_SHOW_ATTACH));
	EXPECT_EQ(DIAG_MANY + 1, d.count);
	for (i = 0; i < DIAG_MANY / 2; i++) {
		ASSERT_NE(NULL, diag_find(&d, first[i]));
		ASSERT_NE(NULL, diag_find(&d, last[i]));
	}
	s = diag_find(&d, x->fd);
	ASSERT_NE(NULL, s);
	EXPECT_TRUE(s->has_info);
	EXPECT_EQ(0, s->ifindex);
	if (!x->opts.attach)
		return;
	EXPECT_TRUE(s->has_attach);
	EXPECT_EQ(XDP_ATTACH_S_DETACHED, s->attach.state);
	EXPECT_EQ(0, s->attach.prog_id);
}

TEST(sock_diag_after_device_removal)
{
	struct xsk_opts opts = {
		.dev = GONE_DEV,
		.attach = kernel_has_attach(),
	};
	int first[DIAG_MANY / 2], last[DIAG_MANY / 2];
	struct xsk x;

	ASSERT_EQ(0, netns_enter());
	ASSERT_EQ(0, run("ip link add " GONE_DEV " up type dummy"));
	make_sockets(_metadata, first, DIAG_MANY / 2);
	ASSERT_EQ(0, xsk_create(&x, &opts));
	make_sockets(_metadata, last, DIAG_MANY / 2);
	ASSERT_EQ(0, run("ip link del " GONE_DEV));
	expect_in_dump(_metadata, &x, first, last);
}

/* A bind() that must fail does so before it changes the device */

/*
 * struct watch - RX_DEV under observation
 * @other: a socket bound to queue 0 without XDP_ATTACH
 * @links: rtnetlink socket for link notifications
 * @carrier_changes: last value of the counter of RX_DEV
 * @udp: a socket of another family
 */
struct watch {
	struct testbed bed;
	struct xsk other;
	int links;
	__u32 carrier_changes;
	int udp;
};

FIXTURE(failing_bind)
{
	struct watch watch;
};

FIXTURE_VARIANT(failing_bind)
{
	bool zc;
};

FIXTURE_VARIANT_ADD(failing_bind, veth)
{
};

FIXTURE_VARIANT_ADD(failing_bind, zc)
{
	.zc = true,
};

static __u32 carrier_changes(void)
{
	__u32 changes = 0;
	FILE *f = fopen("/sys/class/net/" RX_DEV "/carrier_changes", "r");

	if (!f || fscanf(f, "%u", &changes) != 1)
		complain(-errno, "carrier changes of " RX_DEV);
	if (f)
		fclose(f);
	return changes;
}

static int links_open(void)
{
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return complain(-errno, "notifications of links");
	return fd;
}

/* Return: number of notifications since the last call */
static int links_read(int fd)
{
	static char buf[65536];
	int n = 0;

	while (recv(fd, buf, sizeof(buf), 0) > 0)
		n++;
	return n;
}

static void links_settle(struct __test_metadata *_metadata, int fd)
{
	long long deadline = now_ms() + STALL_MS;

	do {
		ASSERT_LT(now_ms(), deadline);
		nap(1000);
	} while (links_read(fd));
}

/*
 * User-visible effects of installing and removing a program: veth changes
 * features, which rtnetlink notifies; a NIC is reset, which drops the carrier.
 */
static bool touched(struct watch *w)
{
	__u32 changes = carrier_changes();
	bool was = changes != w->carrier_changes;

	w->carrier_changes = changes;
	if (!w->bed.zc)
		was = links_read(w->links);
	return was;
}

FIXTURE_SETUP(failing_bind)
{
	struct watch *w = &self->watch;
	struct xsk_opts opts = { .dev = RX_DEV, .bind_flags = XDP_COPY };

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	if (!bed_make(_metadata, &w->bed, false, variant->zc, false))
		return;
	w->bed.opts.attach = true;
	w->bed.opts.attach_flags = XDP_ATTACH_F_DRV_MODE;
	w->udp = socket(AF_INET, SOCK_DGRAM, 0);
	ASSERT_EQ(0, xsk_create(&w->other, &opts));
	w->links = links_open();
	ASSERT_LE(0, w->links);
	if (variant->zc)
		ASSERT_EQ(0, run("timeout 60 sh -c '%s /sys/class/net/%s/%s'",
				 "until grep -q 1", RX_DEV,
				 "carrier; do sleep 0.1; done"));
	links_settle(_metadata, w->links);
	touched(w);
}

FIXTURE_TEARDOWN(failing_bind)
{
}

enum shared { OWN, NO_FD, NO_SOCKET, OTHER_KIND, NOT_BOUND, OTHER };

/* A bind() that is valid but for what the entry says */
struct bad_bind {
	const char *what;
	bool no_umem, no_fill, no_comp, no_rx;
	enum shared shared;
	__u16 flags;
	__u32 queue;
	int err;
};

static const struct bad_bind bad_binds[] = {
	{ "no umem", .no_umem = true, .queue = 1, .err = EINVAL },
	{ "no Rx and Tx ring", .no_rx = true, .queue = 1, .err = EINVAL },
	{ "no fill ring", .no_fill = true, .queue = 1, .err = EINVAL },
	{ "no completion ring", .no_comp = true, .queue = 1, .err = EINVAL },
	{ "copy and zero-copy", .flags = XDP_COPY | XDP_ZEROCOPY, .queue = 1,
	  .err = EINVAL },
	{ "unknown flag", .flags = 1 << 15, .queue = 1, .err = EINVAL },
	{ "pool of another umem", .queue = 0, .err = EBUSY },
	{ "shared with no fd", .no_umem = true, .shared = NO_FD, .queue = 1,
	  .err = ENOTSOCK },
	{ "shared with no socket", .no_umem = true, .shared = NO_SOCKET,
	  .queue = 1, .err = ENOTSOCK },
	{ "shared with UDP", .no_umem = true, .shared = OTHER_KIND, .queue = 1,
	  .err = ENOPROTOOPT },
	{ "shared with unbound", .no_umem = true, .shared = NOT_BOUND,
	  .queue = 1, .err = EBADF },
	{ "shared, and a umem", .shared = OTHER, .queue = 1, .err = EINVAL },
	{ "shared, and XDP_COPY", .no_umem = true, .shared = OTHER,
	  .flags = XDP_COPY, .queue = 1, .err = EINVAL },
	{ "shared, same queue, other rings", .no_umem = true, .shared = OTHER,
	  .queue = 0, .err = EINVAL },
	{ "shared, other queue, no rings", .no_umem = true, .no_fill = true,
	  .no_comp = true, .shared = OTHER, .queue = 1, .err = EINVAL },
};

static int bad_socket(struct __test_metadata *_metadata,
		      const struct bad_bind *bad)
{
	size_t len = 16 * CHUNK;
	void *area = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_attach attach = { .flags = XDP_ATTACH_F_DRV_MODE };
	struct xdp_umem_reg reg = {
		.addr = (__u64)(unsigned long)area,
		.len = len,
		.chunk_size = CHUNK,
	};
	int fd = socket(AF_XDP, SOCK_RAW, 0);
	__u32 size = RING;

	ASSERT_LE(0, fd);
	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, setsockopt(fd, SOL_XDP, XDP_ATTACH, &attach,
				sizeof(attach)));
	if (!bad->no_umem)
		ASSERT_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg,
					sizeof(reg)));
	if (!bad->no_fill)
		ASSERT_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &size,
					sizeof(size)));
	if (!bad->no_comp)
		ASSERT_EQ(0, setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING,
					&size, sizeof(size)));
	if (!bad->no_rx)
		ASSERT_EQ(0, setsockopt(fd, SOL_XDP, XDP_RX_RING, &size,
					sizeof(size)));
	return fd;
}

static int bad_bind_errno(const struct watch *w, const struct bad_bind *bad,
			  int fd)
{
	const int shared[] = {
		[NO_FD] = -1,
		[NO_SOCKET] = STDOUT_FILENO,
		[OTHER_KIND] = w->udp,
		[NOT_BOUND] = fd,
		[OTHER] = w->other.fd,
	};
	struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = bad->flags,
		.sxdp_ifindex = if_nametoindex(RX_DEV),
		.sxdp_queue_id = bad->queue,
	};

	if (bad->shared) {
		addr.sxdp_flags |= XDP_SHARED_UMEM;
		addr.sxdp_shared_umem_fd = shared[bad->shared];
	}
	return bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? errno : 0;
}

TEST_F_TIMEOUT(failing_bind, leaves_device_alone, TIMEOUT)
{
	struct watch *w = &self->watch;
	struct testbed *b = &w->bed;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(bad_binds); i++) {
		fd = bad_socket(_metadata, &bad_binds[i]);
		EXPECT_EQ(bad_binds[i].err,
			  bad_bind_errno(w, &bad_binds[i], fd))
			TH_LOG("%s", bad_binds[i].what);
		close(fd);
		EXPECT_FALSE(touched(w))
			TH_LOG("%s", bad_binds[i].what);
	}
	/* A valid bind() does change the device */
	b->opts.queue = 1;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	EXPECT_TRUE(touched(w));
}

/* The built-in program is made once and kept, not made per socket */

#define CYCLES		200

FIXTURE(cycles)
{
	const char *dev;
};

FIXTURE_VARIANT(cycles)
{
	const char *dev;
	__u32 mode;
};

FIXTURE_VARIANT_ADD(cycles, dummy)
{
	.dev = "xa_dummy",
	.mode = XDP_ATTACHED_SKB,
};

FIXTURE_VARIANT_ADD(cycles, veth)
{
	.dev = RX_DEV,
	.mode = XDP_ATTACHED_DRV,
};

FIXTURE_SETUP(cycles)
{
	struct veth_opts veth = {};

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	ASSERT_EQ(0, netns_enter());
	ASSERT_EQ(0, veth_create(&veth));
	ASSERT_EQ(0, run("ip link add xa_dummy up type dummy"));
}

FIXTURE_TEARDOWN(cycles)
{
}

/* Return: id of the program that runs on the device in @mode */
static __u32 running_prog(struct __test_metadata *_metadata, const char *dev,
			  __u8 mode)
{
	struct bpf_xdp_query_opts link;

	link_query(_metadata, dev, &link);
	EXPECT_EQ(mode, link.attach_mode);
	return link.prog_id;
}

TEST_F_TIMEOUT(cycles, keep_the_program, TIMEOUT)
{
	struct xsk_opts opts = { .dev = variant->dev, .attach = true };
	struct bpf_census census;
	__u32 id, first = 0;
	struct xsk x;
	int i;

	for (i = 0; i < CYCLES; i++) {
		ASSERT_EQ(0, xsk_create(&x, &opts));
		id = running_prog(_metadata, opts.dev, variant->mode);
		if (!first)
			first = id;
		ASSERT_EQ(first, id);
		xsk_close(&x);
		ASSERT_EQ(0, running_prog(_metadata, opts.dev,
					  XDP_ATTACHED_NONE));
	}
	ASSERT_EQ(0, bpf_count(&census));
	EXPECT_EQ(1, census.builtins);
}

/* A driver that accepts programs but does not support XDP_REDIRECT */

#define NSIM		"/sys/bus/netdevsim"

FIXTURE(netdevsim)
{
	char dev[IFNAMSIZ];
	bool made;
};

static int nsim_write(const char *file, const char *text)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), NSIM "/%s", file);
	err = write_file(path, text);
	return err ? complain(err, "%s", path) : 0;
}

/* Return: true with the name of the only port in @dev */
static bool nsim_find(char *dev)
{
	DIR *dir = opendir(NSIM "/devices/netdevsim271/net");
	struct dirent *entry = NULL;

	if (!dir)
		return false;
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	if (entry)
		snprintf(dev, IFNAMSIZ, "%.*s", IFNAMSIZ - 1, entry->d_name);
	closedir(dir);
	return entry;
}

FIXTURE_SETUP(netdevsim)
{
	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	if (access(NSIM, F_OK))
		SKIP(return, "needs CONFIG_NETDEVSIM");
	ASSERT_EQ(0, netns_enter());
	ASSERT_EQ(0, nsim_write("new_device", "271 1"));
	self->made = true;
	ASSERT_TRUE(nsim_find(self->dev));
	ASSERT_EQ(0, run("ip link set %s up", self->dev));
}

FIXTURE_TEARDOWN(netdevsim)
{
	if (self->made)
		nsim_write("del_device", "271");
}

TEST_F(netdevsim, cannot_redirect)
{
	struct xsk_opts opts = { .dev = self->dev, .attach = true };
	struct xsk x;

	opts.attach_flags = XDP_ATTACH_F_DRV_MODE;
	expect_refusal(_metadata, &opts, -EOPNOTSUPP, XDP_ATTACH_R_NO_NATIVE);
	opts.attach_flags = 0;
	ASSERT_EQ(0, xsk_create(&x, &opts));
	expect_attached(_metadata, &x, XDP_ATTACH_F_SKB_MODE,
			XDP_ATTACH_R_NO_NATIVE);
	xsk_close(&x);
}

/*
 * Packets whose headers other parts of the stack look for: on virtual devices,
 * with less than the Ethernet header in the first buffer, and on a bond, at
 * whose port the packets are captured
 */

#define BOND_DEV	"xa_bond"
#define BOND_PORT	"xa_port"

FIXTURE(headers)
{
	struct xsk tx;
	struct stack stack;
	int kmsg;
};

FIXTURE_VARIANT(headers)
{
	const char *from, *to;
	__u32 part;
};

FIXTURE_VARIANT_ADD(headers, short_lo)
{
	.from = "lo",
	.to = "lo",
	.part = 4,
};

FIXTURE_VARIANT_ADD(headers, short_veth)
{
	.from = TX_DEV,
	.to = RX_DEV,
	.part = 4,
};

FIXTURE_VARIANT_ADD(headers, bond)
{
	.from = BOND_DEV,
	.to = BOND_PORT,
};

FIXTURE_VARIANT_ADD(headers, short_bond)
{
	.from = BOND_DEV,
	.to = BOND_PORT,
	.part = 4,
};

static int bond_create(void)
{
	int err;

	err = run("ip link add " BOND_PORT " type dummy");
	err = err ?: run("ip link add " BOND_DEV
			 " type bond mode active-backup");
	err = err ?: run("ip link set " BOND_PORT " master " BOND_DEV);
	err = err ?: run("ip link set " BOND_PORT " up");
	return err ?: run("ip link set " BOND_DEV " up");
}

FIXTURE_SETUP(headers)
{
	struct veth_opts veth = {};
	struct xsk_opts opts = {
		.dev = variant->from,
		.no_rx = true,
		.tx = true,
		.tx_part = variant->part,
		.bind_flags = XDP_COPY | XDP_USE_SG,
	};

	ASSERT_EQ(0, netns_enter());
	ASSERT_EQ(0, veth_create(&veth));
	ASSERT_EQ(0, bond_create());
	ASSERT_EQ(0, stack_open(&self->stack, variant->to));
	ASSERT_EQ(0, xsk_create(&self->tx, &opts));
	self->kmsg = kmsg_open();
	ASSERT_LE(0, self->kmsg);
}

FIXTURE_TEARDOWN(headers)
{
	close(self->kmsg);
	xsk_close(&self->tx);
	stack_close(&self->stack);
}

TEST_F_TIMEOUT(headers, arrive_whole, TIMEOUT)
{
	struct flow flow = { .tx = &self->tx, .max_len = 60 };
	char sent[FRAME_MAX] = {}, got[FRAME_MAX] = {};
	int len = 0, want, i;

	want = frame_build(&flow, sent, 1);
	ASSERT_TRUE(xsk_send(&self->tx, sent, want));
	for (i = 0; i < STALL_MS && len <= 0; i++) {
		ASSERT_EQ(0, xsk_kick(&self->tx));
		len = stack_recv(&self->stack, got);
		nap(1);
	}
	ASSERT_EQ(want, len);
	EXPECT_EQ(0, memcmp(sent, got, want));
	/* Of a packet without a network header */
	EXPECT_FALSE(kmsg_find(self->kmsg, "is buggy"));
}

/*
 * The peer of a veth device may have more Tx queues than the device has Rx
 * queues. Then it has no native mode, and skbs refer to queues that do not
 * exist.
 */

FIXTURE(more_queues)
{
	struct xsk rx, tx;
};

FIXTURE_SETUP(more_queues)
{
	struct xsk_opts tx = {
		.dev = TX_DEV,
		.queue = 5,
		.no_rx = true,
		.tx = true,
		.bind_flags = XDP_COPY,
	};
	struct xsk_opts rx = {
		.dev = RX_DEV,
		.attach = true,
	};

	if (!kernel_has_attach())
		SKIP(return, "this kernel has no XDP_ATTACH");
	ASSERT_EQ(0, netns_enter());
	ASSERT_EQ(0, run("ip link add %s %s type veth peer name %s %s",
			 RX_DEV, "numrxqueues 2 numtxqueues 1",
			 TX_DEV, "numrxqueues 1 numtxqueues 8"));
	ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
	ASSERT_EQ(0, run("ip link set " TX_DEV " up"));
	ASSERT_EQ(0, xsk_create(&self->rx, &rx));
	ASSERT_EQ(0, xsk_create(&self->tx, &tx));
}

FIXTURE_TEARDOWN(more_queues)
{
	xsk_close(&self->tx);
	xsk_close(&self->rx);
}

/* They count as of the first queue. A warning of the kernel is a failure. */
TEST_F_TIMEOUT(more_queues, deliver, TIMEOUT)
{
	struct flow flow = {
		.tx = &self->tx,
		.rx = &self->rx,
		.max_len = FRAME_LEN,
	};

	EXPECT_EQ(0, flow_transfer(&flow, SOME, true));
}

/* Busy polling before the queue is set up for the socket, or while it is down */

FIXTURE(idle_queue)
{
	struct testbed bed;
};

FIXTURE_VARIANT(idle_queue)
{
	bool zc;
};

FIXTURE_VARIANT_ADD(idle_queue, veth)
{
};

FIXTURE_VARIANT_ADD(idle_queue, zc)
{
	.zc = true,
};

FIXTURE_SETUP(idle_queue)
{
	bed_copy(_metadata, &self->bed, false, variant->zc);
	self->bed.opts.tx = true;
	self->bed.opts.busy_poll = true;
	self->bed.opts.bind_flags |= XDP_USE_NEED_WAKEUP;
}

FIXTURE_TEARDOWN(idle_queue)
{
}

/* Drivers disagree on the errors */
static void drive_all_ways(struct xsk *x)
{
	int i;

	for (i = 0; i < 8; i++) {
		sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
		recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
		xsk_drive(x, 1);
	}
}

TEST_F_TIMEOUT(idle_queue, busy_poll, TIMEOUT)
{
	char frame[FRAME_LEN] = {};
	struct testbed *b = &self->bed;

	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	ASSERT_TRUE(xsk_send(&b->rx, frame, sizeof(frame)));
	ASSERT_EQ(0, xsk_bind(&b->rx));
	xsk_refill(&b->rx);
	drive_all_ways(&b->rx);
	ASSERT_EQ(0, run("ip link set " RX_DEV " down"));
	drive_all_ways(&b->rx);
	xsk_close(&b->rx);

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	drive_all_ways(&b->rx);
	ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
	drive_all_ways(&b->rx);
	xsk_close(&b->rx);
}

/* Zero-copy mode of a NIC */

FIXTURE(port)
{
	struct testbed bed;
};

FIXTURE_VARIANT(port)
{
	bool zc;
};

FIXTURE_VARIANT_ADD(port, zc)
{
	.zc = true,
};

FIXTURE_SETUP(port)
{
	bed_copy(_metadata, &self->bed, false, variant->zc);
}

FIXTURE_TEARDOWN(port)
{
}

/* One chunk for all buffers of a packet */
static void fill_with_duplicates(struct xsk *x)
{
	__u32 index = *x->fill.producer;
	__u32 end = load_acquire(x->fill.consumer) + x->fill.size;

	while (index != end)
		((__u64 *)x->fill.descs)[index++ & (x->fill.size - 1)] = CHUNK;
	store_release(x->fill.producer, index);
}

TEST_F_TIMEOUT(port, duplicates_in_multi_buffer_packets, TIMEOUT)
{
	struct testbed *b = &self->bed;
	long long deadline;
	int i;

	ASSERT_EQ(0, run("ip link set " RX_DEV " mtu %u", JUMBO_MTU));
	ASSERT_EQ(0, run("ip link set " TX_DEV " mtu %u", JUMBO_MTU));
	b->opts.bind_flags |= XDP_USE_SG;
	bed_load(_metadata, b, NULL);
	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	fill_with_duplicates(&b->rx);
	i = xsk_bind(&b->rx);
	if (i == -EINVAL || i == -EOPNOTSUPP)
		SKIP(return, "no zero-copy of such packets");
	ASSERT_EQ(0, i);
	ASSERT_EQ(0, xskmap_set(b->skel, &b->rx));
	bed_sender(_metadata, b);
	b->flow.max_len = JUMBO_LEN;
	ASSERT_EQ(0, prog_attach(RX_DEV, b->skel->progs.xsk_map_sg,
				 XDP_FLAGS_DRV_MODE));

	/* Contents are undefined, by the application's own fault */
	deadline = now_ms() + STALL_MS;
	for (i = 0; i < 50 || (!counter_read(&b->skel->bss->seen) &&
			       now_ms() < deadline); i++) {
		ASSERT_EQ(0, flow_send(&b->flow, FRAME_LENS));
		store_release(b->rx.rx.consumer, load_acquire(b->rx.rx.producer));
		fill_with_duplicates(&b->rx);
		nap(20);
	}
	EXPECT_LT(0, counter_read(&b->skel->bss->seen));
	xsk_close(&b->rx);
}

/* Polling the empty Tx ring of a socket that never sends is not counted */
TEST_F_TIMEOUT(port, counts_no_idle_tx_ring, TIMEOUT)
{
	struct xdp_statistics stats;
	struct testbed *b = &self->bed;

	if (!driver_is(RX_DEV, "i40e"))
		SKIP(return, "this driver has always counted it");
	b->opts.tx = true;
	bed_load(_metadata, b, NULL);
	bed_sender(_metadata, b);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(0, xskmap_set(b->skel, &b->rx));
	bed_attach(_metadata, b, b->skel->progs.xsk_map);
	b->flow.rx = &b->rx;
	b->flow.gaps = true;
	b->flow.next = 0;
	ASSERT_LE(0, flow_recv(&b->flow));
	b->flow.gaps = false;
	b->flow.next = b->flow.sent;
	ASSERT_EQ(0, flow_transfer(&b->flow, many() / 4, true));
	ASSERT_EQ(0, xsk_stats(&b->rx, &stats));
	EXPECT_EQ(0, stats.tx_ring_empty_descs);
}

/* A umem of the maximum size, of one piece of memory mapped many times */

#define HUGE_CHUNKS	(16U << 20)
#define HUGE_CHUNK	2048
#define HUGE_PIECE	(2UL << 20)

/* Return: a value of /proc/meminfo, in MB */
static long mem_mb(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128], word[64];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^:]: %ld", word, &kb) == 2 &&
		    !strcmp(word, name))
			break;
	if (f)
		fclose(f);
	return kb / 1024;
}

static void *map_repeatedly(size_t len)
{
	int memfd = memfd_create("umem", 0);
	char *area;
	size_t pos;

	if (memfd < 0 || ftruncate(memfd, HUGE_PIECE))
		return MAP_FAILED;
	area = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_NORESERVE, -1, 0);
	for (pos = 0; area != MAP_FAILED && pos < len; pos += HUGE_PIECE)
		if (mmap(area + pos, HUGE_PIECE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, memfd, 0) == MAP_FAILED)
			return MAP_FAILED;
	close(memfd);
	return area;
}

FIXTURE(umem)
{
};

FIXTURE_SETUP(umem)
{
}

FIXTURE_TEARDOWN(umem)
{
}

TEST_F_TIMEOUT(umem, of_16m_chunks, TIMEOUT)
{
	struct xdp_umem_reg reg = {
		.len = HUGE_CHUNKS * (__u64)HUGE_CHUNK,
		.chunk_size = HUGE_CHUNK,
	};
	struct xsk_opts opts = { .dev = "lo", .bind_flags = XDP_COPY };
	struct xsk x = { .opts = opts };
	__u32 size = RING;
	void *area;

	/* vmap() refuses more pages than the machine has, though these repeat */
	if (mem_mb("MemTotal") <= HUGE_CHUNKS / 1024 * HUGE_CHUNK / 1024 ||
	    mem_mb("MemAvailable") < 4096)
		SKIP(return, "needs a machine with 36 GB of memory, 4 GB free");
	ASSERT_EQ(0, netns_enter());
	area = map_repeatedly(reg.len);
	ASSERT_NE(MAP_FAILED, area);
	reg.addr = (__u64)(unsigned long)area;

	x.fd = socket(AF_XDP, SOCK_RAW, 0);
	ASSERT_LE(0, x.fd);
	ASSERT_EQ(0, setsockopt(x.fd, SOL_XDP, XDP_UMEM_REG, &reg,
				sizeof(reg)));
	ASSERT_EQ(0, setsockopt(x.fd, SOL_XDP, XDP_UMEM_FILL_RING, &size,
				sizeof(size)));
	ASSERT_EQ(0, setsockopt(x.fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &size,
				sizeof(size)));
	ASSERT_EQ(0, setsockopt(x.fd, SOL_XDP, XDP_RX_RING, &size,
				sizeof(size)));
	EXPECT_EQ(0, xsk_bind(&x));
	close(x.fd);
}

int main(int argc, char **argv)
{
	char zc[] = "-Vzc";
	char *args[3] = { argv[0], zc };

	if (geteuid())
		ksft_exit_skip("needs root\n");
	ports_init();
	libbpf_set_print(tap_print_libbpf);
	if (argc > 1)
		return test_harness_run(argc, argv);
	if (with_ports())
		zc[1] = 'v';
	return test_harness_run(2, args);
}
