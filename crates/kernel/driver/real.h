/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Floating point, for ProBoSCIS: the same IEEE operations in the same order as in Rust give the same bits. A kernel is compiled without floating
 * point, because it must not change the registers of a process. A User-mode Linux kernel is itself a process, so files that include this one
 * first can use floating point.
 */
#ifndef FOREBAY_REAL_H
#define FOREBAY_REAL_H

#if defined(__KERNEL__) && defined(__x86_64__)
#pragma GCC target("sse2")
#endif

#include "protocol.h"

/* A double from its bits, as parameters have it. */
static inline double fb_real(fb_u64 bits)
{
	union {
		fb_u64 bits;
		double real;
	} same = { .bits = bits };

	return same.real;
}

static inline fb_u64 fb_bits(double real)
{
	union {
		double real;
		fb_u64 bits;
	} same = { .real = real };

	return same.bits;
}

/* Towards zero, and never beyond what fits, as in Rust. */
static inline fb_u64 fb_whole(double x)
{
	if (!(x > 0.0))
		return 0;
	return x < 18446744073709551616.0 ? (fb_u64)x : FB_NEVER;
}

#endif
