/* SPDX-License-Identifier: GPL-2.0 */
/*
 * D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012): DCTCP that cuts less the nearer the deadline of the message is that is being
 * transferred. Without deadlines it is DCTCP.
 */
#ifndef FOREBAY_D2TCP_CORE_H
#define FOREBAY_D2TCP_CORE_H

#include "../dctcp/dctcp_core.h"

/* Messages that are told apart. One that is written while so many are not acknowledged becomes part of the newest of them. */
#define D2TCP_MESSAGES 4
/* No deadline. */
#define D2TCP_NEVER (~(law_u64)0)

struct d2tcp_params {
	struct dctcp_params marks;
	law_u32 d_min;	/* bounds of the exponent, of LAW_ONE; d_min at most LAW_ONE, d_max at least */
	law_u32 d_max;
	law_u32 missed; /* the exponent once the deadline has passed */
};

/* From numbers in the order of the struct; without `number` the published ones. */
LAW_FN void d2tcp_read(struct d2tcp_params *p, const law_u64 *number)
{
	*p = (struct d2tcp_params){ .d_min = LAW_ONE / 2, .d_max = 2 * LAW_ONE, .missed = 2 * LAW_ONE };
	dctcp_read(&p->marks, number);
	if (!number)
		return;
	number += DCTCP_NUMBERS;
	p->d_min = (law_u32)number[0];
	p->d_max = (law_u32)number[1];
	p->missed = (law_u32)number[2];
}

struct d2tcp {
	law_u64 deadline[D2TCP_MESSAGES]; /* us, D2TCP_NEVER */
	law_u32 end[D2TCP_MESSAGES];	  /* sequence number behind the message, oldest first */
	struct dctcp marks;
	law_u32 count;
};

LAW_FN void d2tcp_init(struct d2tcp *s, const struct d2tcp_params *p, law_u32 nxt, law_u32 delivered, law_u32 delivered_ce)
{
	dctcp_init(&s->marks, &p->marks, nxt, delivered, delivered_ce);
	/* What was written before the handshake stays known. */
	s->count = law_min(s->count, D2TCP_MESSAGES);
}

/* The application wrote a message that ends before sequence number `end`; of two that are merged the earlier deadline counts. */
LAW_FN void d2tcp_message(struct d2tcp *s, law_u32 end, law_u64 deadline)
{
	law_u32 last = D2TCP_MESSAGES - 1;

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
LAW_FN void d2tcp_retire(struct d2tcp *s, law_u32 una)
{
	int i, done;

	for (done = 0; done < D2TCP_MESSAGES; done++) {
		if (!s->count || law_before(una, s->end[0]))
			break;
		s->count--;
		for (i = 0; i + 1 < D2TCP_MESSAGES; i++) {
			s->end[i] = s->end[i + 1];
			s->deadline[i] = s->deadline[i + 1];
		}
	}
}

/* Every ACK. Retiring may wait until somebody looks at the messages: nothing but `una` enters into it. */
LAW_FN void d2tcp_ack(struct d2tcp *s, const struct d2tcp_params *p, const struct law_ack *a)
{
	dctcp_ack(&s->marks, &p->marks, a);
	d2tcp_retire(s, a->una);
}

/*
 * The imminence d of the oldest message, of LAW_ONE (section 3.2): the time that it still needs at 3/4 cwnd a round trip, as a share of the
 * time that is left. What is under way has not arrived yet, so that it counts as left.
 */
LAW_FN law_u32 d2tcp_imminence(const struct d2tcp *s, const struct d2tcp_params *p, law_u32 cwnd, const struct law_ack *a)
{
	law_u64 trips, needed;

	if (!s->count || s->deadline[0] == D2TCP_NEVER)
		return LAW_ONE;
	if (s->deadline[0] <= a->now)
		return p->missed;
	/* With 16 bits behind the point: below 2^50, at most 2^36 of them at less than 2^27 us. */
	trips = ((law_u64)(s->end[0] - a->una) << 18) / ((law_u64)3 * law_max(cwnd, 1) * law_max(a->mss, 1));
	if (trips >> 36)
		trips = (1ULL << 36) - 1;
	needed = trips * law_min(a->srtt, (1U << 27) - 1);
	return law_clamp(needed / (s->deadline[0] - a->now), p->d_min, p->d_max);
}

/* cwnd (1 - alpha^d / 2) (section 3.1). */
LAW_FN law_u32 d2tcp_cut(const struct dctcp *marks, const struct d2tcp_params *p, law_u32 cwnd, law_u32 imminence)
{
	return dctcp_cut(&p->marks, cwnd, law_power(marks->alpha << 6, imminence));
}

/* The threshold of a reduction; `a` holds the facts of the last ACK. */
LAW_FN law_u32 d2tcp_ssthresh(const struct d2tcp *s, const struct d2tcp_params *p, law_u32 cwnd, enum law_trigger trigger,
			      const struct law_ack *a)
{
	if (trigger != LAW_MARK)
		return dctcp_loss(&p->marks, cwnd);
	return d2tcp_cut(&s->marks, p, cwnd, d2tcp_imminence(s, p, cwnd, a));
}

#endif
