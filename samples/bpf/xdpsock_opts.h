/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_OPTS_H
#define XDPSOCK_OPTS_H

#include <linux/if_xdp.h>

enum xdpsock_bench {
	BENCH_UNSET,
	BENCH_RXDROP,
	BENCH_TXONLY,
	BENCH_L2FWD,
	BENCH_FWD,
};

enum xdpsock_mode { MODE_AUTO, MODE_SKB, MODE_NATIVE };
enum xdpsock_copy { COPY_AUTO, COPY_YES, COPY_ZERO };

#define XDPSOCK_MAX_INTERFACES 2

/* The parsed command line. Numbers and choices are unsigned int. */
struct xdpsock_opts {
	const char *interfaces[XDPSOCK_MAX_INTERFACES];
	unsigned int num_interfaces;
	unsigned int queue;		/* the first one */
	unsigned int queues;
	unsigned int bench;		/* enum xdpsock_bench */
	unsigned int mode;		/* enum xdpsock_mode */
	unsigned int copy;		/* enum xdpsock_copy */
	unsigned int attach;		/* XDP_ATTACH, not XSKMAP */
	unsigned int inorder;
	unsigned int recycle;
	unsigned int force;		/* no fallback */
	unsigned int pass;		/* behind another XDP program */
	unsigned int poll;
	unsigned int no_need_wakeup;
	unsigned int busy_poll;
	unsigned int budget;
	unsigned int batch;
	unsigned int ring_size;
	unsigned int frames;
	unsigned int frame_size;
	unsigned int unaligned;
	unsigned int frags;
	unsigned int packet_size;	/* as on the wire, with FCS */
	unsigned int checksum;		/* by the device, in txonly */
	unsigned int packets;		/* 0: no limit */
	unsigned int interval;
	unsigned int duration;		/* 0: no limit */
	unsigned int json;
};

/* Bytes in front of each packet of txonly */
static inline unsigned int tx_metadata_len(const struct xdpsock_opts *opts)
{
	return opts->checksum ? sizeof(struct xsk_tx_metadata) : 0;
}

/*
 * xdpsock_parse() - parse and validate the command line
 *
 * Return: -1 to continue, otherwise the exit status: 0 after --help, 2 after a
 * reported mistake.
 */
int xdpsock_parse(struct xdpsock_opts *opts, int argc, char **argv);

#endif /* XDPSOCK_OPTS_H */
