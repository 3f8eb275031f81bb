/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XDPSOCK_FRAME_H
#define XDPSOCK_FRAME_H

#include <string.h>
#include <linux/if_ether.h>
#include <linux/types.h>

static inline void frame_swap_macs(void *frame)
{
	struct ethhdr *eth = (struct ethhdr *)frame;
	__u32 head;
	__u16 tail;

	/* Two integers stay in registers; an array would be on the stack */
	memcpy(&head, eth->h_dest, sizeof(head));
	memcpy(&tail, eth->h_dest + sizeof(head), sizeof(tail));
	memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	memcpy(eth->h_source, &head, sizeof(head));
	memcpy(eth->h_source + sizeof(head), &tail, sizeof(tail));
}

/*
 * frame_fill() - write an Ethernet frame with a UDP packet of @len bytes
 *
 * Uses the addresses that RFC 2544 reserves for benchmarks and the discard
 * port. @len is without FCS and at least ETH_ZLEN.
 */
void frame_fill(void *frame, unsigned int len);

/*
 * frame_request_checksum() - request the UDP checksum of a frame
 *
 * Writes metadata in front of a frame of frame_fill(), whose checksum it
 * replaces by the sum of the pseudo header.
 */
void frame_request_checksum(void *frame);

#endif /* XDPSOCK_FRAME_H */
