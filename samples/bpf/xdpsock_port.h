/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_PORT_H
#define XDPSOCK_PORT_H

#include <stdbool.h>
#include <linux/types.h>
#include <linux/if_xdp_fastpath.h>
#include <xdp/xsk.h>

#include "xdpsock_opts.h"
#include "xdpsock_share.h"

/* The mode in which a socket is bound, which may be a fallback */
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
 * (txonly) in @free. Each socket owns a share of the chunks, which return to it
 * after transmission on any socket; its fill ring has room for all of them.
 */
struct xsk_port {
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod tx;
	struct xsk_port *peer;	/* sender of its frames: itself except in fwd */
	__u32 batch;
	__u32 outstanding;	/* handed to Tx, not completed yet */
	__u32 num_free;
	__u32 packet_len;	/* without FCS */
	__u32 tx_options;	/* of each descriptor in txonly */
	__u64 *free;		/* stack of chunks that hold a frame to send */
	char *area;
	struct xsk_counts count;

	bool has_rx;
	bool has_tx;
	bool in_packet;		/* the last buffer was not that of its end */
	bool inorder;		/* Tx completes via the ring's consumer */
	bool recycle;		/* Tx chunks return to the peer's Rx queue */
	bool wake_always;	/* no need_wakeup flag: always kick Tx */
	bool busy_poll;
	bool poll;
	int fd;
	const char *interface;
	__u32 ifindex;
	__u32 queue;
	__u32 first_chunk;	/* of its share */
	__u32 num_chunks;
	struct xsk_socket *xsk;	/* created by libxdp */
	struct xsk_share share;	/* or created by xdpsock_share.c */
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
 * xsk_ports_open() - set up umem, sockets and rings, ready for traffic
 *
 * Reports fallbacks and the reason of a failure.
 *
 * Return: 0 or a negative errno.
 */
int xsk_ports_open(struct xsk_ports *ports, const struct xdpsock_opts *opts);

/* xsk_ports_close() - close all sockets, detach unused default programs */
void xsk_ports_close(struct xsk_ports *ports);

/* xsk_ports_refresh() - update the bindings of all sockets */
void xsk_ports_refresh(struct xsk_ports *ports);

/*
 * xsk_port_wake_tx() - kick Tx if the kernel requests it
 *
 * Return: 0, also if it cannot send now, or a negative errno.
 */
int xsk_port_wake_tx(struct xsk_port *port);

/*
 * xsk_port_idle() - after an idle round, kick Rx if the kernel requests it
 *
 * Return: 0, also if interrupted by a signal, or a negative errno.
 */
int xsk_port_idle(struct xsk_port *port);

/*
 * xsk_ports_wait() - wait in poll() until a socket is ready
 *
 * Return: as xsk_port_idle().
 */
int xsk_ports_wait(struct xsk_ports *ports);

#endif /* XDPSOCK_PORT_H */
