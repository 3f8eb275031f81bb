// SPDX-License-Identifier: GPL-2.0
/* AF_XDP test library: packets, flows and traffic */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xsk_test.h"

/* Frames */

struct frame_hdr {
	struct ethhdr eth;
	__u8 udp[sizeof(struct iphdr) + sizeof(struct udphdr)];
	__be16 len;
	__be32 seq;
};

/* An Rx chunk holds 3840 bytes */
static const __u16 frame_lens[FRAME_LENS] = {
	60, 64, 65, 127, 128, 511, 512, 1023, 1500, 1514,
	3840, 3841, 7680, 7681, 9014,
};

static __u32 frame_len(__u32 seq, __u32 max)
{
	__u32 n = FRAME_LENS;

	while (frame_lens[n - 1] > max)
		n--;
	return frame_lens[seq % n];
}

static __u8 frame_byte(__u32 seq, __u32 pos)
{
	return seq * 31 + pos * 7 + (pos >> 8) * 13;
}

/* Return: length of the packet with number @seq */
__u32 frame_build(const struct flow *f, void *frame, __u32 seq)
{
	struct frame_hdr *hdr = frame;
	__u32 len = frame_len(seq, f->max_len);
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(len - ETH_HLEN),
		.protocol = IPPROTO_UDP,
	};
	struct udphdr udp = {
		.dest = htons(FRAME_UDP_PORT),
		.len = htons(len - ETH_HLEN - sizeof(ip)),
	};
	__u8 *byte = frame;
	__u32 pos;

	memset(&hdr->eth, 0xff, sizeof(hdr->eth));
	hdr->eth.h_source[0] = 0x02;
	hdr->eth.h_proto = htons(f->udp ? ETH_P_IP : FRAME_ETHERTYPE);
	memcpy(hdr->udp, &ip, sizeof(ip));
	memcpy(hdr->udp + sizeof(ip), &udp, sizeof(udp));
	hdr->seq = htonl(seq);
	hdr->len = htons(len);
	for (pos = sizeof(*hdr); pos < len; pos++)
		byte[pos] = frame_byte(seq, pos);
	return len;
}

/* Return: 0 if every byte is the one that frame_build() wrote */
static int frame_check(const struct flow *f, const void *frame, __u32 len,
		       __u32 seq)
{
	char want[FRAME_MAX];
	__u32 pos;

	if (len != frame_build(f, want, seq))
		return complain(-EBADMSG, "frame %u: %u bytes instead of %u",
				seq, len, frame_len(seq, f->max_len));
	for (pos = 0; pos < len; pos++) {
		if (((char *)frame)[pos] != want[pos])
			return complain(-EBADMSG, "frame %u: byte %u is wrong",
					seq, pos);
	}
	return 0;
}

__u32 frame_seq(const void *frame)
{
	return ntohl(((const struct frame_hdr *)frame)->seq);
}

/* Check the order and the bytes of a packet */
int flow_check(struct flow *f, const void *frame, int len)
{
	__u32 seq = frame_seq(frame);

	if (f->gaps ? (__s32)(seq - f->next) < 0 : seq != f->next)
		return complain(-EILSEQ, "frame %u instead of %u", seq,
				f->next);
	f->next = seq + 1;
	return frame_check(f, frame, len, seq);
}

/* Flows */

__u32 flow_sent(const struct flow *f)
{
	return __atomic_load_n(&f->sent, __ATOMIC_ACQUIRE);
}

static bool flow_send_one(struct flow *f)
{
	char frame[FRAME_MAX];
	__u32 len = frame_build(f, frame, f->sent);

	if (!xsk_send(f->tx, frame, len))
		return false;
	__atomic_store_n(&f->sent, f->sent + 1, __ATOMIC_RELEASE);
	return true;
}

/* Each time: drivers lose the filter, or its input set, on a reset */
static int flow_steer(const struct flow *f)
{
	if (!f->udp)
		return 0;
	return run("ethtool -N %s delete 1; ethtool -N %s %s dst-port %u %s",
		   RX_DEV, RX_DEV, "flow-type udp4", FRAME_UDP_PORT,
		   "action 1 loc 1");
}

/* Write packets to the Tx ring, but do not transmit them */
int flow_put(struct flow *f, __u32 frames)
{
	while (frames) {
		if (flow_send_one(f))
			frames--;
		else if (xsk_reap(f->tx) <= 0)
			break;
	}
	return frames ? complain(-ENOSPC, "Tx ring full") : 0;
}

static int flow_push(struct flow *f)
{
	int err = xsk_kick(f->tx);
	int n = err ? err : xsk_reap(f->tx);

	return n < 0 ? complain(n, "sending") : 0;
}

/* Send up to WINDOW packets and wait for their completion */
int flow_send(struct flow *f, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	int err = flow_steer(f);

	if (!err)
		err = flow_put(f, frames);
	while (!err && xsk_held(f->tx)) {
		err = flow_push(f);
		if (!err && now_ms() > deadline)
			err = complain(-ETIMEDOUT, "%u chunks not sent",
				       xsk_held(f->tx));
	}
	return err;
}

/* Send packets from an AF_PACKET socket */
int flow_send_raw(struct flow *f, struct stack *s, __u32 frames)
{
	char frame[FRAME_MAX];

	while (frames--) {
		__u32 len = frame_build(f, frame, f->sent++);

		if (send(s->fd, frame, len, 0) < 0)
			return complain(-errno, "AF_PACKET");
	}
	return 0;
}

/* Return: number of packets received; negative if one is invalid */
int flow_recv(struct flow *f)
{
	char frame[FRAME_MAX];
	int n = 0;

	for (;;) {
		int len = xsk_recv(f->rx, frame);
		int err = len > 0 ? flow_check(f, frame, len) : len;

		if (err)
			return err;
		if (!len)
			break;
		n++;
	}
	f->received += n;
	return n;
}

/* Print the socket's counters when packets are missing */
static int flow_lost(const struct flow *f, __u32 want)
{
	struct xdp_statistics stats = {};

	xsk_stats(f->rx, &stats);
	return complain(-ETIMEDOUT,
			"frame %u of %u missing, kernel has %u chunks, dropped %llu, ring full %llu, fill ring empty %llu",
			f->next, want, xsk_held(f->rx),
			(unsigned long long)stats.rx_dropped,
			(unsigned long long)stats.rx_ring_full,
			(unsigned long long)stats.rx_fill_ring_empty_descs);
}

/*
 * Send packets and receive all of them, in order. Without @refill, their chunks
 * are not posted again.
 */
int flow_transfer(struct flow *f, __u32 frames, bool refill)
{
	long long deadline = now_ms() + STALL_MS;
	__u32 window = f->rx->rx.size < WINDOW ? f->rx->rx.size : WINDOW;
	__u32 end = f->sent + frames;
	int n = flow_steer(f);

	if (n)
		return n;
	while (f->next != end) {
		while (f->sent != end && f->sent - f->next < window &&
		       flow_send_one(f))
			;
		if (flow_push(f))
			return -EIO;
		n = flow_recv(f);
		if (n < 0)
			return n;
		if (n)
			deadline = now_ms() + STALL_MS;
		if (now_ms() > deadline)
			return flow_lost(f, end);
		if (!n)
			xsk_drive(f->rx, 10);
		if (refill)
			xsk_refill(f->rx);
	}
	return 0;
}

/* The socket must have received nothing; account for the packets sent */
static int flow_skip(struct flow *f)
{
	int n = f->rx ? flow_recv(f) : 0;

	if (n)
		return n < 0 ? n : complain(-EEXIST, "%d frames received by the socket",
					    n);
	f->next = f->sent;
	return 0;
}

/* Send packets, which the stack receives in order, and the socket does not */
int flow_to_stack(struct flow *f, struct stack *s, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	struct flow seen = { .max_len = f->max_len, .udp = f->udp,
			     .next = f->sent };
	__u32 end = f->sent + frames;
	char frame[FRAME_MAX];
	int err;

	err = flow_send(f, frames);
	while (!err && seen.next != end) {
		int len = stack_recv(s, frame);

		if (len > 0)
			err = flow_check(&seen, frame, len);
		else if (now_ms() > deadline)
			err = complain(-ETIMEDOUT,
				       "frame %u did not reach the stack",
				       seen.next);
		else
			nap(1);
	}
	return err ? err : flow_skip(f);
}

/* A counter that a BPF program increments */
__u64 counter_read(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Send packets, which the program counts, and the socket does not receive */
int flow_to_program(struct flow *f, const __u64 *seen, __u32 frames)
{
	long long deadline = now_ms() + STALL_MS;
	__u64 end = counter_read(seen) + frames;
	int err;

	err = flow_send(f, frames);
	while (!err && (__s64)(counter_read(seen) - end) < 0) {
		nap(1);
		if (now_ms() > deadline)
			err = complain(-ETIMEDOUT, "program counted %lld less",
				       (long long)(end - counter_read(seen)));
	}
	if (!err && counter_read(seen) != end)
		err = complain(-EEXIST, "program counted %lld more",
			       (long long)(counter_read(seen) - end));
	return err ? err : flow_skip(f);
}

/* Receive and refill until the total number of packets is @received */
int flow_wait(struct flow *f, __u32 received)
{
	long long deadline = now_ms() + STALL_MS;

	while ((__s32)(f->received - received) < 0) {
		int n = flow_recv(f);

		if (n < 0)
			return n;
		if (!n && now_ms() > deadline)
			return flow_lost(f, f->next + received - f->received);
		if (!n)
			xsk_drive(f->rx, 10);
		xsk_refill(f->rx);
	}
	return 0;
}

/* Return: 1 if all packets before @next were received or lost, 0 after @ms */
static int flow_try(struct flow *f, __u32 next, int ms)
{
	long long deadline = now_ms() + ms;

	while ((__s32)(f->next - next) < 0) {
		int n = flow_recv(f);

		if (n < 0)
			return n;
		if (now_ms() > deadline)
			return 0;
		xsk_refill(f->rx);
		xsk_drive(f->rx, 1);
	}
	return 1;
}

/* Receive and refill until all packets before @next were received or lost */
int flow_reach(struct flow *f, __u32 next)
{
	int ret = flow_try(f, next, STALL_MS);

	return ret ? ret > 0 ? 0 : ret : flow_lost(f, next);
}

/*
 * Nothing is in flight any more once a new packet is received. It may be lost,
 * too, after traffic that filled the queues.
 */
int flow_settle(struct flow *f)
{
	int tries = STALL_MS / 500;
	int ret = 0;

	while (!ret && tries--) {
		ret = flow_send(f, 1);
		if (!ret)
			ret = flow_try(f, f->sent, 500);
	}
	return ret ? ret > 0 ? 0 : ret : flow_lost(f, f->sent);
}

/* The same for the stack */
int flow_settle_stack(struct flow *f, struct stack *s)
{
	struct flow seen = { .max_len = f->max_len, .udp = f->udp, .gaps = true };
	long long deadline = now_ms() + STALL_MS;
	int err = flow_send(f, 1);
	char frame[FRAME_MAX];

	while (!err && seen.next != f->sent) {
		int len = stack_recv(s, frame);

		if (len) {
			err = flow_check(&seen, frame, len);
			continue;
		}
		if (now_ms() > deadline)
			return complain(-ETIMEDOUT, "only frame %u of %u",
					seen.next, f->sent);
		err = flow_send(f, 1);
		nap(10);
	}
	return err;
}

static int flow_starve(struct flow *f)
{
	struct xdp_statistics before, now;
	long long deadline = now_ms() + STALL_MS;
	int err;

	err = xsk_stats(f->rx, &before);
	if (!err)
		err = flow_send(f, 1);
	do {
		if (!err)
			err = xsk_stats(f->rx, &now);
		if (!err && now_ms() > deadline)
			err = complain(-ETIMEDOUT, "fill ring not empty?");
		xsk_drive(f->rx, 1);
	} while (!err && now.rx_dropped == before.rx_dropped);
	return err ? err : flow_skip(f);
}

/*
 * Account for every chunk of the receiver: each packet returns one, until the
 * kernel has none left and drops the next packet. In zero-copy mode that packet
 * would wait in the port, or be dropped by it.
 */
int flow_drain(struct flow *f)
{
	bool zc = f->rx->opts.bind_flags & XDP_ZEROCOPY;
	__u32 max_len = f->max_len;
	bool gaps = f->gaps;
	int n, err = 0;

	f->gaps = true;
	n = flow_recv(f);
	if (n < 0)
		return n;
	f->next = f->sent;
	f->gaps = false;

	if (f->max_len > ETH_FRAME_LEN)
		f->max_len = ETH_FRAME_LEN;
	while (!err && xsk_held(f->rx))
		err = flow_transfer(f, xsk_held(f->rx), false);
	if (!err && !zc)
		err = flow_starve(f);
	f->max_len = max_len;
	xsk_refill(f->rx);
	/* A port refills its Rx ring when it is polled, and drops packets before */
	f->gaps = true;
	if (!err && zc)
		err = flow_settle(f);
	f->gaps = gaps;
	return err;
}

/* Traffic */

static void *traffic_thread(void *arg)
{
	struct traffic *t = arg;
	__u32 *accounted = &t->accounted;
	int idle = 0;

	while (!__atomic_load_n(&t->stop, __ATOMIC_ACQUIRE) && !t->err) {
		__u32 done = __atomic_load_n(accounted, __ATOMIC_ACQUIRE);
		__u32 burst = 0;

		while (burst < 16 && flow_sent(t->flow) - done < WINDOW &&
		       flow_send_one(t->flow))
			burst++;
		t->err = xsk_kick(t->flow->tx);
		if (!t->err && xsk_reap(t->flow->tx) < 0)
			t->err = -EIO;
		if (burst) {
			idle = 0;
			continue;
		}
		nap(1);
		if (t->lossy && ++idle == 20)
			__atomic_store_n(accounted, flow_sent(t->flow),
					 __ATOMIC_RELEASE);
	}
	return NULL;
}

int traffic_start(struct traffic *t, struct flow *flow)
{
	int err;

	t->flow = flow;
	t->accounted = flow->sent;
	t->stop = false;
	t->err = 0;
	err = pthread_create(&t->thread, NULL, traffic_thread, t);
	return err ? complain(-err, "sender thread") : 0;
}

/* Return: error of the sender */
int traffic_stop(struct traffic *t)
{
	__atomic_store_n(&t->stop, true, __ATOMIC_RELEASE);
	pthread_join(t->thread, NULL);
	return t->err;
}

/* Packets that reach the stack */

int stack_open(struct stack *s, const char *dev)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(dev),
	};
	int size = 4 << 20;

	s->fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (s->fd < 0 ||
	    setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return complain(-errno, "AF_PACKET socket on %s", dev);
	return 0;
}

/* Return: length of the next packet, 0 if there is none */
int stack_recv(struct stack *s, void *frame)
{
	const struct ethhdr *eth = frame;
	ssize_t len;

	do
		len = recv(s->fd, frame, FRAME_MAX, MSG_DONTWAIT);
	while (len > 0 && eth->h_proto != htons(FRAME_ETHERTYPE) &&
	       eth->h_proto != htons(ETH_P_IP));
	return len < 0 ? 0 : len;
}

void stack_close(struct stack *s)
{
	close(s->fd);
}
