/* SPDX-License-Identifier: GPL-2.0 */
/* Future events of links, earliest first: a binary heap of fixed size, because a link has at most two pending events. */
#ifndef FOREBAY_EVENTS_H
#define FOREBAY_EVENTS_H

#include "queue.h"

struct fb_happening {
	fb_u64 time; /* ps */
	/* Order at the same time: smaller first. */
	fb_u64 second, third;
	fb_u32 link;
	bool departure; /* the packet in service leaves; else the first one on the wire arrives */
};

struct fb_events {
	struct fb_happening *heap;
	fb_u32 count;
};

static inline bool fb_before(const struct fb_happening *a, const struct fb_happening *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->second != b->second ? a->second < b->second : a->third < b->third;
}

static inline void fb_expect(struct fb_events *events, const struct fb_happening *new)
{
	struct fb_happening *heap = events->heap;
	fb_u32 hole = events->count++;

	while (hole && fb_before(new, &heap[(hole - 1) / 2])) {
		heap[hole] = heap[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	heap[hole] = *new;
}

/* The earliest one; there must be one. */
static inline struct fb_happening fb_happens(struct fb_events *events)
{
	struct fb_happening *heap = events->heap, first = heap[0], moved = heap[--events->count];
	fb_u32 hole = 0, child;

	while ((child = 2 * hole + 1) < events->count) {
		if (child + 1 < events->count && fb_before(&heap[child + 1], &heap[child]))
			child++;
		if (!fb_before(&heap[child], &moved))
			break;
		heap[hole] = heap[child];
		hole = child;
	}
	heap[hole] = moved;
	return first;
}

/* Nothing happens at `link` any more. */
static inline void fb_forget(struct fb_events *events, fb_u32 link)
{
	fb_u32 all = events->count;

	events->count = 0;
	for (fb_u32 i = 0; i < all; i++) { /* what has been looked at is behind what is put back */
		struct fb_happening kept = events->heap[i];

		if (kept.link != link)
			fb_expect(events, &kept);
	}
}

#endif
