// SPDX-License-Identifier: GPL-2.0
/* Messages of connections: notifications of congestion controls, and reports when messages have been read and acknowledged. */
#include <linux/slab.h>
#include <net/tcp.h>
#include "ends.h"

void __weak forebay_cc_message(struct sock *sk, u64 bytes, u64 deadline)
{
}

void fb_tcp_message(struct fb_conn *conn, const struct fb_write *write)
{
	if (!conn->sender)
		return;
	local_bh_disable();
	forebay_cc_message(conn->sender->sk, write->bytes, write->deadline);
	local_bh_enable();
}

u64 fb_tcp_acked(const struct fb_conn *conn)
{
	u64 acked;

	if (!conn->sender)
		return conn->acked;
	/* Counts SYN and FIN as bytes (tcp_snd_una_update), but the SYN of a SYN-ACK not (tcp_create_openreq_child). */
	acked = tcp_sk(conn->sender->sk)->bytes_acked + conn->passive;
	return acked ? min(acked - 1, conn->written) : 0;
}

void fb_tcp_report(struct fb_conn *conn)
{
	struct fb_message *message, *next;
	u64 acked;

	local_bh_disable();
	while (conn->unread && conn->unread->end <= conn->delivered) {
		fb_event(conn->number, FB_DELIVERED, conn->unread->end);
		conn->unread = fb_next_message(conn, conn->unread);
	}
	acked = fb_tcp_acked(conn);
	list_for_each_entry_safe(message, next, &conn->messages, list) {
		if (message->end > acked || message == conn->unread || message == conn->unwritten)
			break;
		fb_shim_report(conn);
		fb_event(conn->number, FB_ACKED, message->end);
		list_del(&message->list);
		kfree(message);
	}
	local_bh_enable();
}
