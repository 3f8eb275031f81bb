// SPDX-License-Identifier: GPL-2.0
/* AF_XDP test library: rings, umem and sockets */
#define _GNU_SOURCE
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xsk_test.h"
#include "xsk_fastpath.h"

/* Rings */

static __u32 ring_room(const struct ring *r)
{
	return r->size - (*r->producer - load_acquire(r->consumer));
}

static __u32 ring_entries(const struct ring *r)
{
	return load_acquire(r->producer) - *r->consumer;
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

/* Umem: either user space or the kernel owns a chunk */

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

/* Return: chunk of a returned address; negative if it is invalid */
static int chunk_back(struct xsk *x, __u64 addr)
{
	__u64 chunk = addr / CHUNK;

	if (chunk >= CHUNKS)
		return complain(-ERANGE, "address %#llx is not in the umem",
				(unsigned long long)addr);
	if (!x->umem->in_kernel[chunk])
		return complain(-EEXIST, "chunk %llu returned twice",
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

static int xsk_set_attach(struct xsk *x)
{
	struct xdp_attach attach = { .flags = x->opts.attach_flags };

	return xsk_set(x, SOL_XDP, XDP_ATTACH, &attach, sizeof(attach));
}

static int xsk_set_inorder(struct xsk *x)
{
	x->tx_chunks = calloc(xsk_tx_size(x), sizeof(*x->tx_chunks));
	if (!x->tx_chunks)
		return complain(-ENOMEM, "entries of a Tx ring");
	return xsk_set_u32(x, SOL_XDP, XDP_TX_INORDER, 1);
}

/* Everything except bind() */
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
		err = xsk_set_attach(x);
	if (!err && opts->inorder)
		err = xsk_set_inorder(x);
	if (!err && (x->pool == x || opts->inorder))
		chunks_init(x);
	return err;
}

/* Use a socket, and the memory of its umem, that another process created */
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

/* Prints no error: many tests expect one */
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

int xsk_create(struct xsk *x, const struct xsk_opts *opts)
{
	int err = xsk_open(x, opts);

	if (err)
		return err;
	/* Before bind(), where a driver fills its Rx ring: no packet is dropped */
	if (!opts->no_rx)
		xsk_refill(x);
	err = xsk_bind(x);
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
 * Wait until a closed socket has released its queue, as bind() does, which resets
 * a zero-copy queue and drops packets
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

/* Post all idle chunks for which the fill ring has free entries */
void xsk_refill(struct xsk *x)
{
	struct xsk *pool = x->pool;
	struct ring *fill = &pool->fill;
	__u32 room = ring_room(fill);
	__u32 index = *fill->producer;

	for (; room && pool->idle_head != pool->idle_tail; room--)
		*ring_addr(fill, index++) =
			chunk_to_kernel(pool) * (__u64)CHUNK;
	store_release(fill->producer, index);
}

/* Return: number of chunks of the socket that the kernel owns */
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
	/* Complete entries that were not reaped still name a chunk */
	if (x->tx_chunks)
		return x->tx.size - (*x->tx.producer - x->tx_done);
	return ring_room(&x->tx);
}

static void tx_entry(struct xsk *x, __u32 index, __u32 chunk)
{
	if (x->tx_chunks)
		x->tx_chunks[index & (x->tx.size - 1)] = chunk;
}

/* Write any descriptor, valid or invalid, to the Tx ring */
void xsk_put(struct xsk *x, __u64 addr, __u32 len, __u32 options)
{
	__u32 index = *x->tx.producer;
	struct xdp_desc *desc = ring_desc(&x->tx, index);

	tx_entry(x, index, CHUNKS);
	desc->addr = addr;
	desc->len = len;
	desc->options = options;
	store_release(x->tx.producer, index + 1);
}

/*
 * Write a packet to the Tx ring
 * Return: false on a shortage of free entries or chunks
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

		tx_entry(x, index++, chunk);
		memcpy(x->umem->area + addr, frame + off, part);
		off += part;
		desc->addr = addr;
		desc->len = part;
		desc->options = off < len ? XDP_PKT_CONTD : 0;
	}
	store_release(x->tx.producer, index);
	return true;
}

/* Transmit from the Tx ring, once */
int xsk_kick(struct xsk *x)
{
	if (sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
		return 0;
	if (errno == EAGAIN || errno == EBUSY || errno == ENOBUFS)
		return 0;
	return -errno;
}

/* In-order: return the chunks of the entries before the consumer index */
static int xsk_reap_inorder(struct xsk *x)
{
	__u32 n = xsk_fastpath__tx_completed(x->tx.consumer, x->tx_done);
	__u32 mask = x->tx.size - 1;
	__u32 i, chunk;
	int back;

	if (n > *x->tx.producer - x->tx_done)
		return complain(-ERANGE, "index is %u entries ahead of %u", n,
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

/* Return: number of completed chunks; negative if one is invalid */
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
	store_release(x->comp.consumer, index);
	return n;
}

/*
 * Receive a packet from the Rx ring; its chunks become idle
 * Return: its length; 0 if there is none; negative for an invalid descriptor
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
		if (!len)
			x->last = desc->addr;
		if (!n-- || len + desc->len > FRAME_MAX ||
		    desc->addr % CHUNK + desc->len > CHUNK)
			return complain(-EBADMSG, "bad descriptor");
		memcpy(frame + len, x->umem->area + desc->addr, desc->len);
		len += desc->len;
		more = desc->options & XDP_PKT_CONTD;
		chunk_to_user(x->pool, chunk);
	}
	store_release(x->rx.consumer, index);
	return len;
}

/* Wait for packets up to @ms, or busy poll the device */
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
