// SPDX-License-Identifier: GPL-2.0
/*
 * Shims between TCP and the interfaces: conversion of socket buffers to the packets of proboscis.h, and the timers of the hosts. As in the
 * simulator (crates/sim/src/shim/endpoint_shims.rs), the timer of a host runs while an endpoint there waits. Each host has its own phase.
 */
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>
#include "clock.h"
#include "control.h"
#include "ends.h"
#include "proboscis.h"
#include "transmit.h"
#include "wire.h"

/* State of a host for a group. */
struct host {
	const struct fb_shim_host *config;
	struct fb_proboscis_host *shim;
	u64 due; /* ps; FB_NEVER: its timer does not run */
	struct list_head senders, receivers; /* that wait, in the order in which they began to */
};

/* State of both ends of a connection, which is one direction of a TCP connection with data in both. */
struct fb_shim_ends {
	const struct fb_conn *conn;
	struct fb_proboscis_ends *shim;
	struct host *at_sender, *at_receiver;
	struct list_head sender_waits, receiver_waits;
	struct sk_buff *syn; /* a copy of the newest one, until it is answered */
	struct fb_shim_row said;
};

/* Direction of the packets that an end of a connection sends. */
struct out {
	struct fb_shim_out out;
	struct fb_shim_ends *ends;
	u32 node;
};

static struct host *hosts;

void fb_shim_init(void)
{
	u32 i;

	hosts = vzalloc(array_size(fb_setup.nshim_hosts, sizeof(*hosts)) + 1);
	if (!hosts)
		fb_die("no memory for shims: give the guest more (mem=)");
	for (i = 0; i < fb_setup.nshim_hosts; i++) {
		hosts[i].config = &fb_setup.shim_hosts[i];
		if (fb_setup.groups[hosts[i].config->group].shim[FB_PB_KIND] == FB_SHIM_PROBOSCIS)
			hosts[i].shim = fb_proboscis_host_new(&fb_setup.groups[hosts[i].config->group].shim[FB_PB_WORDS], hosts[i].config->cost);
		hosts[i].due = FB_NEVER;
		INIT_LIST_HEAD(&hosts[i].senders);
		INIT_LIST_HEAD(&hosts[i].receivers);
	}
}

static struct host *host_of(u32 group, u32 node)
{
	u32 low = 0, high = fb_setup.nshim_hosts;

	while (low < high) {
		u32 middle = (low + high) / 2;
		const struct fb_shim_host *host = &fb_setup.shim_hosts[middle];

		if (host->group == group && host->node == node)
			return &hosts[middle];
		if (host->group < group || (host->group == group && host->node < node))
			low = middle + 1;
		else
			high = middle;
	}
	fb_die("node %u has no shim for group %u", node, group);
}

void fb_shim_open(struct fb_conn *conn)
{
	struct fb_shim_ends *ends;

	if (fb_setup.groups[conn->group].shim[FB_PB_KIND] != FB_SHIM_PROBOSCIS || conn->datagrams)
		return;
	ends = kzalloc(sizeof(*ends), GFP_KERNEL);
	if (!ends)
		fb_die("no memory for the shim of connection %u: give the guest more (mem=)", conn->number);
	ends->conn = conn;
	ends->shim = fb_proboscis_ends_new();
	ends->at_sender = host_of(conn->group, fb_setup.interfaces[conn->src].node);
	ends->at_receiver = host_of(conn->group, fb_setup.interfaces[conn->dst].node);
	INIT_LIST_HEAD(&ends->sender_waits);
	INIT_LIST_HEAD(&ends->receiver_waits);
	ends->said.window = FB_NEVER;
	conn->shim = ends;
}

/* The ends of the other direction of the same TCP connection; NULL: there is none. */
static struct fb_shim_ends *reverse_of(const struct fb_shim_ends *ends)
{
	return ends->conn->reverse ? ends->conn->reverse->shim : NULL;
}

/* Packets. */

static struct tcphdr *tcp_of(const struct sk_buff *skb)
{
	return (void *)ip_hdr(skb) + 4 * ip_hdr(skb)->ihl;
}

/* The scale of windows that a SYN or SYN-ACK announces (RFC 7323 section 2.2); 0: none. */
static u8 scale_of(const struct tcphdr *tcp)
{
	const u8 *option = (const u8 *)(tcp + 1), *end = (const u8 *)tcp + 4 * tcp->doff;

	while (option + 2 < end && option[0] != TCPOPT_EOL) {
		if (option[0] == TCPOPT_NOP) {
			option++;
			continue;
		}
		if (option[0] == TCPOPT_WINDOW)
			return min_t(u8, option[2], TCP_MAX_WSCALE);
		if (option[1] < 2)
			break;
		option += option[1];
	}
	return 0;
}

static struct fb_seen see(struct sk_buff *skb, bool back)
{
	const struct iphdr *ip = ip_hdr(skb);
	const struct tcphdr *tcp = tcp_of(skb);
	struct fb_seen p = { .number = ntohl(back ? tcp->ack_seq : tcp->seq), .ecn = ip->tos & INET_ECN_MASK, .body = skb };

	if (ip->protocol == FB_PROBE) {
		p.batch = ntohs(tcp->urg_ptr) >> 8;
		p.size = ntohs(tcp->urg_ptr);
		return p;
	}
	p.payload = ntohs(ip->tot_len) - 4 * ip->ihl - 4 * tcp->doff;
	p.window = ntohs(tcp->window);
	p.flags = ((const u8 *)tcp)[13];
	p.scale = tcp->syn ? scale_of(tcp) : 0;
	return p;
}

/* Writes into the packet what the shim has changed. */
static void change(struct sk_buff *skb, const struct fb_seen *p)
{
	struct tcphdr *tcp = tcp_of(skb);
	__be16 *flags = (__be16 *)tcp + 6, old = *flags;

	if ((ip_hdr(skb)->tos & INET_ECN_MASK) != p->ecn)
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK, p->ecn);
	if (((const u8 *)tcp)[13] != p->flags) {
		((u8 *)tcp)[13] = p->flags;
		inet_proto_csum_replace2(&tcp->check, skb, old, *flags, false);
	}
	if (ntohs(tcp->window) != p->window) {
		inet_proto_csum_replace2(&tcp->check, skb, tcp->window, htons(p->window), false);
		tcp->window = htons(p->window);
	}
}

/* Of a copy of the packet behind the train. */
static void make_probe(struct sk_buff *skb, const struct fb_seen *p)
{
	struct iphdr *ip = ip_hdr(skb);
	u32 headers = 4 * ip->ihl + 4 * tcp_of(skb)->doff;

	/* Ahead of a restart that is data. */
	if (ntohs(ip->tot_len) > headers) {
		skb_trim(skb, skb_network_offset(skb) + headers);
		ip->tot_len = htons(headers);
	}
	ipv4_change_dsfield(ip, (u8)~INET_ECN_MASK, p->ecn);
	ip->protocol = FB_PROBE;
	ip_send_check(ip);
	tcp_of(skb)->seq = htonl(p->number);
	tcp_of(skb)->urg_ptr = htons(p->batch << 8 | p->size);
}

static void send_answer_train(struct fb_shim_ends *ends, struct sk_buff *syn_ack);

static void send(struct fb_shim_out *to, const struct fb_seen *p)
{
	struct out *out = container_of(to, struct out, out);
	struct sk_buff *skb = p->body;

	if (!p->size && skb != out->ends->syn)
		send_answer_train(out->ends, skb);
	/* A SYN-ACK that was held goes itself, of a SYN a copy, and of the packet behind a probe. */
	if (skb == out->ends->syn || p->size) {
		skb = fb_copy(skb);
		if (!skb)
			return;
	}
	if (p->size) {
		make_probe(skb, p);
		/* Ahead of a SYN-ACK it belongs to the direction that the SYN-ACK opens by the way. */
		skb->mark = out->ends->conn->number + 1;
	} else {
		change(skb, p);
	}
	fb_wire_send(out->node, skb);
}

static void discard(struct fb_shim_out *to, const struct fb_seen *p)
{
	consume_skb(p->body);
}

static struct out out_of(struct fb_shim_ends *ends, const struct host *host)
{
	return (struct out){ .out = { .send = send, .discard = discard }, .ends = ends, .node = host->config->node };
}

/* A SYN-ACK leaves: the data of its host, in the other direction, has a train ahead of it. */
static void send_answer_train(struct fb_shim_ends *ends, struct sk_buff *syn_ack)
{
	struct fb_shim_ends *answers = reverse_of(ends);
	struct fb_seen p = see(syn_ack, true);
	struct out out;
	u32 isn;

	if (!answers)
		return;
	isn = ntohl(tcp_of(syn_ack)->seq);
	out = out_of(answers, answers->at_sender);
	fb_sender_answers(answers->shim, &isn);
	fb_receiver_answers(answers->shim, &isn);
	fb_sender_handshake_egress(answers->shim, answers->at_sender->shim, fb_now(), &p, &out.out);
}

/* Timers. */

/* The next tick of a host whose timer does not run. */
static void start_timer(struct host *host, u64 now)
{
	u64 period = fb_setup.groups[host->config->group].shim[FB_PB_TICK];

	if (host->due != FB_NEVER)
		return;
	host->due = now + period - (now + period - host->config->phase) % period;
	fb_wire_tick_at(host->due);
	fb_wire_arm();
}

/* An end that waits now gets into its host's list. */
static void watch(struct fb_shim_ends *ends)
{
	if (fb_sender_waits(ends->shim) && list_empty(&ends->sender_waits)) {
		list_add_tail(&ends->sender_waits, &ends->at_sender->senders);
		start_timer(ends->at_sender, fb_now());
	}
	if (fb_receiver_waits(ends->shim) && list_empty(&ends->receiver_waits)) {
		list_add_tail(&ends->receiver_waits, &ends->at_receiver->receivers);
		start_timer(ends->at_receiver, fb_now());
	}
}

/* The SYN that was kept has been answered or given up. */
static void forget_syn(struct fb_shim_ends *ends)
{
	if (fb_sender_waits(ends->shim) || !ends->syn)
		return;
	kfree_skb(ends->syn);
	ends->syn = NULL;
}

static void tick(struct host *host)
{
	u64 now = host->due;
	struct fb_shim_ends *ends, *next;

	list_for_each_entry_safe(ends, next, &host->senders, sender_waits) {
		struct out out = out_of(ends, host);

		fb_sender_tick(ends->shim, host->shim, now, &out.out);
		forget_syn(ends);
		if (!fb_sender_waits(ends->shim))
			list_del_init(&ends->sender_waits);
	}
	list_for_each_entry_safe(ends, next, &host->receivers, receiver_waits) {
		struct out out = out_of(ends, host);

		fb_receiver_tick(ends->shim, host->shim, now, &out.out);
		if (!fb_receiver_waits(ends->shim))
			list_del_init(&ends->receiver_waits);
	}
	host->due = FB_NEVER;
	if (!list_empty(&host->senders) || !list_empty(&host->receivers))
		start_timer(host, now);
}

void fb_shim_tick(u64 now)
{
	u32 i;

	for (i = 0; i < fb_setup.nshim_hosts; i++) {
		if (hosts[i].due <= now)
			tick(&hosts[i]);
		fb_wire_tick_at(hosts[i].due);
	}
}

/* Packets from the interfaces. */

/* True if the shim handles the packet: resets and packets that are not TCP pass. */
static bool concerns(const struct sk_buff *skb)
{
	u8 protocol = ip_hdr(skb)->protocol;

	return protocol == FB_PROBE || (protocol == IPPROTO_TCP && !tcp_of(skb)->rst);
}

/* The SYN `p` of the other direction leaves. */
static void note_syn(struct fb_shim_ends *ends, const struct fb_seen *p)
{
	fb_receiver_answers(ends->shim, NULL);
	fb_receiver_handshake_egress(ends->shim, ends->at_receiver->shim, p);
}

void fb_shim_join(const struct fb_conn *conn)
{
	struct fb_shim_ends *opener = conn->reverse->shim;
	struct fb_seen syn;

	if (!conn->shim || !opener->syn)
		return;
	syn = see(opener->syn, false);
	note_syn(conn->shim, &syn);
}

/* The ACK of direction `acked` in a packet of the other one, `p`, leaves. A SYN has none. */
static void pass_carried_ack_down(struct fb_shim_ends *acked, struct sk_buff *skb, struct fb_seen *p)
{
	struct out out = out_of(acked, acked->at_receiver);
	struct fb_seen ack = see(skb, true);

	if (p->flags & FB_SEEN_SYN) {
		note_syn(acked, p);
		return;
	}
	fb_receiver_egress(acked->shim, acked->at_receiver->shim, fb_now(), &ack, &out.out);
	p->flags = ack.flags;
	p->window = ack.window;
}

/* The ACK of direction `acked` in a packet of the other one, `p`, has arrived. */
static void pass_carried_ack_up(struct fb_shim_ends *acked, struct sk_buff *skb, struct fb_seen *p)
{
	struct fb_seen ack = see(skb, true);

	if (p->flags & FB_SEEN_SYN) {
		fb_sender_answers(acked->shim, NULL);
		fb_sender_handshake_ingress(acked->shim, acked->at_sender->shim, fb_now(), p);
		return;
	}
	fb_sender_ingress(acked->shim, acked->at_sender->shim, fb_now(), &ack);
	p->flags = ack.flags;
	p->window = ack.window;
}

void fb_shim_send(struct fb_conn *conn, u32 node, struct sk_buff *skb)
{
	struct fb_shim_ends *ends = conn->shim;
	bool back, goes = true;
	struct fb_seen p;
	struct out out;

	if (!ends && fb_setup.groups[conn->group].shim[FB_PB_KIND] == FB_SHIM_MISBEHAVING) {
		fb_misbehave(conn, node, skb);
		return;
	}
	if (!ends || !concerns(skb)) {
		fb_wire_send(node, skb);
		return;
	}
	back = node == ends->at_receiver->config->node;
	out = out_of(ends, back ? ends->at_receiver : ends->at_sender);
	p = see(skb, back);
	if (back) {
		goes = fb_receiver_egress(ends->shim, ends->at_receiver->shim, fb_now(), &p, &out.out);
		if (goes && p.flags & FB_SEEN_SYN)
			send_answer_train(ends, skb);
	} else {
		if (p.flags & FB_SEEN_SYN) {
			kfree_skb(ends->syn);
			ends->syn = fb_copy(skb);
			if (!ends->syn)
				fb_die("no memory for the shim of connection %u: give the guest more (mem=)", conn->number);
			p.body = ends->syn;
		}
		fb_sender_egress(ends->shim, ends->at_sender->shim, fb_now(), &p, &out.out);
		forget_syn(ends);
		if (reverse_of(ends))
			pass_carried_ack_down(reverse_of(ends), skb, &p);
	}
	if (goes) {
		change(skb, &p);
		fb_wire_send(node, skb);
	} else {
		/* The card has taken it. */
		fb_transmitted(skb);
		skb_orphan(skb);
	}
	watch(ends);
}

bool fb_shim_arrives(struct fb_conn *conn, bool back, struct sk_buff *skb)
{
	struct fb_shim_ends *ends = conn->shim;
	struct fb_seen p;
	bool passes = true;

	if (!concerns(skb))
		return true;
	p = see(skb, back);
	if (back) {
		fb_sender_ingress(ends->shim, ends->at_sender->shim, fb_now(), &p);
		forget_syn(ends);
		if (p.flags & FB_SEEN_SYN && reverse_of(ends))
			fb_receiver_handshake_ingress(reverse_of(ends)->shim, reverse_of(ends)->at_receiver->shim, fb_now(), &p);
	} else {
		struct out out = out_of(ends, ends->at_receiver);

		passes = fb_receiver_ingress(ends->shim, ends->at_receiver->shim, fb_now(), &p, &out.out);
		if (passes && reverse_of(ends))
			pass_carried_ack_up(reverse_of(ends), skb, &p);
	}
	if (passes)
		change(skb, &p);
	watch(ends);
	return passes;
}

void fb_shim_report(const struct fb_conn *conn)
{
	struct fb_shim_row row, *said;

	if (!conn->shim)
		return;
	said = &conn->shim->said;
	row = (struct fb_shim_row){ .time = said->time, .conn = conn->number };
	fb_proboscis_results(conn->shim->shim, &row);
	said->conn = conn->number;
	if (!memcmp(&row, said, sizeof(row)))
		return;
	row.time = fb_now();
	*said = row;
	fb_record(FB_SHIM_ROW, &row, sizeof(row));
}
