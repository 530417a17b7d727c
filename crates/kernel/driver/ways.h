/* SPDX-License-Identifier: GPL-2.0 */
/* Connections as the network knows them: the ways of their packets, which change when switches avoid a link. */
#ifndef FOREBAY_WAYS_H
#define FOREBAY_WAYS_H

#include "queue.h"

/* Ports in the order in which a packet passes them. */
struct fb_ports {
	const fb_u32 *ports;
	fb_u8 length;
};

/* Last packet of a direction of a connection at a switch where it has several ports. */
struct fb_flowlet {
	fb_u32 node;
	fb_u8 path; /* that it took from there */
	fb_u64 seen; /* ps */
};

/* One direction of a connection. */
struct fb_way {
	fb_u64 flow;
	fb_u64 lot; /* of ties, without the time */
	fb_u32 number; /* fb_open.number */
	/* In the order in which a packet passes them; behind those, ports of nodes where packets may be that set out on an earlier way. */
	const fb_u32 *ports;
	fb_u32 end; /* the host */
	fb_u8 length;
	fb_u8 class_of_service;
	fb_u8 others_count;
	fb_u8 flowlets_count;
	struct fb_ports *others; /* paths that packets take after changes of the hash or behind pauses; NULL: there are none */
	struct fb_flowlet *flowlets; /* FB_PATHS; NULL: no packet has met a choice */
};

/* `ports` stay where they are. */
void fb_ways_setup(const struct fb_port *ports, fb_u32 nports, const struct fb_world *world);
/* Discards all, for a test. */
void fb_ways_forget(void);
/* The ways of a new connection, whose number must be the next one. 0, or -errno. */
int fb_ways_open(const struct fb_open *open);
/* One more path for a direction of a connection. 0, or -errno. */
int fb_ways_add(const struct fb_path *path);
/* Other ways for a connection. 0, or -errno. */
int fb_ways_change(const struct fb_route *route);
/* Connections opened so far. */
fb_u32 fb_ways_count(void);
const struct fb_way *fb_way(fb_u32 conn, bool back);
/* The path of a packet that reaches `node`, the `hop`th on its way, on path number `path`: another one behind a pause, if switches choose. */
fb_u32 fb_ways_flowlet(fb_u32 conn, bool back, fb_u32 path, fb_u32 hop, fb_u32 node, fb_u64 now);
/* The port on which a packet of path number `path` leaves `node`, the `hop`th on its way; FB_NONE: there is none. */
fb_u32 fb_way_next(const struct fb_way *way, fb_u32 path, fb_u32 hop, fb_u32 node);

#endif
