// SPDX-License-Identifier: GPL-2.0
/* xdpsock: sockets and their umem: setup, teardown and system calls */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "xdpsock_frame.h"
#include "xdpsock_port.h"
#include "xsk_fastpath.h"

#define POLL_TIMEOUT_MS 1000
/* The kernel frees a queue asynchronously after close(): retry bind() */
#define BUSY_TRIES 500
#define BUSY_WAIT_USEC 10000

#define HUGE_PAGE (2ULL << 20)

#define LINK_TRIES 400
#define LINK_WAIT_USEC 50000

static void say(const char *text)
{
	fprintf(stderr, "xdpsock: %s\n", text);
}

static bool is_first(const struct xsk_port *port)
{
	return port == port->ports->port;
}

/* Valid before bind(), too */
static int port_fd(const struct xsk_port *port)
{
	if (port->share.fd)
		return port->share.fd;
	return port->xsk ? xsk_socket__fd(port->xsk) :
			   xsk_umem__fd(port->ports->umem);
}

static __u32 fill_size(const struct xsk_ports *ports)
{
	__u32 chunks = ports->opts->frames / ports->num;
	__u32 size = 2;

	while (size < chunks)
		size *= 2;
	return size;
}

static int umem_open(struct xsk_ports *ports)
{
	const struct xdpsock_opts *opts = ports->opts;
	struct xsk_umem_opts config = {
		.sz = sizeof(config),
		.fill_size = fill_size(ports),
		.comp_size = opts->ring_size,
		.frame_size = opts->frame_size,
		.tx_metadata_len = tx_metadata_len(opts),
	};
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
	struct xsk_port *first = ports->port;
	void *area;

	if (opts->unaligned)
		config.flags |= XDP_UMEM_UNALIGNED_CHUNK_FLAG;
	if (opts->checksum)
		config.flags |= XDP_UMEM_TX_METADATA_LEN;

	ports->area_size = (__u64)opts->frames * opts->frame_size;
	if (opts->unaligned) {
		flags |= MAP_HUGETLB;
		ports->area_size += -ports->area_size % HUGE_PAGE;
	}
	area = mmap(NULL, ports->area_size, PROT_READ | PROT_WRITE, flags,
		    -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	ports->area = area;
	config.size = ports->area_size;
	ports->umem = xsk_umem__create_opts(area, &first->fill, &first->comp,
					    &config);
	return ports->umem ? 0 : -errno;
}

/* Choose XDP_ATTACH or program and XSKMAP */
static int choose_path(struct xsk_ports *ports)
{
	const struct xdpsock_opts *opts = ports->opts;
	__u64 features;
	int err;

	if (!opts->attach)
		return 0;
	err = xsk_fastpath__features(xsk_umem__fd(ports->umem), &features);
	if (err)
		return err;
	ports->attach = features & XDP_FASTPATH_F_ATTACH;
	if (opts->pass && !(features & XDP_FASTPATH_F_PASS)) {
		say("this kernel has no XDP_ATTACH_F_PASS: remove --pass");
		return -ENOPROTOOPT;
	}
	if (ports->attach)
		return 0;
	if (opts->force)
		return -ENOPROTOOPT;
	say("this kernel has no XDP_ATTACH; falling back to program and XSKMAP");
	return 0;
}

/* Must precede bind() */
static int ask_to_attach(struct xsk_port *port)
{
	const struct xdpsock_opts *opts = port->opts;
	__u32 flags = 0;

	port->binding.attach = port->ports->attach;
	if (!port->binding.attach)
		return 0;
	if (opts->mode == MODE_SKB)
		flags |= XDP_ATTACH_F_SKB_MODE;
	else if (opts->mode == MODE_NATIVE || opts->force)
		flags |= XDP_ATTACH_F_DRV_MODE;
	if (opts->pass)
		flags |= XDP_ATTACH_F_PASS;
	else if (opts->force)
		flags |= XDP_ATTACH_F_IF_NOEXIST;
	return xsk_fastpath__attach(port_fd(port), flags);
}

/* Must precede bind() */
static int ask_for_order(struct xsk_port *port)
{
	if (!port->opts->inorder || !port->has_tx)
		return 0;
	port->inorder = true;
	return xsk_fastpath__tx_inorder(port_fd(port), 1);
}

static int set_busy_poll(const struct xsk_port *port)
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
		if (setsockopt(port->fd, SOL_SOCKET, options[i].name,
			       options[i].value, sizeof(int)))
			return -errno;
	}
	return 0;
}

/* libxdp allows options before bind() on the first socket of a umem only */
static int libxdp_open(struct xsk_port *port, enum xdpsock_mode mode)
{
	const struct xdpsock_opts *opts = port->opts;
	struct xsk_socket_config config = {
		.rx_size = opts->ring_size,
		.tx_size = opts->ring_size,
	};
	int err = is_first(port) ? ask_to_attach(port) : 0;

	if (!err && is_first(port))
		err = ask_for_order(port);
	if (err)
		return err;
	/* See xsk_fastpath.h for the use of XDP_ATTACH with libxdp */
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
	if (opts->frags)
		config.bind_flags |= XDP_USE_SG;
	return xsk_socket__create_shared(&port->xsk, port->interface,
					 port->queue, port->ports->umem,
					 port->has_rx ? &port->rx : NULL,
					 port->has_tx ? &port->tx : NULL,
					 &port->fill, &port->comp, &config);
}

static int share_open(struct xsk_port *port)
{
	const struct xsk_share_rings rings = {
		.fill = &port->fill,
		.comp = &port->comp,
		.rx = port->has_rx ? &port->rx : NULL,
		.tx = port->has_tx ? &port->tx : NULL,
		.fill_size = fill_size(port->ports),
		.size = port->opts->ring_size,
	};
	int err = xsk_share_open(&port->share, &rings);

	err = err ?: ask_to_attach(port);
	err = err ?: ask_for_order(port);
	return err ?: xsk_share_bind(&port->share, port->ifindex, port->queue,
				     xsk_umem__fd(port->ports->umem));
}

static int socket_open(struct xsk_port *port, enum xdpsock_mode mode)
{
	bool share = port->ports->attach && !is_first(port);
	int tries = BUSY_TRIES;
	int err;

	do {
		if (share)
			xsk_share_close(&port->share);
		err = share ? share_open(port) : libxdp_open(port, mode);
	} while (err == -EBUSY && tries-- && !usleep(BUSY_WAIT_USEC));
	if (err)
		return err;
	port->fd = port_fd(port);
	return set_busy_poll(port);
}

/* A receiver puts its chunks into the fill ring, a sender a frame into each */
static int hand_out_chunks(struct xsk_port *port)
{
	const struct xdpsock_opts *opts = port->opts;
	__u64 addr = (__u64)port->first_chunk * opts->frame_size;
	__u32 idx = 0;

	if (port->has_rx) {
		xsk_ring_prod__reserve(&port->fill, port->num_chunks, &idx);
		for (__u32 i = 0; i < port->num_chunks; i++)
			*xsk_ring_prod__fill_addr(&port->fill, idx + i) =
				addr + (__u64)i * opts->frame_size;
		xsk_ring_prod__submit(&port->fill, port->num_chunks);
		return 0;
	}
	port->free = calloc(port->num_chunks, sizeof(*port->free));
	if (!port->free)
		return -ENOMEM;
	while (port->num_free < port->num_chunks) {
		void *frame = port->area + addr + tx_metadata_len(opts);

		frame_fill(frame, port->packet_len);
		if (opts->checksum)
			frame_request_checksum(frame);
		port->free[port->num_free++] = addr + tx_metadata_len(opts);
		addr += opts->frame_size;
	}
	return 0;
}

static void port_init(struct xsk_ports *ports, unsigned int i)
{
	const struct xdpsock_opts *opts = ports->opts;
	unsigned int other = (i + opts->queues) % ports->num;
	const char *interface = opts->interfaces[i / opts->queues];

	ports->port[i] = (struct xsk_port){
		.opts = opts,
		.ports = ports,
		.peer = &ports->port[opts->bench == BENCH_FWD ? other : i],
		.interface = interface,
		.ifindex = if_nametoindex(interface),
		.queue = opts->queue + i % opts->queues,
		.first_chunk = i * (opts->frames / ports->num),
		.num_chunks = opts->frames / ports->num,
		.batch = opts->batch,
		.packet_len = opts->packet_size - ETH_FCS_LEN,
		.tx_options = opts->checksum ? XDP_TX_METADATA : 0,
		.has_rx = opts->bench != BENCH_TXONLY,
		.has_tx = opts->bench != BENCH_RXDROP,
		.wake_always = opts->no_need_wakeup || opts->busy_poll,
		.busy_poll = opts->busy_poll,
		.poll = opts->poll,
	};
}

/* Fill before bind(), except if libxdp creates rings and binds in one call */
static int port_open(struct xsk_port *port, enum xdpsock_mode mode)
{
	int err;

	port->area = port->ports->area;
	if (is_first(port))
		err = hand_out_chunks(port) ?: socket_open(port, mode);
	else
		err = socket_open(port, mode) ?: hand_out_chunks(port);
	if (port->binding.attach)
		xsk_fastpath__attach_query(port_fd(port), &port->binding.info);
	return err;
}

/* Chunks that a socket sends are recycled to its peer, which received them */
static int pair(struct xsk_port *port)
{
	if (!port->opts->recycle)
		return 0;
	port->recycle = true;
	return xsk_fastpath__recycle(port->fd, port->peer->fd, 0);
}

/* On failure @failed is a copy of the socket that failed */
static int try_open(struct xsk_ports *ports, enum xdpsock_mode mode,
		    struct xsk_port *failed)
{
	int err;

	for (unsigned int i = 0; i < ports->num; i++)
		port_init(ports, i);
	err = umem_open(ports);
	err = err ?: choose_path(ports);
	*failed = ports->port[0];
	for (unsigned int i = 0; !err && i < ports->num; i++) {
		err = port_open(&ports->port[i], mode);
		*failed = ports->port[i];
	}
	for (unsigned int i = 0; !err && i < ports->num; i++) {
		err = pair(&ports->port[i]);
		*failed = ports->port[i];
	}
	if (err)
		xsk_ports_close(ports);
	return err;
}

static const char *explain(int err)
{
	switch (-err) {
	case EPERM:
	case EACCES:
		return "no permission: run as root (CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF)";
	case EAFNOSUPPORT:
		return "no AF_XDP: build the kernel with CONFIG_XDP_SOCKETS";
	case ENOPROTOOPT:
		return "this kernel has no XDP_ATTACH: remove --attach, --inorder, --recycle";
	case EBUSY:
		return "busy: close the queue's socket (ss --xdp -p), or detach the XDP program";
	case EEXIST:
		return "another XDP program is attached: ip link set dev NAME xdp off";
	case EINVAL:
		return "refused: does the queue exist (ethtool -l), is the MTU low enough?";
	case ENETDOWN:
		return "the interface is down: ip link set dev NAME up";
	case EOPNOTSUPP:
		return "not supported by the driver: remove -z and -N";
	case ENOBUFS:
	case ENOMEM:
		return "out of memory: use fewer --frames, raise ulimit -l (-u: vm.nr_hugepages)";
	case ENOENT:
		return "libxdp cannot find its default program: reinstall libxdp";
	}
	return strerror(-err);
}

static void report_failure(const struct xsk_port *port, int err)
{
	__u32 reason = port->binding.info.reason;

	fprintf(stderr, "xdpsock: %s queue %u: %s (error %d)\n",
		port->interface, port->queue,
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
		port->interface, port->queue,
		info->state == XDP_ATTACH_S_SHADOWED ? "waiting" :
						       "generic XDP",
		xsk_fastpath__attach_reason_str(reason));
}

static bool has_link(const struct xsk_port *port)
{
	char path[64], carrier = '1';
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%s/carrier",
		 port->interface);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* If the carrier is unknown, do not wait */
	if (fd < 0)
		return true;
	if (read(fd, &carrier, 1) != 1)
		carrier = '1';
	close(fd);
	return carrier == '1';
}

/*
 * Drivers may take the link down when a program is attached; frames sent before
 * it is up again are lost.
 */
static void await_link(const struct xsk_port *port)
{
	for (unsigned int i = 0; i < LINK_TRIES; i++) {
		if (has_link(port))
			return;
		usleep(LINK_WAIT_USEC);
	}
	fprintf(stderr, "xdpsock: %s has no link\n", port->interface);
}

/* In order, entries are held until completion: this limits frames in flight */
static void check_ring_size(const struct xsk_port *port)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ifreq request = { .ifr_data = (void *)&ring };
	int fd;

	if (!port->inorder)
		return;
	fd = socket(AF_LOCAL, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s",
		 port->interface);
	if (!ioctl(fd, SIOCETHTOOL, &request) &&
	    port->opts->ring_size < ring.tx_pending)
		fprintf(stderr,
			"xdpsock: %s: with --inorder, --ring-size=%u leaves some of the device's %u descriptors unused; use twice as many\n",
			port->interface, port->opts->ring_size,
			ring.tx_pending);
	close(fd);
}

int xsk_ports_open(struct xsk_ports *ports, const struct xdpsock_opts *opts)
{
	struct xsk_port failed;
	int err;

	*ports = (struct xsk_ports){
		.num = opts->num_interfaces * opts->queues,
		.opts = opts,
	};
	ports->port = calloc(ports->num, sizeof(*ports->port));
	if (!ports->port) {
		say("out of memory");
		return -ENOMEM;
	}
	err = try_open(ports, opts->mode, &failed);

	/* The kernel falls back for XDP_ATTACH; libxdp does not */
	if (err == -EOPNOTSUPP && !failed.binding.attach &&
	    opts->mode == MODE_AUTO && opts->copy != COPY_ZERO) {
		say("the driver has no native XDP; falling back to generic XDP");
		err = try_open(ports, MODE_SKB, &failed);
	}
	if (err) {
		report_failure(&failed, err);
		free(ports->port);
		return err;
	}
	for (unsigned int i = 0; i < ports->num; i++) {
		report_fallback(&ports->port[i]);
		check_ring_size(&ports->port[i]);
		if (!ports->port[i].has_rx)
			await_link(&ports->port[i]);
	}
	xsk_ports_refresh(ports);
	return 0;
}

/* The first socket last, as it owns the umem */
void xsk_ports_close(struct xsk_ports *ports)
{
	for (unsigned int i = ports->num; i--;) {
		struct xsk_port *port = &ports->port[i];

		xsk_socket__delete(port->xsk);
		xsk_share_close(&port->share);
		free(port->free);
		port->xsk = NULL;
		port->free = NULL;
	}
	xsk_umem__delete(ports->umem);
	if (ports->area)
		munmap(ports->area, ports->area_size);
	ports->umem = NULL;
	ports->area = NULL;
}

static void refresh(struct xsk_port *port)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct xsk_binding *binding = &port->binding;
	struct xdp_options options = {};
	socklen_t len = sizeof(options);

	if (!getsockopt(port->fd, SOL_XDP, XDP_OPTIONS, &options, &len))
		binding->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;

	binding->mode = "none";
	if (!bpf_xdp_query(port->ifindex, 0, &query)) {
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

void xsk_ports_refresh(struct xsk_ports *ports)
{
	for (unsigned int i = 0; i < ports->num; i++)
		refresh(&ports->port[i]);
}

/* Ignore transient errors: no room, or the link is down */
static int check_syscall(int ret)
{
	if (ret >= 0 || errno == EAGAIN || errno == EBUSY || errno == EINTR ||
	    errno == ENOBUFS || errno == ENETDOWN)
		return 0;
	return -errno;
}

static bool tx_needs_wakeup(struct xsk_port *port)
{
	return port->inorder ? xsk_fastpath__tx_needs_wakeup(port->tx.flags) :
			       xsk_ring_prod__needs_wakeup(&port->tx);
}

int xsk_port_wake_tx(struct xsk_port *port)
{
	if (!port->outstanding)
		return 0;
	if (!port->wake_always && !tx_needs_wakeup(port))
		return 0;
	port->count.sendto++;
	return check_syscall(sendto(port->fd, NULL, 0, MSG_DONTWAIT, NULL, 0));
}

/* The kernel requests a wakeup, and the fill ring has chunks */
static bool fill_needs_wakeup(struct xsk_port *port)
{
	return xsk_ring_prod__needs_wakeup(&port->fill) &&
	       *port->fill.producer != *port->fill.consumer;
}

int xsk_port_idle(struct xsk_port *port)
{
	if (!port->has_rx)
		return 0;
	if (!port->busy_poll && !fill_needs_wakeup(port))
		return 0;
	port->count.recvfrom++;
	return check_syscall(recvfrom(port->fd, NULL, 0, MSG_DONTWAIT, NULL,
				      NULL));
}

/* Wait for POLLOUT if a full Tx ring keeps frames in the Rx ring */
static short wanted_events(struct xsk_port *port)
{
	bool full = port->has_tx && !xsk_prod_nb_free(&port->tx, 1);
	bool peer_full = port->peer->has_tx &&
			 !xsk_prod_nb_free(&port->peer->tx, 1);

	return (port->has_rx && !peer_full ? POLLIN : 0) |
	       (!port->has_rx || full ? POLLOUT : 0);
}

int xsk_ports_wait(struct xsk_ports *ports)
{
	struct pollfd pfds[ports->num];

	for (unsigned int i = 0; i < ports->num; i++) {
		struct xsk_port *port = &ports->port[i];

		pfds[i] = (struct pollfd){ port->fd, wanted_events(port), 0 };
	}
	ports->port[0].count.poll++;
	return check_syscall(poll(pfds, ports->num, POLL_TIMEOUT_MS));
}
