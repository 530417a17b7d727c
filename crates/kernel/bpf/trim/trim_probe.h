/* SPDX-License-Identifier: GPL-2.0 */
/* TCP-TRIM's episodes: from a gap over waits and probes to the window for the next data (Algorithms 1 and 2, Eq. 1). */
#ifndef FOREBAY_TRIM_PROBE_H
#define FOREBAY_TRIM_PROBE_H

#include "trim_core.h"

/* The sender at a moment when it could send. */
struct trim_opportunity {
	cc_u64 now;	    /* us */
	cc_u64 last_tx;    /* when the last data left, us; TRIM_NEVER before the first */
	cc_u32 flight;	    /* bytes sent and not acknowledged */
	cc_u32 unsent;	    /* bytes written and not sent */
	cc_u32 recovering; /* fast recovery or the repair after a timeout is at work */
	cc_u32 mss;
	cc_u32 random;	    /* uniform bits for a wait */
	cc_u32 drawn;	    /* out: they were used */
};

/* Uniform in [0, most]. */
CC_FN cc_u32 trim_random(struct trim_opportunity *at, cc_u32 most)
{
	at->drawn = 1;
	return (cc_u32)(((cc_u64)at->random * ((cc_u64)most + 1)) >> 32);
}

/* Back to normal; counts as a transmission, or the next segment would find a gap again. */
CC_FN void trim_resume(struct trim *s, cc_u64 now)
{
	trim_discard(s);
	s->resumed = now;
	s->started = 1;
}

CC_FN void trim_wait_before(struct trim *s, struct trim_opportunity *at)
{
	s->state = TRIM_AD_WAIT;
	s->due = at->now + trim_random(at, s->rtt_max);
}

/* Too long since anything was sent? */
CC_FN int trim_gap(const struct trim *s, const struct trim_params *p, const struct trim_opportunity *at)
{
	cc_u64 last = at->last_tx > s->resumed ? at->last_tx : s->resumed;

	if (!s->smooth || at->last_tx == TRIM_NEVER || at->now < last)
		return 0;
	return (at->now - last) << 4 > s->smooth && (p->gap_in_flight || !at->flight);
}

CC_FN void trim_begin(struct trim *s, const struct trim_params *p, struct cc_window *w, struct trim_opportunity *at)
{
	trim_discard(s);
	s->saved = w->cwnd;
	s->state = TRIM_PROBING;
	w->cwnd = cc_max(p->min_cwnd, 1);
	s->fraction = 0;
	if (p->wait_before)
		trim_wait_before(s, at);
}

/* A wait of up to (N - 1) W / C, N senders being estimated from the RTT of the probes, `mean` in us. */
CC_FN void trim_wait_after(struct trim *s, const struct trim_params *p, const struct cc_window *w, struct trim_opportunity *at,
			    cc_u32 mean)
{
	cc_u32 left = (cc_u32)(((cc_u64)at->unsent + at->mss - 1) / cc_max(at->mss, 1));
	cc_u64 others, packets;

	if (!p->packet_ps)
		return;
	/* N - 1 with 16 bits behind the point, from 0 on and below 2^24. */
	others = ((cc_u64)mean * 1000000 << 15) / p->packet_ps;
	others = others > CC_ONE ? others - CC_ONE : 0;
	if (others >> 40)
		others = 1ULL << 40;
	packets = (others * cc_min(cc_min(w->cwnd, left), 1U << 20)) >> 16;
	if (packets >> 20)
		packets = 1ULL << 20;
	s->due = at->now + trim_random(at, cc_clamp(packets * p->packet_ps / 1000000, 0, TRIM_RTT_MAX));
	s->state = TRIM_AS_WAIT;
}

/* The window after probing; `late`: some probe was not acknowledged in time. */
CC_FN void trim_tune(struct trim *s, const struct trim_params *p, struct cc_window *w, struct trim_opportunity *at, int late)
{
	cc_u32 floor = cc_max(p->min_cwnd, 1);
	cc_u32 saved = s->saved;
	cc_u32 least = s->min_rtt;
	cc_u32 mean = s->acked ? s->rtts / s->acked : s->smooth >> 4;

	if (s->acked && !late) {
		/* Eq. 1: the share of the window that 2 - RTT / min RTT leaves. */
		cc_u64 rtt = cc_max(mean, least);
		cc_u64 cwnd = 2 * (cc_u64)least > rtt ? saved * (2 * (cc_u64)least - rtt) / least : 0;

		w->cwnd = cc_clamp(cwnd, floor, CC_NONE);
		if (w->cwnd < saved && p->sets >= TRIM_SETS_ALL)
			w->ssthresh = cc_max(w->cwnd, 2);
	} else {
		w->cwnd = floor;
		if (p->sets >= TRIM_SETS_LATE)
			w->ssthresh = cc_max(saved >> 1, 2);
	}
	s->new_round = 1;
	s->fraction = 0;
	trim_resume(s, at->now);
	if (p->wait_after)
		trim_wait_after(s, p, w, at, mean);
}

/* Number of new segments that may leave now, CC_NONE for as many as the window allows. Begins, continues and ends episodes. */
CC_FN cc_u32 trim_gate(struct trim *s, const struct trim_params *p, struct cc_window *w, struct trim_opportunity *at)
{
	int i;

	at->drawn = 0;
	/* No gap test during recovery. */
	if (at->recovering)
		return CC_NONE;
	/* No wait of 0 is followed by another one, so that these steps are enough. */
	for (i = 0; i < 6; i++) {
		if (s->state == TRIM_NORMAL) {
			if (!at->unsent)
				return CC_NONE;
			if (!s->started) {
				/* The first segment of the connection: no history, so no probes, but with AD a wait. */
				s->started = 1;
				if (p->wait_before && p->wait_at_start && at->last_tx == TRIM_NEVER)
					trim_wait_before(s, at);
			} else if (trim_gap(s, p, at)) {
				trim_begin(s, p, w, at);
			} else {
				return CC_NONE;
			}
		} else if (s->state != TRIM_PROBING) {
			if (at->now < s->due)
				return 0;
			if (s->state == TRIM_AD_WAIT && s->saved) {
				s->state = TRIM_PROBING;
				s->due = TRIM_NEVER;
			} else {
				trim_resume(s, at->now);
			}
		} else if (s->count && s->acked == s->count && (s->count == TRIM_PROBES || !at->unsent)) {
			/* Both probes are acknowledged, or the only one of a short train. */
			trim_tune(s, p, w, at, 0);
		} else if (at->now >= s->due) {
			trim_tune(s, p, w, at, 1);
		} else {
			return TRIM_PROBES - s->count;
		}
	}
	return CC_NONE;
}

/* New data left at the opportunity of the last trim_gate(): sequence numbers `from` to `to`. The first segments of an episode are probes. */
CC_FN void trim_sent(struct trim *s, cc_u32 from, cc_u32 to, const struct trim_opportunity *at)
{
	cc_u32 left = to - from;
	int i;

	if (s->state != TRIM_PROBING)
		return;
	for (i = 0; i < TRIM_PROBES; i++) {
		if (i < s->count || !left)
			continue;
		left -= cc_min(left, at->mss);
		s->acks[i] = to - left;
		s->sent[i] = at->now;
		s->count++;
	}
	/* The timer runs from the time of sending, with the smoothed RTT as it is now; the second probe sets it again. */
	s->due = at->now + (s->smooth >> 4);
}

#endif
