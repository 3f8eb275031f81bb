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
					     size_t index, u64 entry,
					     dma_addr_t dma)
{
	((u64 *)desc)[index] = dma;
	((u64 *)bufs)[index] = entry;
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
	u64 desc[CHUNKS] = {}, bufs[CHUNKS] = {};
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
		KUNIT_EXPECT_PTR_EQ(test, &pool->heads[i].xdp,
				    xsk_rx_take(pool, bufs[at]));
		at = (at + 1) % CHUNKS;
	}
	KUNIT_EXPECT_EQ(test, at, ring.next_to_use);
	KUNIT_EXPECT_EQ(test, p->posted, pool->fq->cached_cons);
	KUNIT_EXPECT_EQ(test, invalid, pool->fq->invalid_descs);
	KUNIT_EXPECT_EQ(test, !p->posted, pool->fq->queue_empty_descs);
}

/* Pages 0 and 1 are contiguous for the device, 2 is not, and 3 follows 2 */
#define PAGES		4
#define UNALIGNED_SIZE	2368	/* of a chunk */
#define UNALIGNED_HEADS	8
static const dma_addr_t xsk_unaligned_offsets[PAGES] = {
	0x10000, 0x10000, 0x90000, 0x90000,
};

struct xsk_unaligned_param {
	const char *name;
	u64 addr;
	bool valid;
};

static const struct xsk_unaligned_param xsk_unaligned_params[] = {
	{ "first", 0, true },
	{ "odd", 1, true },
	{ "to the end of a page", PAGE_SIZE - UNALIGNED_SIZE, true },
	{ "on two pages", PAGE_SIZE - 1, true },
	{ "to the end of contiguous pages", 2 * PAGE_SIZE - UNALIGNED_SIZE,
	  true },
	{ "a byte on another page", 2 * PAGE_SIZE - UNALIGNED_SIZE + 1, false },
	{ "all but a byte on another page", 2 * PAGE_SIZE - 1, false },
	{ "other pages", 2 * PAGE_SIZE, true },
	{ "last", PAGES * PAGE_SIZE - UNALIGNED_SIZE, true },
	{ "a byte behind the umem", PAGES * PAGE_SIZE - UNALIGNED_SIZE + 1,
	  false },
	{ "all but a byte behind the umem", PAGES * PAGE_SIZE - 1, false },
	{ "behind the umem", PAGES * PAGE_SIZE, false },
	{ "the maximum", XSK_UNALIGNED_BUF_ADDR_MASK, false },
};

KUNIT_ARRAY_PARAM_DESC(xsk_unaligned, xsk_unaligned_params, name);

static struct xsk_buff_pool *xsk_unaligned_pool(struct kunit *test)
{
	struct xsk_kunit_queue *queue = xsk_kunit_queue(test, 0, 1);
	struct xsk_buff_pool *pool;
	u32 i;

	pool = kunit_kzalloc(test, struct_size(pool, free_heads,
					       UNALIGNED_HEADS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	pool->dev = &queue->dev;
	xsk_refill_pool(test, pool);
	for (i = 0; i < UNALIGNED_HEADS; i++) {
		pool->heads[i].pool = pool;
		INIT_LIST_HEAD(&pool->heads[i].list_node);
		pool->free_heads[i] = &pool->heads[i];
	}
	pool->free_heads_cnt = UNALIGNED_HEADS;
	pool->unaligned = true;
	pool->refill_kind = XSK_REFILL_UNALIGNED;
	pool->chunk_size = UNALIGNED_SIZE;
	pool->headroom = 128;
	pool->addrs_cnt = PAGES * PAGE_SIZE;
	pool->dma_offsets = (dma_addr_t *)xsk_unaligned_offsets;
	INIT_LIST_HEAD(&pool->free_list);
	return pool;
}

/* The address alone decides, not the bits above it, in which user space may
 * have left an offset
 */
static void xsk_refill_unaligned(struct kunit *test)
{
	const u64 head = 128 + XDP_PACKET_HEADROOM;
	const struct xsk_unaligned_param *p = test->param_value;
	struct xsk_buff_pool *pool = xsk_unaligned_pool(test);
	struct xdp_umem_ring *fq = (struct xdp_umem_ring *)pool->fq->ring;
	u64 desc[CHUNKS] = {}, bufs[CHUNKS] = {};
	struct xsk_rx_ring ring = {
		.pool = pool, .desc = desc, .bufs = bufs, .count = CHUNKS,
	};
	struct xdp_buff_xsk *xskb;

	fq->desc[0] = p->addr | 7ULL << XSK_UNALIGNED_BUF_OFFSET_SHIFT;
	fq->ptrs.producer = 1;
	KUNIT_EXPECT_EQ(test, !p->valid,
			xsk_refill(&ring, 1, xsk_refill_post_span));
	KUNIT_EXPECT_EQ(test, !p->valid, pool->fq->invalid_descs);
	KUNIT_EXPECT_EQ(test, p->valid, pool->reserved_heads);
	if (!p->valid)
		return;

	KUNIT_EXPECT_EQ(test, desc[0], p->addr + head +
			xsk_unaligned_offsets[p->addr / PAGE_SIZE]);
	KUNIT_EXPECT_EQ(test, bufs[0],
			p->addr | head << XSK_UNALIGNED_BUF_OFFSET_SHIFT);
	xskb = container_of(xsk_rx_take(pool, bufs[0]), struct xdp_buff_xsk,
			    xdp);
	KUNIT_EXPECT_EQ(test, xskb->dma, desc[0]);
	KUNIT_EXPECT_EQ(test, 0, pool->reserved_heads);
	KUNIT_EXPECT_EQ(test, UNALIGNED_HEADS - 1, pool->free_heads_cnt);
	KUNIT_EXPECT_EQ(test, bufs[0], xsk_rx_put(pool, &xskb->xdp));
	KUNIT_EXPECT_EQ(test, 1, pool->reserved_heads);
	KUNIT_EXPECT_EQ(test, UNALIGNED_HEADS, pool->free_heads_cnt);
}

/* Chunks are posted as long as each of them can have a buffer: user space may
 * post one many times
 */
static void xsk_refill_reserves(struct kunit *test)
{
	struct xsk_buff_pool *pool = xsk_unaligned_pool(test);
	u64 desc[CHUNKS] = {}, bufs[CHUNKS] = {};
	struct xsk_rx_ring ring = {
		.pool = pool, .desc = desc, .bufs = bufs, .count = CHUNKS,
	};
	struct xdp_buff *xdp[UNALIGNED_HEADS];
	u32 i;

	pool->fq->ring->producer = CHUNKS;
	KUNIT_EXPECT_EQ(test, CHUNKS - UNALIGNED_HEADS,
			xsk_refill(&ring, CHUNKS, xsk_refill_post_span));
	KUNIT_EXPECT_NULL(test, xp_alloc(pool));
	for (i = 0; i < UNALIGNED_HEADS; i++)
		xdp[i] = xsk_rx_take(pool, bufs[i]);
	/* All are in use */
	KUNIT_EXPECT_EQ(test, CHUNKS,
			xsk_refill(&ring, CHUNKS, xsk_refill_post_span));
	/* One with a buffer is posted again */
	xsk_buff_free(xdp[0]);
	KUNIT_EXPECT_EQ(test, CHUNKS - 1,
			xsk_refill(&ring, CHUNKS, xsk_refill_post_span));
	KUNIT_EXPECT_EQ(test, 1, pool->reserved_heads);
	KUNIT_EXPECT_PTR_EQ(test, xdp[0],
			    xsk_rx_take(pool, bufs[UNALIGNED_HEADS]));
}

static struct kunit_case xsk_refill_cases[] = {
	KUNIT_CASE_PARAM(xsk_refill_skips_invalid, xsk_refill_gen_params),
	KUNIT_CASE_PARAM(xsk_refill_unaligned, xsk_unaligned_gen_params),
	KUNIT_CASE(xsk_refill_reserves),
	{}
};

static struct kunit_suite xsk_refill_suite = {
	.name = "xsk_refill",
	.test_cases = xsk_refill_cases,
};

kunit_test_suite(xsk_refill_suite);
