/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CoDel: the core against net/sched/sch_codel.c and include/net/codel_impl.h.
 *
 * Stated differences:
 * - The kernel approximates 1/sqrt(count) by one Newton step for every count (codel_Newton_step). Here the kernel's steps of drop_next are
 *   written down and the core takes them, so that all other decisions can be compared packet by packet; their distance from the exact ones is bounded below.
 * - The kernel may drop when the time is after first_above_time, RFC 8289 section 5.6 at that time already. The clocks here have steps of
 *   1024 ns, and the core's interval is 1 ps longer than the kernel's.
 */
#define OWN_RECIPROCAL_SCALE
#include "kernel.h"
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>
#include "sch_codel.slices.h"
#include "lockstep.h"
#include "codel_steps.h"

static struct fb_queue *core;
static struct codel_sched_data qdisc_state;
static struct Qdisc qdisc = { .priv = &qdisc_state };

/* Newton's step is never beyond the root; after twelve counts in a row it is within 7 % of it. */
static void check_step(double count, double exact, double step)
{
	static double last, in_a_row;

	in_a_row = count == last + 1.0 ? in_a_row + 1.0 : 0.0;
	last = count;
	if (step > exact + 1.0 || (in_a_row >= 12.0 && step < 0.93 * exact - 2.0))
		fail("a step of %g units at count %g, exactly %g", step, count, exact);
}

static u64 kernel_random(void)
{
	return fb_next(&draws);
}

static fb_u32 setup(void)
{
	struct setting settings[CODEL_SETTINGS];
	size_t count;

	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	codel_params_init(&qdisc_state.params);
	count = draw_codel(&qdisc_state.params, settings);
	qdisc.limit = UINT_MAX;
	core = new_queue(core, "codel", settings, count, 8000000000, NULL);
	return 1 << CODEL_SHIFT;
}

static void pass_time(void)
{
}

static void finish(void)
{
}

static void push_both(struct packet *p)
{
	const struct fb_state port = { .now = now_ps(), .limit = { FB_NONE, FB_NEVER }, .memory = FB_NEVER };

	codel_qdisc_enqueue(&p->skb, &qdisc, NULL);
	fb_queue_push(core, &port, &p->core, &effects);
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb;
	struct fb_queued *packet;

	avoid_tie(core, 0, &qdisc_state.vars, qdisc_state.params.interval);
	begin_steps();
	skb = codel_qdisc_dequeue(&qdisc);
	packet = fb_queue_pop(core, now_ps(), &effects);
	if (skb != (packet ? &((struct packet *)packet)->skb : NULL))
		fail("another packet leaves");
	compare_laws(core, 0, &qdisc_state.vars);
	return (struct packet *)packet;
}
