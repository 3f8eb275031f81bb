// SPDX-License-Identifier: GPL-2.0
/* XDP_ATTACH: options, bind() and its errors, the choice of the mode, tools */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/syscall.h>

#include "xsk_attach_common.h"
#include "xsk_fastpath.h"

/* The result does not depend on how the queue is polled */
FIXTURE(xsk_bind)
{
	struct testbed bed;
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
	bed_attach(_metadata, &self->bed, false, variant->zc, false);
	self->kmsg = kmsg_open();
	ASSERT_LE(0, self->kmsg);
}

FIXTURE_TEARDOWN(xsk_bind)
{
}

/* bind() fails, and both getsockopt() and the kernel log report the reason */
static void expect_logged(struct __test_metadata *_metadata, int kmsg,
			  const struct xsk_opts *opts, int err, __u32 reason,
			  const char *text)
{
	expect_refusal(_metadata, opts, err, reason);
	EXPECT_EQ(!!text, kmsg_find(kmsg, text ?: "socket not attached"));
}

static int attach_errno(int fd, const struct xdp_attach *attach, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, XDP_ATTACH, attach, len) ? errno : 0;
}

/* Unknown flags and output fields that are not 0 are invalid */
TEST_F_TIMEOUT(xsk_bind, malformed_option, TIMEOUT)
{
	static const struct xdp_attach bad[] = {
		{ .flags = XDP_ATTACH_F_SKB_MODE | XDP_ATTACH_F_DRV_MODE },
		{ .flags = XDP_ATTACH_F_OFF | XDP_ATTACH_F_PASS },
		{ .flags = 1U << 30 },
		{ .flags = 1U << 31 },
		{ .state = XDP_ATTACH_S_REQUESTED },
		{ .prog_id = 1 },
		{ .reason = XDP_ATTACH_R_CAPABILITY },
	};
	size_t i;
	int fd;

	fd = socket(AF_XDP, SOCK_RAW, 0);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(EINVAL, attach_errno(fd, &bad[i], sizeof(*bad)));
	EXPECT_EQ(EFAULT, attach_errno(fd, NULL, sizeof(*bad)));
}

/* The option fails after bind(), and on a socket of another family */
TEST_F_TIMEOUT(xsk_bind, too_late_and_other_families, TIMEOUT)
{
	struct xdp_attach attach = {};
	struct testbed *b = &self->bed;
	socklen_t len;
	int udp;

	b->opts.attach = false;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	EXPECT_EQ(EBUSY, attach_errno(b->rx.fd, &attach, sizeof(attach)));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_NONE, attach.state);
	EXPECT_EQ(0, attach.flags);

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

/*
 * CAP_NET_RAW creates the socket, CAP_NET_ADMIN attaches it: the process that
 * calls bind() needs it
 */
TEST_F_TIMEOUT(xsk_bind, refused_without_cap_net_admin, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xdp_attach attach;
	struct xsk plain;

	ASSERT_EQ(0, xsk_open(&b->rx, &b->opts));
	ASSERT_EQ(0, drop_cap(CAP_NET_ADMIN));
	EXPECT_EQ(-EPERM, xsk_bind(&b->rx));
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_R_CAPABILITY, attach.reason);
	expect_logged(_metadata, self->kmsg, &b->opts, -EPERM,
		      XDP_ATTACH_R_CAPABILITY, NULL);
	expect_no_prog(_metadata, RX_DEV);
	b->opts.attach = false;
	EXPECT_EQ(0, xsk_create(&plain, &b->opts));
}

/* A process to which the socket was passed cannot give the queue to the stack */
TEST_F_TIMEOUT(xsk_bind, detaching_needs_cap_net_admin, TIMEOUT)
{
	struct testbed *b = &self->bed;

	bed_connect(_metadata, b);
	ASSERT_EQ(0, drop_cap(CAP_NET_ADMIN));
	EXPECT_EQ(-EPERM, xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	expect_active(_metadata, &b->rx);
	/* It may have all capabilities in its own user namespace */
	if (user_ns_enter())
		EXPECT_EQ(-EPERM,
			  xsk_fastpath__attach(b->rx.fd, XDP_ATTACH_F_OFF));
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Devices in a container; only the host can move ports there */
static void container_devices(struct __test_metadata *_metadata,
			      const struct testbed *b, struct helper *host)
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

/* Root of a container can attach to devices of the container */
TEST_F_TIMEOUT(xsk_bind, container_root_attaches, TIMEOUT)
{
	struct testbed *b = &self->bed;
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

/* Only a queue in use accepts an attached socket */
TEST_F_TIMEOUT(xsk_bind, refused_queue_out_of_range, TIMEOUT)
{
	const char *text = "the device has no such Rx queue";
	struct testbed *b = &self->bed;

	b->opts.queue = QUEUES;
	expect_logged(_metadata, self->kmsg, &b->opts, -ERANGE,
		      XDP_ATTACH_R_NO_QUEUE, text);
	b->opts.queue = ~0U;
	expect_logged(_metadata, self->kmsg, &b->opts, -ERANGE,
		      XDP_ATTACH_R_NO_QUEUE, text);

	ASSERT_EQ(0, set_rx_queues(b, 1));
	b->opts.queue = 1;
	expect_logged(_metadata, self->kmsg, &b->opts, -ERANGE,
		      XDP_ATTACH_R_NO_QUEUE, text);
	expect_no_prog(_metadata, RX_DEV);
}

/* A queue has one attached socket; a failed bind() can be repeated */
TEST_F_TIMEOUT(xsk_bind, refused_queue_busy, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xdp_attach attach;
	struct xsk second;

	bed_connect(_metadata, b);
	expect_logged(_metadata, self->kmsg, &b->opts, -EBUSY,
		      XDP_ATTACH_R_QUEUE_BUSY, "another socket is attached");
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));

	ASSERT_EQ(0, xsk_open(&second, &b->opts));
	EXPECT_EQ(-EBUSY, xsk_bind(&second));
	xsk_close(&b->rx);
	ASSERT_EQ(0, xsk_bind(&second));
	expect_active(_metadata, &second);
	ASSERT_EQ(0, xsk_query(&second, &attach));
	EXPECT_EQ(XDP_ATTACH_R_NONE, attach.reason);
}

/* Native mode requires a driver with XDP_REDIRECT */
TEST_F_TIMEOUT(xsk_bind, refused_no_native, TIMEOUT)
{
	const char *text = "the driver does not declare safe native mode";
	struct testbed *b = &self->bed;

	b->opts.dev = "lo";
	expect_logged(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		      XDP_ATTACH_R_NO_NATIVE, text);
	b->opts.attach_flags = 0;
	b->opts.bind_flags = XDP_ZEROCOPY;
	expect_logged(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
		      XDP_ATTACH_R_NO_NATIVE, text);
	expect_no_prog(_metadata, "lo");
}

/* Zero-copy requires native mode and a driver that supports it */
TEST_F_TIMEOUT(xsk_bind, refused_zero_copy, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk_opts opts = b->opts;
	struct xsk x;

	opts.attach_flags = XDP_ATTACH_F_SKB_MODE;
	opts.bind_flags = XDP_ZEROCOPY;
	expect_logged(_metadata, self->kmsg, &opts, -EOPNOTSUPP,
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
	bed_sender(_metadata, b);
	b->flow.rx = &x;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* All sockets of a device use one mode; without a requested mode, they join it */
TEST_F_TIMEOUT(xsk_bind, refused_mode_conflict, TIMEOUT)
{
	struct testbed *b = &self->bed;
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
		expect_logged(_metadata, self->kmsg, &opts, -EEXIST,
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

/* XDP_ATTACH_F_IF_NOEXIST does not wait until a regular program is detached */
TEST_F_TIMEOUT(xsk_bind, refused_with_regular, TIMEOUT)
{
	struct testbed *b = &self->bed;
	int i;

	bed_load(_metadata, b, "xsk_redirect");
	b->opts.attach_flags |= XDP_ATTACH_F_IF_NOEXIST;
	for (i = 0; i < 2; i++) {
		__u32 flags = i ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;

		ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop, flags));
		expect_logged(_metadata, self->kmsg, &b->opts, -EEXIST,
			      XDP_ATTACH_R_REGULAR, "a regular program runs");
		ASSERT_EQ(0, regular_detach(flags));
	}
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);
}

/* As with regular programs: not below a device that runs one */
TEST_F_TIMEOUT(xsk_bind, refused_upper_runs_program, TIMEOUT)
{
	struct testbed *b = &self->bed;
	int vlan, drop;

	bed_load(_metadata, b, "xsk_redirect");
	drop = bpf_program__fd(b->skel->progs.xsk_drop);
	ASSERT_EQ(0, run("ip link add link %s name xa_vlan type vlan id 5",
			 RX_DEV));
	ASSERT_EQ(0, run("ip link set xa_vlan up"));
	vlan = if_nametoindex("xa_vlan");
	ASSERT_EQ(0, bpf_xdp_attach(vlan, drop, XDP_FLAGS_SKB_MODE, NULL));
	expect_logged(_metadata, self->kmsg, &b->opts, -EEXIST,
		      XDP_ATTACH_R_UPPER, "an upper device runs a program");

	ASSERT_EQ(0, bpf_xdp_detach(vlan, XDP_FLAGS_SKB_MODE, NULL));
	bed_connect(_metadata, b);
	expect_active(_metadata, &b->rx);
}

static void expect_mode(struct __test_metadata *_metadata, const struct xsk *x,
			__u32 mode, __u32 reason)
{
	expect_active(_metadata, x);
	expect_attached(_metadata, x, mode, reason);
}

static bool is_zero_copy(const struct xsk *x)
{
	struct xdp_options options = {};
	socklen_t len = sizeof(options);

	getsockopt(x->fd, SOL_XDP, XDP_OPTIONS, &options, &len);
	return options.flags & XDP_OPTIONS_ZEROCOPY;
}

/*
 * Without a requested mode: native and zero-copy if the driver supports them,
 * else generic
 */
TEST_F_TIMEOUT(xsk_bind, chooses_mode, TIMEOUT)
{
	struct testbed *b = &self->bed;
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

/* Falls back to generic mode if the device has no native XDP */
TEST_F_TIMEOUT(xsk_bind, falls_back_without_native, TIMEOUT)
{
	const char *text = "the driver does not declare safe native mode";
	struct testbed *b = &self->bed;

	if (b->zc)
		SKIP(return, "veth has native XDP only with enough Rx queues");
	ASSERT_EQ(0, run("ip link add %s type veth peer name %s",
			 "xa_few up numrxqueues 1 numtxqueues 1",
			 "xa_many numrxqueues 2 numtxqueues 2"));
	ASSERT_EQ(0, run("ip link set xa_many up"));
	b->opts.dev = "xa_few";
	expect_logged(_metadata, self->kmsg, &b->opts, -EOPNOTSUPP,
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
 * The driver rejects the built-in when the regular program is detached: veth
 * requires as many Rx queues as its peer has Tx queues.
 */
static void restore_rejected(struct __test_metadata *_metadata, struct testbed *b)
{
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop,
				    XDP_FLAGS_SKB_MODE));
	ASSERT_EQ(0, run("ethtool -L " RX_DEV " rx 1"));
	ASSERT_EQ(0, regular_detach(XDP_FLAGS_SKB_MODE));
}

/* A built-in that cannot be restored is reported, and restored later */
TEST_F_TIMEOUT(xsk_bind, stalls_when_driver_refuses, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xdp_attach attach;

	if (b->zc)
		SKIP(return, "only veth rejects it");
	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	restore_rejected(_metadata, b);
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_S_STALLED, attach.state);
	EXPECT_EQ(XDP_ATTACH_R_DRIVER, attach.reason);
	EXPECT_EQ(0, attach.prog_id);
	EXPECT_TRUE(kmsg_find(self->kmsg, "Failed to reinstate"));
	expect_no_prog(_metadata, RX_DEV);
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, run("ethtool -L " RX_DEV " rx %u", QUEUES));
	ASSERT_EQ(0, regular_attach(b->skel->progs.xsk_drop,
				    XDP_FLAGS_DRV_MODE));
	ASSERT_EQ(0, regular_detach(XDP_FLAGS_DRV_MODE));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* Without a requested mode, the built-in is restored in generic mode */
TEST_F_TIMEOUT(xsk_bind, restored_in_generic_mode, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xdp_attach attach;

	if (b->zc)
		SKIP(return, "only veth rejects it");
	b->opts.attach_flags = 0;
	bed_load(_metadata, b, "xsk_redirect");
	bed_connect(_metadata, b);
	expect_mode(_metadata, &b->rx, XDP_ATTACH_F_DRV_MODE,
		    XDP_ATTACH_R_NONE);
	restore_rejected(_metadata, b);
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, xsk_query(&b->rx, &attach));
	EXPECT_EQ(XDP_ATTACH_F_SKB_MODE, attach.flags);
	EXPECT_EQ(XDP_ATTACH_R_DRIVER, attach.reason);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

static int load_errno(struct __test_metadata *_metadata, bool devmap)
{
	struct xsk_test_progs *skel = xsk_test_progs__open();
	int err;

	ASSERT_NE(NULL, skel);
	bpf_program__set_autoload(devmap ? skel->progs.xsk_redirect_dev :
					   skel->progs.xsk_redirect_cpu, true);
	err = xsk_test_progs__load(skel);
	xsk_test_progs__destroy(skel);
	return err;
}

/* Programs of cpumap and devmap entries cannot call bpf_xsk_redirect() */
TEST_F_TIMEOUT(xsk_bind, kfunc_refused_in_maps, TIMEOUT)
{
	libbpf_set_print(NULL);
	EXPECT_EQ(-EACCES, load_errno(_metadata, false));
	EXPECT_EQ(-EACCES, load_errno(_metadata, true));
}

/* sock_diag reports the state only if it is requested */
TEST_F_TIMEOUT(xsk_bind, sock_diag, TIMEOUT)
{
	struct testbed *b = &self->bed;
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

/* sock_diag reports to which queue and socket chunks return */
TEST_F_TIMEOUT(xsk_bind, pair_in_sock_diag, TIMEOUT)
{
	struct testbed *b = &self->bed;
	const struct diag_socket *s;
	static struct diag d;

	b->opts.tx = true;
	b->opts.inorder = true;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	ASSERT_EQ(b->zc ? 0 : -EOPNOTSUPP,
		  xsk_fastpath__recycle(b->rx.fd, b->rx.fd, 0));
	ASSERT_EQ(0, diag_dump(&d, XDP_SHOW_RECYCLE | XDP_SHOW_INORDER));
	s = diag_find(&d, b->rx.fd);
	ASSERT_NE(NULL, s);
	EXPECT_EQ(1, s->inorder);
	ASSERT_TRUE(s->has_pair);
	EXPECT_EQ(0, s->pair.flags);
	if (!b->zc) {
		EXPECT_EQ(XDP_RECYCLE_S_OFF, s->pair.state);
		EXPECT_EQ(0, s->pair.ifindex);
		EXPECT_EQ(0, s->pair.ino);
		return;
	}
	/* Until the queue is polled, it is XDP_RECYCLE_S_SWITCHING */
	EXPECT_NE(XDP_RECYCLE_S_OFF, s->pair.state);
	EXPECT_EQ(rx_ifindex(), s->pair.ifindex);
	EXPECT_EQ(b->opts.queue, s->pair.queue_id);
	EXPECT_EQ(s->ino, s->pair.ino);
}

static void prog_info(struct __test_metadata *_metadata, int fd,
		      struct bpf_prog_info *info)
{
	__u32 len = sizeof(*info);

	memset(info, 0, len);
	ASSERT_EQ(0, bpf_prog_get_info_by_fd(fd, info, &len));
	ASSERT_LE(offsetof(struct bpf_prog_info, verified_insns) +
		  sizeof(info->verified_insns), len);
	EXPECT_STREQ("xsk_builtin", info->name);
}

/* Tools recognise the built-in program: no user can load one like it */
TEST_F_TIMEOUT(xsk_bind, builtin_is_recognised, TIMEOUT)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct testbed *b = &self->bed;
	struct bpf_prog_info info;
	int fd;

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	fd = bpf_prog_get_fd_by_id(expect_active(_metadata, &b->rx));
	ASSERT_LE(0, fd);
	prog_info(_metadata, fd, &info);
	EXPECT_EQ(0, info.verified_insns);

	fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "xsk_builtin", "GPL", insns, 2,
			   NULL);
	ASSERT_LE(0, fd);
	prog_info(_metadata, fd, &info);
	EXPECT_LT(0, info.verified_insns);
}

/* ip and bpftool show the built-in, ss works */
TEST_F_TIMEOUT(xsk_bind, tools_show_builtin, TIMEOUT)
{
	struct testbed *b = &self->bed;
	__u32 id;

	bed_connect(_metadata, b);
	id = expect_active(_metadata, &b->rx);
	EXPECT_EQ(0, run("ip link show %s | grep -qw 'xdp id %u'", RX_DEV, id));
	EXPECT_EQ(0, run("bpftool net show dev %s | grep -qw 'driver id %u'",
			 RX_DEV, id));
	EXPECT_EQ(0, run("bpftool prog show id %u | grep -qw xsk_builtin", id));
	EXPECT_EQ(0, run("ss --xdp -e | grep -qw " RX_DEV));
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
