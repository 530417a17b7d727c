/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CHOKe with one sample: the core against net/sched/sch_choke.c, in packets. The kernel draws the packet that the core draws; RED is compared
 * as in red.c, with the same differences.
 *
 * Stated differences:
 * - Packets of one flow that meet are dropped by the kernel although they could be marked; the core marks them (the publication has no ECN).
 *   No packet here can be marked.
 * - The kernel compares a packet that does not fit with a sample, too. No queue is full here.
 */
#include "kernel.h"
#include <net/red.h>

/* A flow is known by the hash of its packets. */
struct choke_skb_cb {
	u8 keys_valid;
};

static struct choke_skb_cb *choke_skb_cb(const struct sk_buff *skb)
{
	return (struct choke_skb_cb *)qdisc_skb_cb(skb)->data;
}

static bool choke_match_flow(struct sk_buff *one, struct sk_buff *other)
{
	return one->hash == other->hash;
}

static u32 get_random_u32_below(u32 limit);

#include "sch_choke.slices.h"
#include "lockstep.h"
#include "red_steps.h"

/* A power of two beyond all packets of a sequence. */
#define PLACES (2 * PACKETS)

struct fb_queued *choke_sample(struct fb_queue *queue);
size_t queue_packets(struct fb_queue *queue);

static struct choke_sched_data qdisc_state;
static struct sk_buff *places[PLACES];
static struct Qdisc qdisc = { .priv = &qdisc_state };
static struct sk_buff *sample; /* that the core draws */
static fb_u64 idle_since;
static unsigned long long matches;

static u64 kernel_random(void)
{
	return fb_next(&draws);
}

/* Distance of the core's sample from the head of the kernel's queue. */
static u32 get_random_u32_below(u32 limit)
{
	for (u32 place = 0; place < limit; place++)
		if (places[(qdisc_state.head + place) & qdisc_state.tab_mask] == sample)
			return place;
	fail("the kernel draws a packet, and the core has drawn none of its queue");
	return 0;
}

static fb_u32 setup(void)
{
	u32 low = 5 + (u32)fb_below(&draws, 60), high = low + 16 + (u32)fb_below(&draws, 100);
	struct setting settings[RED_SETTINGS];
	fb_u64 random[4] = { fb_next(&draws), fb_next(&draws), fb_next(&draws), fb_next(&draws) };

	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	memset(places, 0, sizeof(places));
	parms = &qdisc_state.parms;
	vars = &qdisc_state.vars;
	qdisc_state.flags = TC_RED_ECN | (draw_red(low, high, false, settings) ? TC_RED_HARDDROP : 0);
	qdisc_state.limit = PACKETS;
	qdisc_state.tab = places;
	qdisc_state.tab_mask = PLACES - 1;
	core = new_queue(core, "choke", settings, RED_SETTINGS, 8000000000 / byte_ns, random);
	red_state(core, &law);
	idle_since = 0;
	return 1000;
}

static void pass_time(void)
{
}

/* The packet that the core would draw now. */
static struct sk_buff *next_sample(void)
{
	struct fb_queued *packet = choke_sample(core);

	if (!packet)
		return NULL;
	return &((struct packet *)packet)->skb;
}

static void push_both(struct packet *p)
{
	const fb_u32 on_wire = serving ? serving->core.wire : 0;
	const struct fb_state port = { .now = now_ps(),
				       .queue = { (fb_u32)queue_packets(core) + !!serving, qdisc.qstats.backlog + on_wire },
				       .limit = { FB_NONE, FB_NEVER },
				       .memory = FB_NEVER,
				       .serving = on_wire,
				       .idle_since = idle_since };
	const double before = *law.average;
	const fb_u32 waiting = (fb_u32)queue_packets(core);
	bool matched;

	p->core.ecn = p->skb.ecn = FB_NOT_ECT;
	p->skb.hash = (u32)p->core.flow;
	sample = next_sample();
	fb_queue_push(core, &port, &p->core, &effects);
	matched = sample && container_of(sample, struct packet, skb)->dropped;
	matches += matched;
	lead(before, waiting, p->dropped && !matched);
	choke_enqueue(&p->skb, &qdisc, NULL);
	compare_averages();
	if (qdisc.q.qlen != queue_packets(core))
		fail("%u packets of the kernel, %zu of the core", qdisc.q.qlen, queue_packets(core));
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb = choke_dequeue(&qdisc);
	struct fb_queued *packet = fb_queue_pop(core, now_ps(), &effects);

	if (skb != (packet ? &((struct packet *)packet)->skb : NULL))
		fail("another packet leaves");
	if (!packet && serving)
		idle_since = now_ps();
	return (struct packet *)packet;
}

static void finish(void)
{
	say_regions();
	printf("%llu packets met their flow\n", matches);
}
