/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The facts that a queue discipline gets and what it decides, as in the crate `queues` (`facts.rs`, `discipline.rs`): the C core of each discipline
 * decides as the Rust one does, to the bit. Cores are plain C: no kernel function, no allocation, no clock. They compile for the kernel, and
 * for a test that holds them against the crate.
 */
#ifndef FOREBAY_QUEUE_H
#define FOREBAY_QUEUE_H

#include "protocol.h"
#ifdef __KERNEL__
#include <linux/stddef.h>
#else
#include <stdbool.h>
#include <stddef.h>
#endif

/* A queue's length, or a limit on it. */
struct fb_length {
	fb_u32 packets;
	fb_u64 bytes; /* on the wire */
};

/* A length as one number of `param`: bytes, or packets with this bit; FB_NEVER is without limit. */
#define FB_IN_PACKETS ((fb_u64)1 << 63)

static inline struct fb_length fb_length_of(fb_u64 number)
{
	struct fb_length in_packets = { (fb_u32)number, FB_NEVER }, in_bytes = { FB_NONE, number };

	return number & FB_IN_PACKETS ? in_packets : in_bytes;
}

static inline void fb_add(struct fb_length *length, fb_u32 wire)
{
	length->packets++;
	length->bytes += wire;
}

static inline void fb_remove(struct fb_length *length, fb_u32 wire)
{
	length->packets--;
	length->bytes -= wire;
}

/* Whether a queue is at or above a threshold in either unit. */
static inline bool fb_reaches(struct fb_length queue, struct fb_length threshold)
{
	return queue.packets >= threshold.packets || queue.bytes >= threshold.bytes;
}

/* Whether a packet may join a queue under a limit. */
static inline bool fb_may_join(struct fb_length queue, fb_u32 wire, struct fb_length limit)
{
	return queue.packets < limit.packets && queue.bytes + wire <= limit.bytes;
}

/* A packet as a discipline knows it. */
struct fb_queued {
	struct fb_queued *next, *prev; /* in the list that holds it: the discipline's while it waits there */
	fb_u64 since;		       /* when it arrived, ps */
	fb_u64 flow;		       /* the same for packets of one connection and direction, different otherwise */
	fb_u32 wire;		       /* bytes */
	fb_u8 ecn;		       /* of the IP header, when it arrived */
	fb_u8 class_of_service;
};

#define FB_NOT_ECT 0
#define FB_ECT0 2
#define FB_CE 3

/* Packets in order. */
struct fb_list {
	struct fb_queued *first, *last;
};

static inline void fb_append(struct fb_list *list, struct fb_queued *packet)
{
	packet->next = NULL;
	packet->prev = list->last;
	if (list->last)
		list->last->next = packet;
	else
		list->first = packet;
	list->last = packet;
}

static inline struct fb_queued *fb_take(struct fb_list *list, struct fb_queued *packet)
{
	if (packet->prev)
		packet->prev->next = packet->next;
	else
		list->first = packet->next;
	if (packet->next)
		packet->next->prev = packet->prev;
	else
		list->last = packet->prev;
	return packet;
}

static inline struct fb_queued *fb_take_first(struct fb_list *list)
{
	return list->first ? fb_take(list, list->first) : NULL;
}

/* The state of a port at which a packet arrives. */
struct fb_state {
	fb_u64 now;		/* ps */
	struct fb_length queue; /* waiting and in service, the arriving packet not counted */
	struct fb_length limit; /* the port's own */
	fb_u64 memory;		/* most bytes that it may hold because others hold the rest of a shared memory; FB_NEVER: enough */
	fb_u32 serving;		/* bytes of the packet in service; 0: idle */
	fb_u64 idle_since;	/* of interest while it is */
};

/* Whether a packet would fit if `freed` were not there. */
static inline bool fb_fits_without(const struct fb_state *port, struct fb_length freed, fb_u32 wire)
{
	struct fb_length left = { port->queue.packets - freed.packets, port->queue.bytes - freed.bytes };

	return fb_may_join(left, wire, port->limit) && left.bytes + wire <= port->memory;
}

static inline bool fb_fits(const struct fb_state *port, fb_u32 wire)
{
	struct fb_length nothing = { 0, 0 };

	return fb_fits_without(port, nothing, wire);
}

/* About an arriving packet: accept, mark, or FB_DROP + one of enum fb_reason. */
enum fb_verdict { FB_ACCEPT, FB_MARK, FB_DROP };

/* Accepted, and marked from the step k on where it can be. */
static inline int fb_step(struct fb_length queue, struct fb_length k, fb_u8 ecn)
{
	return ecn != FB_NOT_ECT && fb_reaches(queue, k) ? FB_MARK : FB_ACCEPT;
}

/* CE where the transport understands it, a drop elsewhere (RFC 3168 section 5). */
static inline int fb_signal(fb_u8 ecn)
{
	return ecn != FB_NOT_ECT ? FB_MARK : FB_DROP + FB_EARLY;
}

/* What a discipline that holds its backlog does to packets of it, or to the one that is being pushed or popped. A dropped packet has left when
 * the call returns. */
struct fb_effects {
	void (*mark)(struct fb_effects *effects, struct fb_queued *packet);
	void (*drop)(struct fb_effects *effects, struct fb_queued *packet, enum fb_reason reason);
};

/* Carries out the verdict about the packet that is being pushed. Whether it joins the backlog. */
static inline bool fb_admit(struct fb_effects *effects, struct fb_queued *packet, int verdict)
{
	if (verdict >= FB_DROP) {
		effects->drop(effects, packet, (enum fb_reason)(verdict - FB_DROP));
		return false;
	}
	if (verdict == FB_MARK)
		effects->mark(effects, packet);
	return true;
}

/* A discipline. Either it decides about a packet when it arrives, once and for all, and serves in order of arrival (`arrive`), or it holds the
 * backlog (`push` and `pop`). */
struct fb_queue {
	/* Bytes of its state. */
	size_t (*size)(const fb_u64 *param);
	/* Makes the state, in memory that is zero. The rate is in bit/s. */
	void (*start)(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random);
	int (*arrive)(void *state, const struct fb_state *port, const struct fb_queued *packet);
	/* Takes a packet in or drops it. */
	void (*push)(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects);
	/* The packet whose transmission starts now; NULL: none is left. */
	struct fb_queued *(*pop)(void *state, fb_u64 now, struct fb_effects *effects);
};

extern const struct fb_queue fb_drop_tail, fb_dctcp_step, fb_lossy, fb_protect;
extern const struct fb_queue fb_red, fb_strict_priority, fb_dwrr, fb_wfq, fb_choke, fb_pushout, fb_codel, fb_fq_codel, fb_pie;

/* The discipline of a number; NULL: there is none. */
const struct fb_queue *fb_queue_of(fb_u32 discipline);

#endif
