// SPDX-License-Identifier: GPL-2.0
/* The decisions of XDP_ATTACH that need no device */
#include <kunit/test.h>
#include <linux/bpf.h>

#include "../xsk_attach.h"
#include "../xsk_claim.h"

static void xsk_attach_action(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(0), XDP_PASS);
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(XDP_DROP), XDP_DROP);
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(XDP_PASS), XDP_PASS);
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(XDP_TX), XDP_TX);
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(XDP_REDIRECT), XDP_ABORTED);
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(1ULL << 32), XDP_ABORTED);
	KUNIT_EXPECT_EQ(test, xsk_redirect_action(U64_MAX), XDP_ABORTED);
}

struct xsk_attach_mode_case {
	const char *desc;
	u32 flags;
	bool zerocopy;
	u32 obstacle;
	int users;
	enum bpf_xdp_mode held;
	int err;
	enum bpf_xdp_mode mode;
	bool fallback;
	u32 reason;
};

#define SKB	XDP_ATTACH_F_SKB_MODE
#define DRV	XDP_ATTACH_F_DRV_MODE
#define NO_NATIVE	XDP_ATTACH_R_NO_NATIVE
#define PEER	XDP_ATTACH_R_PEER

static const struct xsk_attach_mode_case xsk_attach_mode_cases[] = {
	{ "native by default", 0, false, 0, 0, 0,
	  0, XDP_MODE_DRV, true, XDP_ATTACH_R_NONE },
	{ "generic where the driver has no XDP", 0, false, NO_NATIVE, 0, 0,
	  0, XDP_MODE_SKB, true, XDP_ATTACH_R_NO_NATIVE },
	{ "generic on request", SKB, false, 0, 0, 0,
	  0, XDP_MODE_SKB, false, XDP_ATTACH_R_NONE },
	{ "native on request", DRV, false, 0, 0, 0,
	  0, XDP_MODE_DRV, false, XDP_ATTACH_R_NONE },
	{ "native on request without XDP", DRV, false, NO_NATIVE, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_NO_NATIVE },
	{ "IF_NOEXIST chooses no mode", XDP_ATTACH_F_IF_NOEXIST, false, 0, 0, 0,
	  0, XDP_MODE_DRV, true, XDP_ATTACH_R_NONE },
	{ "zero-copy needs native", 0, true, 0, 0, 0,
	  0, XDP_MODE_DRV, false, XDP_ATTACH_R_NONE },
	{ "zero-copy without XDP", 0, true, NO_NATIVE, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_NO_NATIVE },
	{ "zero-copy in generic", SKB, true, 0, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_ZC_GENERIC },
	{ "generic where the peer is of others", 0, false, PEER, 0, 0,
	  0, XDP_MODE_SKB, true, PEER },
	{ "native where the peer is of others", DRV, false, PEER, 0, 0,
	  -EPERM, 0, false, PEER },
	{ "joins a native device with a peer", 0, false, PEER, 1, XDP_MODE_DRV,
	  0, XDP_MODE_DRV, true, XDP_ATTACH_R_MODE_CONFLICT },
	{ "joins a generic device", 0, false, 0, 1, XDP_MODE_SKB,
	  0, XDP_MODE_SKB, true, XDP_ATTACH_R_MODE_CONFLICT },
	{ "joins a native device", 0, false, 0, 3, XDP_MODE_DRV,
	  0, XDP_MODE_DRV, true, XDP_ATTACH_R_NONE },
	{ "native on a generic device", DRV, false, 0, 1, XDP_MODE_SKB,
	  -EEXIST, 0, false, XDP_ATTACH_R_MODE_CONFLICT },
	{ "generic on a native device", SKB, false, 0, 1, XDP_MODE_DRV,
	  -EEXIST, 0, false, XDP_ATTACH_R_MODE_CONFLICT },
	{ "zero-copy on a generic device", 0, true, 0, 1, XDP_MODE_SKB,
	  -EEXIST, 0, false, XDP_ATTACH_R_MODE_CONFLICT },
};

KUNIT_ARRAY_PARAM_DESC(xsk_attach_mode, xsk_attach_mode_cases, desc);

static void xsk_attach_mode(struct kunit *test)
{
	const struct xsk_attach_mode_case *c = test->param_value;
	struct xdp_builtin held = { .users = c->users, .mode = c->held };
	struct xsk_attach_choice choice;
	int err;

	err = xsk_attach_choose(c->flags, c->zerocopy, c->obstacle, &held,
				&choice);
	KUNIT_EXPECT_EQ(test, err, c->err);
	KUNIT_EXPECT_EQ(test, choice.reason, c->reason);
	if (err)
		return;
	KUNIT_EXPECT_EQ(test, choice.mode, c->mode);
	KUNIT_EXPECT_EQ(test, choice.fallback, c->fallback);
}

/* Two contexts, of which one at a time may receive to the sockets of a pool */
static void xsk_attach_claims(struct kunit *test)
{
	struct bpf_net_context first, second;
	struct xsk_buff_pool *pool;

	pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	pool->rx_claim = true;

	local_bh_disable();
	bpf_net_ctx_set(&first);
	KUNIT_EXPECT_TRUE(test, xsk_claim(pool));
	xsk_claim_to_flush(pool, 1);
	KUNIT_EXPECT_TRUE(test, xsk_claim(pool));
	xsk_claim_to_flush(pool, 1);
	bpf_net_ctx_clear(&first);

	bpf_net_ctx_set(&second);
	KUNIT_EXPECT_FALSE(test, xsk_claim(pool));
	bpf_net_ctx_clear(&second);

	/* The first one flushes one socket after the other */
	bpf_net_ctx_set(&first);
	xsk_claim_to_flush(pool, -1);
	xsk_unclaim(pool);
	KUNIT_EXPECT_PTR_EQ(test, pool->rx_owner, &first);
	xsk_claim_to_flush(pool, -1);
	xsk_unclaim(pool);
	bpf_net_ctx_clear(&first);

	bpf_net_ctx_set(&second);
	KUNIT_EXPECT_TRUE(test, xsk_claim(pool));
	xsk_unclaim(pool);
	KUNIT_EXPECT_NULL(test, pool->rx_owner);
	bpf_net_ctx_clear(&second);
	local_bh_enable();
}

/* Pools that rely on the NAPI poll are not concerned */
static void xsk_attach_claims_nothing(struct kunit *test)
{
	struct xsk_buff_pool *pool;

	pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	KUNIT_EXPECT_TRUE(test, xsk_claim(pool));
	xsk_claim_to_flush(pool, 1);
	KUNIT_EXPECT_NULL(test, pool->rx_owner);
	KUNIT_EXPECT_EQ(test, pool->rx_to_flush, 0);
}

static struct kunit_case xsk_attach_cases[] = {
	KUNIT_CASE(xsk_attach_action),
	KUNIT_CASE_PARAM(xsk_attach_mode, xsk_attach_mode_gen_params),
	KUNIT_CASE(xsk_attach_claims),
	KUNIT_CASE(xsk_attach_claims_nothing),
	{}
};

static struct kunit_suite xsk_attach_suite = {
	.name = "xsk_attach",
	.test_cases = xsk_attach_cases,
};

kunit_test_suite(xsk_attach_suite);
