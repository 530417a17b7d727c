/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulation of the network: packets, queues, links and their events, in picoseconds. It does not depend on the kernel: the caller passes the
 * time, and fb_net_hosts notifies hosts. So a test can run it and compare it with the simulator.
 */
#ifndef FOREBAY_NETWORK_H
#define FOREBAY_NETWORK_H

#include "queue.h"

/* A packet on its way. */
struct fb_pkt {
	struct fb_queued queued; /* in the queue where it is */
	fb_u64 arrival;		 /* at the other end of the link that it is on */
	fb_u64 late;		 /* time that its host takes for it behind the turn at its port */
	fb_u64 id;
	void *body; /* the caller's */
	fb_u32 conn;
	/* For records, as struct fb_packet has them. */
	fb_u32 seq, ack, payload;
	fb_u16 window;
	fb_u8 tcp_flags;
	fb_u8 back;
	fb_u8 hop;  /* place in its path */
	fb_u8 path; /* number of that path */
	bool lost; /* on the link that it enters or is on */
	bool is_late; /* on that link */
};

/* Callbacks of the network. */
struct fb_net_hosts {
	/* The packet's last bit has left its host. */
	void (*sent)(struct fb_pkt *packet, fb_u64 time);
	/* The packet's IP header gets CE. */
	void (*mark)(struct fb_pkt *packet);
	/* The packet was dropped; its body has no other owner. */
	void (*drop)(struct fb_pkt *packet);
	/* The packet has reached its host, at a whole nanosecond; its body has no other owner. May call fb_net_send(). */
	void (*deliver)(struct fb_pkt *packet, fb_u64 time);
};

/* Before anything is sent. */
void fb_net_start(const struct fb_net_hosts *hosts);
/* Makes the network. 0, or -errno: a value is outside its range (-EINVAL, and the reason has been logged), or memory is short (-ENOMEM). */
int fb_net_setup(const struct fb_world *world, const struct fb_port *ports, const struct fb_switch *switches, fb_u32 nswitches);
/* The packets that links lose, whose ports exist. The list stays where it is. Errors as above. */
int fb_net_list_losses(const struct fb_listed_loss *list, fb_u32 count);
/* The paths of a connection. Errors as above. */
int fb_net_open(const struct fb_open *open);
/* One more path for the data of a connection. Errors as above. */
int fb_net_path(const struct fb_path *path);
/* Other paths for a connection: where packets are from then on. Errors as above. */
int fb_net_route(const struct fb_route *route);
/* The link behind a port goes down or comes back now. Errors as above. */
int fb_net_link(const struct fb_link *change, fb_u64 now);
/* The link behind a switch's port has another rate, delay or loss from now on. Errors as above. */
int fb_net_retune(const struct fb_retune *change, fb_u64 now);
/* Connections opened so far. */
fb_u32 fb_net_connections(void);
/* True if packets of `conn` from `node` are on the reverse path. */
bool fb_net_is_back(fb_u32 conn, fb_u32 node);
/* A new packet without content; NULL: memory is short. */
struct fb_pkt *fb_net_packet(void);
/* Uniform below `bound`, from the stream of the host that sends `conn`'s data. */
fb_u64 fb_net_jitter(fb_u32 conn, fb_u64 bound);
/* The packet leaves its host now; of `queued`, wire and ecn are set, and its class unless its way has one; and all from `late` on but id and hop. */
void fb_net_send(struct fb_pkt *packet, fb_u64 now);
/* Latest time of the next call of fb_net_run(). */
fb_u64 fb_net_next(void);
/* Does all that happens up to `until`, that moment included; stops before the first delivery if `deliver` is false. */
void fb_net_run(fb_u64 until, bool deliver);
/* Things that have happened so far, and packets sent. */
fb_u64 fb_net_events(void);
fb_u64 fb_net_packets(void);

/* Provided by the environment: network_kernel.c, or a test. */

/* Memory that is zero and never given back; NULL: none. */
void *fb_net_memory(size_t size);
/* For people: why a value was refused. */
void fb_net_refused(const char *what, fb_u64 value);
/* As in control.h. */
void fb_record(enum fb_kind kind, const void *record, size_t size);

#endif
