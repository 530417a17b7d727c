// SPDX-License-Identifier: GPL-2.0
/* Events of one link: packets arrive at its queue, are served, propagate, and are lost when it goes down. Also the memory of packets. */
#include "links.h"

#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

/* Behind all arrivals of the same instant. */
#define AFTER_ARRIVALS FB_NEVER

struct fb_motion fb_motion;
static struct fb_list unused;

void fb_link_forget_packets(void)
{
	memset(&unused, 0, sizeof(unused));
}

static const struct fb_direction *direction_of(const struct fb_pkt *p)
{
	return fb_direction(p->conn, p->back);
}

/* Packets. */

struct fb_pkt *fb_net_packet(void)
{
	struct fb_queued *one = fb_take_first(&unused);
	const int many = 64;

	if (!one) {
		struct fb_pkt *more = fb_net_memory(many * sizeof(*more));

		if (!more)
			return NULL;
		for (int i = 1; i < many; i++)
			fb_append(&unused, &more[i].queued);
		one = &more[0].queued;
	}
	one->class_of_service = 0;
	one->rank = 0;
	return fb_pkt_of(one);
}

static void forget(struct fb_pkt *p)
{
	/* In front: what was used last is in the cache. */
	p->queued.prev = NULL;
	p->queued.next = unused.first;
	if (unused.first)
		unused.first->prev = &p->queued;
	else
		unused.last = &p->queued;
	unused.first = &p->queued;
}

/* Records. */

static void record(const struct fb_pkt *p, fb_u64 time, const struct link *l, enum fb_what what, int reason)
{
	bool arrived = what == FB_DELIVERED_PACKET; /* and left the queue before */
	struct fb_packet r = {
		.time = time,
		.id = p->id,
		.conn = p->conn,
		.port = l->number,
		.seq = p->seq,
		.ack = p->ack,
		.payload = p->payload,
		.wire = p->queued.wire,
		.window = p->window,
		.tcp_flags = p->tcp_flags,
		.ecn = p->queued.ecn,
		.what = what,
		.reason = reason,
		.class_of_service = p->queued.class_of_service,
		.back = p->back,
		.queue_packets = arrived ? 0 : l->length.packets,
		.queue_bytes = arrived ? 0 : l->length.bytes,
	};

	if (fb_motion.recording)
		fb_record(FB_PACKET, &r, sizeof(r));
}

static void record_leave(const struct fb_pkt *p, fb_u64 time, fb_u32 port)
{
	struct fb_leave r = { .time = time, .id = p->id, .port = port, .wire = p->queued.wire };

	if (fb_motion.recording)
		fb_record(FB_LEAVE, &r, sizeof(r));
}

/* Motion. */

static void expect_arrival(struct link *l)
{
	const struct fb_pkt *first = fb_pkt_of(l->flying.first);
	struct fb_happening arrival = {
		.time = first->arrival,
		.second = l->served,
		.third = fb_mix(direction_of(first)->tie_key ^ first->arrival >> fb_motion.ties_shift),
		.link = l->number,
	};

	if (l->to_host) {
		/* A host's clock counts nanoseconds. */
		arrival.time = (first->arrival + 999) / 1000 * 1000;
		fb_expect(&fb_motion.visible, &arrival);
	} else {
		fb_expect(&fb_motion.inside, &arrival);
	}
}

static void expect_departure(struct link *l)
{
	struct fb_happening departure = {
		.time = l->busy_until,
		.second = AFTER_ARRIVALS,
		.third = l->number,
		.link = l->number,
		.departure = true,
	};

	fb_expect(l->from_host ? &fb_motion.visible : &fb_motion.inside, &departure);
}

static void start(struct link *l, struct fb_pkt *p, fb_u64 now)
{
	l->serving = p;
	/* A link whose delay has become shorter pauses: see fb_link_retune(). */
	if (now < l->busy_until)
		now = l->busy_until;
	l->busy_until = now + (p->queued.wire * l->ps_per_byte >> 16);
	expect_departure(l);
}

void fb_link_drop(struct link *l, struct fb_pkt *p, fb_u64 now, int reason)
{
	record(p, now, l, FB_DROPPED, reason);
	fb_motion.hosts->drop(p);
	forget(p);
}

static void count_in(struct link *l, fb_u32 wire)
{
	fb_add(&l->length, wire);
	if (l->pool)
		l->pool->used += wire;
}

static void count_out(struct link *l, fb_u32 wire)
{
	fb_remove(&l->length, wire);
	if (l->pool)
		l->pool->used -= wire;
}

/* Effects of a discipline that holds its backlog on packets. */
struct doing {
	struct fb_effects effects;
	struct link *link;
	fb_u64 now;
	const struct fb_state *port;
	struct fb_pkt *arriving;
	bool marked, refused;
};

static void on_mark(struct fb_effects *effects, struct fb_queued *queued)
{
	struct doing *d = (struct doing *)effects;
	struct fb_pkt *p = fb_pkt_of(queued);

	if (queued->ecn == FB_CE)
		return;
	if (p == d->arriving) {
		d->marked = true;
		return;
	}
	record(p, d->now, d->link, FB_MARKED_LATER, 0);
	fb_motion.hosts->mark(p);
	queued->ecn = FB_CE;
}

static void on_drop(struct fb_effects *effects, struct fb_queued *queued, enum fb_reason reason)
{
	struct doing *d = (struct doing *)effects;

	/* Overflows are those of the shared memory where that is what is full. */
	if (reason == FB_OVERFLOW && d->port && d->port->memory != FB_NEVER)
		reason = FB_SHARED;
	if (fb_pkt_of(queued) == d->arriving)
		d->refused = true;
	else
		count_out(d->link, queued->wire);
	fb_link_drop(d->link, fb_pkt_of(queued), d->now, reason);
}

/* Counts a packet, and decides whether it is one of those listed. */
static bool is_listed(struct link *l, const struct fb_pkt *p)
{
	struct listed *c = l->listed;
	fb_u32 number = direction_of(p)->number;

	if (p->back || !p->payload)
		return false;
	while (c && c->number != number)
		c = c->next;
	if (!c || !c->left || c->packets->packet != ++c->seen)
		return false;
	c->packets++;
	c->left--;
	return true;
}

/*
 * Decides whether the link loses the next packet, as the simulator does (crates/experiment/src/link_errors.rs): when a packet joins a FIFO, or when
 * its service begins behind a discipline that holds its backlog.
 */
static bool loses(struct link *l, const struct fb_pkt *p, fb_u64 now)
{
	const fb_u64 *below = l->loss_below;
	bool bad = l->loss == FB_LOSS_BAD, lost;

	if (l->loss == FB_LOSS_NONE || now < l->loss_from || now >= l->loss_until)
		return false;
	if (l->loss == FB_LOSS_LISTED)
		return is_listed(l, p);
	lost = fb_next(&l->loss_random) >> 11 < below[bad];
	if (l->loss != FB_LOSS_RANDOM && fb_next(&l->loss_random) >> 11 < below[2 + bad])
		l->loss = bad ? FB_LOSS_GOOD : FB_LOSS_BAD;
	return lost;
}

/* Decides about the next packet of the link, likewise. */
static void enter(struct link *l, struct fb_pkt *p, fb_u64 now)
{
	p->lost = loses(l, p, now);
	p->is_late = !p->lost && l->config->late_by && fb_next(&l->late_random) >> 11 < l->config->late_below;
}

static void start_next(struct link *l, fb_u64 now)
{
	struct doing d = { .effects = { on_mark, on_drop }, .link = l, .now = now };
	struct fb_queued *next;

	/* As in the simulator, nothing is requested of an empty backlog: FQ-CoDel would end the rounds of its queues. */
	if (!l->length.packets)
		return;
	if (l->holds) {
		next = fb_queue_pop(l->queue, now, &d.effects);
		if (next)
			enter(l, fb_pkt_of(next), now);
	} else {
		next = fb_take_first(&l->waiting);
		/* A host may have handed it over in the rest of the nanosecond in which the one before left. */
		if (next && next->since > now)
			now = next->since;
	}
	if (next)
		start(l, fb_pkt_of(next), now);
}

void fb_link_enqueue(struct link *l, struct fb_pkt *p, fb_u64 now)
{
	struct fb_state port = {
		.now = now,
		.queue = l->length,
		.limit = l->limit,
		.memory = FB_NEVER,
		.serving = l->serving ? l->serving->queued.wire : 0,
		.idle_since = l->busy_until,
	};
	struct doing d = { .effects = { on_mark, on_drop }, .link = l, .now = now, .port = &port, .arriving = p };
	int verdict;

	if (l->dead)
		return fb_link_drop(l, p, now, FB_DEAD);
	if (l->pool && !fb_shared_admits(l->pool->param, l->pool->used, l->length.bytes, p->queued.wire))
		port.memory = l->length.bytes;
	p->queued.since = now;
	if (l->holds) {
		fb_queue_push(l->queue, &port, &p->queued, &d.effects);
		if (d.refused)
			return;
	} else {
		verdict = fb_queue_arrive(l->queue, &port, &p->queued);
		if (port.memory != FB_NEVER)
			verdict = FB_DROP + FB_SHARED;
		if (verdict >= FB_DROP)
			return fb_link_drop(l, p, now, verdict - FB_DROP);
		d.marked = verdict == FB_MARK && p->queued.ecn != FB_CE;
	}
	record(p, now, l, d.marked ? FB_MARKED : FB_ARRIVED, 0);
	if (d.marked) {
		fb_motion.hosts->mark(p);
		p->queued.ecn = FB_CE;
	}
	count_in(l, p->queued.wire);
	if (!l->holds) {
		enter(l, p, now);
		fb_append(&l->waiting, &p->queued);
	}
	if (!l->serving)
		start_next(l, now);
}

/* Latency variation of a host's interface, as the simulator draws it (crates/experiment/src/host_timing.rs). */
static fb_u64 jitter(struct link *l)
{
	if (!l->jitter)
		return 0;
	l->jitter_state += 0x9E3779B97F4A7C15u;
	return (fb_u64)((unsigned __int128)fb_mix(l->jitter_state) * l->jitter >> 64) * 1000;
}

/* When a packet that reaches the end of the wire counts as arrived, as in the simulator (crates/sim/src/engine/fabric/late_delivery.rs). */
static fb_u64 held(struct link *l, const struct fb_pkt *p, fb_u64 end)
{
	const fb_u64 batch = l->config->batch;
	fb_u64 at;

	if (p->lost)
		return end;
	if (p->is_late)
		return end + l->config->late_by;
	if (!batch)
		return end;
	at = (end + batch - 1) / batch * batch;
	if (at <= l->batched)
		at = l->batched + 1;
	l->batched = at;
	return at;
}

/* Puts a packet on the wire, in the order of arrival. Nothing is in service. */
static void fly(struct link *l, struct fb_pkt *p)
{
	struct fb_queued *before = l->flying.last, *behind;

	while (before && fb_pkt_of(before)->arrival > p->arrival)
		before = before->prev;
	behind = before ? before->next : l->flying.first;
	p->queued.prev = before;
	p->queued.next = behind;
	if (before)
		before->next = &p->queued;
	else
		l->flying.first = &p->queued;
	if (behind)
		behind->prev = &p->queued;
	else
		l->flying.last = &p->queued;
	if (before)
		return;
	if (behind) { /* a late packet, which was expected first */
		fb_forget(&fb_motion.visible, l->number);
		fb_forget(&fb_motion.inside, l->number);
	}
	expect_arrival(l);
}

void fb_link_depart(struct link *l, fb_u64 now)
{
	struct fb_pkt *p = l->serving;

	l->serving = NULL;
	count_out(l, p->queued.wire);
	record_leave(p, now, l->number);
	p->arrival = now + l->delay + p->late + jitter(l);
	p->late = 0;
	/* Packets sent later arrive later, whatever the processing time of the host. */
	if (l->from_host && p->arrival <= l->latest)
		p->arrival = l->latest + 1;
	l->latest = p->arrival;
	l->wire_end = p->arrival;
	p->arrival = held(l, p, p->arrival);
	fly(l, p);
	start_next(l, now);
	if (l->from_host)
		fb_motion.hosts->sent(p, now);
}

struct fb_pkt *fb_link_arrived(struct link *l)
{
	struct fb_pkt *p = fb_pkt_of(fb_take_first(&l->flying));

	l->served = p->arrival;
	if (l->flying.first)
		expect_arrival(l);
	if (!p->lost)
		return p;
	fb_link_drop(l, p, p->arrival, FB_DAMAGED);
	return NULL;
}

void fb_link_deliver(struct link *l, struct fb_pkt *p, fb_u64 time)
{
	record(p, time, l, FB_DELIVERED_PACKET, 0);
	fb_motion.hosts->deliver(p, time);
	forget(p);
}

/* Links that go down and come back. Packets on the wire, in service or waiting when a link goes down are lost. */

static void cut(struct link *l, fb_u64 now)
{
	struct doing d = { .effects = { on_mark, on_drop }, .link = l, .now = now };
	struct fb_queued *lost;

	fb_forget(&fb_motion.visible, l->number);
	fb_forget(&fb_motion.inside, l->number);
	while ((lost = fb_take_first(&l->flying)))
		fb_link_drop(l, fb_pkt_of(lost), now, FB_LOST);
	if (l->serving) {
		count_out(l, l->serving->queued.wire);
		fb_link_drop(l, l->serving, now, FB_CUT);
		l->serving = NULL;
	}
	while (l->length.packets) {
		lost = l->holds ? fb_queue_pop(l->queue, now, &d.effects) : fb_take_first(&l->waiting);
		if (!lost)
			break;
		count_out(l, lost->wire);
		fb_link_drop(l, fb_pkt_of(lost), now, FB_CUT);
	}
}

void fb_link_change(struct link *l, const struct fb_link *change, fb_u64 now)
{
	if (!change->up && !l->dead)
		cut(l, now);
	if (change->up && l->dead) { /* an interface that comes up begins with an empty queue (dev_activate) */
		fb_queue_free(l->queue);
		l->queue = fb_queue_new(l->config->queue, &l->limit, l->config->rate, change->random);
		l->busy_until = now;
	}
	l->dead = !change->up;
}

fb_u64 fb_link_ps_per_byte(fb_u64 rate)
{
	/* Fits 64 bits: 8e12 * 2^16 is below 2^59. */
	return (8000000000000u * 65536 + rate / 2) / rate;
}

/* Packets do not overtake each other: after a decrease no packet leaves before it would arrive behind those on the wire. */
static void set_delay(struct link *l, fb_u64 delay, fb_u64 now)
{
	fb_u64 earliest = 0;

	if (delay < l->delay && l->wire_end > now && l->wire_end >= delay)
		earliest = l->wire_end + 1 - delay;
	l->delay = delay;
	if (l->busy_until >= earliest)
		return;
	l->busy_until = earliest;
	if (!l->serving)
		return;
	fb_forget(&fb_motion.visible, l->number);
	fb_forget(&fb_motion.inside, l->number);
	if (l->flying.first)
		expect_arrival(l);
	expect_departure(l);
}

void fb_link_retune(struct link *l, const struct fb_retune *change, fb_u64 now)
{
	if (change->flags & FB_RETUNE_LOSS) {
		if (l->loss == FB_LOSS_NONE || l->loss == FB_LOSS_LISTED)
			for (int i = 0; i < 4; i++)
				l->loss_random.s[i] = change->loss_random[i];
		l->loss = FB_LOSS_RANDOM;
		l->loss_from = 0;
		l->loss_until = FB_NEVER;
		l->loss_below[0] = change->loss_below;
	}
	if (change->flags & FB_RETUNE_DELAY)
		set_delay(l, change->delay ? change->delay : 1, now);
	if (change->flags & FB_RETUNE_RATE)
		l->ps_per_byte = fb_link_ps_per_byte(change->rate);
}
