// SPDX-License-Identifier: GPL-2.0
/* What the network (network.h) asks of a kernel. */
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "network.h"

void *fb_net_memory(size_t size)
{
	/* Large pieces are requested before the run only, where one may wait. */
	return size <= 8 * PAGE_SIZE ? kzalloc(size, GFP_ATOMIC) : vzalloc(size);
}

void fb_net_refused(const char *what, u64 value)
{
	pr_err("forebay: %s: %llu\n", what, value);
}
