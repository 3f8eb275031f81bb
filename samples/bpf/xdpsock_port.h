/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_PORT_H
#define XDPSOCK_PORT_H

#include <stdbool.h>
#include <linux/types.h>
#include <linux/if_xdp_fastpath.h>
#include <xdp/xsk.h>

#include "xdpsock_opts.h"

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
 * A socket with a umem of its own.
 *
 * A chunk of the umem is in exactly one place: in a ring, in the kernel, or
 * (txonly) in @free. The fill ring has room for all of them.
 */
struct xsk_port {
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod tx;
	__u32 batch;
	__u32 outstanding;	/* handed to Tx, not completed yet */
	__u32 num_free;
	__u32 packet_len;	/* without FCS */
	__u64 *free;		/* stack of chunks that hold a frame to send */
	char *area;
	struct xsk_counts count;

	bool has_rx;
	bool has_tx;
	bool wake_always;	/* no flag of the kernel says when to wake it */
	bool busy_poll;
	bool poll;
	int fd;
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	struct xsk_binding binding;
	__u64 area_size;
	const struct xdpsock_opts *opts;
};

/*
 * xsk_port_open() - umem, socket and rings as asked for, ready for traffic
 *
 * Reports what it had to fall back from, and why it failed.
 *
 * Return: 0 or a negative errno.
 */
int xsk_port_open(struct xsk_port *port, const struct xdpsock_opts *opts);

/* xsk_port_close() - also detach a default program that nobody else uses */
void xsk_port_close(struct xsk_port *port);

/* xsk_port_refresh() - bring port->binding up to date */
void xsk_port_refresh(struct xsk_port *port);

/*
 * xsk_port_wake_tx() - have the kernel send, if it wants to be told
 *
 * Return: 0, also if it cannot send now, or a negative errno.
 */
int xsk_port_wake_tx(struct xsk_port *port);

/*
 * xsk_port_idle() - nothing moved: wait in poll(), or wake the Rx side
 *
 * Return: 0, also if a signal came, or a negative errno.
 */
int xsk_port_idle(struct xsk_port *port);

#endif /* XDPSOCK_PORT_H */
