/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the AF_XDP fast path are made of: a pair of veth devices,
 * or two ports of a NIC, in a network namespace of its own, AF_XDP sockets on
 * the raw UAPI, numbered frames whose every byte can be verified, and a look at
 * what the kernel says of it all.
 *
 * Functions that return int return 0 or a negative errno unless they say
 * otherwise, and print why.
 */
#ifndef XSK_ATTACH_LIB_H
#define XSK_ATTACH_LIB_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/if_xdp.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/types.h>
#include <sys/types.h>
#include <bpf/libbpf.h>

#include "kselftest.h"

#ifndef AF_XDP
#define AF_XDP		44
#endif
#ifndef SOL_XDP
#define SOL_XDP		283
#endif

/* Frames are sent on TX_DEV and arrive on RX_DEV */
#define RX_DEV		"xa_rx"
#define TX_DEV		"xa_tx"
/* What a veth device, and a port of a NIC, have of them */
#define QUEUES		3
#define PORT_QUEUES	2

#define CHUNK		4096
#define CHUNKS		512
#define RING		512
#define FRAME_MAX	9216
#define FRAME_ETHERTYPE	0x88b5	/* for experiments, by IEEE 802 */
#define FRAME_UDP_PORT	1021	/* likewise, by RFC 4727 */
/* Frames have so many lengths, the last four need more than one Rx chunk */
#define FRAME_LENS	15
/* Frames under way at most: the ring of a veth queue holds 256 */
#define WINDOW		128
/* Time without any progress after which frames count as lost */
#define STALL_MS	60000

struct ring {
	__u32 *producer;
	__u32 *consumer;
	__u32 *flags;
	void *descs;
	__u32 size;
	void *map;
	size_t map_len;
};

/*
 * struct umem - memory of one or more sockets
 * @in_kernel: per chunk: the kernel has it. Taking one twice is an error.
 */
struct umem {
	int memfd;
	char *area;
	__u32 chunks;
	bool *in_kernel;
};

struct xsk_opts {
	const char *dev;
	__u32 queue;
	bool attach;		/* XDP_ATTACH with attach_flags */
	__u32 attach_flags;
	__u16 bind_flags;
	bool no_rx;
	bool tx;
	bool busy_poll;
	bool inorder;		/* XDP_TX_INORDER */
	bool no_comp;		/* no completion ring */
	__u32 tx_size;		/* RING if 0 */
	__u32 tx_part;		/* bytes of a descriptor; CHUNK if 0 */
	__u32 tx_metadata;	/* bytes before the frame, if not 0 */
	__u32 rx_size;		/* RING if 0 */
	__u32 chunks;		/* CHUNKS if 0; less leaves some to others */
	struct xsk *share;	/* XDP_SHARED_UMEM with that socket */
	bool share_rings;	/* same queue: also its fill and completion */
};

/*
 * struct xsk - a socket
 * @pool: the socket whose fill and completion ring serve this one
 * @idle: chunks at the user, in the order in which they came back
 * @tx_chunks: in order: the chunk of each slot of the Tx ring, or CHUNKS
 * @tx_done: in order: the first slot not seen to be complete
 * @first: the first of the chunks that are this socket's
 * @count: how many they are
 */
struct xsk {
	int fd;
	struct xsk_opts opts;
	struct ring rx, tx, fill, comp;
	struct umem *umem;
	struct xsk *pool;
	__u32 idle[CHUNKS];
	__u32 idle_head, idle_tail;
	__u32 *tx_chunks;
	__u32 tx_done;
	__u32 first, count;
};

/*
 * struct flow - numbered frames on their way from one socket to another
 * @max_len: no frame is longer
 * @udp: they are UDP, and a port of a NIC is told to have them in queue 1
 * @gaps: frames may be missing, but not be late
 * @next: number of the next frame to arrive
 * @received: frames that arrived at @rx
 */
struct flow {
	struct xsk *tx, *rx;
	__u32 max_len;
	bool udp;
	bool gaps;
	__u32 sent;
	__u32 next;
	__u32 received;
};

/*
 * struct traffic - a thread that sends until it is told to stop
 * @accounted: frames that the main thread knows the fate of
 * @lossy: frames may vanish, so do not wait for them
 */
struct traffic {
	struct flow *flow;
	pthread_t thread;
	__u32 accounted;
	bool lossy;
	bool stop;
	int err;
};

/* Frames that reach the stack of a device, by an AF_PACKET socket */
struct stack {
	int fd;
};

/* What sock_diag tells of a socket */
struct diag_socket {
	ino_t ino;
	bool has_info, has_attach;
	__u32 ifindex;
	struct xdp_attach attach;
};

#define DIAG_SOCKETS	512

struct diag {
	__u32 count;
	struct diag_socket sockets[DIAG_SOCKETS];
};

struct bpf_census {
	__u32 progs, maps;
	__u32 xdp_progs, builtins, xskmaps;
};

struct veth_opts {
	__u32 mtu;
	bool busy_poll;
};

/* A process beside the test: a byte in a pipe says that a step is done */
struct helper {
	pid_t pid;
	int to[2], from[2];
};

__printf(1, 2) int run(const char *fmt, ...);
__printf(2, 3) int complain(int err, const char *fmt, ...);
long long now_ms(void);
void nap(int ms);

int netns_enter(void);
int veth_create(const struct veth_opts *opts);
int ports_find(const char *rx, const char *tx);
int ports_take(bool busy_poll);
int ports_up(void);
int ports_give_back(const char *rx, const char *tx);
int queue_settle(const char *dev, __u32 queue);

int xsk_open(struct xsk *x, const struct xsk_opts *opts);
int xsk_adopt(struct xsk *x, int fd, int memfd, const struct xsk_opts *opts);
int xsk_bind(struct xsk *x);
int xsk_bind_soon(struct xsk *x);
int xsk_create(struct xsk *x, const struct xsk_opts *opts);
void xsk_close(struct xsk *x);
void xsk_refill(struct xsk *x);
__u32 xsk_held(const struct xsk *x);
bool xsk_send(struct xsk *x, const void *frame, __u32 len);
void xsk_put(struct xsk *x, __u64 addr, __u32 len, __u32 options);
int xsk_kick(struct xsk *x);
int xsk_reap(struct xsk *x);
int xsk_recv(struct xsk *x, void *frame);
void xsk_drive(struct xsk *x, int ms);
int xsk_query(const struct xsk *x, struct xdp_attach *attach);
int xsk_stats(const struct xsk *x, struct xdp_statistics *stats);
int diag_dump(struct diag *d, __u32 show);
const struct diag_socket *diag_find(const struct diag *d, int fd);
int xsk_diag(const struct xsk *x, __u32 show, struct xdp_attach *attach);

__u32 frame_build(const struct flow *f, void *frame, __u32 seq);
__u32 frame_seq(const void *frame);

__u32 flow_sent(const struct flow *f);
int flow_put(struct flow *f, __u32 frames);
int flow_send(struct flow *f, __u32 frames);
int flow_send_raw(struct flow *f, struct stack *s, __u32 frames);
int flow_recv(struct flow *f);
int flow_check(struct flow *f, const void *frame, int len);
int flow_transfer(struct flow *f, __u32 frames, bool refill);
int flow_to_stack(struct flow *f, struct stack *s, __u32 frames);
__u64 counter_read(const __u64 *counter);
int flow_to_program(struct flow *f, const __u64 *seen, __u32 frames);
int flow_wait(struct flow *f, __u32 received);
int flow_reach(struct flow *f, __u32 next);
int flow_settle(struct flow *f);
int flow_settle_stack(struct flow *f, struct stack *s);
int flow_drain(struct flow *f);

int traffic_start(struct traffic *t, struct flow *flow);
int traffic_stop(struct traffic *t);

int stack_open(struct stack *s, const char *dev);
int stack_recv(struct stack *s, void *frame);
void stack_close(struct stack *s);

int prog_id(int prog_fd);
int bpf_count(struct bpf_census *census);
int kmsg_open(void);
bool kmsg_find(int fd, const char *text);

bool helper_tell(const int *pipe);
bool helper_wait(const int *pipe);
pid_t helper_fork(struct helper *h);
void helper_kill(struct helper *h);

bool become_nobody(void);
bool root_of_new_user_ns(void);

bool kernel_has_attach(void);
bool with_ports(void);
int tap_print_libbpf(enum libbpf_print_level level, const char *fmt,
		     va_list args);

#endif /* XSK_ATTACH_LIB_H */
