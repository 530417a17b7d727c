// SPDX-License-Identifier: GPL-2.0
/*
 * The run: connections, what the program outside wants of them, and what a process on each host does. There is one kernel thread for the
 * processes of all hosts; since its work takes no guest time, each of them acts at the instant at which its socket lets it.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include "ends.h"

/* Connections stand in blocks, which are never moved. */
#define BLOCK 1024
#define BLOCKS 65536

/* Guest nanoseconds that a clock reading in process context takes (arch/um/kernel/time.c, timer_read). */
extern unsigned int forebay_read_cost;

static struct fb_conn **blocks;
static u32 conns;

/* What processes have to do at this instant, in the order in which they were woken. */
static LIST_HEAD(todo);
static LIST_HEAD(todo_listeners);
static DECLARE_WAIT_QUEUE_HEAD(woken);
static bool wake;   /* the time of the last FB_NEXT has come */
static bool events; /* there are events that the program outside does not know of */

struct fb_conn *fb_conn(u32 number)
{
	return number < conns ? &blocks[number / BLOCK][number % BLOCK] : NULL;
}

const struct fb_group *fb_group_of(fb_u32 conn)
{
	return &fb_setup.groups[fb_conn(conn)->group];
}

void fb_todo(struct fb_conn *conn, u8 work)
{
	local_bh_disable();
	if (!conn->work)
		list_add_tail(&conn->todo, &todo);
	conn->work |= work;
	local_bh_enable();
	wake_up(&woken);
}

void fb_todo_listener(struct fb_listener *listener)
{
	local_bh_disable();
	if (!listener->waiting)
		list_add_tail(&listener->todo, &todo_listeners);
	listener->waiting = true;
	local_bh_enable();
	wake_up(&woken);
}

void fb_event(u32 conn, enum fb_event_kind kind, u64 bytes)
{
	struct fb_event event = { .time = fb_now(), .conn = conn, .kind = kind, .bytes = bytes };

	fb_record(FB_EVENT, &event, sizeof(event));
	fb_ask_now();
}

void fb_ask_now(void)
{
	events = true;
	wake_up(&woken);
}

void fb_ends_wake(void)
{
	wake = true;
	wake_up(&woken);
}

/* What processes do, until none has anything left to do at this instant. */
static void work(void)
{
	for (;;) {
		struct fb_listener *listener;
		struct fb_conn *conn;
		u8 what = 0;

		local_bh_disable();
		listener = list_first_entry_or_null(&todo_listeners, struct fb_listener, todo);
		conn = list_first_entry_or_null(&todo, struct fb_conn, todo);
		if (listener) {
			list_del(&listener->todo);
			listener->waiting = false;
		} else if (conn) {
			list_del(&conn->todo);
			what = conn->work;
			conn->work = 0;
		}
		local_bh_enable();
		if (!listener && !conn)
			return;
		if (listener && listener->socket->type == SOCK_DGRAM)
			fb_datagram_read(listener);
		else if (listener)
			fb_tcp_accept(listener);
		else
			fb_tcp_work(conn, what);
	}
}

static void open_conn(const struct fb_open *open)
{
	struct fb_conn *conn;
	int error;

	if (open->conn != conns || open->group >= fb_setup.world.groups || open->src >= fb_setup.world.interfaces ||
	    open->dst >= fb_setup.world.interfaces || open->forth_len - 1 >= FB_HOPS || open->back_len - 1 >= FB_HOPS)
		fb_die("connection %u: not the next number (%u), or a group, interface or path that does not exist", open->conn, conns);
	if (!fb_device(open->src) || !fb_device(open->dst))
		fb_die("connection %u: interface %u or %u was never attached", open->conn, open->src, open->dst);
	if (conns / BLOCK == BLOCKS)
		fb_die("more than %u connections", BLOCK * BLOCKS);
	if (!blocks[conns / BLOCK])
		blocks[conns / BLOCK] = vzalloc(BLOCK * sizeof(struct fb_conn));
	if (!blocks[conns / BLOCK])
		fb_die("no memory for connection %u: give the guest more (mem=)", open->conn);
	conns++;
	conn = fb_conn(open->conn);
	conn->number = open->conn;
	conn->group = open->group;
	conn->src = open->src;
	conn->dst = open->dst;
	conn->datagrams = open->flags & FB_OPEN_DATAGRAMS;
	INIT_LIST_HEAD(&conn->messages);
	local_bh_disable();
	error = fb_wire_open(open);
	local_bh_enable();
	if (error)
		fb_die("connection %u: the network refuses its path: error %d", open->conn, -error);
	fb_shim_open(conn);
	if (conn->datagrams)
		fb_datagram_open(conn);
	else
		fb_connect(conn);
}

static struct fb_conn *open_connection(u32 number)
{
	struct fb_conn *conn = fb_conn(number);

	if (!conn)
		fb_die("connection %u is not open", number);
	return conn;
}

/* A message, or what an endless writer has written when it stops, begins at `begin` and ends here. */
static void add_message(struct fb_conn *conn, u64 begin)
{
	struct fb_message *message = kmalloc(sizeof(*message), GFP_KERNEL);

	if (!message)
		fb_die("no memory for a message of connection %u: give the guest more (mem=)", conn->number);
	message->begin = begin;
	message->end = conn->goal;
	local_bh_disable();
	list_add_tail(&message->list, &conn->messages);
	if (!conn->unread)
		conn->unread = message;
	if (!conn->unwritten)
		conn->unwritten = message;
	local_bh_enable();
}

static void write_conn(const struct fb_write *write)
{
	struct fb_conn *conn = open_connection(write->conn);

	if (conn->datagrams || conn->last || conn->endless)
		fb_die("connection %u takes no message: it sends datagrams, has written its last or writes without end", write->conn);
	conn->last = write->flags & FB_WRITE_LAST;
	conn->endless = !write->bytes;
	conn->goal += write->bytes;
	if (write->bytes)
		add_message(conn, conn->goal - write->bytes);
	fb_tcp_message(conn, write);
	fb_todo(conn, FB_TODO_WRITE);
}

static void stop_conn(const struct fb_stop *stop)
{
	struct fb_conn *conn = open_connection(stop->conn);
	u64 begin;

	if (!conn->endless)
		return;
	conn->endless = false;
	begin = conn->goal;
	conn->goal = conn->written;
	if (conn->goal)
		add_message(conn, begin);
	fb_tcp_report(conn);
	fb_todo(conn, FB_TODO_WRITE);
}

static void send_datagram(const struct fb_datagram *datagram)
{
	struct fb_conn *conn = open_connection(datagram->conn);

	if (!conn->datagrams)
		fb_die("connection %u sends no datagrams", datagram->conn);
	fb_datagram_send(conn, datagram);
}

static void __noreturn quit(void)
{
	struct fb_done done = {};
	u32 i;

	for (i = 0; i < conns; i++)
		fb_watch_final(fb_conn(i));
	local_bh_disable();
	for (i = 0; i < conns; i++)
		fb_shim_report(fb_conn(i));
	fb_wire_done(&done);
	fb_record(FB_DONE, &done, sizeof(done));
	fb_flush();
	fb_power_off(0);
}

/* Tells what has happened and does what is wanted. */
static void ask(void)
{
	struct fb_ask now;
	struct fb_frame frame;
	union {
		struct fb_open open;
		struct fb_write write;
		struct fb_stop stop;
		struct fb_datagram datagram;
		struct fb_link link;
		struct fb_route route;
		struct fb_call call;
		struct fb_inject inject;
		struct fb_next next;
	} wanted;

	local_bh_disable();
	fb_wire_settle();
	now.now = fb_now();
	fb_record(FB_ASK, &now, sizeof(now));
	fb_flush();
	wake = false;
	events = false;
	local_bh_enable();
	for (;;) {
		fb_read(&frame, sizeof(frame));
		if (frame.kind == FB_NEXT && frame.count == 1) {
			fb_read(&wanted, sizeof(wanted.next));
			if (wanted.next.quit)
				quit();
			local_bh_disable();
			fb_wake_at(wanted.next.wake);
			local_bh_enable();
			return;
		}
		for (; frame.count; frame.count--) {
			switch (frame.kind) {
			case FB_OPEN:
				fb_read(&wanted, sizeof(wanted.open));
				open_conn(&wanted.open);
				break;
			case FB_WRITE:
				fb_read(&wanted, sizeof(wanted.write));
				write_conn(&wanted.write);
				break;
			case FB_STOP:
				fb_read(&wanted, sizeof(wanted.stop));
				stop_conn(&wanted.stop);
				break;
			case FB_DATAGRAM:
				fb_read(&wanted, sizeof(wanted.datagram));
				send_datagram(&wanted.datagram);
				break;
			case FB_LINK:
				fb_read(&wanted, sizeof(wanted.link));
				if (fb_wire_link(&wanted.link))
					fb_die("port %u: its link cannot go down or come back", wanted.link.port);
				break;
			case FB_ROUTE:
				fb_read(&wanted, sizeof(wanted.route));
				if (fb_wire_route(&wanted.route))
					fb_die("connection %u: the network refuses its new path", wanted.route.conn);
				break;
			case FB_CALL:
				fb_read(&wanted, sizeof(wanted.call));
				fb_script_call(&wanted.call);
				break;
			case FB_INJECT:
				fb_read(&wanted, sizeof(wanted.inject));
				fb_script_inject(&wanted.inject);
				break;
			default:
				fb_die("frame of kind %u with %u records in an answer", frame.kind, frame.count);
			}
		}
	}
}

/*
 * Waits for an instant that is the same in every run, whatever the boot took: the first at which the count of jiffies is a multiple of 4096
 * (so that timers of the stack fall into the same slots of the timer wheel, whose width grows with their distance) more than 4 s after boot.
 */
static u64 start(void)
{
	unsigned long at = round_up(INITIAL_JIFFIES + 4 * HZ, 4096);

	while (time_after_eq(jiffies + 8, at))
		at += 4096;
	/* A timer's slot is at most an eighth of its distance late: comes nearer and nearer. */
	while (time_before(jiffies + 8, at))
		schedule_timeout_uninterruptible(max_t(long, (long)(at - 8 - jiffies) / 2, 1));
	return (ktime_get_ns() / TICK_NSEC + at - jiffies) * TICK_NSEC;
}

void fb_run(void)
{
	u64 start_ns;

	blocks = vzalloc(BLOCKS * sizeof(*blocks));
	if (!blocks)
		fb_die("no memory for connections: give the guest more (mem=)");
	fb_tcp_init();
	fb_shim_init();
	forebay_read_cost = 0;
	start_ns = start();
	local_bh_disable();
	fb_wire_start(start_ns);
	fb_wake_at(0);
	local_bh_enable();
	for (;;) {
		wait_event(woken, wake || events || !list_empty(&todo) || !list_empty(&todo_listeners));
		work();
		while (wake || events) {
			ask();
			work();
		}
	}
}
