// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts executed instructions per block of code, between two points
 * that are given in packets.
 *
 *   -plugin count.so,dir=BOOT,out=FOLDER,busy=ADDRESS,halt=ADDRESS,syscall=ADDRESS
 *           [,cores=N][,lines=on][,latency=on]
 *
 * BOOT has the sockets control.sock of nicsim and bench.sock, the other end of a serial
 * port of the guest. The guest requests a measurement by one line on that port:
 *
 *   NAME COUNTER WARMUP PACKETS ROUND DOORBELL PORT...
 *
 * COUNTER is a key of nicsim's counters, to_chip or from_chip, added up over all ports, or
 * @ADDRESS, in hexadecimal: a packet is an entry of the block at that address. DOORBELL is
 * FIRST-LAST, in hexadecimal: the physical addresses of registers of Tx rings.
 * Once the guest is asleep, the plugin starts the generators of these PORTs. Every SAMPLE
 * instructions it reads nicsim's counters, while the guest is stopped. After WARMUP packets
 * it starts to count; after PACKETS more it writes FOLDER/NAME.blocks, stops the generators
 * and replies `done`. Only the measured program runs in between, without instrumentation.
 *
 * FOLDER/NAME.blocks: a line of JSON with the totals, then for each block that ran: vCPU,
 * address of its first instruction, number of entries, instructions executed.
 * Only the first N vCPUs count, by default one. The totals include register accesses of the NICs,
 * as nicsim counts them; locked instructions and full fences (insn_kind.h), of which each execution
 * counts; and with latency=on, which needs a single vCPU, the sums of two latencies in
 * instructions (struct latency).
 *
 * With lines=on each block has three more numbers about its loads and stores, in lines of
 * 64 bytes of physical memory:
 *  - lines transferred between vCPU 0 and 1: those that the other vCPU wrote last and that
 *    this one has not accessed since, as if caches were unlimited;
 *  - misses of a level 1 and of a level 2 cache of each vCPU (struct cache_model).
 * DMA is not included. This makes the guest several times slower.
 *
 * QEMU has to run all vCPUs in one thread (-icount), because there are no locks. In that thread
 * QEMU 11.1 treats the vCPU that a block is translated on as the one that executes it. With
 * several vCPUs, callbacks get a wrong vCPU index, and inline counters crash. The plugin then
 * identifies the vCPU by its registers and counts blocks in a callback.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "insn_kind.h"
#include "qemu_plugin.h"

/* Some batches of 64 packets; a request to nicsim takes as long as some 5000 instructions */
#define SAMPLE 100000
/* Requests to nicsim until a round counts as inexact */
#define MAX_TRIES 1000
/* Samples from the request until nothing else runs in the guest */
#define SETTLE 300
#define MAX_BLOCKS 524288U		/* a power of 2 */

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct block_count {
	__u64 entered;
	__u64 insns;
};

/* State of a line of memory: which vCPU wrote it last, and which have accessed it since */
#define LINE_BITS 6
#define NUM_LINES (1ULL << (32 - LINE_BITS))
#define MAX_CORES 2
#define WRITTEN_BY(vcpu) (1U << (vcpu))
#define HELD_BY(vcpu) (4U << (vcpu))
static __u8 *lines;

/* With several vCPUs: the addresses of their per-CPU data, in ascending order */
#define MAX_VCPUS 64
#define KERNEL_IMAGE 0xffffffff80000000
#define MODULES 0xffffffffa0000000
static __u64 own_data[MAX_VCPUS];
static unsigned int num_own;
static struct qemu_plugin_register *gs_base, *kernel_gs_base;
static struct glib_bytes *register_value;

struct block {
	unsigned int number, insns;
	unsigned int kinds[INSN_FENCE + 1];	/* instructions of each kind */
	__u64 first, last;		/* address of the first, last instruction */
};

/*
 * The current block of each vCPU, if there are several. QEMU aborts a block at an access to a
 * device that is not its last instruction, and continues with another block behind that.
 */
static struct {
	const struct block *block;
	bool met_device;
} running[MAX_VCPUS];
static unsigned int running_vcpu;

/* Data caches with lines of 64 bytes; each set has the most recently used line first */
#define LEVELS 2
static const struct cache_size {
	unsigned int sets, ways;
} cache_size[LEVELS] = { { 64, 8 }, { 1024, 16 } };	/* 32 KB and 1 MB */

struct line_count {
	__u64 transfers;
	__u64 misses[LEVELS];
};

struct cache_model {
	__u32 *tags[LEVELS];
	struct line_count blocks[MAX_BLOCKS];
};

/* A vCPU's element of the scoreboard; block 0 is for those that do not fit into the table */
struct counts {
	__u64 since_sample;		/* of all vCPUs in the first one, if there are several */
	__u64 clock;			/* instructions executed; with latency=on */
	__u64 awaits_user;		/* whether the next block in user space ends bench.rx */
	__u64 kinds[INSN_FENCE + 1];	/* of locked instructions and fences */
	struct block_count blocks[MAX_BLOCKS];
};

enum state { WAITING, SETTLING, WARMING_UP, COUNTING };

/* Instructions between two points, summed up while counting */
struct latency {
	__u64 begin;
	bool open;			/* only the first point was passed */
	__u64 sum, rounds;
};

struct accesses {
	__u64 reads, writes;
};

static struct {
	char dir[80];
	char out[80];
	struct qemu_plugin_scoreboard *score;	/* with one vCPU; otherwise counts */
	struct counts *counts[MAX_CORES];
	unsigned int cores;
	struct cache_model *caches[MAX_CORES];	/* with lines=on */
	unsigned int num_blocks;
	int control, guest;
	enum state state;
	char name[80];
	char counter[32];
	__u64 address;				/* block to count instead, or 0 */
	__u64 warmup, packets;		/* as requested */
	struct {
		__u64 address;
		__u64 frames;			/* to hand over, or 0 */
	} busy, halt;
	__u64 syscall;				/* address of the entry of system calls */
	struct {
		__u64 first, last;		/* physical addresses */
	} doorbell;
	/* From the hand-over of frames to user space; from a system call to the first doorbell */
	struct latency rx, tx;
	bool latency;				/* with latency=on */
	struct accesses begin_accesses;
	__u64 dropped;				/* frames that ports do not receive at once */
	__u64 inexact;				/* rounds while counting in which there were some */
	char ports[32];
	unsigned int settle;			/* samples until the generators start */
	__u64 first_packet, begin;		/* counter at the request, when counting began */
	/* While counting: halts of a vCPU, samples, samples without a pending packet */
	__u64 idle, samples, starved;
} bench = { .cores = 1, .control = -1, .guest = -1 };

/* A hash table of block addresses, indexed by block number; 0 is a free entry */
static __u64 addresses[MAX_BLOCKS];

static void fail(const char *what)
{
	fprintf(stderr, "count.so: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void *zeroed(size_t number, size_t size)
{
	void *memory = calloc(number, size);

	if (!memory)
		fail("memory");
	return memory;
}

static int connect_to(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", bench.dir, name);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail(addr.sun_path);
	return fd;
}

/* The sum of all values of the key in a line of JSON */
static __u64 sum_of(const char *json, const char *key)
{
	char quoted[40];
	__u64 sum = 0;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	while ((json = strstr(json, quoted))) {
		json += strlen(quoted);
		sum += strtoull(json, NULL, 10);
	}
	return sum;
}

/* Sends a command to nicsim; returns the reply, one line */
static const char *tell(const char *command)
{
	static char answer[65536];
	size_t len = strlen(command);
	ssize_t got;

	if (write(bench.control, command, len) != (ssize_t)len)
		fail("nicsim");
	len = 0;
	do {
		got = read(bench.control, answer + len, sizeof(answer) - 1 - len);
		if (got <= 0)
			fail("nicsim");
		len += got;
	} while (answer[len - 1] != '\n');
	answer[len] = '\0';
	return answer;
}

/* Starts or stops all requested generators */
static void generators(const char *verb)
{
	char command[80];

	for (const char *port = bench.ports; *port; port++) {
		if (*port < '0' || *port > '9')
			continue;
		snprintf(command, sizeof(command), "gen %c %s\n", *port, verb);
		tell(command);
	}
}

/* Number of frames that the ports have accepted, but not received */
static __u64 pending(const char *answer)
{
	return sum_of(answer, "rx_wire") - sum_of(answer, "rx_frames");
}

/* Hands @count frames to each port, and waits until they are received */
static void hand_over(__u64 count)
{
	const char *answer;
	char verb[40];

	if (!count || (bench.state != WARMING_UP && bench.state != COUNTING))
		return;
	snprintf(verb, sizeof(verb), "start count=%llu", count);
	generators(verb);
	for (int tries = MAX_TRIES; tries; tries--) {
		answer = tell("counters\n");
		if (!strstr(answer, "\"running\":true") && pending(answer) <= bench.dropped)
			return;
	}
	/* Some wait for a descriptor, or were dropped */
	bench.dropped = pending(answer);
	bench.inexact++;
}

static struct counts *counts_of(unsigned int vcpu)
{
	return bench.score ? qemu_plugin_scoreboard_find(bench.score, vcpu) : bench.counts[vcpu];
}

static void latency_begins(struct latency *latency)
{
	latency->open = bench.latency && bench.state == COUNTING;
	latency->begin = counts_of(0)->clock;
}

static void latency_ends(struct latency *latency)
{
	if (latency->open) {
		latency->sum += counts_of(0)->clock - latency->begin;
		latency->rounds++;
	}
	latency->open = false;
}

static void busy_loop_begins(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	hand_over(bench.busy.frames);
	if (!bench.busy.frames || bench.rx.open)
		return;
	latency_begins(&bench.rx);
	counts_of(0)->awaits_user = bench.rx.open;
}

static void user_begins(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	counts_of(0)->awaits_user = 0;
	latency_ends(&bench.rx);
}

static void halt_begins(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	hand_over(bench.halt.frames);
}

static void syscall_begins(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	latency_begins(&bench.tx);
}

/* Called after each store of a module */
static void stored(unsigned int vcpu, qemu_plugin_meminfo_t info, __u64 vaddr, void *data)
{
	const struct qemu_plugin_hwaddr *hwaddr;
	__u64 address;

	(void)vcpu;
	(void)data;
	if (!bench.tx.open)
		return;
	hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hwaddr || !qemu_plugin_hwaddr_is_io(hwaddr))
		return;
	address = qemu_plugin_hwaddr_phys_addr(hwaddr);
	if (address >= bench.doorbell.first && address <= bench.doorbell.last)
		latency_ends(&bench.tx);
}

static __u64 times_entered(__u64 address);

/* Number of packets so far; @starved: none is pending at the ports, though a generator runs */
static __u64 packets_now(bool *starved)
{
	const char *answer;

	*starved = false;
	if (bench.address)
		return times_entered(bench.address);
	answer = tell("counters\n");
	*starved = strstr(answer, "\"running\":true") && !pending(answer);
	return sum_of(answer, bench.counter);
}

static struct accesses accesses_now(void)
{
	const char *answer = tell("counters\n");

	return (struct accesses){ sum_of(answer, "reads"), sum_of(answer, "writes") };
}

/* Whether the guest has requested a measurement */
static bool asked(void)
{
	static char line[256];
	static size_t len;
	char round[32];
	ssize_t got = recv(bench.guest, line + len, sizeof(line) - 1 - len, MSG_DONTWAIT);

	if (got > 0)
		len += got;
	line[len] = '\0';
	if (!strchr(line, '\n'))
		return false;
	len = 0;
	bench.ports[0] = '\0';
	bench.busy.frames = 0;
	bench.halt.frames = 0;
	if (sscanf(line, "%79s %31s %llu %llu %31s %llx-%llx %31[0-9 ]", bench.name, bench.counter,
		   &bench.warmup, &bench.packets, round, &bench.doorbell.first,
		   &bench.doorbell.last, bench.ports) >= 7 &&
	    (!strcmp(round, "full") || sscanf(round, "busy=%llu", &bench.busy.frames) == 1 ||
	     sscanf(round, "halt=%llu", &bench.halt.frames) == 1)) {
		bench.address = bench.counter[0] == '@' ?
				strtoull(bench.counter + 1, NULL, 16) : 0;
		return true;
	}
	errno = EINVAL;
	fail("request of the guest");
	return false;
}

/* Blocks with the same start address in different processes are not distinguished */
static unsigned int block_number(__u64 address)
{
	unsigned int i = (address * 0x9e3779b97f4a7c15) >> 45;

	while (addresses[i] != address || !i) {
		if (i && !addresses[i]) {
			if (bench.num_blocks >= MAX_BLOCKS / 4 * 3)
				return 0;
			bench.num_blocks++;
			addresses[i] = address;
			return i;
		}
		i = (i + 1) % MAX_BLOCKS;
	}
	return i;
}

/* Since the start of counting or, before that, of the guest */
static __u64 times_entered(__u64 address)
{
	unsigned int number = block_number(address);
	__u64 entered = 0;

	for (unsigned int vcpu = 0; vcpu < bench.cores; vcpu++)
		entered += counts_of(vcpu)->blocks[number].entered;
	return entered;
}

static void forget(unsigned int vcpu)
{
	memset(counts_of(vcpu)->blocks, 0, sizeof(counts_of(vcpu)->blocks));
	memset(counts_of(vcpu)->kinds, 0, sizeof(counts_of(vcpu)->kinds));
	if (lines)
		memset(bench.caches[vcpu]->blocks, 0, sizeof(bench.caches[vcpu]->blocks));
}

static void begin_counting(__u64 now)
{
	for (unsigned int vcpu = 0; vcpu < bench.cores; vcpu++)
		forget(vcpu);
	bench.idle = 0;
	bench.samples = 0;
	bench.starved = 0;
	bench.inexact = 0;
	bench.rx = (struct latency){};
	bench.tx = (struct latency){};
	bench.begin_accesses = accesses_now();
	bench.begin = bench.address ? 0 : now;
}

static __u64 total_insns(void)
{
	__u64 total = 0;

	for (unsigned int vcpu = 0; vcpu < bench.cores; vcpu++)
		for (unsigned int i = 0; i < MAX_BLOCKS; i++)
			total += counts_of(vcpu)->blocks[i].insns;
	return total;
}

static __u64 total_of_kind(enum insn_kind kind)
{
	__u64 total = 0;

	for (unsigned int vcpu = 0; vcpu < bench.cores; vcpu++)
		total += counts_of(vcpu)->kinds[kind];
	return total;
}

static void write_totals(FILE *file, __u64 packets)
{
	struct accesses now = accesses_now();

	fprintf(file,
		"{\"packets\": %llu, \"insns\": %llu, \"idle\": %llu, \"samples\": %llu, \"starved\": %llu, \"inexact\": %llu",
		packets, total_insns(), bench.idle, bench.samples, bench.starved, bench.inexact);
	fprintf(file,
		", \"mmio_reads\": %llu, \"mmio_writes\": %llu, \"locked\": %llu, \"fences\": %llu",
		now.reads - bench.begin_accesses.reads, now.writes - bench.begin_accesses.writes,
		total_of_kind(INSN_LOCKED), total_of_kind(INSN_FENCE));
	fprintf(file,
		", \"rx_latency\": %llu, \"rx_rounds\": %llu, \"tx_latency\": %llu, \"tx_rounds\": %llu}\n",
		bench.rx.sum, bench.rx.rounds, bench.tx.sum, bench.tx.rounds);
}

static void write_blocks(FILE *file, unsigned int vcpu)
{
	const struct block_count *blocks = counts_of(vcpu)->blocks;
	struct line_count none = {};

	for (unsigned int i = 0; i < MAX_BLOCKS; i++) {
		const struct line_count *met = lines ? &bench.caches[vcpu]->blocks[i] : &none;

		if (blocks[i].insns)
			fprintf(file, "%u %llx %llu %llu %llu %llu %llu\n", vcpu, addresses[i],
				blocks[i].entered, blocks[i].insns, met->transfers,
				met->misses[0], met->misses[1]);
	}
}

static void end_counting(__u64 now)
{
	static const char done[] = "done\n";
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.blocks", bench.out, bench.name);
	file = fopen(path, "w");
	if (!file)
		fail(path);
	write_totals(file, now - bench.begin);
	for (unsigned int vcpu = 0; vcpu < bench.cores; vcpu++)
		write_blocks(file, vcpu);
	if (fclose(file))
		fail(path);
	generators("stop");
	if (write(bench.guest, done, sizeof(done) - 1) < 0)
		fail("guest");
}

static void settle(void)
{
	bool starved;

	if (bench.settle--)
		return;
	bench.first_packet = packets_now(&starved);
	bench.dropped = pending(tell("counters\n"));
	bench.state = WARMING_UP;
	if (!bench.busy.frames && !bench.halt.frames)
		generators("start");
	/* A socket polls only after its first packet, and a guest may be asleep already */
	hand_over(bench.busy.frames + bench.halt.frames);
}

static void look_at_packets(void)
{
	bool starved;
	__u64 now = packets_now(&starved);

	bench.samples++;
	bench.starved += starved;
	if (bench.state == WARMING_UP && now - bench.first_packet >= bench.warmup) {
		begin_counting(now);
		bench.state = COUNTING;
	} else if (bench.state == COUNTING && now - bench.begin >= bench.packets) {
		end_counting(now);
		bench.state = WAITING;
	}
}

static void sample(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	counts_of(0)->since_sample = 0;
	if (bench.guest < 0) {
		bench.guest = connect_to("bench.sock");
		bench.control = connect_to("control.sock");
	}
	if (bench.state == SETTLING) {
		settle();
	} else if (bench.state != WAITING) {
		look_at_packets();
	} else if (asked()) {
		bench.settle = SETTLE;
		bench.state = SETTLING;
	}
}

static struct qemu_plugin_u64 entry(size_t offset)
{
	return (struct qemu_plugin_u64){ bench.score, offset };
}

static __u64 read_register(struct qemu_plugin_register *handle)
{
	__u64 value = 0;

	g_byte_array_set_size(register_value, 0);
	qemu_plugin_read_register(handle, register_value);
	memcpy(&value, *(void **)register_value, sizeof(value));
	return value;
}

/* Records a vCPU that has not been seen yet; returns its index */
static unsigned int record_own_data(__u64 address)
{
	unsigned int i = num_own;

	if (num_own == MAX_VCPUS)
		return MAX_VCPUS - 1;
	for (num_own++; i && own_data[i - 1] > address; i--)
		own_data[i] = own_data[i - 1];
	own_data[i] = address;
	return i;
}

/*
 * The current vCPU. Linux orders per-CPU data by CPU number; the first CPU boots without its own
 * data.
 */
static unsigned int current_vcpu(void)
{
	__u64 address = read_register(gs_base);

	if (!(address >> 63))
		address = read_register(kernel_gs_base);
	if (!(address >> 63) || address >= KERNEL_IMAGE)
		return 0;
	for (unsigned int i = 0; i < num_own; i++) {
		if (own_data[i] == address)
			return i;
	}
	return record_own_data(address);
}

static void find_registers(unsigned int vcpu, void *data)
{
	struct glib_array *array = qemu_plugin_get_registers();
	const struct qemu_plugin_reg_descriptor *registers = (void *)array->data;

	(void)vcpu;
	(void)data;
	for (unsigned int i = 0; i < array->len; i++) {
		if (!strcmp(registers[i].name, "gs_base"))
			gs_base = registers[i].handle;
		if (!strcmp(registers[i].name, "k_gs_base"))
			kernel_gs_base = registers[i].handle;
	}
}

/* Whether the line is not in the set; inserts it in place of the least recently used one */
static bool misses(__u32 *set, unsigned int ways, __u32 line)
{
	unsigned int i = 0;
	bool missed;

	while (i < ways - 1 && set[i] != line)
		i++;
	missed = set[i] != line;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = line;
	return missed;
}

/* @gone: the other vCPU wrote the line, so it is in none of these caches */
static void look_up(struct cache_model *caches, struct line_count *count, __u32 line, bool gone)
{
	for (int level = 0; level < LEVELS; level++) {
		const struct cache_size *size = &cache_size[level];
		__u32 *set = &caches->tags[level][line % size->sets * size->ways];

		if (!misses(set, size->ways, line + 1) && !gone)
			return;
		count->misses[level]++;
	}
}

/* Called on each load or store of the block with this number */
static void touched(unsigned int vcpu, qemu_plugin_meminfo_t info, __u64 vaddr, void *number)
{
	const struct qemu_plugin_hwaddr *hwaddr;
	struct line_count *count;
	bool gone;
	__u64 line;

	if (!bench.score)
		vcpu = running_vcpu;
	if (vcpu >= bench.cores || bench.state < WARMING_UP)
		return;
	hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hwaddr || qemu_plugin_hwaddr_is_io(hwaddr))
		return;
	line = qemu_plugin_hwaddr_phys_addr(hwaddr) >> LINE_BITS;
	if (line >= NUM_LINES)
		return;
	gone = (lines[line] & WRITTEN_BY(!vcpu)) && !(lines[line] & HELD_BY(vcpu));
	count = &bench.caches[vcpu]->blocks[(size_t)number];
	count->transfers += gone;
	look_up(bench.caches[vcpu], count, line, gone);
	if (qemu_plugin_mem_is_store(info))
		lines[line] = WRITTEN_BY(vcpu);
	lines[line] |= HELD_BY(vcpu);
}

static void watch_lines(struct qemu_plugin_tb *tb, size_t n, size_t number)
{
	for (size_t i = 0; i < n; i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), touched,
						 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 (void *)number);
}

static void met_device(unsigned int vcpu, qemu_plugin_meminfo_t info, __u64 vaddr, void *data)
{
	const struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, vaddr);

	(void)vcpu;
	(void)data;
	running[running_vcpu].met_device |= hwaddr && qemu_plugin_hwaddr_is_io(hwaddr);
}

/* Whether a block is the remainder of an aborted one, which was counted as a whole */
static bool is_rest(const struct block *block)
{
	const struct block *before = running[running_vcpu].block;

	return running[running_vcpu].met_device && before &&
	       block->first > before->first && block->first <= before->last;
}

static void count_block(const struct block *block)
{
	running_vcpu = current_vcpu();
	if (running_vcpu < bench.cores) {
		struct counts *counts = counts_of(running_vcpu);
		bool rest = is_rest(block);

		counts->blocks[block->number].entered++;
		counts->blocks[block->number].insns += rest ? 0 : block->insns;
		for (int kind = INSN_LOCKED; kind <= INSN_FENCE && !rest; kind++)
			counts->kinds[kind] += block->kinds[kind];
	}
	running[running_vcpu].block = block;
	running[running_vcpu].met_device = false;
}

static void entered_block(unsigned int vcpu, void *data)
{
	static unsigned int left_out;
	const struct block *block = data;

	/* Before warm-up, sample blocks only to discover all vCPUs */
	if (bench.state >= WARMING_UP)
		count_block(block);
	else if (left_out++ % 64 == 0)
		current_vcpu();
	counts_of(0)->since_sample += block->insns;
	if (counts_of(0)->since_sample >= SAMPLE)
		sample(vcpu, NULL);
}

static enum insn_kind kind_of(const struct qemu_plugin_insn *insn)
{
	__u8 code[MAX_INSN_SIZE];

	return insn_kind(code, qemu_plugin_insn_data(insn, code, sizeof(code)));
}

/* Only drivers access devices, and they are modules */
static void count_blocks(struct qemu_plugin_tb *tb, size_t n, size_t number)
{
	struct block *block = zeroed(1, sizeof(*block));

	block->number = number;
	block->insns = n;
	block->first = qemu_plugin_tb_vaddr(tb);
	block->last = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, n - 1));
	for (size_t i = 0; i < n; i++)
		block->kinds[kind_of(qemu_plugin_tb_get_insn(tb, i))]++;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, entered_block, QEMU_PLUGIN_CB_R_REGS, block);
	for (size_t i = 0; block->first >= MODULES && i < n; i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), met_device,
						 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

static void count_insn(struct qemu_plugin_insn *insn, size_t offset)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							    entry(offset), 1);
}

/* Counts each instruction, as QEMU may abort a block at an access to a device */
static void count_insns(struct qemu_plugin_tb *tb, size_t n, size_t number)
{
	struct qemu_plugin_u64 since_sample = entry(offsetof(struct counts, since_sample));
	struct qemu_plugin_u64 entered = entry(offsetof(struct counts, blocks[number].entered));

	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, entered,
							  1);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							  since_sample, n);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, sample, QEMU_PLUGIN_CB_NO_REGS,
						  QEMU_PLUGIN_COND_GE, since_sample, SAMPLE, NULL);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		enum insn_kind kind = kind_of(insn);

		count_insn(insn, offsetof(struct counts, blocks[number].insns));
		if (kind != INSN_OTHER)
			count_insn(insn, offsetof(struct counts, kinds[kind]));
	}
}

static void watch_latency(struct qemu_plugin_tb *tb, size_t n)
{
	__u64 address = qemu_plugin_tb_vaddr(tb);

	if (address == bench.syscall)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, syscall_begins, QEMU_PLUGIN_CB_NO_REGS,
						     NULL);
	if (!(address >> 63))
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, user_begins, QEMU_PLUGIN_CB_NO_REGS,
							  QEMU_PLUGIN_COND_GE,
							  entry(offsetof(struct counts,
									 awaits_user)),
							  1, NULL);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		count_insn(insn, offsetof(struct counts, clock));
		if (address >= MODULES)
			qemu_plugin_register_vcpu_mem_cb(insn, stored, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W, NULL);
	}
}

static void translated(struct qemu_plugin_tb *tb, void *data)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	unsigned int number = block_number(qemu_plugin_tb_vaddr(tb));

	(void)data;
	if (bench.score)
		count_insns(tb, n, number);
	else
		count_blocks(tb, n, number);
	if (bench.latency)
		watch_latency(tb, n);
	if (lines)
		watch_lines(tb, n, number);
	if (qemu_plugin_tb_vaddr(tb) == bench.busy.address)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, busy_loop_begins, QEMU_PLUGIN_CB_NO_REGS,
						     NULL);
	if (qemu_plugin_tb_vaddr(tb) == bench.halt.address)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, halt_begins, QEMU_PLUGIN_CB_NO_REGS,
						     NULL);
}

static void idle(unsigned int vcpu, void *data)
{
	(void)data;
	bench.idle += vcpu < bench.cores;
}

static void watch_lines_from_now(void)
{
	lines = zeroed(NUM_LINES, sizeof(*lines));
	for (int vcpu = 0; vcpu < MAX_CORES; vcpu++) {
		bench.caches[vcpu] = zeroed(1, sizeof(*bench.caches[vcpu]));
		for (int level = 0; level < LEVELS; level++) {
			const struct cache_size *size = &cache_size[level];

			bench.caches[vcpu]->tags[level] = zeroed(size->sets * size->ways,
								 sizeof(__u32));
		}
	}
}

static void tell_vcpus_apart(__u64 id)
{
	for (unsigned int core = 0; core < bench.cores; core++)
		bench.counts[core] = zeroed(1, sizeof(*bench.counts[core]));
	register_value = g_byte_array_new();
	qemu_plugin_register_vcpu_init_cb(id, find_registers, NULL);
}

int qemu_plugin_install(__u64 id, const struct qemu_info_t *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "lines=on")) {
			watch_lines_from_now();
		} else if (!strcmp(argv[i], "latency=on") && info->system.smp_vcpus == 1) {
			bench.latency = true;
		} else if (sscanf(argv[i], "dir=%79s", bench.dir) != 1 &&
			   sscanf(argv[i], "out=%79s", bench.out) != 1 &&
			   sscanf(argv[i], "busy=%llx", &bench.busy.address) != 1 &&
			   sscanf(argv[i], "halt=%llx", &bench.halt.address) != 1 &&
			   sscanf(argv[i], "syscall=%llx", &bench.syscall) != 1 &&
			   (sscanf(argv[i], "cores=%u", &bench.cores) != 1 ||
			    bench.cores > MAX_CORES)) {
			fprintf(stderr, "count.so: unknown argument %s\n", argv[i]);
			return 1;
		}
	}
	if (info->system.smp_vcpus > 1)
		tell_vcpus_apart(id);
	else
		bench.score = qemu_plugin_scoreboard_new(sizeof(struct counts));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	qemu_plugin_register_vcpu_idle_cb(id, idle, NULL);
	return 0;
}
