/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ProBoSCIS as the simulator has it (crates/sim/src/shim/proboscis, which cites the publication line by line), for a guest: the two roles of a
 * connection, with packets and times as input and packets as output. They do not depend on the kernel: a test compares them with the simulator
 * bit by bit.
 */
#ifndef FOREBAY_PROBOSCIS_H
#define FOREBAY_PROBOSCIS_H

#include "queue.h"

/* Numbers of the shim, in the order of fb_group.shim (crates/kernel/src/shims.rs). Times are ps, shares are reals. */
enum fb_proboscis_param {
	FB_PB_KIND,
	FB_PB_GAMMA,
	FB_PB_K,
	FB_PB_KAPPA1,
	FB_PB_KAPPA2,
	FB_PB_ICWND,
	FB_PB_G,
	FB_PB_ALPHA_INIT,
	FB_PB_TICK,
	FB_PB_BETA1,
	FB_PB_BETA2,
	FB_PB_BETA3,
	FB_PB_MAX_TIME,
	FB_PB_RETRY_CAP,
	FB_PB_BURST,
	FB_PB_ELEPHANT,
	FB_PB_PROBE_SIZE,
	FB_PB_HOLD_SEVERE,	/* severely marked trains hold a SYN-ACK, too */
	FB_PB_RELEASE_ORIGINAL, /* a SYN-ACK that was held leaves with the window that the guest wrote */
	FB_PB_LOST_AS_MARKED,
	FB_PB_NO_SHRINK,
	FB_PB_GUEST_ECN,
	FB_PB_PEER_HAS_SHIM,
	FB_PB_ENDS,
	FB_PB_MSS,
	FB_PB_LEAST, /* bytes of the least window */
	FB_PB_RESTART_AFTER, /* pause after which data of a connection has a train */
	FB_PB_ANSWERS,	     /* data of the host that accepts is protected, too */
	FB_PB_PARAMS,
};

/* The IP protocol of probes: for experimentation (RFC 3692). The rest of one is the header of the packet behind it, with number and size of the train in
 * the place of the urgent pointer, which that does not use; as crates/kernel/bpf/proboscis has it. */
#define FB_PROBE 253

/* FB_PB_ENDS */
enum { FB_PB_BOTH, FB_PB_OPENER, FB_PB_ACCEPTOR };

/* An entry without packets for so long is removed. */
#define FB_PB_FORGET 60000000000000u

/*
 * On a TCP connection with data in both directions each direction has an opener, which is the end that sends its data, and an acceptor, which receives it.
 * In the direction of the host that accepts the connection (`answers`) the handshake is that of the other direction.
 */

/* A packet as the shim sees it, and may change it. */
struct fb_seen {
	/* First sequence number of what the opener sends; of what the acceptor sends, the number that it acknowledges. */
	fb_u32 number;
	fb_u32 payload;
	fb_u16 window;
	fb_u8 flags; /* of the TCP header: FB_SEEN_* */
	fb_u8 ecn;   /* of the IP header */
	fb_u8 scale; /* of windows, as a SYN or SYN-ACK announces it */
	fb_u8 batch; /* number of a probe's train */
	fb_u8 size;  /* of that train; 0: it is no probe */
	fb_u8 pad;
	void *body; /* the caller's */
};
#define FB_SEEN_FIN 0x01
#define FB_SEEN_SYN 0x02
#define FB_SEEN_ECE 0x40
#define FB_SEEN_CWR 0x80

/* Output of packets that the shim creates. */
struct fb_shim_out {
	/* A probe (`body` is that of the packet behind it, of whose headers it is a copy), a copy of a SYN, or a SYN-ACK that was held. */
	void (*send)(struct fb_shim_out *out, const struct fb_seen *packet);
	/* A SYN-ACK that was held is not sent. */
	void (*discard)(struct fb_shim_out *out, const struct fb_seen *packet);
};

/* Limit of repeated probes of a host: a token bucket, kept as the time at which it will be full again. */
struct fb_shim_budget {
	fb_u64 cost; /* ps in which the tokens of one probe come in */
	fb_u64 full_at;
};

/* Results of the opener's shim. */
struct fb_opener_stats {
	fb_u64 throttled; /* ACKs whose window it lowered */
	fb_u32 probes;
	fb_u32 syns; /* that it repeated */
};

/* Restart of a persistent connection: at the opener a train has left, or the first ACK has brought a window; at the acceptor a train has arrived, or data
 * behind it. */
enum fb_restart { FB_RESTART_NONE, FB_RESTART_PROBED, FB_RESTART_ANSWERED, FB_RESTART_RECEIVED = FB_RESTART_ANSWERED };

/* SYN_RECEIVED: a train leaves ahead of the SYN-ACK, and the next packet of the other end opens. */
enum fb_opener_state { FB_OPENER_IDLE, FB_OPENER_SYN_SENT, FB_OPENER_SYN_RECEIVED, FB_OPENER_OPEN };

/* The end that sends the data of a direction. */
struct fb_opener {
	fb_u32 state;
	fb_u32 isn;
	fb_u64 first_syn, last_syn, last_probe;
	fb_u64 seen; /* last packet */
	fb_u32 probe_retry;
	fb_u8 batch;
	fb_u8 scale; /* of windows, as the SYN-ACK announced it */
	fb_u8 answers;
	fb_u8 pad;
	struct fb_seen syn;
	fb_u32 una, nxt;
	fb_u64 alpha; /* a real */
	fb_u64 acked, marked; /* bytes of the observation window */
	fb_u32 win_end, cut_end;
	fb_u64 window; /* in force, bytes; FB_NEVER: none */
	fb_u32 edge;   /* of the last window that reached the guest */
	fb_u32 pad2;
	fb_u64 bytes; /* of the flow */
	fb_u64 last_data; /* last data packet */
	fb_u64 restart_window;
	fb_u32 restart; /* enum fb_restart */
	fb_u32 restart_end; /* the window of the restart holds up to here */
	struct fb_opener_stats stats;
};

enum fb_train_verdict { FB_VERDICT_NONE, FB_VERDICT_PROPORTIONAL, FB_VERDICT_SEVERE, FB_VERDICT_INSUFFICIENT, FB_VERDICT_UNPROBED };

/* Results of the acceptor's shim. */
struct fb_acceptor_stats {
	fb_u64 window; /* of the first SYN-ACK that left, bytes; FB_NEVER before */
	fb_u64 held;   /* ps that it was */
	fb_u32 verdict; /* on the first SYN-ACK */
	fb_u32 swallowed; /* probes */
	fb_u32 restarts; /* first ACKs of data after a pause */
	fb_u32 pad;
};

/* First window of the data of the host that accepts the connection: the third packet of the handshake will have it; packets up to the acknowledgement of data
 * have it. */
enum fb_first_window { FB_FIRST_NONE, FB_FIRST_AWAITED, FB_FIRST_LIMITED };

/* The end that receives the data of a direction. */
struct fb_acceptor {
	fb_u32 isn;
	fb_u8 known, guest_ecn, holds, batch;
	fb_u32 size, received, marked; /* of the newest train */
	fb_u8 restart; /* enum fb_restart */
	fb_u8 open;    /* data has arrived */
	fb_u8 scale;   /* of windows, as the SYN-ACK announces it */
	fb_u8 pad;
	fb_u64 answered_at; /* a SYN-ACK left; FB_NEVER: none */
	fb_u64 syn_at;
	fb_u64 seen;
	fb_u64 held_since;
	struct fb_seen held;
	fb_u64 ce_bytes;
	fb_u32 answers;
	fb_u32 first; /* enum fb_first_window */
	fb_u64 first_window;
	struct fb_acceptor_stats stats;
};

/* `shim` is fb_group.shim everywhere. Zeros make an opener or acceptor once its start has been called. */
void fb_opener_start(struct fb_opener *o);
void fb_acceptor_start(struct fb_acceptor *a);

/* A packet of the guest on its way to the network; probes go ahead of it. */
void fb_opener_leaves(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out);
/* A packet on its way to the guest. */
void fb_opener_arrives(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, struct fb_seen *p);
/* The host's timer, for openers that wait. */
void fb_opener_tick(struct fb_opener *o, const fb_u64 *shim, struct fb_shim_budget *budget, fb_u64 now, struct fb_shim_out *out);
static inline bool fb_opener_waits(const struct fb_opener *o)
{
	return o->state == FB_OPENER_SYN_SENT;
}

/* As above; false: the packet is held. */
bool fb_acceptor_leaves(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out);
/* As above; false: it is not for the guest. */
bool fb_acceptor_arrives(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out);
void fb_acceptor_tick(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, struct fb_shim_out *out);
static inline bool fb_acceptor_waits(const struct fb_acceptor *a)
{
	return a->holds;
}

/* The end is one of the direction of the host that accepts the connection, whose data begins behind `isn`. */
void fb_opener_answers(struct fb_opener *o, fb_u32 isn);
void fb_acceptor_answers(struct fb_acceptor *a, fb_u32 isn);
/* A SYN (acceptor) or SYN-ACK (opener) of the other direction leaves the end's host; probes go ahead of it. */
void fb_opener_handshake_leaves(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p, struct fb_shim_out *out);
void fb_acceptor_handshake_leaves(struct fb_acceptor *a, const fb_u64 *shim, const struct fb_seen *p);
/* A SYN (opener) or SYN-ACK (acceptor) of the other direction has arrived at the end's host. */
void fb_opener_handshake_arrives(struct fb_opener *o, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p);
void fb_acceptor_handshake_arrives(struct fb_acceptor *a, const fb_u64 *shim, fb_u64 now, const struct fb_seen *p);

/* The sending end of a direction has the shim; `answers`: its data is that of the host that accepts. */
static inline bool fb_has_opener(const fb_u64 *shim, bool answers)
{
	return shim[FB_PB_ENDS] == FB_PB_BOTH || (shim[FB_PB_ENDS] == FB_PB_ACCEPTOR) == answers;
}

/* The receiving end has it. */
static inline bool fb_has_acceptor(const fb_u64 *shim, bool answers)
{
	return fb_has_opener(shim, !answers);
}

/* Window field that limits a segment whose sender announced `scale` to `limit` bytes: never more than `field`, never 0 for one that was open. */
static inline fb_u16 fb_limited(fb_u16 field, fb_u64 limit, fb_u8 scale)
{
	fb_u64 units = (limit >> scale) + ((limit & ((1u << scale) - 1)) != 0);

	if (!units)
		units = 1;
	return units < field ? units : field;
}

#endif
