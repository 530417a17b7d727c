// SPDX-License-Identifier: GPL-2.0
/* Push-out: one FIFO; a high packet that finds it full evicts the newest ordinary ones. param: the lowest high class, K (a length). */
#include "queue.h"

struct pushout {
	fb_u64 high;
	struct fb_length k;
	struct fb_list backlog;
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct pushout);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct pushout *p = state;

	p->high = param[0];
	p->k = fb_length_of(param[1]);
}

/* Evicts as many of the newest ordinary packets as `wire` bytes need; none if all are not enough. */
static bool make_space(struct pushout *p, const struct fb_state *port, fb_u32 wire, struct fb_effects *effects)
{
	struct fb_length freed = { 0, 0 };
	struct fb_queued *packet, *before;

	for (packet = p->backlog.last; packet; packet = packet->prev) {
		if (packet->class_of_service >= p->high)
			continue;
		fb_add(&freed, packet->wire);
		if (fb_fits_without(port, freed, wire))
			break;
	}
	if (!packet)
		return false;
	for (packet = p->backlog.last; freed.packets; packet = before) {
		before = packet->prev;
		if (packet->class_of_service >= p->high)
			continue;
		fb_remove(&freed, packet->wire);
		effects->drop(effects, fb_take(&p->backlog, packet), FB_OVERFLOW);
	}
	return true;
}

static int decide(struct pushout *p, const struct fb_state *port, const struct fb_queued *packet, struct fb_effects *effects)
{
	if (!fb_fits(port, packet->wire) && (packet->class_of_service < p->high || !make_space(p, port, packet->wire, effects)))
		return FB_DROP + FB_OVERFLOW;
	return fb_step(port->queue, p->k, packet->ecn);
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct pushout *p = state;

	if (fb_admit(effects, packet, decide(p, port, packet, effects)))
		fb_append(&p->backlog, packet);
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct pushout *p = state;

	return fb_take_first(&p->backlog);
}

const struct fb_queue fb_pushout = { .size = size, .start = start, .push = push, .pop = pop };
