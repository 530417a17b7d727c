/* SPDX-License-Identifier: GPL-2.0 */
/*
 * D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP with smaller reductions when the deadline of the current message is near. Without
 * deadlines it is DCTCP.
 */
#ifndef FOREBAY_D2TCP_CORE_H
#define FOREBAY_D2TCP_CORE_H

#include "../dctcp/dctcp_core.h"

/* Largest number of unacknowledged messages. A further message becomes part of the newest. */
#define D2TCP_MESSAGES 4
/* No deadline. */
#define D2TCP_NEVER (~(cc_u64)0)

struct d2tcp_params {
	struct dctcp_params marks;
	cc_u32 d_min;	/* bounds of the exponent, of CC_ONE; d_min at most CC_ONE, d_max at least */
	cc_u32 d_max;
	cc_u32 missed; /* the exponent once the deadline has passed */
};

/* From numbers in the order of the struct; without `number` the published ones. */
CC_FN void d2tcp_read(struct d2tcp_params *p, const cc_u64 *number)
{
	*p = (struct d2tcp_params){ .d_min = CC_ONE / 2, .d_max = 2 * CC_ONE, .missed = 2 * CC_ONE };
	dctcp_read(&p->marks, number);
	if (!number)
		return;
	number += DCTCP_NUMBERS;
	p->d_min = (cc_u32)number[0];
	p->d_max = (cc_u32)number[1];
	p->missed = (cc_u32)number[2];
}

struct d2tcp {
	cc_u64 deadline[D2TCP_MESSAGES]; /* us, D2TCP_NEVER */
	cc_u32 end[D2TCP_MESSAGES];	  /* sequence number behind the message, oldest first */
	struct dctcp marks;
	cc_u32 count;
};

CC_FN void d2tcp_init(struct d2tcp *s, const struct d2tcp_params *p, cc_u32 nxt, cc_u32 delivered, cc_u32 delivered_ce)
{
	dctcp_init(&s->marks, &p->marks, nxt, delivered, delivered_ce);
	/* Messages written before the handshake are kept. */
	s->count = cc_min(s->count, D2TCP_MESSAGES);
}

/* The application wrote a message that ends before sequence number `end`; of two that are merged the earlier deadline counts. */
CC_FN void d2tcp_message(struct d2tcp *s, cc_u32 end, cc_u64 deadline)
{
	cc_u32 last = D2TCP_MESSAGES - 1;

	if (s->count < D2TCP_MESSAGES) {
		last = s->count & (D2TCP_MESSAGES - 1);
		s->count++;
		s->deadline[last] = deadline;
	} else if (deadline < s->deadline[last]) {
		s->deadline[last] = deadline;
	}
	s->end[last] = end;
}

/* Messages that end at or before `una` have arrived. */
CC_FN void d2tcp_retire(struct d2tcp *s, cc_u32 una)
{
	int i, done;

	for (done = 0; done < D2TCP_MESSAGES; done++) {
		if (!s->count || cc_before(una, s->end[0]))
			break;
		s->count--;
		for (i = 0; i + 1 < D2TCP_MESSAGES; i++) {
			s->end[i] = s->end[i + 1];
			s->deadline[i] = s->deadline[i + 1];
		}
	}
}

/* Every ACK. Messages are retired when they are needed next, because only `una` decides. */
CC_FN void d2tcp_ack(struct d2tcp *s, const struct d2tcp_params *p, const struct cc_ack *a)
{
	dctcp_ack(&s->marks, &p->marks, a);
	d2tcp_retire(s, a->una);
}

/*
 * The imminence d of the oldest message, of CC_ONE (section 3.2): the time that it still needs at 3/4 cwnd a round trip, as a share of the
 * time that is left. Data in flight has not arrived, and counts as remaining.
 */
CC_FN cc_u32 d2tcp_imminence(const struct d2tcp *s, const struct d2tcp_params *p, cc_u32 cwnd, const struct cc_ack *a)
{
	cc_u64 trips, needed;

	if (!s->count || s->deadline[0] == D2TCP_NEVER)
		return CC_ONE;
	if (s->deadline[0] <= a->now)
		return p->missed;
	/* With 16 bits behind the point: below 2^50, at most 2^36 of them at less than 2^27 us. */
	trips = ((cc_u64)(s->end[0] - a->una) << 18) / ((cc_u64)3 * cc_max(cwnd, 1) * cc_max(a->mss, 1));
	if (trips >> 36)
		trips = (1ULL << 36) - 1;
	needed = trips * cc_min(a->srtt, (1U << 27) - 1);
	return cc_clamp(needed / (s->deadline[0] - a->now), p->d_min, p->d_max);
}

/* cwnd (1 - alpha^d / 2) (section 3.1). */
CC_FN cc_u32 d2tcp_cut(const struct dctcp *marks, const struct d2tcp_params *p, cc_u32 cwnd, cc_u32 imminence)
{
	return dctcp_cut(&p->marks, cwnd, cc_power(marks->alpha << 6, imminence));
}

/* The threshold of a reduction; `a` holds the facts of the last ACK. */
CC_FN cc_u32 d2tcp_ssthresh(const struct d2tcp *s, const struct d2tcp_params *p, cc_u32 cwnd, enum cc_trigger trigger,
			      const struct cc_ack *a)
{
	if (trigger != CC_MARK)
		return dctcp_loss(&p->marks, cwnd);
	return d2tcp_cut(&s->marks, p, cwnd, d2tcp_imminence(s, p, cwnd, a));
}

#endif
