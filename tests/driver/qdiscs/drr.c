/* SPDX-License-Identifier: GPL-2.0 */
/* Deficit round robin: the core of `dwrr` against net/sched/sch_drr.c, where a class has its quantum at the end of a turn for the next one, and
 * the core at the start of a turn. Quanta go down to one byte: the core skips rounds, and the kernel takes each. */
#include "kernel.h"

struct drr_class;
static struct drr_class *drr_classify(struct sk_buff *skb, struct Qdisc *sch, int *error);

#include "sch_drr.slices.h"
#include "lockstep.h"

#define FB_CLASSES 8

static struct fb_queue *core;
static struct drr_sched qdisc_state;
static struct drr_class classes[FB_CLASSES];
static struct Qdisc children[FB_CLASSES], qdisc = { .priv = &qdisc_state };
static unsigned long long rounds_of_one;

static struct sk_buff *peek(struct Qdisc *sch)
{
	return sch->q.head;
}

static const struct Qdisc_ops fifo = { .peek = peek };

static struct drr_class *drr_classify(struct sk_buff *skb, struct Qdisc *sch, int *error)
{
	return &classes[skb->priority];
}

static u64 kernel_random(void)
{
	return fb_next(&draws);
}

static fb_u32 setup(void)
{
	struct setting settings[3 + 2 * FB_CLASSES] = { { "queues", FB_CLASSES }, { "overflow", 1 } };
	const fb_u32 quantum = 1 + ((fb_u32)fb_below(&draws, 3000) >> fb_below(&draws, 12));

	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(classes, 0, sizeof(classes));
	memset(children, 0, sizeof(children));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	INIT_LIST_HEAD(&qdisc_state.active);
	for (fb_u64 q = 0; q < FB_CLASSES; q++) {
		const fb_u64 weight = 1 + fb_below(&draws, 9);

		settings[2 + 2 * q] = (struct setting){ "map", q };
		settings[3 + 2 * q] = (struct setting){ "weights", weight };
		INIT_LIST_HEAD(&classes[q].alist);
		children[q].limit = UINT_MAX;
		children[q].ops = &fifo;
		classes[q].qdisc = &children[q];
		classes[q].quantum = quantum * weight;
	}
	settings[2 + 2 * FB_CLASSES] = (struct setting){ "quantum", quantum };
	rounds_of_one += quantum < 10;
	core = NEW_QUEUE(core, "dwrr", settings, 8000000000, NULL);
	return 1;
}

static void pass_time(void)
{
}

static void push_both(struct packet *p)
{
	const struct fb_state port = { .now = now_ps(), .limit = { FB_NONE, FB_NEVER }, .memory = FB_NEVER };

	p->core.class_of_service = p->skb.priority = (u32)fb_below(&draws, FB_CLASSES);
	drr_enqueue(&p->skb, &qdisc, NULL);
	fb_queue_push(core, &port, &p->core, &effects);
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb = drr_dequeue(&qdisc);
	struct fb_queued *packet = fb_queue_pop(core, now_ps(), &effects);

	if (skb != (packet ? &((struct packet *)packet)->skb : NULL))
		fail("another packet leaves");
	return (struct packet *)packet;
}

static void finish(void)
{
	printf("%llu sequences with quanta below 10 bytes\n", rounds_of_one);
}

double noted_root(double count)
{
	return sqrt(count);
}
