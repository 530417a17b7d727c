/* SPDX-License-Identifier: GPL-2.0 */
/* Which of many numbered items has the largest key: a binary heap of items, each of which knows its place. Keys differ. */
#ifndef FOREBAY_FATTEST_H
#define FOREBAY_FATTEST_H

#include "queue.h"

struct fb_fattest {
	fb_u64 *keys;  /* by place; none is above that at half its place */
	fb_u32 *items; /* by place */
	fb_u32 *places; /* by item, from 1; 0: it is not there */
	fb_u32 count;
};

static inline void fb_fattest_fill(struct fb_fattest *h, fb_u32 place, fb_u64 key, fb_u32 item)
{
	h->keys[place] = key;
	h->items[place] = item;
	h->places[item] = place + 1;
}

/* Puts an item where it belongs, above or below the free place. */
static inline void fb_fattest_put(struct fb_fattest *h, fb_u32 hole, fb_u64 key, fb_u32 item)
{
	fb_u32 child;

	for (; hole && h->keys[(hole - 1) / 2] < key; hole = (hole - 1) / 2)
		fb_fattest_fill(h, hole, h->keys[(hole - 1) / 2], h->items[(hole - 1) / 2]);
	while ((child = 2 * hole + 1) < h->count) {
		if (child + 1 < h->count && h->keys[child + 1] > h->keys[child])
			child++;
		if (h->keys[child] < key)
			break;
		fb_fattest_fill(h, hole, h->keys[child], h->items[child]);
		hole = child;
	}
	fb_fattest_fill(h, hole, key, item);
}

/* From now on the item has this key, whether it was there or not. */
static inline void fb_fattest_set(struct fb_fattest *h, fb_u32 item, fb_u64 key)
{
	fb_u32 place = h->places[item] ? h->places[item] - 1 : h->count++;

	fb_fattest_put(h, place, key, item);
}

/* Takes an item out, if it is there. */
static inline void fb_fattest_forget(struct fb_fattest *h, fb_u32 item)
{
	fb_u32 hole = h->places[item];

	if (!hole--)
		return;
	h->places[item] = 0;
	h->count--;
	if (hole < h->count)
		fb_fattest_put(h, hole, h->keys[h->count], h->items[h->count]);
}

#endif
