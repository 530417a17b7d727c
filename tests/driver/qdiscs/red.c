/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED: the core against net/sched/sch_red.c and include/net/red.h, in bytes, without the packet in service. Averages are compared after every
 * arrival. The region of the average is compared by its effects: below the lower threshold no packet is marked, and above the upper one every
 * packet is. Between them the test passes the core's verdict to the kernel as its random number. The argument "gaps" compares how often each marks at a
 * constant average.
 *
 * Stated differences:
 * - The kernel's average is a whole number of bytes / 2^Wlog: it is up to one byte above the exact one.
 * - After idle time the kernel takes the average's loss from a table of powers of two, and takes up to half of it away within half a cell of
 *   the table. The core computes it (Floyd and Jacobson 1993, section 4). The kernel starts from the core's average then.
 * - Gaps between marks are uniform from 1 to 1/p in the kernel (red_mark_probability) and from 1 to 1/p - 1 in the core, which follows the
 *   publication.
 */
#include "kernel.h"
#include <net/red.h>
#include "sch_red.slices.h"
#include "lockstep.h"
#include "red_steps.h"

static struct red_sched_data qdisc_state;
static struct Qdisc child, qdisc = { .priv = &qdisc_state };
static struct fb_list waiting;
static fb_u64 idle_since;

static u64 kernel_random(void)
{
	return fb_next(&draws);
}

static fb_u32 setup(void)
{
	u32 low = 1500 + (u32)fb_below(&draws, 30000), high = low + 16 + (u32)fb_below(&draws, 60000);
	struct setting settings[RED_SETTINGS];
	fb_u64 random[4] = { fb_next(&draws), fb_next(&draws), fb_next(&draws), fb_next(&draws) };

	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	memset(&child, 0, sizeof(child));
	memset(&waiting, 0, sizeof(waiting));
	parms = &qdisc_state.parms;
	vars = &qdisc_state.vars;
	qdisc_state.flags = TC_RED_ECN | (draw_red(low, high, true, settings) ? TC_RED_HARDDROP : 0);
	child.limit = high + (u32)fb_below(&draws, 100000);
	qdisc_state.qdisc = &child;
	core = NEW_QUEUE(core, "red", settings, 8000000000 / byte_ns, random);
	red_state(core, &law);
	idle_since = 0;
	return 1000;
}

static void pass_time(void)
{
}

static void push_both(struct packet *p)
{
	const fb_u32 on_wire = serving ? serving->core.wire : 0;
	const struct fb_state port = { .now = now_ps(),
				       .queue = { child.q.qlen + !!serving, child.qstats.backlog + on_wire },
				       .limit = { FB_NONE, child.limit + on_wire },
				       .memory = FB_NEVER,
				       .serving = on_wire,
				       .idle_since = idle_since };
	const double before = *law.average;
	const int verdict = fb_queue_arrive(core, &port, &p->core);

	lead(before, child.qstats.backlog, verdict == FB_MARK || verdict == FB_DROP + FB_EARLY);
	red_enqueue(&p->skb, &qdisc, NULL);
	compare_averages();
	p->marked = verdict == FB_MARK;
	p->dropped = verdict >= FB_DROP;
	if (!p->dropped)
		fb_append(&waiting, &p->core);
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb = red_dequeue(&qdisc);
	struct fb_queued *packet = fb_take_first(&waiting);

	if (skb != (packet ? &((struct packet *)packet)->skb : NULL))
		fail("another packet leaves");
	/* The port became idle with its last transmission, also if a packet has been dropped since. */
	if (!packet && serving)
		idle_since = now_ps();
	return (struct packet *)packet;
}

/* The mean gap between marks of packets that meet this average. */
static void compare_gaps(double share)
{
	const unsigned long packets_in_all = 4000000;
	const double average = law_min + share * (law_max - law_min), p = *law.p_max * share;
	const unsigned long scaled = (unsigned long)(average * (double)(1 << qdisc_state.parms.Wlog));
	unsigned long kernel_marks = 0, core_marks = 0;
	double kernel_gap, core_gap;

	qdisc_state.vars.qcount = -1;
	*law.count = -1;
	*law.average = average;
	for (unsigned long i = 0; i < packets_in_all; i++) {
		kernel_marks += red_action(&qdisc_state.parms, &qdisc_state.vars, scaled) == RED_PROB_MARK;
		core_marks += red_marks(core);
	}
	kernel_gap = (double)packets_in_all / (double)kernel_marks;
	core_gap = (double)packets_in_all / (double)core_marks;
	printf("p %.4f: a mark every %.3f packets by the kernel, every %.3f by the core\n", p, kernel_gap, core_gap);
	if (fabs(kernel_gap / (0.5 / p + 0.5) - 1.0) > 0.02 || fabs(core_gap / (0.5 / p) - 1.0) > 0.02)
		fail("1/(2 p) + 1/2 and 1/(2 p) are expected");
}

static void finish(void)
{
	say_regions();
	if (mode && !strcmp(mode, "gaps")) {
		draws = fb_stream(42, (fb_u64[]){ 0 }, 1);
		setup();
		*law.p_max = 0.1;
		red_set_parms(&qdisc_state.parms, (u32)law_min, (u32)law_max, qdisc_state.parms.Wlog, 0, qdisc_state.parms.Scell_log, NULL,
			      (u32)(0.1 * 4294967296.0));
		compare_gaps(0.05);
		compare_gaps(0.5);
		compare_gaps(0.95);
	}
}
