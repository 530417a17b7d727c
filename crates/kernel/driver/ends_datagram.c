// SPDX-License-Identifier: GPL-2.0
/* Flows of datagrams (UDP). They have no state: the delivery of a datagram is reported when the packet reaches the host. */
#include <linux/net.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/sock.h>
#include "control.h"
#include "ends.h"

void fb_datagram_open(struct fb_conn *conn)
{
	if (!fb_connect(conn))
		return;
	if (fb_setup.groups[conn->group].flags & FB_GROUP_ECN)
		ip_sock_set_tos(conn->sender->sk, INET_ECN_ECT_0);
	conn->established = true;
	fb_event(conn->number, FB_ESTABLISHED, 0);
}

void fb_datagram_send(struct fb_conn *conn, const struct fb_datagram *datagram)
{
	int sent;

	if (!conn->sender)
		return;
	conn->leaving = datagram; /* the stack hands its packet to the device before sendmsg returns */
	sent = fb_send_bytes(conn->sender, datagram->payload);
	conn->leaving = NULL;
	if (sent == -EMSGSIZE)
		fb_die("connection %u: a datagram of %u bytes is longer than the largest packet", conn->number, datagram->payload);
}

void fb_datagram_read(struct fb_listener *listener)
{
	struct kvec nowhere = { .iov_base = NULL, .iov_len = 0 };
	struct msghdr message;

	do {
		message = (struct msghdr){};
	} while (kernel_recvmsg(listener->socket, &message, &nowhere, 1, 0, MSG_TRUNC | MSG_DONTWAIT) >= 0);
}
