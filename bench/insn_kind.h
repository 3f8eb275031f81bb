/* SPDX-License-Identifier: GPL-2.0 */
/* Finds locked instructions and full memory barriers among the machine code of x86-64. */
#ifndef BENCH_INSN_KIND_H
#define BENCH_INSN_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

#define MAX_INSN_SIZE 15

enum insn_kind { INSN_OTHER, INSN_LOCKED, INSN_FENCE };

static inline bool is_legacy_prefix(__u8 byte)
{
	static const __u8 prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67,
					 0xf0, 0xf2, 0xf3 };

	return memchr(prefixes, byte, sizeof(prefixes));
}

/* `add` or `or` of $0 to memory at the stack pointer: Linux' smp_mb(), and compilers' full fence */
static inline bool adds_zero_to_stack(const __u8 *opcode, size_t size)
{
	__u8 modrm;

	if (size < 4 || opcode[0] != 0x83)
		return false;
	modrm = opcode[1];
	/* /0 is add, /1 is or; 0x24 is the stack pointer without an index */
	return modrm < 0xc0 && (modrm & 0x30) == 0 && (modrm & 7) == 4 && opcode[2] == 0x24 &&
	       opcode[size - 1] == 0;
}

/* An exchange with memory is locked without the prefix */
static inline bool is_exchange(const __u8 *opcode, size_t size)
{
	return size >= 2 && (opcode[0] & 0xfe) == 0x86 && opcode[1] < 0xc0;
}

/* Kind of the instruction with these bytes */
static inline enum insn_kind insn_kind(const __u8 *code, size_t size)
{
	static const __u8 mfence[] = { 0x0f, 0xae, 0xf0 };
	bool locked = false;
	size_t i = 0;
	__u8 rex = 0;

	if (size == sizeof(mfence) && !memcmp(code, mfence, size))
		return INSN_FENCE;
	for (; i < size && is_legacy_prefix(code[i]); i++)
		locked |= code[i] == 0xf0;
	if (i < size && (code[i] & 0xf0) == 0x40)
		rex = code[i++];
	/* With these bits, the prefix selects other registers than the stack pointer */
	if (locked && !(rex & 3) && adds_zero_to_stack(code + i, size - i))
		return INSN_FENCE;
	return locked || is_exchange(code + i, size - i) ? INSN_LOCKED : INSN_OTHER;
}

#endif
