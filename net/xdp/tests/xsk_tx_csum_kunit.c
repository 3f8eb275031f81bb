// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of Tx checksum requests */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/xsk_tx_csum.h>

#include "xsk_kunit.h"

#define CHUNK	2048
#define PAYLOAD	21	/* odd */

struct xsk_tx_csum_param {
	const char *name;
	u8 tags;
	u8 ip_version;
	u8 ip_len;
	u8 protocol;
	u8 l4_len;
	u16 offset;	/* of the checksum from the L4 header */
	/* What is changed in an otherwise valid packet */
	int start;	/* added to csum_start */
	u8 at;		/* offset of a byte from the IP header */
	u8 change;	/* XORed with it */
	bool hardware;
};

#define UDP4	.ip_version = 4, .ip_len = 20, .protocol = IPPROTO_UDP, \
		.l4_len = 8, .offset = 6
#define TCP4	.ip_version = 4, .ip_len = 20, .protocol = IPPROTO_TCP, \
		.l4_len = 20, .offset = 16
#define UDP6	.ip_version = 6, .ip_len = 40, .protocol = IPPROTO_UDP, \
		.l4_len = 8, .offset = 6
#define TCP6	.ip_version = 6, .ip_len = 40, .protocol = IPPROTO_TCP, \
		.l4_len = 20, .offset = 16

static const struct xsk_tx_csum_param xsk_tx_csum_params[] = {
	{ "UDP, IPv4", UDP4, .hardware = true },
	{ "TCP, IPv4", TCP4, .hardware = true },
	{ "UDP, IPv6", UDP6, .hardware = true },
	{ "TCP, IPv6", TCP6, .hardware = true },
	{ "a VLAN tag", UDP4, .tags = 1, .hardware = true },
	{ "two VLAN tags", TCP6, .tags = 2, .hardware = true },
	{ "three VLAN tags", UDP4, .tags = 3 },
	{ "IP options", .ip_version = 4, .ip_len = 60, .l4_len = 8,
	  .protocol = IPPROTO_UDP, .offset = 6, .hardware = true },
	{ "TCP options", .ip_version = 4, .ip_len = 20, .l4_len = 40,
	  .protocol = IPPROTO_TCP, .offset = 16, .hardware = true },
	{ "TCP header beyond the buffer", .ip_version = 4, .ip_len = 20,
	  .l4_len = 20, .protocol = IPPROTO_TCP, .offset = 16,
	  .at = 20 + 12, .change = 0xa0 },
	{ "TCP header of 16 bytes", TCP4, .at = 20 + 12, .change = 0x10 },
	{ "SCTP", .ip_version = 4, .ip_len = 20, .l4_len = 12,
	  .protocol = IPPROTO_SCTP, .offset = 8 },
	{ "the checksum of the other protocol", .ip_version = 4, .ip_len = 20,
	  .l4_len = 20, .protocol = IPPROTO_TCP, .offset = 6 },
	{ "start in the middle of the IP header", UDP4, .start = -4 },
	{ "start in the Ethernet header", UDP4, .start = -24 },
	{ "start behind the IP header", UDP4, .start = 4 },
	{ "odd start", UDP4, .start = 1 },
	{ "IPv6 extension header", UDP6, .start = 8 },
	{ "another IP version", UDP4, .at = 0, .change = 0x20 },
	{ "another header length", UDP4, .at = 0, .change = 0x01 },
	{ "another IPv6 version", UDP6, .at = 0, .change = 0x10 },
	{ "IPv4 length", UDP4, .at = 3, .change = 0x01 },
	{ "IPv6 length", UDP6, .at = 5, .change = 0x01 },
	{ "more fragments", UDP4, .at = 6, .change = 0x20 },
	{ "fragment offset", UDP4, .at = 7, .change = 0x01 },
	{ "do not fragment", UDP4, .at = 6, .change = 0x40, .hardware = true },
};

KUNIT_ARRAY_PARAM_DESC(xsk_tx_csum, xsk_tx_csum_params, name);

struct xsk_tx_csum_fixture {
	struct xsk_buff_pool pool;
	struct xdp_desc desc[2];
	u32 len;
	u16 start;
	u8 *data;
};

static void xsk_tx_csum_put16(u8 *at, u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void xsk_tx_csum_ip(u8 *ip, const struct xsk_tx_csum_param *param)
{
	u16 len = param->l4_len + PAYLOAD;

	if (param->ip_version == 4) {
		ip[0] = 0x40 | param->ip_len / 4;
		xsk_tx_csum_put16(ip + 2, param->ip_len + len);
		xsk_tx_csum_put16(ip + 6, 0);
		ip[9] = param->protocol;
	} else {
		ip[0] = 0x60;
		xsk_tx_csum_put16(ip + 4, len);
		ip[6] = param->protocol;
	}
	if (param->protocol == IPPROTO_TCP)
		ip[param->ip_len + 12] = param->l4_len << 2;
}

/* A packet at the end of an allocation */
static struct xsk_tx_csum_fixture *
xsk_tx_csum_make(struct kunit *test, const struct xsk_tx_csum_param *param)
{
	u32 i, mac_len = ETH_HLEN + param->tags * VLAN_HLEN;
	struct xsk_tx_csum_fixture *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->start = mac_len + param->ip_len;
	f->len = f->start + param->l4_len + PAYLOAD;
	f->data = kunit_kzalloc(test, f->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->data);
	f->pool.addrs = f->data;
	f->desc[0].len = f->len;

	for (i = 0; i < f->len; i++)
		f->data[i] = i * 37;
	for (i = 0; i < param->tags; i++)
		xsk_tx_csum_put16(f->data + 12 + 4 * i,
				  i ? ETH_P_8021Q : ETH_P_8021AD);
	xsk_tx_csum_put16(f->data + 12 + 4 * param->tags,
			  param->ip_version == 4 ? ETH_P_IP : ETH_P_IPV6);
	xsk_tx_csum_ip(f->data + mac_len, param);
	f->data[mac_len + param->at] ^= param->change;
	f->start += param->start;
	return f;
}

/* Ones' complement sum by the definition in RFC 1071, in 16 bits */
static u16 xsk_tx_csum_sum(const u8 *data, u32 len)
{
	u32 i, sum = 0;

	for (i = 0; i < len; i++) {
		sum += i % 2 ? data[i] : data[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}

	return sum;
}

static void xsk_tx_csum_headers(struct kunit *test)
{
	const struct xsk_tx_csum_param *param = test->param_value;
	struct xsk_tx_csum csum = {};
	struct xsk_tx_csum_fixture *f = xsk_tx_csum_make(test, param);
	bool hardware = xsk_tx_csum_parse(&csum, f->data, f->len, f->len,
					  f->start, param->offset);

	KUNIT_ASSERT_EQ(test, hardware, param->hardware);
	if (!hardware)
		return;
	KUNIT_EXPECT_EQ(test, csum.mac_len, ETH_HLEN + 4 * param->tags);
	KUNIT_EXPECT_EQ(test, csum.ip_len, param->ip_len);
	KUNIT_EXPECT_EQ(test, csum.l4_len, param->l4_len);
	KUNIT_EXPECT_EQ(test, csum.ipv4, param->ip_version == 4);
	KUNIT_EXPECT_EQ(test, csum.tcp, param->protocol == IPPROTO_TCP);
}

/* What a device is not given is computed, and nothing else is changed */
static void xsk_tx_csum_prepared(struct kunit *test)
{
	const struct xsk_tx_csum_param *param = test->param_value;
	struct xsk_tx_csum_fixture *f = xsk_tx_csum_make(test, param);
	u8 *field = f->data + f->start + param->offset;
	u8 *before = kunit_kzalloc(test, f->len, GFP_KERNEL);
	struct xsk_tx_csum csum;

	KUNIT_ASSERT_NOT_NULL(test, before);
	memcpy(before, f->data, f->len);
	KUNIT_ASSERT_EQ(test, param->hardware,
			xsk_tx_csum_prepare(&csum, &f->pool, f->desc, 1,
					    f->start, param->offset));
	if (!param->hardware) {
		u16 sum = xsk_tx_csum_sum(before + f->start,
					  f->len - f->start);

		KUNIT_EXPECT_EQ(test, (u16)~sum, field[0] << 8 | field[1]);
		memcpy(field, before + (field - f->data), 2);
	}
	KUNIT_EXPECT_MEMEQ(test, f->data, before, f->len);
}

/* Buffers end at the end of an allocation: KASAN reports what is read beyond */
static void xsk_tx_csum_truncated(struct kunit *test)
{
	const struct xsk_tx_csum_param *param = test->param_value;
	struct xsk_tx_csum_fixture *f = xsk_tx_csum_make(test, param);
	struct xsk_tx_csum csum;
	u32 len;
	u8 *data;

	for (len = 1; len < f->len; len++) {
		data = kmemdup(f->data, len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, data);
		if (xsk_tx_csum_parse(&csum, data, len, f->len, f->start,
				      param->offset))
			KUNIT_EXPECT_LE(test, f->start + csum.l4_len, len);
		kfree(data);
	}
}

/* No offset makes it read or write beyond the buffer */
static void xsk_tx_csum_offsets(struct kunit *test)
{
	static const u16 offsets[] = { 0, 1, 13, 14, 33, 34, 57, 61, 62, 63,
				       0x7fff, 0x8000, 0xfffe, 0xffff };
	const struct xsk_tx_csum_param *param = &xsk_tx_csum_params[0];
	struct xsk_tx_csum_fixture *f = xsk_tx_csum_make(test, param);
	struct xsk_tx_csum csum;
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			u32 end = offsets[i] + offsets[j] + 2;
			u8 *before = kmemdup(f->data, f->len, GFP_KERNEL);

			KUNIT_ASSERT_NOT_NULL(test, before);
			xsk_tx_csum_prepare(&csum, &f->pool, f->desc, 1,
					    offsets[i], offsets[j]);
			if (end > f->len)
				KUNIT_EXPECT_MEMEQ(test, before, f->data,
						   f->len);
			kfree(before);
		}
	}
}

/* The headers have to be in the first buffer, the length is that of all */
static void xsk_tx_csum_buffers(struct kunit *test)
{
	const struct xsk_tx_csum_param *param = test->param_value;
	struct xsk_tx_csum_fixture *f = xsk_tx_csum_make(test, param);
	u32 first = f->start + param->offset + 2;
	struct xsk_tx_csum csum;
	u8 *field = f->data + first - 2;
	u16 sum = xsk_tx_csum_sum(f->data + f->start, f->len - f->start);
	bool hardware;

	/* Also odd lengths, so that bytes change places in the sum */
	for (; first < f->len; first++) {
		f->desc[0].len = first;
		f->desc[1].addr = first;
		f->desc[1].len = f->len - first;
		hardware = xsk_tx_csum_prepare(&csum, &f->pool, f->desc, 2,
					       f->start, param->offset);
		KUNIT_EXPECT_EQ(test, hardware, param->hardware &&
				first >= f->start + param->l4_len);
		if (hardware)
			continue;
		KUNIT_EXPECT_EQ(test, (u16)~sum, field[0] << 8 | field[1]);
		/* The sum of a packet with its checksum is that of another */
		sum = xsk_tx_csum_sum(f->data + f->start, f->len - f->start);
	}
}

/* A header length has four bits: longer ones must not look like others */
static void xsk_tx_csum_long_header(struct kunit *test)
{
	static const u16 lens[] = { 64, 128, 256, 260, 276 };
	struct xsk_tx_csum csum;
	const u32 len = 400;
	u8 *data, *ip;
	u32 i;

	data = kunit_kzalloc(test, len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	ip = data + ETH_HLEN;
	xsk_tx_csum_put16(data + 12, ETH_P_IP);
	xsk_tx_csum_put16(ip + 2, len - ETH_HLEN);
	ip[9] = IPPROTO_UDP;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		ip[0] = 4 << 4 | lens[i] / 4;
		KUNIT_EXPECT_FALSE(test, xsk_tx_csum_parse(&csum, data, len,
							   len, ETH_HLEN +
							   lens[i], 6));
	}
}

/* Zero means "no checksum" for UDP */
static void xsk_tx_csum_zero(struct kunit *test)
{
	struct xsk_tx_csum_fixture *f =
		xsk_tx_csum_make(test, &xsk_tx_csum_params[0]);

	memset(f->data, 0, f->len);
	xsk_tx_csum_put16(f->data, 0xffff);
	xsk_tx_csum_compute(&f->pool, f->desc, 1, 0, 2);
	KUNIT_EXPECT_EQ(test, 0xffff, f->data[2] << 8 | f->data[3]);
}

static struct kunit_case xsk_tx_csum_cases[] = {
	KUNIT_CASE_PARAM(xsk_tx_csum_headers, xsk_tx_csum_gen_params),
	KUNIT_CASE_PARAM(xsk_tx_csum_prepared, xsk_tx_csum_gen_params),
	KUNIT_CASE_PARAM(xsk_tx_csum_truncated, xsk_tx_csum_gen_params),
	KUNIT_CASE_PARAM(xsk_tx_csum_buffers, xsk_tx_csum_gen_params),
	KUNIT_CASE(xsk_tx_csum_offsets),
	KUNIT_CASE(xsk_tx_csum_long_header),
	KUNIT_CASE(xsk_tx_csum_zero),
	{}
};

static struct kunit_suite xsk_tx_csum_suite = {
	.name = "xsk_tx_csum",
	.test_cases = xsk_tx_csum_cases,
};

kunit_test_suite(xsk_tx_csum_suite);
