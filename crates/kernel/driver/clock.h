/* SPDX-License-Identifier: GPL-2.0 */
/* clock.c: the time of the run. */
#ifndef FOREBAY_CLOCK_H
#define FOREBAY_CLOCK_H

#include <linux/types.h>

/* The run's time 0 is `start_ns` of CLOCK_MONOTONIC. */
void fb_clock_start(u64 start_ns);
/* Picoseconds since the start of the run. */
u64 fb_now(void);
/* CLOCK_MONOTONIC, in ns, at the first nanosecond that is not before `time` (ps). */
u64 fb_clock_ns(u64 time);

#endif
