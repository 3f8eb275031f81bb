// SPDX-License-Identifier: GPL-2.0
/*
 * A structured fuzzer of AF_XDP. Several processes with several threads each
 * execute operations from one table. Most operations are valid, so that sockets
 * become zero-copy, attached, in-order and paired; the others are not.
 * Meanwhile an administrator reconfigures the devices, and traffic arrives.
 * The fuzzer does not judge results: a failure is a splat of the kernel, or a
 * process that does not end. The tables printed at the end show the depth.
 *
 * Operation N of a thread, and all random values in it, depend on the seed, on
 * the thread and on N, not on earlier results. A seed thus repeats the
 * operations of each thread. It does not repeat the interleaving of threads.
 *
 * Root fuzzes the devices of --dev: interfaces of the current network namespace,
 * or veth, bond, dummy and tap, which are created. Without --dev these four are
 * created in a new network namespace. Drivers are unbound, and rings, channels,
 * programs and MTU changed: use a machine that has no other purpose. With
 * --unprivileged an ordinary user does the same who is root only in a user
 * namespace and its network namespace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xsk_test.h"
#include "xsk_test_progs.skel.h"

#define DEVS		24
#define MAP_QUEUES	8
#define PROGS		(DEVS + 8)
#define PROCESSES	32
#define THREADS		2
#define SOCKS		8
#define UMEMS		4
#define UMEM_MAX	(8U << 20)
#define RING_MAX	4096U
#define RING_BYTES	(128U << 10)
#define BURST		32
#define ERRNOS		134
/* Calls that reset a NIC take seconds on an emulated machine */
#define END_MS		120000

enum role { WORKER, ADMIN, TRAFFIC };

enum { RX, TX, FILL, COMP, RINGS };

/* @size: entries that are mapped; the ring of the kernel may be larger */
struct fuzz_ring {
	char *map;
	__u32 size;
};

/*
 * struct sock - an AF_XDP socket of a worker; its threads share them all
 * @umem: index of the memory of its umem
 * @chunk, @chunks, @unaligned: of that umem
 * @share: the socket whose umem it is to share at bind(), or NULL
 */
struct sock {
	int fd;
	struct fuzz_ring rings[RINGS];
	__u32 umem, chunk, chunks, metadata;
	bool unaligned;
	struct sock *share;
	__u32 dev, queue;
	bool bound, zc, inorder;
};

/*
 * struct actor - a thread
 * @stream: seed of its operations
 * @rng: state of the PRNG in the current operation
 * @s: socket that the current operation is about
 */
struct actor {
	enum role role;
	__u64 stream, rng;
	struct sock *s;
	int packet;
};

struct dev {
	char name[IFNAMSIZ];
	char driver[32];
	char pci[32];
	int taps[QUEUES];
};

struct op {
	const char *name;
	__u32 weight;
	enum role role;
	bool touches_rings;
	int (*run)(struct actor *a);
};

enum {
	OP_SETUP, OP_SOCKET, OP_UMEM, OP_RING, OP_MMAP, OP_ATTACH, OP_INORDER,
	OP_BIND, OP_PAIR, OP_QUERY, OP_SOCKOPT, OP_FILL, OP_TX, OP_TAKE,
	OP_INDEX, OP_SEND, OP_RECV, OP_POLL, OP_XSKMAP, OP_DIAG, OP_QUEUE,
	OP_PASS_FD, OP_FORK, OP_UNMAP, OP_CLOSE,
	OP_FLAP, OP_RINGPARAM, OP_CHANNELS, OP_MTU, OP_FLAGS, OP_CAPTURE,
	OP_SELFTEST, OP_PROG, OP_LINK, OP_MOVE, OP_ENSLAVE, OP_TAP_QUEUE,
	OP_DEFER, OP_REBIND,
	OP_RAW, OP_TAP,
	OPS
};

/* Counted by all processes. @zc: per device. */
static struct totals {
	__u64 results[OPS][ERRNOS];
	__u64 zc[DEVS], attached, inorder, paired, killed;
	int stop;
} *totals;

static const struct {
	int option;
	__u64 offset;
	__u32 entry;
} kinds[RINGS] = {
	[RX] = { XDP_RX_RING, XDP_PGOFF_RX_RING, sizeof(struct xdp_desc) },
	[TX] = { XDP_TX_RING, XDP_PGOFF_TX_RING, sizeof(struct xdp_desc) },
	[FILL] = { XDP_UMEM_FILL_RING, XDP_UMEM_PGOFF_FILL_RING, 8 },
	[COMP] = { XDP_UMEM_COMPLETION_RING, XDP_UMEM_PGOFF_COMPLETION_RING, 8 },
};

static __u64 seed;
static struct op ops[];
static struct dev devs[DEVS];
static __u32 dev_count;
static struct xdp_ring_offset offsets[RINGS];
static struct sock socks[SOCKS];
static char *umems[UMEMS];
static __u32 umem_len[UMEMS];
static int progs[PROGS], prog_count, xskmap = -1;
/* Network namespaces: home and one to move devices to, with a socket in each */
static int netns[2], rtnl[2];
static __thread sigjmp_buf escape;
static __thread sig_atomic_t may_fault;

/* Random values */

static __u64 mix(__u64 x)
{
	x = (x ^ (x >> 31)) * 0xd6e8feb86659fd93ULL;
	x = (x ^ (x >> 29)) * 0xa0761d6478bd642fULL;
	return x ^ (x >> 32);
}

static __u64 rnd64(struct actor *a)
{
	a->rng += 0x9e3779b97f4a7c15ULL;
	return mix(a->rng);
}

static __u32 rnd(struct actor *a, __u32 below)
{
	return rnd64(a) % below;
}

static bool one_in(struct actor *a, __u32 n)
{
	return !rnd(a, n);
}

/* A power of two, up to 2^most */
static __u32 rnd_power(struct actor *a, __u32 least, __u32 most)
{
	return 1U << (least + rnd(a, most - least + 1));
}

static struct dev *rnd_dev(struct actor *a)
{
	return &devs[rnd(a, dev_count)];
}

/* Return: a tap device, or NULL */
static struct dev *rnd_tap(struct actor *a)
{
	__u32 at = rnd(a, dev_count), i;

	for (i = 0; i < dev_count; i++, at = (at + 1) % dev_count)
		if (devs[at].taps[0] >= 0)
			return &devs[at];
	return NULL;
}

/* Operations and their results */

static void count(__u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

/* Another thread has unmapped the memory, or nothing was mapped yet */
static void on_fault(int sig)
{
	if (may_fault)
		siglongjmp(escape, 1);
	signal(sig, SIG_DFL);
}

static int run_guarded(const struct op *op, struct actor *a)
{
	int err;

	if (sigsetjmp(escape, 1)) {
		may_fault = 0;
		return -EFAULT;
	}
	may_fault = 1;
	err = op->run(a);
	may_fault = 0;
	return err;
}

static int count_result(int id, int err)
{
	count(&totals->results[id][-err < ERRNOS ? -err : ERRNOS - 1]);
	return err;
}

static int do_op(struct actor *a, int id)
{
	const struct op *op = &ops[id];

	return count_result(id, op->touches_rings ? run_guarded(op, a) :
						    op->run(a));
}

static int pick_op(struct actor *a)
{
	__u32 sum = 0, at;
	int id;

	for (id = 0; id < OPS; id++)
		sum += ops[id].role == a->role ? ops[id].weight : 0;
	if (!sum)
		return -1;
	at = rnd(a, sum);
	for (id = 0; id < OPS; id++) {
		__u32 weight = ops[id].role == a->role ? ops[id].weight : 0;

		if (at < weight)
			break;
		at -= weight;
	}
	return id;
}

/*
 * Memory: each ring and umem has a range of addresses that is never used for
 * anything else. A thread with a stale pointer faults, or writes to the next
 * ring or umem in the same range.
 */

static void *mem_reserve(void *at, size_t len)
{
	return mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

static int mem_init(void)
{
	int i, kind;

	for (i = 0; i < UMEMS; i++) {
		umems[i] = mem_reserve(NULL, UMEM_MAX);
		if (umems[i] == MAP_FAILED)
			return -errno;
	}
	for (i = 0; i < SOCKS; i++) {
		socks[i].fd = -1;
		for (kind = 0; kind < RINGS; kind++) {
			char *map = mem_reserve(NULL, RING_BYTES);

			if (map == MAP_FAILED)
				return -errno;
			socks[i].rings[kind].map = map;
		}
	}
	return 0;
}

/* Shared, as children of op_fork() use it, too */
static int umem_map(__u32 i, __u32 len)
{
	if (umem_len[i] >= len)
		return 0;
	if (mmap(umems[i], len, PROT_READ | PROT_WRITE, MAP_SHARED |
		 MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	umem_len[i] = len;
	return 0;
}

/* A failing mmap() with MAP_FIXED would leave a hole for other mappings */
static int ring_mmap(const struct sock *s, int kind, __u32 entries)
{
	size_t len = offsets[kind].desc + (size_t)entries * kinds[kind].entry;
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, s->fd, kinds[kind].offset);

	if (map == MAP_FAILED)
		return -errno;
	if (mremap(map, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
		   s->rings[kind].map) == MAP_FAILED) {
		int err = -errno;

		munmap(map, len);
		return err;
	}
	return 0;
}

static void ring_munmap(struct fuzz_ring *r)
{
	r->size = 0;
	mem_reserve(r->map, RING_BYTES);
}

/* Exactly one of several threads closes the old file */
static void fd_replace(struct sock *s, int fd)
{
	fd = __atomic_exchange_n(&s->fd, fd, __ATOMIC_ACQ_REL);
	if (fd >= 0)
		close(fd);
}

static void sock_close(struct sock *s)
{
	int kind;

	fd_replace(s, -1);
	s->bound = false;
	s->zc = false;
	s->inorder = false;
	s->share = NULL;
	for (kind = 0; kind < RINGS; kind++)
		if (s->rings[kind].size)
			ring_munmap(&s->rings[kind]);
}

/* Mostly a free one for OP_SETUP, and one that is bound for the others */
static struct sock *sock_pick(struct actor *a, int id)
{
	__u32 at = rnd(a, SOCKS), i;

	for (i = 0; i < SOCKS && !one_in(a, 16); i++) {
		struct sock *s = &socks[(at + i) % SOCKS];
		bool wanted = id == OP_SETUP ? !s->bound : s->bound;

		if (wanted)
			return s;
	}
	return &socks[at];
}

/* Return: a bound socket, those in zero-copy mode first, or NULL */
static struct sock *sock_bound(struct actor *a)
{
	__u32 at = rnd(a, SOCKS), i;
	struct sock *found = NULL;

	for (i = 0; i < SOCKS; i++) {
		struct sock *s = &socks[(at + i) % SOCKS];

		if (s == a->s || !s->bound)
			continue;
		if (s->zc)
			return s;
		found = s;
	}
	return found;
}

/* Sockets and their options */

static int op_socket(struct actor *a)
{
	sock_close(a->s);
	a->s->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	return result(a->s->fd);
}

static __u32 umem_flags(struct actor *a, struct xdp_umem_reg *reg)
{
	if (one_in(a, 8)) {
		reg->flags |= XDP_UMEM_UNALIGNED_CHUNK_FLAG;
		if (one_in(a, 2))
			reg->chunk_size = 1024 + rnd(a, 3073);
	}
	if (one_in(a, 8)) {
		reg->flags |= XDP_UMEM_TX_METADATA_LEN;
		reg->tx_metadata_len = 8 * rnd(a, 33);
	}
	if (one_in(a, 16))
		reg->flags |= XDP_UMEM_TX_SW_CSUM;
	return reg->flags;
}

static void umem_garbage(struct actor *a, struct xdp_umem_reg *reg)
{
	switch (rnd(a, 6)) {
	case 0:
		reg->addr += rnd(a, 8192);
		break;
	case 1:
		reg->len = rnd64(a) >> rnd(a, 64);
		break;
	case 2:
		reg->chunk_size = rnd(a, 8193);
		break;
	case 3:
		reg->headroom = rnd(a, 4097);
		break;
	case 4:
		reg->flags = rnd64(a);
		break;
	default:
		reg->tx_metadata_len = rnd64(a) >> rnd(a, 64);
	}
}

static int op_umem(struct actor *a)
{
	struct xdp_umem_reg reg = { .chunk_size = 2048 << rnd(a, 2) };
	__u32 umem = rnd(a, UMEMS), chunks;
	struct sock *s = a->s;
	int err;

	chunks = rnd_power(a, 6, one_in(a, 16) ? 12 : 10);
	if (one_in(a, 4))
		reg.headroom = rnd(a, one_in(a, 4) ? 2048 : 512);
	umem_flags(a, &reg);
	reg.len = (__u64)reg.chunk_size * chunks;
	if (reg.len > UMEM_MAX)
		reg.len = UMEM_MAX;
	err = umem_map(umem, (reg.len + 4095) & ~4095ULL);
	if (err)
		return err;

	reg.addr = (unsigned long)umems[umem];
	if (one_in(a, 16))
		umem_garbage(a, &reg);
	err = result(setsockopt(s->fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)));
	if (!err) {
		s->umem = umem;
		s->chunk = reg.chunk_size;
		s->chunks = reg.len / reg.chunk_size;
		s->unaligned = reg.flags & XDP_UMEM_UNALIGNED_CHUNK_FLAG;
		s->metadata = reg.flags & XDP_UMEM_TX_METADATA_LEN ?
			      reg.tx_metadata_len : 0;
	}
	return err;
}

static __u32 ring_entries(struct actor *a)
{
	if (one_in(a, 32))
		return rnd64(a) >> (32 + rnd(a, 32));
	return rnd_power(a, one_in(a, 4) ? 0 : 6, 12);
}

static int ring_set(struct actor *a, int kind, __u32 entries)
{
	return result(setsockopt(a->s->fd, SOL_XDP, kinds[kind].option, &entries,
				 sizeof(entries)));
}

static int op_ring(struct actor *a)
{
	return ring_set(a, rnd(a, RINGS), ring_entries(a));
}

/* As large as the kernel's ring is, up to what is reserved here */
static int op_mmap(struct actor *a)
{
	int kind = rnd(a, RINGS), power, err = -EINVAL;
	struct fuzz_ring *r = &a->s->rings[kind];

	for (power = 12; err && power >= 0; power--) {
		err = ring_mmap(a->s, kind, 1U << power);
		if (!err)
			r->size = 1U << power;
	}
	return err;
}

static void rings_set(struct actor *a, bool own_pool)
{
	int kind;

	for (kind = RX; kind <= (own_pool ? COMP : TX); kind++) {
		__u32 entries = ring_entries(a);

		if (one_in(a, 32) || count_result(OP_RING, ring_set(a, kind, entries)))
			continue;
		if (entries > RING_MAX)
			entries = RING_MAX;
		if (!count_result(OP_MMAP, ring_mmap(a->s, kind, entries)))
			a->s->rings[kind].size = entries;
	}
}

static int op_attach(struct actor *a)
{
	static const __u32 modes[] = {
		0, 0, XDP_ATTACH_F_DRV_MODE, XDP_ATTACH_F_SKB_MODE,
	};
	struct xdp_attach attach = { .flags = modes[rnd(a, 4)] };
	socklen_t len = sizeof(attach);

	if (one_in(a, 4))
		attach.flags |= XDP_ATTACH_F_IF_NOEXIST;
	if (one_in(a, 2))
		attach.flags |= XDP_ATTACH_F_PASS;
	if (one_in(a, 16))
		attach.flags = XDP_ATTACH_F_OFF;
	if (one_in(a, 16))
		((__u32 *)&attach)[rnd(a, 4)] = rnd64(a) >> rnd(a, 64);
	if (one_in(a, 32))
		len = rnd(a, sizeof(attach));
	return result(setsockopt(a->s->fd, SOL_XDP, XDP_ATTACH, &attach, len));
}

static int op_inorder(struct actor *a)
{
	__u32 on = one_in(a, 16) ? rnd64(a) : !one_in(a, 8);
	int err = result(setsockopt(a->s->fd, SOL_XDP, XDP_TX_INORDER, &on,
				    sizeof(on)));

	if (!err)
		a->s->inorder = on;
	return err;
}

/* Count the modes that bind() has reached */
static void note_bound(struct actor *a)
{
	struct xdp_options options = {};
	struct xdp_attach attach = {};
	socklen_t len = sizeof(options);
	struct sock *s = a->s;

	s->bound = true;
	if (!getsockopt(s->fd, SOL_XDP, XDP_OPTIONS, &options, &len))
		s->zc = options.flags & XDP_OPTIONS_ZEROCOPY;
	if (s->zc)
		count(&totals->zc[s->dev]);
	if (s->inorder)
		count(&totals->inorder);
	len = sizeof(attach);
	if (!getsockopt(s->fd, SOL_XDP, XDP_ATTACH, &attach, &len) &&
	    attach.state == XDP_ATTACH_S_ACTIVE)
		count(&totals->attached);
}

static int op_bind(struct actor *a)
{
	struct sock *s = a->s, *share = s->share;
	struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_queue_id = s->queue,
	};
	int err;

	addr.sxdp_ifindex = if_nametoindex(devs[s->dev].name);
	if (share) {
		addr.sxdp_flags = XDP_SHARED_UMEM;
		addr.sxdp_shared_umem_fd = share->fd;
	} else {
		/* Only PCI devices have zero-copy */
		addr.sxdp_flags = one_in(a, 2) ? 0 : XDP_COPY;
		if (one_in(a, 16) || (devs[s->dev].pci[0] && !one_in(a, 4)))
			addr.sxdp_flags = XDP_ZEROCOPY;
		addr.sxdp_flags |= one_in(a, 2) ? XDP_USE_NEED_WAKEUP : 0;
		addr.sxdp_flags |= one_in(a, 4) ? XDP_USE_SG : 0;
	}
	if (one_in(a, 32))
		addr.sxdp_flags = rnd64(a) >> rnd(a, 64);
	if (one_in(a, 32))
		addr.sxdp_queue_id = rnd64(a) >> rnd(a, 64);
	if (one_in(a, 32))
		addr.sxdp_ifindex = rnd(a, 64);
	err = result(bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)));
	if (!err)
		note_bound(a);
	return err;
}

/* Mostly with a socket that has the same umem */
static int op_pair(struct actor *a)
{
	struct xdp_recycle recycle = { .fd = -1 };
	struct sock *other = sock_bound(a);
	int err, i;

	for (i = 0; i < SOCKS && (!other || other->umem != a->s->umem); i++)
		other = &socks[rnd(a, SOCKS)];
	if (other && !one_in(a, 8))
		recycle.fd = other->fd;
	if (one_in(a, 32))
		recycle.fd = rnd(a, 64);
	if (one_in(a, 4))
		recycle.flags = XDP_RECYCLE_F_CHECK;
	if (one_in(a, 32))
		recycle.flags = rnd64(a);
	if (one_in(a, 32))
		recycle.entry = rnd64(a);
	err = result(setsockopt(a->s->fd, SOL_XDP, XDP_RECYCLE, &recycle,
				sizeof(recycle)));
	if (!err && recycle.fd >= 0)
		count(&totals->paired);
	return err;
}

/* A socket that is likely to bind, on its own umem or that of another */
static int op_setup(struct actor *a)
{
	struct sock *s = a->s, *share = one_in(a, 2) ? sock_bound(a) : NULL;
	bool same_queue = share && one_in(a, 4);
	int err, tries = 0;

	if (do_op(a, OP_SOCKET))
		return 0;
	s->dev = same_queue ? share->dev : rnd(a, dev_count);
	s->queue = same_queue ? share->queue : rnd(a, one_in(a, 8) ? 6 : 2);
	s->share = share;
	if (share) {
		s->umem = share->umem;
		s->chunk = share->chunk;
		s->chunks = share->chunks;
		s->unaligned = share->unaligned;
		s->metadata = share->metadata;
	} else if (do_op(a, OP_UMEM)) {
		return 0;
	}
	rings_set(a, !same_queue);
	if (!one_in(a, 4))
		do_op(a, OP_ATTACH);
	if (!one_in(a, 3))
		do_op(a, OP_INORDER);
	if (one_in(a, 4))
		do_op(a, OP_SOCKOPT);
	do_op(a, OP_FILL);
	err = do_op(a, OP_BIND);
	/* The pool may be about to be released, or the other queue is free */
	for (; err == -EBUSY && tries < 2; tries++) {
		nap(2);
		s->queue = same_queue ? s->queue : rnd(a, 2);
		err = do_op(a, OP_BIND);
	}
	if (!err && s->inorder && s->zc)
		do_op(a, OP_PAIR);
	return 0;
}

static int op_query(struct actor *a)
{
	int option = one_in(a, 2) ? (int)rnd(a, 10) : 255 + (int)rnd(a, 7);
	socklen_t len = one_in(a, 4) ? rnd(a, 256) : 256;
	char value[256];

	return result(getsockopt(a->s->fd, SOL_XDP, option, value, &len));
}

static int op_sockopt(struct actor *a)
{
	static const int options[] = {
		SO_BUSY_POLL, SO_PREFER_BUSY_POLL, SO_BUSY_POLL_BUDGET,
		SO_SNDBUF,
	};
	int option = options[rnd(a, 4)], value = rnd(a, 65);

	if (option == SO_PREFER_BUSY_POLL)
		value = !one_in(a, 4);
	if (one_in(a, 16))
		value = rnd64(a);
	return result(setsockopt(a->s->fd, SOL_SOCKET, option, &value,
				 sizeof(value)));
}

/* Rings: valid and invalid use */

static __u32 *ring_producer(const struct sock *s, int kind)
{
	return (__u32 *)(s->rings[kind].map + offsets[kind].producer);
}

static __u32 *ring_consumer(const struct sock *s, int kind)
{
	return (__u32 *)(s->rings[kind].map + offsets[kind].consumer);
}

static void *ring_entry(const struct sock *s, int kind, __u32 index, __u32 size)
{
	return s->rings[kind].map + offsets[kind].desc +
		(index & (size - 1)) * kinds[kind].entry;
}

static __u32 ring_used(const struct sock *s, int kind)
{
	return __atomic_load_n(ring_producer(s, kind), __ATOMIC_ACQUIRE) -
		*ring_consumer(s, kind);
}

/* Number of entries to write: mostly no more than are free */
static __u32 ring_room(struct actor *a, const struct sock *s, int kind, __u32 size)
{
	__u32 used = *ring_producer(s, kind) -
		__atomic_load_n(ring_consumer(s, kind), __ATOMIC_ACQUIRE);
	__u32 want = 1 + rnd(a, one_in(a, 4) ? size : BURST);

	if (one_in(a, 64))
		return want;
	used = used > size ? size : used;
	return want < size - used ? want : size - used;
}

/* Chunks are chosen regardless of their owner: many are duplicates */
static __u64 rnd_addr(struct actor *a, const struct sock *s)
{
	__u32 chunk = s->chunk ?: 2048;
	__u64 addr = (__u64)rnd(a, s->chunks ?: 1) * chunk;

	if (one_in(a, 128))
		return rnd64(a) >> rnd(a, 64);
	if (one_in(a, 128))
		return (__u64)s->chunks * chunk - rnd(a, 64) + rnd(a, 64);
	if (s->unaligned && one_in(a, 2))
		return addr + rnd(a, chunk) +
			((__u64)rnd(a, chunk) << XSK_UNALIGNED_BUF_OFFSET_SHIFT);
	return one_in(a, 4) ? addr + rnd(a, chunk) : addr;
}

/* Write new entries to a ring and publish them */
static int ring_produce(struct actor *a, int kind,
			void (*make)(struct actor *a, void *entry))
{
	__u32 *producer = ring_producer(a->s, kind);
	__u32 size = a->s->rings[kind].size, n, i;

	if (!size)
		return -ENXIO;
	n = ring_room(a, a->s, kind, size);
	for (i = 0; i < n; i++)
		make(a, ring_entry(a->s, kind, *producer + i, size));
	__atomic_store_n(producer, *producer + n, __ATOMIC_RELEASE);
	return 0;
}

static void addr_make(struct actor *a, void *entry)
{
	*(__u64 *)entry = rnd_addr(a, a->s);
}

static int op_fill(struct actor *a)
{
	return ring_produce(a, FILL, addr_make);
}

/* UDP on IPv4, whose checksum a device can compute, or nearly that */
static void request_make(struct actor *a, char *packet, __u32 len)
{
	static const char header[34] = { [12] = 8, [14] = 0x45, [23] = 17 };
	struct xsk_tx_metadata *meta = (void *)(packet - a->s->metadata);

	memcpy(packet, header, sizeof(header));
	packet[16] = (len - ETH_HLEN) >> 8;
	packet[17] = len - ETH_HLEN;
	if (one_in(a, 4))
		packet[rnd(a, 50)] ^= 1 << rnd(a, 8);
	meta->flags = one_in(a, 16) ? rnd64(a) : XDP_TXMD_FLAGS_CHECKSUM;
	meta->request.csum_start = one_in(a, 8) ? rnd64(a) : 34;
	meta->request.csum_offset = one_in(a, 8) ? rnd(a, 100) : 6;
}

static void metadata_make(struct actor *a, struct xdp_desc *d)
{
	const __u64 at = (d->addr & XSK_UNALIGNED_BUF_ADDR_MASK) +
			 (d->addr >> XSK_UNALIGNED_BUF_OFFSET_SHIFT);

	d->options = XDP_TX_METADATA;
	if (at >= a->s->metadata && at + 64 <= UMEM_MAX)
		request_make(a, umems[a->s->umem] + at, d->len);
}

static void desc_make(struct actor *a, void *entry)
{
	struct xdp_desc *d = entry;

	d->addr = rnd_addr(a, a->s);
	d->len = ETH_HLEN + rnd(a, 1501);
	d->options = 0;
	if (a->s->metadata && one_in(a, 2))
		metadata_make(a, d);
	if (one_in(a, 64))
		d->len = rnd64(a) >> (32 + rnd(a, 32));
	if (one_in(a, 32))
		d->options = XDP_PKT_CONTD;
	if (one_in(a, 64))
		d->options = one_in(a, 2) ? XDP_TX_METADATA : rnd64(a);
}

static int op_tx(struct actor *a)
{
	return ring_produce(a, TX, desc_make);
}

/* Copy received descriptors to a Tx ring, or addresses to the fill ring */
static __u32 ring_move(const struct sock *from, int kind, struct sock *to,
		       __u32 most)
{
	int out = kind == RX && to != from ? TX : FILL;
	__u32 size = from->rings[kind].size, room = to->rings[out].size;
	__u32 consumer = *ring_consumer(from, kind);
	__u32 producer = *ring_producer(to, out), i;

	for (i = 0; room && i < most; i++) {
		void *in = ring_entry(from, kind, consumer + i, size);
		void *entry = ring_entry(to, out, producer + i, room);

		if (out == TX)
			memcpy(entry, in, sizeof(struct xdp_desc));
		else
			memcpy(entry, in, sizeof(__u64));
	}
	if (room)
		__atomic_store_n(ring_producer(to, out), producer + i,
				 __ATOMIC_RELEASE);
	return most;
}

static int op_take(struct actor *a)
{
	int kind = one_in(a, 3) ? COMP : RX;
	struct sock *s = a->s, *to = s;
	__u32 used, size = s->rings[kind].size;

	if (!size)
		return -ENXIO;
	used = ring_used(s, kind);
	if (!used)
		return -EAGAIN;
	used = used < size ? used : size;
	if (kind == RX && !one_in(a, 3))
		to = &socks[rnd(a, SOCKS)];
	/* The others are leaked until they are posted at random */
	if (to->umem == s->umem && !one_in(a, 8))
		used = ring_move(s, kind, to, used < BURST ? used : BURST);
	__atomic_store_n(ring_consumer(s, kind),
			 *ring_consumer(s, kind) + used, __ATOMIC_RELEASE);
	return 0;
}

static int op_index(struct actor *a)
{
	int kind = rnd(a, RINGS);
	__u32 size = a->s->rings[kind].size, by, *index;

	if (!size)
		return -ENXIO;
	index = one_in(a, 2) ? ring_producer(a->s, kind) :
			       ring_consumer(a->s, kind);
	by = 1 + rnd(a, one_in(a, 2) ? 2 : size);
	if (one_in(a, 8))
		by = rnd64(a);
	*index += one_in(a, 2) ? by : -by;
	return 0;
}

/* System calls of the data path */

static int op_send(struct actor *a)
{
	return result(sendto(a->s->fd, NULL, 0, MSG_DONTWAIT, NULL, 0));
}

static int op_recv(struct actor *a)
{
	return result(recvfrom(a->s->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL));
}

static int op_poll(struct actor *a)
{
	struct pollfd fds[SOCKS];
	__u32 n = 1 + rnd(a, SOCKS), i;

	for (i = 0; i < n; i++) {
		fds[i].fd = socks[rnd(a, SOCKS)].fd;
		fds[i].events = rnd(a, 4) == 0 ? POLLIN | POLLOUT :
				one_in(a, 2) ? POLLIN : POLLOUT;
	}
	fds[0].fd = a->s->fd;
	return result(poll(fds, n, one_in(a, 4) ? rnd(a, 10) : 0));
}

static int op_xskmap(struct actor *a)
{
	__u32 queue = one_in(a, 4) ? rnd(a, MAP_QUEUES) : a->s->queue;
	int fd = a->s->fd;

	if (one_in(a, 4))
		return result(bpf_map_delete_elem(xskmap, &queue));
	return result(bpf_map_update_elem(xskmap, &queue, &fd, 0));
}

static int op_diag(struct actor *a)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	char buf[8192];
	int err, len;

	err = diag_ask(fd, one_in(a, 4) ? rnd64(a) : ~0U);
	while (!err) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

		len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < (int)sizeof(*nlh) || nlh->nlmsg_type == NLMSG_DONE)
			break;
		if (nlh->nlmsg_type == NLMSG_ERROR)
			err = ((struct nlmsgerr *)NLMSG_DATA(nlh))->error;
	}
	close(fd);
	return err;
}

/* Also of a queue that does not exist */
static int op_queue(struct actor *a)
{
	struct queue_info q;

	return queue_get(&q, rnd_dev(a)->name, rnd(a, QUEUES + 1), rnd(a, 2));
}

/* Closed while it is in flight; then received again, or dropped with the queue */
static int op_pass_fd(struct actor *a)
{
	int pair[2], fd = a->s->fd, err;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = fds_send(pair[0], &fd, 1, MSG_DONTWAIT) ? 0 : -errno;
	fd_replace(a->s, -1);
	if (!err && !one_in(a, 4))
		fd_replace(a->s, fds_recv(pair[1], &fd, 1, MSG_DONTWAIT |
					  MSG_CMSG_CLOEXEC) ? fd : -1);
	else
		sock_close(a->s);
	close(pair[0]);
	close(pair[1]);
	return err;
}

/* A child uses the sockets, too, and is killed meanwhile */
static int op_fork(struct actor *a)
{
	static const int child_ops[] = {
		OP_FILL, OP_TX, OP_TAKE, OP_SEND, OP_RECV, OP_POLL, OP_CLOSE,
	};
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!__atomic_load_n(&totals->stop, __ATOMIC_RELAXED)) {
			int id = child_ops[rnd(a, ARRAY_SIZE(child_ops))];

			a->s = sock_pick(a, id);
			do_op(a, id);
		}
		_exit(0);
	}
	usleep(rnd(a, 5000));
	if (one_in(a, 2))
		sock_close(a->s);
	kill(pid, SIGKILL);
	return result(waitpid(pid, NULL, 0));
}

static int op_unmap(struct actor *a)
{
	__u32 umem = a->s->umem;

	if (one_in(a, 2)) {
		ring_munmap(&a->s->rings[rnd(a, RINGS)]);
		return 0;
	}
	umem_len[umem] = 0;
	mem_reserve(umems[umem], UMEM_MAX);
	return 0;
}

static int op_close(struct actor *a)
{
	sock_close(a->s);
	return 0;
}

/* The administrator */

static int dev_up(const char *name, bool up)
{
	struct ifreq ifr = { .ifr_flags = IFF_PROMISC | (up ? IFF_UP : 0) };

	return dev_ioctl(name, SIOCSIFFLAGS, &ifr);
}

static int op_flap(struct actor *a)
{
	const char *name = rnd_dev(a)->name;
	int err = dev_up(name, false);

	nap(rnd(a, 30));
	return err ?: dev_up(name, true);
}

static int op_ringparam(struct actor *a)
{
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };
	const char *name = rnd_dev(a)->name;
	int err = dev_ethtool(name, &rings);

	rings.cmd = ETHTOOL_SRINGPARAM;
	rings.rx_pending = rnd_power(a, 6, 12);
	rings.tx_pending = rnd_power(a, 6, 12);
	return err ?: dev_ethtool(name, &rings);
}

static int op_channels(struct actor *a)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	const char *name = rnd_dev(a)->name;
	int err = dev_ethtool(name, &channels);

	channels.cmd = ETHTOOL_SCHANNELS;
	if (channels.max_combined)
		channels.combined_count = 1 + rnd(a, QUEUES);
	if (channels.max_rx)
		channels.rx_count = 1 + rnd(a, QUEUES);
	if (channels.max_tx)
		channels.tx_count = 1 + rnd(a, QUEUES);
	return err ?: dev_ethtool(name, &channels);
}

static int op_mtu(struct actor *a)
{
	static const int mtus[] = { 68, 1280, 1500, 1500, 2000, 3000, 9000 };
	struct ifreq ifr = { .ifr_mtu = mtus[rnd(a, 7)] };

	return dev_ioctl(rnd_dev(a)->name, SIOCSIFMTU, &ifr);
}

/* Some drivers reset the port for these */
static int op_flags(struct actor *a)
{
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	const char *name = rnd_dev(a)->name;
	int err = dev_ethtool(name, &flags);

	flags.cmd = ETHTOOL_SFLAGS;
	flags.data ^= one_in(a, 2) ? ETH_FLAG_NTUPLE : ETH_FLAG_LRO;
	return err ?: dev_ethtool(name, &flags);
}

/* A packet socket that receives nothing: its buffer fills up */
static int op_capture(struct actor *a)
{
	const char *name = rnd_dev(a)->name;
	int err = dev_capture(name, true);
	struct stack s;

	if (err)
		return err;
	err = stack_open(&s, one_in(a, 2) ? name : "");
	nap(rnd(a, 200));
	stack_close(&s);
	return err ?: dev_capture(name, one_in(a, 4));
}

static int op_selftest(struct actor *a)
{
	struct {
		struct ethtool_test test;
		__u64 data[64];
	} arg = {
		.test.cmd = ETHTOOL_TEST,
		.test.flags = ETH_TEST_FL_OFFLINE,
	};

	return dev_ethtool(rnd_dev(a)->name, &arg);
}

static __u32 xdp_mode(struct actor *a)
{
	return one_in(a, 3) ? XDP_FLAGS_SKB_MODE :
	       one_in(a, 8) ? 0 : XDP_FLAGS_DRV_MODE;
}

static int op_prog(struct actor *a)
{
	int fd = one_in(a, 3) || !prog_count ? -1 : progs[rnd(a, prog_count)];
	__u32 ifindex = if_nametoindex(rnd_dev(a)->name);

	return bpf_xdp_attach(ifindex, fd, xdp_mode(a), NULL);
}

static int op_link(struct actor *a)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = xdp_mode(a));
	__u32 ifindex = if_nametoindex(rnd_dev(a)->name);
	int fd;

	if (!prog_count)
		return -EPERM;
	fd = bpf_link_create(progs[rnd(a, prog_count)], ifindex, BPF_XDP, &opts);
	if (fd < 0)
		return fd;
	nap(rnd(a, 100));
	if (one_in(a, 2))
		bpf_link_update(fd, progs[rnd(a, prog_count)], NULL);
	close(fd);
	return 0;
}

static int netns_move(const char *name, int from, int to)
{
	struct {
		struct nlmsghdr nlh;
		struct ifinfomsg ifi;
		struct nlattr name_attr;
		char name[IFNAMSIZ];
		struct nlattr ns_attr;
		__u32 ns;
	} msg = {
		.nlh.nlmsg_len = sizeof(msg),
		.nlh.nlmsg_type = RTM_SETLINK,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.name_attr = { NLA_HDRLEN + IFNAMSIZ, IFLA_IFNAME },
		.ns_attr = { NLA_HDRLEN + sizeof(__u32), IFLA_NET_NS_FD },
		.ns = netns[to],
	};
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char rest[512];
	} answer = {};

	snprintf(msg.name, sizeof(msg.name), "%s", name);
	if (send(rtnl[from], &msg, sizeof(msg), 0) < 0 ||
	    recv(rtnl[from], &answer, sizeof(answer), 0) < 0)
		return -errno;
	return answer.err.error;
}

static int op_move(struct actor *a)
{
	const struct dev *dev = rnd_dev(a);
	int err = netns_move(dev->name, 0, 1);

	if (err)
		return err;
	nap(rnd(a, 20));
	err = netns_move(dev->name, 1, 0);
	return err ?: dev_up(dev->name, true);
}

static int op_enslave(struct actor *a)
{
	unsigned long request = one_in(a, 2) ? SIOCBONDENSLAVE : SIOCBONDRELEASE;
	struct ifreq ifr = {};

	if (request == SIOCBONDENSLAVE)
		dev_up("fz_slave", false);
	snprintf(ifr.ifr_slave, sizeof(ifr.ifr_slave), "fz_slave");
	return dev_ioctl("fz_bond", request, &ifr);
}

static int op_tap_queue(struct actor *a)
{
	struct ifreq ifr = {
		.ifr_flags = one_in(a, 2) ? IFF_DETACH_QUEUE : IFF_ATTACH_QUEUE,
	};
	struct dev *dev = rnd_tap(a);

	if (!dev)
		return -ENODEV;
	return result(ioctl(dev->taps[rnd(a, QUEUES)], TUNSETQUEUE, &ifr));
}

static int op_defer(struct actor *a)
{
	const char *name = rnd_dev(a)->name;
	bool on = one_in(a, 2);
	char path[128];
	int err;

	snprintf(path, sizeof(path), "/sys/class/net/%s/gro_flush_timeout", name);
	err = write_file(path, on ? "200000" : "0");
	snprintf(path, sizeof(path), "/sys/class/net/%s/napi_defer_hard_irqs",
		 name);
	return err ?: write_file(path, on ? "2" : "0");
}

static int op_rebind(struct actor *a)
{
	const struct dev *dev = rnd_dev(a);
	char path[128];
	int err;

	if (!dev->pci[0])
		return -ENODEV;
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/unbind",
		 dev->driver);
	err = write_file(path, dev->pci);
	nap(rnd(a, 50));
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/bind",
		 dev->driver);
	err = err ?: write_file(path, dev->pci);
	return err ?: dev_up(dev->name, true);
}

/* Traffic */

/* Broadcast UDP of many flows, sometimes with random headers */
static __u32 frame_make(struct actor *a, __u8 *frame)
{
	static const __u8 header[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 0,
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0,
		192, 0, 2, 1, 192, 0, 2, 255,
	};
	__u32 len = 60 + rnd(a, 1455), ports = rnd64(a), i;

	if (one_in(a, 16))
		len = ETH_HLEN + rnd(a, 9000);
	memcpy(frame, header, sizeof(header));
	frame[16] = (len - ETH_HLEN) >> 8;
	frame[17] = len - ETH_HLEN;
	memcpy(frame + sizeof(header), &ports, sizeof(ports));
	if (one_in(a, 16))
		for (i = 0; i < 40; i++)
			frame[i] = rnd64(a);
	return len;
}

static int op_raw(struct actor *a)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = if_nametoindex(rnd_dev(a)->name),
	};
	__u32 n = 1 + rnd(a, BURST), len;
	__u8 frame[9216] = {};
	int err = 0;

	len = frame_make(a, frame);
	while (n-- && !err)
		err = result(sendto(a->packet, frame, len, MSG_DONTWAIT,
				    (struct sockaddr *)&to, sizeof(to)));
	return err;
}

static int op_tap(struct actor *a)
{
	struct dev *dev = rnd_tap(a);
	__u32 n = 1 + rnd(a, BURST), len;
	__u8 frame[9216] = {};
	int err = 0, fd;

	if (!dev)
		return -ENODEV;
	fd = dev->taps[rnd(a, QUEUES)];
	while (read(fd, frame, sizeof(frame)) > 0)
		;
	len = frame_make(a, frame);
	while (n-- && !err)
		err = result(write(fd, frame, len));
	return err;
}

/* Weights of one role are relative to each other */
static struct op ops[OPS] = {
	[OP_SETUP] = { "setup", 8, WORKER, false, op_setup },
	[OP_SOCKET] = { "socket", 1, WORKER, false, op_socket },
	[OP_UMEM] = { "umem", 2, WORKER, false, op_umem },
	[OP_RING] = { "ring", 2, WORKER, false, op_ring },
	[OP_MMAP] = { "mmap", 1, WORKER, false, op_mmap },
	[OP_ATTACH] = { "attach", 2, WORKER, false, op_attach },
	[OP_INORDER] = { "inorder", 2, WORKER, false, op_inorder },
	[OP_BIND] = { "bind", 4, WORKER, false, op_bind },
	[OP_PAIR] = { "pair", 30, WORKER, false, op_pair },
	[OP_QUERY] = { "query", 20, WORKER, false, op_query },
	[OP_SOCKOPT] = { "sockopt", 20, WORKER, false, op_sockopt },
	[OP_FILL] = { "fill", 150, WORKER, true, op_fill },
	[OP_TX] = { "tx", 150, WORKER, true, op_tx },
	[OP_TAKE] = { "take", 200, WORKER, true, op_take },
	[OP_INDEX] = { "index", 4, WORKER, true, op_index },
	[OP_SEND] = { "send", 150, WORKER, false, op_send },
	[OP_RECV] = { "recv", 100, WORKER, false, op_recv },
	[OP_POLL] = { "poll", 100, WORKER, false, op_poll },
	[OP_XSKMAP] = { "xskmap", 10, WORKER, false, op_xskmap },
	[OP_DIAG] = { "diag", 4, WORKER, false, op_diag },
	[OP_QUEUE] = { "queue", 4, WORKER, false, op_queue },
	[OP_PASS_FD] = { "pass-fd", 2, WORKER, false, op_pass_fd },
	[OP_FORK] = { "fork", 2, WORKER, false, op_fork },
	[OP_UNMAP] = { "unmap", 1, WORKER, false, op_unmap },
	[OP_CLOSE] = { "close", 3, WORKER, false, op_close },

	[OP_FLAP] = { "flap", 10, ADMIN, false, op_flap },
	[OP_RINGPARAM] = { "ringparam", 10, ADMIN, false, op_ringparam },
	[OP_CHANNELS] = { "channels", 10, ADMIN, false, op_channels },
	[OP_MTU] = { "mtu", 10, ADMIN, false, op_mtu },
	[OP_FLAGS] = { "flags", 5, ADMIN, false, op_flags },
	[OP_CAPTURE] = { "capture", 10, ADMIN, false, op_capture },
	[OP_SELFTEST] = { "selftest", 1, ADMIN, false, op_selftest },
	[OP_PROG] = { "prog", 20, ADMIN, false, op_prog },
	[OP_LINK] = { "link", 10, ADMIN, false, op_link },
	[OP_MOVE] = { "move", 10, ADMIN, false, op_move },
	[OP_ENSLAVE] = { "enslave", 5, ADMIN, false, op_enslave },
	[OP_TAP_QUEUE] = { "tap-queue", 5, ADMIN, false, op_tap_queue },
	[OP_DEFER] = { "defer", 5, ADMIN, false, op_defer },
	[OP_REBIND] = { "rebind", 4, ADMIN, false, op_rebind },

	[OP_RAW] = { "raw", 10, TRAFFIC, false, op_raw },
	[OP_TAP] = { "tap", 10, TRAFFIC, false, op_tap },
};

/* Threads and processes */

static void *actor_run(void *arg)
{
	struct actor *a = arg;
	__u64 number;
	int id;

	for (number = 0; !__atomic_load_n(&totals->stop, __ATOMIC_RELAXED); number++) {
		a->rng = mix(a->stream + number);
		id = pick_op(a);
		if (id < 0)
			break;
		a->s = sock_pick(a, id);
		do_op(a, id);
		/* Give sockets time to reach zero-copy and pairing */
		if (a->role == ADMIN)
			nap(20 + rnd(a, 100));
		else if (a->role == TRAFFIC)
			usleep(rnd(a, 1000));
	}
	return NULL;
}

static void process_run(enum role role, __u64 stream)
{
	int threads = role == ADMIN ? 1 : THREADS, i;
	struct actor actors[THREADS] = {};
	pthread_t ids[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (role == WORKER && mem_init())
		_exit(1);
	for (i = 0; i < threads; i++) {
		actors[i].role = role;
		actors[i].stream = mix(stream + i);
		actors[i].packet = role == TRAFFIC ?
			socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;
		if (pthread_create(&ids[i], NULL, actor_run, &actors[i]))
			_exit(1);
	}
	for (i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	_exit(0);
}

/* The next generation of a killed worker has operations of its own */
static pid_t process_start(enum role role, int number, __u32 generation)
{
	__u64 stream = mix(seed) ^ mix(role * 1000003ULL + number * 1009ULL +
				       ((__u64)generation << 32));
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		process_run(role, stream);
	return pid;
}

/* Return: number of processes that do not end although they are killed */
static int processes_end(pid_t *pids, int n)
{
	long long deadline = now_ms() + END_MS;
	int left = n, i;

	__atomic_store_n(&totals->stop, 1, __ATOMIC_RELAXED);
	while (left && now_ms() < deadline) {
		nap(50);
		for (i = left = 0; i < n; i++) {
			if (pids[i] <= 0)
				continue;
			/* The administrator leaves the devices in place */
			if (i > 0 && deadline - now_ms() < END_MS - 5000)
				kill(pids[i], SIGKILL);
			if (waitpid(pids[i], NULL, WNOHANG) == pids[i])
				pids[i] = 0;
			else
				left++;
		}
	}
	return left;
}

/* The administrator is process 0, traffic 1, then the workers */
static int fuzz(int workers, int seconds)
{
	long long end = now_ms() + 1000LL * seconds;
	__u32 generations[PROCESSES] = {};
	struct actor a = { .rng = mix(seed) };
	pid_t pids[PROCESSES];
	int n = workers + 2, i;

	pids[0] = process_start(ADMIN, 0, 0);
	pids[1] = process_start(TRAFFIC, 0, 0);
	for (i = 2; i < n; i++)
		pids[i] = process_start(WORKER, i, 0);
	while (now_ms() < end) {
		nap(1000 + rnd(&a, 8000));
		i = 2 + rnd(&a, workers);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		count(&totals->killed);
		pids[i] = process_start(WORKER, i, ++generations[i]);
	}
	return processes_end(pids, n);
}

/* Devices, namespaces, programs */

static void dev_add(const char *name)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct dev *dev = &devs[dev_count];
	char path[128], link[PATH_MAX];
	int i;

	if (dev_count == DEVS)
		return;
	dev_count++;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	for (i = 0; i < QUEUES; i++)
		dev->taps[i] = -1;
	dev_up(name, true);
	dev_ethtool(name, &info);
	snprintf(dev->driver, sizeof(dev->driver), "%s", info.driver);
	snprintf(path, sizeof(path), "/sys/class/net/%s/device", name);
	if (realpath(path, link) && strstr(link, "/pci"))
		snprintf(dev->pci, sizeof(dev->pci), "%s", basename(link));
}

static int tap_add(const char *name, int flags)
{
	struct ifreq ifr = { .ifr_flags = flags };
	int fds[QUEUES], i;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	for (i = 0; i < QUEUES; i++) {
		fds[i] = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fds[i] < 0 || ioctl(fds[i], TUNSETIFF, &ifr))
			return complain(-errno, "tap device %s", name);
	}
	dev_add(name);
	memcpy(devs[dev_count - 1].taps, fds, sizeof(fds));
	return 0;
}

static int veth_add(const char *one, const char *two)
{
	char queues[48];
	int err;

	snprintf(queues, sizeof(queues), "numrxqueues %u numtxqueues %u", QUEUES,
		 QUEUES);
	err = run("ip link add %s %s type veth peer name %s %s", one, queues,
		  two, queues);
	if (!err) {
		dev_add(one);
		dev_add(two);
	}
	return err;
}

static int bond_add(void)
{
	int err = run("ip link add fz_bond type bond");

	err = err ?: veth_add("fz_slave", "fz_peer");
	err = err ?: run("ip link set fz_slave down master fz_bond");
	if (!err)
		dev_add("fz_bond");
	return err;
}

static int dummy_add(void)
{
	int err = run("ip link add fz_dummy numrxqueues %u type dummy", QUEUES);

	if (!err)
		dev_add("fz_dummy");
	return err;
}

/* Return: 0, -ENODEV if this is not a kind of device, or another error */
static int dev_create(const char *kind)
{
	int flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;

	if (!strcmp(kind, "veth"))
		return veth_add("fz_veth0", "fz_veth1");
	if (!strcmp(kind, "bond"))
		return bond_add();
	if (!strcmp(kind, "dummy"))
		return dummy_add();
	if (!strcmp(kind, "tap"))
		return tap_add("fz_tap", flags) ?:
			tap_add("fz_napi", flags | IFF_NAPI);
	return -ENODEV;
}

static int devs_init(const char * const *names, int n)
{
	static const char * const all[] = { "veth", "bond", "dummy", "tap" };
	int i, err;

	if (!n) {
		names = all;
		n = ARRAY_SIZE(all);
	}
	for (i = 0; i < n; i++) {
		err = dev_create(names[i]);
		if (err == -ENODEV && if_nametoindex(names[i]))
			dev_add(names[i]);
		else if (err)
			return complain(err, "device %s", names[i]);
	}
	dev_add("lo");
	return 0;
}

/* Become root in a new user namespace, without privileges elsewhere */
static int user_init(void)
{
	if (!getuid() && !become_nobody())
		return complain(-errno, "become an ordinary user");
	return user_ns_enter() ? 0 : complain(-errno, "user namespace");
}

/* A second network namespace, to which devices are moved and back */
static int netns_init(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (i && unshare(CLONE_NEWNET))
			return complain(-errno, "second network namespace");
		netns[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		rtnl[i] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				 NETLINK_ROUTE);
		if (netns[i] < 0 || rtnl[i] < 0)
			return complain(-errno, "rtnetlink");
	}
	return setns(netns[0], CLONE_NEWNET) ? complain(-errno, "setns") : 0;
}

/* A program that returns an action, or redirects to a device */
static void prog_add(__s32 value, bool redirect)
{
	const struct bpf_insn insns[] = {
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, value },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .prog_flags = prog_count % 2 ? BPF_F_XDP_HAS_FRAGS : 0);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "xsk_fuzz", "GPL",
			       redirect ? insns : insns + 4, redirect ? 4 : 2,
			       &opts);

	if (fd >= 0)
		progs[prog_count++] = fd;
}

static int progs_init(void)
{
	struct xsk_test_progs *skel = xsk_test_progs__open();
	struct bpf_program *prog;
	__u32 i;

	if (!skel)
		return complain(-errno, "programs");
	bpf_map__set_max_entries(skel->maps.sockets, MAP_QUEUES);
	bpf_program__set_flags(skel->progs.xsk_map, BPF_F_XDP_HAS_FRAGS);
	bpf_program__set_autoload(skel->progs.xsk_redirect, true);
	if (xsk_test_progs__load(skel))
		return complain(-errno, "load programs");
	xskmap = bpf_map__fd(skel->maps.sockets);
	bpf_object__for_each_program(prog, skel->obj)
		if (bpf_program__fd(prog) >= 0 &&
		    !bpf_program__expected_attach_type(prog))
			progs[prog_count++] = bpf_program__fd(prog);
	prog_add(XDP_TX, false);
	for (i = 0; i < dev_count; i++)
		prog_add(if_nametoindex(devs[i].name), true);
	return 0;
}

static int offsets_init(void)
{
	int fd = socket(AF_XDP, SOCK_RAW, 0), err;
	struct xdp_mmap_offsets found;
	socklen_t len = sizeof(found);

	err = result(getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &found, &len));
	close(fd);
	offsets[RX] = found.rx;
	offsets[TX] = found.tx;
	offsets[FILL] = found.fr;
	offsets[COMP] = found.cr;
	return err ? complain(err, "offsets of rings") : 0;
}

static int process_init(void)
{
	struct sigaction action = { .sa_handler = on_fault };

	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED)
		return complain(-errno, "memory");
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	return offsets_init();
}

/* The end */

static void print_op(const struct op *op, const __u64 *results)
{
	int err;

	printf("%-10s", op->name);
	for (err = 0; err < ERRNOS; err++)
		if (results[err])
			printf(" %s %llu", err ? strerrorname_np(err) : "ok",
			       (unsigned long long)results[err]);
	putchar('\n');
}

static void print_totals(void)
{
	__u32 id;

	for (id = 0; id < OPS; id++)
		print_op(&ops[id], totals->results[id]);
	for (id = 0; id < dev_count; id++)
		printf("zero-copy %s %s %llu\n", devs[id].name, devs[id].driver,
		       (unsigned long long)totals->zc[id]);
	printf("attached %llu\nin-order %llu\npaired %llu\nkilled %llu\n",
	       (unsigned long long)totals->attached,
	       (unsigned long long)totals->inorder,
	       (unsigned long long)totals->paired,
	       (unsigned long long)totals->killed);
}

/*
 * struct config - the command line
 * @devs: names of --dev
 */
struct config {
	int seconds, workers, dev_count;
	bool unprivileged;
	const char *devs[DEVS];
};

/* Operations of which others consist are left out there, too */
static int op_nothing(struct actor *a)
{
	(void)a;
	return -ECANCELED;
}

static int without(const char *name)
{
	int id;

	for (id = 0; id < OPS; id++) {
		if (!strcmp(ops[id].name, name)) {
			ops[id].weight = 0;
			ops[id].run = op_nothing;
			return 0;
		}
	}
	return -EINVAL;
}

static int usage(void)
{
	fputs("xsk_fuzz [--seed N] [--seconds N] [--workers N] [--unprivileged]\n"
	      "         [--dev NAME | --dev veth | --dev bond | --dev dummy | --dev tap]...\n"
	      "         [--without OPERATION]...\n", stderr);
	return -EINVAL;
}

static int parse(int argc, char **argv, struct config *c)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "workers", required_argument, NULL, 'w' },
		{ "unprivileged", no_argument, NULL, 'u' },
		{ "dev", required_argument, NULL, 'd' },
		{ "without", required_argument, NULL, 'x' },
		{ }
	};
	int opt, err = 0;

	while (!err && (opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 't')
			c->seconds = atoi(optarg);
		else if (opt == 'w')
			c->workers = atoi(optarg);
		else if (opt == 'u')
			c->unprivileged = true;
		else if (opt == 'd' && c->dev_count < DEVS)
			c->devs[c->dev_count++] = optarg;
		else if (opt != 'x' || without(optarg))
			err = -EINVAL;
	}
	if (err || optind < argc || c->workers < 1 || c->workers > PROCESSES - 2)
		return usage();
	return 0;
}

static int init(struct config *c)
{
	int err = 0;

	/* Interfaces of --dev are in the current network namespace */
	if (c->unprivileged)
		err = user_init();
	else if (!c->dev_count)
		err = netns_enter();
	err = err ?: netns_init();
	err = err ?: process_init();
	err = err ?: devs_init(c->devs, c->dev_count);
	if (!err && !c->unprivileged)
		err = progs_init();
	return err;
}

int main(int argc, char **argv)
{
	struct config c = { .seconds = 60, .workers = 4 };
	int err, left;

	seed = now_ms() ^ ((__u64)getpid() << 32);
	err = parse(argc, argv, &c);
	if (err)
		return 2;
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	if (init(&c))
		return 1;
	libbpf_set_print(NULL);
	left = fuzz(c.workers, c.seconds);
	print_totals();
	if (left)
		printf("%d processes do not end\n", left);
	return !!left;
}
