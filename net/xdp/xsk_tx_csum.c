// SPDX-License-Identifier: GPL-2.0
/*
 * Tx checksum requests in zero-copy mode; see include/net/xsk_tx_csum.h.
 *
 * User space can write to the packet and to the request at any time. What is
 * passed to a device must be valid whatever is written, so each byte is read
 * once. The checksum of a packet that changes meanwhile is undefined.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/xdp_sock_drv.h>
#include <net/xsk_tx_csum.h>

/* Chunks may be at odd addresses */
static u16 xsk_tx_csum_be16(const u8 *at)
{
	if (IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS))
		return be16_to_cpu(READ_ONCE(*(const __be16 *)at));
	return READ_ONCE(at[0]) << 8 | READ_ONCE(at[1]);
}

/* Length of the Ethernet header, whose EtherType is in @type, with up to two
 * VLAN tags. Reads up to 22 bytes.
 */
static u32 xsk_tx_csum_mac_len(const u8 *data, u16 *type)
{
	u32 tags, len = ETH_HLEN;

	*type = xsk_tx_csum_be16(data + offsetof(struct ethhdr, h_proto));
	for (tags = 0; tags < 2 && eth_type_vlan(htons(*type)); tags++) {
		*type = xsk_tx_csum_be16(data + len + 2);
		len += VLAN_HLEN;
	}

	return len;
}

/* The protocol in an IPv4 header of @len bytes in a packet of @packet_len bytes
 * without fragmentation; 0 if it is anything else. Reads up to 20 bytes.
 */
static u8 xsk_tx_csum_ipv4(const u8 *ip, u32 len, u32 packet_len)
{
	if (len < sizeof(struct iphdr) || len > 0xf * 4 ||
	    !IS_ALIGNED(len, 4) || READ_ONCE(ip[0]) != (4 << 4 | len / 4))
		return 0;
	if (xsk_tx_csum_be16(ip + offsetof(struct iphdr, tot_len)) !=
	    packet_len)
		return 0;
	if (xsk_tx_csum_be16(ip + offsetof(struct iphdr, frag_off)) &
	    (IP_MF | IP_OFFSET))
		return 0;
	return READ_ONCE(ip[offsetof(struct iphdr, protocol)]);
}

/* The same for an IPv6 header without extension headers */
static u8 xsk_tx_csum_ipv6(const u8 *ip, u32 len, u32 packet_len)
{
	if (len != sizeof(struct ipv6hdr) || READ_ONCE(ip[0]) >> 4 != 6)
		return 0;
	if (xsk_tx_csum_be16(ip + offsetof(struct ipv6hdr, payload_len)) !=
	    packet_len - len)
		return 0;
	return READ_ONCE(ip[offsetof(struct ipv6hdr, nexthdr)]);
}

/* Length of the TCP or UDP header if its checksum is at @offset, otherwise 0 */
static u32 xsk_tx_csum_l4_len(const u8 *l4, u8 protocol, u16 offset)
{
	u32 len;

	if (protocol == IPPROTO_UDP && offset == offsetof(struct udphdr, check))
		return sizeof(struct udphdr);
	if (protocol != IPPROTO_TCP || offset != offsetof(struct tcphdr, check))
		return 0;
	len = (READ_ONCE(l4[12]) >> 4) * 4;
	return len < sizeof(struct tcphdr) ? 0 : len;
}

static __always_inline bool
__xsk_tx_csum_parse(struct xsk_tx_csum *csum, const void *data, u32 len,
		    u32 packet_len, u16 start, u16 offset)
{
	const u8 *ip, *l4 = data + start;
	u32 mac_len, ip_len, l4_len;
	u8 protocol = 0;
	u16 type;

	/* So the bytes that are read of the headers before L4 are in @data */
	if (start < ETH_HLEN + sizeof(struct iphdr) ||
	    start + offset + sizeof(__sum16) > len)
		return false;

	mac_len = xsk_tx_csum_mac_len(data, &type);
	ip = data + mac_len;
	ip_len = start - mac_len;
	if (type == ETH_P_IP)
		protocol = xsk_tx_csum_ipv4(ip, ip_len, packet_len - mac_len);
	else if (type == ETH_P_IPV6)
		protocol = xsk_tx_csum_ipv6(ip, ip_len, packet_len - mac_len);

	l4_len = xsk_tx_csum_l4_len(l4, protocol, offset);
	if (!l4_len || start + l4_len > len)
		return false;

	*csum = (struct xsk_tx_csum) {
		.mac_len = mac_len,
		.ip_len = ip_len,
		.l4_len = l4_len,
		.ipv4 = type == ETH_P_IP,
		.tcp = protocol == IPPROTO_TCP,
	};
	return true;
}

/**
 * xsk_tx_csum_parse() - find the headers of a packet for a device
 * @csum: the result
 * @data: first buffer of the packet
 * @len: its length
 * @packet_len: length of the packet
 * @start: offset of the first byte that the checksum covers
 * @offset: offset of the checksum from there
 *
 * The length in the IP header must be that of the packet, because devices may
 * stop at it, whereas the request covers the whole packet.
 *
 * Return: true if a device can compute it: TCP or UDP, IPv4 without
 * fragmentation or IPv6 without extension headers, at most two VLAN tags
 */
bool xsk_tx_csum_parse(struct xsk_tx_csum *csum, const void *data, u32 len,
		       u32 packet_len, u16 start, u16 offset)
{
	return __xsk_tx_csum_parse(csum, data, len, packet_len, start, offset);
}

/* Whether both offsets of a request are within the first buffer */
static bool xsk_tx_csum_fits(const struct xdp_desc *desc, u16 start, u16 offset)
{
	return start + offset + sizeof(__sum16) <= desc->len;
}

/**
 * xsk_tx_csum_compute() - compute the checksum of a packet in software
 * @pool: the pool
 * @descs: descriptors of the packet
 * @count: number of descriptors
 * @start: offset of the first byte that it covers
 * @offset: offset of the checksum from there
 *
 * As skb_checksum_help() does in copy mode. The packet remains unchanged if the
 * offsets are not within the first buffer.
 *
 * Context: NAPI poll, before the packet is synced for the device
 */
void xsk_tx_csum_compute(struct xsk_buff_pool *pool,
			 const struct xdp_desc *descs, u32 count, u16 start,
			 u16 offset)
{
	u8 *data = xsk_buff_raw_get_data(pool, descs->addr);
	__wsum sum, part;
	u32 i, len;

	if (!xsk_tx_csum_fits(descs, start, offset))
		return;

	len = descs->len - start;
	sum = csum_partial(data + start, len, 0);
	for (i = 1; i < count; i++) {
		part = csum_partial(xsk_buff_raw_get_data(pool, descs[i].addr),
				    descs[i].len, 0);
		sum = csum_block_add(sum, part, len);
		len += descs[i].len;
	}

	put_unaligned(csum_fold(sum) ?: CSUM_MANGLED_0,
		      (__sum16 *)(data + start + offset));
}
EXPORT_SYMBOL_GPL(xsk_tx_csum_compute);

/**
 * xsk_tx_csum_prepare() - prepare a packet with a checksum request
 * @csum: the result
 * @pool: the pool
 * @descs: descriptors of the packet, valid and not accessible to user space
 * @count: number of descriptors
 * @start: offset of the first byte that it covers
 * @offset: offset of the checksum from there
 *
 * Computes checksums that the device cannot, so that the result is always
 * correct.
 *
 * Context: NAPI poll, before the packet is synced for the device
 * Return: true if the device has to compute the checksum, with @csum; false if
 * the packet is to be sent as it is
 */
bool xsk_tx_csum_prepare(struct xsk_tx_csum *csum, struct xsk_buff_pool *pool,
			 const struct xdp_desc *descs, u32 count, u16 start,
			 u16 offset)
{
	const void *data = xsk_buff_raw_get_data(pool, descs->addr);
	u32 i, packet_len = descs->len;

	for (i = 1; i < count; i++)
		packet_len += descs[i].len;
	if (likely(__xsk_tx_csum_parse(csum, data, descs->len, packet_len,
				       start, offset)))
		return true;

	xsk_tx_csum_compute(pool, descs, count, start, offset);
	return false;
}
EXPORT_SYMBOL_GPL(xsk_tx_csum_prepare);
