// SPDX-License-Identifier: GPL-2.0
#include "paths.h"
#include "network.h"
#include "random.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#endif

/* Connections are found by number in two steps, so that nothing moves when there are more. */
#define CHUNK 512
#define CHUNKS 32768

struct connection {
	struct fb_direction directions[2]; /* forth, back */
};

static const struct fb_port *known_ports;
static fb_u32 nknown;
static fb_u64 tie_seed;
static fb_u64 flowlet_gap;
static struct fb_random flowlet_random;
static struct connection **connections[CHUNKS]; /* CHUNK each */
static fb_u32 nconnections;

void fb_paths_setup(const struct fb_port *ports, fb_u32 nports, const struct fb_world *world)
{
	known_ports = ports;
	nknown = nports;
	tie_seed = world->ties;
	flowlet_gap = world->flowlet_gap;
	for (int i = 0; i < 4; i++)
		flowlet_random.s[i] = world->flowlet_random[i];
}

void fb_paths_clear(void)
{
	memset(connections, 0, sizeof(connections));
	nconnections = 0;
}

static int refuse(const char *what, fb_u64 value)
{
	fb_net_refused(what, value);
	return -EINVAL;
}

/* The first `straight` ports of a list, each of which leaves where the one before leads to; 0: the list is wrong. */
static fb_u32 straight(const fb_u32 *list, fb_u32 length)
{
	fb_u32 n = 0;

	if (!length || length > FB_HOPS) {
		refuse("path: number of ports", length);
		return 0;
	}
	for (fb_u32 i = 0; i < length; i++) {
		if (list[i] >= nknown) {
			refuse("path: port does not exist", list[i]);
			return 0;
		}
		if (n == i && (!i || known_ports[list[i - 1]].to == known_ports[list[i]].from))
			n++;
	}
	return n;
}

/* Sets the ports of a direction. */
static int set_ports(struct fb_direction *direction, const fb_u32 *list, fb_u32 length)
{
	fb_u32 *ports = fb_net_memory(length * sizeof(*ports));

	if (!ports)
		return -ENOMEM;
	memcpy(ports, list, length * sizeof(*ports));
	direction->ports = ports;
	direction->length = length;
	return 0;
}

static int check_path(const fb_u32 *path, fb_u32 length)
{
	fb_u32 n = straight(path, length);

	if (!n)
		return -EINVAL;
	return n == length ? 0 : refuse("path: port does not leave where the one before leads to", path[n]);
}

static int set_direction(struct fb_direction *direction, const fb_u32 *path, fb_u32 length, fb_u64 flow, fb_u32 class_of_service)
{
	direction->end = known_ports[path[length - 1]].to;
	direction->flow = flow;
	direction->tie_key = fb_mix(flow ^ tie_seed);
	direction->class_of_service = class_of_service;
	return set_ports(direction, path, length);
}

int fb_paths_open(const struct fb_open *open)
{
	fb_u32 conn = open->conn;
	struct connection *c;
	int error = check_path(open->forth, open->forth_len);

	if (!error)
		error = check_path(open->back, open->back_len);
	if (error)
		return error;
	if (conn != nconnections || conn >= CHUNK * CHUNKS)
		return refuse("connection is not the next one", conn);
	if (!connections[conn / CHUNK])
		connections[conn / CHUNK] = fb_net_memory(CHUNK * sizeof(c));
	if (!connections[conn / CHUNK])
		return -ENOMEM;
	c = fb_net_memory(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->directions[0].number = c->directions[1].number = open->number;
	error = set_direction(&c->directions[0], open->forth, open->forth_len, open->ties_forth, open->class_of_service);
	/* Only data has a class of service. */
	if (!error)
		error = set_direction(&c->directions[1], open->back, open->back_len, open->ties_back, 0);
	if (error)
		return error;
	connections[conn / CHUNK][conn % CHUNK] = c;
	nconnections++;
	return 0;
}

int fb_paths_add(const struct fb_path *path)
{
	struct fb_ports *added;
	struct fb_direction *direction;
	fb_u32 *ports;

	if (path->conn >= nconnections)
		return refuse("path: connection does not exist", path->conn);
	if (check_path(path->ports, path->length))
		return -EINVAL;
	direction = &connections[path->conn / CHUNK][path->conn % CHUNK]->directions[!!path->back];
	if (path->ports[0] != direction->ports[0] || known_ports[path->ports[path->length - 1]].to != direction->end)
		return refuse("path: begins or ends elsewhere, connection", path->conn);
	if (direction->others_count == FB_PATHS - 1)
		return refuse("path: connection has as many as it can have", path->conn);
	if (!direction->others)
		direction->others = fb_net_memory((FB_PATHS - 1) * sizeof(*direction->others));
	ports = fb_net_memory(path->length * sizeof(*ports));
	if (!direction->others || !ports)
		return -ENOMEM;
	memcpy(ports, path->ports, path->length * sizeof(*ports));
	added = &direction->others[direction->others_count++];
	added->ports = ports;
	added->length = path->length;
	return 0;
}

int fb_paths_change(const struct fb_route *route)
{
	struct connection *c;
	int error;

	if (route->conn >= nconnections)
		return refuse("route: connection does not exist", route->conn);
	if (!straight(route->forth, route->forth_len) || !straight(route->back, route->back_len))
		return -EINVAL;
	c = connections[route->conn / CHUNK][route->conn % CHUNK];
	error = set_ports(&c->directions[0], route->forth, route->forth_len);
	return error ? error : set_ports(&c->directions[1], route->back, route->back_len);
}

fb_u32 fb_paths_count(void)
{
	return nconnections;
}

const struct fb_direction *fb_direction(fb_u32 conn, bool back)
{
	return &connections[conn / CHUNK][conn % CHUNK]->directions[back];
}

/* Ports of path number `path`. */
static struct fb_ports ports_of(const struct fb_direction *direction, fb_u32 path)
{
	return path && path <= direction->others_count ? direction->others[path - 1] : (struct fb_ports){ .ports = direction->ports, .length = direction->length };
}

/* State of a direction at the switch `node`; NULL: there is no memory for it. */
static struct fb_flowlet *flowlet_at(struct fb_direction *direction, fb_u32 node)
{
	for (fb_u32 i = 0; i < direction->flowlets_count; i++)
		if (direction->flowlets[i].node == node)
			return &direction->flowlets[i];
	if (!direction->flowlets)
		direction->flowlets = fb_net_memory(FB_PATHS * sizeof(*direction->flowlets));
	if (!direction->flowlets || direction->flowlets_count == FB_PATHS)
		return NULL;
	direction->flowlets[direction->flowlets_count].node = node;
	direction->flowlets[direction->flowlets_count].seen = FB_NEVER;
	return &direction->flowlets[direction->flowlets_count++];
}

/* LetFlow (Vanini et al., NSDI 2017), as the simulator has it (crates/sim/src/engine/fabric/flowlets.rs), without collisions of its hash table. */
fb_u32 fb_paths_flowlet(fb_u32 conn, bool back, fb_u32 path, fb_u32 hop, fb_u32 node, fb_u64 now)
{
	struct fb_direction *direction = &connections[conn / CHUNK][conn % CHUNK]->directions[back];
	fb_u8 through[FB_PATHS];
	fb_u32 count = 0, first = FB_NONE;
	struct fb_flowlet *flowlet;
	bool choice = false;

	if (flowlet_gap == FB_NEVER || !direction->others_count)
		return path;
	for (fb_u32 i = 0; i <= direction->others_count; i++) {
		struct fb_ports p = ports_of(direction, i);

		if (hop >= p.length || known_ports[p.ports[hop]].from != node)
			continue;
		through[count++] = i;
		choice |= first != FB_NONE && first != p.ports[hop];
		first = p.ports[hop];
	}
	flowlet = choice ? flowlet_at(direction, node) : NULL;
	if (!flowlet)
		return path;
	/* The first packet begins a flowlet as well; the gap itself is no pause. */
	if (flowlet->seen == FB_NEVER || now - flowlet->seen > flowlet_gap)
		flowlet->path = through[fb_below(&flowlet_random, count)];
	flowlet->seen = now;
	return flowlet->path;
}

fb_u32 fb_next_port(const struct fb_direction *direction, fb_u32 path, fb_u32 hop, fb_u32 node)
{
	const struct fb_ports p = ports_of(direction, path);

	if (hop < p.length && known_ports[p.ports[hop]].from == node)
		return p.ports[hop];
	for (fb_u32 i = 0; i < p.length; i++)
		if (known_ports[p.ports[i]].from == node)
			return p.ports[i];
	return FB_NONE;
}
