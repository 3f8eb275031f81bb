// SPDX-License-Identifier: GPL-2.0
/* xdpsock: the frame that txonly sends */
#include <arpa/inet.h>
#include <stddef.h>
#include <linux/if_xdp.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "xdpsock_frame.h"

static const struct ethhdr eth_header = {
	.h_dest = { 0x02, 0, 0, 0, 0, 0x02 },	/* locally administered */
	.h_source = { 0x02, 0, 0, 0, 0, 0x01 },
};

/* Ones' complement sum of up to 10 words in network byte order */
static unsigned short sum_words(const void *data, size_t num)
{
	unsigned short words[10];
	unsigned int sum = 0;

	memcpy(words, data, num * sizeof(*words));
	for (size_t i = 0; i < num; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

void frame_fill(void *frame, unsigned int len)
{
	struct ethhdr eth = eth_header;
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(len - sizeof(eth)),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = htonl(0xc6120001),	/* 198.18.0.1 */
		.daddr = htonl(0xc6120002),
	};
	struct udphdr udp = {
		.source = htons(9),
		.dest = htons(9),
		.len = htons(len - sizeof(eth) - sizeof(ip)),
	};
	char *p = frame;

	eth.h_proto = htons(ETH_P_IP);
	ip.check = ~sum_words(&ip, sizeof(ip) / 2);
	memset(frame, 0, len);
	p = mempcpy(p, &eth, sizeof(eth));
	p = mempcpy(p, &ip, sizeof(ip));
	memcpy(p, &udp, sizeof(udp));
}

void frame_request_checksum(void *frame)
{
	const __u16 start = sizeof(struct ethhdr) + sizeof(struct iphdr);
	struct udphdr *udp = frame + start;
	const struct {
		__be32 addr[2];
		__be16 protocol;
		__be16 len;
	} pseudo = {
		.addr = { htonl(0xc6120001), htonl(0xc6120002) },
		.protocol = htons(IPPROTO_UDP),
		.len = udp->len,
	};
	struct xsk_tx_metadata *meta = frame - sizeof(*meta);

	udp->check = sum_words(&pseudo, sizeof(pseudo) / 2);
	*meta = (struct xsk_tx_metadata){
		.flags = XDP_TXMD_FLAGS_CHECKSUM,
		.request.csum_start = start,
		.request.csum_offset = offsetof(struct udphdr, check),
	};
}
