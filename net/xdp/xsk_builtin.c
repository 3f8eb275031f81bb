// SPDX-License-Identifier: GPL-2.0
/*
 * The built-in XDP program, and a kfunc for regular programs: both redirect a
 * packet to the socket that is attached to its queue.
 *
 * They have no delivery path of their own. They set the redirect information
 * as a lookup in an XSKMAP would, and xdp_do_redirect() or
 * xdp_do_generic_redirect() delivers the packet.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/cred.h>
#include <linux/filter.h>
#include <linux/init_task.h>
#include <linux/rtnetlink.h>
#include <linux/security.h>
#include <linux/sched/user.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <net/xdp_builtin.h>

#include "xsk_attach.h"

struct bpf_prog *xsk_builtin_prog;
static bool xsk_builtin_entered; /* Protected by RTNL */

/**
 * xsk_redirect_action() - get the action for a queue without a socket
 * @flags: argument of bpf_xsk_redirect()
 *
 * Return: @flags if it is XDP_DROP, XDP_PASS or XDP_TX; XDP_PASS if it is 0;
 * XDP_ABORTED otherwise
 */
int xsk_redirect_action(u64 flags)
{
	if (!flags)
		return XDP_PASS;
	return flags <= XDP_TX ? flags : XDP_ABORTED;
}

/* Set the redirect target to the attached socket, if there is one */
static __always_inline bool xsk_redirect(const struct xdp_buff *xdp)
{
	struct xdp_sock *xs = xsk_attached(xdp->rxq);
	struct bpf_redirect_info *ri;

	if (!xs)
		return false;

	ri = bpf_net_ctx_get_ri();
	ri->tgt_index = xdp->rxq->queue_index;
	ri->tgt_value = xs;
	ri->map_id = 0;
	ri->map_type = BPF_MAP_TYPE_XSKMAP;
	return true;
}

BPF_CALL_1(xsk_builtin_redirect, struct xdp_buff *, xdp)
{
	return xsk_redirect(xdp) ? XDP_REDIRECT : XDP_PASS;
}

/* The program calls a kernel function directly, neither as a helper nor as a
 * kfunc with BTF, which the verifier would not accept: it is not involved.
 */
static struct bpf_prog *xsk_builtin_create(void)
{
	const struct bpf_insn insns[] = {
		/* R1 is the context */
		BPF_EMIT_CALL(xsk_builtin_redirect),
		BPF_EXIT_INSN(),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = ARRAY_SIZE(insns),
		.prog_flags = BPF_F_XDP_HAS_FRAGS,
		.prog_name = "xsk_builtin",
		.expected_attach_type = BPF_XDP,
	};
	struct bpf_prog *prog;
	int err;

	prog = bpf_prog_alloc(bpf_prog_size(attr.insn_cnt), GFP_USER);
	if (!prog)
		return ERR_PTR(-ENOMEM);

	memcpy(prog->insns, insns, sizeof(insns));
	prog->len = attr.insn_cnt;
	prog->type = attr.prog_type;
	prog->expected_attach_type = attr.expected_attach_type;
	prog->gpl_compatible = 1;
	prog->aux->ops = &xdp_prog_ops;
	prog->aux->xdp_has_frags = true;
	prog->aux->user = get_uid(INIT_USER);
	prog->aux->load_time = ktime_get_boottime_ns();
	strscpy(prog->aux->name, attr.prog_name);
	atomic64_set(&prog->aux->refcnt, 1);

	err = security_bpf_prog_load(prog, &attr, NULL);
	if (!err)
		err = bpf_prog_calc_tag(prog);
	if (!err)
		prog = bpf_prog_select_runtime(prog, &err);
	if (!err)
		err = bpf_prog_publish(prog);
	if (err)
		goto free_prog;
	return prog;

free_prog:
	/* bpf_prog_put() would report the unload of a published program */
	security_bpf_prog_free(prog);
	free_uid(prog->aux->user);
	bpf_prog_free(prog);
	return ERR_PTR(err == -ENOTSUPP ? -EOPNOTSUPP : err);
}

/* Devices that run the program have their own references to its entry */
static void xsk_builtin_expire(struct work_struct *work)
{
	rtnl_lock();
	/* If bind() re-armed the work meanwhile, its next run removes it */
	if (!delayed_work_pending(to_delayed_work(work))) {
		bpf_prog_change_xdp(xsk_builtin_prog, NULL);
		xsk_builtin_entered = false;
	}
	rtnl_unlock();
}

static DECLARE_DELAYED_WORK(xsk_builtin_work, xsk_builtin_expire);

/* Keep the program in the XDP dispatcher for another second. A permanent entry
 * would cost all other programs two instructions per packet.
 */
static void xsk_builtin_enter(struct bpf_prog *prog)
{
	if (!xsk_builtin_entered)
		bpf_prog_change_xdp(NULL, prog);
	xsk_builtin_entered = true;
	mod_delayed_work(system_wq, &xsk_builtin_work, HZ);
}

/**
 * xsk_builtin_get() - get the built-in program, and create it if necessary
 *
 * The program is never freed, and its entry in the XDP dispatcher is removed
 * with a delay: attaching and closing sockets in a loop does not invoke the JIT
 * or patch the kernel's text each time.
 *
 * Context: RTNL
 * Return: the program; ERR_PTR() of -ENOMEM, -ENOSPC, -EOPNOTSUPP if it cannot
 * be compiled, or the error of a security module
 */
struct bpf_prog *xsk_builtin_get(void)
{
	struct bpf_prog *prog = xsk_builtin_prog;
	const struct cred *cred;

	if (!prog) {
		/* Shared by all users: credentials of the first do not count */
		cred = override_creds(&init_cred);
		prog = xsk_builtin_create();
		revert_creds(cred);
		if (IS_ERR(prog))
			return prog;
		WRITE_ONCE(xsk_builtin_prog, prog);
	}

	xsk_builtin_enter(prog);
	return prog;
}

/**
 * xsk_builtin_id() - get the id of the built-in program
 *
 * Context: after xsk_builtin_get()
 * Return: the id
 */
u32 xsk_builtin_id(void)
{
	return xsk_builtin_prog->aux->id;
}

__bpf_kfunc_start_defs();

/**
 * bpf_xsk_redirect() - redirect a packet to the socket attached to its queue
 * @ctx: XDP context
 * @flags: action for a queue without an attached socket, 0 for XDP_PASS
 *
 * Return: XDP_REDIRECT if a socket is attached, else the action in @flags;
 * XDP_ABORTED if @flags is not one of XDP_DROP, XDP_PASS and XDP_TX.
 */
__bpf_kfunc int bpf_xsk_redirect(struct xdp_md *ctx, u64 flags)
{
	struct xdp_buff *xdp = (struct xdp_buff *)ctx;
	struct bpf_redirect_info *ri;

	/* Some drivers do not register all queues with xdp_rxq_info_reg() */
	if (likely(xdp->rxq->dev) && xsk_redirect(xdp))
		return XDP_REDIRECT;

	/* As in bpf_redirect_map(): a program that returns XDP_REDIRECT anyway
	 * must not use the target of an earlier call.
	 */
	ri = bpf_net_ctx_get_ri();
	ri->map_id = INT_MAX;
	ri->map_type = BPF_MAP_TYPE_UNSPEC;
	return xsk_redirect_action(flags);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(xsk_kfunc_ids)
BTF_ID_FLAGS(func, bpf_xsk_redirect)
BTF_KFUNCS_END(xsk_kfunc_ids)

/* Programs of devmap and cpumap entries do not run in the NAPI poll of the
 * queue in their context.
 */
static int xsk_kfunc_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	enum bpf_attach_type type = prog->expected_attach_type;

	if (!btf_id_set8_contains(&xsk_kfunc_ids, kfunc_id))
		return 0;

	/* A program that replaces a function runs in place of it */
	if (prog->type == BPF_PROG_TYPE_EXT)
		type = prog->aux->saved_dst_attach_type;

	return type == BPF_XDP_DEVMAP || type == BPF_XDP_CPUMAP ? -EACCES : 0;
}

static const struct btf_kfunc_id_set xsk_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &xsk_kfunc_ids,
	.filter = xsk_kfunc_filter,
};

static int __init xsk_builtin_init(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_XDP, &xsk_kfunc_set);
}
late_initcall(xsk_builtin_init);
