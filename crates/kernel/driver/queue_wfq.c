// SPDX-License-Identifier: GPL-2.0
/* Weighted fair queueing, self-clocked (Golestani, INFOCOM 1994): a packet's finish tag is its size over its queue's weight after that of the
 * packet before it, or after the tag in service if its queue was empty; the smallest tag is served first. param: those of by_class.h. */
#include "by_class.h"

/* Fraction bits of a tag. */
#define FRACTION 20

struct wfq {
	struct fb_by_class queues;
	fb_u64 start[FB_CLASSES]; /* tag from which the oldest packet of each is counted */
	fb_u64 now;		  /* finish tag of the packet in service: the virtual time */
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct wfq);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct wfq *w = state;

	fb_by_class_start(&w->queues, param);
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct wfq *w = state;
	fb_u32 q;

	/* Nothing waits and nothing is in service: the busy period is over, and tags begin anew. */
	if (!port->queue.packets) {
		w->now = 0;
		for (q = 0; q < FB_CLASSES; q++)
			w->start[q] = 0;
	}
	q = fb_by_class_push(&w->queues, port, packet, effects);
	if (q != FB_NONE && w->queues.queues[q].length.packets == 1 && w->start[q] < w->now)
		w->start[q] = w->now;
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct wfq *w = state;
	fb_u64 smallest = 0;
	fb_u32 first = FB_NONE;

	for (fb_u32 q = 0; q < w->queues.count; q++) {
		const struct fb_class_queue *queue = &w->queues.queues[q];
		fb_u64 finish;

		if (!queue->packets.first)
			continue;
		finish = w->start[q] + ((fb_u64)queue->packets.first->wire << FRACTION) / queue->weight;
		if (first == FB_NONE || finish < smallest) {
			smallest = finish;
			first = q;
		}
	}
	if (first == FB_NONE)
		return NULL;
	w->now = smallest;
	w->start[first] = smallest;
	return fb_by_class_take(&w->queues, first);
}

const struct fb_queue fb_wfq = { .size = size, .start = start, .push = push, .pop = pop };
