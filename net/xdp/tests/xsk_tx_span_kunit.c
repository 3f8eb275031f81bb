// SPDX-License-Identifier: GPL-2.0
/* Which descriptors of a Tx ring are sent as they are, on a pool made up */
#include <kunit/test.h>
#include <net/xsk_tx_span.h>

#include "../xsk_queue.h"

#define CHUNK	2048
#define PAGES	4
#define ROW	11	/* no multiple of what the loop takes at once */
#define SLOTS	16	/* of a Tx ring, and of the device's */

struct xsk_tx_span_written {
	dma_addr_t dma;
	u32 len;
};

struct xsk_tx_span_bed {
	struct xsk_buff_pool pool;
	dma_addr_t dma_pages[PAGES];
	struct xdp_desc desc[ROW];
	u64 done[ROW];
	struct xsk_tx_span_written written[1 + ROW];
	struct xsk_tx_span span;
	struct xsk_tx_dev_ring ring;
};

struct xsk_tx_span_param {
	const char *name;
	struct xdp_desc desc;
	bool plain;
};

static const struct xsk_tx_span_param xsk_tx_span_params[] = {
	{ "a byte", { 0, 1, 0 }, true },
	{ "a chunk", { CHUNK, CHUNK, 0 }, true },
	{ "the end of a chunk", { CHUNK + 2000, 48, 0 }, true },
	{ "the last byte", { PAGES * PAGE_SIZE - 1, 1, 0 }, true },
	{ "nothing", { 0, 0, 0 }, false },
	{ "nothing, at the end of a chunk", { CHUNK - 1, 0, 0 }, false },
	{ "a byte more than a chunk", { CHUNK, CHUNK + 1, 0 }, false },
	{ "across chunks", { CHUNK + 2000, 49, 0 }, false },
	{ "the longest", { 64, U32_MAX, 0 }, false },
	{ "beyond the umem", { PAGES * PAGE_SIZE, 1, 0 }, false },
	{ "the last address there is", { U64_MAX, 1, 0 }, false },
	{ "an option", { 0, 64, XDP_PKT_CONTD }, false },
	{ "all options", { 0, 64, U32_MAX }, false },
	{ "nothing but options", { 0, 0, XDP_TX_METADATA }, false },
};

static void xsk_tx_span_desc(const struct xsk_tx_span_param *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(xsk_tx_span, xsk_tx_span_params, xsk_tx_span_desc);

static void xsk_tx_span_record(void *desc, size_t index, dma_addr_t dma,
			       u32 len)
{
	struct xsk_tx_span_written *written = desc;

	written[index] = (struct xsk_tx_span_written){ dma, len };
}

/* Pages lie the other way round for the device, the ring begins at slot 1 */
static struct xsk_tx_span_bed *xsk_tx_span_make(struct kunit *test)
{
	struct xsk_tx_span_bed *bed;
	u32 i;

	bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bed);

	for (i = 0; i < PAGES; i++)
		bed->dma_pages[i] = (PAGES - i) * PAGE_SIZE |
				    XSK_NEXT_PG_CONTIG_MASK;
	for (i = 0; i < ROW; i++)
		bed->desc[i] = (struct xdp_desc){ i * 100 % CHUNK, 60 + i, 0 };
	bed->pool.dma_pages = bed->dma_pages;
	bed->pool.addrs_cnt = PAGES * PAGE_SIZE;
	bed->pool.chunk_mask = ~(u64)(CHUNK - 1);
	bed->span.desc = bed->desc;
	bed->span.done = bed->done;
	bed->span.count = ROW;
	bed->ring.desc = bed->written;
	bed->ring.next = 1;
	return bed;
}

static u32 xsk_tx_span_run(struct xsk_tx_span_bed *bed)
{
	return xsk_tx_span_write(&bed->span, &bed->pool, &bed->ring,
				 xsk_tx_span_record);
}

/* What is written, and noted, is what was in the first @count descriptors */
static void xsk_tx_span_expect(struct kunit *test,
			       const struct xsk_tx_span_bed *bed, u32 count)
{
	u32 i, bytes = 0;
	u64 addr;

	for (i = 0; i < ROW; i++) {
		if (i >= count) {
			KUNIT_EXPECT_EQ(test, bed->written[1 + i].len, 0);
			KUNIT_EXPECT_EQ(test, bed->done[i], 0);
			continue;
		}
		addr = bed->desc[i].addr;
		KUNIT_EXPECT_EQ(test, bed->written[1 + i].dma,
				(PAGES - addr / PAGE_SIZE) * PAGE_SIZE +
				addr % PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, bed->written[1 + i].len,
				bed->desc[i].len);
		if (bed->span.done)
			KUNIT_EXPECT_EQ(test, bed->done[i], addr);
		bytes += bed->desc[i].len;
	}
	KUNIT_EXPECT_EQ(test, bed->ring.bytes, bytes);
}

/* At any place in a row, one that is not plain ends it */
static void xsk_tx_span_plain(struct kunit *test)
{
	const struct xsk_tx_span_param *param = test->param_value;
	struct xsk_tx_span_bed *bed;
	u32 place, count;

	for (place = 0; place < ROW; place++) {
		bed = xsk_tx_span_make(test);
		bed->desc[place] = param->desc;
		count = param->plain ? ROW : place;
		KUNIT_EXPECT_EQ(test, xsk_tx_span_run(bed), count);
		xsk_tx_span_expect(test, bed, count);
	}
}

/* Addresses are noted only where there is a place for them */
static void xsk_tx_span_not_noted(struct kunit *test)
{
	struct xsk_tx_span_bed *bed;
	u32 count;

	for (count = 0; count <= ROW; count++) {
		bed = xsk_tx_span_make(test);
		bed->span.done = NULL;
		bed->span.count = count;
		KUNIT_EXPECT_EQ(test, xsk_tx_span_run(bed), count);
		xsk_tx_span_expect(test, bed, count);
		KUNIT_EXPECT_NULL(test, memchr_inv(bed->done, 0,
						   sizeof(bed->done)));
	}
}

/* A queue with a socket that has put @count descriptors into its Tx ring */
struct xsk_tx_span_queue {
	struct xsk_buff_pool pool;
	struct xdp_sock xs;
	struct xsk_queue tx;
	struct xsk_queue cq;
	struct device dev;
};

static void xsk_tx_span_write_space(struct sock *sk)
{
}

static struct xsk_tx_span_queue *xsk_tx_span_queue(struct kunit *test,
						   u32 count)
{
	struct xsk_tx_span_queue *queue;
	struct xdp_umem_ring *cq;
	struct xdp_rxtx_ring *tx;

	queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	tx = kunit_kzalloc(test, struct_size(tx, desc, SLOTS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tx);
	cq = kunit_kzalloc(test, struct_size(cq, desc, SLOTS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cq);

#ifdef CONFIG_DMA_NEED_SYNC
	queue->dev.dma_skip_sync = true;
#endif
	tx->ptrs.producer = count;
	queue->tx.ring = (struct xdp_ring *)tx;
	queue->cq.ring = (struct xdp_ring *)cq;
	queue->tx.nentries = SLOTS;
	queue->cq.nentries = SLOTS;
	queue->tx.ring_mask = SLOTS - 1;
	queue->cq.ring_mask = SLOTS - 1;
	queue->xs.tx = &queue->tx;
	queue->xs.pool = &queue->pool;
	queue->xs.sk.sk_write_space = xsk_tx_span_write_space;
	queue->pool.cq = &queue->cq;
	queue->pool.dev = &queue->dev;
	INIT_LIST_HEAD(&queue->pool.xsk_tx_list);
	list_add(&queue->xs.tx_list, &queue->pool.xsk_tx_list);
	return queue;
}

static u32 xsk_tx_span_take_all(const struct xsk_tx_span *span,
				const struct xsk_buff_pool *pool,
				struct xsk_tx_dev_ring *ring)
{
	return span->count;
}

/* As a driver counts that looks for one descriptor at a time: once if it had
 * room for another one, wherever its own ring ends
 */
static void xsk_tx_span_counts_empty(struct kunit *test)
{
	struct xsk_tx_span_queue *queue;
	struct xsk_tx_dev_ring ring;
	u32 count, next, empty;

	for (count = 0; count < SLOTS; count++) {
		for (next = 0; next < SLOTS; next++) {
			queue = xsk_tx_span_queue(test, count);
			if (dma_dev_need_sync(&queue->dev))
				kunit_skip(test, "DMA needs syncs");
			ring = (struct xsk_tx_dev_ring){
				.count = SLOTS, .next = next, .room = SLOTS / 2,
			};
			rcu_read_lock();
			xsk_tx_spans(&queue->pool, &ring, xsk_tx_span_take_all,
				     true);
			rcu_read_unlock();
			empty = count < SLOTS / 2;
			KUNIT_EXPECT_EQ(test, queue->tx.queue_empty_descs,
					empty);
			KUNIT_EXPECT_EQ(test, ring.room,
					SLOTS / 2 - min(count, SLOTS / 2));
		}
	}
}

static struct kunit_case xsk_tx_span_cases[] = {
	KUNIT_CASE_PARAM(xsk_tx_span_plain, xsk_tx_span_gen_params),
	KUNIT_CASE(xsk_tx_span_not_noted),
	KUNIT_CASE(xsk_tx_span_counts_empty),
	{}
};

static struct kunit_suite xsk_tx_span_suite = {
	.name = "xsk_tx_span",
	.test_cases = xsk_tx_span_cases,
};

kunit_test_suite(xsk_tx_span_suite);
