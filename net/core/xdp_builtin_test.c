// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the two levels of XDP programs, and of the kernel programs that
 * run regular ones: steps on an unregistered device, whose driver records its
 * program or rejects it. The complete state is checked after each step.
 */
#include <kunit/test.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/xdp_builtin.h>

#include "xdp_builtin.h"

/* The ids of the programs, too. FRAGS is a regular program for multi-buffer
 * packets.
 */
enum xdp_builtin_prog {
	NO_PROG,
	BUILTIN,
	REGULAR,
	OTHER,
	FRAGS,
	WRAPPER,
	WRAPPER_FRAGS,
	GENERIC_WRAPPER,
	GENERIC_WRAPPER_FRAGS,
	BESIDE,
	PROGS
};

enum xdp_builtin_op {
	END,
	DO_GET,
	DO_PUT,
	DO_PASS_GET,
	DO_PASS_PUT,
	DO_SET,
	DO_PROPAGATE,
	DO_UNINSTALL
};

/*
 * struct xdp_builtin_step - an operation and the state after it
 * @refuse: program that the driver rejects during this step
 * @hold: the driver does not remove its program during this step
 * @err: result of the operation
 * @calls: total number of calls of the driver so far, if not 0
 * @runs: program of each mode
 * @inner: regular program that the wrapper runs, by default @active
 * @active: program whose id is reported to users
 * @pass_state: reported to users
 * @running: the built-in runs, as the built-in
 */
struct xdp_builtin_step {
	enum xdp_builtin_op op;
	enum bpf_xdp_mode mode;
	enum xdp_builtin_prog prog;
	enum xdp_builtin_prog refuse;
	bool hold;
	int err;
	int calls;
	enum xdp_builtin_prog runs[XDP_MODE_DRV + 1];
	enum xdp_builtin_prog inner;
	enum xdp_builtin_prog active;
	enum xdp_pass_state pass_state;
	bool running;
};

#define GET(m)		.op = DO_GET, .mode = XDP_MODE_##m
#define PUT		.op = DO_PUT
#define PASS_GET	.op = DO_PASS_GET
#define PASS_PUT	.op = DO_PASS_PUT
#define SET(m, p)	.op = DO_SET, .mode = XDP_MODE_##m, .prog = p
#define PROPAGATE(p)	.op = DO_PROPAGATE, .prog = p
#define UNINSTALL	.op = DO_UNINSTALL

#define RUNS(m, p)	.runs[XDP_MODE_##m] = p
#define BUILTIN_RUNS(m) .active = BUILTIN, .running = true, RUNS(m, BUILTIN)
#define REGULAR_RUNS(m) .active = REGULAR, RUNS(m, REGULAR)
#define FRAGS_RUNS(m)	.active = FRAGS, RUNS(m, FRAGS)
#define WRAPPED(m, w, p) \
	.active = p, .runs[XDP_MODE_##m] = w, .pass_state = XDP_PASS_##m
#define BESIDE_RUNS	RUNS(SKB, BESIDE), .pass_state = XDP_PASS_SKB

/* @fallback: of all calls */
struct xdp_builtin_case {
	const char *desc;
	bool fallback;
	struct xdp_builtin_step steps[12];
};

static const struct xdp_builtin_case xdp_builtin_cases[] = {
	{ "first and last user", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV), .calls = 1 },
		{ GET(DRV), BUILTIN_RUNS(DRV), .calls = 1 },
		{ GET(SKB), .err = -EEXIST, BUILTIN_RUNS(DRV), .calls = 1 },
		{ PUT, BUILTIN_RUNS(DRV), .calls = 1 },
		{ PUT, .calls = 2 },
	} },
	{ "rejected by the driver", true, {
		{ GET(DRV), .refuse = BUILTIN, .err = -EINVAL },
		{ GET(SKB), .refuse = BUILTIN, BUILTIN_RUNS(SKB) },
		{ PUT },
	} },
	/* One call of the driver each: there is no gap without a program */
	{ "regular program takes precedence", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV), .calls = 1 },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV), .calls = 2 },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(DRV), .calls = 3 },
		{ PUT },
	} },
	{ "user while a regular program runs", true, {
		{ SET(DRV, REGULAR), RUNS(DRV, REGULAR) },
		{ GET(DRV), REGULAR_RUNS(DRV) },
		{ PUT, RUNS(DRV, REGULAR) },
		{ SET(DRV, NO_PROG) },
	} },
	{ "regular program of the other mode", false, {
		{ GET(SKB), BUILTIN_RUNS(SKB) },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV) },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(SKB) },
		{ SET(DRV, REGULAR), .refuse = REGULAR, .err = -EINVAL,
		  BUILTIN_RUNS(SKB) },
		{ PUT },
	} },
	{ "not restored, then restored", false, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV) },
		{ SET(DRV, NO_PROG), .refuse = BUILTIN },
		{ GET(DRV), .refuse = BUILTIN, .err = -EINVAL },
		{ SET(DRV, REGULAR), .refuse = BUILTIN, REGULAR_RUNS(DRV) },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "restored in generic mode", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV) },
		{ SET(DRV, NO_PROG), .refuse = BUILTIN, BUILTIN_RUNS(SKB) },
		{ PUT },
	} },
	/* As ixgbe does with "legacy-rx" and a larger MTU */
	{ "not removed by the driver", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ SET(SKB, REGULAR), .hold = true, .err = -EINVAL,
		  BUILTIN_RUNS(DRV) },
		{ PUT, .hold = true, BUILTIN_RUNS(DRV) },
		{ GET(SKB), .hold = true, .err = -EINVAL, BUILTIN_RUNS(DRV) },
		{ GET(SKB), BUILTIN_RUNS(SKB) },
		{ PUT },
	} },
	{ "not removed, then a regular program", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PUT, .hold = true, BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), RUNS(DRV, REGULAR) },
		{ SET(DRV, NO_PROG) },
	} },
	/* By a user who got a file descriptor from the id */
	{ "attached as a regular program", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ SET(DRV, BUILTIN), RUNS(DRV, BUILTIN), .active = BUILTIN },
		{ PUT, RUNS(DRV, BUILTIN) },
		{ SET(DRV, NO_PROG) },
	} },
	{ "port of a master", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PROPAGATE(REGULAR), REGULAR_RUNS(DRV) },
		{ PROPAGATE(NO_PROG), BUILTIN_RUNS(DRV) },
		/* The master has no program to remove */
		{ PROPAGATE(NO_PROG), BUILTIN_RUNS(DRV) },
		{ PROPAGATE(REGULAR), .refuse = REGULAR, .err = -EINVAL,
		  BUILTIN_RUNS(DRV) },
		{ PROPAGATE(REGULAR), REGULAR_RUNS(DRV) },
		{ PROPAGATE(BUILTIN), .refuse = BUILTIN, .err = -EINVAL,
		  REGULAR_RUNS(DRV) },
		{ PROPAGATE(NO_PROG), BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "user while a master's program runs", true, {
		{ PROPAGATE(REGULAR), RUNS(DRV, REGULAR) },
		{ GET(DRV), REGULAR_RUNS(DRV) },
		{ PROPAGATE(NO_PROG), BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "regular program replaces a master's", true, {
		{ PROPAGATE(BUILTIN), RUNS(DRV, BUILTIN) },
		{ SET(DRV, REGULAR), RUNS(DRV, REGULAR) },
		{ SET(DRV, NO_PROG) },
	} },
	{ "generic program beside a master's", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PROPAGATE(REGULAR), REGULAR_RUNS(DRV) },
		{ SET(SKB, REGULAR), REGULAR_RUNS(DRV), RUNS(SKB, REGULAR) },
		{ SET(SKB, NO_PROG), REGULAR_RUNS(DRV) },
		{ PROPAGATE(NO_PROG), BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "not restored on unregistration", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV) },
		{ UNINSTALL, RUNS(DRV, REGULAR) },
		{ SET(DRV, NO_PROG) },
		{ PUT },
	} },
	{ "wrapped, native", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV), .calls = 1 },
		{ PASS_GET, BUILTIN_RUNS(DRV), .calls = 1 },
		{ SET(DRV, REGULAR), WRAPPED(DRV, WRAPPER, REGULAR), .calls = 2 },
		{ SET(DRV, OTHER), WRAPPED(DRV, WRAPPER, OTHER), .calls = 2 },
		{ SET(DRV, FRAGS), WRAPPED(DRV, WRAPPER_FRAGS, FRAGS),
		  .calls = 3 },
		{ SET(DRV, OTHER), WRAPPED(DRV, WRAPPER, OTHER), .calls = 4 },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(DRV), .calls = 5 },
		{ PASS_PUT, BUILTIN_RUNS(DRV), .calls = 5 },
		{ PUT },
	} },
	{ "wrapped, generic", true, {
		{ GET(SKB), BUILTIN_RUNS(SKB) },
		{ PASS_GET, BUILTIN_RUNS(SKB) },
		{ SET(SKB, REGULAR), WRAPPED(SKB, GENERIC_WRAPPER, REGULAR) },
		{ SET(SKB, FRAGS), WRAPPED(SKB, GENERIC_WRAPPER_FRAGS, FRAGS) },
		{ SET(SKB, NO_PROG), BUILTIN_RUNS(SKB) },
		{ PASS_PUT, BUILTIN_RUNS(SKB) },
		{ PUT },
	} },
	{ "wrapped by the first user", true, {
		{ SET(DRV, FRAGS), RUNS(DRV, FRAGS), .calls = 1 },
		{ GET(DRV), FRAGS_RUNS(DRV), .calls = 1 },
		{ PASS_GET, WRAPPED(DRV, WRAPPER_FRAGS, FRAGS), .calls = 2 },
		{ PASS_GET, WRAPPED(DRV, WRAPPER_FRAGS, FRAGS), .calls = 2 },
		{ PASS_PUT, WRAPPED(DRV, WRAPPER_FRAGS, FRAGS), .calls = 2 },
		{ PASS_PUT, FRAGS_RUNS(DRV), .calls = 3 },
		{ PUT, RUNS(DRV, FRAGS) },
		{ SET(DRV, NO_PROG) },
	} },
	{ "generic program, native users", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PASS_GET, BUILTIN_RUNS(DRV) },
		{ SET(SKB, REGULAR), WRAPPED(SKB, GENERIC_WRAPPER, REGULAR) },
		{ PASS_PUT, REGULAR_RUNS(SKB) },
		{ PASS_GET, WRAPPED(SKB, GENERIC_WRAPPER, REGULAR) },
		{ SET(SKB, NO_PROG), BUILTIN_RUNS(DRV) },
		{ PASS_PUT, BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "native program, generic users", true, {
		{ GET(SKB), BUILTIN_RUNS(SKB) },
		{ PASS_GET, BUILTIN_RUNS(SKB) },
		{ SET(DRV, REGULAR), .refuse = REGULAR, .err = -EINVAL,
		  BUILTIN_RUNS(SKB) },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV), BESIDE_RUNS },
		{ SET(DRV, FRAGS), FRAGS_RUNS(DRV), BESIDE_RUNS },
		{ PASS_PUT, FRAGS_RUNS(DRV) },
		{ PASS_GET, FRAGS_RUNS(DRV), BESIDE_RUNS },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(SKB) },
		{ PASS_PUT, BUILTIN_RUNS(SKB) },
		{ PUT },
	} },
	/* A regular program is not refused because of its wrapper */
	{ "wrapper rejected by the driver", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PASS_GET, BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), .refuse = WRAPPER, REGULAR_RUNS(DRV) },
		{ PASS_GET, .refuse = WRAPPER, .err = -EINVAL,
		  REGULAR_RUNS(DRV) },
		{ PASS_GET, WRAPPED(DRV, WRAPPER, REGULAR) },
		{ PASS_PUT, WRAPPED(DRV, WRAPPER, REGULAR) },
		{ SET(DRV, FRAGS), .refuse = WRAPPER_FRAGS,
		  FRAGS_RUNS(DRV) },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(DRV) },
		{ PASS_PUT, BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "wrapped, both rejected", true, {
		{ SET(DRV, REGULAR), RUNS(DRV, REGULAR) },
		{ GET(DRV), REGULAR_RUNS(DRV) },
		{ PASS_GET, WRAPPED(DRV, WRAPPER, REGULAR) },
		{ SET(DRV, NO_PROG), .hold = true, .refuse = BUILTIN,
		  .err = -EINVAL, WRAPPED(DRV, WRAPPER, REGULAR) },
		/* The wrapper has the same effect */
		{ PASS_PUT, .refuse = REGULAR, WRAPPED(DRV, WRAPPER, REGULAR) },
		{ PUT, .pass_state = XDP_PASS_DRV, RUNS(DRV, WRAPPER),
		  .inner = REGULAR },
		{ SET(DRV, OTHER), RUNS(DRV, OTHER) },
		{ SET(DRV, NO_PROG) },
	} },
	{ "wrapped on unregistration", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PASS_GET, BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), WRAPPED(DRV, WRAPPER, REGULAR) },
		{ UNINSTALL, RUNS(DRV, WRAPPER), .inner = REGULAR,
		  .pass_state = XDP_PASS_DRV },
		{ SET(DRV, NO_PROG) },
		{ PASS_PUT },
		{ PUT },
	} },
	{ "beside on unregistration", true, {
		{ GET(SKB), BUILTIN_RUNS(SKB) },
		{ PASS_GET, BUILTIN_RUNS(SKB) },
		{ SET(DRV, REGULAR), REGULAR_RUNS(DRV), BESIDE_RUNS },
		{ UNINSTALL, RUNS(DRV, REGULAR) },
		{ SET(DRV, NO_PROG) },
		{ PASS_PUT },
		{ PUT },
	} },
	{ "built-in as a regular program, not wrapped", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PASS_GET, BUILTIN_RUNS(DRV) },
		{ SET(DRV, BUILTIN), RUNS(DRV, BUILTIN), .active = BUILTIN },
		{ SET(DRV, NO_PROG), BUILTIN_RUNS(DRV) },
		{ PASS_PUT, BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
	{ "wrapped, replaced by a master's", true, {
		{ GET(DRV), BUILTIN_RUNS(DRV) },
		{ PASS_GET, BUILTIN_RUNS(DRV) },
		{ SET(DRV, REGULAR), WRAPPED(DRV, WRAPPER, REGULAR) },
		{ PROPAGATE(OTHER), RUNS(DRV, OTHER), .active = OTHER },
		{ SET(DRV, NO_PROG), .active = OTHER },
		{ PROPAGATE(NO_PROG), BUILTIN_RUNS(DRV) },
		{ PASS_PUT, BUILTIN_RUNS(DRV) },
		{ PUT },
	} },
};

KUNIT_ARRAY_PARAM_DESC(xdp_builtin, xdp_builtin_cases, desc);

struct xdp_builtin_driver {
	struct bpf_prog *prog;
	struct bpf_prog *refuse;
	bool hold;
	int calls;
};

/*
 * @regular: program that a user has attached, per mode
 * @propagated: program of a master
 * @pass: of @progs
 */
struct xdp_builtin_fixture {
	struct net_device *dev;
	struct xdp_builtin_driver *drv;
	struct bpf_prog *progs[PROGS];
	struct bpf_prog *regular[XDP_MODE_DRV + 1];
	struct bpf_prog *propagated;
	struct xdp_pass_progs pass;
};

static int xdp_builtin_ndo_bpf(struct net_device *dev, struct netdev_bpf *bpf)
{
	struct xdp_builtin_driver *drv = netdev_priv(dev);

	drv->calls++;
	if (bpf->prog ? bpf->prog == drv->refuse : drv->hold)
		return -EINVAL;

	if (drv->prog)
		bpf_prog_put(drv->prog);
	drv->prog = bpf->prog;
	return 0;
}

static const struct net_device_ops xdp_builtin_netdev_ops = {
	.ndo_bpf = xdp_builtin_ndo_bpf,
};

static void xdp_builtin_dev_setup(struct net_device *dev)
{
	dev->type = ARPHRD_ETHER;
	dev->netdev_ops = &xdp_builtin_netdev_ops;
}

static struct bpf_prog *xdp_builtin_alloc_prog(struct kunit *test, u32 id)
{
	struct bpf_insn insns[] = {
		BPF_MOV64_IMM(BPF_REG_0, XDP_PASS),
		BPF_EXIT_INSN(),
	};
	struct bpf_prog *prog;
	int err;

	prog = bpf_prog_alloc(bpf_prog_size(ARRAY_SIZE(insns)), 0);
	KUNIT_ASSERT_NOT_NULL(test, prog);
	memcpy(prog->insns, insns, sizeof(insns));
	prog->len = ARRAY_SIZE(insns);
	prog->type = BPF_PROG_TYPE_XDP;
	atomic64_set(&prog->aux->refcnt, 1);
	prog = bpf_prog_select_runtime(prog, &err);
	KUNIT_ASSERT_EQ(test, err, 0);
	prog->aux->id = id;
	return prog;
}

static int xdp_builtin_init(struct kunit *test)
{
	struct xdp_builtin_fixture *f;
	u32 i;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->dev = alloc_netdev(sizeof(*f->drv), "xdpbuiltin%d", NET_NAME_ENUM,
			      xdp_builtin_dev_setup);
	KUNIT_ASSERT_NOT_NULL(test, f->dev);
	f->drv = netdev_priv(f->dev);
	for (i = BUILTIN; i < PROGS; i++)
		f->progs[i] = xdp_builtin_alloc_prog(test, i);
	f->progs[FRAGS]->aux->xdp_has_frags = true;
	f->progs[WRAPPER_FRAGS]->aux->xdp_has_frags = true;
	f->progs[GENERIC_WRAPPER_FRAGS]->aux->xdp_has_frags = true;
	f->pass.wrapper[XDP_MODE_DRV][0] = f->progs[WRAPPER];
	f->pass.wrapper[XDP_MODE_DRV][1] = f->progs[WRAPPER_FRAGS];
	f->pass.wrapper[XDP_MODE_SKB][0] = f->progs[GENERIC_WRAPPER];
	f->pass.wrapper[XDP_MODE_SKB][1] = f->progs[GENERIC_WRAPPER_FRAGS];
	f->pass.beside = f->progs[BESIDE];
	test->priv = f;
	return 0;
}

static void xdp_builtin_free_prog(struct kunit *test, struct bpf_prog *prog)
{
	/* All references were released */
	KUNIT_EXPECT_EQ(test, atomic64_read(&prog->aux->refcnt), 1);
	prog->aux->id = 0;
	bpf_prog_free(prog);
}

static void xdp_builtin_exit(struct kunit *test)
{
	struct xdp_builtin_fixture *f = test->priv;
	u32 i;

	if (!f)
		return;

	KUNIT_EXPECT_NULL(test, f->drv->prog);
	synchronize_net();
	for (i = BUILTIN; i < PROGS; i++)
		xdp_builtin_free_prog(test, f->progs[i]);
	free_netdev(f->dev);
}

/* As dev_xdp_attach() and dev_xdp_detach() do */
static int xdp_builtin_set(struct xdp_builtin_fixture *f,
			   enum bpf_xdp_mode mode, struct bpf_prog *prog)
{
	struct bpf_prog *old = dev_xdp_prog(f->dev, mode);
	int err;

	err = xdp_builtin_switch(f->dev, mode, NULL, 0, old, prog);
	if (err)
		return err;

	f->dev->xdp_state[mode].prog = prog;
	f->regular[mode] = prog;
	if (prog && mode == XDP_MODE_DRV)
		f->propagated = NULL;
	return 0;
}

static int xdp_builtin_hand_down(struct xdp_builtin_fixture *f,
				 struct bpf_prog *prog)
{
	struct netdev_bpf bpf = { .command = XDP_SETUP_PROG, .prog = prog };
	int err;

	if (prog)
		bpf_prog_inc(prog);
	err = dev_xdp_propagate(f->dev, &bpf);
	if (!err)
		f->propagated = prog;
	else if (prog)
		bpf_prog_put(prog);
	return err;
}

static int xdp_builtin_do(struct xdp_builtin_fixture *f,
			  const struct xdp_builtin_step *s, bool fallback)
{
	struct bpf_prog *prog = f->progs[s->prog];

	f->drv->refuse = f->progs[s->refuse];
	f->drv->hold = s->hold;
	switch (s->op) {
	case DO_GET:
		return xdp_builtin_get(f->dev, f->progs[BUILTIN], s->mode,
				       fallback, NULL);
	case DO_PUT:
		xdp_builtin_put(f->dev, fallback);
		return 0;
	case DO_PASS_GET:
		return xdp_pass_get(f->dev, &f->pass, NULL);
	case DO_PASS_PUT:
		xdp_pass_put(f->dev);
		return 0;
	case DO_SET:
		return xdp_builtin_set(f, s->mode, prog);
	case DO_PROPAGATE:
		return xdp_builtin_hand_down(f, prog);
	default:
		xdp_builtin_uninstall(f->dev);
		f->propagated = NULL;
		return 0;
	}
}

static void xdp_builtin_check_inner(struct kunit *test,
				    const struct xdp_builtin_step *s, long step)
{
	enum xdp_builtin_prog expected = s->inner, runs;
	struct xdp_builtin_fixture *f = test->priv;
	struct bpf_prog *inner;
	bool frags;

	runs = s->runs[XDP_MODE_DRV] ?: s->runs[XDP_MODE_SKB];
	if (!expected && runs >= WRAPPER && runs <= GENERIC_WRAPPER_FRAGS)
		expected = s->active;
	frags = expected == FRAGS;

	inner = rtnl_dereference(f->dev->xdp_builtin.inner[frags]);
	KUNIT_EXPECT_PTR_EQ_MSG(test, inner, f->progs[expected], "step %ld",
				step);
	inner = rtnl_dereference(f->dev->xdp_builtin.inner[!frags]);
	KUNIT_EXPECT_NULL_MSG(test, inner, "step %ld", step);
}

/* What the device and the driver run, and what users see */
static void xdp_builtin_check(struct kunit *test,
			      const struct xdp_builtin_step *s, long step)
{
	struct xdp_builtin_fixture *f = test->priv;
	const struct bpf_prog *native = f->progs[s->runs[XDP_MODE_DRV]];
	const struct bpf_prog *generic = f->progs[s->runs[XDP_MODE_SKB]];
	struct bpf_prog *const *regular = f->regular;
	bool in_skb = s->runs[XDP_MODE_SKB] == BUILTIN;
	u8 attached = XDP_ATTACHED_NONE;

	KUNIT_EXPECT_PTR_EQ_MSG(test, f->drv->prog, native, "step %ld", step);
	KUNIT_EXPECT_PTR_EQ_MSG(test, rtnl_dereference(f->dev->xdp_prog),
				generic, "step %ld", step);
	KUNIT_EXPECT_EQ_MSG(test, xdp_builtin_running(f->dev), s->running,
			    "step %ld", step);
	KUNIT_EXPECT_EQ_MSG(test, f->dev->xdp_builtin.active_id, s->active,
			    "step %ld", step);
	KUNIT_EXPECT_EQ_MSG(test, f->dev->xdp_builtin.pass_state, s->pass_state,
			    "step %ld", step);
	if (s->calls)
		KUNIT_EXPECT_EQ_MSG(test, f->drv->calls, s->calls, "step %ld",
				    step);

	KUNIT_EXPECT_EQ_MSG(test, xdp_builtin_report(f->dev, &attached),
			    s->running ? BUILTIN : 0, "step %ld", step);
	if (s->running) {
		KUNIT_EXPECT_EQ_MSG(test, f->dev->xdp_builtin.mode,
				    in_skb ? XDP_MODE_SKB : XDP_MODE_DRV,
				    "step %ld", step);
		KUNIT_EXPECT_EQ_MSG(test, attached, in_skb ? XDP_ATTACHED_SKB :
							     XDP_ATTACHED_DRV,
				    "step %ld", step);
	}

	KUNIT_EXPECT_PTR_EQ_MSG(test, xdp_builtin_regular(f->dev),
				regular[XDP_MODE_DRV] ?:
				regular[XDP_MODE_SKB] ?: f->propagated,
				"step %ld", step);
	KUNIT_EXPECT_EQ_MSG(test, dev_xdp_prog_count(f->dev),
			    !!regular[XDP_MODE_DRV] + !!regular[XDP_MODE_SKB],
			    "step %ld", step);
	KUNIT_EXPECT_EQ_MSG(test, dev_xdp_prog_id(f->dev, XDP_MODE_DRV),
			    regular[XDP_MODE_DRV] ?
			    regular[XDP_MODE_DRV]->aux->id : 0,
			    "step %ld", step);
}

static void xdp_builtin_steps(struct kunit *test)
{
	const struct xdp_builtin_case *c = test->param_value;
	const struct xdp_builtin_step *s;

	rtnl_lock();
	for (s = c->steps; s->op != END; s++) {
		KUNIT_EXPECT_EQ_MSG(test,
				    xdp_builtin_do(test->priv, s, c->fallback),
				    s->err, "step %ld", s - c->steps);
		xdp_builtin_check(test, s, s - c->steps);
		xdp_builtin_check_inner(test, s, s - c->steps);
	}
	rtnl_unlock();
}

static struct kunit_case xdp_builtin_kunit_cases[] = {
	KUNIT_CASE_PARAM(xdp_builtin_steps, xdp_builtin_gen_params),
	{}
};

static struct kunit_suite xdp_builtin_suite = {
	.name = "xdp_builtin",
	.init = xdp_builtin_init,
	.exit = xdp_builtin_exit,
	.test_cases = xdp_builtin_kunit_cases,
};

kunit_test_suite(xdp_builtin_suite);
