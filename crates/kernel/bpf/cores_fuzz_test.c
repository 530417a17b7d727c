/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random and impossible events for the cores, in any order, with sequence numbers around the wrap at 2^32. Arguments: congestion control, first and
 * last number of the sequences. After every event windows are at least 1 and state is inside its bounds (undefined behavior ends the program);
 * after every sequence the connection gets ordinary events, and must continue.
 */
#include "cores_test.h"
#include "include/sanitize.bpf.h"

static struct fb_random bits;
static cc_u64 now;

static cc_u32 below(cc_u32 n)
{
	return (cc_u32)(fb_next(&bits) >> 32) % n;
}

/* Small, at the end of a range, or anything. */
static cc_u32 any(void)
{
	static const cc_u32 ends[] = { 0, 1, 2, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	cc_u32 n = below(4);

	return n == 0 ? below(40) : n == 1 ? ends[below(9)] : n == 2 ? 1U << below(32) : (cc_u32)fb_next(&bits);
}

static void marks(struct dctcp_params *p)
{
	p->shift_g = below(11);
	p->alpha = below(1025);
	p->min_cwnd = 1 + below(20);
	p->no_growth_on_ece = below(2);
}

/* Parameters from their legal ranges. */
static void parameters(void)
{
	switch (c.cc) {
	case DCTCP:
		marks(&c.p.dctcp);
		break;
	case L2DCT:
		marks(&c.p.l2dct.marks);
		c.p.l2dct.w_max = 1 + below(100 * CC_ONE);
		c.p.l2dct.w_min = 1 + below(c.p.l2dct.w_max);
		c.p.l2dct.light = any();
		c.p.l2dct.heavy = cc_max(any(), 1);
		break;
	case D2TCP:
		marks(&c.p.d2tcp.marks);
		c.p.d2tcp.d_min = 1 + below(CC_ONE);
		c.p.d2tcp.d_max = CC_ONE + below(100 * CC_ONE);
		c.p.d2tcp.missed = 1 + below(100 * CC_ONE);
		break;
	case TRIM:
		c.p.trim = (struct trim_params){
			.packet_ps = below(3) ? any() : 0,
			.weight = 1 + below(CC_ONE),
			.min_cwnd = 1 + below(20),
			.buffer = any(),
			.policy = below(4),
			.k = any(),
			.guard = any(),
			.cuts = below(3),
			.gap_in_flight = below(2),
			.sets = below(4),
			.additive_only = below(2),
			.seed = any(),
			.handshake = any(),
			.wait_before = below(2),
			.wait_after = below(2),
			.wait_at_start = below(2),
		};
		break;
	case PRIN:
		c.p.prin = (struct prin_params){ .halve = below(2), .floor = 1 + below(20), .cap = below(2) };
		break;
	case RNS:
		break;
	}
}

static void fail(const char *what, cc_u64 sequence, int event)
{
	fprintf(stderr, "law %d, sequence %llu, event %d: %s (cwnd %u, ssthresh %u)\n", c.cc, sequence, event, what, c.w.cwnd, c.w.ssthresh);
	exit(1);
}

static cc_u32 alpha(void)
{
	return c.cc == DCTCP ? c.s.dctcp.alpha : c.cc == L2DCT ? c.s.l2dct.marks.alpha : c.cc == D2TCP ? c.s.d2tcp.marks.alpha : 0;
}

static void check(cc_u64 sequence, int event)
{
	if (!c.w.cwnd)
		fail("no window", sequence, event);
	if (!c.w.ssthresh)
		fail("no threshold", sequence, event);
	if (alpha() > CC_ALPHA_ONE)
		fail("alpha above 1", sequence, event);
	if (c.cc == TRIM && (c.s.trim.state > TRIM_AS_WAIT || c.s.trim.count > TRIM_PROBES || c.s.trim.acked > c.s.trim.count))
		fail("an episode that cannot be", sequence, event);
	if (c.cc == D2TCP && c.s.d2tcp.count > D2TCP_MESSAGES)
		fail("too many messages", sequence, event);
	if (c.cc == PRIN && c.s.prin.count > PRIN_BLOCKS)
		fail("too many blocks", sequence, event);
}

/* Facts that hold together as little as they may; only time never goes back. */
static struct event hostile(cc_u32 near)
{
	struct event e = { .kind = below(8), .flags = below(8) };

	now += below(4) ? below(2000) : any();
	e.ack = (struct cc_ack){
		.now = now,
		.una = below(4) ? near + below(100000) - 50000 : any(),
		.nxt = below(4) ? near + below(100000) : any(),
		.acked = below(4) ? below(20) : any(),
		.delivered = any(),
		.delivered_ce = any(),
		.rtt = below(4) ? below(5000) : any(),
		.srtt = below(4) ? below(5000) : any(),
		.mss = below(8) ? 1448 : any(),
		.ece = below(2),
	};
	e.from = below(4) ? near + below(100000) : any();
	e.to = below(4) ? e.from + below(100000) : any();
	e.time = below(4) ? now - cc_min(below(5000), (cc_u32)now) : fb_next(&bits);
	e.flight = any();
	e.unsent = any();
	/* The stack leaves at least one segment, too. */
	if (e.kind == STACK)
		e.from = cc_max(any(), 1);
	return e;
}

/* Results that a kernel invents for skipped programs are replaced at the next ACK. */
static void sanitize(cc_u64 sequence, int event)
{
	c.w.cwnd = any();
	c.w.ssthresh = any();
	cc_sanitize(&c.w, any());
	if (!c.w.cwnd || c.w.cwnd > CC_NO_THRESHOLD || !c.w.ssthresh || c.w.ssthresh > CC_NO_THRESHOLD)
		fail("not sanitized", sequence, event);
}

/* Restarts the tracking of the stream at `una`, with a message across the next bytes. */
static void follow(cc_u32 una)
{
	c.s.d2tcp.count = 0;
	if (c.cc == DCTCP)
		dctcp_begin_window(&c.s.dctcp, una, 0, 0);
	else if (c.cc == L2DCT)
		dctcp_begin_window(&c.s.l2dct.marks, una, 0, 0);
	else if (c.cc == D2TCP)
		dctcp_begin_window(&c.s.d2tcp.marks, una, 0, 0);
	if (c.cc == D2TCP) {
		d2tcp_message(&c.s.d2tcp, una + 20000, now + 1000);
	} else if (c.cc == PRIN) {
		c.s.prin.count = 0;
		prin_block(&c.s.prin, una + 20000);
	}
}

/*
 * An orderly path: no marks, no losses, an RTT of 100 us, every other one across the wrap. Data may always leave sooner or later, windows grow,
 * alpha falls to 0, messages are over when their bytes are.
 */
static void recovers(cc_u64 sequence, cc_u32 una)
{
	cc_u32 delivered = 0, least = 10;
	int i, waited = 0;
	struct event e = { .kind = RECOVERED };

	on_event(&e);
	if (sequence & 1)
		una = (cc_u32)-7000;
	follow(una);
	c.w.cwnd = cc_min(c.w.cwnd, 1 << 20);
	c.w.ssthresh = cc_max(c.w.ssthresh, 2);
	for (i = 0; i < 6000; i++) {
		struct outcome o;

		e = (struct event){ .kind = SEND, .time = now, .unsent = 1 << 20, .from = una, .to = una + 1448 };
		e.ack = (struct cc_ack){ .now = now, .nxt = una, .mss = 1448 };
		o = on_event(&e);
		if (c.cc == TRIM && !o.more && c.s.trim.state != TRIM_PROBING) {
			/* It waits: until its timer, of at most 67 s. */
			if (++waited > 1000)
				fail("never sends again", sequence, i);
			now += 1000000;
			continue;
		}
		una += 1448;
		now += 100;
		e = (struct event){ .kind = ACK, .flags = ADVANCES };
		e.ack = (struct cc_ack){
			.now = now, .una = una, .nxt = una, .acked = 1, .delivered = ++delivered, .rtt = 100, .srtt = 100, .mss = 1448,
		};
		on_event(&e);
		check(sequence, i);
	}
	if (alpha())
		fail("alpha does not fall without marks", sequence, i);
	if ((c.cc == D2TCP && c.s.d2tcp.count) || (c.cc == PRIN && c.s.prin.count))
		fail("a message is never over", sequence, i);
	/* With waits and small weights TRIM starts over constantly; its progress is checked above. L2DCT grows as slowly as its weights demand. */
	if (c.cc == TRIM || c.cc == L2DCT)
		return;
	if (c.w.cwnd < least)
		fail("does not grow again", sequence, i);
}

int main(int argc, char **argv)
{
	cc_u64 from, to, sequence;
	int cc, i;

	if (argc != 4)
		return 2;
	cc = atoi(argv[1]);
	from = strtoull(argv[2], 0, 10);
	to = strtoull(argv[3], 0, 10);
	for (sequence = from; sequence < to; sequence++) {
		struct sequence q = { .cc = cc, .seed = sequence };
		cc_u32 near;

		bits = fb_stream(sequence, (fb_u64[]){ 1 + cc }, 1);
		now = below(2) ? 1 : fb_next(&bits) >> 20;
		near = below(2) ? (cc_u32)-below(60000) : (cc_u32)fb_next(&bits);
		q.nxt = near;
		begin(&q);
		parameters();
		if (c.cc == TRIM)
			trim_init(&c.s.trim, &c.p.trim);
		for (i = 0; i < 100; i++) {
			struct event e = hostile(near);

			near += below(3) ? below(60000) : 0;
			if (!below(50))
				sanitize(sequence, i);
			on_event(&e);
			check(sequence, i);
		}
		recovers(sequence, near);
	}
	return 0;
}
