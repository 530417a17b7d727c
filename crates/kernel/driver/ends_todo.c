// SPDX-License-Identifier: GPL-2.0
/* Pending work of processes and of the program outside at the current instant. */
#include <linux/wait.h>
#include "clock.h"
#include "control.h"
#include "ends.h"

/* In the order in which processes were woken. */
static LIST_HEAD(todo);
static LIST_HEAD(todo_listeners);
static DECLARE_WAIT_QUEUE_HEAD(woken);
static bool wake;   /* the time of the last FB_NEXT has come */
static bool events; /* there are events that the program outside does not know of */

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

void fb_wake(void)
{
	wake = true;
	wake_up(&woken);
}

bool fb_asks(void)
{
	return wake || events;
}

void fb_asked(void)
{
	wake = false;
	events = false;
}

void fb_wait(void)
{
	wait_event(woken, wake || events || !list_empty(&todo) || !list_empty(&todo_listeners));
}

bool fb_take_work(struct fb_work *work)
{
	*work = (struct fb_work){};
	local_bh_disable();
	work->listener = list_first_entry_or_null(&todo_listeners, struct fb_listener, todo);
	if (work->listener) {
		list_del(&work->listener->todo);
		work->listener->waiting = false;
	} else {
		work->conn = list_first_entry_or_null(&todo, struct fb_conn, todo);
	}
	if (work->conn) {
		list_del(&work->conn->todo);
		work->what = work->conn->work;
		work->conn->work = 0;
	}
	local_bh_enable();
	return work->listener || work->conn;
}
