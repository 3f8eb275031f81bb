// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* xsk-probe --bind: bind sockets to the queue, and close them again */
#include <stdlib.h>
#include <unistd.h>
#include <linux/netdev.h>
#include <sys/mman.h>

#include "xsk_probe.h"

#define CHUNKS		64
#define CHUNK_SIZE	4096
#define ENTRIES		CHUNKS	/* of each ring */

struct trial {
	__u32 attach;		/* XDP_ATTACH_F_* */
	__u32 umem;		/* flags of the umem */
	__u16 bind;		/* flags of bind() */
	bool recycle;		/* to itself */
};

static int set_option(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_XDP, option, value, len) ? -errno : 0;
}

/* The fill ring stays empty, so no packet is received */
static int prepare(int fd, void *area, const struct trial *trial)
{
	const struct xdp_umem_reg umem = {
		.addr = (unsigned long)area,
		.len = CHUNKS * CHUNK_SIZE,
		.chunk_size = CHUNK_SIZE,
		.flags = trial->umem,
	};
	static const int rings[] = { XDP_RX_RING, XDP_TX_RING,
				     XDP_UMEM_FILL_RING };
	const int entries = ENTRIES;
	int err;

	err = set_option(fd, XDP_UMEM_REG, &umem, sizeof(umem));
	for (int i = 0; !err && i < 3; i++)
		err = set_option(fd, rings[i], &entries, sizeof(entries));
	err = err ?: xsk_fastpath__tx_inorder(fd, 1);
	return err ?: xsk_fastpath__attach(fd, trial->attach);
}

static void inspect(int fd, bool recycle, struct xsk_probe_try *result)
{
	struct xdp_options options = {};
	socklen_t len = sizeof(options);

	xsk_fastpath__attach_query(fd, &result->attach);
	if (result->err)
		return;
	if (!getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &len))
		result->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;
	if (recycle)
		result->recycle_err = xsk_fastpath__recycle(fd, fd, 0);
}

static void try_socket(const struct xsk_probe_dev *dev, void *area,
		       const struct trial *trial, struct xsk_probe_try *result)
{
	const struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP,
		.sxdp_flags = trial->bind,
		.sxdp_ifindex = dev->ifindex,
		.sxdp_queue_id = dev->queue,
	};
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	result->tried = true;
	if (fd < 0) {
		result->err = -errno;
		return;
	}
	result->err = prepare(fd, area, trial);
	if (!result->err && bind(fd, (const struct sockaddr *)&addr,
				 sizeof(addr)))
		result->err = -errno;
	inspect(fd, trial->recycle, result);
	close(fd);
}

/**
 * xsk_probe_bind() - bind a socket in each way, one after the other
 * @dev: the device and its queue
 * @tries: the results
 *
 * bind() waits until the previous socket has released the queue. Sockets are
 * zero-copy where the driver supports it: without a flag, bind() falls back.
 *
 * Return: 0, or -ENOMEM
 */
int xsk_probe_bind(const struct xsk_probe_dev *dev,
		   struct xsk_probe_try tries[TRIES])
{
	const __u32 native = XDP_ATTACH_F_DRV_MODE | XDP_ATTACH_F_PASS;
	const __u32 any = XDP_ATTACH_F_PASS;
	const struct trial trials[TRIES] = {
		[TRY_NATIVE] = { .attach = native, .recycle = true },
		[TRY_UNALIGNED] = { .attach = any,
				    .umem = XDP_UMEM_UNALIGNED_CHUNK_FLAG },
		[TRY_MULTI_BUFFER] = { .attach = any, .bind = XDP_USE_SG },
		[TRY_GENERIC] = { .attach = XDP_ATTACH_F_SKB_MODE |
					    XDP_ATTACH_F_PASS },
	};
	void *area = mmap(NULL, CHUNKS * CHUNK_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (area == MAP_FAILED)
		return -ENOMEM;
	for (int i = 0; i < TRIES; i++)
		try_socket(dev, area, &trials[i], &tries[i]);
	return 0;
}
