// SPDX-License-Identifier: GPL-2.0
/*
 * Main loop of the network. A link has at most two pending events: the departure of the packet in service, and the arrival of the first packet
 * on the wire. At the same instant arrivals come before departures. Of several arrivals at a switch, the one from the link that has been idle
 * longest comes first, and a hash orders the others (crates/sim/src/engine/arrival_order.rs, ARCHITECTURE.md, decision 4).
 *
 * Events at switches need not be processed at once: a packet that starts at a switch needs at least the smallest delay of a link to reach a host.
 * A call is needed only when a packet is delivered or has left its host, or when that delay is over. Events at switches are then processed in
 * order, with the same result.
 */
#include "links.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

static struct link *links;
static fb_u32 nlinks;
static fb_u64 shortest_delay;
static fb_u64 happened, sent;

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
	l->number = number;
	l->config = config;
	/* A packet arrives at least a picosecond after it has left. */
	l->delay = config->delay ? config->delay : 1;
	l->limit.packets = config->limit_packets;
	l->limit.bytes = config->limit_bytes;
	l->queue = fb_queue_new(config->queue, &l->limit, config->rate, config->queue_random);
	if (!l->queue)
		return refuse("port: discipline is not known", config->queue[0]);
	l->holds = fb_queue_holds(l->queue);
	l->ps_per_byte = fb_link_ps_per_byte(config->rate);
	for (int i = 0; i < 4; i++)
		l->random.s[i] = config->random[i];
	l->jitter = config->jitter;
	l->jitter_state = config->jitter_state;
	l->loss = config->loss;
	l->loss_from = config->loss_from;
	l->loss_until = config->loss_until;
	for (int i = 0; i < 4; i++) {
		l->loss_below[i] = config->loss_below[i];
		l->loss_random.s[i] = config->loss_random[i];
		l->late_random.s[i] = config->late_random[i];
	}
	if (l->delay < shortest_delay)
		shortest_delay = l->delay;
	return 0;
}

void fb_net_start(const struct fb_net_hosts *hosts)
{
	fb_motion.hosts = hosts;
}

int fb_net_setup(const struct fb_world *world, const struct fb_port *ports, const struct fb_switch *switches, fb_u32 nswitches)
{
	int error;

	nlinks = world->ports;
	fb_paths_setup(ports, nlinks, world);
	fb_motion.ties_shift = world->ties_shift;
	fb_motion.recording = world->records & FB_RECORD_PACKETS;
	shortest_delay = FB_NEVER;
	if (fb_motion.ties_shift > 63)
		return refuse("world: ties_shift is above 63", fb_motion.ties_shift);
	links = fb_net_memory(nlinks * sizeof(*links) + 1);
	fb_motion.visible.heap = fb_net_memory(2 * nlinks * sizeof(*fb_motion.visible.heap) + 1);
	fb_motion.inside.heap = fb_net_memory(2 * nlinks * sizeof(*fb_motion.inside.heap) + 1);
	if (!links || !fb_motion.visible.heap || !fb_motion.inside.heap)
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

int fb_net_list_losses(const struct fb_listed_loss *list, fb_u32 count)
{
	struct listed *last = NULL;

	for (fb_u32 i = 0; i < count; i++) {
		struct link *l = &links[list[i].port];

		if (!last || l->listed != last || last->number != list[i].number) {
			last = fb_net_memory(sizeof(*last));
			if (!last)
				return -ENOMEM;
			last->number = list[i].number;
			last->packets = &list[i];
			last->next = l->listed;
			l->listed = last;
		}
		last->left++;
	}
	return 0;
}

/* Marks the first and the last link of a direction, which are those of hosts. */
static void note_ends(const struct fb_direction *direction)
{
	fb_u32 last = direction->length - 1;

	while (links[direction->ports[last]].config->to != direction->end)
		last--;
	links[direction->ports[0]].from_host = true;
	links[direction->ports[last]].to_host = true;
}

int fb_net_open(const struct fb_open *open)
{
	int error = fb_paths_open(open);

	if (error)
		return error;
	note_ends(fb_direction(open->conn, false));
	note_ends(fb_direction(open->conn, true));
	return 0;
}

int fb_net_path(const struct fb_path *path)
{
	return fb_paths_add(path);
}

int fb_net_route(const struct fb_route *route)
{
	return fb_paths_change(route);
}

fb_u32 fb_net_connections(void)
{
	return fb_paths_count();
}

static const struct link *first_link(fb_u32 conn)
{
	return &links[fb_direction(conn, false)->ports[0]];
}

bool fb_net_is_back(fb_u32 conn, fb_u32 node)
{
	return first_link(conn)->config->from != node;
}

fb_u64 fb_net_jitter(fb_u32 conn, fb_u64 bound)
{
	return fb_below(&links[first_link(conn)->number].random, bound);
}

static void arrive(struct link *l, fb_u64 time)
{
	struct fb_pkt *p = fb_link_arrived(l);
	const struct fb_direction *direction;
	fb_u32 node = l->config->to, next;

	if (!p)
		return;
	direction = fb_direction(p->conn, p->back);
	if (node != direction->end) {
		p->path = fb_paths_flowlet(p->conn, p->back, p->path, ++p->hop, node, p->arrival);
		next = fb_next_port(direction, p->path, p->hop, node);
		if (next == FB_NONE)
			return fb_link_drop(l, p, p->arrival, FB_LOST);
		return fb_link_enqueue(&links[next], p, p->arrival);
	}
	fb_link_deliver(l, p, time);
}

void fb_net_send(struct fb_pkt *p, fb_u64 now)
{
	const struct fb_direction *direction = fb_direction(p->conn, p->back);

	p->id = sent++;
	p->hop = 0;
	p->queued.flow = direction->flow;
	if (direction->class_of_service)
		p->queued.class_of_service = direction->class_of_service;
	fb_link_enqueue(&links[direction->ports[0]], p, now);
}

int fb_net_link(const struct fb_link *change, fb_u64 now)
{
	if (change->port >= nlinks)
		return refuse("link: port does not exist", change->port);
	fb_link_change(&links[change->port], change, now);
	return 0;
}

int fb_net_retune(const struct fb_retune *change, fb_u64 now)
{
	struct link *l;

	if (change->port >= nlinks)
		return refuse("retune: port does not exist", change->port);
	if (change->flags & FB_RETUNE_RATE && !change->rate)
		return refuse("retune: rate is zero", change->port);
	l = &links[change->port];
	if (l->from_host)
		return refuse("retune: port is that of a host", change->port);
	fb_link_retune(l, change, now);
	if (l->delay < shortest_delay)
		shortest_delay = l->delay;
	return 0;
}

fb_u64 fb_net_next(void)
{
	fb_u64 next = fb_motion.visible.count ? fb_motion.visible.heap[0].time : FB_NEVER;

	if (fb_motion.inside.count && fb_motion.inside.heap[0].time + shortest_delay < next)
		next = fb_motion.inside.heap[0].time + shortest_delay;
	return next;
}

void fb_net_run(fb_u64 until, bool deliver)
{
	for (;;) {
		bool seen = fb_motion.visible.count && !(fb_motion.inside.count && fb_before(&fb_motion.inside.heap[0], &fb_motion.visible.heap[0]));
		struct fb_events *events = seen ? &fb_motion.visible : &fb_motion.inside;
		struct fb_happening next;

		if (!events->count || events->heap[0].time > until || (seen && !deliver && !events->heap[0].departure))
			return;
		next = fb_happens(events);
		happened++;
		if (next.departure)
			fb_link_depart(&links[next.link], next.time);
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
