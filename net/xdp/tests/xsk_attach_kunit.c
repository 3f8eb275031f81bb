// SPDX-License-Identifier: GPL-2.0
/* The decisions of XDP_ATTACH that need no device */
#include <kunit/test.h>
#include <linux/bpf.h>

#include "../xsk_attach.h"

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
	bool native;
	int users;
	enum bpf_xdp_mode held;
	int err;
	enum bpf_xdp_mode mode;
	bool fallback;
	u32 reason;
};

#define SKB	XDP_ATTACH_F_SKB_MODE
#define DRV	XDP_ATTACH_F_DRV_MODE
#define FORCE	XDP_ATTACH_F_FORCE

static const struct xsk_attach_mode_case xsk_attach_mode_cases[] = {
	{ "native by default", 0, false, true, 0, 0,
	  0, XDP_MODE_DRV, true, XDP_ATTACH_R_NONE },
	{ "generic where the driver has no XDP", 0, false, false, 0, 0,
	  0, XDP_MODE_SKB, true, XDP_ATTACH_R_NO_NATIVE },
	{ "generic on request", SKB, false, true, 0, 0,
	  0, XDP_MODE_SKB, false, XDP_ATTACH_R_NONE },
	{ "native on request", DRV, false, true, 0, 0,
	  0, XDP_MODE_DRV, false, XDP_ATTACH_R_NONE },
	{ "native on request without XDP", DRV, false, false, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_NO_NATIVE },
	{ "force means native", FORCE, false, true, 0, 0,
	  0, XDP_MODE_DRV, false, XDP_ATTACH_R_NONE },
	{ "force without XDP", FORCE, false, false, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_NO_NATIVE },
	{ "force of generic", FORCE | SKB, false, true, 0, 0,
	  0, XDP_MODE_SKB, false, XDP_ATTACH_R_NONE },
	{ "zero-copy needs native", 0, true, true, 0, 0,
	  0, XDP_MODE_DRV, false, XDP_ATTACH_R_NONE },
	{ "zero-copy without XDP", 0, true, false, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_NO_NATIVE },
	{ "zero-copy in generic", SKB, true, true, 0, 0,
	  -EOPNOTSUPP, 0, false, XDP_ATTACH_R_ZC_GENERIC },
	{ "joins a generic device", 0, false, true, 1, XDP_MODE_SKB,
	  0, XDP_MODE_SKB, true, XDP_ATTACH_R_MODE_CONFLICT },
	{ "joins a native device", 0, false, true, 3, XDP_MODE_DRV,
	  0, XDP_MODE_DRV, true, XDP_ATTACH_R_NONE },
	{ "native on a generic device", DRV, false, true, 1, XDP_MODE_SKB,
	  -EEXIST, 0, false, XDP_ATTACH_R_MODE_CONFLICT },
	{ "generic on a native device", SKB, false, true, 1, XDP_MODE_DRV,
	  -EEXIST, 0, false, XDP_ATTACH_R_MODE_CONFLICT },
	{ "zero-copy on a generic device", 0, true, true, 1, XDP_MODE_SKB,
	  -EEXIST, 0, false, XDP_ATTACH_R_MODE_CONFLICT },
};

KUNIT_ARRAY_PARAM_DESC(xsk_attach_mode, xsk_attach_mode_cases, desc);

static void xsk_attach_mode(struct kunit *test)
{
	const struct xsk_attach_mode_case *c = test->param_value;
	struct xdp_builtin held = { .users = c->users, .mode = c->held };
	struct xsk_attach_choice choice;
	int err;

	err = xsk_attach_choose(c->flags, c->zerocopy, c->native, &held,
				&choice);
	KUNIT_EXPECT_EQ(test, err, c->err);
	KUNIT_EXPECT_EQ(test, choice.reason, c->reason);
	if (err)
		return;
	KUNIT_EXPECT_EQ(test, choice.mode, c->mode);
	KUNIT_EXPECT_EQ(test, choice.fallback, c->fallback);
}

static struct kunit_case xsk_attach_cases[] = {
	KUNIT_CASE(xsk_attach_action),
	KUNIT_CASE_PARAM(xsk_attach_mode, xsk_attach_mode_gen_params),
	{}
};

static struct kunit_suite xsk_attach_suite = {
	.name = "xsk_attach",
	.test_cases = xsk_attach_cases,
};

kunit_test_suite(xsk_attach_suite);
