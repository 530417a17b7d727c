// SPDX-License-Identifier: GPL-2.0
/*
 * Main loop of the run. One kernel thread requests commands from the program outside and acts for the processes of all hosts. Its work takes no
 * guest time, so each process acts at the instant at which its socket permits it.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include "clock.h"
#include "control.h"
#include "device.h"
#include "ends.h"
#include "run.h"
#include "script.h"
#include "wire.h"

/* Guest nanoseconds that a clock reading in process context takes (arch/um/kernel/time.c, timer_read). */
extern unsigned int forebay_read_cost;

/* Runs the processes until none has work left at this instant. */
static void work(void)
{
	struct fb_work next;

	while (fb_take_work(&next)) {
		if (next.listener && next.listener->socket->type == SOCK_DGRAM)
			fb_datagram_read(next.listener);
		else if (next.listener)
			fb_tcp_accept(next.listener);
		else
			fb_tcp_work(next.conn, next.what);
	}
}

static void __noreturn quit(void)
{
	struct fb_done done = {};
	u32 i;

	for (i = 0; i < fb_conns(); i++)
		fb_watch_final(fb_conn(i));
	local_bh_disable();
	for (i = 0; i < fb_conns(); i++)
		fb_shim_report(fb_conn(i));
	fb_device_report();
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
		struct fb_retune retune;
		struct fb_route route;
		struct fb_path path;
		struct fb_call call;
		struct fb_inject inject;
		struct fb_next next;
	} wanted;

	local_bh_disable();
	fb_wire_settle();
	now.now = fb_now();
	fb_record(FB_ASK, &now, sizeof(now));
	fb_flush();
	fb_asked();
	local_bh_enable();
	for (;;) {
		fb_read(&frame, sizeof(frame));
		if (frame.kind == FB_NEXT && frame.count == 1) {
			fb_read(&wanted, sizeof(wanted.next));
			if (wanted.next.quit)
				quit();
			local_bh_disable();
			fb_wire_wake_at(wanted.next.wake);
			local_bh_enable();
			return;
		}
		for (; frame.count; frame.count--) {
			switch (frame.kind) {
			case FB_OPEN:
				fb_read(&wanted, sizeof(wanted.open));
				fb_want_open(&wanted.open);
				break;
			case FB_WRITE:
				fb_read(&wanted, sizeof(wanted.write));
				fb_want_write(&wanted.write);
				break;
			case FB_STOP:
				fb_read(&wanted, sizeof(wanted.stop));
				fb_want_stop(&wanted.stop);
				break;
			case FB_DATAGRAM:
				fb_read(&wanted, sizeof(wanted.datagram));
				fb_want_datagram(&wanted.datagram);
				break;
			case FB_LINK:
				fb_read(&wanted, sizeof(wanted.link));
				if (fb_wire_link(&wanted.link))
					fb_die("port %u: its link cannot go down or come back", wanted.link.port);
				break;
			case FB_RETUNE:
				fb_read(&wanted, sizeof(wanted.retune));
				if (fb_wire_retune(&wanted.retune))
					fb_die("port %u: its link cannot change", wanted.retune.port);
				break;
			case FB_PATH:
				fb_read(&wanted, sizeof(wanted.path));
				if (fb_wire_path(&wanted.path))
					fb_die("connection %u: the network refuses a path", wanted.path.conn);
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
 * Waits for an instant that is the same in every run, whatever the boot took. It is the first one more than 4 s after boot at which the count of
 * jiffies is a multiple of 4096. Timers of the stack then fall into the same slots of the timer wheel, whose width grows with their distance.
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
	static const struct fb_wire_hosts hosts = { .deliver = fb_deliver, .tick = fb_tick };
	u64 start_ns;

	fb_table_init();
	fb_tcp_init();
	fb_shim_init();
	forebay_read_cost = 0;
	start_ns = start();
	local_bh_disable();
	fb_clock_start(start_ns);
	fb_device_start();
	fb_wire_start(&hosts);
	fb_wire_wake_at(0);
	local_bh_enable();
	for (;;) {
		fb_wait();
		work();
		while (fb_asks()) {
			ask();
			work();
		}
	}
}
