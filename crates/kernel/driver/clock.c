// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include "clock.h"

static u64 start_ns;

void fb_clock_start(u64 start)
{
	start_ns = start;
}

u64 fb_now(void)
{
	return (ktime_get_ns() - start_ns) * 1000;
}

u64 fb_clock_ns(u64 time)
{
	return start_ns + (time + 999) / 1000;
}
