/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU's plugin interface, version 7, that count.c uses: Debian's QEMU packages
 * lack its header. QEMU's docs/devel/tcg-plugins.rst describes the interface. QEMU rejects a
 * plugin with an unknown qemu_plugin_version.
 */
#ifndef BENCH_QEMU_PLUGIN_H
#define BENCH_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define QEMU_PLUGIN_VERSION 7
#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

struct qemu_info_t {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

/* A number in each vCPU's element of a scoreboard */
struct qemu_plugin_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };

enum qemu_plugin_cond { QEMU_PLUGIN_COND_GE = 7 };

enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_W = 2, QEMU_PLUGIN_MEM_RW };

typedef __u32 qemu_plugin_meminfo_t;
struct qemu_plugin_hwaddr;

typedef void (*qemu_plugin_vcpu_cb)(unsigned int vcpu, void *data);
typedef void (*qemu_plugin_vcpu_mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info,
					__u64 vaddr, void *data);
typedef void (*qemu_plugin_tb_cb)(struct qemu_plugin_tb *tb, void *data);

/* GArray and GByteArray of GLib, which QEMU is linked to */
struct glib_array {
	char *data;
	unsigned int len;
};

struct glib_bytes;
struct glib_bytes *g_byte_array_new(void);
struct glib_bytes *g_byte_array_set_size(struct glib_bytes *array, unsigned int length);

struct qemu_plugin_register;
struct qemu_plugin_reg_descriptor {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
	bool is_readonly;
};

/* Registers of a vCPU, an array of descriptors; to be called from vcpu_init */
struct glib_array *qemu_plugin_get_registers(void);
/* Appends the value on the current vCPU */
int qemu_plugin_read_register(struct qemu_plugin_register *handle, struct glib_bytes *buf);

void qemu_plugin_register_vcpu_init_cb(__u64 id, qemu_plugin_vcpu_cb cb, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(__u64 id, qemu_plugin_tb_cb cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(__u64 id, qemu_plugin_vcpu_cb cb, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
__u64 qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
__u64 qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
/* Copies the instruction's bytes, at most @len; returns their number */
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);

void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb,
						       enum qemu_plugin_op op,
						       struct qemu_plugin_u64 entry, __u64 imm);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_cb cb,
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_cb cb,
					       enum qemu_plugin_cb_flags flags,
					       enum qemu_plugin_cond cond,
					       struct qemu_plugin_u64 entry, __u64 imm,
					       void *data);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn,
							 enum qemu_plugin_op op,
							 struct qemu_plugin_u64 entry, __u64 imm);

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, __u64 vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr);
__u64 qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu);

QEMU_PLUGIN_EXPORT int qemu_plugin_install(__u64 id, const struct qemu_info_t *info, int argc,
					   char **argv);

#endif
