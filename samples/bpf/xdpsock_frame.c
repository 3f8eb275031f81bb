// SPDX-License-Identifier: GPL-2.0
/* xdpsock: the frame that txonly sends */
#include <arpa/inet.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "xdpsock_frame.h"

static const struct ethhdr eth_header = {
	.h_dest = { 0x02, 0, 0, 0, 0, 0x02 },	/* locally administered */
	.h_source = { 0x02, 0, 0, 0, 0, 0x01 },
};

static unsigned short ip_checksum(const struct iphdr *ip)
{
	unsigned short words[sizeof(*ip) / 2];
	unsigned int sum = 0;

	memcpy(words, ip, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / 2; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16));
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
	ip.check = ip_checksum(&ip);
	memset(frame, 0, len);
	p = mempcpy(p, &eth, sizeof(eth));
	p = mempcpy(p, &ip, sizeof(ip));
	memcpy(p, &udp, sizeof(udp));
}
