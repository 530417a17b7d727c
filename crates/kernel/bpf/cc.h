/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of the cores of all congestion controls. A core is the arithmetic of one congestion control: plain C on whole numbers, without
 * types or functions of the kernel. The same source is compiled into a BPF program, into a congestion control of the guest kernel, and into a test
 * that compares it with the congestion control of the simulator (arithmetic = "linux").
 *
 * Windows are whole segments, times microseconds, sequence numbers the low 32 bits of stream offsets. No function leaves a window below 1.
 */
#ifndef FOREBAY_CC_H
#define FOREBAY_CC_H

typedef unsigned char cc_u8;
typedef unsigned short cc_u16;
typedef unsigned int cc_u32;
typedef unsigned long long cc_u64;
typedef int cc_s32;
typedef long long cc_s64;

/* Inlined everywhere, because a BPF program passes pointers to the kernel's objects only to functions that it was verified with. */
#define CC_FN static inline __attribute__((always_inline, unused))

/* A fact that is not known. */
#define CC_NONE (~(cc_u32)0)
/* ssthresh of a connection that has not had a reduction yet (TCP_INFINITE_SSTHRESH). */
#define CC_NO_THRESHOLD 0x7fffffffU
/* Alpha, the marked fraction, counts in 1/1024 (DCTCP_MAX_ALPHA). */
#define CC_ALPHA_ONE 1024U
/* Fixed point with 16 bits behind the point. */
#define CC_ONE (1U << 16)

/* The window of a connection: snd_cwnd, snd_ssthresh and snd_cwnd_cnt of tcp_sock. */
struct cc_window {
	cc_u32 cwnd;
	cc_u32 ssthresh;
	cc_u32 counted; /* acknowledged segments since cwnd last grew by one in congestion avoidance */
};

/* Cause of a reduction. */
enum cc_trigger {
	CC_MARK,
	CC_LOSS,
	CC_TIMEOUT,
};

/* Facts about an ACK. */
struct cc_ack {
	cc_u64 now;
	cc_u32 una;	      /* sequence number after the ACK */
	cc_u32 nxt;	      /* of the next new byte */
	cc_u32 acked;	      /* segments to grow by */
	cc_u32 delivered;    /* all that has been delivered so far, SACKed or acknowledged, in any unit */
	cc_u32 delivered_ce; /* as much of it as was acknowledged with ECE */
	cc_u32 rtt;	      /* sample, or CC_NONE */
	cc_u32 srtt;	      /* smoothed RTT, 0 before the first sample */
	cc_u32 mss;	      /* bytes */
	cc_u32 ece;	      /* whether the ACK carries ECE */
};

CC_FN int cc_before(cc_u32 a, cc_u32 b)
{
	return (cc_s32)(a - b) < 0;
}

CC_FN cc_u32 cc_max(cc_u32 a, cc_u32 b)
{
	return a > b ? a : b;
}

CC_FN cc_u32 cc_min(cc_u32 a, cc_u32 b)
{
	return a < b ? a : b;
}

/* a + b, or the largest number if that is more. */
CC_FN cc_u32 cc_add(cc_u32 a, cc_u32 b)
{
	return a + b < a ? CC_NONE : a + b;
}

/* Slow start by `acked` segments; returns those that are left above the threshold (tcp_slow_start). */
CC_FN cc_u32 cc_slow_start(struct cc_window *w, cc_u32 acked)
{
	cc_u32 cwnd = cc_min(cc_add(w->cwnd, acked), w->ssthresh);

	acked -= cc_min(acked, cwnd - w->cwnd);
	w->cwnd = cwnd;
	return acked;
}

/* Congestion avoidance: one segment more for every `per_step` acknowledged ones (tcp_cong_avoid_ai). */
CC_FN void cc_step(struct cc_window *w, cc_u32 per_step, cc_u32 acked)
{
	cc_u32 steps;

	per_step = cc_max(per_step, 1);
	if (w->counted >= per_step) {
		/* Credit of a time when steps were larger counts once. */
		w->counted = 0;
		w->cwnd = cc_add(w->cwnd, 1);
	}
	w->counted = cc_add(w->counted, acked);
	steps = w->counted / per_step;
	w->counted -= steps * per_step;
	w->cwnd = cc_add(w->cwnd, steps);
}

/* Growth of Reno (RFC 5681 section 3.1, tcp_reno_cong_avoid). */
CC_FN void cc_reno(struct cc_window *w, cc_u32 acked)
{
	if (w->cwnd < w->ssthresh)
		acked = cc_slow_start(w, acked);
	if (acked)
		cc_step(w, w->cwnd, acked);
}

/* The threshold of Reno (RFC 5681 equation 4, tcp_reno_ssthresh). */
CC_FN cc_u32 cc_halve(cc_u32 cwnd)
{
	return cc_max(cwnd >> 1, 2);
}

/*
 * The largest whole number whose square is at most `x`: Newton's method from above, a fixed number of steps without branches between them,
 * because the verifier of BPF programs follows both sides of each.
 */
CC_FN cc_u32 cc_sqrt(cc_u64 x)
{
	cc_u64 root = 1ULL << 32;
	int i;

	if (!x)
		return 0;
	/* At first each step halves, for 32 steps at most; then the error is squared in each. The end is the root, or one above it. */
	for (i = 0; i < 40; i++)
		root = (root + x / root) >> 1;
	return (cc_u32)(root - (root > x / root));
}

/*
 * -log2(x) of `x` in (0, CC_ONE], both with 16 bits behind the point: the bits of the logarithm by repeated squaring. Without branches in its
 * loops, as the root above.
 */
CC_FN cc_u32 cc_minus_log2(cc_u32 x)
{
	cc_u64 mantissa = x;
	cc_u32 whole = 0;
	cc_u32 fraction = 0;
	int i;

	/* To [1, 2) with 30 bits behind the point. */
	for (i = 0; i < 17; i++) {
		cc_u32 small = (cc_u32)((mantissa - CC_ONE) >> 63);

		mantissa <<= small;
		whole += small;
	}
	mantissa <<= 14;
	for (i = 15; i >= 0; i--) {
		cc_u32 above;

		mantissa = (mantissa * mantissa) >> 30;
		above = (cc_u32)(mantissa >> 31);
		mantissa >>= above;
		fraction |= above << i;
	}
	return (whole << 16) - fraction;
}

/* 2^-x, both with 16 bits behind the point. */
CC_FN cc_u32 cc_exp2_minus(cc_u32 x)
{
	/* 2^-(2^-i) for i from 1 on, with 30 bits behind the point. */
	static const cc_u32 factor[16] = {
		759250125, 902905651, 984625594, 1028218693, 1050733751, 1062175491, 1067942999, 1070838486,
		1072289173, 1073015252, 1073378477, 1073560135, 1073650976, 1073696399, 1073719111, 1073730468,
	};
	cc_u64 power = 1ULL << 30;
	cc_u32 whole = x >> 16;
	int i;

	if (whole > 16)
		return 0;
	for (i = 0; i < 16; i++)
		power = (power * ((1U << 30) - (x >> (15 - i) & 1) * ((1U << 30) - factor[i]))) >> 30;
	return (cc_u32)(power >> (14 + whole));
}

/* x^y of `x` in [0, CC_ONE] and `y` above 0, with 16 bits behind the points. Exact for y = 1. */
CC_FN cc_u32 cc_power(cc_u32 x, cc_u32 y)
{
	cc_u64 log;

	if (!x || y == CC_ONE)
		return x;
	log = ((cc_u64)cc_minus_log2(x) * y) >> 16;
	return log >> 16 > 16 ? 0 : cc_exp2_minus((cc_u32)log);
}

/* x as it is, but in [low, high]. */
CC_FN cc_u32 cc_clamp(cc_u64 x, cc_u32 low, cc_u32 high)
{
	return x < low ? low : x > high ? high : (cc_u32)x;
}

#endif
