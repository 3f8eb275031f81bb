/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xdpsock: a further socket on a umem, by plain system calls
 *
 * libxdp makes and binds such a socket in one call, so that no option can be
 * set in between, as XDP_ATTACH needs.
 */
#ifndef XDPSOCK_SHARE_H
#define XDPSOCK_SHARE_H

#include <linux/types.h>
#include <xdp/xsk.h>

enum { SHARE_FILL, SHARE_COMP, SHARE_RX, SHARE_TX, SHARE_RINGS };

/* What has to be given back */
struct xsk_share {
	int fd;				/* 0: none */
	struct xsk_share_map {
		void *addr;
		size_t len;
	} maps[SHARE_RINGS];
};

struct xsk_share_rings {
	struct xsk_ring_prod *fill;
	struct xsk_ring_cons *comp;
	struct xsk_ring_cons *rx;	/* NULL: none */
	struct xsk_ring_prod *tx;	/* NULL: none */
	__u32 fill_size;
	__u32 size;			/* of the others */
};

/*
 * xsk_share_open() - make a socket with its rings, not bound yet
 *
 * Return: 0 or a negative errno; then too xsk_share_close() is due.
 */
int xsk_share_open(struct xsk_share *share,
		   const struct xsk_share_rings *rings);

/*
 * xsk_share_bind() - bind it to a queue; the umem is that of another socket
 *
 * Return: 0 or a negative errno.
 */
int xsk_share_bind(const struct xsk_share *share, __u32 ifindex, __u32 queue,
		   int umem_fd);

/* xsk_share_close() - close the socket and give its rings back */
void xsk_share_close(struct xsk_share *share);

#endif /* XDPSOCK_SHARE_H */
