/* SPDX-License-Identifier: GPL-2.0 */
/* Paths of the packets of each connection. They change when switches avoid a failed link. */
#ifndef FOREBAY_PATHS_H
#define FOREBAY_PATHS_H

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
struct fb_direction {
	fb_u64 flow;
	fb_u64 tie_key; /* order among simultaneous packets, without the time */
	fb_u32 number; /* fb_open.number */
	/* In the order in which a packet passes them. After them: ports of nodes that packets on an earlier path may have reached. */
	const fb_u32 *ports;
	fb_u32 end; /* the host */
	fb_u8 length;
	fb_u8 class_of_service;
	fb_u8 others_count;
	fb_u8 flowlets_count;
	struct fb_ports *others; /* paths of packets after a change of the hash or after a pause; NULL: there are none */
	struct fb_flowlet *flowlets; /* FB_PATHS; NULL: no packet had a choice of paths */
};

/* `ports` must stay valid. */
void fb_paths_setup(const struct fb_port *ports, fb_u32 nports, const struct fb_world *world);
/* Removes all connections, for a test. */
void fb_paths_clear(void);
/* Adds a connection, whose number must be the next one. 0, or -errno. */
int fb_paths_open(const struct fb_open *open);
/* Adds a path for a direction of a connection. 0, or -errno. */
int fb_paths_add(const struct fb_path *path);
/* Changes the paths of a connection. 0, or -errno. */
int fb_paths_change(const struct fb_route *route);
/* Number of connections opened so far. */
fb_u32 fb_paths_count(void);
const struct fb_direction *fb_direction(fb_u32 conn, bool back);
/* The path of a packet on path number `path` that reaches `node`, its `hop`th switch: after a pause another one, if switches use flowlets. */
fb_u32 fb_paths_flowlet(fb_u32 conn, bool back, fb_u32 path, fb_u32 hop, fb_u32 node, fb_u64 now);
/* The port through which a packet on path number `path` leaves `node`, its `hop`th switch; FB_NONE: there is none. */
fb_u32 fb_next_port(const struct fb_direction *direction, fb_u32 path, fb_u32 hop, fb_u32 node);

#endif
