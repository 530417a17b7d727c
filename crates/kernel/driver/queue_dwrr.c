// SPDX-License-Identifier: GPL-2.0
/* Deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995): queues by class take turns; in each turn a queue may send its quantum
 * and what it had left over. param: those of by_class.h, then the quantum of weight 1, bytes. */
#include "by_class.h"

struct dwrr {
	struct fb_by_class queues;
	fb_u64 quantum;
	fb_u8 active[FB_CLASSES]; /* queues with packets in the order of their turns (the active list of section 3) */
	fb_u32 nactive;
	fb_u64 deficit[FB_CLASSES]; /* what each may still send in its turn, bytes */
	bool begun;		    /* the first has had its quantum for this turn */
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct dwrr);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct dwrr *d = state;

	fb_by_class_start(&d->queues, param);
	d->quantum = param[FB_BY_CLASS_PARAMS];
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct dwrr *d = state;
	fb_u32 q = fb_by_class_push(&d->queues, port, packet, effects);

	if (q == FB_NONE)
		return;
	/* A queue that was emptied by others' arrivals leaves the list when its turn comes. */
	for (fb_u32 i = 0; i < d->nactive; i++)
		if (d->active[i] == q)
			return;
	d->active[d->nactive++] = q;
	d->deficit[q] = 0;
}

/* The turn of the first queue is over. */
static fb_u8 end_turn(struct dwrr *d)
{
	fb_u8 first = d->active[0];

	d->nactive--;
	for (fb_u32 i = 0; i < d->nactive; i++)
		d->active[i] = d->active[i + 1];
	d->begun = false;
	return first;
}

/* The first queue is empty: what it had left over is lost. */
static void leave(struct dwrr *d)
{
	d->deficit[end_turn(d)] = 0;
}

static fb_u64 quantum_of(const struct dwrr *d, fb_u32 q)
{
	return d->quantum * d->queues.queues[q].weight;
}

/* Grants at once the whole rounds in which no queue may send: every deficit stays below the size of its queue's first packet. */
static void skip_rounds(struct dwrr *d)
{
	fb_u64 rounds = FB_NEVER;

	for (fb_u32 i = 0; i < d->nactive; i++) {
		fb_u32 q = d->active[i];
		const struct fb_queued *head = d->queues.queues[q].packets.first;
		fb_u64 until = head && head->wire > d->deficit[q] ? (head->wire - d->deficit[q] - 1) / quantum_of(d, q) : 0;

		if (until < rounds)
			rounds = until;
	}
	for (fb_u32 i = 0; i < d->nactive; i++)
		d->deficit[d->active[i]] += rounds * quantum_of(d, d->active[i]);
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct dwrr *d = state;
	fb_u32 passed = 0; /* turns without a packet */

	while (d->nactive) {
		fb_u32 q = d->active[0];
		struct fb_queued *head = d->queues.queues[q].packets.first;

		if (!head) {
			leave(d);
			continue;
		}
		if (!d->begun) {
			d->deficit[q] += quantum_of(d, q);
			d->begun = true;
		}
		if (head->wire > d->deficit[q]) {
			fb_u8 waiting = end_turn(d);

			d->active[d->nactive++] = waiting;
			if (++passed > d->nactive) {
				skip_rounds(d);
				passed = 0;
			}
			continue;
		}
		fb_by_class_take(&d->queues, q);
		d->deficit[q] -= head->wire;
		if (!d->queues.queues[q].packets.first)
			leave(d);
		return head;
	}
	return NULL;
}

const struct fb_queue fb_dwrr = { .size = size, .start = start, .push = push, .pop = pop };
