// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the delivery of contiguous packets */
#include <kunit/test.h>
#include <net/xsk_direct.h>

#define CHUNK	2048
#define HEADROOM	128
#define COUNT	11	/* no multiple of the batch of the loop */
#define FIRST	1	/* index of the first descriptor */

struct xsk_direct_fixture {
	struct xdp_buff_xsk xskb[COUNT];
	struct xdp_buff *bufs[FIRST + COUNT];
	u64 len[FIRST + COUNT];
	struct xdp_desc desc[COUNT];
	struct xsk_direct direct;
	struct xsk_rx_ring ring;
	struct xsk_buff_pool pool;
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
					       struct xdp_buff **xdp)
{
	u64 len = ((u64 *)desc)[index];

	if (len - 1 >= max_len)
		return 0;

	*xdp = ((struct xdp_buff **)bufs)[index];
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
		f->bufs[FIRST + i] = &f->xskb[i].xdp;
		f->len[FIRST + i] = 60 + i;
	}
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

/* The address of a buffer does not tell that of an unaligned chunk */
static void xsk_direct_unaligned(struct kunit *test)
{
	struct xsk_direct_fixture *f = xsk_direct_make(test);
	struct xsk_buff_pool pool = {
		.heads = f->xskb,
		.chunk_size = CHUNK,
		.unaligned = true,
	};

	xsk_direct_init(&pool);
	KUNIT_EXPECT_EQ(test, pool.direct_scale, 0);
}

static struct kunit_case xsk_direct_cases[] = {
	KUNIT_CASE(xsk_direct_all),
	KUNIT_CASE_PARAM(xsk_direct_stops, xsk_direct_gen_params),
	KUNIT_CASE(xsk_direct_unaligned),
	{}
};

static struct kunit_suite xsk_direct_suite = {
	.name = "xsk_direct",
	.test_cases = xsk_direct_cases,
};

kunit_test_suite(xsk_direct_suite);
