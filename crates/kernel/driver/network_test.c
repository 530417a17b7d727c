// SPDX-License-Identifier: GPL-2.0
/* Entry points of the network for a test that compares it with the simulator. Its notifications call functions of the test. Not part of a kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network.c"

/* Results for the test. */
struct fb_listener {
	void *self;
	void (*packet)(void *self, const struct fb_packet *record);
	void (*leave)(void *self, const struct fb_leave *record);
	/* At the exact time of the arrival, and with the codepoint that it has then. */
	void (*delivery)(void *self, fb_u64 time, fb_u32 conn, fb_u32 seq, fb_u32 ecn);
};

static struct fb_listener listener;
/* Each piece begins with the address of the piece before. */
static void **pieces;

static void on_sent(struct fb_pkt *packet, fb_u64 time)
{
}

static void on_mark(struct fb_pkt *packet)
{
}

static void on_drop(struct fb_pkt *packet)
{
}

static void on_delivery(struct fb_pkt *packet, fb_u64 time)
{
	listener.delivery(listener.self, packet->arrival, packet->conn, packet->seq, packet->queued.ecn);
}

static const struct fb_net_hosts hosts = { .sent = on_sent, .mark = on_mark, .drop = on_drop, .deliver = on_delivery };

/* The records of the test have these sizes. */
const fb_u64 fb_test_sizes[] = { sizeof(struct fb_world), sizeof(struct fb_port), sizeof(struct fb_switch), sizeof(struct fb_open) };

/* Discards the network, so that the next one can be set up. */
void fb_test_begin(const struct fb_listener *new)
{
	for (fb_u32 i = 0; i < nlinks; i++)
		if (links[i].queue)
			fb_queue_free(links[i].queue);
	nlinks = 0;
	while (pieces) {
		void **before = *pieces;

		free(pieces);
		pieces = before;
	}
	listener = *new;
	fb_paths_clear();
	memset(&fb_motion, 0, sizeof(fb_motion));
	fb_net_start(&hosts);
	fb_link_forget_packets();
	happened = sent = 0;
}

int fb_test_send(fb_u32 conn, fb_u32 wire, fb_u32 ecn, fb_u32 seq, fb_u64 now, fb_u64 late)
{
	struct fb_pkt *p = fb_net_packet();

	if (!p)
		return -ENOMEM;
	p->conn = conn;
	p->back = 0;
	p->path = 0;
	p->late = late;
	p->seq = seq;
	p->queued.wire = wire;
	p->queued.ecn = ecn;
	fb_net_send(p, now);
	return 0;
}

void *fb_net_memory(size_t size)
{
	void **piece = calloc(1, size + 16);

	if (!piece)
		return NULL;
	*piece = pieces;
	pieces = piece;
	return piece + 2;
}

void fb_net_refused(const char *what, fb_u64 value)
{
	fprintf(stderr, "%s: %llu\n", what, (unsigned long long)value);
}

void fb_record(enum fb_kind kind, const void *record, size_t size)
{
	if (kind == FB_PACKET)
		listener.packet(listener.self, record);
	if (kind == FB_LEAVE)
		listener.leave(listener.self, record);
}
