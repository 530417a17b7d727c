// SPDX-License-Identifier: GPL-2.0
/* Classes of service of packets that leave a host: their position in the messages of their connection, for the rules in tag.h. */
#include <net/tcp.h>
#include "ends.h"
#include "tag.h"

/* The message of the byte at `offset`, or for a FIN alone the last one; of what is acknowledged there is none. */
static bool message_of(const struct fb_conn *conn, u64 una, struct fb_segment *s)
{
	const struct fb_message *message, *found = NULL;

	if (conn->endless && s->offset >= conn->goal) {
		s->begin = conn->goal;
		s->end = FB_NEVER / 4;
		return true;
	}
	list_for_each_entry(message, &conn->messages, list) {
		if (message->begin > s->offset)
			break;
		found = message;
	}
	if (!found || found->end <= una)
		return false;
	s->begin = found->begin;
	s->end = found->end;
	return true;
}

u32 fb_class_of(const struct fb_conn *conn, bool back, const struct sk_buff *skb, u32 payload)
{
	const u64 *tag = fb_setup.groups[conn->group].tag;
	const struct tcphdr *tcp = tcp_hdr(skb);
	const struct tcp_sock *tp;
	struct fb_segment s;
	u64 una;

	if (back)
		return fb_tag_answers(tag);
	/* Before the handshake is over there is no stream, and after the last FIN none any more. */
	if (!conn->sender || ip_hdr(skb)->protocol != IPPROTO_TCP || (!payload && !tcp->fin))
		return fb_tag_control(tag);
	tp = tcp_sk(conn->sender->sk);
	if (!tp->bytes_acked)
		return fb_tag_control(tag);
	/* The SYN counts as a byte that was acknowledged (tcp_snd_una_update). */
	una = tp->bytes_acked - 1;
	s.offset = una + (s64)(s32)(ntohl(tcp->seq) - tp->snd_una);
	/* snd_nxt moves on after the segment has been handed to the interface (tcp_event_new_data_sent). */
	s.high = una + (tp->snd_nxt - tp->snd_una);
	s.again = before(ntohl(tcp->seq), tp->snd_nxt);
	s.mss = tp->mss_cache;
	return message_of(conn, una, &s) ? fb_tag_data(tag, &s) : fb_tag_control(tag);
}
