// SPDX-License-Identifier: GPL-2.0
/*
 * PIE (RFC 8033): packets are dropped, or marked, as they arrive, with a probability that a controller sets from the waiting time and its
 * trend. Updates that were due are made up for when the next packet arrives or leaves, as in the crate `queues` (pie.rs). param:
 * 0     target, ps
 * 1     period of the controller, ps
 * 2, 3  alpha and beta, 1/s (reals)
 * 4     burst that passes without a signal, ps
 * 5     whether packets are marked where they can be
 * 6     most probability with which they are (real)
 * 7     derandomised drops (section 5.4)
 * 8     steps from 0.1 on are capped (section 5.5)
 * 9     whether the waiting time comes from the rate at which packets leave (section 5.2), and not from the last packet
 * 10    mean packet, bytes
 */
#include "real.h"
#include "queue.h"

/* RFC 8033 section 5.2: bytes that leave in one measurement, and its weight. */
#define DQ_THRESHOLD 16384
#define DQ_WEIGHT 0.25
/* The resolution of the random numbers, 2^-53: a probability that decays is 0 below it. */
#define NEGLIGIBLE (1.0 / 9007199254740992.0)

struct pie {
	fb_u64 target, period, burst, mean_packet;
	double alpha, beta, mark_up_to;
	bool ecn, derandomize, cap, from_rate;
	struct fb_list backlog;
	fb_u64 bytes;
	struct fb_random random;
	double probability;
	double accumulated; /* probabilities since the last signal */
	fb_u64 allowance;   /* how long packets pass without a signal, ps */
	fb_u64 next_update;
	fb_u64 old_delay;    /* waiting time at the last update */
	fb_u64 last_sojourn; /* of the packet that left last */
	bool measuring;
	fb_u64 measured_since, measured_bytes;
	double average; /* time of DQ_THRESHOLD bytes, ps; 0 before the first measurement */
};

static size_t size(const fb_u64 *param)
{
	return sizeof(struct pie);
}

static void start(void *state, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	struct pie *p = state;

	p->target = param[0];
	p->period = param[1];
	p->alpha = fb_real(param[2]);
	p->beta = fb_real(param[3]);
	p->burst = param[4];
	p->ecn = param[5];
	p->mark_up_to = fb_real(param[6]);
	p->derandomize = param[7];
	p->cap = param[8];
	p->from_rate = param[9];
	p->mean_packet = param[10];
	p->allowance = p->burst;
	p->next_update = p->period;
	for (int i = 0; i < 4; i++)
		p->random.s[i] = random[i];
}

/* RFC 8033 section 4.3: the waiting time as it is now. */
static fb_u64 delay(const struct pie *p)
{
	if (!p->from_rate)
		return p->last_sojourn;
	return fb_whole((double)p->bytes * p->average / (double)DQ_THRESHOLD);
}

/* RFC 8033 section 4.2: the smaller the probability, the smaller the steps. */
static double scale(double p)
{
	if (p < 0.000001)
		return 2048.0;
	if (p < 0.00001)
		return 512.0;
	if (p < 0.0001)
		return 128.0;
	if (p < 0.001)
		return 32.0;
	if (p < 0.01)
		return 8.0;
	return p < 0.1 ? 2.0 : 1.0;
}

static double seconds(fb_u64 ps)
{
	return (double)ps * 1e-12;
}

/* RFC 8033 section 4.2: the probability after an update at this delay, if it was `probability` before. */
static double stepped(const struct pie *p, double probability, fb_u64 now)
{
	double error = seconds(now) - seconds(p->target), trend = seconds(now) - seconds(p->old_delay);
	double step = (p->alpha * error + p->beta * trend) / scale(probability);

	if (p->cap && probability >= 0.1 && step > 0.02)
		step = 0.02;
	probability += step;
	if (!now && !p->old_delay) {
		probability *= 0.98;
		if (probability < NEGLIGIBLE)
			return 0.0;
	}
	if (probability < 0.0)
		return 0.0;
	return probability > 1.0 ? 1.0 : probability;
}

/* Whether steps from both probabilities are scaled alike and both have a last bit of the same weight. */
static bool same_segment(double a, double b)
{
	return fb_bits(a) >> 52 == fb_bits(b) >> 52 && scale(a) == scale(b);
}

/* How many more steps of the size of that from `previous` to `p` stay in the segment of both. */
static fb_u64 equal_steps(double previous, double p)
{
	static const double edges[] = { 0.0, 0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0 };
	fb_u64 exponent = fb_bits(p) >> 52, many;
	double low = fb_real(exponent << 52), high = fb_real((exponent + 1) << 52), step = p - previous;
	int range = 0;

	while (range < 6 && edges[range + 1] <= p)
		range++;
	if (edges[range] > low)
		low = edges[range];
	if (edges[range + 1] < high)
		high = edges[range + 1];
	/* The quotient is rounded, and the last step must end within the segment. */
	many = fb_whole(step > 0.0 ? (high - p) / step : (p - low) / -step);
	return many > 2 ? many - 2 : 0;
}

/*
 * `left` updates without a trend: a constant step in one direction, or a decay while nothing waits, until the probability no longer changes.
 * The second of two steps within a segment repeats to the bit, so that many are taken at once: the work has a bound (pie.rs).
 */
static void steps(struct pie *p, fb_u64 left, fb_u64 now)
{
	double probability = p->probability, older = -1.0;

	while (left) {
		double next = stepped(p, probability, now);
		bool constant = now && older >= 0.0 && same_segment(older, probability) && same_segment(probability, next);

		left--;
		if (next == probability)
			break;
		older = probability;
		probability = next;
		if (constant) {
			fb_u64 many = equal_steps(older, probability);

			if (many > left)
				many = left;
			probability += (double)many * (probability - older);
			left -= many;
			older = -1.0;
		}
	}
	p->probability = probability;
}

/* Makes the updates that are due. Between two packets the delay is constant, so that only the first of them has a trend. */
static void catch_up(struct pie *p, fb_u64 now)
{
	fb_u64 due, time, waiting;

	if (p->next_update > now)
		return;
	due = (now - p->next_update) / p->period + 1;
	if (__builtin_mul_overflow(due, p->period, &time))
		time = FB_NEVER;
	if (__builtin_add_overflow(p->next_update, time, &p->next_update))
		p->next_update = FB_NEVER;
	/* Section 4.4. */
	p->allowance -= p->allowance < time ? p->allowance : time;
	waiting = delay(p);
	p->probability = stepped(p, p->probability, waiting);
	p->old_delay = waiting;
	steps(p, due - 1, waiting);
}

/* Whether an arriving packet gets a congestion signal (RFC 8033 section 4.1, drop_early). */
static bool signals(struct pie *p)
{
	fb_u64 half = p->target / 2;

	if (p->probability == 0.0 && delay(p) < half && p->old_delay < half)
		p->allowance = p->burst;
	if (p->allowance)
		return false;
	if ((p->old_delay < half && p->probability < 0.2) || p->bytes <= 2 * p->mean_packet)
		return false;
	if (p->derandomize) {
		/* Section 5.4. */
		p->accumulated = p->probability == 0.0 ? 0.0 : p->accumulated + p->probability;
		if (p->accumulated < 0.85)
			return false;
		if (p->accumulated >= 8.5) {
			p->accumulated = 0.0;
			return true;
		}
	}
	if (fb_unit(&p->random) >= p->probability)
		return false;
	p->accumulated = 0.0;
	return true;
}

static int decide(struct pie *p, const struct fb_state *port, const struct fb_queued *packet)
{
	if (!fb_fits(port, packet->wire)) {
		p->accumulated = 0.0;
		return FB_DROP + FB_OVERFLOW;
	}
	if (!signals(p))
		return FB_ACCEPT;
	/* Section 5.1. */
	return p->ecn && packet->ecn != FB_NOT_ECT && p->probability <= p->mark_up_to ? FB_MARK : FB_DROP + FB_EARLY;
}

static void push(void *state, const struct fb_state *port, struct fb_queued *packet, struct fb_effects *effects)
{
	struct pie *p = state;

	catch_up(p, port->now);
	if (fb_admit(effects, packet, decide(p, port, packet))) {
		p->bytes += packet->wire;
		fb_append(&p->backlog, packet);
	}
}

/* RFC 8033 section 5.2, in the order of appendix B. */
static void measure(struct pie *p, fb_u64 now, fb_u32 wire)
{
	if (p->measuring) {
		p->measured_bytes += wire;
		if (p->measured_bytes >= DQ_THRESHOLD) {
			double time = (double)(now - p->measured_since);

			p->average = p->average == 0.0 ? time : DQ_WEIGHT * time + (1.0 - DQ_WEIGHT) * p->average;
			p->measuring = false;
		}
	}
	if (!p->measuring && p->bytes >= DQ_THRESHOLD) {
		p->measuring = true;
		p->measured_since = now;
		p->measured_bytes = 0;
	}
}

static struct fb_queued *pop(void *state, fb_u64 now, struct fb_effects *effects)
{
	struct pie *p = state;
	struct fb_queued *packet;

	catch_up(p, now);
	packet = fb_take_first(&p->backlog);
	if (!packet)
		return NULL;
	p->bytes -= packet->wire;
	/* An empty queue has no waiting time, whatever the last packet had (Linux, pie_process_dequeue). */
	p->last_sojourn = p->backlog.first ? now - packet->since : 0;
	measure(p, now, packet->wire);
	return packet;
}

const struct fb_queue fb_pie = { .size = size, .start = start, .push = push, .pop = pop };
