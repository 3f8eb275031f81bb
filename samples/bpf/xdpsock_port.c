// SPDX-License-Identifier: GPL-2.0
/* xdpsock: a socket with its umem, from open to close, and its system calls */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "xdpsock_frame.h"
#include "xdpsock_port.h"
#include "xsk_fastpath.h"

#define POLL_TIMEOUT_MS 1000
/* The kernel frees a queue a moment after its socket was closed: wait for it */
#define BUSY_TRIES 100
#define BUSY_WAIT_USEC 10000

static void say(const char *text)
{
	fprintf(stderr, "xdpsock: %s\n", text);
}

static int umem_open(struct xsk_port *port)
{
	const struct xdpsock_opts *opts = port->opts;
	struct xsk_umem_config config = {
		.fill_size = 2,
		.comp_size = opts->ring_size,
		.frame_size = opts->frame_size,
	};
	void *area;

	while (config.fill_size < opts->frames)
		config.fill_size *= 2;
	port->area_size = (__u64)opts->frames * opts->frame_size;
	area = mmap(NULL, port->area_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	port->area = area;
	return xsk_umem__create(&port->umem, area, port->area_size,
				&port->fill, &port->comp, &config);
}

/* Before bind(): ask for XDP_ATTACH, or settle for program and XSKMAP */
static int choose_path(struct xsk_port *port)
{
	const struct xdpsock_opts *opts = port->opts;
	__u32 flags = 0;
	__u64 features;
	int err;

	port->binding.attach = false;
	if (!opts->attach)
		return 0;
	err = xsk_fastpath__features(xsk_umem__fd(port->umem), &features);
	if (err)
		return err;
	if (!(features & XDP_FASTPATH_F_ATTACH)) {
		if (opts->force)
			return -ENOPROTOOPT;
		say("this kernel has no XDP_ATTACH; falling back to program and XSKMAP");
		return 0;
	}
	if (opts->mode == MODE_SKB)
		flags |= XDP_ATTACH_F_SKB_MODE;
	if (opts->mode == MODE_NATIVE)
		flags |= XDP_ATTACH_F_DRV_MODE;
	if (opts->force)
		flags |= XDP_ATTACH_F_FORCE;
	port->binding.attach = true;
	return xsk_fastpath__attach(xsk_umem__fd(port->umem), flags);
}

static int set_busy_poll(struct xsk_port *port)
{
	static const int prefer = 1, usecs = 20;
	const __u32 budget = port->opts->budget ?: port->batch;
	const struct {
		int name;
		const void *value;
	} options[] = {
		{ SO_PREFER_BUSY_POLL, &prefer },
		{ SO_BUSY_POLL, &usecs },
		{ SO_BUSY_POLL_BUDGET, &budget },
	};

	if (!port->busy_poll)
		return 0;
	for (size_t i = 0; i < 3; i++) {
		if (setsockopt(xsk_umem__fd(port->umem), SOL_SOCKET,
			       options[i].name, options[i].value, sizeof(int)))
			return -errno;
	}
	return 0;
}

static int socket_open(struct xsk_port *port, enum xdpsock_mode mode)
{
	const struct xdpsock_opts *opts = port->opts;
	struct xsk_socket_config config = {
		.rx_size = opts->ring_size,
		.tx_size = opts->ring_size,
	};
	int tries = BUSY_TRIES;
	int err;

	/* xsk_fastpath.h says why this and the options before work this way */
	if (port->binding.attach)
		config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
	config.xdp_flags = mode == MODE_SKB ? XDP_FLAGS_SKB_MODE :
					      XDP_FLAGS_DRV_MODE;
	if (opts->copy == COPY_ZERO)
		config.bind_flags |= XDP_ZEROCOPY;
	else if (opts->copy == COPY_YES || mode == MODE_SKB)
		config.bind_flags |= XDP_COPY;
	if (!opts->no_need_wakeup)
		config.bind_flags |= XDP_USE_NEED_WAKEUP;

	do {
		err = xsk_socket__create(&port->xsk, opts->interface,
					 opts->queue, port->umem,
					 port->has_rx ? &port->rx : NULL,
					 port->has_tx ? &port->tx : NULL,
					 &config);
	} while (err == -EBUSY && tries-- && !usleep(BUSY_WAIT_USEC));
	if (err)
		return err;
	port->fd = xsk_socket__fd(port->xsk);
	return 0;
}

/* Receivers get all chunks to fill, a sender all chunks with a frame in each */
static int hand_out_chunks(struct xsk_port *port)
{
	const struct xdpsock_opts *opts = port->opts;
	__u32 idx = 0;

	if (port->has_rx) {
		xsk_ring_prod__reserve(&port->fill, opts->frames, &idx);
		for (__u32 i = 0; i < opts->frames; i++)
			*xsk_ring_prod__fill_addr(&port->fill, idx + i) =
				(__u64)i * opts->frame_size;
		xsk_ring_prod__submit(&port->fill, opts->frames);
		return 0;
	}
	port->free = calloc(opts->frames, sizeof(*port->free));
	if (!port->free)
		return -ENOMEM;
	while (port->num_free < opts->frames) {
		__u64 addr = (__u64)port->num_free * opts->frame_size;

		frame_fill(port->area + addr, port->packet_len);
		port->free[port->num_free++] = addr;
	}
	return 0;
}

static int try_open(struct xsk_port *port, const struct xdpsock_opts *opts,
		    enum xdpsock_mode mode)
{
	int err;

	*port = (struct xsk_port){
		.opts = opts,
		.batch = opts->batch,
		.packet_len = opts->packet_size - ETH_FCS_LEN,
		.has_rx = opts->bench != BENCH_TXONLY,
		.has_tx = opts->bench != BENCH_RXDROP,
		.wake_always = opts->no_need_wakeup || opts->busy_poll,
		.busy_poll = opts->busy_poll,
		.poll = opts->poll,
	};
	err = umem_open(port);
	err = err ?: choose_path(port);
	err = err ?: set_busy_poll(port);
	err = err ?: hand_out_chunks(port);
	err = err ?: socket_open(port, mode);
	if (port->umem && port->binding.attach)
		xsk_fastpath__attach_query(xsk_umem__fd(port->umem),
					   &port->binding.info);
	if (err)
		xsk_port_close(port);
	return err;
}

static const char *explain(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return "no permission: run as root (CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF)";
	case EAFNOSUPPORT:
		return "no AF_XDP: the kernel has to be built with CONFIG_XDP_SOCKETS";
	case ENOPROTOOPT:
		return "this kernel has no XDP_ATTACH: leave out --attach or --force";
	case EBUSY:
		return "busy: close the socket there (ss --xdp -p), or detach the XDP program";
	case EEXIST:
		return "another XDP program is in the way: ip link set dev NAME xdp off";
	case EINVAL:
		return "refused: does the queue exist (ethtool -l), is the MTU low enough?";
	case ENETDOWN:
		return "the interface is down: ip link set dev NAME up";
	case EOPNOTSUPP:
		return "the driver cannot do this: try without -z and -N";
	case ENOBUFS:
	case ENOMEM:
		return "no memory: use fewer --frames, or raise ulimit -l";
	case ENOENT:
		return "libxdp cannot find its default program: reinstall libxdp";
	}
	return strerror(-err);
}

static void report_failure(const struct xsk_port *port, int err)
{
	const struct xdpsock_opts *opts = port->opts;
	__u32 reason = port->binding.info.reason;

	fprintf(stderr, "xdpsock: %s queue %u: %s (error %d)\n",
		opts->interface, opts->queue,
		reason ? xsk_fastpath__attach_reason_str(reason) :
			 explain(err), -err);
}

static void report_fallback(const struct xsk_port *port)
{
	const struct xdp_attach *info = &port->binding.info;
	__u32 reason = info->reason;

	if (info->state == XDP_ATTACH_S_SHADOWED)
		reason = XDP_ATTACH_R_REGULAR;
	if (!reason)
		return;
	fprintf(stderr, "xdpsock: %s queue %u: fell back to %s: %s\n",
		port->opts->interface, port->opts->queue,
		info->state == XDP_ATTACH_S_SHADOWED ? "waiting" :
						       "generic XDP",
		xsk_fastpath__attach_reason_str(reason));
}

int xsk_port_open(struct xsk_port *port, const struct xdpsock_opts *opts)
{
	int err = try_open(port, opts, opts->mode);

	/* XDP_ATTACH falls back in the kernel, libxdp's program not at all */
	if (err == -EOPNOTSUPP && !port->binding.attach &&
	    opts->mode == MODE_AUTO && opts->copy != COPY_ZERO) {
		say("the driver has no native XDP; falling back to generic XDP");
		err = try_open(port, opts, MODE_SKB);
	}
	if (err) {
		report_failure(port, err);
		return err;
	}
	report_fallback(port);
	xsk_port_refresh(port);
	return 0;
}

void xsk_port_close(struct xsk_port *port)
{
	xsk_socket__delete(port->xsk);
	xsk_umem__delete(port->umem);
	if (port->area)
		munmap(port->area, port->area_size);
	free(port->free);
	port->xsk = NULL;
	port->umem = NULL;
	port->area = NULL;
	port->free = NULL;
}

void xsk_port_refresh(struct xsk_port *port)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct xsk_binding *binding = &port->binding;
	struct xdp_options options = {};
	socklen_t len = sizeof(options);

	if (!getsockopt(port->fd, SOL_XDP, XDP_OPTIONS, &options, &len))
		binding->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;

	binding->mode = "none";
	if (!bpf_xdp_query(port->opts->ifindex, 0, &query)) {
		if (query.attach_mode == XDP_ATTACHED_SKB)
			binding->mode = "skb";
		else if (query.attach_mode != XDP_ATTACHED_NONE)
			binding->mode = "native";
		binding->prog_id = query.prog_id;
	}
	if (!binding->attach ||
	    xsk_fastpath__attach_query(port->fd, &binding->info))
		return;
	binding->prog_id = binding->info.prog_id;
}

/* Errors that pass: no room now, or the link is down for a while */
static int check_syscall(int ret)
{
	if (ret >= 0 || errno == EAGAIN || errno == EBUSY || errno == EINTR ||
	    errno == ENOBUFS || errno == ENETDOWN)
		return 0;
	return -errno;
}

int xsk_port_wake_tx(struct xsk_port *port)
{
	if (!port->outstanding)
		return 0;
	if (!port->wake_always && !xsk_ring_prod__needs_wakeup(&port->tx))
		return 0;
	port->count.sendto++;
	return check_syscall(sendto(port->fd, NULL, 0, MSG_DONTWAIT, NULL, 0));
}

static int wait_in_poll(struct xsk_port *port)
{
	struct pollfd pfd = { .fd = port->fd, .events = POLLIN };

	/* a full Tx ring is what keeps frames in the Rx ring */
	if (!port->has_rx ||
	    (port->has_tx && !xsk_prod_nb_free(&port->tx, 1)))
		pfd.events = POLLOUT;
	port->count.poll++;
	return check_syscall(poll(&pfd, 1, POLL_TIMEOUT_MS));
}

int xsk_port_idle(struct xsk_port *port)
{
	if (port->poll)
		return wait_in_poll(port);
	if (!port->has_rx)
		return 0;
	if (!port->busy_poll && !xsk_ring_prod__needs_wakeup(&port->fill))
		return 0;
	port->count.recvfrom++;
	return check_syscall(recvfrom(port->fd, NULL, 0, MSG_DONTWAIT, NULL,
				      NULL));
}
