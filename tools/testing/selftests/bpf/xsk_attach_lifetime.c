// SPDX-License-Identifier: GPL-2.0
/* XDP_ATTACH: the end of sockets, processes, devices and links */
#define _GNU_SOURCE
#include <sched.h>

#include "xsk_attach_modes.h"
#include "xsk_fastpath.h"

#define FLAPS		10
/* A NIC takes seconds to get its link */
#define PORT_FLAPS	3

static int socket_error(const struct xsk *x)
{
	socklen_t len = sizeof(int);
	int err = -1;

	getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

static void expect_detached(struct __test_metadata *_metadata, struct xsk *x)
{
	struct xdp_attach attach;

	EXPECT_EQ(ENETDOWN, socket_error(x));
	EXPECT_GT(0, recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL));
	EXPECT_EQ(ENXIO, errno);
	ASSERT_EQ(0, xsk_query(x, &attach));
	EXPECT_EQ(XDP_ATTACH_S_DETACHED, attach.state);
	EXPECT_EQ(0, attach.prog_id);
}

/* Create a socket and receive until killed */
static void receive_for_ever(const struct xsk_opts *opts, const int *pipe)
{
	struct flow f = { .max_len = FRAME_LEN, .gaps = true };
	struct xsk x;

	if (xsk_create(&x, opts))
		_exit(1);
	f.rx = &x;
	helper_tell(pipe);
	while (flow_recv(&f) >= 0) {
		xsk_refill(&x);
		xsk_drive(&x, 10);
	}
	_exit(1);
}

/* SIGKILL of the owner under traffic returns the queue to the stack */
TEST_F_TIMEOUT(xsk_attach, killed_owner, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct testbed *b = &self->bed;
	struct helper owner;
	pid_t pid;

	pid = helper_fork(&owner);
	ASSERT_LE(0, pid);
	if (!pid)
		receive_for_ever(&b->opts, owner.from);
	ASSERT_TRUE(helper_wait(owner.from));

	bed_sender(_metadata, b);
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	nap(300);
	helper_kill(&owner);
	expect_no_prog(_metadata, RX_DEV);
	ASSERT_EQ(0, queue_settle(RX_DEV, b->opts.queue));
	nap(200);
	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_settle_stack(&b->flow, &b->stack));
	ASSERT_EQ(0, flow_to_stack(&b->flow, &b->stack, SOME));

	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	b->flow.rx = &b->rx;
	expect_active(_metadata, &b->rx);
	settle(_metadata, b, &b->flow, &b->stack);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
}

/* The port has returned to the initial network namespace and runs no program */
static bool port_without_prog_soon(void)
{
	long long deadline = now_ms() + STALL_MS;
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "nsenter -t %d -n ip -o link show " RX_DEV
		 " 2>/dev/null | grep -qv xdp", getppid());
	while (system(cmd)) {
		if (now_ms() > deadline)
			return false;
		nap(20);
	}
	return true;
}

/* Deleting the network namespace with its owner deletes device and built-in */
TEST_F_TIMEOUT(xsk_attach, netns_deletion, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct testbed *b = &self->bed;
	struct helper owner;
	long long deadline;
	pid_t pid;

	pid = helper_fork(&owner);
	ASSERT_LE(0, pid);
	if (!pid) {
		if (unshare(CLONE_NEWNET) || !helper_tell(owner.from) ||
		    !helper_wait(owner.to) ||
		    run("ip link set " RX_DEV " up"))
			_exit(1);
		receive_for_ever(&b->opts, owner.from);
	}
	ASSERT_TRUE(helper_wait(owner.from));
	ASSERT_EQ(0, run("ip link set " RX_DEV " netns %d", pid));
	ASSERT_TRUE(helper_tell(owner.to));
	ASSERT_TRUE(helper_wait(owner.from));

	bed_sender(_metadata, b);
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	nap(300);
	helper_kill(&owner);
	deadline = now_ms() + STALL_MS;
	/* A port returns to the initial namespace, which the next test checks */
	while (!b->zc && if_nametoindex(TX_DEV) && now_ms() < deadline)
		nap(20);
	EXPECT_EQ(!b->zc, !if_nametoindex(TX_DEV));
	if (b->zc)
		EXPECT_TRUE(port_without_prog_soon());
	traffic_stop(&traffic);
}

/*
 * Attach sockets to another queue and close them, every other one after
 * XDP_ATTACH_F_OFF, until killed. Exit status: 1 if a socket was not attached,
 * 2 if one was not detached
 */
static void churn_for_ever(const struct testbed *b)
{
	struct xsk_opts opts = b->opts;
	bool detach = false;
	struct xsk x;

	opts.queue = 1;
	while (!xsk_create(&x, &opts)) {
		if (detach && xsk_fastpath__attach(x.fd, XDP_ATTACH_F_OFF))
			_exit(2);
		detach = !detach;
		xsk_close(&x);
	}
	_exit(1);
}

/*
 * Removal of the device under traffic detaches the socket, which reports it,
 * while others are attached and detached
 */
TEST_F_TIMEOUT(xsk_attach, device_removal, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct testbed *b = &self->bed;
	struct helper churner;
	int status;

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	ASSERT_EQ(0, flow_wait(&b->flow, SOME));
	if (!helper_fork(&churner))
		churn_for_ever(b);
	ASSERT_LT(0, churner.pid);
	ASSERT_EQ(0, flow_reach(&b->flow, flow_sent(&b->flow) + SOME));
	EXPECT_EQ(0, waitpid(churner.pid, NULL, WNOHANG));
	ASSERT_EQ(0, run(b->zc ? "echo 1 >/sys/class/net/" RX_DEV
				 "/device/remove" : "ip link del " RX_DEV));
	ASSERT_EQ(churner.pid, waitpid(churner.pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(1, WEXITSTATUS(status));
	traffic_stop(&traffic);

	expect_detached(_metadata, &b->rx);
	xsk_close(&b->rx);
}

/* The new network namespace: no program runs, packets go to the stack */
static void take_device(const struct helper *h, struct flow *f)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, link);
	struct flow seen = { .max_len = f->max_len, .gaps = true };
	char frame[FRAME_MAX];
	struct stack s;
	int n = 0;

	if (unshare(CLONE_NEWNET) || !helper_tell(h->from) ||
	    !helper_wait(h->to) || run("ip link set " RX_DEV " up") ||
	    bpf_xdp_query(rx_ifindex(), 0, &link) || link.prog_id ||
	    stack_open(&s, RX_DEV))
		_exit(1);

	while (n < SOME) {
		int len = stack_recv(&s, frame);

		if (len && flow_check(&seen, frame, len))
			_exit(1);
		n += !!len;
		nap(1);
	}
	helper_tell(h->from);
	helper_wait(h->to);
	_exit(0);
}

/* Moving the device to another network namespace detaches the socket */
TEST_F_TIMEOUT(xsk_attach, device_changes_netns, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct testbed *b = &self->bed;
	struct helper peer;
	pid_t pid;

	b->flow.max_len = FRAME_LEN;
	pid = helper_fork(&peer);
	ASSERT_LE(0, pid);
	if (!pid)
		take_device(&peer, &b->flow);
	ASSERT_TRUE(helper_wait(peer.from));

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	ASSERT_EQ(0, flow_wait(&b->flow, SOME));
	ASSERT_EQ(0, run("ip link set " RX_DEV " netns %d", pid));
	expect_detached(_metadata, &b->rx);
	ASSERT_TRUE(helper_tell(peer.to));
	EXPECT_TRUE(helper_wait(peer.from));
	ASSERT_EQ(0, traffic_stop(&traffic));
	xsk_close(&b->rx);
	helper_kill(&peer);
}

/* ethtool -L does not remove the queue of an attached socket */
TEST_F_TIMEOUT(xsk_attach, channel_in_use, TIMEOUT)
{
	struct testbed *b = &self->bed;

	b->opts.queue = 1;
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	if (!b->zc)
		ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx 1"));
	ASSERT_EQ(-EIO, set_rx_queues(b, 1));
	if (!b->zc)
		ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx %u", QUEUES));
	xsk_close(&b->rx);

	bed_connect(_metadata, b);
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	xsk_close(&b->tx);
	xsk_close(&b->rx);
	if (!b->zc)
		ASSERT_EQ(0, run("ethtool -L " TX_DEV " tx 1"));
	ASSERT_EQ(0, set_rx_queues(b, 1));
}

/* Delivery resumes after the link was down under traffic */
TEST_F_TIMEOUT(xsk_attach, link_flaps, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct testbed *b = &self->bed;
	int i;

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	for (i = 0; i < (b->zc ? PORT_FLAPS : FLAPS); i++) {
		ASSERT_EQ(0, run("ip link set " RX_DEV " down"));
		ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
		/* Not only packets that were received before */
		ASSERT_EQ(0, flow_reach(&b->flow, flow_sent(&b->flow) + SOME));
	}
	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_settle(&b->flow));
	expect_active(_metadata, &b->rx);
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/*
 * Attach and detach regular programs until killed: in both modes, but in native
 * mode only on a port, which generic mode would keep in reset
 */
static void swap_for_ever(const struct testbed *b)
{
	__u32 other = b->zc ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;

	for (;;) {
		regular_attach(b->skel->progs.xsk_drop, other);
		regular_detach(other);
		regular_attach(b->skel->progs.xsk_redirect, XDP_FLAGS_DRV_MODE);
		regular_detach(XDP_FLAGS_DRV_MODE);
	}
}

/* Delivery survives changes of programs, other sockets and the link */
TEST_F_TIMEOUT(xsk_attach, storm, TIMEOUT)
{
	struct traffic traffic = { .lossy = true };
	struct helper swapper, churner;
	struct testbed *b = &self->bed;
	int i;

	/* Unread packets would keep page pools of replaced programs in use */
	stack_close(&b->stack);
	bed_load(_metadata, b, "xsk_redirect");
	if (!helper_fork(&swapper))
		swap_for_ever(b);
	if (!helper_fork(&churner))
		churn_for_ever(b);
	ASSERT_LT(0, swapper.pid);
	ASSERT_LT(0, churner.pid);

	bed_connect(_metadata, b);
	b->flow.gaps = true;
	ASSERT_EQ(0, traffic_start(&traffic, &b->flow));
	for (i = 0; i < (b->zc ? PORT_FLAPS : FLAPS); i++) {
		ASSERT_EQ(0, run("ip link set " RX_DEV " down"));
		ASSERT_EQ(0, run("ip link set " RX_DEV " up"));
		ASSERT_EQ(0, flow_reach(&b->flow, flow_sent(&b->flow) + SOME));
	}
	EXPECT_EQ(0, waitpid(churner.pid, NULL, WNOHANG));
	helper_kill(&churner);
	helper_kill(&swapper);
	regular_detach(XDP_FLAGS_SKB_MODE);
	regular_detach(XDP_FLAGS_DRV_MODE);

	ASSERT_EQ(0, traffic_stop(&traffic));
	ASSERT_EQ(0, flow_settle(&b->flow));
	expect_active(_metadata, &b->rx);
	b->flow.gaps = false;
	ASSERT_EQ(0, flow_transfer(&b->flow, SOME, true));
	ASSERT_EQ(0, flow_drain(&b->flow));
}

/* The built-in runs until the last socket is closed */
TEST_F_TIMEOUT(xsk_attach, last_close_removes_builtin, TIMEOUT)
{
	struct testbed *b = &self->bed;
	struct xsk rx[2], tx[2];
	struct flow flows[2];
	int first, last, q;

	for (q = 0; q < 2; q++)
		if (q)
			flow_open_other(_metadata, b, &flows[q], &tx[q]);
		else
			flow_open(_metadata, &flows[q], &tx[q], TX_DEV,
				  tx_queue(b, q));

	for (first = 0; first < 2; first++) {
		last = !first;
		for (q = 0; q < 2; q++) {
			b->opts.queue = q;
			ASSERT_EQ(0, xsk_create(&rx[q], &b->opts));
			flows[q].rx = &rx[q];
			settle(_metadata, b, &flows[q], &b->stack);
			ASSERT_EQ(0, flow_transfer(&flows[q], SOME, true));
		}
		xsk_close(&rx[first]);
		flows[first].rx = NULL;
		ASSERT_EQ(0, queue_settle(RX_DEV, first));
		expect_active(_metadata, &rx[last]);
		ASSERT_EQ(0, flow_to_stack(&flows[first], &b->stack, SOME));
		ASSERT_EQ(0, flow_transfer(&flows[last], SOME, true));

		xsk_close(&rx[last]);
		flows[last].rx = NULL;
		ASSERT_EQ(0, queue_settle(RX_DEV, last));
		expect_no_prog(_metadata, RX_DEV);
		settle(_metadata, b, &flows[last], &b->stack);
		ASSERT_EQ(0, flow_to_stack(&flows[last], &b->stack, SOME));
	}
}

/* Receive from sockets passed over a UNIX socket, without privileges */
static int receive_as_nobody(int sock, const struct xsk_opts *opts)
{
	struct flow f = { .max_len = FRAME_LEN };
	struct xdp_attach attach;
	struct xsk x;
	int fds[2];
	int i;

	if (!become_nobody() || !fds_recv(sock, fds, 2, 0) ||
	    xsk_adopt(&x, fds[0], fds[1], opts) || xsk_query(&x, &attach) ||
	    attach.state != XDP_ATTACH_S_ACTIVE)
		return 1;

	f.rx = &x;
	for (i = 1; i <= 4; i++) {
		if (write(sock, "", 1) != 1 || flow_wait(&f, i * SOME))
			return 1;
	}
	return 0;
}

/* Attach early, so that the port is not reset for the first receiver */
static void keep_builtin(struct __test_metadata *_metadata, struct testbed *b,
			 struct xsk *keeper)
{
	struct xsk_opts opts = b->opts;

	opts.queue = 1;
	opts.no_rx = true;
	opts.tx = true;
	ASSERT_EQ(0, xsk_create(keeper, &opts));
	bed_sender(_metadata, b);
	bed_settle(_metadata, b);
}

/* An unprivileged process uses a socket that a privileged one has attached */
TEST_F_TIMEOUT(xsk_attach, passed_to_unprivileged, TIMEOUT)
{
	struct testbed *b = &self->bed;
	int pair[2], fds[2], status, i;
	struct xsk keeper;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				pair));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(pair[0]);
		_exit(receive_as_nobody(pair[1], &b->opts));
	}
	close(pair[1]);

	keep_builtin(_metadata, b, &keeper);
	ASSERT_EQ(0, xsk_create(&b->rx, &b->opts));
	fds[0] = b->rx.fd;
	fds[1] = b->rx.umem->memfd;
	ASSERT_TRUE(fds_send(pair[0], fds, 2, 0));
	xsk_close(&b->rx);
	xsk_close(&keeper);

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, read(pair[0], &byte, 1));
		ASSERT_EQ(0, flow_send(&b->flow, SOME));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	expect_no_prog(_metadata, RX_DEV);
}

int main(int argc, char **argv)
{
	return run_tests(argc, argv);
}
