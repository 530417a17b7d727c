// SPDX-License-Identifier: GPL-2.0
/* rng-seed=<number>: seed for the random numbers that the guest would otherwise read from the host, so that a run can be repeated. */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <shared/init.h>

static bool fixed;
static u64 state;

bool forebay_random(void *buffer, size_t length);

/* Fills the buffer, if a seed was given. SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
bool forebay_random(void *buffer, size_t length)
{
	u8 *byte = buffer;
	size_t at;

	if (!fixed)
		return false;
	for (at = 0; at < length; at++) {
		u64 z = state += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		byte[at] = z ^ (z >> 31);
	}
	return true;
}

static int __init set_seed(char *text, int *add)
{
	*add = 0;
	fixed = !kstrtoull(text, 0, &state);
	return 0;
}

__uml_setup("rng-seed=", set_seed, "rng-seed=<number>\n    Random numbers of the guest follow from this number.\n\n");
