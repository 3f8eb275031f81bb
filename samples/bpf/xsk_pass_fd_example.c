// SPDX-License-Identifier: GPL-2.0
/*
 * A privileged daemon and an unprivileged application, as device plugins of
 * container managers: the daemon attaches a socket to a queue and passes it,
 * with the packet memory, to a process without any capability. That process
 * sends the frames of the queue back, with swapped MACs.
 *
 * A real daemon listens on a UNIX socket and checks the peer (SO_PEERCRED).
 */
#define _GNU_SOURCE
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/capability.h>
#include "xsk_fastpath.h"

#define CHUNKS		1024		/* also the size of each ring */
#define CHUNK_SIZE	4096
#define AREA_SIZE	(CHUNKS * CHUNK_SIZE)
#define NOBODY		65534

enum { SOCKET, MEMORY, FDS };		/* what the daemon passes */

struct ring {
	__u32 *producer, *consumer;
	void *slots;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *map(int fd, size_t len, __u64 offset)
{
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  offset);

	if (base == MAP_FAILED)
		die("mmap");
	return base;
}

static void set_option(int fd, int option, const void *value, socklen_t len)
{
	if (setsockopt(fd, SOL_XDP, option, value, len))
		die("setsockopt");
}

/* The daemon: memory that cannot be truncated, and a socket on the queue */
static void attach(int fds[FDS], const char *interface, __u32 queue)
{
	struct sockaddr_xdp addr = { .sxdp_family = AF_XDP };
	struct xdp_umem_reg umem = { .len = AREA_SIZE,
				     .chunk_size = CHUNK_SIZE };
	const int size = CHUNKS;
	int fd;

	fds[MEMORY] = memfd_create("umem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fds[MEMORY] < 0 || ftruncate(fds[MEMORY], AREA_SIZE) ||
	    fcntl(fds[MEMORY], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
		  F_SEAL_SEAL))
		die("memfd");
	fds[SOCKET] = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fds[SOCKET] < 0)
		die("socket");

	fd = fds[SOCKET];
	umem.addr = (unsigned long)map(fds[MEMORY], AREA_SIZE, 0);
	set_option(fd, XDP_UMEM_REG, &umem, sizeof(umem));
	set_option(fd, XDP_UMEM_FILL_RING, &size, sizeof(size));
	set_option(fd, XDP_RX_RING, &size, sizeof(size));
	set_option(fd, XDP_TX_RING, &size, sizeof(size));
	addr.sxdp_ifindex = if_nametoindex(interface);
	addr.sxdp_queue_id = queue;
	if (xsk_fastpath__tx_inorder(fd, 1) || xsk_fastpath__attach(fd, 0))
		die("options");
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("bind (xsk-probe tells why)");
}

/* One message with both descriptors, in either direction */
static void message(int channel, int fds[FDS], int receive)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(FDS * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(FDS * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t len;

	memcpy(CMSG_DATA(&control.head), fds, FDS * sizeof(int));
	len = receive ? recvmsg(channel, &msg, MSG_CMSG_CLOEXEC) :
			sendmsg(channel, &msg, MSG_NOSIGNAL);
	if (!len)
		exit(1);	/* the daemon has failed, and said why */
	if (len < 0 || msg.msg_controllen < CMSG_LEN(FDS * sizeof(int)))
		die("passing descriptors");
	memcpy(fds, CMSG_DATA(&control.head), FDS * sizeof(int));
}

/*
 * From here on nothing can be bound, loaded or configured, except that the
 * socket can be detached. The daemon need not be root: capabilities survive
 * setresuid() from one other user to another.
 */
static void drop_privileges(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = {};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY) ||
	    syscall(SYS_capset, &header, none))
		die("dropping privileges");
}

static struct ring map_ring(int fd, const struct xdp_ring_offset *offset,
			    size_t slot_size, __u64 page_offset)
{
	char *base = map(fd, offset->desc + CHUNKS * slot_size, page_offset);

	return (struct ring){ (__u32 *)(base + offset->producer),
			      (__u32 *)(base + offset->consumer),
			      base + offset->desc };
}

/* Pass a chunk to the kernel for reception */
static void fill_put(struct ring *fill, __u64 addr)
{
	__u32 producer = *fill->producer;

	((__u64 *)fill->slots)[producer % CHUNKS] = addr;
	__atomic_store_n(fill->producer, producer + 1, __ATOMIC_RELEASE);
}

static void swap_macs(unsigned char *frame)
{
	unsigned char mac[6];

	memcpy(mac, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, mac, 6);
}

/* Move received frames to the Tx ring, where all chunks have room */
static void reflect(struct ring *rx, struct ring *tx, unsigned char *area)
{
	__u32 end = __atomic_load_n(rx->producer, __ATOMIC_ACQUIRE);
	__u32 sent = *tx->producer, i;

	for (i = *rx->consumer; i != end; i++, sent++) {
		struct xdp_desc *from = rx->slots, *to = tx->slots;

		to[sent % CHUNKS] = from[i % CHUNKS];
		swap_macs(area + from[i % CHUNKS].addr);
	}
	__atomic_store_n(rx->consumer, i, __ATOMIC_RELEASE);
	__atomic_store_n(tx->producer, sent, __ATOMIC_RELEASE);
}

/* The application: return when @count frames were sent and completed */
static void run(const int fds[FDS], __u32 count)
{
	unsigned char *area = map(fds[MEMORY], AREA_SIZE, 0);
	struct pollfd wait = { .fd = fds[SOCKET], .events = POLLIN };
	struct xdp_mmap_offsets offsets;
	socklen_t len = sizeof(offsets);
	struct ring rx, tx, fill;
	__u32 seen = 0, n;

	if (getsockopt(wait.fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &len))
		die("XDP_MMAP_OFFSETS");
	rx = map_ring(wait.fd, &offsets.rx, 16, XDP_PGOFF_RX_RING);
	tx = map_ring(wait.fd, &offsets.tx, 16, XDP_PGOFF_TX_RING);
	fill = map_ring(wait.fd, &offsets.fr, 8, XDP_UMEM_PGOFF_FILL_RING);
	for (n = 0; n < CHUNKS; n++)
		fill_put(&fill, n * CHUNK_SIZE);

	while (seen < count) {
		/* poll() also sends; errors of sendto() can be transient */
		poll(&wait, 1, 10);
		reflect(&rx, &tx, area);
		sendto(wait.fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
		n = xsk_fastpath__tx_completed(tx.consumer, seen);
		for (; n; n--, seen++)
			fill_put(&fill, ((struct xdp_desc *)
					 tx.slots)[seen % CHUNKS].addr);
	}
	printf("%u frames sent back by user %u\n", seen, getuid());
}

int main(int argc, char **argv)
{
	int channel[2], fds[FDS] = {}, status;
	pid_t child;

	if (argc < 2) {
		puts("usage: xsk_pass_fd_example INTERFACE [QUEUE [COUNT]]");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel))
		die("socketpair");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		close(channel[0]);
		drop_privileges();
		message(channel[1], fds, 1);
		run(fds, argc > 3 ? atoi(argv[3]) : 10);
		return 0;
	}
	close(channel[1]);
	attach(fds, argv[1], argc > 2 ? atoi(argv[2]) : 0);
	message(channel[0], fds, 0);
	/* The socket stays attached until both have closed it */
	if (wait(&status) < 0)
		die("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
