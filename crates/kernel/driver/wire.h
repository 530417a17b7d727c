/* SPDX-License-Identifier: GPL-2.0 */
/* wire.c: links, queues and switches, advanced by a timer. Uniprocessor without preemption: softirqs are off wherever this is called. */
#ifndef FOREBAY_WIRE_H
#define FOREBAY_WIRE_H

#include <linux/skbuff.h>
#include "protocol.h"

struct tcphdr;

/* Callbacks. */
struct fb_wire_hosts {
	/* A packet has reached its host. Takes the skb over; whatever the stack does in answer has happened when this returns. */
	void (*deliver)(u32 conn, bool back, struct sk_buff *skb, u64 time);
	/* A time that was given to fb_wire_tick_at() has come; the others have to be given again. */
	void (*tick)(u64 now);
};

/* Makes the network; all of `world`, `ports` and `switches` stay where they are for as long as the guest lives. */
int fb_wire_setup(const struct fb_world *world, const struct fb_port *ports, const struct fb_switch *switches, fb_u32 nswitches);
/* Before the run. */
void fb_wire_start(const struct fb_wire_hosts *hosts);
/* Calls fb_wake() at that time, instead of at the time that was set before. */
void fb_wire_wake_at(u64 time);
/* Calls `tick` at that time or earlier, once fb_wire_arm() has been called. */
void fb_wire_tick_at(u64 time);
void fb_wire_arm(void);
/* Room for connection `conn` and its paths. */
int fb_wire_open(const struct fb_open *open);
/* A link goes down or comes back now. */
int fb_wire_link(const struct fb_link *change);
/* A link has another rate, delay or loss from now on. */
int fb_wire_retune(const struct fb_retune *change);
/* One more path for the data of a connection. */
int fb_wire_path(const struct fb_path *path);
/* Other paths for a connection. */
int fb_wire_route(const struct fb_route *route);
/* Bytes of the SACK option, which an ACK is longer by. */
u32 fb_sack_bytes(const struct tcphdr *tcp);
/* A packet leaves host `node`; its connection is skb->mark - 1. Takes the skb over. */
void fb_wire_send(u32 node, struct sk_buff *skb);
/* Makes up for what has happened inside the network before now: what is recorded afterwards is then in order of time. Not needed where a
 * packet has just been delivered or the run has been woken. */
void fb_wire_settle(void);
void fb_wire_done(struct fb_done *done);

#endif
