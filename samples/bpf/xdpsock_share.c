// SPDX-License-Identifier: GPL-2.0
/* xdpsock: a further socket on a umem, without libxdp */
#include <errno.h>
#include <unistd.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "xdpsock_share.h"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

static int make_ring(struct xsk_share *share, int option, __u32 size)
{
	if (setsockopt(share->fd, SOL_XDP, option, &size, sizeof(size)))
		return -errno;
	return 0;
}

static int map_ring(struct xsk_share *share, int which, off_t page,
		    const struct xdp_ring_offset *off, size_t bytes)
{
	struct xsk_share_map *map = &share->maps[which];
	void *addr = mmap(NULL, off->desc + bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, share->fd, page);

	if (addr == MAP_FAILED)
		return -errno;
	map->addr = addr;
	map->len = off->desc + bytes;
	return 0;
}

static int make_rings(struct xsk_share *share,
		      const struct xsk_share_rings *rings)
{
	int err = make_ring(share, XDP_UMEM_FILL_RING, rings->fill_size);

	err = err ?: make_ring(share, XDP_UMEM_COMPLETION_RING, rings->size);
	if (!err && rings->rx)
		err = make_ring(share, XDP_RX_RING, rings->size);
	if (!err && rings->tx)
		err = make_ring(share, XDP_TX_RING, rings->size);
	return err;
}

static int map_rings(struct xsk_share *share,
		     const struct xsk_share_rings *rings,
		     const struct xdp_mmap_offsets *off)
{
	const size_t addrs = sizeof(__u64) * rings->size;
	const size_t descs = sizeof(struct xdp_desc) * rings->size;
	int err = map_ring(share, SHARE_FILL, XDP_UMEM_PGOFF_FILL_RING,
			   &off->fr, sizeof(__u64) * rings->fill_size);

	err = err ?: map_ring(share, SHARE_COMP,
			      XDP_UMEM_PGOFF_COMPLETION_RING, &off->cr, addrs);
	if (!err && rings->rx)
		err = map_ring(share, SHARE_RX, XDP_PGOFF_RX_RING, &off->rx,
			       descs);
	if (!err && rings->tx)
		err = map_ring(share, SHARE_TX, XDP_PGOFF_TX_RING, &off->tx,
			       descs);
	return err;
}

/* The rings are empty; as in libxdp, cached_cons is ahead by their size */
static void set_prod(struct xsk_ring_prod *ring,
		     const struct xsk_share_map *map,
		     const struct xdp_ring_offset *off, __u32 size)
{
	*ring = (struct xsk_ring_prod){
		.cached_cons = size,
		.mask = size - 1,
		.size = size,
		.producer = map->addr + off->producer,
		.consumer = map->addr + off->consumer,
		.ring = map->addr + off->desc,
		.flags = map->addr + off->flags,
	};
}

static void set_cons(struct xsk_ring_cons *ring,
		     const struct xsk_share_map *map,
		     const struct xdp_ring_offset *off, __u32 size)
{
	*ring = (struct xsk_ring_cons){
		.mask = size - 1,
		.size = size,
		.producer = map->addr + off->producer,
		.consumer = map->addr + off->consumer,
		.ring = map->addr + off->desc,
		.flags = map->addr + off->flags,
	};
}

static void set_rings(struct xsk_share *share,
		      const struct xsk_share_rings *rings,
		      const struct xdp_mmap_offsets *off)
{
	const struct xsk_share_map *maps = share->maps;

	set_prod(rings->fill, &maps[SHARE_FILL], &off->fr, rings->fill_size);
	set_cons(rings->comp, &maps[SHARE_COMP], &off->cr, rings->size);
	if (rings->rx)
		set_cons(rings->rx, &maps[SHARE_RX], &off->rx, rings->size);
	if (rings->tx)
		set_prod(rings->tx, &maps[SHARE_TX], &off->tx, rings->size);
}

int xsk_share_open(struct xsk_share *share, const struct xsk_share_rings *rings)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	int err;

	share->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (share->fd < 0) {
		share->fd = 0;
		return -errno;
	}
	err = make_rings(share, rings);
	if (err)
		return err;
	if (getsockopt(share->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		return -errno;
	err = map_rings(share, rings, &off);
	if (!err)
		set_rings(share, rings, &off);
	return err;
}

int xsk_share_bind(const struct xsk_share *share, __u32 ifindex, __u32 queue,
		   int umem_fd)
{
	const struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_SHARED_UMEM,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue,
		.sxdp_shared_umem_fd = umem_fd,
	};

	if (bind(share->fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	return 0;
}

void xsk_share_close(struct xsk_share *share)
{
	for (int i = 0; i < SHARE_RINGS; i++) {
		if (share->maps[i].addr)
			munmap(share->maps[i].addr, share->maps[i].len);
	}
	if (share->fd)
		close(share->fd);
	*share = (struct xsk_share){};
}
