// SPDX-License-Identifier: GPL-2.0
/*
 * The network in the kernel: a timer for its next event, and conversion of socket buffers to packets. The timer expires at the first nanosecond
 * at or after the picosecond of an event, so no event is early.
 */
#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/version.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

#include "clock.h"
#include "control.h"
#include "device.h"
#include "ends.h"
#include "flow_hash.h"
#include "network.h"
#include "proboscis.h"
#include "setup.h"
#include "transmit.h"
#include "wire.h"

static struct hrtimer timer;
static const struct fb_wire_hosts *hosts;
static u64 wake = FB_NEVER;
static u64 ticks = FB_NEVER; /* when hosts want to be called */
static u64 armed = FB_NEVER; /* when the timer will go off */
static bool running; /* the network is being run: what is sent meanwhile needs no timer yet */
static u64 late_events, late_max;

/* Sets the timer to what comes next. */
static void arm(void)
{
	u64 next = min3(fb_net_next(), wake, ticks);

	if (running || next >= armed)
		return;
	armed = next;
	hrtimer_start(&timer, ns_to_ktime(fb_clock_ns(next)), HRTIMER_MODE_ABS_SOFT);
}

static void note_lateness(u64 due)
{
	u64 now = fb_now();

	if (now < due + 1000)
		return;
	late_events++;
	late_max = max(late_max, now - due);
}

static void run(u64 until, bool deliver)
{
	running = true;
	fb_net_run(until, deliver);
	running = false;
}

static enum hrtimer_restart on_timer(struct hrtimer *unused)
{
	u64 now = fb_now();

	armed = FB_NEVER;
	run(now, true);
	if (ticks <= now) {
		ticks = FB_NEVER;
		hosts->tick(now);
	}
	if (wake <= now) {
		note_lateness(wake);
		wake = FB_NEVER;
		fb_wake();
	}
	arm();
	return HRTIMER_NORESTART;
}

int fb_wire_setup(const struct fb_world *world, const struct fb_port *ports, const struct fb_switch *switches, fb_u32 nswitches)
{
	int error;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer.function = on_timer;
#endif
	error = fb_net_setup(world, ports, switches, nswitches);
	return error ? error : fb_net_list_losses(fb_setup.listed_losses, fb_setup.nlisted_losses);
}

void fb_wire_wake_at(u64 time)
{
	local_bh_disable();
	wake = time;
	arm();
	local_bh_enable();
}

void fb_wire_tick_at(u64 time)
{
	ticks = min(ticks, time);
}

void fb_wire_arm(void)
{
	arm();
}

int fb_wire_open(const struct fb_open *open)
{
	return fb_net_open(open);
}

int fb_wire_link(const struct fb_link *change)
{
	int error;

	fb_wire_settle();
	local_bh_disable();
	error = fb_net_link(change, fb_now());
	arm();
	local_bh_enable();
	if (!error && change->up)
		fb_device_restart(fb_setup.ports[change->port].from);
	return error;
}

int fb_wire_retune(const struct fb_retune *change)
{
	int error;

	fb_wire_settle();
	local_bh_disable();
	error = fb_net_retune(change, fb_now());
	arm();
	local_bh_enable();
	return error;
}

int fb_wire_path(const struct fb_path *path)
{
	return fb_net_path(path);
}

int fb_wire_route(const struct fb_route *route)
{
	return fb_net_route(route);
}

void fb_wire_settle(void)
{
	u64 now = fb_now();

	local_bh_disable();
	if (!running && now) {
		run(now - 1, false);
		arm();
	}
	local_bh_enable();
}

/* All options but timestamps (tcp_options_write). */
u32 fb_sack_bytes(const struct tcphdr *tcp)
{
	const u8 *options = (const u8 *)(tcp + 1);
	u32 bytes = 4 * tcp->doff - sizeof(*tcp);

	return bytes >= TCPOLEN_TSTAMP_ALIGNED && options[2] == TCPOPT_TIMESTAMP ? bytes - TCPOLEN_TSTAMP_ALIGNED : bytes;
}

/* Facts about a packet for records and queues. */
static void describe(struct fb_pkt *p, struct sk_buff *skb, const struct fb_conn *conn)
{
	const struct fb_group *group = &fb_setup.groups[conn->group];
	const struct iphdr *ip = ip_hdr(skb);
	u32 ip_bytes = ntohs(ip->tot_len), headers = 4 * ip->ihl, sack = 0;

	p->seq = p->ack = p->window = p->tcp_flags = p->payload = 0;
	p->queued.ecn = ip->tos & INET_ECN_MASK;
	if (ip->protocol == FB_PROBE) {
		p->seq = ntohl(((const struct tcphdr *)((const void *)ip + headers))->seq);
		p->queued.wire = group->shim[FB_PB_PROBE_SIZE];
		return;
	}
	if (ip->protocol == IPPROTO_TCP) {
		const struct tcphdr *tcp = (const void *)ip + headers;

		headers += 4 * tcp->doff;
		sack = tcp->syn ? 0 : fb_sack_bytes(tcp);
		p->seq = ntohl(tcp->seq);
		p->ack = ntohl(tcp->ack_seq);
		p->window = ntohs(tcp->window);
		p->tcp_flags = ((const u8 *)tcp)[13];
	} else {
		headers += sizeof(struct udphdr);
	}
	p->payload = ip_bytes > headers ? ip_bytes - headers : 0;
	p->queued.wire = conn->leaving ? conn->leaving->wire : p->payload ? p->payload + group->header : group->ack_size + sack;
}

/* Reports the headers of the packet that fb_net_send() sends next. */
static void record_header(const struct sk_buff *skb)
{
	struct fb_header record = { .id = fb_net_packets() };
	int begin = skb_network_offset(skb);

	if (!skb_copy_bits(skb, begin, record.bytes, min_t(int, skb->len - begin, FB_HEADER_BYTES)))
		fb_record(FB_HEADER, &record, sizeof(record));
}

void fb_wire_send(u32 node, struct sk_buff *skb)
{
	const struct fb_conn *conn = fb_conn(skb->mark - 1);
	const struct fb_group *group;
	struct fb_pkt *p = NULL;

	/* A packet without a known connection has no path. */
	if (conn && conn->number < fb_net_connections())
		p = fb_net_packet();
	if (!p) {
		fb_transmitted(skb);
		kfree_skb(skb);
		return;
	}
	fb_wire_settle();
	group = &fb_setup.groups[conn->group];
	p->body = skb;
	p->conn = conn->number;
	p->back = fb_net_is_back(conn->number, node);
	p->path = p->back ? 0 : fb_path_of(skb->hash);
	p->late = group->send_jitter && !p->back ? fb_net_jitter(conn->number, group->send_jitter) : 0;
	describe(p, skb, conn);
	if (group->tag[0] != FB_TAG_NONE)
		p->queued.class_of_service = fb_class_of(conn, p->back, skb, p->payload);
	if (fb_setup.world.records & FB_RECORD_HEADERS)
		record_header(skb);
	fb_net_send(p, fb_now());
	arm();
}

void fb_wire_done(struct fb_done *done)
{
	done->now = fb_now();
	done->events = fb_net_events();
	done->late_events = late_events;
	done->late_max = late_max;
	done->packets = fb_net_packets();
}

/* Callbacks from the network. */

static void on_sent(struct fb_pkt *p, u64 time)
{
	note_lateness(time);
	fb_transmitted(p->body);
	/*
	 * The card is done with it: TCP small queues let the connection's next packets in, and the sender may change its copy again (skb_cloned in
	 * tcp_can_collapse).
	 */
	skb_orphan(p->body);
	if (skb_unclone(p->body, GFP_ATOMIC))
		fb_die("no memory for a packet");
}

static void on_mark(struct fb_pkt *p)
{
	INET_ECN_set_ce(p->body);
}

static void on_drop(struct fb_pkt *p)
{
	fb_transmitted(p->body);
	kfree_skb(p->body);
}

static void on_delivery(struct fb_pkt *p, u64 time)
{
	note_lateness(time);
	hosts->deliver(p->conn, p->back, p->body, time);
}

static const struct fb_net_hosts net_hosts = { .sent = on_sent, .mark = on_mark, .drop = on_drop, .deliver = on_delivery };

void fb_wire_start(const struct fb_wire_hosts *wanted)
{
	hosts = wanted;
	fb_net_start(&net_hosts);
}
