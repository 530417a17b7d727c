// SPDX-License-Identifier: GPL-2.0
/* Requests of applications for connections, from the program outside (protocol_run.h). */
#include <linux/slab.h>
#include "control.h"
#include "device.h"
#include "ends.h"
#include "wire.h"

static struct fb_conn *open_connection(u32 number)
{
	struct fb_conn *conn = fb_conn(number);

	if (!conn)
		fb_die("connection %u is not open", number);
	return conn;
}

void fb_want_open(const struct fb_open *open)
{
	struct fb_conn *conn;
	int error;

	if (open->group >= fb_setup.world.groups || open->src >= fb_setup.world.interfaces || open->dst >= fb_setup.world.interfaces ||
	    open->forth_len - 1 >= FB_HOPS || open->back_len - 1 >= FB_HOPS)
		fb_die("connection %u: a group, interface or path that does not exist", open->conn);
	if (!fb_device(open->src) || !fb_device(open->dst))
		fb_die("connection %u: interface %u or %u was never attached", open->conn, open->src, open->dst);
	conn = fb_new_conn(open);
	local_bh_disable();
	error = fb_wire_open(open);
	local_bh_enable();
	if (error)
		fb_die("connection %u: the network refuses its path: error %d", open->conn, -error);
	fb_shim_open(conn);
	if (conn->datagrams)
		fb_datagram_open(conn);
	else if (open->flags & FB_OPEN_REVERSE)
		fb_open_reverse(conn, open_connection(open->reverse_of));
	else
		fb_connect(conn);
}

/* A message, or what an endless writer has written when it stops, begins at `begin` and ends here. It is written by
 * calls of `part` bytes. */
static void add_message(struct fb_conn *conn, u64 begin, u64 part)
{
	struct fb_message *message = kmalloc(sizeof(*message), GFP_KERNEL);

	if (!message)
		fb_die("no memory for a message of connection %u: give the guest more (mem=)", conn->number);
	message->begin = begin;
	message->end = conn->goal;
	message->part = part;
	local_bh_disable();
	list_add_tail(&message->list, &conn->messages);
	if (!conn->unread)
		conn->unread = message;
	if (!conn->unwritten)
		conn->unwritten = message;
	local_bh_enable();
}

void fb_want_write(const struct fb_write *write)
{
	struct fb_conn *conn = open_connection(write->conn);

	if (conn->datagrams || conn->last || conn->endless)
		fb_die("connection %u takes no message: it sends datagrams, has written its last or writes without end", write->conn);
	conn->last = write->flags & FB_WRITE_LAST;
	conn->endless = !write->bytes;
	conn->goal += write->bytes;
	if (write->bytes)
		add_message(conn, conn->goal - write->bytes, write->part);
	fb_tcp_message(conn, write);
	fb_todo(conn, FB_TODO_WRITE);
}

void fb_want_stop(const struct fb_stop *stop)
{
	struct fb_conn *conn = open_connection(stop->conn);
	u64 begin;

	if (!conn->endless)
		return;
	conn->endless = false;
	begin = conn->goal;
	conn->goal = conn->written;
	if (conn->goal)
		add_message(conn, begin, conn->goal - begin);
	fb_tcp_report(conn);
	fb_todo(conn, FB_TODO_WRITE);
}

void fb_want_datagram(const struct fb_datagram *datagram)
{
	struct fb_conn *conn = open_connection(datagram->conn);

	if (!conn->datagrams)
		fb_die("connection %u sends no datagrams", datagram->conn);
	fb_datagram_send(conn, datagram);
}
