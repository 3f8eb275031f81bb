/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_PORT_H
#define XDPSOCK_PORT_H

#include <stdbool.h>
#include <linux/types.h>
#include <linux/if_xdp_fastpath.h>
#include <xdp/xsk.h>

#include "xdpsock_opts.h"
#include "xdpsock_share.h"

/* How the kernel bound a socket, which may be less than was asked for */
struct xsk_binding {
	bool attach;		/* XDP_ATTACH, not XSKMAP */
	bool zero_copy;
	const char *mode;	/* "native", "skb" or "none" */
	__u32 prog_id;		/* program on the interface */
	struct xdp_attach info;	/* zero without XDP_ATTACH */
};

struct xsk_counts {
	__u64 rx;		/* received */
	__u64 tx;		/* sent and completed */
	__u64 sendto;
	__u64 recvfrom;
	__u64 poll;
};

/*
 * A socket on a queue of an interface.
 *
 * A chunk of the umem is in exactly one place: in a ring, in the kernel, or
 * (txonly) in @free. Each socket has its share of the chunks, which come back
 * to it wherever they were sent; its fill ring has room for all of them.
 */
struct xsk_port {
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod tx;
	struct xsk_port *peer;	/* sends what this one receives: itself but for fwd */
	__u32 batch;
	__u32 outstanding;	/* handed to Tx, not completed yet */
	__u32 num_free;
	__u32 packet_len;	/* without FCS */
	__u64 *free;		/* stack of chunks that hold a frame to send */
	char *area;
	struct xsk_counts count;

	bool has_rx;
	bool has_tx;
	bool inorder;		/* Tx completes by the ring's consumer */
	bool recycle;		/* what was sent goes to the peer's Rx queue */
	bool wake_always;	/* no flag of the kernel says when to wake it */
	bool busy_poll;
	bool poll;
	int fd;
	const char *interface;
	__u32 ifindex;
	__u32 queue;
	__u32 first_chunk;	/* of its share */
	__u32 num_chunks;
	struct xsk_socket *xsk;	/* of libxdp */
	struct xsk_share share;	/* or one that we made: xdpsock_share.h */
	struct xsk_binding binding;
	const struct xsk_ports *ports;
	const struct xdpsock_opts *opts;
};

/* All sockets, and their umem; the first one owns its file descriptor */
struct xsk_ports {
	struct xsk_port *port;
	unsigned int num;
	struct xsk_umem *umem;
	char *area;
	__u64 area_size;
	bool attach;		/* XDP_ATTACH, not XSKMAP */
	const struct xdpsock_opts *opts;
};

/*
 * xsk_ports_open() - umem, sockets and rings as asked for, ready for traffic
 *
 * Reports what it had to fall back from, and why it failed.
 *
 * Return: 0 or a negative errno.
 */
int xsk_ports_open(struct xsk_ports *ports, const struct xdpsock_opts *opts);

/* xsk_ports_close() - also detach default programs that nobody else uses */
void xsk_ports_close(struct xsk_ports *ports);

/* xsk_ports_refresh() - bring the bindings of all sockets up to date */
void xsk_ports_refresh(struct xsk_ports *ports);

/*
 * xsk_port_wake_tx() - have the kernel send, if it wants to be told
 *
 * Return: 0, also if it cannot send now, or a negative errno.
 */
int xsk_port_wake_tx(struct xsk_port *port);

/*
 * xsk_port_idle() - nothing moved: wake the Rx side, if it wants to be told
 *
 * Return: 0, also if a signal came, or a negative errno.
 */
int xsk_port_idle(struct xsk_port *port);

/*
 * xsk_ports_wait() - wait in poll() until a socket can go on
 *
 * Return: as xsk_port_idle().
 */
int xsk_ports_wait(struct xsk_ports *ports);

#endif /* XDPSOCK_PORT_H */
