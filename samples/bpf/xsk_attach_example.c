// SPDX-License-Identifier: GPL-2.0
/*
 * Minimal receiver with XDP_ATTACH: no program, no map, no library. Prints
 * length and MACs of the next frames of a queue, which then do not reach the
 * network stack.
 */
#include <poll.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <linux/if_xdp.h>
#include <linux/if_xdp_fastpath.h>

#define CHUNKS		1024		/* also the size of each ring */
#define CHUNK_SIZE	2048
#define MAC		"%02x:%02x:%02x:%02x:%02x:%02x"

/* Packet memory, page-aligned, in chunks that each hold one frame */
static alignas(4096) unsigned char area[CHUNKS * CHUNK_SIZE];

/*
 * A ring shared with the kernel: one side advances the producer index, the
 * other the consumer index. Both are free-running: entry = index % CHUNKS.
 */
struct ring {
	__u32 *producer, *consumer;
	void *slots;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void set_option(int fd, int option, const void *value, socklen_t len)
{
	if (setsockopt(fd, SOL_XDP, option, value, len)) {
		fprintf(stderr, "option %d of AF_XDP, ", option);
		die("setsockopt");
	}
}

static struct ring map_ring(int fd, const struct xdp_ring_offset *offset,
			    size_t slot_size, __u64 page_offset)
{
	size_t len = offset->desc + CHUNKS * slot_size;
	char *base = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_POPULATE, fd, page_offset);

	if (base == MAP_FAILED)
		die("mapping a ring");
	return (struct ring){ (__u32 *)(base + offset->producer),
			      (__u32 *)(base + offset->consumer),
			      base + offset->desc };
}

/* Pass a chunk of the packet memory to the kernel for reception */
static void fill_put(struct ring *fill, __u64 addr)
{
	__u32 producer = *fill->producer;

	((__u64 *)fill->slots)[producer % CHUNKS] = addr;
	/* the kernel may read the entry once it sees the index */
	__atomic_store_n(fill->producer, producer + 1, __ATOMIC_RELEASE);
}

static void print_frame(const unsigned char *mac, __u32 len)
{
	printf("%4u bytes, " MAC " > " MAC "\n", len,
	       mac[6], mac[7], mac[8], mac[9], mac[10], mac[11],
	       mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

/* Print at most @count received frames and refill their chunks */
static int receive(struct ring *rx, struct ring *fill, int count)
{
	__u32 consumer = *rx->consumer;
	/* the kernel writes the entries before this index */
	__u32 producer = __atomic_load_n(rx->producer, __ATOMIC_ACQUIRE);
	int n;

	for (n = 0; n < count && consumer != producer; n++, consumer++) {
		struct xdp_desc *desc = rx->slots + consumer % CHUNKS *
					sizeof(*desc);

		print_frame(area + desc->addr, desc->len);
		/* the kernel rounds the address down to its chunk */
		fill_put(fill, desc->addr);
	}
	__atomic_store_n(rx->consumer, consumer, __ATOMIC_RELEASE);
	return n;
}

int main(int argc, char **argv)
{
	struct xdp_attach attach = { .flags = 0 };	/* best mode */
	struct sockaddr_xdp addr = { .sxdp_family = AF_XDP };
	struct xdp_umem_reg umem = { .len = sizeof(area),
				     .chunk_size = CHUNK_SIZE };
	int fd, size = CHUNKS, count = argc > 3 ? atoi(argv[3]) : 10;
	struct xdp_mmap_offsets offsets;
	socklen_t len = sizeof(offsets);
	struct ring rx, fill;

	if (argc < 2) {
		puts("usage: xsk_attach_example INTERFACE [QUEUE [COUNT]]");
		return 2;
	}
	addr.sxdp_ifindex = if_nametoindex(argv[1]);
	addr.sxdp_queue_id = argc > 2 ? atoi(argv[2]) : 0;

	/* 1. A socket, and packet memory shared with the kernel */
	fd = socket(AF_XDP, SOCK_RAW, 0);
	if (fd < 0)
		die("socket");
	umem.addr = (unsigned long)area;
	set_option(fd, XDP_UMEM_REG, &umem, sizeof(umem));

	/* 2. Rings: fill passes chunks to the kernel, rx returns frames */
	set_option(fd, XDP_UMEM_FILL_RING, &size, sizeof(size));
	/* only Tx uses the completion ring, but bind() requires it */
	set_option(fd, XDP_UMEM_COMPLETION_RING, &size, sizeof(size));
	set_option(fd, XDP_RX_RING, &size, sizeof(size));
	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len))
		die("XDP_MMAP_OFFSETS");
	fill = map_ring(fd, &offsets.fr, 8, XDP_UMEM_PGOFF_FILL_RING);
	rx = map_ring(fd, &offsets.rx, 16, XDP_PGOFF_RX_RING);
	for (int i = 0; i < CHUNKS; i++)
		fill_put(&fill, i * CHUNK_SIZE);

	/* 3. Request the attachment, then bind: frames arrive from here on */
	set_option(fd, XDP_ATTACH, &attach, sizeof(attach));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("bind (see linux/if_xdp_fastpath.h for errors)");

	/* 4. Receive. Closing the socket returns the queue to the stack */
	while (count > 0) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };

		if (poll(&wait, 1, -1) < 0)
			die("poll");
		count -= receive(&rx, &fill, count);
	}
	return 0;
}
