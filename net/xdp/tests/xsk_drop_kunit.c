// SPDX-License-Identifier: GPL-2.0
/* KUnit tests of the reasons for refused Tx descriptors */
#include <linux/overflow.h>

#include "../xsk_drop.h"
#include "xsk_kunit.h"

#define CHUNK		2048
#define PAGES		4
#define META		16
#define END		(PAGES * PAGE_SIZE)
#define OFFSET(addr)	((u64)(addr) << XSK_UNALIGNED_BUF_OFFSET_SHIFT)

struct xsk_drop_param {
	const char *name;
	struct xdp_desc desc;
	u32 aligned;
	u32 unaligned;
};

/* Pages 1 and 2 are not contiguous for the device */
static const struct xsk_drop_param xsk_drop_params[] = {
	{ "valid", { CHUNK, 60, 0 }, XDP_DROP_REASONS, XDP_DROP_REASONS },
	{ "valid with options", { CHUNK + META, 60, XDP_PKT_CONTD },
	  XDP_DROP_REASONS, XDP_DROP_REASONS },
	{ "empty", { CHUNK, 0, 0 }, XDP_DROP_TX_EMPTY, XDP_DROP_TX_EMPTY },
	{ "options", { CHUNK, 60, 1 << 5 },
	  XDP_DROP_TX_OPTIONS, XDP_DROP_TX_OPTIONS },
	{ "outside", { END + CHUNK, 60, 0 },
	  XDP_DROP_TX_ADDR, XDP_DROP_TX_ADDR },
	{ "at the end", { END, 60, 0 }, XDP_DROP_TX_ADDR, XDP_DROP_TX_ADDR },
	{ "maximum address", { U64_MAX - 63, 60, 0 },
	  XDP_DROP_TX_ADDR, XDP_DROP_TX_ADDR },
	{ "too long", { CHUNK, CHUNK + 1, 0 },
	  XDP_DROP_TX_CHUNK, XDP_DROP_TX_CHUNK },
	{ "maximum length", { 0, U32_MAX, 0 },
	  XDP_DROP_TX_CHUNK, XDP_DROP_TX_CHUNK },
	{ "across chunks", { CHUNK - 30, 60, 0 },
	  XDP_DROP_TX_CHUNK, XDP_DROP_REASONS },
	{ "across pages", { 2 * PAGE_SIZE - 30, 60, 0 },
	  XDP_DROP_TX_CHUNK, XDP_DROP_TX_PAGE },
	{ "offset", { CHUNK | OFFSET(100), 60, 0 },
	  XDP_DROP_TX_ADDR, XDP_DROP_REASONS },
	{ "offset to the end", { (END - 60) | OFFSET(1), 60, 0 },
	  XDP_DROP_TX_ADDR, XDP_DROP_TX_ADDR },
};

KUNIT_ARRAY_PARAM_DESC(xsk_drop, xsk_drop_params, name);

static void xsk_drop_pool(struct xsk_buff_pool *pool, dma_addr_t *offsets,
			  bool unaligned)
{
	offsets[2] = PAGE_SIZE;
	offsets[3] = PAGE_SIZE;
	*pool = (struct xsk_buff_pool){
		.unaligned = unaligned,
		.chunk_size = CHUNK,
		.addrs_cnt = END,
		.dma_offsets = offsets,
	};
}

/* The reason of each check */
static void xsk_drop_reasons(struct kunit *test)
{
	const struct xsk_drop_param *p = test->param_value;
	dma_addr_t offsets[PAGES] = {};
	struct xdp_desc desc = p->desc;
	struct xsk_buff_pool *pool;

	pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	xsk_drop_pool(pool, offsets, false);
	KUNIT_EXPECT_EQ(test, xsk_drop_tx_reason(pool, &desc), p->aligned);
	xsk_drop_pool(pool, offsets, true);
	KUNIT_EXPECT_EQ(test, xsk_drop_tx_reason(pool, &desc), p->unaligned);
}

/* Metadata is before the packet: in the umem and in its chunk */
static void xsk_drop_metadata(struct kunit *test)
{
	struct xdp_desc first = { 0, 60, XDP_TX_METADATA };
	struct xdp_desc start = { CHUNK, 60, XDP_TX_METADATA };
	struct xdp_desc none = { 0, CHUNK, 0 };
	dma_addr_t offsets[PAGES] = {};
	struct xsk_buff_pool *pool;

	pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	xsk_drop_pool(pool, offsets, false);
	pool->tx_metadata_len = META;
	KUNIT_EXPECT_EQ(test, xsk_drop_tx_reason(pool, &first),
			XDP_DROP_TX_ADDR);
	KUNIT_EXPECT_EQ(test, xsk_drop_tx_reason(pool, &start),
			XDP_DROP_TX_CHUNK);
	KUNIT_EXPECT_EQ(test, xsk_drop_tx_reason(pool, &none),
			XDP_DROP_REASONS);
}

static void xsk_drop_put(struct xsk_kunit_queue *queue, u32 index, u32 len,
			 u32 options)
{
	struct xdp_rxtx_ring *ring;

	ring = (struct xdp_rxtx_ring *)queue->tx[0].ring;
	ring->desc[index] = (struct xdp_desc){ 0, len, options };
	ring->ptrs.producer = index + 1;
}

static void xsk_drop_expect(struct kunit *test, struct xsk_kunit_queue *queue,
			    u64 empty, u64 packet, u64 frags)
{
	const struct xdp_sock *xs = &queue->xs[0];

	KUNIT_EXPECT_EQ(test, empty + packet + frags,
			xsk_drops_tx_invalid(xs));
	KUNIT_EXPECT_EQ(test, empty,
			atomic64_read(&xs->drops[XDP_DROP_TX_EMPTY]));
	KUNIT_EXPECT_EQ(test, packet,
			atomic64_read(&xs->drops[XDP_DROP_TX_PACKET]));
	KUNIT_EXPECT_EQ(test, frags,
			atomic64_read(&xs->drops[XDP_DROP_TX_FRAGS]));
}

/* All descriptors of a refused packet are counted, also in later batches */
static void xsk_drop_packets(struct kunit *test)
{
	struct net_device *dev;
	struct xsk_kunit_queue *queue;
	struct xdp_desc descs[16];
	u32 i;

	queue = xsk_kunit_queue(test, 1, 16);
	dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->xdp_zc_max_segs = 4;
	queue->pool.netdev = dev;
	queue->pool.chunk_size = CHUNK;
	queue->pool.addrs_cnt = END;
	queue->pool.tx_descs = descs;
	queue->pool.tx_descs_nentries = 16;
	queue->pool.inorder = &queue->order;

	/* The second of four is invalid; the last two come later */
	xsk_drop_put(queue, 0, 60, XDP_PKT_CONTD);
	xsk_drop_put(queue, 1, 0, XDP_PKT_CONTD);
	KUNIT_EXPECT_EQ(test, xsk_inorder_peek_batch(&queue->pool, 16), 0);
	xsk_drop_expect(test, queue, 1, 1, 0);
	xsk_drop_put(queue, 2, 60, XDP_PKT_CONTD);
	xsk_drop_put(queue, 3, 60, 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_peek_batch(&queue->pool, 16), 0);
	xsk_drop_expect(test, queue, 1, 3, 0);

	/* One more than the maximum, then a valid packet */
	for (i = 4; i < 4 + 4; i++)
		xsk_drop_put(queue, i, 60, XDP_PKT_CONTD);
	KUNIT_EXPECT_EQ(test, xsk_inorder_peek_batch(&queue->pool, 16), 0);
	xsk_drop_put(queue, 8, 60, 0);
	xsk_drop_put(queue, 9, 60, 0);
	KUNIT_EXPECT_EQ(test, xsk_inorder_peek_batch(&queue->pool, 16), 1);
	xsk_drop_expect(test, queue, 1, 3, 5);
}

static struct kunit_case xsk_drop_cases[] = {
	KUNIT_CASE_PARAM(xsk_drop_reasons, xsk_drop_gen_params),
	KUNIT_CASE(xsk_drop_metadata),
	KUNIT_CASE(xsk_drop_packets),
	{}
};

static struct kunit_suite xsk_drop_suite = {
	.name = "xsk_drop",
	.test_cases = xsk_drop_cases,
};

kunit_test_suite(xsk_drop_suite);

MODULE_DESCRIPTION("KUnit tests of the reasons for refused Tx descriptors");
MODULE_LICENSE("GPL");
