/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_FRAME_H
#define XDPSOCK_FRAME_H

#include <string.h>
#include <linux/if_ether.h>

static inline void frame_swap_macs(void *frame)
{
	struct ethhdr *eth = (struct ethhdr *)frame;
	unsigned char dest[ETH_ALEN];

	memcpy(dest, eth->h_dest, ETH_ALEN);
	memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	memcpy(eth->h_source, dest, ETH_ALEN);
}

/*
 * frame_fill() - write an Ethernet frame with a UDP packet of @len bytes
 *
 * From and to the addresses that RFC 2544 sets aside for benchmarks, to the
 * discard port. @len without FCS, at least ETH_ZLEN.
 */
void frame_fill(void *frame, unsigned int len);

#endif /* XDPSOCK_FRAME_H */
