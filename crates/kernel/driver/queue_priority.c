// SPDX-License-Identifier: GPL-2.0
/*
 * Strict priority: up to eight FIFOs, of which the first that holds a packet is served. param:
 * 0     queue of each class, a byte each, class 0 the lowest
 * 1     number of queues
 * 2     whether a full buffer drops the arriving packet, and not the newest of the lowest queue
 * 3     K (a length)
 * 4     whether K is compared with the packet's own queue, and not with all
 * 5     whether each queue has the port's limit for itself
 * 6-13  limits of the queues by themselves (lengths); 0: none
 */
#include "queue.h"

#define QUEUES 8

struct level {
	struct fb_list packets;
	struct fb_length length; /* without the packet in service */
	struct fb_length limit;
	bool limited;
};

struct priority {
	fb_u64 map;
	fb_u32 count;
	fb_u32 serving; /* queue of the packet in service */
	bool tail_drop, k_of_queue, buffer_of_queue;
	struct fb_length k;
	struct level levels[QUEUES];
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct priority);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct priority *p = state;

	p->map = param[0];
	p->count = param[1];
	p->tail_drop = param[2];
	p->k = fb_length_of(param[3]);
	p->k_of_queue = param[4];
	p->buffer_of_queue = param[5];
	for (fb_u32 q = 0; q < QUEUES; q++) {
		p->levels[q].limited = param[6 + q];
		p->levels[q].limit = fb_length_of(param[6 + q]);
	}
}

/* Drops the newest packets of the lowest queues below q until one of `wire` bytes fits; none if that is not enough. */
static bool make_space(struct priority *p, const struct fb_state *port, fb_u32 wire, fb_u32 q, struct fb_effects *effects)
{
	struct fb_length freed = { 0, 0 };
	bool enough = false;

	if (p->tail_drop)
		return false;
	for (fb_u32 i = p->count - 1; i > q && !enough; i--)
		for (struct fb_queued *packet = p->levels[i].packets.last; packet && !enough; packet = packet->prev) {
			fb_add(&freed, packet->wire);
			enough = fb_fits_without(port, freed, wire);
		}
	for (fb_u32 i = p->count - 1; i > q && enough; i--)
		while (freed.packets && p->levels[i].packets.last) {
			struct fb_queued *packet = fb_take(&p->levels[i].packets, p->levels[i].packets.last);

			fb_remove(&p->levels[i].length, packet->wire);
			fb_remove(&freed, packet->wire);
			effects->drop(effects, packet, FB_OVERFLOW);
		}
	return enough;
}

static fb_u32 queue_of(const struct priority *p, const struct fb_queued *packet)
{
	return p->map >> 8 * (packet->class_of_service % QUEUES) & 0xFF;
}

static int decide(struct priority *p, const struct fb_state *port, const struct fb_queued *packet, struct fb_effects *effects)
{
	const struct fb_length unlimited = { FB_NONE, FB_NEVER };
	fb_u32 q = queue_of(p, packet);
	struct fb_length own = p->levels[q].length, limit = p->buffer_of_queue ? port->limit : unlimited;
	struct fb_state common = *port;

	if (port->serving && p->serving == q)
		fb_add(&own, port->serving);
	if (!fb_may_join(own, packet->wire, p->levels[q].limited ? p->levels[q].limit : limit))
		return FB_DROP + FB_OVERFLOW;
	/* A buffer of each queue is no limit on their sum; a shared memory of the switch is. */
	if (p->buffer_of_queue)
		common.limit = unlimited;
	if (!fb_fits(&common, packet->wire) && !make_space(p, &common, packet->wire, q, effects))
		return FB_DROP + FB_OVERFLOW;
	return fb_step(p->k_of_queue ? own : port->queue, p->k, packet->ecn);
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct priority *p = state;
	struct level *level = &p->levels[queue_of(p, packet)];

	if (fb_admit(effects, packet, decide(p, port, packet, effects))) {
		fb_add(&level->length, packet->wire);
		fb_append(&level->packets, packet);
	}
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct priority *p = state;

	for (fb_u32 q = 0; q < p->count; q++) {
		struct fb_queued *packet = fb_take_first(&p->levels[q].packets);

		if (!packet)
			continue;
		fb_remove(&p->levels[q].length, packet->wire);
		p->serving = q;
		return packet;
	}
	return NULL;
}

const struct fb_queue fb_strict_priority = { .size = size, .start = start, .push = push, .pop = pop };
