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
#include "real.h"
#include "queue_choke.c"

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

static _Alignas(struct choke) char memory[sizeof(struct choke) + sizeof(struct fb_queued *) + sizeof(fb_u32)];
static struct choke *const core = (struct choke *)memory;
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
	fb_u64 param[FB_RED_PARAMS + 3], random[4] = { fb_next(&draws), fb_next(&draws), fb_next(&draws), fb_next(&draws) };

	memset(memory, 0, sizeof(memory));
	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	memset(places, 0, sizeof(places));
	law = &core->law;
	parms = &qdisc_state.parms;
	vars = &qdisc_state.vars;
	qdisc_state.flags = TC_RED_ECN | (draw_red(low, high, false, param) ? TC_RED_HARDDROP : 0);
	qdisc_state.limit = PACKETS;
	qdisc_state.tab = places;
	qdisc_state.tab_mask = PLACES - 1;
	param[FB_RED_PARAMS] = 1;
	param[FB_RED_PARAMS + 1] = FB_MATCH_ALL;
	param[FB_RED_PARAMS + 2] = true;
	start(core, param, 8000000000 / byte_ns, random);
	idle_since = 0;
	return 1000;
}

static void pass_time(void)
{
}

/* The packet that the core would draw now. */
static struct sk_buff *next_sample(void)
{
	struct fb_random copy = core->random;
	struct fb_queued *packet = core->backlog.first;

	if (!packet)
		return NULL;
	for (fb_u64 pick = fb_below(&copy, core->length); pick; pick--)
		packet = packet->next;
	return &((struct packet *)packet)->skb;
}

static void push_both(struct packet *p)
{
	const fb_u32 on_wire = serving ? serving->core.wire : 0;
	const struct fb_state port = { .now = now_ps(),
				       .queue = { core->length + !!serving, qdisc.qstats.backlog + on_wire },
				       .limit = { FB_NONE, FB_NEVER },
				       .memory = FB_NEVER,
				       .serving = on_wire,
				       .idle_since = idle_since };
	const double before = core->law.average;
	const fb_u32 waiting = core->length;
	bool matched;

	p->core.ecn = p->skb.ecn = FB_NOT_ECT;
	p->skb.hash = (u32)p->core.flow;
	sample = next_sample();
	push(core, &port, &p->core, &effects);
	matched = sample && container_of(sample, struct packet, skb)->dropped;
	matches += matched;
	lead(before, waiting, p->dropped && !matched);
	choke_enqueue(&p->skb, &qdisc, NULL);
	compare_averages();
	if (qdisc.q.qlen != core->length)
		fail("%u packets of the kernel, %u of the core", qdisc.q.qlen, core->length);
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb = choke_dequeue(&qdisc);
	struct fb_queued *packet = pop(core, now_ps(), &effects);

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
