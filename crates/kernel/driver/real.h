/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Real numbers, for the disciplines that need them: the same IEEE operations in the same order as in Rust give the same bits. The kernel is
 * compiled without them, because it must not touch a program's registers. A User-mode Linux kernel is a program: it may, in the files that
 * include this one, before any other.
 */
#ifndef FOREBAY_REAL_H
#define FOREBAY_REAL_H

#if defined(__KERNEL__) && defined(__x86_64__)
#pragma GCC target("sse2")
#endif

#include "random.h"

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

/* To the last bit, as IEEE 754 asks for. */
static inline double fb_sqrt(double x)
{
#ifdef __x86_64__
	asm("sqrtsd %1, %0" : "=x"(x) : "x"(x));
	return x;
#else
	return __builtin_sqrt(x);
#endif
}

#define FB_LN_2 0.693147180559945309417232121458
#define FB_SQRT_2 1.41421356237309504880168872421

/* Natural logarithm of a positive normal number, and e to the power x for |x| < 700, as in the crate `sampling` (math.rs). */
static inline double fb_ln(double x)
{
	fb_u64 bits = fb_bits(x);
	long long exponent = (long long)(bits >> 52) - 1023;
	double m = fb_real((bits & 0xFFFFFFFFFFFFFu) | (fb_u64)1023 << 52), z, z2, sum = 0.0;

	if (m > FB_SQRT_2) {
		m *= 0.5;
		exponent++;
	}
	z = (m - 1.0) / (m + 1.0);
	z2 = z * z;
	for (double k = 23.0; k > 0.0; k -= 2.0)
		sum = sum * z2 + 1.0 / k;
	return 2.0 * z * sum + (double)exponent * FB_LN_2;
}

static inline double fb_exp_series(double r, double terms)
{
	double sum = 1.0;

	for (double k = terms; k > 0.0; k -= 1.0)
		sum = 1.0 + r * sum / k;
	return sum;
}

static inline double fb_exp(double x)
{
	long long n = (long long)(x / FB_LN_2 + (x >= 0.0 ? 0.5 : -0.5));

	if (x < 1.0 / 64.0 && x > -1.0 / 64.0)
		return fb_exp_series(x, 8.0);
	return fb_exp_series(x - (double)n * FB_LN_2, 18.0) * fb_real((fb_u64)(n + 1023) << 52);
}

/* Uniform in [0, 1). */
static inline double fb_unit(struct fb_random *r)
{
	return (double)fb_unit_bits(r) * (1.0 / 9007199254740992.0);
}

#endif
