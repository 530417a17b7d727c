/* SPDX-License-Identifier: GPL-2.0 */
/* Outside to guest, before the run: the network, its hosts and their transports. */
#ifndef FOREBAY_PROTOCOL_SETUP_H
#define FOREBAY_PROTOCOL_SETUP_H

#include "protocol_frames.h"

struct fb_world {
	fb_u32 protocol; /* FB_PROTOCOL */
	fb_u32 nodes;
	fb_u32 ports;
	fb_u32 interfaces;
	fb_u32 groups;
	fb_u32 profiles;
	fb_u64 ties;	   /* what the order of packets of the same instant is drawn from */
	fb_u64 ties_shift; /* low bits of the arrival time (ps) that the draw does not see */
	fb_u64 records;	   /* FB_RECORD_* */
};
#define FB_RECORD_PACKETS 1 /* FB_PACKET and FB_LEAVE */
#define FB_RECORD_TCP 2	    /* FB_TCP on every ACK that a sender gets */
#define FB_SCRIPT 4	    /* a packet script runs: interface 0 has no network behind it, but the program outside */

/* Disciplines: the names of the `queues` crate. Their parameters stand at the C core of each, in the order of `param`. */
enum fb_discipline {
	FB_DROP_TAIL,
	FB_DCTCP_STEP,
	FB_RED,
	FB_LOSSY,
	FB_PROTECT,
	FB_STRICT_PRIORITY,
	FB_DWRR,
	FB_WFQ,
	FB_CHOKE,
	FB_PUSHOUT,
	FB_CODEL,
	FB_FQ_CODEL,
	FB_PIE,
	FB_DISCIPLINES,
};

/* An egress port and the link behind it; in the order of their numbers. A host's own port is a FIFO without limit. */
struct fb_port {
	fb_u32 from; /* node */
	fb_u32 to;
	fb_u64 rate;	      /* bit/s */
	fb_u64 delay;	      /* ps */
	fb_u64 limit_bytes;   /* FB_NEVER: none */
	fb_u32 limit_packets; /* FB_NONE: none */
	fb_u32 discipline;
	fb_u64 random[4]; /* state of its random stream */
	fb_u64 param[FB_PARAMS];
	fb_u64 jitter;	      /* number of random times that a host's interface takes for a packet, whole ns from 0; 0: none */
	fb_u64 jitter_state;  /* of its stream */
};

/* The shared packet memory of a switch. Only for switches that have one. */
struct fb_switch {
	fb_u32 node;
	fb_u32 pad;
	fb_u64 param[6]; /* in the order that the C core of the shared buffer names */
};

/* A network namespace's settings: every interface of the profile gets them. */
struct fb_profile {
	fb_u32 init_cwnd;  /* of its routes; 0: the kernel's */
	fb_u32 init_rwnd;
	fb_u32 rto_min_ms; /* of its routes; 0: the kernel's */
	fb_u32 quickack;
	fb_u32 burst;	   /* bytes that leave the stack as one packet at most, cut by the card (TSO); 0: one segment */
	fb_u32 hold_ns;	   /* how long the card waits for a segment that continues one (GRO, gro_flush_timeout); 0: joins none */
};

/* /proc/sys/<key> in the namespaces of a profile. */
struct fb_sysctl {
	fb_u32 profile;
	char key[60];
	char value[64];
};

/* What gives a sender's packets classes of service. */
enum fb_tagger { FB_TAG_NONE, FB_TAG_SERVICE, FB_TAG_PIAS, FB_TAG_PRIN };

/* What stands between TCP and the interfaces of both ends. */
enum fb_shim { FB_SHIM_NONE, FB_SHIM_PROBOSCIS };

/* A transport. */
struct fb_group {
	char law[16];	    /* a congestion control of the kernel; empty: datagrams */
	fb_u32 profile;
	fb_u32 flags;
	fb_u64 rcvbuf;	    /* SO_RCVBUF (bytes of buffer, as the kernel counts them before doubling); 0: tuned by the kernel */
	fb_u64 sndbuf;	    /* 0: tuned by the kernel */
	fb_u32 header;	    /* wire bytes of a packet with payload beside the payload */
	fb_u32 ack_size;    /* wire bytes of a packet without payload */
	fb_u64 send_jitter; /* ps: random time that a sender's host takes for a packet, uniform below */
	fb_u64 param[FB_PARAMS]; /* of the law, where it is one of ours */
	fb_u64 tag[FB_TAGS];	 /* FB_TAG_*, and its numbers as tag.h has them */
	fb_u64 shim[FB_SHIM];	 /* FB_SHIM_*, and its numbers as proboscis.h has them */
};
#define FB_GROUP_ECN 1	/* packets are ECN-capable: asks for ECN when a connection opens */
#define FB_GROUP_FIN 2	/* closes when the last byte has been written */

/* A network interface in a namespace of its own; the interfaces of a host share its port. In the order of their numbers. */
struct fb_interface {
	fb_u32 node;	/* host */
	fb_u32 profile;
	fb_u32 address; /* IPv4, host order; all in 10.0.0.0/8 */
	fb_u32 mtu;
};

/* What a host has for the shim of a group; in the order of groups, and of nodes in each. */
struct fb_shim_host {
	fb_u32 group;
	fb_u32 node;
	fb_u64 phase; /* ps, of its timer */
	fb_u64 cost;  /* ps in which it may repeat one probe */
};

#endif
