// SPDX-License-Identifier: GPL-2.0
/*
 * In-order Tx completion with two threads: XDP_TX_INORDER, no completion ring,
 * no library. One thread produces frames, the other reclaims their buffers, and
 * they share only the Tx ring, with three free-running indices:
 *
 *       taken back   <=   consumer   <=   producer   <=   taken back + SLOTS
 *         the reclaimer     the kernel      the producer
 */
#include <poll.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <linux/if_xdp.h>
#include "xsk_fastpath.h"

#define SLOTS		1024		/* ring entries, frames in flight */
#define CHUNK_SIZE	2048
#define FRAME_LEN	60
#define BATCH		32

/* Packet memory, page-aligned, in chunks that each hold one frame */
static alignas(4096) unsigned char area[SLOTS * CHUNK_SIZE];
static struct xdp_desc *slots;
static __u32 *producer, *consumer;
static int fd;

/*
 * Free chunks, from the reclaimer to the producer. One per ring entry, so that
 * the order of the ring is the only synchronization needed.
 */
static __u64 chunks[SLOTS];
static __u32 taken_back;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void set_option(int option, const void *value, socklen_t len)
{
	if (setsockopt(fd, SOL_XDP, option, value, len)) {
		fprintf(stderr, "option %d of AF_XDP, ", option);
		die("setsockopt");
	}
}

/* Read an index of another thread, and the data written before it */
static __u32 load(const __u32 *index)
{
	return __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

static void store(__u32 *index, __u32 value)
{
	__atomic_store_n(index, value, __ATOMIC_RELEASE);
}

/* Thread 1: write frames into free chunks and send them */
static void produce(__u32 count)
{
	__u32 i, n, next = 0;

	while (next != count) {
		n = SLOTS - (next - load(&taken_back));
		if (n > BATCH)
			n = BATCH;
		if (n > count - next)
			n = count - next;
		for (i = 0; i < n; i++, next++) {
			struct xdp_desc *desc = &slots[next % SLOTS];

			desc->addr = chunks[next % SLOTS];
			desc->len = FRAME_LEN;
			desc->options = 0;
			memcpy(area + desc->addr + 14, &next, sizeof(next));
		}
		/* the kernel may read the entries once it sees the index */
		store(producer, next);
		/* retry on errors, which can be transient (device ring full) */
		sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
	}
}

/* Thread 2: reclaim the buffers of completed frames, in transmission order */
static void *reclaim(void *arg)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	__u32 count = *(__u32 *)arg, seen = 0, n;

	while (seen != count) {
		n = xsk_fastpath__tx_completed(consumer, seen);
		/* nothing new: sleep; poll() also transmits pending frames */
		if (!n)
			poll(&wait, 1, 1);
		for (; n; n--, seen++)
			/* the descriptor still has the chunk's address */
			chunks[seen % SLOTS] = slots[seen % SLOTS].addr;
		store(&taken_back, seen);
	}
	return NULL;
}

static void map_tx_ring(void)
{
	struct xdp_mmap_offsets offsets;
	socklen_t len = sizeof(offsets);
	char *base;

	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len))
		die("XDP_MMAP_OFFSETS");
	base = mmap(NULL, offsets.tx.desc + SLOTS * sizeof(*slots),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		    XDP_PGOFF_TX_RING);
	if (base == MAP_FAILED)
		die("mapping the Tx ring");
	producer = (__u32 *)(base + offsets.tx.producer);
	consumer = (__u32 *)(base + offsets.tx.consumer);
	slots = (struct xdp_desc *)(base + offsets.tx.desc);
}

int main(int argc, char **argv)
{
	struct sockaddr_xdp addr = { .sxdp_family = AF_XDP };
	struct xdp_umem_reg umem = { .len = sizeof(area),
				     .chunk_size = CHUNK_SIZE };
	__u32 i, size = SLOTS, count = argc > 3 ? atoi(argv[3]) : 10000;
	pthread_t reclaimer;

	if (argc < 2) {
		puts("usage: xsk_inorder_example INTERFACE [QUEUE [COUNT]]");
		return 2;
	}
	addr.sxdp_ifindex = if_nametoindex(argv[1]);
	addr.sxdp_queue_id = argc > 2 ? atoi(argv[2]) : 0;
	for (i = 0; i < SLOTS; i++) {
		chunks[i] = (__u64)i * CHUNK_SIZE;
		memset(area + chunks[i], 0xff, 12);	/* broadcast */
		memcpy(area + chunks[i] + 12, "\x88\xb5", 2);
	}

	fd = socket(AF_XDP, SOCK_RAW, 0);
	if (fd < 0)
		die("socket");
	umem.addr = (unsigned long)area;
	set_option(XDP_UMEM_REG, &umem, sizeof(umem));
	/* bind() requires a fill ring, but no completion ring */
	set_option(XDP_UMEM_FILL_RING, &size, sizeof(size));
	set_option(XDP_TX_RING, &size, sizeof(size));
	if (xsk_fastpath__tx_inorder(fd, 1))
		die("XDP_TX_INORDER");
	map_tx_ring();
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("bind (see linux/if_xdp_fastpath.h for errors)");

	if (pthread_create(&reclaimer, NULL, reclaim, &count))
		die("thread");
	produce(count);
	pthread_join(reclaimer, NULL);
	printf("%u frames sent and completed in order\n", load(consumer));
	return 0;
}
