// SPDX-License-Identifier: GPL-2.0
/* CHOKe (Pan, Prabhakar and Psounis, INFOCOM 2000) with ECN, and with several samples: an arriving packet that meets its own flow in randomly
 * drawn waiting packets is marked with them, or dropped; others are left to RED. param: RED's (red.h), then number of samples, how many of
 * them must be of the packet's flow (FB_MATCH_...), whether those are marked too. */
#include "real.h"
#include "red.h"

enum match { FB_MATCH_ALL, FB_MATCH_MAJORITY, FB_MATCH_ANY };

struct choke {
	struct fb_red_law law;
	fb_u32 samples;
	enum match rule;
	bool mark_samples;
	struct fb_list backlog;
	fb_u32 length;
	struct fb_random random;
	fb_u32 *places;		   /* that were drawn */
	struct fb_queued *drawn[]; /* of them those of the packet's flow, newest first */
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct choke) + param[FB_RED_PARAMS] * (sizeof(struct fb_queued *) + sizeof(fb_u32));
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct choke *c = state;
	struct fb_random own = { { random[0], random[1], random[2], random[3] } };

	fb_red_start(&c->law, param, rate, random);
	/* The samples have a stream of their own, so that the law's is that of RED. */
	c->random = fb_stream(fb_next(&own), 1);
	c->samples = param[FB_RED_PARAMS];
	c->rule = (enum match)param[FB_RED_PARAMS + 1];
	c->mark_samples = param[FB_RED_PARAMS + 2];
	c->places = (fb_u32 *)&c->drawn[c->samples];
}

/* Draws different places, the largest first (Floyd's algorithm; Bentley and Floyd 1987: every set of them is equally likely). */
static void draw(struct choke *c)
{
	fb_u32 n = 0;

	for (fb_u32 i = c->length - c->samples; i < c->length; i++) {
		fb_u32 pick = fb_below(&c->random, (fb_u64)i + 1), at = 0;

		for (fb_u32 k = 0; k < n; k++)
			if (c->places[k] == pick)
				pick = i;
		while (at < n && c->places[at] > pick)
			at++;
		for (fb_u32 k = n; k > at; k--)
			c->places[k] = c->places[k - 1];
		c->places[at] = pick;
		n++;
	}
}

/* Finds those of the flow among the drawn ones. How many there are. */
static fb_u32 meet(struct choke *c, fb_u64 flow)
{
	struct fb_queued *packet = c->backlog.last;
	fb_u32 place = c->length - 1, found = 0;

	for (fb_u32 k = 0; k < c->samples; k++) {
		for (; place > c->places[k]; place--)
			packet = packet->prev;
		if (packet->flow == flow)
			c->drawn[found++] = packet;
	}
	return found;
}

static bool enough(const struct choke *c, fb_u32 found)
{
	if (c->rule == FB_MATCH_ALL)
		return found == c->samples;
	return c->rule == FB_MATCH_MAJORITY ? 2 * found > c->samples : found > 0;
}

/* Marks the drawn packets of the flow; those that cannot be marked leave the queue. */
static void signal_samples(struct choke *c, fb_u32 found, struct fb_effects *effects)
{
	for (fb_u32 k = 0; k < found; k++) {
		struct fb_queued *packet = c->drawn[k];

		if (packet->ecn != FB_NOT_ECT) {
			effects->mark(effects, packet);
		} else {
			fb_take(&c->backlog, packet);
			c->length--;
			effects->drop(effects, packet, FB_EARLY);
		}
	}
}

static int decide(struct choke *c, const struct fb_state *port, const struct fb_queued *packet, struct fb_effects *effects)
{
	fb_u32 found;

	fb_red_update(&c->law, port);
	if (!fb_fits(port, packet->wire)) {
		c->law.count = 0;
		return fb_red_done(&c->law, port, FB_DROP + FB_OVERFLOW);
	}
	if (c->length >= c->samples && fb_red_reaches_min(&c->law)) {
		draw(c);
		found = meet(c, packet->flow);
		if (enough(c, found)) {
			if (c->mark_samples)
				signal_samples(c, found, effects);
			return fb_signal(packet->ecn);
		}
	}
	return fb_red_done(&c->law, port, fb_red_decide(&c->law, packet->ecn));
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct choke *c = state;

	if (fb_admit(effects, packet, decide(c, port, packet, effects))) {
		fb_append(&c->backlog, packet);
		c->length++;
	}
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct choke *c = state;
	struct fb_queued *packet = fb_take_first(&c->backlog);

	if (packet)
		c->length--;
	return packet;
}

const struct fb_queue fb_choke = { .size = size, .start = start, .push = push, .pop = pop };
