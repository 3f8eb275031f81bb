/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xdpsock: a further socket on a umem, without libxdp
 *
 * libxdp creates and binds such a socket in one call, but XDP_ATTACH has to be
 * set in between.
 */
#ifndef XDPSOCK_SHARE_H
#define XDPSOCK_SHARE_H

#include <linux/types.h>
#include <xdp/xsk.h>

enum { SHARE_FILL, SHARE_COMP, SHARE_RX, SHARE_TX, SHARE_RINGS };

/* Resources of a socket, for xsk_share_close() */
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
 * xsk_share_open() - create an unbound socket with its rings
 *
 * Return: 0 or a negative errno; call xsk_share_close() in both cases.
 */
int xsk_share_open(struct xsk_share *share,
		   const struct xsk_share_rings *rings);

/*
 * xsk_share_bind() - bind to a queue with the umem of another socket
 *
 * Return: 0 or a negative errno.
 */
int xsk_share_bind(const struct xsk_share *share, __u32 ifindex, __u32 queue,
		   int umem_fd);

/* xsk_share_close() - close the socket and unmap its rings */
void xsk_share_close(struct xsk_share *share);

#endif /* XDPSOCK_SHARE_H */
