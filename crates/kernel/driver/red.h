/* SPDX-License-Identifier: GPL-2.0 */
/* The average queue and the probability that follows from it (Floyd and Jacobson, "Random early detection gateways for congestion avoidance",
 * 1993), as in the crate `queues` (red.rs): RED without a queue, which CHOKe has too. Include real.h before anything else. */
#ifndef FOREBAY_RED_H
#define FOREBAY_RED_H

#include "queue.h"
#include "real.h"

/* Parameters of the law, in this order:
 * 0, 1  thresholds on the average, min and max (reals)
 * 2     whether they are in bytes, and not in packets
 * 3     probability just below max (real)
 * 4     weight of a sample (real)
 * 5     gentle: from max to twice max the probability grows to 1
 * 6     where it is 1, whether packets are dropped that could be marked
 * 7     the count of packets since the last signal: FB_COUNT_...
 * 8     whether the packet in service counts
 * 9     mean packet, bytes
 */
#define FB_RED_PARAMS 10
enum fb_count { FB_COUNT_ON, FB_COUNT_OFF, FB_COUNT_WAIT };

struct fb_red_law {
	double min, max, p_max, weight;
	bool bytes, gentle, drop_above, in_service;
	enum fb_count rule;
	double average; /* without what it has lost in `idle` */
	fb_u64 counted; /* idle time up to here is part of `idle`, or has aged the average: of interest while the port is idle */
	fb_u64 idle;	/* before packets that came since the average was last computed, ps */
	long long count; /* packets since the last signal; -1: not counting */
	double service;	 /* time of a packet of mean size, ps */
	struct fb_random random;
};

static inline void fb_red_start(struct fb_red_law *l, const fb_u64 *param, fb_u64 rate, const fb_u64 *random)
{
	fb_u64 ps_per_byte = (8000000000000u * 65536 + rate / 2) / rate;

	l->min = fb_real(param[0]);
	l->max = fb_real(param[1]);
	l->bytes = param[2];
	l->p_max = fb_real(param[3]);
	l->weight = fb_real(param[4]);
	l->gentle = param[5];
	l->drop_above = param[6];
	l->rule = (enum fb_count)param[7];
	l->in_service = param[8];
	l->service = (double)(fb_u64)((unsigned __int128)param[9] * ps_per_byte >> 16);
	l->count = -1;
	for (int i = 0; i < 4; i++)
		l->random.s[i] = random[i];
}

/* `base` to the power m, for a base in [0, 1]; beyond e^-700 nothing is left of any average. */
static inline double fb_power(double base, double m)
{
	double x;

	if (base < 2.2250738585072014e-308)
		return 0.0;
	x = m * fb_ln(base);
	return x < -700.0 ? 0.0 : fb_exp(x);
}

/* Takes from the average what it loses while the port is idle: as if small packets had arrived at an empty queue. */
static inline void fb_red_age(struct fb_red_law *l)
{
	if (l->idle)
		l->average *= fb_power(1.0 - l->weight, (double)l->idle / l->service);
	l->idle = 0;
}

/* Whether the average is min or more. Idle time only lowers it. */
static inline bool fb_red_reaches_min(struct fb_red_law *l)
{
	if (l->average < l->min)
		return false;
	fb_red_age(l);
	return l->average >= l->min;
}

/* The average after an arrival. */
static inline void fb_red_update(struct fb_red_law *l, const struct fb_state *port)
{
	struct fb_length queue = port->queue;
	double now;

	if (!port->serving) {
		l->idle += port->now - (l->counted > port->idle_since ? l->counted : port->idle_since);
		return;
	}
	fb_red_age(l);
	if (!l->in_service)
		fb_remove(&queue, port->serving);
	now = l->bytes ? (double)queue.bytes : (double)queue.packets;
	l->average = (1.0 - l->weight) * l->average + l->weight * now;
}

/* The probability for this packet, given how many have passed since the last signal. */
static inline double fb_red_spread(const struct fb_red_law *l, double p)
{
	double expected = (double)l->count * p;

	if (l->rule == FB_COUNT_OFF)
		return p;
	if (l->rule == FB_COUNT_ON)
		return expected < 1.0 ? p / (1.0 - expected) : 1.0;
	if (expected < 1.0)
		return 0.0;
	return expected < 2.0 ? p / (2.0 - expected) : 1.0;
}

/* The verdict about the arriving packet. A drop leaves a port idle that was, and the next packet counts its idle time from here on. */
static inline int fb_red_done(struct fb_red_law *l, const struct fb_state *port, int verdict)
{
	if (verdict >= FB_DROP && !port->serving)
		l->counted = port->now;
	return verdict;
}

/* The decision about a packet that fits. */
static inline int fb_red_decide(struct fb_red_law *l, fb_u8 ecn)
{
	double p;

	if (!fb_red_reaches_min(l)) {
		l->count = -1;
		return FB_ACCEPT;
	}
	if (l->average >= (l->gentle ? 2.0 * l->max : l->max)) {
		l->count = 0;
		return l->drop_above ? FB_DROP + FB_EARLY : fb_signal(ecn);
	}
	l->count++;
	if (l->average < l->max)
		p = l->p_max * (l->average - l->min) / (l->max - l->min);
	else
		p = l->p_max + (1.0 - l->p_max) * (l->average - l->max) / l->max;
	if (fb_unit(&l->random) < fb_red_spread(l, p)) {
		l->count = 0;
		return fb_signal(ecn);
	}
	return FB_ACCEPT;
}

#endif
