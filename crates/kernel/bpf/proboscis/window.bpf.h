/* SPDX-License-Identifier: GPL-2.0 */
/* Window of window_core.bpf.h at the sender of data, written into packets with the window scale of the connection. */
#ifndef FOREBAY_PROBOSCIS_WINDOW_H
#define FOREBAY_PROBOSCIS_WINDOW_H

/* An option of TCP's header. Loops are the helper's (bpf_loop): unrolled by the verifier they are too long for that of Linux 6.12. */
struct option_search {
	struct __sk_buff *skb;
	u32 at, end;
	u8 scale, found;
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
	if (option[0] == 3) {
		s->scale = cc_min(option[2], 14);
		s->found = 1;
	}
	s->at += option[1];
	return option[0] == 3 || option[1] < 2;
}

static __always_inline struct option_search find_scale(struct __sk_buff *skb, const struct tcp_header *tcp)
{
	struct option_search s = {
		.skb = skb,
		.at = ETHERNET + IPV4 + TCP,
		.end = ETHERNET + IPV4 + (tcp->offset >> 4) * 4,
	};
	bpf_loop(40, next_option, &s, 0);
	return s;
}

/* The scale of windows that the sender of a SYN or SYN-ACK announces (RFC 7323, section 2.2). */
static __always_inline u8 scale_of(struct __sk_buff *skb, const struct tcp_header *tcp)
{
	return find_scale(skb, tcp).scale;
}

static __always_inline bool has_scale(struct __sk_buff *skb, const struct tcp_header *tcp)
{
	return find_scale(skb, tcp).found;
}

static __always_inline struct shim_params limits_of(const struct params *p)
{
	return (struct shim_params){
		.mss = p->mss,
		.shift_g = p->shift_g,
		.least = p->floor * p->mss,
		.elephant = p->elephant,
	};
}

/* Our ACK, whose sender wrote the window `field`. */
static __always_inline void acknowledged(struct sending *s, const struct params *p, u32 ack, bool echo, u16 field)
{
	struct shim_params limits = limits_of(p);
	u32 event = shim_acked(&s->window, &limits, ack, echo, (u64)field << (s->scale & 15));

	if (echo)
		COUNT(echoes_received, 1);
	if (event & SHIM_CUT)
		COUNT(cuts, 1);
	if (event & SHIM_OBSERVED) {
		COUNT(windows, 1);
		/* In 1/1024, as the congestion controls have it. */
		COUNT(alpha_sum, s->window.alpha >> (SHIM_ALPHA_BITS - 10));
	}
}

#endif
