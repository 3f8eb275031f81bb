/* SPDX-License-Identifier: GPL-2.0 */
/* Fixtures that the KUnit tests of AF_XDP share */
#ifndef XSK_KUNIT_H_
#define XSK_KUNIT_H_

#include <kunit/test.h>
#include <linux/rculist.h>
#include <net/xdp_sock.h>
#include <net/xsk_buff_pool.h>

#include "../xsk_inorder.h"
#include "../xsk_queue.h"

/* Ring indices at their start, and before and at their wrap-around */
static const u32 xsk_kunit_indices[] = { 0, 5, U32_MAX - 2, U32_MAX };

static void xsk_kunit_index_desc(const u32 *index, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "from %#x", *index);
}

__maybe_unused
KUNIT_ARRAY_PARAM(xsk_kunit_index, xsk_kunit_indices, xsk_kunit_index_desc);

/*
 * struct xsk_kunit_queue - a queue of no device
 * @xs: its sockets, each with a Tx ring
 * @order: of an in-order queue, see pool.inorder
 */
struct xsk_kunit_queue {
	struct xsk_buff_pool pool;
	struct xdp_sock xs[2];
	struct xsk_queue tx[2];
	struct xsk_queue cq;
	struct xsk_inorder_pool order;
	struct napi_struct napi;
	struct device dev;
};

/* A ring of any kind: entries of a Tx ring are the largest */
static inline void xsk_kunit_ring(struct kunit *test, struct xsk_queue *q,
				  u32 entries)
{
	struct xdp_rxtx_ring *ring;

	ring = kunit_kzalloc(test, struct_size(ring, desc, entries),
			     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ring);
	q->ring = (struct xdp_ring *)ring;
	q->nentries = entries;
	q->ring_mask = entries - 1;
}

static void xsk_kunit_write_space(struct sock *sk)
{
}

/* A device that needs no DMA syncs, unless all devices do */
static inline void xsk_kunit_dev(struct device *dev)
{
#ifdef CONFIG_DMA_NEED_SYNC
	dev->dma_skip_sync = true;
#endif
}

/*
 * A queue with @socks sockets, whose Tx rings have @entries entries, on a device
 * of xsk_kunit_dev().
 */
static inline struct xsk_kunit_queue *xsk_kunit_queue(struct kunit *test,
						      u32 socks, u32 entries)
{
	struct xsk_kunit_queue *queue;
	u32 i;

	queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	INIT_LIST_HEAD(&queue->pool.xsk_tx_list);
	queue->pool.dev = &queue->dev;
	xsk_kunit_dev(&queue->dev);
	for (i = 0; i < socks; i++) {
		xsk_kunit_ring(test, &queue->tx[i], entries);
		queue->xs[i].tx = &queue->tx[i];
		queue->xs[i].pool = &queue->pool;
		queue->xs[i].inorder.id = i + 1;
		queue->xs[i].sk.sk_write_space = xsk_kunit_write_space;
		list_add_rcu(&queue->xs[i].tx_list, &queue->pool.xsk_tx_list);
	}
	xsk_tx_span_update(&queue->pool);
	return queue;
}

#endif /* XSK_KUNIT_H_ */
