/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues by class of service, as in the crate `queues` (by_class.rs): which queue a packet belongs to, whether it fits there, its marking, and
 * whom to drop from a full buffer. Which one is served is the scheduler's business. param:
 * 0      queue of each class, a byte each, class 0 the lowest
 * 1      number of queues
 * 2      whether a full buffer drops the arriving packet, and not the newest of the longest queue
 * 3, 4   weights of queues 0 to 3 and 4 to 7, 16 bits each, the first the lowest
 * 5-12   limits of the queues by themselves (lengths)
 * 13-20  their thresholds K (lengths)
 */
#ifndef FOREBAY_BY_CLASS_H
#define FOREBAY_BY_CLASS_H

#include "queue.h"

#define FB_BY_CLASS_PARAMS 21
#define FB_CLASSES 8

struct fb_class_queue {
	struct fb_list packets;
	struct fb_length length; /* without the packet in service */
	struct fb_length limit, k;
	fb_u32 weight;
};

struct fb_by_class {
	fb_u64 map;
	fb_u32 count;
	fb_u32 serving; /* queue of the packet in service */
	bool tail_drop;
	struct fb_class_queue queues[FB_CLASSES];
};

static inline void fb_by_class_start(struct fb_by_class *c, const fb_u64 *param)
{
	c->map = param[0];
	c->count = param[1];
	c->tail_drop = param[2];
	for (fb_u32 q = 0; q < FB_CLASSES; q++) {
		c->queues[q].weight = param[3 + q / 4] >> 16 * (q % 4) & 0xFFFF;
		c->queues[q].limit = fb_length_of(param[5 + q]);
		c->queues[q].k = fb_length_of(param[13 + q]);
	}
}

/* Buffer stealing (McKenney, "Stochastic fairness queueing", 1991; Shreedhar and Varghese 1995, section 3): the newest packets of the longest
 * queue by bytes go, if it is longer than the arriving packet's own with that packet. Nothing goes where that is not enough. */
static inline bool fb_by_class_steal(struct fb_by_class *c, const struct fb_state *port, fb_u32 wire, fb_u32 q, struct fb_effects *effects)
{
	struct fb_class_queue *longest = &c->queues[0];
	struct fb_length freed = { 0, 0 };
	bool enough = false;

	for (fb_u32 i = 1; i < c->count; i++)
		if (c->queues[i].length.bytes > longest->length.bytes)
			longest = &c->queues[i];
	if (c->tail_drop || longest == &c->queues[q] || longest->length.bytes <= c->queues[q].length.bytes + wire)
		return false;
	for (struct fb_queued *packet = longest->packets.last; packet && !enough; packet = packet->prev) {
		fb_add(&freed, packet->wire);
		enough = fb_fits_without(port, freed, wire);
	}
	while (enough && freed.packets) {
		struct fb_queued *packet = fb_take(&longest->packets, longest->packets.last);

		fb_remove(&longest->length, packet->wire);
		fb_remove(&freed, packet->wire);
		effects->drop(effects, packet, FB_OVERFLOW);
	}
	return enough;
}

/* The queue that the packet joined; FB_NONE: it was dropped. */
static inline fb_u32 fb_by_class_push(struct fb_by_class *c, const struct fb_state *port, struct fb_queued *packet,
				      struct fb_effects *effects)
{
	fb_u32 q = c->map >> 8 * (packet->class_of_service % FB_CLASSES) & 0xFF;
	struct fb_class_queue *queue = &c->queues[q];
	struct fb_length own = queue->length;
	int verdict = FB_DROP + FB_OVERFLOW;

	if (port->serving && c->serving == q)
		fb_add(&own, port->serving);
	if (fb_may_join(own, packet->wire, queue->limit) &&
	    (fb_fits(port, packet->wire) || fb_by_class_steal(c, port, packet->wire, q, effects)))
		verdict = fb_step(own, queue->k, packet->ecn);
	if (!fb_admit(effects, packet, verdict))
		return FB_NONE;
	fb_add(&queue->length, packet->wire);
	fb_append(&queue->packets, packet);
	return q;
}

/* The oldest packet of queue q, which has one; it is in service from now on. */
static inline struct fb_queued *fb_by_class_take(struct fb_by_class *c, fb_u32 q)
{
	struct fb_queued *packet = fb_take_first(&c->queues[q].packets);

	fb_remove(&c->queues[q].length, packet->wire);
	c->serving = q;
	return packet;
}

#endif
