// SPDX-License-Identifier: GPL-2.0
/*
 * FQ-CoDel (RFC 8290): a queue for each flow, found by a hash, served in turn by deficit round robin, those of new flows first; CoDel controls
 * each. param: the law's (codel.h), then
 * 5  most packets in all queues
 * 6  quantum, bytes
 * 7  most packets that one overflow drops
 * 8  number of queues, at most 65536
 */
#include "real.h"
#include "codel.h"
#include "fattest.h"

struct flow {
	struct fb_codel_backlog backlog;
	struct fb_codel_law law;
	long long deficit; /* bytes that it may still send in this round */
	fb_u32 next;	   /* in its list, counted from 1; 0: the last */
	bool listed, changed;
};

/* Flows in order of service. */
struct turns {
	fb_u32 first, last; /* counted from 1; 0: none */
};

struct fq_codel {
	struct fb_codel_params params;
	fb_u32 limit, batch, nflows;
	long long quantum;
	fb_u64 perturbation; /* so that which flows share a queue differs from seed to seed (section 4.1) */
	struct fb_length total;
	fb_u32 nlisted;		/* queues in the two lists */
	struct turns new, old; /* queues that became busy lately, and the other busy ones (section 4.2) */
	struct fb_fattest fattest; /* the queues that were not empty at the last overflow */
	fb_u32 nchanged;
	fb_u32 *changed; /* queues that have changed since */
	struct flow flows[];
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct fq_codel) + param[8] * (sizeof(struct flow) + sizeof(fb_u64) + 3 * sizeof(fb_u32));
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct fq_codel *f = state;
	struct fb_random own = { { random[0], random[1], random[2], random[3] } };

	f->params = fb_codel_params(param);
	f->limit = param[5];
	f->quantum = param[6];
	f->batch = param[7];
	f->nflows = param[8];
	f->perturbation = fb_next(&own);
	f->fattest.keys = (fb_u64 *)&f->flows[f->nflows];
	f->fattest.items = (fb_u32 *)&f->fattest.keys[f->nflows];
	f->fattest.places = &f->fattest.items[f->nflows];
	f->changed = &f->fattest.places[f->nflows];
	for (fb_u32 i = 0; i < f->nflows; i++)
		f->flows[i].law.first_above = FB_NEVER;
}

static void list(struct fq_codel *f, struct turns *turns, fb_u32 index)
{
	f->flows[index].next = 0;
	if (turns->last)
		f->flows[turns->last - 1].next = index + 1;
	else
		turns->first = index + 1;
	turns->last = index + 1;
}

static void unlist_first(struct fq_codel *f, struct turns *turns)
{
	turns->first = f->flows[turns->first - 1].next;
	if (!turns->first)
		turns->last = 0;
}

static void note(struct fq_codel *f, fb_u32 index)
{
	if (!f->flows[index].changed)
		f->changed[f->nchanged++] = index;
	f->flows[index].changed = true;
}

/* The queue with the most bytes, of equal ones that of the lowest number; FB_NONE: all are empty. */
static fb_u32 fattest(struct fq_codel *f)
{
	while (f->nchanged) {
		fb_u32 index = f->changed[--f->nchanged];
		struct flow *flow = &f->flows[index];

		flow->changed = false;
		if (flow->backlog.bytes)
			fb_fattest_set(&f->fattest, index, flow->backlog.bytes << 16 | (0xFFFF - index));
		else
			fb_fattest_forget(&f->fattest, index);
	}
	return f->fattest.count ? f->fattest.items[0] : FB_NONE;
}

/* Drops from the head of the fattest queue, no more than a batch (section 4.1), until half of its bytes are dropped (Linux, fq_codel_drop). Adds
 * to `freed` what was dropped. Whether the arriving packet was among them, or there was nothing to drop. */
static bool drop_from_fattest(struct fq_codel *f, const struct fb_queued *arriving, struct fb_length *freed, struct fb_effects *effects)
{
	fb_u32 index = fattest(f), count = 0;
	struct flow *flow = &f->flows[index];
	fb_u64 half, bytes = 0;
	bool refused = false;

	if (index == FB_NONE)
		return true;
	half = flow->backlog.bytes / 2;
	do {
		struct fb_queued *packet = fb_codel_first(&flow->backlog, &f->total);

		if (!packet)
			break;
		count++;
		bytes += packet->wire;
		if (packet == arriving)
			refused = true;
		else
			fb_add(freed, packet->wire);
		effects->drop(effects, packet, FB_OVERFLOW);
	} while (count < f->batch && bytes < half);
	/* They make the law's signal stronger too. */
	flow->law.count += count;
	note(f, index);
	return refused;
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct fq_codel *f = state;
	fb_u32 index = (fb_u64)((unsigned __int128)fb_mix(packet->flow ^ f->perturbation) * f->nflows >> 64);
	struct flow *flow = &f->flows[index];
	struct fb_length freed = { 0, 0 };
	fb_u32 wire = packet->wire;

	fb_append(&flow->backlog.packets, packet);
	flow->backlog.bytes += wire;
	fb_add(&f->total, wire);
	note(f, index);
	if (!flow->listed) {
		flow->listed = true;
		f->nlisted++;
		flow->deficit = f->quantum;
		list(f, &f->new, index);
	}
	/* The arriving packet is in a queue already, and may be the one that is dropped, but the port does not count it yet. */
	while (f->total.packets > f->limit || !fb_fits_without(port, freed, wire))
		if (drop_from_fattest(f, packet, &freed, effects))
			break;
}

/* Grants at once the whole rounds in which no queue may send: every deficit stays at zero or below. All queues are old. */
static void skip_rounds(struct fq_codel *f)
{
	long long rounds = 0x7FFFFFFFFFFFFFFF;

	for (fb_u32 i = f->old.first; i; i = f->flows[i - 1].next) {
		long long until = -f->flows[i - 1].deficit / f->quantum;

		if (until < rounds)
			rounds = until;
	}
	if (rounds <= 0)
		return;
	for (fb_u32 i = f->old.first; i; i = f->flows[i - 1].next)
		f->flows[i - 1].deficit += rounds * f->quantum;
}

/* RFC 8290 section 4.2. */
static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct fq_codel *f = state;
	fb_u32 passed = 0; /* turns without a packet; after one of each queue all of them are old */

	for (;;) {
		struct turns *turns = f->new.first ? &f->new : &f->old;
		struct fb_queued *packet = NULL;
		fb_u32 index = turns->first - 1;
		struct flow *flow = &f->flows[index];
		bool spent;

		if (!turns->first)
			return NULL;
		spent = flow->deficit <= 0;
		if (spent) {
			flow->deficit += f->quantum;
			passed++;
		} else {
			packet = fb_codel_pop(&flow->law, &f->params, now, &flow->backlog, &f->total, effects);
			note(f, index);
		}
		if (packet) {
			flow->deficit -= packet->wire;
			return packet;
		}
		unlist_first(f, turns);
		/* An empty new queue becomes an old one first, so that it cannot come back as new at once and starve others. */
		if (spent || turns == &f->new) {
			list(f, &f->old, index);
			if (passed > f->nlisted) {
				skip_rounds(f);
				passed = 0;
			}
		} else {
			flow->listed = false;
			f->nlisted--;
		}
	}
}

const struct fb_queue fb_fq_codel = { .size = size, .start = start, .push = push, .pop = pop };
