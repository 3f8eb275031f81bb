// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the delivery of contiguous packets */
#include <net/xsk_direct.h>

#include "xsk_kunit.h"

#define CHUNK	2048
#define HEADROOM	128
#define COUNT	11	/* no multiple of the batch of the loop */
#define FIRST	1	/* index of the first descriptor */

struct xsk_direct_fixture {
	struct xdp_buff_xsk xskb[COUNT];
	u64 bufs[FIRST + COUNT];
	u64 len[FIRST + COUNT];
	struct xdp_desc desc[COUNT];
	struct xsk_direct direct;
	struct xsk_rx_ring ring;
	struct xsk_buff_pool pool;
	struct device dev;
};

struct xsk_direct_param {
	const char *name;
	u64 len;
};

static const struct xsk_direct_param xsk_direct_params[] = {
	{ "not written back", 0 },
	{ "a byte more than a chunk", CHUNK + 1 },
	{ "the maximum length", U64_MAX },
};

KUNIT_ARRAY_PARAM_DESC(xsk_direct, xsk_direct_params, name);

/* A driver whose descriptors hold the length only */
static __always_inline u64 xsk_direct_read_len(void *desc, void *bufs,
					       size_t index, u64 max_len,
					       u64 *entry, bool *eop)
{
	u64 len = ((u64 *)desc)[index];

	if (len - 1 >= max_len)
		return 0;

	*eop = true;
	*entry = ((u64 *)bufs)[index];
	return len;
}

static noinline u32 xsk_direct_read_span(struct xsk_direct *direct,
					 const struct xsk_rx_ring *ring,
					 size_t count)
{
	return xsk_direct_read(direct, ring, count, xsk_direct_read_len);
}

/* Packet i is in chunk i of a umem */
static struct xsk_direct_fixture *xsk_direct_make(struct kunit *test)
{
	struct xsk_direct_fixture *f;
	u32 i;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);

	for (i = 0; i < COUNT; i++) {
		f->bufs[FIRST + i] = xsk_rx_entry(&f->xskb[i].xdp);
		f->len[FIRST + i] = 60 + i;
	}
	xsk_kunit_dev(&f->dev);
	f->pool.dev = &f->dev;
	f->pool.heads = f->xskb;
	f->pool.chunk_size = CHUNK;
	f->pool.headroom = HEADROOM;
	xsk_direct_init(&f->pool);
	if (SMP_CACHE_BYTES < 64 && !f->pool.direct_scale)
		kunit_skip(test, "cache lines of less than 64 bytes");
	f->ring.pool = &f->pool;
	f->direct.desc = f->desc;
	f->direct.max_len = CHUNK;
	f->ring.desc = f->len;
	f->ring.bufs = f->bufs;
	f->ring.next_to_clean = FIRST;
	return f;
}

/* The first @count packets are in the Rx ring, and no more */
static void xsk_direct_expect(struct kunit *test,
			      const struct xsk_direct_fixture *f, u32 count)
{
	u32 i, bytes = 0;

	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_EQ(test, f->desc[i].addr, i * CHUNK + HEADROOM +
				XDP_PACKET_HEADROOM);
		KUNIT_EXPECT_EQ(test, f->desc[i].len, 60 + i);
		KUNIT_EXPECT_EQ(test, f->desc[i].options, 0);
		bytes += 60 + i;
	}
	for (; i < COUNT; i++)
		KUNIT_EXPECT_EQ(test, f->desc[i].len, 0);
	KUNIT_EXPECT_EQ(test, f->direct.bytes, bytes);
}

/* A span of any number of packets */
static void xsk_direct_all(struct kunit *test)
{
	struct xsk_direct_fixture *f;
	u32 count;

	for (count = 0; count <= COUNT; count++) {
		f = xsk_direct_make(test);
		KUNIT_EXPECT_EQ(test, count,
				xsk_direct_read_span(&f->direct, &f->ring,
						     count));
		xsk_direct_expect(test, f, count);
	}
}

/* A descriptor without a complete packet ends the span, at any position */
static void xsk_direct_stops(struct kunit *test)
{
	const struct xsk_direct_param *param = test->param_value;
	struct xsk_direct_fixture *f;
	u32 index;

	for (index = 0; index < COUNT; index++) {
		f = xsk_direct_make(test);
		f->len[FIRST + index] = param->len;
		KUNIT_EXPECT_EQ(test, index,
				xsk_direct_read_span(&f->direct, &f->ring,
						     COUNT));
		xsk_direct_expect(test, f, index);
	}
}

/* The software ring has the addresses of unaligned chunks */
static void xsk_direct_unaligned(struct kunit *test)
{
	struct xsk_direct_fixture *f = xsk_direct_make(test);
	u32 i;

	f->pool.unaligned = true;
	f->pool.direct_base = 0;
	xsk_direct_init(&f->pool);
	if (!f->pool.direct_scale)
		kunit_skip(test, "DMA needs syncs");
	for (i = 0; i < COUNT; i++)
		f->bufs[FIRST + i] = (u64)i << XSK_UNALIGNED_BUF_OFFSET_SHIFT |
				     i * 100;
	KUNIT_EXPECT_EQ(test, COUNT,
			xsk_direct_read_span(&f->direct, &f->ring, COUNT));
	for (i = 0; i < COUNT; i++)
		KUNIT_EXPECT_EQ(test, f->desc[i].addr, f->bufs[FIRST + i]);
}

#define RING		16U	/* entries of both rings */
#define PACKETS		3
#define CONTD		BIT_ULL(32)	/* further buffers follow */

/*
 * struct xsk_direct_rings - an Rx ring and a device ring of RING entries
 * @dev: where the device ring begins
 * @rx: index of the Rx ring
 */
struct xsk_direct_rings {
	struct xsk_direct_fixture *f;
	struct xsk_queue queue;
	struct xdp_sock xs;
	u64 len[RING];
	u64 bufs[RING];
	u32 dev;
	u32 rx;
};

/* A driver whose descriptors hold the length, and CONTD */
static __always_inline u64 xsk_direct_read_contd(void *desc, void *bufs,
						 size_t index, u64 max_len,
						 u64 *entry, bool *eop)
{
	u64 word = ((u64 *)desc)[index];

	*entry = ((u64 *)bufs)[index];
	*eop = !(word & CONTD);
	return word & ~CONTD;
}

static noinline u32 xsk_direct_packets_span(struct xsk_direct_packets *state,
					    const struct xsk_rx_ring *ring,
					    size_t count)
{
	return xsk_direct_read_packets(state, ring, count,
				       xsk_direct_read_contd);
}

/* PACKETS packets of @segs buffers are received, less the last @missing */
static void xsk_direct_write_back(struct xsk_direct_rings *r, u32 segs,
				  u32 missing)
{
	u32 i, at;

	memset(r->len, 0, sizeof(r->len));
	for (i = 0; i < PACKETS * segs - missing; i++) {
		at = (r->dev + i) % RING;
		r->len[at] = (100 + i) | ((i + 1) % segs ? CONTD : 0);
		r->bufs[at] = i;
	}
}

/* Only whole packets are in the Rx ring, and have left the device ring */
static void xsk_direct_expect_packets(struct kunit *test,
				      struct xsk_direct_rings *r, u32 segs,
				      u32 missing, u32 free)
{
	struct xdp_rxtx_ring *rx = (struct xdp_rxtx_ring *)r->queue.ring;
	u32 packets = min(missing ? PACKETS - 1 : PACKETS, free / segs);
	u32 at, stop = min(PACKETS * segs - missing, free);
	struct xsk_direct direct = { .xs = &r->xs, .max_len = CHUNK };
	struct xsk_rx_ring ring = {
		.pool = &r->f->pool, .desc = r->len, .bufs = r->bufs,
		.count = RING, .next_to_clean = r->dev,
	};
	u32 i, bytes = 0;

	r->queue.cached_prod = r->rx;
	r->queue.cached_cons = r->rx + free - RING;
	r->queue.ring->consumer = r->queue.cached_cons;
	r->f->pool.reserved_heads = RING;
	xsk_direct_write_back(r, segs, missing);
	KUNIT_EXPECT_EQ(test, packets,
			xsk_direct_receive(&direct, &ring, RING, &at, NULL,
					   xsk_direct_packets_span));
	KUNIT_EXPECT_EQ(test, at, (r->dev + stop) % RING);
	KUNIT_EXPECT_EQ(test, ring.next_to_clean,
			(r->dev + packets * segs) % RING);
	KUNIT_EXPECT_EQ(test, r->queue.cached_prod, r->rx + packets * segs);
	KUNIT_EXPECT_EQ(test, r->f->pool.reserved_heads,
			RING - packets * segs);
	for (i = 0; i < packets * segs; i++) {
		struct xdp_desc *desc = &rx->desc[(r->rx + i) % RING];

		KUNIT_EXPECT_EQ(test, desc->addr, i);
		KUNIT_EXPECT_EQ(test, desc->len, 100 + i);
		KUNIT_EXPECT_EQ(test, desc->options,
				(i + 1) % segs ? XDP_PKT_CONTD : 0);
		bytes += 100 + i;
	}
	KUNIT_EXPECT_EQ(test, direct.bytes, bytes);
}

/* Multi-buffer packets at any place of both rings */
static void xsk_direct_multi_buffer(struct kunit *test)
{
	struct xsk_direct_rings *r;
	u32 segs, missing;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	r->f = xsk_direct_make(test);
	if (dma_dev_need_sync(&r->f->dev))
		kunit_skip(test, "DMA needs syncs");
	xsk_kunit_ring(test, &r->queue, RING);
	r->xs.rx = &r->queue;
	r->xs.pool = &r->f->pool;
	r->xs.sg = true;
	r->f->pool.unaligned = true;
	r->f->pool.refill_kind = XSK_REFILL_UNALIGNED;
	r->f->pool.direct_scale = 1;
	r->f->pool.direct_base = 0;

	for (r->dev = 0; r->dev < RING; r->dev++) {
		for (r->rx = 0; r->rx < RING; r->rx++) {
			for (segs = 1; segs < RING / PACKETS; segs++) {
				for (missing = 0; missing < segs; missing++)
					xsk_direct_expect_packets(test, r, segs,
								  missing,
								  RING);
				/* The Rx ring is full within the last one */
				xsk_direct_expect_packets(test, r, segs, 0,
							  PACKETS * segs - 1);
			}
		}
	}
}

static struct kunit_case xsk_direct_cases[] = {
	KUNIT_CASE(xsk_direct_all),
	KUNIT_CASE_PARAM(xsk_direct_stops, xsk_direct_gen_params),
	KUNIT_CASE(xsk_direct_unaligned),
	KUNIT_CASE(xsk_direct_multi_buffer),
	{}
};

static struct kunit_suite xsk_direct_suite = {
	.name = "xsk_direct",
	.test_cases = xsk_direct_cases,
};

kunit_test_suite(xsk_direct_suite);
