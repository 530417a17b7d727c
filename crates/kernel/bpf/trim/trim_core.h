/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP-TRIM: the facts and decisions that its two parts share. While data flows the RTT is kept near a threshold K (Eq. 2, 3 and 26); after a
 * gap two probes decide how much of the old window is used again (Eq. 1, trim_probe.h). Losses are Reno's.
 */
#ifndef FOREBAY_TRIM_CORE_H
#define FOREBAY_TRIM_CORE_H

#include "../law.h"

/* A time that does not come. */
#define TRIM_NEVER (~(law_u64)0)
#define TRIM_PROBES 2

/* Where K lies in its interval (Eq. 26). */
enum trim_policy { TRIM_K_LOWER, TRIM_K_MID, TRIM_K_UPPER, TRIM_K_EXPLICIT };
/* How often an RTT above K cuts. */
enum trim_cuts { TRIM_EVERY_ACK, TRIM_EACH_RTT, TRIM_CAPPED };
/* Which reductions set the slow start threshold, each including those before it. */
enum trim_sets { TRIM_SETS_NONE, TRIM_SETS_CUT, TRIM_SETS_LATE, TRIM_SETS_ALL };

struct trim_params {
	law_u64 packet_ps;	/* time of a full packet at the bottleneck; 0: unknown, and then only an explicit K cuts */
	law_u32 weight;		/* of a new sample in the smoothed RTT, of LAW_ONE */
	law_u32 min_cwnd;	/* segments, 1 or more */
	law_u32 buffer;		/* time that the bottleneck's full buffer takes to drain, us; LAW_NONE: without limit */
	law_u32 policy;		/* enum trim_policy */
	law_u32 k;		/* explicit K, us */
	law_u32 guard;		/* K is at least this much above the RTT of the empty path, us */
	law_u32 cuts;		/* enum trim_cuts */
	law_u32 gap_in_flight;	/* a gap counts although something is unacknowledged */
	law_u32 sets;		/* enum trim_sets */
	law_u32 additive_only;	/* no slow start */
	law_u32 seed;		/* RTT of the empty path to start from, us; 0: none */
	law_u32 handshake;	/* the handshake's RTT is a sample if this is added, us; LAW_NONE: it is none */
	law_u32 wait_before;	/* AD: random wait before probing */
	law_u32 wait_after;	/* AS: random wait after probing */
	law_u32 wait_at_start;	/* with AD, also before the first segment of the connection */
};

/*
 * From numbers in the order of the struct. Without `number` there is no K, because C and B are not known to an end host: TRIM only probes
 * after gaps.
 */
LAW_FN void trim_read(struct trim_params *p, const law_u64 *number)
{
	*p = (struct trim_params){
		.weight = LAW_ONE / 4,
		.min_cwnd = 2,
		.buffer = LAW_NONE,
		.gap_in_flight = 1,
		.sets = TRIM_SETS_ALL,
		.wait_at_start = 1,
	};
	if (!number)
		return;
	p->packet_ps = number[0];
	p->weight = (law_u32)number[1];
	p->min_cwnd = (law_u32)number[2];
	p->buffer = (law_u32)number[3];
	p->policy = (law_u32)number[4];
	p->k = (law_u32)number[5];
	p->guard = (law_u32)number[6];
	p->cuts = (law_u32)number[7];
	p->gap_in_flight = (law_u32)number[8];
	p->sets = (law_u32)number[9];
	p->additive_only = (law_u32)number[10];
	p->seed = (law_u32)number[11];
	p->handshake = (law_u32)number[12];
	p->wait_before = (law_u32)number[13];
	p->wait_after = (law_u32)number[14];
	p->wait_at_start = (law_u32)number[15];
}

enum trim_state { TRIM_NORMAL, TRIM_AD_WAIT, TRIM_PROBING, TRIM_AS_WAIT };

struct trim {
	law_u64 due;		       /* when the timer of the state runs out, us */
	law_u64 resumed;	       /* when the last episode ended: counts as a transmission */
	law_u64 sent[TRIM_PROBES];     /* when the probes left */
	law_u32 acks[TRIM_PROBES];     /* sequence numbers that acknowledge them */
	law_u32 smooth;		       /* smoothed RTT, us/16; 0 before the first sample */
	law_u32 min_rtt;	       /* us; LAW_NONE before the first */
	law_u32 rtt_max;	       /* us */
	law_u32 k;		       /* us; LAW_NONE while unknown */
	law_u32 saved;		       /* window when the gap was found; 0 for the wait before the first segment */
	law_u32 rtts;		       /* sum of the RTTs of acknowledged probes, us */
	law_u32 round_end;
	law_u32 round_cwnd;
	law_u16 fraction;	       /* of the window, which cuts leave, of LAW_ONE */
	law_u8 state;		       /* enum trim_state */
	law_u8 count;		       /* probes sent */
	law_u8 acked;		       /* and acknowledged */
	law_u8 started : 1;	       /* the wait at the start of the connection is over, or was not wanted */
	law_u8 recovering : 1;	       /* in fast recovery */
	law_u8 may_grow : 1;	       /* the ACK being worked on may enlarge the window */
	law_u8 new_round : 1;	       /* the next ACK begins a round trip */
};

/* Largest RTT that the arithmetic takes, us (67 s). */
#define TRIM_RTT_MAX ((1U << 26) - 1)

/* K for an RTT of `d` us on the empty path (Eq. 26), us. */
LAW_FN law_u32 trim_threshold(const struct trim_params *p, law_u32 d)
{
	law_u64 pipe, distance, packets, lower, upper, k;

	d = law_min(d, TRIM_RTT_MAX);
	if (p->policy == TRIM_K_EXPLICIT)
		return law_max(p->k, law_add(d, p->guard));
	if (!p->packet_ps)
		return LAW_NONE;
	/* Packets with 16 bits behind the point, less than 2^24 of them: C D, and (sqrt(2 C D) - 1)^2, which says nothing of less than no flow. */
	pipe = ((law_u64)d * 1000000 << 16) / p->packet_ps;
	if (pipe >> 40)
		pipe = 1ULL << 40;
	distance = law_sqrt(pipe << 17);
	distance = distance > LAW_ONE ? distance - LAW_ONE : 0;
	packets = (distance * distance) >> 16;
	if (packets < pipe)
		packets = pipe;
	lower = ((packets * p->packet_ps) >> 16) / 1000000;
	upper = ((law_u64)p->buffer + d) / 2;
	/* A small buffer leaves the upper end only, one without limit the lower. */
	if (p->buffer == LAW_NONE)
		k = lower;
	else if (lower >= upper || p->policy == TRIM_K_UPPER)
		k = upper;
	else
		k = p->policy == TRIM_K_MID ? (lower + upper) / 2 : lower;
	return law_clamp(k, law_add(d, p->guard), LAW_NONE);
}

/* Lowers the estimate of the RTT without queueing, and K with it; it never rises. */
LAW_FN void trim_learn_min(struct trim *s, const struct trim_params *p, law_u32 rtt)
{
	if (rtt >= s->min_rtt)
		return;
	s->min_rtt = law_max(rtt, 1);
	s->k = trim_threshold(p, s->min_rtt);
}

LAW_FN void trim_init(struct trim *s, const struct trim_params *p)
{
	*s = (struct trim){ .due = TRIM_NEVER, .min_rtt = LAW_NONE, .k = LAW_NONE, .new_round = 1 };
	if (p->seed)
		trim_learn_min(s, p, p->seed);
}

/* The handshake is complete; `rtt` of SYN and SYN-ACK, LAW_NONE if it could not be measured. */
LAW_FN void trim_established(struct trim *s, const struct trim_params *p, law_u32 rtt)
{
	if (rtt == LAW_NONE)
		return;
	rtt = law_min(rtt, TRIM_RTT_MAX);
	s->rtt_max = law_max(s->rtt_max, rtt);
	/* SYNs are small: what they lack against data is added. */
	if (p->handshake != LAW_NONE)
		trim_learn_min(s, p, law_add(rtt, p->handshake));
}

/* Ends the episode without a window of its own. */
LAW_FN void trim_discard(struct trim *s)
{
	s->state = TRIM_NORMAL;
	s->saved = 0;
	s->count = 0;
	s->acked = 0;
	s->rtts = 0;
	s->due = TRIM_NEVER;
}

/* Every ACK: takes the sample, and notes probes that came back. */
LAW_FN void trim_sample(struct trim *s, const struct trim_params *p, const struct law_ack *a, law_u32 advanced)
{
	law_u32 rtt = law_min(a->rtt, TRIM_RTT_MAX);
	int i;

	if (a->rtt != LAW_NONE) {
		/* The first sample starts the average; it is updated first and compared later. */
		if (!s->smooth)
			s->smooth = law_max(rtt << 4, 1);
		else if (rtt << 4 >= s->smooth)
			s->smooth += (law_u32)(((law_u64)((rtt << 4) - s->smooth) * p->weight) >> 16);
		else
			s->smooth -= (law_u32)(((law_u64)(s->smooth - (rtt << 4)) * p->weight) >> 16);
		s->smooth = law_max(s->smooth, 1);
		s->rtt_max = law_max(s->rtt_max, rtt);
		trim_learn_min(s, p, rtt);
	}
	if (!advanced || s->recovering || s->state == TRIM_NORMAL)
		return;
	for (i = 0; i < TRIM_PROBES; i++) {
		if (i < s->acked || i >= s->count || law_before(a->una, s->acks[i]))
			continue;
		s->rtts = law_add(s->rtts, law_clamp(a->now - s->sent[i], 0, TRIM_RTT_MAX));
		s->acked++;
	}
	if (s->count && s->acked == s->count)
		s->due = TRIM_NEVER;
}

/* The reaction to a sample above K (Eq. 2 and 3). */
LAW_FN void trim_cut(struct trim *s, const struct trim_params *p, struct law_window *w, const struct law_ack *a)
{
	int new_round = s->new_round || law_before(s->round_end, a->una);
	law_u32 rtt = law_min(a->rtt, TRIM_RTT_MAX);
	law_u32 floor = law_max(p->min_cwnd, 1);
	law_u64 window, share;

	if (new_round) {
		s->new_round = 0;
		s->round_end = a->nxt;
		s->round_cwnd = w->cwnd;
	}
	if (p->cuts == TRIM_EACH_RTT && !new_round)
		return;
	if (p->cuts == TRIM_CAPPED)
		floor = law_max(floor, (s->round_cwnd + 1) >> 1);
	/* Half of (RTT - K) / RTT. Fractions are kept: most cuts are by less than a segment. */
	share = ((law_u64)(rtt - s->k) << 15) / rtt;
	window = ((law_u64)w->cwnd << 16) | s->fraction;
	window -= (window * share) >> 16;
	if (window >> 16 >= floor) {
		w->cwnd = (law_u32)(window >> 16);
		s->fraction = (law_u16)window;
	} else {
		/* The window of 1 after a timeout stays 1: no reduction enlarges. */
		w->cwnd = law_min(w->cwnd, floor);
		s->fraction = 0;
	}
	if (p->sets >= TRIM_SETS_CUT)
		w->ssthresh = law_max(w->cwnd, 2);
}

/* The ACK advanced and starts no reduction. */
LAW_FN void trim_acked(struct trim *s, const struct trim_params *p, struct law_window *w, const struct law_ack *a)
{
	s->may_grow = 0;
	if (s->recovering || s->state != TRIM_NORMAL)
		return;
	/* K is never 0 once the law has begun: the ACK of the SYN comes before that. */
	if (a->rtt != LAW_NONE && s->k && law_min(a->rtt, TRIM_RTT_MAX) > s->k)
		trim_cut(s, p, w, a);
	else
		s->may_grow = 1;
}

/* The ACK advanced, nothing is being recovered. */
LAW_FN void trim_grow(struct trim *s, const struct trim_params *p, struct law_window *w, law_u32 acked)
{
	if (!s->may_grow)
		return;
	if (p->additive_only)
		law_step(w, w->cwnd, acked);
	else
		law_reno(w, acked);
}

LAW_FN law_u32 trim_ssthresh(struct trim *s, law_u32 cwnd, enum law_trigger trigger)
{
	if (trigger != LAW_MARK)
		trim_discard(s);
	s->fraction = 0;
	return law_halve(cwnd);
}

/* Fast recovery begins. */
LAW_FN void trim_recovery(struct trim *s)
{
	s->recovering = 1;
	trim_discard(s);
}

/* A retransmission timeout. */
LAW_FN void trim_timeout(struct trim *s)
{
	s->recovering = 0;
	trim_discard(s);
}

/* Recovery is over, or was a mistake. */
LAW_FN void trim_recovered(struct trim *s)
{
	s->recovering = 0;
}

#endif
