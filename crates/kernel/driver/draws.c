// SPDX-License-Identifier: GPL-2.0
/*
 * Random draws of the kernel's congestion controls (bbr: the phase of its gain cycle; cdg: its decision to back off). The kernel's own generator
 * depends on its command line and on the size of its memory, for any seed. A stream of the scenario's seed replaces it here: the build redirects the
 * names that these two call to these functions (src/compile.rs).
 */
#include "random.h"
#include "setup.h"

u8 forebay_random_u8(void);
u32 forebay_random_u32(void);
u32 forebay_random_u32_below(u32 bound);

static u64 drawn; /* numbers so far */

u32 forebay_random_u32(void)
{
	return fb_mix(fb_setup.world.ties + ++drawn * 0x9E3779B97F4A7C15u) >> 32;
}

u8 forebay_random_u8(void)
{
	return forebay_random_u32() >> 24;
}

/* By multiplication; which of the numbers come up once more than others is of no account for so small bounds. */
u32 forebay_random_u32_below(u32 bound)
{
	return (u64)forebay_random_u32() * bound >> 32;
}
