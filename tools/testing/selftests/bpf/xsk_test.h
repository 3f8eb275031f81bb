/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small AF_XDP test library: a veth pair or two ports of a NIC in a network
 * namespace of its own, AF_XDP sockets on the raw UAPI, numbered packets of
 * which every byte is verified, and queries of the kernel's state.
 *
 * A function that returns int returns 0 or a negative errno unless documented
 * otherwise, and prints the cause of an error.
 */
#ifndef XSK_TEST_H
#define XSK_TEST_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/if_xdp.h>
#include <linux/if_xdp_fastpath.h>
#include <linux/netdev.h>
#include <linux/types.h>
#include <net/if.h>
#include <sys/types.h>
#include <bpf/libbpf.h>

#include "kselftest.h"

#ifndef AF_XDP
#define AF_XDP		44
#endif
#ifndef SOL_XDP
#define SOL_XDP		283
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL	69
#define SO_BUSY_POLL_BUDGET	70
#endif
#ifndef XDP_UMEM_TX_METADATA_LEN
#define XDP_UMEM_TX_METADATA_LEN 4
#endif

/* Packets are sent on TX_DEV and received on RX_DEV */
#define RX_DEV		"xa_rx"
#define TX_DEV		"xa_tx"
/* Number of queues of a veth device and of a port of a NIC */
#define QUEUES		3
#define PORT_QUEUES	2

#define CHUNK		4096
#define CHUNKS		512
#define RING		512
#define FRAME_MAX	9216
#define FRAME_LEN	1514
#define JUMBO_MTU	9000
#define JUMBO_LEN	9014
#define FRAME_ETHERTYPE	0x88b5	/* local experimental, IEEE 802 */
#define FRAME_UDP_PORT	1021	/* experimental, RFC 4727 */
/* Number of packet lengths; the last four take more than one Rx chunk */
#define FRAME_LENS	15
/* Maximum number of packets in flight: a veth queue holds 256 */
#define WINDOW		128
/* Time without progress after which packets count as lost */
#define STALL_MS	60000
/* Of a test in seconds: emulated machines with a debug kernel are slow */
#define TIMEOUT		600

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
 * @in_kernel: per chunk: owned by the kernel. Returning a chunk twice is an error.
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
	__u32 tx_part;		/* bytes per descriptor; CHUNK if 0 */
	__u32 tx_metadata;	/* bytes of metadata before the packet */
	__u32 rx_size;		/* RING if 0 */
	__u32 chunks;		/* CHUNKS if 0; others use the rest */
	struct xsk *share;	/* XDP_SHARED_UMEM with this socket */
	bool share_rings;	/* same queue: also its fill and completion ring */
};

/*
 * struct xsk - a socket
 * @pool: socket that owns the fill and completion ring
 * @idle: chunks owned by user space, in the order of their return
 * @tx_chunks: in-order: chunk of each entry of the Tx ring, or CHUNKS
 * @tx_done: in-order: first entry not known to be complete
 * @last: address of the last packet received
 * @first: first chunk of this socket
 * @count: number of chunks of this socket
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
	__u64 last;
	__u32 first, count;
};

/*
 * struct flow - numbered packets from one socket to another
 * @max_len: maximum packet length
 * @udp: UDP, which a filter of the NIC steers to queue 1
 * @gaps: packets may be missing, but not reordered
 * @next: sequence number of the next packet to receive
 * @received: number of packets received by @rx
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
 * struct traffic - a thread that sends until it is stopped
 * @accounted: number of packets accounted for by the main thread
 * @lossy: packets may be lost, do not wait for them
 */
struct traffic {
	struct flow *flow;
	pthread_t thread;
	__u32 accounted;
	bool lossy;
	bool stop;
	int err;
};

/* An AF_PACKET socket: packets that reach the stack of a device */
struct stack {
	int fd;
};

/* A socket in a dump of sock_diag */
struct diag_socket {
	ino_t ino;
	bool has_info, has_attach, has_recycle, has_drops;
	bool has_inorder, has_pair;
	__u32 ifindex;
	__u32 inorder;
	struct xdp_attach attach;
	struct xdp_recycle_stats recycle;
	struct xdp_diag_pair pair;
	struct xdp_drop_stats drops;
};

#define DIAG_SOCKETS	512

struct diag {
	__u32 count;
	struct diag_socket sockets[DIAG_SOCKETS];
};

#define QUEUE_INFO_FIRST	NETDEV_A_XSK_INFO_ATTACH_STATE
#define QUEUE_INFO_ATTRS	(NETDEV_A_XSK_INFO_MAX + 1 - QUEUE_INFO_FIRST)

/* The nest xsk of queue-get; the arrays begin with QUEUE_INFO_FIRST */
struct queue_info {
	bool used;	/* the queue has the nest */
	bool has[QUEUE_INFO_ATTRS];
	__u32 value[QUEUE_INFO_ATTRS];
};

struct bpf_census {
	__u32 progs, maps;
	__u32 xdp_progs, builtins, xskmaps;
};

struct veth_opts {
	__u32 mtu;
	bool busy_poll;
};

/* A helper process; a byte in a pipe reports a completed step */
struct helper {
	pid_t pid;
	int to[2], from[2];
};

/* For values shared with the kernel or with another thread */
static inline __u32 load_acquire(const __u32 *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static inline void store_release(__u32 *value, __u32 to)
{
	__atomic_store_n(value, to, __ATOMIC_RELEASE);
}

/* xsk_test_util.c: text, processes, users */
__printf(1, 2) int run(const char *fmt, ...);
__printf(2, 3) int complain(int err, const char *fmt, ...);
int tap_print_libbpf(enum libbpf_print_level level, const char *fmt,
		     va_list args);
int write_file(const char *path, const char *text);
__u32 env_frames(const char *name);
long long now_ms(void);
void nap(int ms);

bool helper_tell(const int *pipe);
bool helper_wait(const int *pipe);
pid_t helper_fork(struct helper *h);
void helper_kill(struct helper *h);
bool fds_send(int sock, const int *fds, int n, int flags);
bool fds_recv(int sock, int *fds, int n, int flags);

bool become_nobody(void);
bool user_ns_enter(void);
bool root_of_new_user_ns(void);

/* xsk_test_net.c: network namespaces and devices */
int netns_enter(void);
void ipv6_disable(void);
int dev_ioctl(const char *dev, unsigned long request, struct ifreq *ifr);
int dev_ethtool(const char *dev, void *arg);
int dev_capture(const char *dev, bool on);
int veth_create(const struct veth_opts *opts);
bool with_ports(void);
int ports_find(void);
int ports_take(bool busy_poll);
int ports_up(void);
void ports_give_back(void);

/* xsk_test_sock.c: rings, umem, sockets */
int xsk_open(struct xsk *x, const struct xsk_opts *opts);
int xsk_adopt(struct xsk *x, int fd, int memfd, const struct xsk_opts *opts);
int xsk_bind(struct xsk *x);
int xsk_create(struct xsk *x, const struct xsk_opts *opts);
void xsk_close(struct xsk *x);
int queue_settle(const char *dev, __u32 queue);
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

/* xsk_test_flow.c: packets, flows, traffic, the stack */
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

/* xsk_test_query.c: sock_diag, BPF programs and maps, the kernel log */
bool kernel_has(__u64 feature);
int diag_ask(int fd, __u32 show);
int diag_dump(struct diag *d, __u32 show);
const struct diag_socket *diag_find(const struct diag *d, int fd);
int xsk_diag(const struct xsk *x, __u32 show, struct xdp_attach *attach);
int prog_id(int prog_fd);
int bpf_count(struct bpf_census *census);
int kmsg_open(void);
bool kmsg_find(int fd, const char *text);

/* xsk_test_queue.c: the netdev netlink family */
int queue_get(struct queue_info *q, const char *dev, __u32 queue, bool tx);

#endif /* XSK_TEST_H */
