// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the refill from the fill ring */
#include <net/xdp_sock_drv.h>
#include <net/xsk_refill.h>

#include "xsk_kunit.h"

#define CHUNKS		16U
#define CHUNK_SHIFT	12
/* Index of the first free descriptor: the ring wraps around after 4 of them */
#define FIRST		(CHUNKS - 4)

struct xsk_refill_param {
	const char *name;
	u32 posted;	/* addresses in the fill ring */
	u32 invalid;	/* bit mask of those that are not in the umem */
};

static const struct xsk_refill_param xsk_refill_params[] = {
	{ "empty", 0, 0 },
	{ "all valid", 10, 0 },
	{ "full", CHUNKS, 0 },
	{ "invalid first", 10, BIT(0) },
	{ "invalid last", 10, BIT(9) },
	{ "invalid in the middle", 10, BIT(2) | BIT(3) | BIT(7) },
	{ "invalid at the wrap-around", 10, BIT(3) | BIT(4) },
	{ "all invalid", CHUNKS, GENMASK(CHUNKS - 1, 0) },
};

KUNIT_ARRAY_PARAM_DESC(xsk_refill, xsk_refill_params, name);

/* A driver whose descriptors hold the DMA address only */
static __always_inline void xsk_refill_write(void *desc, void *bufs,
					     size_t index, struct xdp_buff *xdp,
					     dma_addr_t dma)
{
	((u64 *)desc)[index] = dma;
	((struct xdp_buff **)bufs)[index] = xdp;
}

static noinline u32 xsk_refill_post_span(const struct xsk_refill_span *span,
					 const struct xsk_rx_ring *ring)
{
	return xsk_refill_post(span, ring, xsk_refill_write);
}

static void xsk_refill_pool(struct kunit *test, struct xsk_buff_pool *pool)
{
	u32 i;

	if (dma_dev_need_sync(pool->dev))
		kunit_skip(test, "all devices need DMA syncs");
	pool->fq = kunit_kzalloc(test, sizeof(*pool->fq), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool->fq);
	xsk_kunit_ring(test, pool->fq, CHUNKS);
	pool->heads = kunit_kcalloc(test, CHUNKS, sizeof(*pool->heads),
				    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool->heads);
	pool->chunk_dma = kunit_kcalloc(test, CHUNKS, sizeof(*pool->chunk_dma),
					GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool->chunk_dma);
	for (i = 0; i < CHUNKS; i++)
		pool->chunk_dma[i] = i + 1;
	pool->addrs_cnt = CHUNKS << CHUNK_SHIFT;
	pool->chunk_shift = CHUNK_SHIFT;
	INIT_LIST_HEAD(&pool->recycle_from);
}

/* User space posts the chunks in order, some of them with a wrong address */
static void xsk_refill_fill(struct xsk_buff_pool *pool,
			    const struct xsk_refill_param *p)
{
	struct xdp_umem_ring *ring = (struct xdp_umem_ring *)pool->fq->ring;
	u32 i;

	for (i = 0; i < p->posted; i++)
		ring->desc[i] = p->invalid & BIT(i) ? pool->addrs_cnt + i :
						      i << CHUNK_SHIFT;
	ring->ptrs.producer = p->posted;
}

/* All valid addresses are posted in order, and invalid ones are counted */
static void xsk_refill_skips_invalid(struct kunit *test)
{
	const struct xsk_refill_param *p = test->param_value;
	u32 invalid = hweight32(p->invalid), i, at = FIRST, left;
	struct xsk_kunit_queue *queue = xsk_kunit_queue(test, 0, 1);
	struct xsk_buff_pool *pool = &queue->pool;
	struct xdp_buff *bufs[CHUNKS] = {};
	u64 desc[CHUNKS] = {};
	struct xsk_rx_ring ring = {
		.pool = pool,
		.desc = desc,
		.bufs = bufs,
		.count = CHUNKS,
		.next_to_use = FIRST,
	};

	xsk_refill_pool(test, pool);
	xsk_refill_fill(pool, p);

	left = xsk_refill(&ring, CHUNKS, xsk_refill_post_span);
	KUNIT_EXPECT_EQ(test, CHUNKS - p->posted + invalid, left);
	for (i = 0; i < p->posted; i++) {
		if (p->invalid & BIT(i))
			continue;
		KUNIT_EXPECT_EQ(test, i + 1, desc[at]);
		KUNIT_EXPECT_PTR_EQ(test, &pool->heads[i].xdp, bufs[at]);
		at = (at + 1) % CHUNKS;
	}
	KUNIT_EXPECT_EQ(test, at, ring.next_to_use);
	KUNIT_EXPECT_EQ(test, p->posted, pool->fq->cached_cons);
	KUNIT_EXPECT_EQ(test, invalid, pool->fq->invalid_descs);
	KUNIT_EXPECT_EQ(test, !p->posted, pool->fq->queue_empty_descs);
}

static struct kunit_case xsk_refill_cases[] = {
	KUNIT_CASE_PARAM(xsk_refill_skips_invalid, xsk_refill_gen_params),
	{}
};

static struct kunit_suite xsk_refill_suite = {
	.name = "xsk_refill",
	.test_cases = xsk_refill_cases,
};

kunit_test_suite(xsk_refill_suite);
