/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface of queue disciplines. The disciplines are those of the crate `queues`, in Rust (crates/guest), without clock, input and output. A test
 * links them to the rest of the network, too.
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

/* Fields of a packet for queue disciplines. */
struct fb_queued {
	struct fb_queued *next, *prev; /* in the list that holds it: the discipline's while it waits there */
	fb_u64 since;		       /* when it arrived, ps */
	fb_u64 flow;		       /* the same for packets of one connection and direction, different otherwise */
	fb_u32 wire;		       /* bytes */
	fb_u8 ecn;		       /* of the IP header, when it arrived */
	fb_u8 class_of_service;
	fb_u16 rank;		       /* the smaller, the more urgent */
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

/* About an arriving packet: accept, mark, or FB_DROP + one of enum fb_reason. */
enum fb_verdict { FB_ACCEPT, FB_MARK, FB_DROP };

/* Effects of a discipline that holds its backlog on waiting packets, or on the packet that is pushed or popped. A dropped packet has left when
 * the call returns. */
struct fb_effects {
	void (*mark)(struct fb_effects *effects, struct fb_queued *packet);
	void (*drop)(struct fb_effects *effects, struct fb_queued *packet, enum fb_reason reason);
};

/* A queue in Rust (crates/guest/src/queue.rs). */
struct fb_queue;

/* The queue of a port: `config` has FB_QUEUE numbers, the rate is in bit/s. NULL: the configuration is not known. */
struct fb_queue *fb_queue_new(const fb_u64 *config, const struct fb_length *limit, fb_u64 rate, const fb_u64 *random);
/* Frees one without packets. */
void fb_queue_free(struct fb_queue *queue);
/* Either a discipline decides about a packet when it arrives, once and for all, and serves in order of arrival (fb_queue_arrive), or it holds the
 * backlog (fb_queue_push and fb_queue_pop). */
bool fb_queue_holds(const struct fb_queue *queue);
int fb_queue_arrive(struct fb_queue *queue, const struct fb_state *port, const struct fb_queued *packet);
/* Takes a packet in or drops it. */
void fb_queue_push(struct fb_queue *queue, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects);
/* The packet whose transmission starts now; NULL: none is left. */
struct fb_queued *fb_queue_pop(struct fb_queue *queue, fb_u64 now, struct fb_effects *effects);

/* The shared packet memory of a switch, with param of fb_switch: whether a packet may join a port that holds `port_bytes`, while all ports together
 * hold `used`. */
bool fb_shared_admits(const fb_u64 *param, fb_u64 used, fb_u64 port_bytes, fb_u64 wire);

#endif
