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

	if (!xs)
		return false;

	xsk_set_redirect(xdp, xs);
	return true;
}

BPF_CALL_1(xsk_builtin_redirect, struct xdp_buff *, xdp)
{
	return xsk_redirect(xdp) ? XDP_REDIRECT : XDP_PASS;
}

static struct bpf_prog *__xsk_prog_create(const struct xsk_prog *desc)
{
	const struct bpf_insn insns[] = {
		/* R1 is the context */
		BPF_EMIT_CALL(desc->func),
		BPF_EXIT_INSN(),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insn_cnt = ARRAY_SIZE(insns),
		.prog_flags = desc->frags ? BPF_F_XDP_HAS_FRAGS : 0,
		.expected_attach_type = BPF_XDP,
	};
	struct bpf_prog *prog;
	int err;

	strscpy(attr.prog_name, desc->name);
	prog = bpf_prog_alloc(bpf_prog_size(attr.insn_cnt), GFP_USER);
	if (!prog)
		return ERR_PTR(-ENOMEM);

	memcpy(prog->insns, insns, sizeof(insns));
	prog->len = attr.insn_cnt;
	prog->type = attr.prog_type;
	prog->expected_attach_type = attr.expected_attach_type;
	prog->gpl_compatible = 1;
	prog->aux->ops = &xdp_prog_ops;
	prog->aux->xdp_has_frags = desc->frags;
	prog->aux->user = get_uid(INIT_USER);
	prog->aux->load_time = ktime_get_boottime_ns();
	strscpy(prog->aux->name, attr.prog_name);
	atomic64_set(&prog->aux->refcnt, 1);

	err = security_bpf_prog_load(prog, &attr, NULL);
	if (!err)
		err = bpf_prog_calc_tag(prog);
	if (!err)
		prog = bpf_prog_select_runtime(prog, &err);
	if (!err && desc->publish)
		err = bpf_prog_publish(prog);
	if (err)
		goto free_prog;
	if (!desc->publish)
		bpf_prog_kallsyms_add(prog);
	return prog;

free_prog:
	/* bpf_prog_put() would report the unload of a published program */
	security_bpf_prog_free(prog);
	free_uid(prog->aux->user);
	bpf_prog_free(prog);
	return ERR_PTR(err == -ENOTSUPP ? -EOPNOTSUPP : err);
}

/**
 * xsk_prog_create() - create an XDP program that calls a kernel function
 * @desc: the program
 *
 * The program calls the function directly, neither as a helper nor as a kfunc
 * with BTF, which the verifier would not accept: it is not involved. So
 * verified_insns of struct bpf_prog_info is zero, as for no program that a user
 * loads: tools such as bpftool recognise the program by that.
 *
 * Context: RTNL
 * Return: the program; ERR_PTR() of -ENOMEM, -ENOSPC, -EOPNOTSUPP if it cannot
 * be compiled, or the error of a security module
 */
struct bpf_prog *xsk_prog_create(const struct xsk_prog *desc)
{
	const struct cred *cred;
	struct bpf_prog *prog;

	/* Shared by all users: credentials of the first do not count */
	cred = override_creds(&init_cred);
	prog = __xsk_prog_create(desc);
	revert_creds(cred);
	return prog;
}

/* Programs that are kept in the XDP dispatcher. Protected by RTNL. */
static struct bpf_prog *xsk_entered[XSK_PROGS];

/* Devices that run a program have their own references to its entry */
static void xsk_prog_expire(struct work_struct *work)
{
	u32 i;

	rtnl_lock();
	/* If bind() re-armed the work meanwhile, its next run removes them */
	if (!delayed_work_pending(to_delayed_work(work))) {
		for (i = 0; i < XSK_PROGS && xsk_entered[i]; i++) {
			bpf_prog_change_xdp(xsk_entered[i], NULL);
			xsk_entered[i] = NULL;
		}
	}
	rtnl_unlock();
}

static DECLARE_DELAYED_WORK(xsk_prog_work, xsk_prog_expire);

/**
 * xsk_prog_enter() - keep a program in the XDP dispatcher for another second
 * @prog: the program, which is never freed
 *
 * A permanent entry would cost all other programs two instructions per packet.
 *
 * Context: RTNL
 */
void xsk_prog_enter(struct bpf_prog *prog)
{
	u32 i = 0;

	while (xsk_entered[i] && xsk_entered[i] != prog)
		i++;
	if (!xsk_entered[i])
		bpf_prog_change_xdp(NULL, prog);
	xsk_entered[i] = prog;
	mod_delayed_work(system_wq, &xsk_prog_work, HZ);
}

static const struct xsk_prog xsk_builtin_desc = {
	.name = "xsk_builtin",
	.func = xsk_builtin_redirect,
	.frags = true,
	.publish = true,
};

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

	if (!prog) {
		prog = xsk_prog_create(&xsk_builtin_desc);
		if (IS_ERR(prog))
			return prog;
		WRITE_ONCE(xsk_builtin_prog, prog);
	}

	xsk_prog_enter(prog);
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
