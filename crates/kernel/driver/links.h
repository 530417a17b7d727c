/* SPDX-License-Identifier: GPL-2.0 */
/* A port and its link: the queue, the packet in service, and the packets on the wire. network.c owns the links and advances them. */
#ifndef FOREBAY_LINKS_H
#define FOREBAY_LINKS_H

#include "events.h"
#include "network.h"
#include "random.h"
#include "paths.h"

struct pool {
	const fb_u64 *param;
	fb_u64 used; /* bytes */
};

/* A connection of which a link loses listed packets. */
struct listed {
	struct listed *next;
	fb_u32 number; /* fb_open.number */
	fb_u32 left;				/* records that are left */
	const struct fb_listed_loss *packets; /* the next one */
	fb_u64 seen;				/* data packets so far */
};

/* A port and the link behind it. */
struct link {
	struct fb_queue *queue;
	bool holds; /* the queue holds its backlog */
	struct fb_list waiting; /* of a FIFO */
	struct fb_pkt *serving;
	struct fb_list flying;
	struct fb_length length; /* waiting and in service */
	struct fb_length limit;
	fb_u64 busy_until;
	fb_u64 latest; /* arrival so far, of a host's port */
	fb_u64 served; /* when it brought the packet before */
	fb_u64 delay;
	fb_u64 ps_per_byte; /* 48.16 fixed point, as Rate::ps_per_byte_q16 in the crate `units` */
	fb_u32 number;
	bool from_host, to_host;
	bool dead; /* it is down: what arrives is dropped */
	struct pool *pool;
	struct fb_random random;
	fb_u64 jitter, jitter_state; /* as in fb_port */
	enum fb_loss loss;
	fb_u64 loss_below[4]; /* as in fb_port */
	struct fb_random loss_random;
	fb_u64 loss_from, loss_until; /* as in fb_port */
	struct listed *listed;	      /* with FB_LOSS_LISTED: connections of which it loses packets */
	struct fb_random late_random;
	fb_u64 wire_end; /* when the last packet has reached the end of the wire, where a late packet or a batch waits */
	fb_u64 batched;	 /* arrival of the last packet of a batch */
	const struct fb_port *config;
};

/* Pending events of the links. */
struct fb_motion {
	struct fb_events visible, inside; /* what hosts notice, and the rest */
	fb_u64 ties_shift; /* as in fb_world */
	bool recording;
	const struct fb_net_hosts *hosts;
};
extern struct fb_motion fb_motion;

static inline struct fb_pkt *fb_pkt_of(struct fb_queued *queued)
{
	return (struct fb_pkt *)queued; /* its first member */
}

/* Discards all packets, for a test. */
void fb_link_forget_packets(void);
/* A packet arrives at the port. */
void fb_link_enqueue(struct link *l, struct fb_pkt *p, fb_u64 now);
/* The packet in service leaves. */
void fb_link_depart(struct link *l, fb_u64 now);
/* The first packet on the wire is at the other end. NULL: the link has lost it. */
struct fb_pkt *fb_link_arrived(struct link *l);
/* It goes to its host. */
void fb_link_deliver(struct link *l, struct fb_pkt *p, fb_u64 time);
/* It is dropped. */
void fb_link_drop(struct link *l, struct fb_pkt *p, fb_u64 now, int reason);
/* The link goes down or comes back. */
void fb_link_change(struct link *l, const struct fb_link *change, fb_u64 now);
/* Its rate, delay or loss changes, as in the simulator (crates/sim/src/net/port/change.rs). */
void fb_link_retune(struct link *l, const struct fb_retune *change, fb_u64 now);
/* ps_per_byte of a link of `rate` bit/s. */
fb_u64 fb_link_ps_per_byte(fb_u64 rate);

#endif
