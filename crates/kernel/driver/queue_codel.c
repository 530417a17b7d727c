// SPDX-License-Identifier: GPL-2.0
/* CoDel: one FIFO under the law. param: the law's (codel.h). */
#include "real.h"
#include "codel.h"

struct codel {
	struct fb_codel_params params;
	struct fb_codel_law law;
	struct fb_codel_backlog backlog;
	struct fb_length length;
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct codel);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct codel *c = state;

	c->params = fb_codel_params(param);
	c->law.first_above = FB_NEVER;
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct codel *c = state;

	if (!fb_fits(port, packet->wire)) {
		effects->drop(effects, packet, FB_OVERFLOW);
		return;
	}
	c->backlog.bytes += packet->wire;
	fb_add(&c->length, packet->wire);
	fb_append(&c->backlog.packets, packet);
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct codel *c = state;

	return fb_codel_pop(&c->law, &c->params, now, &c->backlog, &c->length, effects);
}

const struct fb_queue fb_codel = { .size = size, .start = start, .push = push, .pop = pop };
