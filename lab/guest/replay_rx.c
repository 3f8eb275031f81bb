// SPDX-License-Identifier: GPL-2.0
/*
 * replay_rx - receive the frames of a replayed capture, and compare them
 *
 * Binds an AF_XDP socket to a queue, attached (XDP_ATTACH) or with libxdp's
 * program and its XSKMAP, prints "ready" on stderr, and compares each received
 * frame with the next one of the capture. Ends with the last frame, or after
 * two seconds without one, with a JSON object on stdout.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* It defines its own struct bpf_insn, which is not needed */
#define PCAP_DONT_INCLUDE_PCAP_BPF_H
#include <pcap/pcap.h>
#include <xdp/xsk.h>

#include "xsk_fastpath.h"

#define FRAMES		4096
#define FRAME_SIZE	2048
#define RING_SIZE	2048
#define BATCH		64
#define IDLE_MS		2000

struct replay {
	struct xsk_umem *umem;
	struct xsk_socket *xsk;
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp;
	struct xsk_ring_cons rx;
	void *area;
	pcap_t *capture;
	unsigned long received;
	unsigned long equal;
	bool done;
};

static int replay_die(const char *what, int err)
{
	fprintf(stderr, "replay_rx: %s: %s\n", what, strerror(-err));
	return 1;
}

static int replay_open_umem(struct replay *r)
{
	const struct xsk_umem_config config = {
		.fill_size = RING_SIZE,
		.comp_size = RING_SIZE,
		.frame_size = FRAME_SIZE,
	};
	const size_t size = (size_t)FRAMES * FRAME_SIZE;

	r->area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->area == MAP_FAILED)
		return -errno;
	return xsk_umem__create(&r->umem, r->area, size, &r->fill, &r->comp,
				&config);
}

static int replay_open_socket(struct replay *r, const char *ifname,
			      unsigned int queue, bool attach)
{
	const struct xsk_socket_config config = {
		.rx_size = RING_SIZE,
		.libxdp_flags = attach ? XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD :
					 0,
		.bind_flags = XDP_COPY,
	};
	int err;

	if (attach) {
		err = xsk_fastpath__attach(xsk_umem__fd(r->umem), 0);
		if (err)
			return err;
	}
	return xsk_socket__create(&r->xsk, ifname, queue, r->umem, &r->rx, NULL,
				  &config);
}

static void replay_fill(struct replay *r)
{
	__u32 idx = 0;

	xsk_ring_prod__reserve(&r->fill, RING_SIZE, &idx);
	for (__u32 i = 0; i < RING_SIZE; i++)
		*xsk_ring_prod__fill_addr(&r->fill, idx + i) =
			(__u64)i * FRAME_SIZE;
	xsk_ring_prod__submit(&r->fill, RING_SIZE);
}

/* The capture advances with each frame: after a lost one all others are
 * unequal, and the count is short.
 */
static void replay_compare(struct replay *r, const struct xdp_desc *desc)
{
	const void *data = xsk_umem__get_data(r->area, desc->addr);
	struct pcap_pkthdr *header;
	const unsigned char *frame;

	r->received++;
	if (pcap_next_ex(r->capture, &header, &frame) != 1)
		return;
	if (header->caplen == desc->len && !memcmp(frame, data, desc->len))
		r->equal++;
}

static unsigned int replay_receive(struct replay *r)
{
	__u32 rx = 0, fill = 0;
	unsigned int n;

	n = xsk_ring_cons__peek(&r->rx, BATCH, &rx);
	/* As many as the kernel consumed: the fill ring has room */
	xsk_ring_prod__reserve(&r->fill, n, &fill);
	for (unsigned int i = 0; i < n; i++) {
		const struct xdp_desc *desc =
			xsk_ring_cons__rx_desc(&r->rx, rx + i);

		replay_compare(r, desc);
		*xsk_ring_prod__fill_addr(&r->fill, fill + i) =
			desc->addr - desc->addr % FRAME_SIZE;
	}
	xsk_ring_prod__submit(&r->fill, n);
	xsk_ring_cons__release(&r->rx, n);
	return n;
}

static unsigned long replay_count(const char *path, char *errbuf)
{
	pcap_t *capture = pcap_open_offline(path, errbuf);
	struct pcap_pkthdr *header;
	const unsigned char *frame;
	unsigned long frames = 0;

	if (!capture)
		return 0;
	while (pcap_next_ex(capture, &header, &frame) == 1)
		frames++;
	pcap_close(capture);
	return frames;
}

static void replay_run(struct replay *r, unsigned long frames)
{
	struct pollfd pfd = {
		.fd = xsk_socket__fd(r->xsk),
		.events = POLLIN,
	};
	int timeout = -1; /* until the replay begins */

	while (r->received < frames && poll(&pfd, 1, timeout) > 0) {
		while (replay_receive(r))
			;
		timeout = IDLE_MS;
	}
}

static int replay_report(const struct replay *r, unsigned long frames)
{
	struct xdp_statistics stats;
	socklen_t len = sizeof(stats);
	struct xdp_attach attach;
	int fd = xsk_socket__fd(r->xsk);

	if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &stats, &len))
		return replay_die("XDP_STATISTICS", -errno);
	xsk_fastpath__attach_query(fd, &attach);
	printf("{\"frames\": %lu, \"received\": %lu, \"equal\": %lu, ",
	       frames, r->received, r->equal);
	printf("\"state\": \"%s\", \"prog_id\": %u, \"mode\": \"%s\", ",
	       xsk_fastpath__attach_state_str(attach.state), attach.prog_id,
	       attach.flags & XDP_ATTACH_F_SKB_MODE ? "generic" : "native");
	printf("\"dropped\": %llu, \"ring_full\": %llu}\n",
	       (unsigned long long)stats.rx_dropped,
	       (unsigned long long)stats.rx_ring_full);
	return 0;
}

int main(int argc, char **argv)
{
	char errbuf[PCAP_ERRBUF_SIZE];
	struct replay r = {};
	unsigned long frames;
	int err;

	if (argc != 5) {
		fprintf(stderr,
			"usage: replay_rx attach|xskmap IFACE QUEUE PCAP\n");
		return 2;
	}

	frames = replay_count(argv[4], errbuf);
	r.capture = pcap_open_offline(argv[4], errbuf);
	if (!r.capture || !frames) {
		fprintf(stderr, "replay_rx: no frames in %s: %s\n", argv[4],
			r.capture ? "empty capture" : errbuf);
		return 1;
	}

	err = replay_open_umem(&r);
	if (err)
		return replay_die("umem", err);
	replay_fill(&r);
	err = replay_open_socket(&r, argv[2], strtoul(argv[3], NULL, 0),
				 !strcmp(argv[1], "attach"));
	if (err)
		return replay_die("socket", err);

	fprintf(stderr, "ready\n");
	replay_run(&r, frames);
	err = replay_report(&r, frames);
	xsk_socket__delete(r.xsk);
	xsk_umem__delete(r.umem);
	return err;
}
