// SPDX-License-Identifier: GPL-2.0
/*
 * The network in motion. A link waits for two things at most: that the packet in service has left, and that the first of those on the wire
 * arrives. At the same instant arrivals come before departures, and of arrivals at a switch first is the link that has brought nothing for
 * longest, then a lot decides (crates/sim/src/engine/handoff.rs, ARCHITECTURE.md "Two decisions about time at a queue").
 *
 * What happens inside, at switches, nobody sees at once: a packet that starts at a switch needs at least the smallest delay of a link to reach
 * a host. So the caller has to come only for hosts' sake, when a packet is delivered or has left its host, or when that delay is over; what
 * happened inside is then made up for, in order, with the same result.
 */
#include "events.h"
#include "network.h"
#include "random.h"
#include "shared.h"
#include "ways.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#endif

/* Behind all arrivals of the same instant. */
#define AFTER_ARRIVALS FB_NEVER

struct pool {
	const fb_u64 *param;
	fb_u64 used; /* bytes */
};

/* A port and the link behind it. */
struct link {
	const struct fb_queue *queue;
	void *state;
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
	const struct fb_port *config;
};

static struct link *links;
static fb_u32 nlinks;
static fb_u64 ties_shift, shortest_delay;
static struct fb_events visible, inside; /* what hosts notice, and the rest */
static struct fb_list unused;
static fb_u64 happened, sent;
static bool recording;

static struct fb_pkt *pkt(struct fb_queued *queued)
{
	return (struct fb_pkt *)queued; /* its first member */
}

static const struct fb_way *way_of(const struct fb_pkt *p)
{
	return fb_way(p->conn, p->back);
}

/* Set-up. */

static int refuse(const char *what, fb_u64 value)
{
	fb_net_refused(what, value);
	return -EINVAL;
}

static int make_link(struct link *l, const struct fb_port *config, fb_u32 number, fb_u32 nodes)
{
	if (config->from >= nodes || config->to >= nodes)
		return refuse("port: node does not exist", number);
	if (!config->rate)
		return refuse("port: rate is zero", number);
	l->queue = fb_queue_of(config->discipline);
	if (!l->queue)
		return refuse("port: discipline is not known", config->discipline);
	l->state = fb_net_memory(l->queue->size(config->param) + 1);
	if (!l->state)
		return -ENOMEM;
	l->queue->start(l->state, config->param, config->rate, config->random);
	l->number = number;
	l->config = config;
	/* What arrives somewhere does so after it has left, if only by a picosecond. */
	l->delay = config->delay ? config->delay : 1;
	l->limit.packets = config->limit_packets;
	l->limit.bytes = config->limit_bytes;
	/* Fits 64 bits: 8e12 * 2^16 is below 2^59. */
	l->ps_per_byte = (8000000000000u * 65536 + config->rate / 2) / config->rate;
	for (int i = 0; i < 4; i++)
		l->random.s[i] = config->random[i];
	if (l->delay < shortest_delay)
		shortest_delay = l->delay;
	return 0;
}

int fb_net_setup(const struct fb_world *world, const struct fb_port *ports, const struct fb_switch *switches, fb_u32 nswitches)
{
	int error;

	nlinks = world->ports;
	fb_ways_setup(ports, nlinks, world->ties);
	ties_shift = world->ties_shift;
	recording = world->records & FB_RECORD_PACKETS;
	shortest_delay = FB_NEVER;
	if (ties_shift > 63)
		return refuse("world: ties_shift is above 63", ties_shift);
	links = fb_net_memory(nlinks * sizeof(*links) + 1);
	visible.heap = fb_net_memory(2 * nlinks * sizeof(*visible.heap) + 1);
	inside.heap = fb_net_memory(2 * nlinks * sizeof(*inside.heap) + 1);
	if (!links || !visible.heap || !inside.heap)
		return -ENOMEM;
	for (fb_u32 i = 0; i < nlinks; i++) {
		error = make_link(&links[i], &ports[i], i, world->nodes);
		if (error)
			return error;
	}
	for (fb_u32 s = 0; s < nswitches; s++) {
		struct pool *pool = fb_net_memory(sizeof(*pool));

		if (!pool)
			return -ENOMEM;
		pool->param = switches[s].param;
		for (fb_u32 i = 0; i < nlinks; i++)
			if (ports[i].from == switches[s].node)
				links[i].pool = pool;
	}
	return 0;
}

/* The hosts' ends of a way. */
static void note_ends(const struct fb_way *way)
{
	fb_u32 last = way->length - 1;

	while (links[way->ports[last]].config->to != way->end)
		last--;
	links[way->ports[0]].from_host = true;
	links[way->ports[last]].to_host = true;
}

int fb_net_open(const struct fb_open *open)
{
	int error = fb_ways_open(open);

	if (error)
		return error;
	note_ends(fb_way(open->conn, false));
	note_ends(fb_way(open->conn, true));
	return 0;
}

int fb_net_route(const struct fb_route *route)
{
	return fb_ways_change(route);
}

fb_u32 fb_net_connections(void)
{
	return fb_ways_count();
}

static const struct link *first_link(fb_u32 conn)
{
	return &links[fb_way(conn, false)->ports[0]];
}

bool fb_net_is_back(fb_u32 conn, fb_u32 node)
{
	return first_link(conn)->config->from != node;
}

fb_u64 fb_net_jitter(fb_u32 conn, fb_u64 bound)
{
	return fb_below(&links[first_link(conn)->number].random, bound);
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
	return pkt(one);
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

	if (recording)
		fb_record(FB_PACKET, &r, sizeof(r));
}

static void record_leave(const struct fb_pkt *p, fb_u64 time, fb_u32 port)
{
	struct fb_leave r = { .time = time, .id = p->id, .port = port, .wire = p->queued.wire };

	if (recording)
		fb_record(FB_LEAVE, &r, sizeof(r));
}

/* Motion. */

static void expect_arrival(struct link *l)
{
	const struct fb_pkt *first = pkt(l->flying.first);
	struct fb_happening arrival = {
		.time = first->arrival,
		.second = l->served,
		.third = fb_mix(way_of(first)->lot ^ first->arrival >> ties_shift),
		.link = l->number,
	};

	if (l->to_host) {
		/* A host's clock counts nanoseconds. */
		arrival.time = (first->arrival + 999) / 1000 * 1000;
		fb_expect(&visible, &arrival);
	} else {
		fb_expect(&inside, &arrival);
	}
}

static void start(struct link *l, struct fb_pkt *p, fb_u64 now)
{
	struct fb_happening departure = { .second = AFTER_ARRIVALS, .third = l->number, .link = l->number, .departure = true };

	l->serving = p;
	l->busy_until = now + (p->queued.wire * l->ps_per_byte >> 16);
	departure.time = l->busy_until;
	fb_expect(l->from_host ? &visible : &inside, &departure);
}

static void drop(struct link *l, struct fb_pkt *p, fb_u64 now, int reason)
{
	record(p, now, l, FB_DROPPED, reason);
	fb_net_on_drop(p);
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

/* What a discipline that holds its backlog does to packets. */
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
	struct fb_pkt *p = pkt(queued);

	if (queued->ecn == FB_CE)
		return;
	if (p == d->arriving) {
		d->marked = true;
		return;
	}
	record(p, d->now, d->link, FB_MARKED_LATER, 0);
	fb_net_on_mark(p);
	queued->ecn = FB_CE;
}

static void on_drop(struct fb_effects *effects, struct fb_queued *queued, enum fb_reason reason)
{
	struct doing *d = (struct doing *)effects;

	/* Overflows are those of the shared memory where that is what is full. */
	if (reason == FB_OVERFLOW && d->port && d->port->memory != FB_NEVER)
		reason = FB_SHARED;
	if (pkt(queued) == d->arriving)
		d->refused = true;
	else
		count_out(d->link, queued->wire);
	drop(d->link, pkt(queued), d->now, reason);
}

static void start_next(struct link *l, fb_u64 now)
{
	struct doing d = { .effects = { on_mark, on_drop }, .link = l, .now = now };
	struct fb_queued *next;

	/* As in the simulator, an empty backlog is not asked: FQ-CoDel would end the rounds of its queues. */
	if (!l->length.packets)
		return;
	if (l->queue->pop) {
		next = l->queue->pop(l->state, now, &d.effects);
	} else {
		next = fb_take_first(&l->waiting);
		/* A host may have handed it over in the rest of the nanosecond in which the one before left. */
		if (next && next->since > now)
			now = next->since;
	}
	if (next)
		start(l, pkt(next), now);
}

static void enqueue(struct link *l, struct fb_pkt *p, fb_u64 now)
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
		return drop(l, p, now, FB_DEAD);
	if (l->pool && !fb_shared_admits(l->pool->param, l->pool->used, l->length.bytes, p->queued.wire))
		port.memory = l->length.bytes;
	p->queued.since = now;
	if (l->queue->push) {
		l->queue->push(l->state, &port, &p->queued, &d.effects);
		if (d.refused)
			return;
	} else {
		verdict = l->queue->arrive(l->state, &port, &p->queued);
		if (port.memory != FB_NEVER)
			verdict = FB_DROP + FB_SHARED;
		if (verdict >= FB_DROP)
			return drop(l, p, now, verdict - FB_DROP);
		d.marked = verdict == FB_MARK && p->queued.ecn != FB_CE;
	}
	record(p, now, l, d.marked ? FB_MARKED : FB_ARRIVED, 0);
	if (d.marked) {
		fb_net_on_mark(p);
		p->queued.ecn = FB_CE;
	}
	count_in(l, p->queued.wire);
	if (!l->queue->push)
		fb_append(&l->waiting, &p->queued);
	if (!l->serving)
		start_next(l, now);
}

static void depart(struct link *l, fb_u64 now)
{
	struct fb_pkt *p = l->serving;
	bool first = !l->flying.first;

	l->serving = NULL;
	count_out(l, p->queued.wire);
	record_leave(p, now, l->number);
	p->arrival = now + l->delay + p->late;
	p->late = 0;
	/* What was sent later arrives later, whatever the host took for it. */
	if (l->from_host && p->arrival <= l->latest)
		p->arrival = l->latest + 1;
	l->latest = p->arrival;
	fb_append(&l->flying, &p->queued);
	if (first)
		expect_arrival(l);
	start_next(l, now);
	if (l->from_host)
		fb_net_on_sent(p, now);
}

static void arrive(struct link *l, fb_u64 time)
{
	struct fb_pkt *p = pkt(fb_take_first(&l->flying));
	const struct fb_way *way = way_of(p);
	fb_u32 node = l->config->to, next;

	l->served = p->arrival;
	if (l->flying.first)
		expect_arrival(l);
	if (node != way->end) {
		next = fb_way_next(way, ++p->hop, node);
		if (next == FB_NONE)
			return drop(l, p, p->arrival, FB_LOST);
		return enqueue(&links[next], p, p->arrival);
	}
	record(p, time, l, FB_DELIVERED_PACKET, 0);
	fb_net_on_delivery(p, time);
	forget(p);
}

void fb_net_send(struct fb_pkt *p, fb_u64 now)
{
	const struct fb_way *way = way_of(p);

	p->id = sent++;
	p->hop = 0;
	p->queued.flow = way->flow;
	if (way->class_of_service)
		p->queued.class_of_service = way->class_of_service;
	enqueue(&links[way->ports[0]], p, now);
}

/* Links that go down and come back. What is on the wire, in service or waiting when a link goes down is lost. */

static void cut(struct link *l, fb_u64 now)
{
	struct doing d = { .effects = { on_mark, on_drop }, .link = l, .now = now };
	struct fb_queued *lost;

	fb_forget(&visible, l->number);
	fb_forget(&inside, l->number);
	while ((lost = fb_take_first(&l->flying)))
		drop(l, pkt(lost), now, FB_LOST);
	if (l->serving) {
		count_out(l, l->serving->queued.wire);
		drop(l, l->serving, now, FB_CUT);
		l->serving = NULL;
	}
	while (l->length.packets) {
		lost = l->queue->pop ? l->queue->pop(l->state, now, &d.effects) : fb_take_first(&l->waiting);
		if (!lost)
			break;
		count_out(l, lost->wire);
		drop(l, pkt(lost), now, FB_CUT);
	}
}

int fb_net_link(const struct fb_link *change, fb_u64 now)
{
	struct link *l = change->port < nlinks ? &links[change->port] : NULL;

	if (!l)
		return refuse("link: port does not exist", change->port);
	if (!change->up && !l->dead)
		cut(l, now);
	if (change->up && l->dead) { /* an interface that comes up begins with an empty queue (dev_activate) */
		memset(l->state, 0, l->queue->size(l->config->param));
		l->queue->start(l->state, l->config->param, l->config->rate, change->random);
		l->busy_until = now;
	}
	l->dead = !change->up;
	return 0;
}

fb_u64 fb_net_next(void)
{
	fb_u64 next = visible.count ? visible.heap[0].time : FB_NEVER;

	if (inside.count && inside.heap[0].time + shortest_delay < next)
		next = inside.heap[0].time + shortest_delay;
	return next;
}

void fb_net_run(fb_u64 until, bool deliver)
{
	for (;;) {
		bool seen = visible.count && !(inside.count && fb_before(&inside.heap[0], &visible.heap[0]));
		struct fb_events *events = seen ? &visible : &inside;
		struct fb_happening next;

		if (!events->count || events->heap[0].time > until || (seen && !deliver && !events->heap[0].departure))
			return;
		next = fb_happens(events);
		happened++;
		if (next.departure)
			depart(&links[next.link], next.time);
		else
			arrive(&links[next.link], next.time);
	}
}

fb_u64 fb_net_events(void)
{
	return happened;
}

fb_u64 fb_net_packets(void)
{
	return sent;
}
