/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_XSK_UNROLL_H
#define _NET_XSK_UNROLL_H

/*
 * A for loop over frames, four to a turn: counting and moving pointers is a
 * fifth of what is done for a frame.
 */
#ifdef __clang__
#define xsk_unrolled_for _Pragma("clang loop unroll_count(4)") for
#else
#define xsk_unrolled_for _Pragma("GCC unroll 4") for
#endif

#endif /* _NET_XSK_UNROLL_H */
