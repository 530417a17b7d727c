/* SPDX-License-Identifier: GPL-2.0 */
/* The random number generator of the crate `types`: xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2019), and the
 * finish of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
#ifndef FOREBAY_RANDOM_H
#define FOREBAY_RANDOM_H

#include "protocol.h"

struct fb_random {
	fb_u64 s[4];
};

static inline fb_u64 fb_mix(fb_u64 z)
{
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

static inline fb_u64 fb_rotate(fb_u64 x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline fb_u64 fb_next(struct fb_random *r)
{
	fb_u64 *s = r->s;
	fb_u64 drawn = fb_rotate(s[0] + s[3], 23) + s[0];
	fb_u64 shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = fb_rotate(s[3], 45);
	return drawn;
}

/* The stream named by tags under a seed (Rng::stream). */
static inline struct fb_random fb_stream(fb_u64 seed, const fb_u64 *tags, int ntags)
{
	const fb_u64 step = 0x9E3779B97F4A7C15u;
	fb_u64 state = seed;
	struct fb_random made;

	for (int i = 0; i < ntags; i++)
		state = fb_mix(state + step) ^ tags[i] * 0xD6E8FEB86659FD93u;
	for (int i = 0; i < 4; i++)
		made.s[i] = fb_mix(state += step);
	return made;
}

/* Uniform below n. */
static inline fb_u64 fb_below(struct fb_random *r, fb_u64 n)
{
	return (fb_u64)((unsigned __int128)fb_next(r) * n >> 64);
}

#endif
