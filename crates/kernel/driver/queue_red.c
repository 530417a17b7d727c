// SPDX-License-Identifier: GPL-2.0
/* RED: one FIFO under the law. param: the law's (red.h). */
#include "real.h"
#include "red.h"

static size_t size(const fb_u64 *param)
{
	return sizeof(struct fb_red_law);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	fb_red_start(state, param, rate, random);
}

static int arrive(void *state, const struct fb_state *port, const struct fb_queued *packet)
{
	struct fb_red_law *l = state;

	fb_red_update(l, port);
	if (!fb_fits(port, packet->wire)) {
		l->count = 0;
		return fb_red_done(l, port, FB_DROP + FB_OVERFLOW);
	}
	return fb_red_done(l, port, fb_red_decide(l, packet->ecn));
}

const struct fb_queue fb_red = { .size = size, .start = start, .arrive = arrive };
