// SPDX-License-Identifier: GPL-2.0
/* When user space is asked to wake up the Tx queue, on a pool made up */
#include <kunit/test.h>
#include <linux/rculist.h>
#include <net/xdp_sock.h>
#include <net/xsk_tx_wakeup.h>

#include "../xsk_inorder.h"
#include "../xsk_queue.h"

#define SIZE	8	/* slots of the Tx ring */

struct xsk_tx_wakeup_bed {
	struct xsk_buff_pool pool;
	struct napi_struct napi;
	struct xdp_sock xs;
	struct xsk_queue tx;
	struct xdp_ring ring;
	struct xsk_inorder_pool order;
};

struct xsk_tx_wakeup_param {
	const char *name;
	unsigned long state;	/* of the NAPI */
	bool completion_ring;
	u32 ll_usec;
};

/* Polls that do not come by themselves, or for sockets that may not look */
static const struct xsk_tx_wakeup_param xsk_tx_wakeup_params[] = {
	{ "busy poll", NAPIF_STATE_IN_BUSY_POLL },
	{ "busy poll is preferred", NAPIF_STATE_PREFER_BUSY_POLL },
	{ "netpoll", NAPIF_STATE_NPSVC },
	{ "a socket that polls", .ll_usec = 1 },
	{ "a completion ring", .completion_ring = true },
};

static void xsk_tx_wakeup_desc(const struct xsk_tx_wakeup_param *param,
			       char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(xsk_tx_wakeup, xsk_tx_wakeup_params, xsk_tx_wakeup_desc);

/* As after bind() and the first poll that found nothing */
static struct xsk_tx_wakeup_bed *xsk_tx_wakeup_make(struct kunit *test)
{
	struct xsk_tx_wakeup_bed *bed;

	bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bed);

	bed->ring.flags = XDP_RING_NEED_WAKEUP;
	bed->tx.ring = &bed->ring;
	bed->tx.nentries = SIZE;
	bed->xs.tx = &bed->tx;
	bed->pool.inorder = &bed->order;
	bed->pool.uses_need_wakeup = true;
	bed->pool.tx_need_wakeup = true;
	INIT_LIST_HEAD(&bed->pool.xsk_tx_list);
	list_add_rcu(&bed->xs.tx_list, &bed->pool.xsk_tx_list);
	return bed;
}

static bool xsk_tx_wakeup_asked(const struct xsk_tx_wakeup_bed *bed)
{
	return bed->ring.flags & XDP_RING_NEED_WAKEUP;
}

/* Not asked for while it is polled, and polled until nothing comes */
static void xsk_tx_wakeup_polled(struct kunit *test)
{
	struct xsk_tx_wakeup_bed *bed = xsk_tx_wakeup_make(test);

	xsk_tx_wakeup_begin(&bed->pool, &bed->napi);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_asked(bed));
	bed->ring.producer = 3;
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_end(&bed->pool));

	xsk_tx_wakeup_begin(&bed->pool, &bed->napi);
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_asked(bed));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_end(&bed->pool));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_asked(bed));
}

static void xsk_tx_wakeup_set(struct xsk_tx_wakeup_bed *bed,
			      const struct xsk_tx_wakeup_param *param)
{
	bed->napi.state = param->state;
	bed->pool.inorder = param->completion_ring ? NULL : &bed->order;
#ifdef CONFIG_NET_RX_BUSY_POLL
	bed->xs.sk.sk_ll_usec = param->ll_usec;
#endif
}

/* Asked for all the time */
static void xsk_tx_wakeup_not_polled(struct kunit *test)
{
	struct xsk_tx_wakeup_bed *bed = xsk_tx_wakeup_make(test);

	xsk_tx_wakeup_set(bed, test->param_value);
	xsk_tx_wakeup_begin(&bed->pool, &bed->napi);
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_asked(bed));
	bed->ring.producer = 3;
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_end(&bed->pool));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_asked(bed));
}

/* What changes during a poll is for the next one: nothing is left behind */
static void xsk_tx_wakeup_changed(struct kunit *test)
{
	const struct xsk_tx_wakeup_param *param = test->param_value;
	struct xsk_tx_wakeup_bed *bed = xsk_tx_wakeup_make(test);

	if (param->completion_ring)
		kunit_skip(test, "a queue completes in one way for good");
	xsk_tx_wakeup_begin(&bed->pool, &bed->napi);
	xsk_tx_wakeup_set(bed, param);
	bed->ring.producer = 3;
	KUNIT_EXPECT_FALSE(test, xsk_tx_wakeup_end(&bed->pool));

	xsk_tx_wakeup_begin(&bed->pool, &bed->napi);
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_asked(bed));
	KUNIT_EXPECT_TRUE(test, xsk_tx_wakeup_end(&bed->pool));
}

static struct kunit_case xsk_tx_wakeup_cases[] = {
	KUNIT_CASE(xsk_tx_wakeup_polled),
	KUNIT_CASE_PARAM(xsk_tx_wakeup_not_polled, xsk_tx_wakeup_gen_params),
	KUNIT_CASE_PARAM(xsk_tx_wakeup_changed, xsk_tx_wakeup_gen_params),
	{}
};

static struct kunit_suite xsk_tx_wakeup_suite = {
	.name = "xsk_tx_wakeup",
	.test_cases = xsk_tx_wakeup_cases,
};

kunit_test_suite(xsk_tx_wakeup_suite);
