// SPDX-License-Identifier: GPL-2.0
/* See xsk_attach_lib.h */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/udp.h>
#include <linux/xdp_diag.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xsk_attach_lib.h"
#include "xsk_fastpath.h"

#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL	69
#define SO_BUSY_POLL_BUDGET	70
#endif

#define NOBODY		65534

/* Times and text */

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void nap(int ms)
{
	usleep(ms * 1000);
}

int complain(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("# ", stderr);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, ": %s\n", strerror(-err));
	va_end(args);
	return err;
}

/* The command's output shows only if it fails */
int run(const char *fmt, ...)
{
	char cmd[512], line[600];
	va_list args;
	size_t len;
	FILE *out;
	int ret;

	va_start(args, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, args);
	va_end(args);

	snprintf(line, sizeof(line), "{ %s; } 2>&1", cmd);
	out = popen(line, "r");
	if (!out)
		return complain(-errno, "%s", cmd);

	len = fread(line, 1, sizeof(line) - 1, out);
	line[len] = 0;
	while (fgetc(out) != EOF)
		;
	ret = pclose(out);
	if (!ret)
		return 0;
	return complain(-EIO, "command failed (status %#x): %s: %s", ret, cmd,
			line);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Network namespace and devices */

/* For devices to come in this network namespace. Without IPv6 there are none. */
static void no_stray_frames(void)
{
	write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

int netns_enter(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) ||
	    mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL))
		return complain(-errno, "new namespaces with /sys");

	no_stray_frames();
	return run("ip link set lo up");
}

static int rx_busy_poll(bool on)
{
	int err;

	err = write_file("/sys/class/net/" RX_DEV "/napi_defer_hard_irqs",
			 on ? "2" : "0");
	if (!err)
		err = write_file("/sys/class/net/" RX_DEV "/gro_flush_timeout",
				 on ? "200000" : "0");
	if (err)
		complain(err, "busy poll settings of " RX_DEV);
	return err;
}

int veth_create(const struct veth_opts *opts)
{
	char props[64];
	int err;

	snprintf(props, sizeof(props), "mtu %u numrxqueues %u numtxqueues %u",
		 opts->mtu ?: ETH_DATA_LEN, QUEUES, QUEUES);
	err = run("ip link add %s %s type veth peer name %s %s", RX_DEV, props,
		  TX_DEV, props);
	if (!err)
		err = run("ip link set " RX_DEV " up");
	if (!err)
		err = run("ip link set " TX_DEV " up");
	if (!err && opts->busy_poll)
		err = rx_busy_poll(true);
	return err;
}

/*
 * Ports of a NIC. They are known by their place on the bus, as their names
 * change: in a test they have those of the veth devices. When the network
 * namespace of a test goes, they come back to the initial one.
 */
static struct port {
	char path[PATH_MAX];
	char name[NAME_MAX + 1];
} ports[2];

static int port_find(struct port *p, const char *name)
{
	char link[PATH_MAX];

	snprintf(link, sizeof(link), "/sys/class/net/%s/device", name);
	return realpath(link, p->path) ? 0 : complain(-errno, "%s", link);
}

int ports_find(const char *rx, const char *tx)
{
	int err = port_find(&ports[0], rx);

	return err ?: port_find(&ports[1], tx);
}

static bool port_is_back(struct port *p)
{
	char path[PATH_MAX + 4];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/net", p->path);
	dir = opendir(path);
	if (!dir) {
		/* A test has removed it */
		write_file("/sys/bus/pci/rescan", "1");
		return false;
	}
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	if (entry)
		snprintf(p->name, sizeof(p->name), "%s", entry->d_name);
	closedir(dir);
	return entry;
}

static int port_wait(struct port *p)
{
	long long deadline = now_ms() + STALL_MS;

	while (!port_is_back(p)) {
		if (now_ms() > deadline && !port_is_back(p))
			return complain(-ENODEV, "port %s", p->path);
		nap(20);
	}
	return 0;
}

static int ports_wait(void)
{
	int err = port_wait(&ports[0]);

	return err ?: port_wait(&ports[1]);
}

static int port_ioctl(const char *dev, void *arg)
{
	struct ifreq ifr = { .ifr_data = arg };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int err = 0;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &ifr))
		err = -errno;
	close(fd);
	return err;
}

/* In the state in which a test wants it, after others that may have failed */
static int port_clean(const char *dev)
{
	struct ethtool_channels queues = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	int err;

	bpf_xdp_detach(if_nametoindex(dev), XDP_FLAGS_SKB_MODE, NULL);
	bpf_xdp_detach(if_nametoindex(dev), XDP_FLAGS_DRV_MODE, NULL);

	err = port_ioctl(dev, &queues);
	if (!err && queues.combined_count != PORT_QUEUES) {
		queues.cmd = ETHTOOL_SCHANNELS;
		queues.combined_count = PORT_QUEUES;
		err = port_ioctl(dev, &queues);
	}

	err = err ?: port_ioctl(dev, &flags);
	if (!err && !(flags.data & ETH_FLAG_NTUPLE)) {
		flags.cmd = ETHTOOL_SFLAGS;
		flags.data |= ETH_FLAG_NTUPLE;
		err = port_ioctl(dev, &flags);
	}
	return err;
}

int ports_up(void)
{
	int err = port_clean(RX_DEV);

	if (!err)
		err = port_clean(TX_DEV);
	if (err)
		return complain(err, "queues and filters of a port");
	return run("printf 'link set %%s mtu %u up\\n' %s %s | ip -batch -",
		   ETH_DATA_LEN, RX_DEV, TX_DEV);
}

/* To the network namespace of the caller, from that of its parent */
static int ports_move(void)
{
	char line[64];

	snprintf(line, sizeof(line), "link set %%s netns %d name %%s\\n",
		 getpid());
	return run("printf '%s' %s %s %s %s | nsenter -t %d -n ip -batch -",
		   line, ports[0].name, RX_DEV, ports[1].name, TX_DEV,
		   getppid());
}

/* From the initial network namespace to a new one, where the caller is then */
int ports_take(bool busy_poll)
{
	int err = ports_wait();

	if (!err)
		err = netns_enter();
	if (!err)
		err = ports_move();
	if (!err)
		err = ports_up();
	return err ?: rx_busy_poll(busy_poll);
}

static int port_rename(const struct port *p, const char *name)
{
	return run("ip link set %s down name %s", p->name, name);
}

int ports_give_back(const char *rx, const char *tx)
{
	int err = ports_wait();

	if (!err)
		err = port_rename(&ports[0], rx);
	return err ?: port_rename(&ports[1], tx);
}

/* Rings. One side is the kernel, so acquire and release are all it takes. */

static __u32 ring_load(const __u32 *index)
{
	return __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

static void ring_store(__u32 *index, __u32 value)
{
	__atomic_store_n(index, value, __ATOMIC_RELEASE);
}

static __u32 ring_room(const struct ring *r)
{
	return r->size - (*r->producer - ring_load(r->consumer));
}

static __u32 ring_entries(const struct ring *r)
{
	return ring_load(r->producer) - *r->consumer;
}

static __u64 *ring_addr(const struct ring *r, __u32 index)
{
	return (__u64 *)r->descs + (index & (r->size - 1));
}

static struct xdp_desc *ring_desc(const struct ring *r, __u32 index)
{
	return (struct xdp_desc *)r->descs + (index & (r->size - 1));
}

static int ring_map(int fd, struct ring *r, __u32 size, size_t desc_size,
		    const struct xdp_ring_offset *off, off_t page_off)
{
	r->size = size;
	r->map_len = off->desc + size * desc_size;
	r->map = mmap(NULL, r->map_len, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, fd, page_off);
	if (r->map == MAP_FAILED) {
		r->map = NULL;
		return complain(-errno, "mmap of a ring");
	}

	r->producer = r->map + off->producer;
	r->consumer = r->map + off->consumer;
	r->flags = r->map + off->flags;
	r->descs = r->map + off->desc;
	return 0;
}

static void ring_unmap(struct ring *r)
{
	if (r->map)
		munmap(r->map, r->map_len);
	r->map = NULL;
}

/* Umem: every chunk is either at the user or in the kernel, never both */

static int umem_map(struct umem *u, int memfd)
{
	size_t len = CHUNKS * (size_t)CHUNK;

	u->memfd = memfd;
	u->chunks = CHUNKS;
	u->in_kernel = calloc(CHUNKS, sizeof(*u->in_kernel));
	u->area = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (!u->in_kernel || u->area == MAP_FAILED)
		return complain(-ENOMEM, "umem");
	return 0;
}

static int umem_create(struct umem *u)
{
	int memfd = memfd_create("umem", 0);

	if (memfd < 0 || ftruncate(memfd, CHUNKS * (size_t)CHUNK))
		return complain(-errno, "memory for a umem");
	return umem_map(u, memfd);
}

static void umem_free(struct umem *u)
{
	munmap(u->area, CHUNKS * (size_t)CHUNK);
	close(u->memfd);
	free(u->in_kernel);
	free(u);
}

static void chunk_to_user(struct xsk *x, __u32 chunk)
{
	x->idle[x->idle_tail++ % CHUNKS] = chunk;
}

static __u32 chunk_to_kernel(struct xsk *x)
{
	__u32 chunk = x->idle[x->idle_head++ % CHUNKS];

	x->umem->in_kernel[chunk] = true;
	return chunk;
}

/* Return: the chunk of an address that came back; negative if it is wrong */
static int chunk_back(struct xsk *x, __u64 addr)
{
	__u64 chunk = addr / CHUNK;

	if (chunk >= CHUNKS)
		return complain(-ERANGE, "address %#llx is not in the umem",
				(unsigned long long)addr);
	if (!x->umem->in_kernel[chunk])
		return complain(-EEXIST, "chunk %llu came back twice",
				(unsigned long long)chunk);
	x->umem->in_kernel[chunk] = false;
	return chunk;
}

static void chunks_init(struct xsk *x)
{
	__u32 i;

	x->count = x->opts.chunks ?: CHUNKS;
	if (x->opts.share)
		x->first = x->opts.share->first + x->opts.share->count;
	for (i = 0; i < x->count; i++)
		chunk_to_user(x, x->first + i);
}

/* Sockets */

static int xsk_set(struct xsk *x, int level, int option, const void *value,
		   socklen_t len)
{
	if (setsockopt(x->fd, level, option, value, len))
		return complain(-errno, "setsockopt %d", option);
	return 0;
}

static int xsk_set_u32(struct xsk *x, int level, int option, __u32 value)
{
	return xsk_set(x, level, option, &value, sizeof(value));
}

static int xsk_busy_poll(struct xsk *x)
{
	int err;

	err = xsk_set_u32(x, SOL_SOCKET, SO_PREFER_BUSY_POLL, 1);
	if (!err)
		err = xsk_set_u32(x, SOL_SOCKET, SO_BUSY_POLL, 20);
	if (!err)
		err = xsk_set_u32(x, SOL_SOCKET, SO_BUSY_POLL_BUDGET, 64);
	return err;
}

static int xsk_new_umem(struct xsk *x)
{
	struct xdp_umem_reg reg = { .chunk_size = CHUNK };
	int err;

	x->umem = calloc(1, sizeof(*x->umem));
	if (!x->umem)
		return complain(-ENOMEM, "umem");
	err = umem_create(x->umem);
	if (err)
		return err;

	reg.addr = (__u64)(unsigned long)x->umem->area;
	reg.len = CHUNKS * (__u64)CHUNK;
	if (x->opts.tx_metadata) {
		reg.flags |= XDP_UMEM_TX_METADATA_LEN;
		reg.tx_metadata_len = x->opts.tx_metadata;
	}
	return xsk_set(x, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg));
}

static __u32 xsk_rx_size(const struct xsk *x)
{
	return x->opts.rx_size ?: RING;
}

static __u32 xsk_tx_size(const struct xsk *x)
{
	return x->opts.tx_size ?: RING;
}

static int xsk_make_rings(struct xsk *x)
{
	int err = 0;

	if (!x->opts.share_rings) {
		err = xsk_set_u32(x, SOL_XDP, XDP_UMEM_FILL_RING, RING);
		if (!err && !x->opts.no_comp)
			err = xsk_set_u32(x, SOL_XDP,
					  XDP_UMEM_COMPLETION_RING, RING);
	}
	if (!err && !x->opts.no_rx)
		err = xsk_set_u32(x, SOL_XDP, XDP_RX_RING, xsk_rx_size(x));
	if (!err && x->opts.tx)
		err = xsk_set_u32(x, SOL_XDP, XDP_TX_RING, xsk_tx_size(x));
	return err;
}

static int xsk_map_rings(struct xsk *x)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	int err = 0;

	if (getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		return complain(-errno, "XDP_MMAP_OFFSETS");

	if (!x->opts.share_rings) {
		err = ring_map(x->fd, &x->fill, RING, sizeof(__u64), &off.fr,
			       XDP_UMEM_PGOFF_FILL_RING);
		if (!err && !x->opts.no_comp)
			err = ring_map(x->fd, &x->comp, RING, sizeof(__u64),
				       &off.cr,
				       XDP_UMEM_PGOFF_COMPLETION_RING);
	}
	if (!err && !x->opts.no_rx)
		err = ring_map(x->fd, &x->rx, xsk_rx_size(x),
			       sizeof(struct xdp_desc), &off.rx,
			       XDP_PGOFF_RX_RING);
	if (!err && x->opts.tx)
		err = ring_map(x->fd, &x->tx, xsk_tx_size(x),
			       sizeof(struct xdp_desc), &off.tx,
			       XDP_PGOFF_TX_RING);
	return err;
}

static int xsk_ask_attach(struct xsk *x)
{
	struct xdp_attach attach = { .flags = x->opts.attach_flags };

	return xsk_set(x, SOL_XDP, XDP_ATTACH, &attach, sizeof(attach));
}

static int xsk_ask_inorder(struct xsk *x)
{
	x->tx_chunks = calloc(xsk_tx_size(x), sizeof(*x->tx_chunks));
	if (!x->tx_chunks)
		return complain(-ENOMEM, "slots of a Tx ring");
	return xsk_set_u32(x, SOL_XDP, XDP_TX_INORDER, 1);
}

/* All but bind(), so that a test can see bind() fail */
int xsk_open(struct xsk *x, const struct xsk_opts *opts)
{
	int err = 0;

	memset(x, 0, sizeof(*x));
	x->opts = *opts;
	x->fd = socket(AF_XDP, SOCK_RAW, 0);
	if (x->fd < 0)
		return complain(-errno, "AF_XDP socket");

	x->pool = opts->share_rings ? opts->share : x;
	if (opts->share)
		x->umem = opts->share->umem;
	else
		err = xsk_new_umem(x);
	if (!err)
		err = xsk_make_rings(x);
	if (!err)
		err = xsk_map_rings(x);
	if (!err && opts->busy_poll)
		err = xsk_busy_poll(x);
	if (!err && opts->attach)
		err = xsk_ask_attach(x);
	if (!err && opts->inorder)
		err = xsk_ask_inorder(x);
	if (!err && (x->pool == x || opts->inorder))
		chunks_init(x);
	return err;
}

/* A socket from xsk_create(), and its umem's memory, of another process */
int xsk_adopt(struct xsk *x, int fd, int memfd, const struct xsk_opts *opts)
{
	int err;

	memset(x, 0, sizeof(*x));
	x->opts = *opts;
	x->fd = fd;
	x->pool = x;
	x->umem = calloc(1, sizeof(*x->umem));
	if (!x->umem)
		return complain(-ENOMEM, "umem");
	err = umem_map(x->umem, memfd);
	if (!err)
		err = xsk_map_rings(x);
	if (err)
		return err;
	chunks_init(x);
	while (x->idle_head != x->idle_tail)
		chunk_to_kernel(x);
	return 0;
}

/* Quiet, as many tests want it to fail */
int xsk_bind(struct xsk *x)
{
	struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = x->opts.share ? XDP_SHARED_UMEM :
					      x->opts.bind_flags,
		.sxdp_ifindex = if_nametoindex(x->opts.dev),
		.sxdp_queue_id = x->opts.queue,
	};

	if (x->opts.share)
		addr.sxdp_shared_umem_fd = x->opts.share->fd;
	if (bind(x->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	return 0;
}

/* The pool of a closed socket leaves its queue some time after close() */
int xsk_bind_soon(struct xsk *x)
{
	long long deadline = now_ms() + STALL_MS;
	struct xdp_attach attach = {};
	int err;

	while ((err = xsk_bind(x)) == -EBUSY && now_ms() < deadline) {
		/* but is not attached any longer */
		if (x->opts.attach &&
		    (xsk_query(x, &attach) ||
		     attach.reason == XDP_ATTACH_R_QUEUE_BUSY))
			break;
		nap(5);
	}
	return err;
}

int xsk_create(struct xsk *x, const struct xsk_opts *opts)
{
	int err = xsk_open(x, opts);

	if (err)
		return err;
	/* Before bind(), which fills the ring of a port: no frame finds it empty */
	if (!opts->no_rx)
		xsk_refill(x);
	err = xsk_bind_soon(x);
	return err ? complain(err, "bind to queue %u of %s", opts->queue,
			      opts->dev) : 0;
}

void xsk_close(struct xsk *x)
{
	close(x->fd);
	ring_unmap(&x->rx);
	ring_unmap(&x->tx);
	ring_unmap(&x->fill);
	ring_unmap(&x->comp);
	if (!x->opts.share)
		umem_free(x->umem);
	free(x->tx_chunks);
	x->tx_chunks = NULL;
}

/*
 * A zero-copy queue is reset, and loses frames, when the pool of a closed
 * socket leaves it: wait until that happened.
 */
int queue_settle(const char *dev, __u32 queue)
{
	struct xsk_opts opts = {
		.dev = dev,
		.queue = queue,
		.bind_flags = XDP_COPY,
	};
	struct xsk probe;
	int err = xsk_create(&probe, &opts);

	if (!err)
		xsk_close(&probe);
	return err;
}

/* Give the kernel all idle chunks that the fill ring has room for */
void xsk_refill(struct xsk *x)
{
	struct xsk *pool = x->pool;
	struct ring *fill = &pool->fill;
	__u32 room = ring_room(fill);
	__u32 index = *fill->producer;

	for (; room && pool->idle_head != pool->idle_tail; room--)
		*ring_addr(fill, index++) =
			chunk_to_kernel(pool) * (__u64)CHUNK;
	ring_store(fill->producer, index);
}

/* Return: how many of the socket's chunks the kernel has */
__u32 xsk_held(const struct xsk *x)
{
	const struct xsk *pool = x->tx_chunks ? x : x->pool;
	__u32 held = 0;
	__u32 i;

	for (i = 0; i < pool->count; i++)
		held += x->umem->in_kernel[pool->first + i];
	return held;
}

static __u32 xsk_tx_room(const struct xsk *x)
{
	/* Slots that are complete but were not reaped still name a chunk */
	if (x->tx_chunks)
		return x->tx.size - (*x->tx.producer - x->tx_done);
	return ring_room(&x->tx);
}

static void tx_slot(struct xsk *x, __u32 index, __u32 chunk)
{
	if (x->tx_chunks)
		x->tx_chunks[index & (x->tx.size - 1)] = chunk;
}

/* Put a descriptor of no chunk of ours into the Tx ring, right or wrong */
void xsk_put(struct xsk *x, __u64 addr, __u32 len, __u32 options)
{
	__u32 index = *x->tx.producer;
	struct xdp_desc *desc = ring_desc(&x->tx, index);

	tx_slot(x, index, CHUNKS);
	desc->addr = addr;
	desc->len = len;
	desc->options = options;
	ring_store(x->tx.producer, index + 1);
}

/*
 * Put a frame into the Tx ring
 * Return: false if there is no room, or there are too few chunks, for now
 */
bool xsk_send(struct xsk *x, const void *frame, __u32 len)
{
	__u32 max = x->opts.tx_part ?: CHUNK;
	__u32 descs = (len + max - 1) / max;
	__u32 index = *x->tx.producer;
	__u32 off = 0;

	if (xsk_tx_room(x) < descs || x->idle_tail - x->idle_head < descs)
		return false;

	while (off < len) {
		__u32 part = len - off < max ? len - off : max;
		__u32 chunk = chunk_to_kernel(x);
		__u64 addr = chunk * (__u64)CHUNK;
		struct xdp_desc *desc = ring_desc(&x->tx, index);

		tx_slot(x, index++, chunk);
		memcpy(x->umem->area + addr, frame + off, part);
		off += part;
		desc->addr = addr;
		desc->len = part;
		desc->options = off < len ? XDP_PKT_CONTD : 0;
	}
	ring_store(x->tx.producer, index);
	return true;
}

/* Have the kernel send what is in the Tx ring, once */
int xsk_kick(struct xsk *x)
{
	if (sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
		return 0;
	if (errno == EAGAIN || errno == EBUSY || errno == ENOBUFS)
		return 0;
	return -errno;
}

/* In order: the chunks of the slots that the kernel's index has passed */
static int xsk_reap_inorder(struct xsk *x)
{
	__u32 n = xsk_fastpath__tx_completed(x->tx.consumer, x->tx_done);
	__u32 mask = x->tx.size - 1;
	__u32 i, chunk;
	int back;

	if (n > *x->tx.producer - x->tx_done)
		return complain(-ERANGE, "index is %u slots ahead of %u", n,
				x->tx_done);
	for (i = 0; i < n; i++) {
		chunk = x->tx_chunks[x->tx_done++ & mask];
		if (chunk == CHUNKS)
			continue;
		back = chunk_back(x, chunk * (__u64)CHUNK);
		if (back < 0)
			return back;
		chunk_to_user(x, back);
	}
	return n;
}

/* Return: chunks that were sent; negative if one came back that should not */
int xsk_reap(struct xsk *x)
{
	__u32 n, index, i;

	if (x->tx_chunks)
		return xsk_reap_inorder(x);

	n = ring_entries(&x->comp);
	index = *x->comp.consumer;
	for (i = 0; i < n; i++) {
		int chunk = chunk_back(x, *ring_addr(&x->comp, index++));

		if (chunk < 0)
			return chunk;
		chunk_to_user(x, chunk);
	}
	ring_store(x->comp.consumer, index);
	return n;
}

/*
 * Take a frame from the Rx ring, its chunks become idle
 * Return: its length; 0 if there is none; negative for a descriptor that must
 * not be
 */
int xsk_recv(struct xsk *x, void *frame)
{
	__u32 n = ring_entries(&x->rx);
	__u32 index = *x->rx.consumer;
	bool more = n;
	__u32 len = 0;

	while (more) {
		struct xdp_desc *desc = ring_desc(&x->rx, index++);
		int chunk = chunk_back(x, desc->addr);

		if (chunk < 0)
			return chunk;
		if (!n-- || len + desc->len > FRAME_MAX ||
		    desc->addr % CHUNK + desc->len > CHUNK)
			return complain(-EBADMSG, "bad descriptor");
		memcpy(frame + len, x->umem->area + desc->addr, desc->len);
		len += desc->len;
		more = desc->options & XDP_PKT_CONTD;
		chunk_to_user(x->pool, chunk);
	}
	ring_store(x->rx.consumer, index);
	return len;
}

/* Wait for frames at most that long, or poll the device for them */
void xsk_drive(struct xsk *x, int ms)
{
	struct pollfd pfd = { .fd = x->fd, .events = POLLIN };

	if (x->opts.busy_poll) {
		recvfrom(x->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
		ms = 1;
	}
	poll(&pfd, 1, ms);
}

int xsk_query(const struct xsk *x, struct xdp_attach *attach)
{
	socklen_t len = sizeof(*attach);

	memset(attach, 0xff, sizeof(*attach));
	if (getsockopt(x->fd, SOL_XDP, XDP_ATTACH, attach, &len))
		return complain(-errno, "getsockopt XDP_ATTACH");
	return len == sizeof(*attach) ? 0 : complain(-EMSGSIZE, "XDP_ATTACH");
}

int xsk_stats(const struct xsk *x, struct xdp_statistics *stats)
{
	socklen_t len = sizeof(*stats);

	if (getsockopt(x->fd, SOL_XDP, XDP_STATISTICS, stats, &len))
		return complain(-errno, "getsockopt XDP_STATISTICS");
	return 0;
}

/* sock_diag */

static int diag_ask(int fd, __u32 show)
{
	struct {
		struct nlmsghdr nlh;
		struct xdp_diag_req req;
	} msg = {
		.nlh.nlmsg_len = sizeof(msg),
		.nlh.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.req.sdiag_family = AF_XDP,
		.req.xdiag_show = show,
	};

	return send(fd, &msg, sizeof(msg), 0) < 0 ? -errno : 0;
}

/* Return: the size of an attribute of a socket, -ENOENT without it */
static int diag_attr(const struct nlmsghdr *nlh, int type, void *value,
		     int size)
{
	const struct xdp_diag_msg *msg = NLMSG_DATA(nlh);
	int left = nlh->nlmsg_len - NLMSG_SPACE(sizeof(*msg));
	const struct nlattr *attr = (void *)msg + NLMSG_ALIGN(sizeof(*msg));

	while (left >= (int)sizeof(*attr) && attr->nla_len >= sizeof(*attr)) {
		int len = attr->nla_len - NLA_HDRLEN;

		if (attr->nla_type == type) {
			memcpy(value, (void *)attr + NLA_HDRLEN,
			       len < size ? len : size);
			return len;
		}
		left -= NLA_ALIGN(attr->nla_len);
		attr = (void *)attr + NLA_ALIGN(attr->nla_len);
	}
	return -ENOENT;
}

static void diag_add(struct diag *d, const struct nlmsghdr *nlh)
{
	const struct xdp_diag_msg *msg = NLMSG_DATA(nlh);
	struct diag_socket *s = &d->sockets[d->count];
	struct xdp_diag_info info;

	if (d->count == DIAG_SOCKETS)
		return;
	d->count++;
	memset(s, 0, sizeof(*s));
	s->ino = msg->xdiag_ino;
	s->has_info = diag_attr(nlh, XDP_DIAG_INFO, &info, sizeof(info)) > 0;
	s->ifindex = s->has_info ? info.ifindex : 0;
	s->has_attach = diag_attr(nlh, XDP_DIAG_ATTACH, &s->attach,
				  sizeof(s->attach)) > 0;
}

static int diag_read(int fd, struct diag *d)
{
	static __u64 buf[8192];

	for (;;) {
		int len = recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

		if (len <= 0)
			return -EIO;
		for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
			/* Both begin with an errno, 0 at a good end */
			if (nlh->nlmsg_type == NLMSG_DONE ||
			    nlh->nlmsg_type == NLMSG_ERROR)
				return *(int *)NLMSG_DATA(nlh);
			diag_add(d, nlh);
		}
	}
}

/* All AF_XDP sockets of the network namespace, as sock_diag lists them */
int diag_dump(struct diag *d, __u32 show)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	int err;

	d->count = 0;
	if (fd < 0)
		return complain(-errno, "NETLINK_SOCK_DIAG");
	err = diag_ask(fd, show);
	if (!err)
		err = diag_read(fd, d);
	close(fd);
	return err ? complain(err, "dump of sock_diag") : 0;
}

/* Return: what a dump says of a socket, NULL unless that is there once */
const struct diag_socket *diag_find(const struct diag *d, int fd)
{
	const struct diag_socket *found = NULL;
	struct stat st;
	__u32 i;

	if (fstat(fd, &st))
		return NULL;
	for (i = 0; i < d->count; i++) {
		if (d->sockets[i].ino != st.st_ino)
			continue;
		if (found)
			return NULL;
		found = &d->sockets[i];
	}
	return found;
}

/*
 * What sock_diag tells of a socket
 * Return: 1 if XDP_DIAG_ATTACH is there, 0 if not, negative without the socket
 */
int xsk_diag(const struct xsk *x, __u32 show, struct xdp_attach *attach)
{
	const struct diag_socket *s;
	static struct diag d;
	int err;

	err = diag_dump(&d, show);
	if (err)
		return err;
	s = diag_find(&d, x->fd);
	if (!s)
		return -ENOENT;
	if (s->has_attach)
		*attach = s->attach;
	return s->has_attach;
}

/* Frames */

struct frame_hdr {
	struct ethhdr eth;
	__u8 udp[sizeof(struct iphdr) + sizeof(struct udphdr)];
	__be16 len;
	__be32 seq;
};

/* An Rx chunk holds 3840 bytes */
static const __u16 frame_lens[FRAME_LENS] = {
	60, 64, 65, 127, 128, 511, 512, 1023, 1500, 1514,
	3840, 3841, 7680, 7681, 9014,
};

static __u32 frame_len(__u32 seq, __u32 max)
{
	__u32 n = FRAME_LENS;

	while (frame_lens[n - 1] > max)
		n--;
	return frame_lens[seq % n];
}

static __u8 frame_byte(__u32 seq, __u32 pos)
{
	return seq * 31 + pos * 7 + (pos >> 8) * 13;
}

/* Return: the length of the frame of that number */
__u32 frame_build(const struct flow *f, void *frame, __u32 seq)
{
	struct frame_hdr *hdr = frame;
	__u32 len = frame_len(seq, f->max_len);
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(len - ETH_HLEN),
		.protocol = IPPROTO_UDP,
	};
	struct udphdr udp = {
		.dest = htons(FRAME_UDP_PORT),
		.len = htons(len - ETH_HLEN - sizeof(ip)),
	};
	__u8 *byte = frame;
	__u32 pos;

	memset(&hdr->eth, 0xff, sizeof(hdr->eth));
	hdr->eth.h_source[0] = 0x02;
	hdr->eth.h_proto = htons(f->udp ? ETH_P_IP : FRAME_ETHERTYPE);
	memcpy(hdr->udp, &ip, sizeof(ip));
	memcpy(hdr->udp + sizeof(ip), &udp, sizeof(udp));
	hdr->seq = htonl(seq);
	hdr->len = htons(len);
	for (pos = sizeof(*hdr); pos < len; pos++)
		byte[pos] = frame_byte(seq, pos);
	return len;
}

/* Return: 0 if every byte is as frame_build() made it */
static int frame_check(const struct flow *f, const void *frame, __u32 len,
		       __u32 seq)
{
	char want[FRAME_MAX];
	__u32 pos;

	if (len != frame_build(f, want, seq))
		return complain(-EBADMSG, "frame %u: %u bytes instead of %u",
				seq, len, frame_len(seq, f->max_len));
	for (pos = 0; pos < len; pos++) {
		if (((char *)frame)[pos] != want[pos])
			return complain(-EBADMSG, "frame %u: byte %u is wrong",
					seq, pos);
	}
	return 0;
}

__u32 frame_seq(const void *frame)
{
	return ntohl(((const struct frame_hdr *)frame)->seq);
}

/* Check a frame's place in the flow and its bytes */
int flow_check(struct flow *f, const void *frame, int len)
{
	__u32 seq = frame_seq(frame);

	if (f->gaps ? (__s32)(seq - f->next) < 0 : seq != f->next)
		return complain(-EILSEQ, "frame %u instead of %u", seq,
				f->next);
	f->next = seq + 1;
	return frame_check(f, frame, len, seq);
}

/* Flows */

__u32 flow_sent(const struct flow *f)
{
	return __atomic_load_n(&f->sent, __ATOMIC_ACQUIRE);
}

static bool flow_send_one(struct flow *f)
{
	char frame[FRAME_MAX];
	__u32 len = frame_build(f, frame, f->sent);

	if (!xsk_send(f->tx, frame, len))
		return false;
	__atomic_store_n(&f->sent, f->sent + 1, __ATOMIC_RELEASE);
	return true;
}

/* Anew, as drivers forget the filter, or what it looks at, with a reset */
static int flow_steer(const struct flow *f)
{
	if (!f->udp)
		return 0;
	return run("ethtool -N %s delete 1; ethtool -N %s %s dst-port %u %s",
		   RX_DEV, RX_DEV, "flow-type udp4", FRAME_UDP_PORT,
		   "action 1 loc 1");
}

/* Put frames into the Tx ring, which has room for them, and no more */
int flow_put(struct flow *f, __u32 frames)
{
	while (frames && flow_send_one(f))
		frames--;
	return frames ? complain(-ENOSPC, "sender has no room") : 0;
}

static int flow_push(struct flow *f)
{
	int err = xsk_kick(f->tx);
	int n = err ? err : xsk_reap(f->tx);

	return n < 0 ? complain(n, "sending") : 0;
}

/* Send frames, no more than WINDOW, and see all of them completed */
int flow_send(struct flow *f, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	int err = flow_steer(f);

	if (!err)
		err = flow_put(f, frames);
	while (!err && xsk_held(f->tx)) {
		err = flow_push(f);
		if (!err && now_ms() > deadline)
			err = complain(-ETIMEDOUT, "%u chunks not sent",
				       xsk_held(f->tx));
	}
	return err;
}

/* Send frames from an AF_PACKET socket on its device */
int flow_send_raw(struct flow *f, struct stack *s, __u32 frames)
{
	char frame[FRAME_MAX];

	while (frames--) {
		__u32 len = frame_build(f, frame, f->sent++);

		if (send(s->fd, frame, len, 0) < 0)
			return complain(-errno, "AF_PACKET");
	}
	return 0;
}

/* Return: frames that had arrived, negative if one of them is wrong */
int flow_recv(struct flow *f)
{
	char frame[FRAME_MAX];
	int n = 0;

	for (;;) {
		int len = xsk_recv(f->rx, frame);
		int err = len > 0 ? flow_check(f, frame, len) : len;

		if (err)
			return err;
		if (!len)
			break;
		n++;
	}
	f->received += n;
	return n;
}

/* Frames are missing: tell what the socket's counters say of it */
static int flow_lost(const struct flow *f, __u32 want)
{
	struct xdp_statistics stats = {};

	xsk_stats(f->rx, &stats);
	return complain(-ETIMEDOUT,
			"frame %u of %u missing, kernel has %u chunks, dropped %llu, ring full %llu, fill ring empty %llu",
			f->next, want, xsk_held(f->rx),
			(unsigned long long)stats.rx_dropped,
			(unsigned long long)stats.rx_ring_full,
			(unsigned long long)stats.rx_fill_ring_empty_descs);
}

/*
 * Send frames and receive every one of them, in order. Without refill, the
 * kernel is not given the chunks back.
 */
int flow_transfer(struct flow *f, __u32 frames, bool refill)
{
	long long deadline = now_ms() + STALL_MS;
	__u32 window = f->rx->rx.size < WINDOW ? f->rx->rx.size : WINDOW;
	__u32 end = f->sent + frames;
	int n = flow_steer(f);

	if (n)
		return n;
	while (f->next != end) {
		while (f->sent != end && f->sent - f->next < window &&
		       flow_send_one(f))
			;
		if (flow_push(f))
			return -EIO;
		n = flow_recv(f);
		if (n < 0)
			return n;
		if (n)
			deadline = now_ms() + STALL_MS;
		if (now_ms() > deadline)
			return flow_lost(f, end);
		if (!n)
			xsk_drive(f->rx, 10);
		if (refill)
			xsk_refill(f->rx);
	}
	return 0;
}

/* The socket must have got nothing, and what was sent is accounted for */
static int flow_skip(struct flow *f)
{
	int n = f->rx ? flow_recv(f) : 0;

	if (n)
		return n < 0 ? n : complain(-EEXIST, "%d frames at the socket",
					    n);
	f->next = f->sent;
	return 0;
}

/* Send frames and see all of them at the stack, in order, none at the socket */
int flow_to_stack(struct flow *f, struct stack *s, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	struct flow seen = { .max_len = f->max_len, .udp = f->udp,
			     .next = f->sent };
	__u32 end = f->sent + frames;
	char frame[FRAME_MAX];
	int err;

	err = flow_send(f, frames);
	while (!err && seen.next != end) {
		int len = stack_recv(s, frame);

		if (len > 0)
			err = flow_check(&seen, frame, len);
		else if (now_ms() > deadline)
			err = complain(-ETIMEDOUT,
				       "frame %u did not reach the stack",
				       seen.next);
		else
			nap(1);
	}
	return err ? err : flow_skip(f);
}

/* A counter that a BPF program moves */
__u64 counter_read(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Send frames and have a program see them, and the socket none */
int flow_to_program(struct flow *f, const __u64 *seen, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	__u64 end = counter_read(seen) + frames;
	int err;

	err = flow_send(f, frames);
	while (!err && (__s64)(counter_read(seen) - end) < 0) {
		nap(1);
		if (now_ms() > deadline)
			err = complain(-ETIMEDOUT, "program saw %lld too few",
				       (long long)(end - counter_read(seen)));
	}
	if (!err && counter_read(seen) != end)
		err = complain(-EEXIST, "program saw %lld too many",
			       (long long)(counter_read(seen) - end));
	return err ? err : flow_skip(f);
}

/* Receive and refill until so many frames have arrived in all */
int flow_wait(struct flow *f, __u32 received)
{
	long long deadline = now_ms() + STALL_MS;

	while ((__s32)(f->received - received) < 0) {
		int n = flow_recv(f);

		if (n < 0)
			return n;
		if (!n && now_ms() > deadline)
			return flow_lost(f, f->next + received - f->received);
		if (!n)
			xsk_drive(f->rx, 10);
		xsk_refill(f->rx);
	}
	return 0;
}

/* Return: 1 when all frames before that number came or were lost, 0 if late */
static int flow_try(struct flow *f, __u32 next, int ms)
{
	long long deadline = now_ms() + ms;

	while ((__s32)(f->next - next) < 0) {
		int n = flow_recv(f);

		if (n < 0)
			return n;
		if (now_ms() > deadline)
			return 0;
		xsk_refill(f->rx);
		xsk_drive(f->rx, 1);
	}
	return 1;
}

/* Receive and refill until all frames before that number came or were lost */
int flow_reach(struct flow *f, __u32 next)
{
	int ret = flow_try(f, next, STALL_MS);

	return ret ? ret > 0 ? 0 : ret : flow_lost(f, next);
}

/*
 * Nothing is under way any more once a new frame arrives. It can be lost, too,
 * after traffic that filled the queues.
 */
int flow_settle(struct flow *f)
{
	int tries = STALL_MS / 500;
	int ret = 0;

	while (!ret && tries--) {
		ret = flow_send(f, 1);
		if (!ret)
			ret = flow_try(f, f->sent, 500);
	}
	return ret ? ret > 0 ? 0 : ret : flow_lost(f, f->sent);
}

/* Send frames until one reaches the stack: those before it are gone, too */
int flow_settle_stack(struct flow *f, struct stack *s)
{
	struct flow seen = { .max_len = f->max_len, .udp = f->udp, .gaps = true };
	long long deadline = now_ms() + STALL_MS;
	int err = flow_send(f, 1);
	char frame[FRAME_MAX];

	while (!err && seen.next != f->sent) {
		int len = stack_recv(s, frame);

		if (len) {
			err = flow_check(&seen, frame, len);
			continue;
		}
		if (now_ms() > deadline)
			return complain(-ETIMEDOUT, "only frame %u of %u",
					seen.next, f->sent);
		err = flow_send(f, 1);
		nap(10);
	}
	return err;
}

static int flow_starve(struct flow *f)
{
	struct xdp_statistics before, now;
	long long deadline = now_ms() + STALL_MS;
	int err;

	err = xsk_stats(f->rx, &before);
	if (!err)
		err = flow_send(f, 1);
	do {
		if (!err)
			err = xsk_stats(f->rx, &now);
		if (!err && now_ms() > deadline)
			err = complain(-ETIMEDOUT, "fill ring not empty?");
		xsk_drive(f->rx, 1);
	} while (!err && now.rx_dropped == before.rx_dropped);
	return err ? err : flow_skip(f);
}

/*
 * Find every chunk of the receiver again: each frame brings one back, until
 * the kernel has none left and drops the next frame. In zero-copy mode that
 * frame would wait in the port, or be dropped by it.
 */
int flow_drain(struct flow *f)
{
	bool zc = f->rx->opts.bind_flags & XDP_ZEROCOPY;
	__u32 max_len = f->max_len;
	bool gaps = f->gaps;
	int n, err = 0;

	f->gaps = true;
	n = flow_recv(f);
	if (n < 0)
		return n;
	f->next = f->sent;
	f->gaps = false;

	if (f->max_len > ETH_FRAME_LEN)
		f->max_len = ETH_FRAME_LEN;
	while (!err && xsk_held(f->rx))
		err = flow_transfer(f, xsk_held(f->rx), false);
	if (!err && !zc)
		err = flow_starve(f);
	f->max_len = max_len;
	xsk_refill(f->rx);
	/* A port gets the chunks when it is polled, and till then loses frames */
	f->gaps = true;
	if (!err && zc)
		err = flow_settle(f);
	f->gaps = gaps;
	return err;
}

/* Traffic */

static void *traffic_thread(void *arg)
{
	struct traffic *t = arg;
	__u32 *accounted = &t->accounted;
	int idle = 0;

	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE) && !t->err) {
		__u32 done = __atomic_load_n(accounted, __ATOMIC_ACQUIRE);
		__u32 burst = 0;

		while (burst < 16 && flow_sent(t->flow) - done < WINDOW &&
		       flow_send_one(t->flow))
			burst++;
		t->err = xsk_kick(t->flow->tx);
		if (!t->err && xsk_reap(t->flow->tx) < 0)
			t->err = -EIO;
		if (burst) {
			idle = 0;
			continue;
		}
		nap(1);
		if (t->lossy && ++idle == 20)
			__atomic_store_n(accounted, flow_sent(t->flow),
					 __ATOMIC_RELEASE);
	}
	return NULL;
}

int traffic_start(struct traffic *t, struct flow *flow)
{
	int err;

	t->flow = flow;
	t->accounted = flow->sent;
	t->stop = false;
	t->err = 0;
	err = pthread_create(&t->thread, NULL, traffic_thread, t);
	return err ? complain(-err, "sender thread") : 0;
}

/* Return: the error that the sender met */
int traffic_stop(struct traffic *t)
{
	__atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
	pthread_join(t->thread, NULL);
	return t->err;
}

/* What reaches the stack */

int stack_open(struct stack *s, const char *dev)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(dev),
	};
	int size = 4 << 20;

	s->fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (s->fd < 0 ||
	    setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return complain(-errno, "AF_PACKET socket on %s", dev);
	return 0;
}

/* Return: the length of a frame that reached the stack, 0 if there is none */
int stack_recv(struct stack *s, void *frame)
{
	const struct ethhdr *eth = frame;
	ssize_t len;

	do
		len = recv(s->fd, frame, FRAME_MAX, MSG_DONTWAIT);
	while (len > 0 && eth->h_proto != htons(FRAME_ETHERTYPE) &&
	       eth->h_proto != htons(ETH_P_IP));
	return len < 0 ? 0 : len;
}

void stack_close(struct stack *s)
{
	close(s->fd);
}

/* What the kernel says of BPF and in its log */

int prog_id(int prog_fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_prog_get_info_by_fd(prog_fd, &info, &len))
		return complain(-errno, "program info");
	return info.id;
}

static int count_prog(struct bpf_census *census, __u32 id)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!bpf_prog_get_info_by_fd(fd, &info, &len)) {
		census->progs++;
		census->xdp_progs += info.type == BPF_PROG_TYPE_XDP;
		census->builtins += !strcmp(info.name, "xsk_builtin");
	}
	close(fd);
	return 0;
}

static int count_map(struct bpf_census *census, __u32 id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!bpf_map_get_info_by_fd(fd, &info, &len)) {
		census->maps++;
		census->xskmaps += info.type == BPF_MAP_TYPE_XSKMAP;
	}
	close(fd);
	return 0;
}

/* Count the programs and maps of the whole system */
int bpf_count(struct bpf_census *census)
{
	__u32 id = 0;
	int err = 0;

	memset(census, 0, sizeof(*census));
	while (!err && !bpf_prog_get_next_id(id, &id))
		err = count_prog(census, id);
	id = 0;
	while (!err && !bpf_map_get_next_id(id, &id))
		err = count_map(census, id);
	return err ? complain(err, "list of programs and maps") : 0;
}

/* The kernel's log from here on */
int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return complain(-errno, "/dev/kmsg");
	lseek(fd, 0, SEEK_END);
	return fd;
}

bool kmsg_find(int fd, const char *text)
{
	char record[1024];
	ssize_t len;

	while ((len = read(fd, record, sizeof(record) - 1)) > 0) {
		record[len] = 0;
		if (strstr(record, text))
			return true;
	}
	return false;
}

/* Processes beside the test */

bool helper_tell(const int *pipe)
{
	return write(pipe[1], "", 1) == 1;
}

bool helper_wait(const int *pipe)
{
	char byte;

	return read(pipe[0], &byte, 1) == 1;
}

/* Return: as fork(). An unexpected end of either side ends the other's wait. */
pid_t helper_fork(struct helper *h)
{
	if (pipe2(h->to, O_CLOEXEC) || pipe2(h->from, O_CLOEXEC))
		return -1;

	h->pid = fork();
	if (h->pid) {
		close(h->to[0]);
		close(h->from[1]);
	} else {
		/* Also when an assertion ends the test */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(h->to[1]);
		close(h->from[0]);
	}
	return h->pid;
}

void helper_kill(struct helper *h)
{
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
}

/* Users and namespaces */

bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

/* In a user and a network namespace of its own, the caller's user is root */
bool root_of_new_user_ns(void)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	/* /proc/self belongs to root after a change of the user */
	if (prctl(PR_SET_DUMPABLE, 1) ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNET) ||
	    write_file("/proc/self/uid_map", map))
		return false;
	no_stray_frames();
	return true;
}

/* What main() looks at */

bool kernel_has_attach(void)
{
	socklen_t len = sizeof(__u64);
	__u64 features = 0;
	int fd = socket(AF_XDP, SOCK_RAW, 0);

	getsockopt(fd, SOL_XDP, XDP_FASTPATH_FEATURES, &features, &len);
	close(fd);
	return features & XDP_FASTPATH_F_ATTACH;
}

bool with_ports(void)
{
	return getenv("XSK_ATTACH_TX") && getenv("XSK_ATTACH_RX");
}

/* In a form that TAP takes for a comment */
int tap_print_libbpf(enum libbpf_print_level level, const char *fmt,
		     va_list args)
{
	if (level != LIBBPF_WARN)
		return 0;
	fputs("# ", stderr);
	return vfprintf(stderr, fmt, args);
}
