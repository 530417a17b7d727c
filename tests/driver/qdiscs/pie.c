/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PIE: the core against net/sched/sch_pie.c. The kernel starts every update and every arrival from the core's state, so that each step is compared
 * separately; with the argument "free" both run independently under overload, and their averages are compared.
 *
 * Stated differences, each of them the kernel's from RFC 8033, which the core follows:
 * - A queue without delay takes 1/64 off the probability, not 2 % (section 4.2), and nothing while packets wait.
 * - Above 250 ms the probability grows by 2 % more in an update.
 * - The probability has no limit at 1: it stops at 256.
 * - The safeguard of a short delay looks at the delay now, and not at that of the last update (section 4.1).
 * - The allowance for bursts is renewed by updates, and not by arrivals, and spent by departures, and not by updates (section 4.4).
 * - A backlog of exactly two packets may lose packets (section 4.1).
 * - A mark that the accumulated probability forces does not end the accumulation (section 5.4).
 * - The drain rate is averaged with a weight of 1/8 (section 5.2): `delay = "rate"` is not compared here.
 */
#include "kernel.h"
#include <net/pie.h>
#include "sch_pie.slices.h"
#include "lockstep.h"

#define TICK_PS 64000
#define ONE 72057594037927936.0 /* 2^56: a probability of 1 in the kernel */

/* State of PIE in Rust. */
struct pie_state {
	double *probability, *accumulated;
	fb_u64 *allowance, *old_delay, *last_sojourn, *bytes, *next_update;
	struct fb_random *random;
};

void pie_state(struct fb_queue *queue, struct pie_state *state);
void pie_update(struct fb_queue *queue, fb_u64 now);

/* Values of the core's state that an update uses, and parameters. */
struct pie {
	double alpha, beta;
	fb_u64 target, mean_packet, last_sojourn, old_delay, bytes;
};

static struct fb_queue *queue;
static struct pie_state core;
static struct pie parameters;
static struct pie_sched_data qdisc_state;
static struct net_device device;
static struct Qdisc qdisc = { .priv = &qdisc_state, .dev = &device };
/* The core's generator before an arrival: the kernel draws the same numbers. */
static struct fb_random shared;
static unsigned long long updates, compared, forced, beyond;

static u64 kernel_random(void)
{
	return fb_next(&shared);
}

static double seconds(fb_u64 ps)
{
	return (double)ps * 1e-12;
}

/* Divisor of steps (RFC 8033 section 4.2). */
static double scale(double probability)
{
	const double limits[] = { 0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1 }, divisors[] = { 2048, 512, 128, 32, 8, 2 };

	for (int i = 0; i < 6; i++)
		if (probability < limits[i])
			return divisors[i];
	return 1.0;
}

static u64 fixed(double probability)
{
	return (u64)(probability * ONE);
}

static u64 ticks(fb_u64 ps)
{
	return ps / TICK_PS;
}

static void begin(u32 alpha, u32 beta, fb_u64 target, fb_u64 period, bool ecn, u32 mtu, u32 limit)
{
	const struct setting settings[] = {
		{ "target", target },	  { "update", period },	 { "alpha", fb_bits(alpha / 16.0) }, { "beta", fb_bits(beta / 16.0) },
		{ "burst", 150000000000 }, { "ecn", ecn },	 { "mark-ecnth", fb_bits(0.1) },     { "derandomize", 1 },
		{ "cap", 1 },		  { "mean-packet", mtu },
	};
	fb_u64 random[4] = { fb_next(&draws), fb_next(&draws), fb_next(&draws), fb_next(&draws) };

	memset(&qdisc_state, 0, sizeof(qdisc_state));
	memset(&qdisc.q, 0, sizeof(qdisc.q));
	memset(&qdisc.qstats, 0, sizeof(qdisc.qstats));
	pie_params_init(&qdisc_state.params);
	pie_vars_init(&qdisc_state.vars);
	qdisc_state.params.target = ticks(target);
	qdisc_state.params.alpha = alpha;
	qdisc_state.params.beta = beta;
	qdisc_state.params.ecn = ecn;
	device.mtu = mtu;
	qdisc.limit = limit;
	parameters = (struct pie){ .alpha = alpha / 16.0, .beta = beta / 16.0, .target = target, .mean_packet = mtu };
	queue = NEW_QUEUE(queue, "pie", settings, 8000000000, random);
	pie_state(queue, &core);
}

static fb_u32 setup(void)
{
	fb_u64 target = 2 * (1 + fb_below(&draws, 250000)) * TICK_PS, period = (1000 + fb_below(&draws, 500000)) * TICK_PS;

	/* The limits of tc and of pie_params: whole sixteenths. */
	begin(1 + (u32)fb_below(&draws, 32), 1 + (u32)fb_below(&draws, 32), target, period, fb_below(&draws, 2), 64 + (u32)fb_below(&draws, 3000),
	      100 + (u32)fb_below(&draws, 2000));
	return 64;
}

/* Another state of the controller: every step starts from the core's, so that any will do. */
static void draw_state(void)
{
	(*core.probability) = fb_unit(&draws);
	for (fb_u64 decades = fb_below(&draws, 3 + 6 * (sequence % 2)); decades; decades--)
		(*core.probability) /= 10.0;
	(*core.accumulated) = fb_unit(&draws) * (fb_below(&draws, 3) ? 1.0 : 9.0);
	(*core.allowance) = fb_below(&draws, 3) ? 0 : fb_below(&draws, 2000000) * TICK_PS;
	if (fb_below(&draws, 2))
		(*core.old_delay) = parameters.target / TICK_PS * fb_below(&draws, 3) * TICK_PS / 2 / TICK_PS * TICK_PS;
}

static void share_state(void)
{
	struct pie_vars *vars = &qdisc_state.vars;

	vars->prob = fixed((*core.probability));
	vars->accu_prob = fixed((*core.accumulated));
	vars->qdelay = ticks((*core.last_sojourn));
	vars->qdelay_old = ticks((*core.old_delay));
}

/* The probability that the kernel has after an update, where it differs from the core's by the stated amounts; negative: not known. */
static double stated(const struct pie *was, double after)
{
	if (!was->last_sojourn && !was->old_delay)
		return was->bytes ? after / 0.98 : after / 0.98 * 63.0 / 64.0;
	if (was->last_sojourn > 250000000000)
		return after > 0.0 && after < 1.0 ? after + 0.02 : -1.0;
	return after;
}

static void compare_update(void)
{
	const double before = (*core.probability);
	struct pie was = parameters;
	double expected, got, size, tolerance;

	was.last_sojourn = (*core.last_sojourn);
	was.old_delay = (*core.old_delay);
	was.bytes = (*core.bytes);
	share_state();
	pie_calculate_probability(&qdisc_state.params, &qdisc_state.vars, (u32)(*core.bytes));
	got = (double)qdisc_state.vars.prob / ONE;
	size = (was.alpha * (seconds(was.last_sojourn) + seconds(was.target)) + was.beta * (seconds(was.last_sojourn) + seconds(was.old_delay))) /
	       scale(before);
	/* The kernel's alpha and beta are whole numbers from 140737 on, and its probability has 56 bits. */
	tolerance = size / 100000.0 + 4.0 / ONE;
	pie_update(queue, (*core.next_update));
	updates++;
	expected = stated(&was, (*core.probability));
	if (qdisc_state.vars.qdelay_old != ticks((*core.old_delay)))
		fail("delay %llu at the last update of the kernel, %llu of the core", qdisc_state.vars.qdelay_old, ticks((*core.old_delay)));
	if ((*core.probability) == 1.0) {
		beyond += got > 1.0 + tolerance;
		if (got < 1.0 - tolerance)
			fail("probability %g of the kernel, 1 of the core, %g before", got, before);
	} else if (expected >= 0.0) {
		compared++;
		if (got < expected - tolerance || got > expected + tolerance)
			fail("probability %.17g of the kernel, %.17g expected, %.17g before, delays %llu %llu, target %llu", got, expected,
			     before, was.last_sojourn, was.old_delay, was.target);
	}
}

static void pass_time(void)
{
	while ((*core.next_update) <= now_ps())
		compare_update();
}

static void push_both(struct packet *p)
{
	const fb_u64 half = parameters.target / 2;
	const struct fb_state port = {
		.now = now_ps(), .queue = { qdisc.q.qlen, (*core.bytes) }, .limit = { qdisc.limit, FB_NEVER }, .memory = FB_NEVER
	};
	const bool tie = (*core.bytes) == 2 * parameters.mean_packet;
	bool renewed;
	double accumulated;

	if (!fb_below(&draws, 10))
		draw_state();
	renewed = (*core.probability) == 0.0 && (*core.last_sojourn) < half && (*core.old_delay) < half;
	accumulated = (*core.accumulated) + (*core.probability);
	share_state();
	shared = *core.random;
	qdisc_state.vars.qdelay = ticks((*core.old_delay));
	qdisc_state.vars.burst_time = renewed || (*core.allowance);
	qdisc.qstats.backlog -= tie;
	pie_qdisc_enqueue(&p->skb, &qdisc, NULL);
	qdisc.qstats.backlog += tie;
	fb_queue_push(queue, &port, &p->core, &effects);
	if (memcmp(&shared, core.random, sizeof(shared)))
		fail("other random numbers are drawn");
	if (p->marked && accumulated > 8.5 - 1e-12)
		forced++;
	else if (fabs((double)qdisc_state.vars.accu_prob / ONE - (*core.accumulated)) > 1e-12)
		fail("accumulated %g by the core, %g by the kernel", (*core.accumulated), (double)qdisc_state.vars.accu_prob / ONE);
}

static struct packet *pop_both(void)
{
	struct sk_buff *skb = pie_qdisc_dequeue(&qdisc);
	struct fb_queued *packet = fb_queue_pop(queue, now_ps(), &effects);

	if (skb != (packet ? &((struct packet *)packet)->skb : NULL))
		fail("another packet leaves");
	if (packet && qdisc_state.vars.qdelay != ticks((*core.last_sojourn)))
		fail("delay %llu of the kernel, %llu of the core", qdisc_state.vars.qdelay, ticks((*core.last_sojourn)));
	if (qdisc.qstats.backlog != (*core.bytes))
		fail("backlog %u of the kernel, %llu of the core", qdisc.qstats.backlog, (*core.bytes));
	return (struct packet *)packet;
}

/* The mean of the probability and of the delay at departures, ms, over the second half of a time. */
struct means {
	double probability, delay;
};

/* Packets of 1500 bytes that take 120 us each arrive every `gap` ns for `time` ns, at the core alone or at the kernel alone. */
static struct means overloaded(bool kernel, u64 gap, u64 time)
{
	static struct packet ring[PACKETS];
	const u64 transmission = 120000, period = 15000000;
	struct means sum = { 0.0, 0.0 };
	u64 arrival = 0, departure = 0, update = period, samples = 0;
	u32 number = 0;

	begin(2, 20, 15000000000, period * 1000, false, 1500, PACKETS / 2);
	shared = *core.random;
	while (arrival < time) {
		bool waits = kernel ? qdisc.q.qlen : (*core.bytes);

		if (update <= arrival && (!waits || update <= departure)) {
			kernel_now = update;
			update += period;
			if (kernel)
				pie_calculate_probability(&qdisc_state.params, &qdisc_state.vars, qdisc.qstats.backlog);
			else
				pie_update(queue, now_ps());
		} else if (waits && departure <= arrival) {
			kernel_now = departure;
			departure += transmission;
			if (kernel)
				pie_qdisc_dequeue(&qdisc);
			else
				fb_queue_pop(queue, now_ps(), &effects);
			if (kernel_now >= time / 2) {
				samples++;
				sum.delay += kernel ? (double)PSCHED_TICKS2NS(qdisc_state.vars.qdelay) * 1e-6 : (double)(*core.last_sojourn) * 1e-9;
				sum.probability += kernel ? (double)qdisc_state.vars.prob / ONE : (*core.probability);
			}
		} else {
			struct packet *p = &ring[number++ % PACKETS];
			const struct fb_state port = { .now = arrival * 1000,
						       .queue = { (fb_u32)((*core.bytes) / 1500), (*core.bytes) },
						       .limit = { qdisc.limit, FB_NEVER },
						       .memory = FB_NEVER };

			kernel_now = arrival;
			memset(p, 0, sizeof(*p));
			p->core.wire = p->skb.len = 1500;
			p->core.since = now_ps();
			if (!waits && departure < arrival)
				departure = arrival;
			if (kernel)
				pie_qdisc_enqueue(&p->skb, &qdisc, NULL);
			else
				fb_queue_push(queue, &port, &p->core, &effects);
			arrival += gap;
		}
	}
	sum.probability /= (double)samples;
	sum.delay /= (double)samples;
	return sum;
}

static void compare_overloaded(void)
{
	const u64 gaps[] = { 110000, 96000, 80000, 60000 };

	for (int i = 0; i < 4; i++) {
		struct means kernel = overloaded(true, gaps[i], 100000000000), own = overloaded(false, gaps[i], 100000000000);

		printf("gap %llu ns: probability %.4f of the kernel, %.4f of the core; delay %.3f and %.3f ms\n", (unsigned long long)gaps[i],
		       kernel.probability, own.probability, kernel.delay, own.delay);
		if (fabs(kernel.probability - own.probability) > 0.01 || fabs(kernel.delay - own.delay) > 0.5)
			fail("the averages differ");
	}
}

static void finish(void)
{
	printf("%llu updates, %llu of them compared, %llu beyond 1, %llu forced marks\n", updates, compared, beyond, forced);
	if (mode && !strcmp(mode, "free"))
		compare_overloaded();
}

double noted_root(double count)
{
	return sqrt(count);
}
