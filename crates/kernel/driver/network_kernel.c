// SPDX-License-Identifier: GPL-2.0
/* Kernel functions for the network (network.h) and its queues in Rust (crates/guest/kernel.rs). */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/preempt.h>
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

void *fb_rust_memory(size_t size, size_t align);
void fb_rust_free(void *memory);
void fb_rust_panic(const char *text, int length) __noreturn;
void rust_eh_personality(void);

void *fb_rust_memory(size_t size, size_t align)
{
	void *memory;

	/* Pieces of a power of two are aligned to it. */
	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(max(size, align));
	memory = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	return memory || in_interrupt() ? memory : vmalloc(size);
}

void fb_rust_free(void *memory)
{
	kvfree(memory);
}

void fb_rust_panic(const char *text, int length)
{
	panic("forebay: %.*s", length, text);
}

/* A panic ends the kernel and unwinds no stack. */
void rust_eh_personality(void)
{
	BUG();
}
