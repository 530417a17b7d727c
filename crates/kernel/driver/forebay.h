/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the driver offer to each other. Uniprocessor without preemption: softirqs are off wherever this is called. */
#ifndef FOREBAY_H
#define FOREBAY_H

#include <linux/netdevice.h>
#include "protocol.h"

/* wire.c: links, queues, switches, and the clock of the run. */

/* Makes the network; all of `world`, `ports` and `switches` stay where they are for as long as the guest lives. */
int fb_wire_setup(const struct fb_world *world, const struct fb_port *ports, const struct fb_switch *switches, fb_u32 nswitches);
/* The run's time 0 is `start_ns` of CLOCK_MONOTONIC. */
void fb_wire_start(fb_u64 start_ns);
/* Picoseconds since the start of the run. */
fb_u64 fb_now(void);
/* Calls fb_ends_wake() at that time, instead of at the time that was set before. */
void fb_wake_at(fb_u64 time);
/* Room for connection `conn` and its paths. */
int fb_wire_open(const struct fb_open *open);
/* A link goes down or comes back now. */
int fb_wire_link(const struct fb_link *change);
/* Other paths for a connection. */
int fb_wire_route(const struct fb_route *route);
/* A packet leaves host `node`; its connection is skb->mark - 1. Takes the skb over. */
void fb_wire_send(fb_u32 node, struct sk_buff *skb);
/* Makes up for what has happened inside the network before now: what is recorded afterwards is then in order of time. Not needed where a
 * packet has just been delivered or the run has been woken. */
void fb_wire_settle(void);
/* What fb_shim_next() says has changed. */
void fb_wire_arm(void);
void fb_wire_done(struct fb_done *done);

/* ends.c: interfaces, sockets, connections. */

/* A packet has reached its host. Takes the skb over; whatever the stack does in answer has happened when this returns. */
void fb_ends_deliver(fb_u32 conn, bool back, struct sk_buff *skb, fb_u64 time);
void fb_ends_wake(void);
const struct fb_group *fb_group_of(fb_u32 conn);
/* Class of service of a packet with `payload` bytes that leaves a host, by what its group tags packets with. */
fb_u32 fb_class_of(fb_u32 conn, bool back, const struct sk_buff *skb, fb_u32 payload);
/* When a timer of the hosts' shims is due; FB_NEVER: none runs. */
fb_u64 fb_shim_next(void);
/* Timers that are due by `now`. */
void fb_shim_tick(fb_u64 now);
/* The datagram that the packet just handed to fb_wire_send() carries; NULL: it is of a connection. */
const struct fb_datagram *fb_datagram_leaving(void);

/* What our own congestion controls offer; the driver has empty ones (weak symbols) where there are none. In softirq context. */

/* Parameters of the law of this socket, in the order that its core names. The law has begun (its `init` has been called). */
void forebay_law_set(struct sock *sk, const u64 *param, unsigned int count);
/* The next message of this socket is `bytes` long (0: without end), and is wanted by `deadline` (ps since the start of the run). */
void forebay_law_message(struct sock *sk, u64 bytes, u64 deadline);

/* control.c: the pipes. */

/* A record for outside, kept until the next FB_ASK or until the buffer is full. */
void fb_record(enum fb_kind kind, const void *record, size_t size);

#endif
