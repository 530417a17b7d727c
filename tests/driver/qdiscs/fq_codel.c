/* SPDX-License-Identifier: GPL-2.0 */
/*
 * FQ-CoDel: the core against net/sched/sch_fq_codel.c.
 *
 * Stated difference, beside those of codel.c:
 * - The kernel's limit on memory has no counterpart, and is out of reach here.
 */
#define OWN_RECIPROCAL_SCALE
#include "kernel.h"
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/codel_qdisc.h>

struct fq_codel_sched_data;

/* No filters: the hash decides. */
static unsigned int fq_codel_hash(const struct fq_codel_sched_data *q, struct sk_buff *skb);

static unsigned int fq_codel_classify(struct sk_buff *skb, struct Qdisc *sch, int *qerr)
{
	return fq_codel_hash(qdisc_priv(sch), skb) + 1;
}

#include "sch_fq_codel.slices.h"
#include "lockstep.h"
#include "codel_steps.h"

#define FLOWS 64

struct totals {
	fb_u64 packets, bytes, seed;
};

void fq_codel_totals(struct fb_queue *queue, struct totals *totals);

static struct fb_queue *core;
static struct fq_codel_flow flows[FLOWS];
static u32 backlogs[FLOWS];
static struct fq_codel_sched_data qdisc_state;
static struct Qdisc qdisc = { .priv = &qdisc_state };

/* Counts grow by drops too, so that no bound holds for the kernel's root. */
static void check_step(double count, double exact, double step)
{
}

static u64 kernel_random(void)
{
	return fb_next(&draws);
}

static fb_u32 setup(void)
{
	struct setting settings[CODEL_SETTINGS + 4];
	fb_u64 random[4] = { fb_next(&draws), fb_next(&draws), fb_next(&draws), fb_next(&draws) };
	/* A power of two, so that both take the same bits of a hash. */
	u32 count = 1 << fb_below(&draws, 7);
	size_t n;

	memset(flows, 0, sizeof(flows));
	memset(backlogs, 0, sizeof(backlogs));
	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	codel_params_init(&qdisc_state.cparams);
	n = draw_codel(&qdisc_state.cparams, settings);
	qdisc.limit = 1 + (u32)fb_below(&draws, 200);
	qdisc.handle = 1;
	qdisc_state.flows = flows;
	qdisc_state.backlogs = backlogs;
	qdisc_state.flows_cnt = count;
	qdisc_state.quantum = 1 + (u32)fb_below(&draws, 3000);
	qdisc_state.drop_batch_size = 1 + (u32)fb_below(&draws, 70);
	qdisc_state.memory_limit = UINT_MAX;
	INIT_LIST_HEAD(&qdisc_state.new_flows);
	INIT_LIST_HEAD(&qdisc_state.old_flows);
	for (u32 i = 0; i < count; i++)
		INIT_LIST_HEAD(&flows[i].flowchain);
	settings[n++] = (struct setting){ "limit", qdisc.limit };
	settings[n++] = (struct setting){ "quantum", qdisc_state.quantum };
	settings[n++] = (struct setting){ "drop-batch", qdisc_state.drop_batch_size };
	settings[n++] = (struct setting){ "flows", count };
	core = new_queue(core, "fq-codel", settings, n, 8000000000, random);
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
	struct totals totals;
	struct fb_state port = { .now = now_ps(), .limit = { FB_NONE, FB_NEVER }, .memory = FB_NEVER };

	fq_codel_totals(core, &totals);
	port.queue.packets = (fb_u32)totals.packets;
	port.queue.bytes = totals.bytes;
	p->skb.hash = fb_mix(p->core.flow ^ totals.seed) >> 32;
	begin_steps();
	fq_codel_enqueue(&p->skb, &qdisc, NULL);
	fb_queue_push(core, &port, &p->core, &effects);
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb;
	struct fb_queued *packet;
	struct totals totals;

	for (u32 i = 0; i < qdisc_state.flows_cnt; i++)
		avoid_tie(core, i, &flows[i].cvars, qdisc_state.cparams.interval);
	begin_steps();
	skb = fq_codel_dequeue(&qdisc);
	packet = fb_queue_pop(core, now_ps(), &effects);
	if (skb != (packet ? &((struct packet *)packet)->skb : NULL))
		fail("another packet leaves");
	for (u32 i = 0; i < qdisc_state.flows_cnt; i++)
		compare_laws(core, i, &flows[i].cvars);
	fq_codel_totals(core, &totals);
	if (totals.packets != qdisc.q.qlen || totals.bytes != qdisc.qstats.backlog)
		fail("%llu packets of the core, %u of the kernel", totals.packets, qdisc.q.qlen);
	return (struct packet *)packet;
}
