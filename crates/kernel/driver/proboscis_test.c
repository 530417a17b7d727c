// SPDX-License-Identifier: GPL-2.0
/* Entry points of both roles of the shim for a test, with sizes of structures instead of layouts. Not part of a kernel. */
#include "proboscis.h"

size_t fb_test_opener_size(void)
{
	return sizeof(struct fb_opener);
}

size_t fb_test_acceptor_size(void)
{
	return sizeof(struct fb_acceptor);
}

/* Its window and alpha, and what it did. */
void fb_test_opener(const struct fb_opener *o, fb_u64 *seen)
{
	seen[0] = o->state;
	seen[1] = o->window;
	seen[2] = o->state == FB_OPENER_OPEN ? o->alpha : 0;
	seen[3] = o->stats.throttled;
	seen[4] = o->stats.probes;
	seen[5] = o->stats.syns;
}

void fb_test_acceptor(const struct fb_acceptor *a, fb_u64 *seen)
{
	seen[0] = a->holds;
	seen[1] = a->stats.window;
	seen[2] = a->stats.held;
	seen[3] = a->stats.verdict;
	seen[4] = a->stats.swallowed;
	seen[5] = a->stats.restarts;
}
