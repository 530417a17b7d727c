/* SPDX-License-Identifier: GPL-2.0 */
/* Common interface to the cores of all congestion controls, for tests: one set of events. */
#ifndef FOREBAY_CORES_TEST_H
#define FOREBAY_CORES_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include "../driver/random.h"
#include "d2tcp/d2tcp_core.h"
#include "l2dct/l2dct_core.h"
#include "prin/prin_core.h"
#include "rns/rns_core.h"
#include "trim/trim_probe.h"

enum cc { RNS, DCTCP, L2DCT, D2TCP, TRIM, PRIN };

struct sequence {
	cc_u32 cc;
	cc_u32 events;
	cc_u64 seed; /* of the congestion control's random numbers */
	cc_u32 nxt;  /* sequence number of the first byte */
	cc_u32 pad;
	cc_u64 param[24];
};

enum kind { ACK, LOSS, RECOVERED, TIMEOUT, MESSAGE, SEND, STACK, ESTABLISHED };

/* Additional effects of an ACK. */
enum { ADVANCES = 1, CUTS = 2, RECOVERING = 4 };

struct event {
	cc_u32 kind;
	cc_u32 flags;
	struct cc_ack ack;
	/* MESSAGE: sequence numbers of its first byte and behind it, deadline. STACK: the window. SEND: bytes that would leave. */
	cc_u32 from;
	cc_u32 to;
	cc_u64 time; /* deadline, or the last transmission */
	cc_u32 flight;
	cc_u32 unsent;
};

struct outcome {
	cc_u32 cwnd;
	cc_u32 ssthresh;
	cc_u64 due;
	cc_u32 more; /* alpha, K, or segments that may leave */
	cc_u32 k;
};

static struct {
	enum cc cc;
	struct cc_window w;
	union {
		struct dctcp_params dctcp;
		struct l2dct_params l2dct;
		struct d2tcp_params d2tcp;
		struct trim_params trim;
		struct prin_params prin;
	} p;
	union {
		struct dctcp dctcp;
		struct l2dct l2dct;
		struct d2tcp d2tcp;
		struct trim trim;
		struct prin prin;
	} s;
	struct cc_ack last;
	struct fb_random random;
	cc_u64 drawn;
	int waiting; /* `drawn` has not been used */
} c;

static void begin(const struct sequence *q)
{
	const cc_u64 *param = q->param + 2;

	c.cc = q->cc;
	c.w = (struct cc_window){ .cwnd = 10, .ssthresh = CC_NO_THRESHOLD };
	c.random = fb_stream(q->seed, (fb_u64[]){ 0 }, 1);
	c.waiting = 0;
	c.s.d2tcp.count = 0;
	switch (c.cc) {
	case DCTCP:
		dctcp_read(&c.p.dctcp, param);
		dctcp_init(&c.s.dctcp, &c.p.dctcp, q->nxt, 0, 0);
		break;
	case L2DCT:
		l2dct_read(&c.p.l2dct, param);
		l2dct_init(&c.s.l2dct, &c.p.l2dct, q->nxt, 0, 0);
		break;
	case D2TCP:
		d2tcp_read(&c.p.d2tcp, param);
		d2tcp_init(&c.s.d2tcp, &c.p.d2tcp, q->nxt, 0, 0);
		break;
	case TRIM:
		trim_read(&c.p.trim, param);
		trim_init(&c.s.trim, &c.p.trim);
		break;
	case PRIN:
		prin_read(&c.p.prin, param);
		c.s.prin.count = 0;
		break;
	case RNS:
		break;
	}
}

static cc_u32 threshold(enum cc_trigger trigger)
{
	cc_u32 cwnd = c.w.cwnd;

	c.w.counted = 0;
	switch (c.cc) {
	case DCTCP:
		return dctcp_ssthresh(&c.s.dctcp, &c.p.dctcp, cwnd, trigger);
	case L2DCT:
		return l2dct_ssthresh(&c.s.l2dct, &c.p.l2dct, cwnd, trigger);
	case D2TCP:
		return d2tcp_ssthresh(&c.s.d2tcp, &c.p.d2tcp, cwnd, trigger, &c.last);
	case TRIM:
		return trim_ssthresh(&c.s.trim, cwnd, trigger);
	case PRIN:
		return cc_halve(cwnd);
	case RNS:
		break;
	}
	return rns_ssthresh(cwnd);
}

static void grow(const struct cc_ack *a)
{
	switch (c.cc) {
	case DCTCP:
		dctcp_grow(&c.p.dctcp, &c.w, a);
		break;
	case L2DCT:
		l2dct_grow(&c.s.l2dct, &c.p.l2dct, &c.w, a->acked);
		break;
	case D2TCP:
		dctcp_grow(&c.p.d2tcp.marks, &c.w, a);
		break;
	case TRIM:
		trim_grow(&c.s.trim, &c.p.trim, &c.w, a->acked);
		break;
	case PRIN:
		cc_reno(&c.w, a->acked);
		break;
	case RNS:
		rns_grow(&c.w, a->acked);
		break;
	}
}

static void on_ack(const struct event *e)
{
	const struct cc_ack *a = &e->ack;

	c.last = *a;
	if (c.cc == DCTCP)
		dctcp_ack(&c.s.dctcp, &c.p.dctcp, a);
	else if (c.cc == L2DCT)
		l2dct_ack(&c.s.l2dct, &c.p.l2dct, a);
	else if (c.cc == D2TCP)
		d2tcp_ack(&c.s.d2tcp, &c.p.d2tcp, a);
	else if (c.cc == TRIM)
		trim_sample(&c.s.trim, &c.p.trim, a, e->flags & ADVANCES);
	if (e->flags & CUTS) {
		c.w.ssthresh = threshold(CC_MARK);
		c.w.cwnd = cc_min(c.w.cwnd, c.w.ssthresh);
		if (c.cc == TRIM)
			trim_recovered(&c.s.trim);
	} else if (e->flags & ADVANCES) {
		if (c.cc == TRIM)
			trim_acked(&c.s.trim, &c.p.trim, &c.w, a);
		if (!(e->flags & RECOVERING))
			grow(a);
	}
}

static cc_u32 on_send(const struct event *e)
{
	struct trim_opportunity at = {
		.now = e->ack.now,
		.last_tx = e->time,
		.flight = e->flight,
		.unsent = e->unsent,
		.recovering = e->flags & RECOVERING,
		.mss = e->ack.mss,
	};
	cc_u32 allowed = CC_NONE;

	if (c.cc == PRIN)
		prin_send(&c.s.prin, &c.p.prin, &c.w, e->ack.nxt, e->flight);
	if (c.cc != TRIM)
		return allowed;
	if (!c.waiting)
		c.drawn = fb_next(&c.random);
	c.waiting = 1;
	at.random = c.drawn >> 32;
	allowed = trim_gate(&c.s.trim, &c.p.trim, &c.w, &at);
	if (at.drawn)
		c.waiting = 0;
	if (allowed && e->to != e->from) {
		cc_u32 most = allowed == CC_NONE ? CC_NONE : allowed * at.mss;

		trim_sent(&c.s.trim, e->from, e->from + cc_min(e->to - e->from, most), &at);
	}
	return allowed;
}

static struct outcome on_event(const struct event *e)
{
	struct outcome o = { .due = 0 };

	switch ((enum kind)e->kind) {
	case ACK:
		on_ack(e);
		break;
	case LOSS:
		if (c.cc == TRIM)
			trim_recovery(&c.s.trim);
		c.w.ssthresh = threshold(CC_LOSS);
		c.w.cwnd = c.w.ssthresh;
		break;
	case RECOVERED:
		if (c.cc == TRIM)
			trim_recovered(&c.s.trim);
		break;
	case TIMEOUT:
		c.w.ssthresh = threshold(CC_TIMEOUT);
		c.w.cwnd = 1;
		if (c.cc == TRIM)
			trim_timeout(&c.s.trim);
		break;
	case MESSAGE:
		if (c.cc == D2TCP)
			d2tcp_message(&c.s.d2tcp, e->to, e->time);
		else if (c.cc == PRIN)
			prin_block(&c.s.prin, e->from);
		break;
	case SEND:
		o.more = on_send(e);
		break;
	case STACK:
		c.w.cwnd = e->from;
		break;
	case ESTABLISHED:
		if (c.cc == TRIM)
			trim_established(&c.s.trim, &c.p.trim, e->ack.rtt);
		break;
	}
	o.cwnd = c.w.cwnd;
	o.ssthresh = c.w.ssthresh;
	if (c.cc == DCTCP)
		o.more = c.s.dctcp.alpha;
	else if (c.cc == L2DCT)
		o.more = c.s.l2dct.marks.alpha;
	else if (c.cc == D2TCP)
		o.more = c.s.d2tcp.marks.alpha;
	if (c.cc == TRIM) {
		o.due = c.s.trim.due;
		o.k = c.s.trim.k;
	}
	if (!c.w.cwnd) {
		fprintf(stderr, "law %d left no window\n", c.cc);
		exit(1);
	}
	return o;
}

#endif
