/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP-TRIM: the facts and decisions that its two parts share. While data flows the RTT is kept near a threshold K (Eq. 2, 3 and 26); after a
 * gap two probes decide how much of the old window is used again (Eq. 1, trim_probe.h). Losses are Reno's.
 */
#ifndef FOREBAY_TRIM_CORE_H
#define FOREBAY_TRIM_CORE_H

#include "../cc.h"

/* A time that does not come. */
#define TRIM_NEVER (~(cc_u64)0)
#define TRIM_PROBES 2

/* Position of K in its interval (Eq. 26). */
enum trim_policy { TRIM_K_LOWER, TRIM_K_MID, TRIM_K_UPPER, TRIM_K_EXPLICIT };
/* Frequency of reductions while the RTT is above K. */
enum trim_cuts { TRIM_EVERY_ACK, TRIM_EACH_RTT, TRIM_CAPPED };
/* Reductions that set the slow start threshold, each value including those before it. */
enum trim_sets { TRIM_SETS_NONE, TRIM_SETS_CUT, TRIM_SETS_LATE, TRIM_SETS_ALL };

struct trim_params {
	cc_u64 packet_ps;	/* time of a full packet at the bottleneck; 0: unknown, and then only an explicit K cuts */
	cc_u32 weight;		/* of a new sample in the smoothed RTT, of CC_ONE */
	cc_u32 min_cwnd;	/* segments, 1 or more */
	cc_u32 buffer;		/* time that the bottleneck's full buffer takes to drain, us; CC_NONE: without limit */
	cc_u32 policy;		/* enum trim_policy */
	cc_u32 k;		/* explicit K, us */
	cc_u32 guard;		/* K is at least this much above the RTT of the empty path, us */
	cc_u32 cuts;		/* enum trim_cuts */
	cc_u32 gap_in_flight;	/* a gap counts although something is unacknowledged */
	cc_u32 sets;		/* enum trim_sets */
	cc_u32 additive_only;	/* no slow start */
	cc_u32 seed;		/* RTT of the empty path to start from, us; 0: none */
	cc_u32 handshake;	/* the handshake's RTT is a sample if this is added, us; CC_NONE: it is none */
	cc_u32 wait_before;	/* AD: random wait before probing */
	cc_u32 wait_after;	/* AS: random wait after probing */
	cc_u32 wait_at_start;	/* with AD, also before the first segment of the connection */
};

/*
 * From numbers in the order of the struct. Without `number` there is no K, because C and B are not known to an end host: TRIM only probes
 * after gaps.
 */
CC_FN void trim_read(struct trim_params *p, const cc_u64 *number)
{
	*p = (struct trim_params){
		.weight = CC_ONE / 4,
		.min_cwnd = 2,
		.buffer = CC_NONE,
		.gap_in_flight = 1,
		.sets = TRIM_SETS_ALL,
		.wait_at_start = 1,
	};
	if (!number)
		return;
	p->packet_ps = number[0];
	p->weight = (cc_u32)number[1];
	p->min_cwnd = (cc_u32)number[2];
	p->buffer = (cc_u32)number[3];
	p->policy = (cc_u32)number[4];
	p->k = (cc_u32)number[5];
	p->guard = (cc_u32)number[6];
	p->cuts = (cc_u32)number[7];
	p->gap_in_flight = (cc_u32)number[8];
	p->sets = (cc_u32)number[9];
	p->additive_only = (cc_u32)number[10];
	p->seed = (cc_u32)number[11];
	p->handshake = (cc_u32)number[12];
	p->wait_before = (cc_u32)number[13];
	p->wait_after = (cc_u32)number[14];
	p->wait_at_start = (cc_u32)number[15];
}

enum trim_state { TRIM_NORMAL, TRIM_AD_WAIT, TRIM_PROBING, TRIM_AS_WAIT };

struct trim {
	cc_u64 due;		       /* when the timer of the state runs out, us */
	cc_u64 resumed;	       /* when the last episode ended: counts as a transmission */
	cc_u64 sent[TRIM_PROBES];     /* when the probes left */
	cc_u32 acks[TRIM_PROBES];     /* sequence numbers that acknowledge them */
	cc_u32 smooth;		       /* smoothed RTT, us/16; 0 before the first sample */
	cc_u32 min_rtt;	       /* us; CC_NONE before the first */
	cc_u32 rtt_max;	       /* us */
	cc_u32 k;		       /* us; CC_NONE while unknown */
	cc_u32 saved;		       /* window when the gap was found; 0 for the wait before the first segment */
	cc_u32 rtts;		       /* sum of the RTTs of acknowledged probes, us */
	cc_u32 round_end;
	cc_u32 round_cwnd;
	cc_u16 fraction;	       /* of the window, which cuts leave, of CC_ONE */
	cc_u8 state;		       /* enum trim_state */
	cc_u8 count;		       /* probes sent */
	cc_u8 acked;		       /* and acknowledged */
	cc_u8 started : 1;	       /* the wait at the start of the connection is over, or was not wanted */
	cc_u8 recovering : 1;	       /* in fast recovery */
	cc_u8 may_grow : 1;	       /* the ACK being worked on may enlarge the window */
	cc_u8 new_round : 1;	       /* the next ACK begins a round trip */
};

/* Largest RTT that the arithmetic takes, us (67 s). */
#define TRIM_RTT_MAX ((1U << 26) - 1)

/* K for an RTT of `d` us on the empty path (Eq. 26), us. */
CC_FN cc_u32 trim_threshold(const struct trim_params *p, cc_u32 d)
{
	cc_u64 pipe, distance, packets, lower, upper, k;

	d = cc_min(d, TRIM_RTT_MAX);
	if (p->policy == TRIM_K_EXPLICIT)
		return cc_max(p->k, cc_add(d, p->guard));
	if (!p->packet_ps)
		return CC_NONE;
	/* Packets with 16 bits behind the point, less than 2^24 of them: C D, and (sqrt(2 C D) - 1)^2, which says nothing of less than no flow. */
	pipe = ((cc_u64)d * 1000000 << 16) / p->packet_ps;
	if (pipe >> 40)
		pipe = 1ULL << 40;
	distance = cc_sqrt(pipe << 17);
	distance = distance > CC_ONE ? distance - CC_ONE : 0;
	packets = (distance * distance) >> 16;
	if (packets < pipe)
		packets = pipe;
	lower = ((packets * p->packet_ps) >> 16) / 1000000;
	upper = ((cc_u64)p->buffer + d) / 2;
	/* A small buffer leaves the upper end only, one without limit the lower. */
	if (p->buffer == CC_NONE)
		k = lower;
	else if (lower >= upper || p->policy == TRIM_K_UPPER)
		k = upper;
	else
		k = p->policy == TRIM_K_MID ? (lower + upper) / 2 : lower;
	return cc_clamp(k, cc_add(d, p->guard), CC_NONE);
}

/* Lowers the estimate of the RTT without queueing, and K with it; it never rises. */
CC_FN void trim_learn_min(struct trim *s, const struct trim_params *p, cc_u32 rtt)
{
	if (rtt >= s->min_rtt)
		return;
	s->min_rtt = cc_max(rtt, 1);
	s->k = trim_threshold(p, s->min_rtt);
}

CC_FN void trim_init(struct trim *s, const struct trim_params *p)
{
	*s = (struct trim){ .due = TRIM_NEVER, .min_rtt = CC_NONE, .k = CC_NONE, .new_round = 1 };
	if (p->seed)
		trim_learn_min(s, p, p->seed);
}

/* The handshake is complete; `rtt` of SYN and SYN-ACK, CC_NONE if it could not be measured. */
CC_FN void trim_established(struct trim *s, const struct trim_params *p, cc_u32 rtt)
{
	if (rtt == CC_NONE)
		return;
	rtt = cc_min(rtt, TRIM_RTT_MAX);
	s->rtt_max = cc_max(s->rtt_max, rtt);
	/* SYNs are small: what they lack against data is added. */
	if (p->handshake != CC_NONE)
		trim_learn_min(s, p, cc_add(rtt, p->handshake));
}

/* Ends the episode without a window of its own. */
CC_FN void trim_discard(struct trim *s)
{
	s->state = TRIM_NORMAL;
	s->saved = 0;
	s->count = 0;
	s->acked = 0;
	s->rtts = 0;
	s->due = TRIM_NEVER;
}

/* Every ACK: takes the sample, and notes probes that came back. */
CC_FN void trim_sample(struct trim *s, const struct trim_params *p, const struct cc_ack *a, cc_u32 advanced)
{
	cc_u32 rtt = cc_min(a->rtt, TRIM_RTT_MAX);
	int i;

	if (a->rtt != CC_NONE) {
		/* The first sample starts the average; it is updated first and compared later. */
		if (!s->smooth)
			s->smooth = cc_max(rtt << 4, 1);
		else if (rtt << 4 >= s->smooth)
			s->smooth += (cc_u32)(((cc_u64)((rtt << 4) - s->smooth) * p->weight) >> 16);
		else
			s->smooth -= (cc_u32)(((cc_u64)(s->smooth - (rtt << 4)) * p->weight) >> 16);
		s->smooth = cc_max(s->smooth, 1);
		s->rtt_max = cc_max(s->rtt_max, rtt);
		trim_learn_min(s, p, rtt);
	}
	if (!advanced || s->recovering || s->state == TRIM_NORMAL)
		return;
	for (i = 0; i < TRIM_PROBES; i++) {
		if (i < s->acked || i >= s->count || cc_before(a->una, s->acks[i]))
			continue;
		s->rtts = cc_add(s->rtts, cc_clamp(a->now - s->sent[i], 0, TRIM_RTT_MAX));
		s->acked++;
	}
	if (s->count && s->acked == s->count)
		s->due = TRIM_NEVER;
}

/* The reaction to a sample above K (Eq. 2 and 3). */
CC_FN void trim_cut(struct trim *s, const struct trim_params *p, struct cc_window *w, const struct cc_ack *a)
{
	int new_round = s->new_round || cc_before(s->round_end, a->una);
	cc_u32 rtt = cc_min(a->rtt, TRIM_RTT_MAX);
	cc_u32 floor = cc_max(p->min_cwnd, 1);
	cc_u64 window, share;

	if (new_round) {
		s->new_round = 0;
		s->round_end = a->nxt;
		s->round_cwnd = w->cwnd;
	}
	if (p->cuts == TRIM_EACH_RTT && !new_round)
		return;
	if (p->cuts == TRIM_CAPPED)
		floor = cc_max(floor, (s->round_cwnd + 1) >> 1);
	/* Half of (RTT - K) / RTT. Fractions are kept: most cuts are by less than a segment. */
	share = ((cc_u64)(rtt - s->k) << 15) / rtt;
	window = ((cc_u64)w->cwnd << 16) | s->fraction;
	window -= (window * share) >> 16;
	if (window >> 16 >= floor) {
		w->cwnd = (cc_u32)(window >> 16);
		s->fraction = (cc_u16)window;
	} else {
		/* The window of 1 after a timeout stays 1: no reduction enlarges. */
		w->cwnd = cc_min(w->cwnd, floor);
		s->fraction = 0;
	}
	if (p->sets >= TRIM_SETS_CUT)
		w->ssthresh = cc_max(w->cwnd, 2);
}

/* The ACK advanced and starts no reduction. */
CC_FN void trim_acked(struct trim *s, const struct trim_params *p, struct cc_window *w, const struct cc_ack *a)
{
	s->may_grow = 0;
	if (s->recovering || s->state != TRIM_NORMAL)
		return;
	/* K is never 0 once the congestion control has begun: the ACK of the SYN comes before that. */
	if (a->rtt != CC_NONE && s->k && cc_min(a->rtt, TRIM_RTT_MAX) > s->k)
		trim_cut(s, p, w, a);
	else
		s->may_grow = 1;
}

/* The ACK advanced, nothing is being recovered. */
CC_FN void trim_grow(struct trim *s, const struct trim_params *p, struct cc_window *w, cc_u32 acked)
{
	if (!s->may_grow)
		return;
	if (p->additive_only)
		cc_step(w, w->cwnd, acked);
	else
		cc_reno(w, acked);
}

CC_FN cc_u32 trim_ssthresh(struct trim *s, cc_u32 cwnd, enum cc_trigger trigger)
{
	if (trigger != CC_MARK)
		trim_discard(s);
	s->fraction = 0;
	return cc_halve(cwnd);
}

/* Fast recovery begins. */
CC_FN void trim_recovery(struct trim *s)
{
	s->recovering = 1;
	trim_discard(s);
}

/* A retransmission timeout. */
CC_FN void trim_timeout(struct trim *s)
{
	s->recovering = 0;
	trim_discard(s);
}

/* Recovery is over, or was a mistake. */
CC_FN void trim_recovered(struct trim *s)
{
	s->recovering = 0;
}

#endif
