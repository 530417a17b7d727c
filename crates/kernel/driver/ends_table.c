// SPDX-License-Identifier: GPL-2.0
/* Connections by number. */
#include <linux/vmalloc.h>
#include "control.h"
#include "ends.h"

/* Connections stand in blocks, which are never moved. */
#define BLOCK 1024
#define BLOCKS 65536

static struct fb_conn **blocks;
static u32 conns;

void fb_table_init(void)
{
	blocks = vzalloc(BLOCKS * sizeof(*blocks));
	if (!blocks)
		fb_die("no memory for connections: give the guest more (mem=)");
}

u32 fb_conns(void)
{
	return conns;
}

struct fb_conn *fb_conn(u32 number)
{
	return number < conns ? &blocks[number / BLOCK][number % BLOCK] : NULL;
}

struct fb_conn *fb_new_conn(const struct fb_open *open)
{
	struct fb_conn *conn;

	if (open->conn != conns)
		fb_die("connection %u: not the next number (%u)", open->conn, conns);
	if (conns / BLOCK == BLOCKS)
		fb_die("more than %u connections", BLOCK * BLOCKS);
	if (!blocks[conns / BLOCK])
		blocks[conns / BLOCK] = vzalloc(BLOCK * sizeof(struct fb_conn));
	if (!blocks[conns / BLOCK])
		fb_die("no memory for connection %u: give the guest more (mem=)", open->conn);
	conns++;
	conn = fb_conn(open->conn);
	conn->number = open->conn;
	conn->outside = open->number;
	conn->group = open->group;
	conn->src = open->src;
	conn->dst = open->dst;
	conn->rss[0] = open->rss_forth;
	conn->rss[1] = open->rss_back;
	conn->datagrams = open->flags & FB_OPEN_DATAGRAMS;
	INIT_LIST_HEAD(&conn->messages);
	return conn;
}
