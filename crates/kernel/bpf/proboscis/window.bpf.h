/* SPDX-License-Identifier: GPL-2.0 */
/* At the sender of data: DCTCP's window for a connection below its guest, from the ACKs that arrive. */
#ifndef FOREBAY_PROBOSCIS_WINDOW_H
#define FOREBAY_PROBOSCIS_WINDOW_H

/* An option of TCP's header. Loops are the helper's (bpf_loop): unrolled by the verifier they are too long for that of Linux 6.12. */
struct option_search {
	struct __sk_buff *skb;
	u32 at, end;
	u8 scale;
};
static long next_option(u32 i, struct option_search *s)
{
	u8 option[3] = {};

	if (s->at + 2 >= s->end || bpf_skb_load_bytes(s->skb, s->at, option, 3) || option[0] == 0)
		return 1;
	if (option[0] == 1) {
		s->at++;
		return 0;
	}
	if (option[0] == 3)
		s->scale = law_min(option[2], 14);
	s->at += option[1];
	return option[0] == 3 || option[1] < 2;
}

/* The scale of windows that the receiver announced (RFC 7323, section 2.2). */
static __always_inline u8 scale_of(struct __sk_buff *skb, const struct tcp_header *tcp)
{
	struct option_search s = {
		.skb = skb,
		.at = ETHERNET + IPV4 + TCP,
		.end = ETHERNET + IPV4 + (tcp->offset >> 4) * 4,
	};
	bpf_loop(40, next_option, &s, 0);
	return s.scale;
}

static __always_inline struct dctcp_params marks_of(const struct params *p)
{
	return (struct dctcp_params){ .shift_g = p->shift_g, .alpha = LAW_ALPHA_ONE, .min_cwnd = p->floor };
}

/* An ACK of ours: DCTCP's window moves on, in whole segments. */
static __always_inline void acknowledged(struct sending *s, const struct params *p, u32 ack, bool echo)
{
	struct dctcp_params marks = marks_of(p);
	u32 mss = law_max(p->mss, 1), bytes = ack - s->una, flight = s->high - s->una, end = s->marks.window_end;
	struct law_ack a = { .una = ack, .nxt = s->high };

	if ((s32)bytes < 0 || law_before(s->high, ack))
		return;
	s->una = ack;
	s->acked += bytes;
	s->bytes += bytes;
	if (echo) {
		COUNT(echoes_received, 1);
		/* A duplicate says that something marked arrived, too. */
		s->acked_marked += law_max(bytes, 1);
	}
	a.delivered = s->acked;
	a.delivered_ce = s->acked_marked;
	dctcp_ack(&s->marks, &marks, &a);
	if (!law_before(ack, end)) {
		COUNT(windows, 1);
		COUNT(alpha_sum, s->marks.alpha);
	}
	if (echo && !law_before(ack, s->cut_end)) {
		/* Once per window (RFC 8257, section 3.3, step 9). A guest that uses less than its window is cut from what it uses. */
		u32 used = law_max((flight + mss - 1) / mss, p->floor);
		s->window.ssthresh = dctcp_ssthresh(&s->marks, &marks, law_min(s->window.cwnd, used), LAW_MARK);
		s->window.cwnd = s->window.ssthresh;
		s->cut_end = s->high;
		COUNT(cuts, 1);
	} else if (!echo && flight + 2 * mss >= s->window.cwnd * mss) {
		/* Only a window that is in use grows. */
		s->rest += bytes;
		a.acked = s->rest / mss;
		s->rest -= a.acked * mss;
		dctcp_grow(&marks, &s->window, &a);
	}
}

#endif
