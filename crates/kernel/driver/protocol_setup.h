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
	fb_u64 seed;	   /* of the draws of congestion controls */
	fb_u64 flowlet_gap; /* ps: behind a longer pause of a connection at a switch it takes a random port there; FB_NEVER: ports do not change */
	fb_u64 flowlet_random[4]; /* state of the stream of these ports */
};
#define FB_RECORD_PACKETS 1 /* FB_PACKET and FB_LEAVE */
#define FB_RECORD_TCP 2	    /* FB_TCP on every ACK that a sender gets */
#define FB_RECORD_STATES 16 /* FB_SOCK_STATE of the socket after each TCP packet that it gets and each timeout */
#define FB_RECORD_HEADERS 8  /* FB_HEADER of every packet, before its first FB_PACKET */
#define FB_SCRIPT 4	    /* a packet script runs: interface 0 has no network behind it, but the program outside */

/* An egress port and the link behind it; in the order of their numbers. A host's own port has no limit. */
struct fb_port {
	fb_u32 from; /* node */
	fb_u32 to;
	fb_u64 rate;	      /* bit/s */
	fb_u64 delay;	      /* ps */
	fb_u64 limit_bytes;   /* FB_NEVER: none */
	fb_u32 limit_packets; /* FB_NONE: none */
	fb_u32 loss;	      /* enum fb_loss: packets that are lost on the link */
	fb_u64 random[4];	/* state of the random stream of its host */
	fb_u64 queue_random[4]; /* and of that of its queue */
	fb_u64 queue[FB_QUEUE]; /* the discipline, as QueueConfig of the crate `queues` has it in numbers */
	fb_u64 jitter;		/* number of random times that a host's interface takes for a packet, whole ns from 0; 0: none */
	fb_u64 jitter_state;	/* of its stream */
	fb_u64 loss_below[4];	/* bounds of 53 random bits: loss in the good and in the bad state, change to the bad and to the good one */
	fb_u64 loss_random[4];	/* state of the random stream of the loss */
	fb_u64 loss_from;	/* ps: packets that join before it are not lost */
	fb_u64 loss_until;	/* nor are those from then on */
	fb_u64 late_below;	/* bound of 53 random bits, below which a packet is late */
	fb_u64 late_by;		/* ps that a late packet arrives later; 0: none is late */
	fb_u64 late_random[4];	/* state of the random stream of late packets */
	fb_u64 batch;		/* ps: packets arrive at multiples of it, one picosecond apart; 0: at once */
};

/* Loss of packets on a link: independent of each other, by a model with two states (Gilbert and Elliott), of which it begins in one, or of the packets
 * in records fb_listed_loss. */
enum fb_loss { FB_LOSS_NONE, FB_LOSS_RANDOM, FB_LOSS_GOOD, FB_LOSS_BAD, FB_LOSS_LISTED };

/* A data packet that a port with FB_LOSS_LISTED loses: number `packet`, from 1, of those of its connection (fb_open.number) that join in the time of the loss. The
 * records of a port and connection follow each other, in ascending order of the packets. */
struct fb_listed_loss {
	fb_u32 port;
	fb_u32 number; /* of the connection */
	fb_u64 packet;
};

/* The shared packet memory of a switch. Only for switches that have one. param: bytes of the pool; FB_STATIC or FB_DYNAMIC; bytes that a port may
 * hold, or the bits of the factor (a double) on the free part. Dynamic threshold: Choudhury and Hahne 1998. */
enum fb_policy { FB_STATIC, FB_DYNAMIC };

struct fb_switch {
	fb_u32 node;
	fb_u32 pad;
	fb_u64 param[6];
};

/* A network namespace's settings: every interface of the profile gets them. */
struct fb_profile {
	fb_u32 init_cwnd;  /* of its routes; 0: the kernel's */
	fb_u32 init_rwnd;
	fb_u32 rto_min_ms; /* of its routes; 0: the kernel's */
	fb_u32 quickack;
	fb_u32 burst;	   /* bytes that leave the stack as one packet at most, cut by the card (TSO); 0: one segment */
	fb_u32 hold_ns;	   /* time from the first frame that the card holds to its interrupt, at which GRO merges the segments of flows; equal in all profiles; 0: no interrupt moderation and no GRO */
};

/* /proc/sys/<key> in the namespaces of a profile. */
struct fb_sysctl {
	fb_u32 profile;
	char key[60];
	char value[64];
};

/* Tagger that sets the classes of service of a sender's packets. */
enum fb_tagger { FB_TAG_NONE, FB_TAG_SERVICE, FB_TAG_PIAS, FB_TAG_PRIN };

/* Shim between TCP and the interfaces of both ends. */
enum fb_shim { FB_SHIM_NONE, FB_SHIM_PROBOSCIS, FB_SHIM_MISBEHAVING };
/* Numbers of FB_SHIM_MISBEHAVING. */
enum fb_misbehaving_param {
	FB_MR_KIND,
	FB_MR_PARTS, /* ACKs in place of each that advances */
};

/* A transport. */
struct fb_group {
	char cc[16];	    /* a congestion control of the kernel; empty: datagrams */
	fb_u32 profile;
	fb_u32 flags;
	fb_u64 rcvbuf;	    /* SO_RCVBUF (bytes of buffer, as the kernel counts them before doubling); 0: tuned by the kernel */
	fb_u64 sndbuf;	    /* 0: tuned by the kernel */
	fb_u64 max_pacing_rate; /* SO_MAX_PACING_RATE, bytes per second; 0: no limit */
	fb_u32 header;	    /* wire bytes of a packet with payload beside the payload */
	fb_u32 ack_size;    /* wire bytes of a packet without payload */
	fb_u64 send_jitter; /* ps: random time that a sender's host takes for a packet, uniform below */
	fb_u64 param[FB_PARAMS]; /* of our own congestion control */
	fb_u64 tag[FB_TAGS];	 /* FB_TAG_*, and its numbers as tag.h has them */
	fb_u64 shim[FB_SHIM];	 /* FB_SHIM_*, and its numbers as proboscis.h has them */
};
#define FB_GROUP_ECN 1	/* packets are ECN-capable: asks for ECN when a connection opens */
#define FB_GROUP_FIN 2	/* closes when the last byte has been written */
#define FB_GROUP_NODELAY 4 /* TCP_NODELAY: without Nagle's algorithm */

/* A network interface in a namespace of its own; the interfaces of a host share its port. In the order of their numbers. */
struct fb_interface {
	fb_u32 node;	/* host */
	fb_u32 profile;
	fb_u32 address; /* IPv4, host order; all in 10.0.0.0/8 */
	fb_u32 mtu;
};

/* State of a host for the shim of a group; in the order of groups, and of nodes in each. */
struct fb_shim_host {
	fb_u32 group;
	fb_u32 node;
	fb_u64 phase; /* ps, of its timer */
	fb_u64 cost;  /* ps in which it may repeat one probe */
};

/*
 * The root queue discipline of an interface; an interface without one sends at once (noqueue). Its options are attributes of 32 bits in
 * TCA_OPTIONS; those that are not named have the kernel's default.
 */
struct fb_qdisc {
	fb_u32 interface;
	fb_u32 flags;
	fb_u32 options;
	fb_u32 pad;
	char name[16];
	fb_u32 option[FB_OPTIONS]; /* TCA_..., or FB_QDISC_PLAIN: the value alone is TCA_OPTIONS (struct tc_fifo_qopt) */
	fb_u32 value[FB_OPTIONS];
};
#define FB_QDISC_PLAIN 0
#define FB_QDISC_BQL 1 /* byte queue limits; otherwise the ring has one packet of the queue discipline at a time */

#endif
