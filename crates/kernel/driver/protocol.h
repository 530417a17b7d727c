/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the program outside and the driver inside say to each other.
 *
 * The guest kernel has the network and the TCP end points; the applications that decide who writes what and when run outside, in the program
 * that started the guest, and are the ones that drive the simulator. Guest time stands still while the guest waits for an answer, so that the
 * conversation costs none.
 *
 * Two pipes: the guest reads FB_FD_IN and writes FB_FD_OUT. Both carry frames: a header and `count` records of the size that belongs to its
 * kind. Little endian, no padding that is not named. Times are picoseconds since the agreed start of the run; FB_NEVER is "not at all".
 *
 *   outside -> guest   FB_WORLD, FB_PORT..., FB_SWITCH..., FB_PROFILE..., FB_SYSCTL..., FB_GROUP..., FB_INTERFACE...,
 *                      FB_SHIM_HOST..., FB_SETUP_END
 *   guest -> outside   FB_HELLO
 *   then, again and again,
 *   guest -> outside   FB_PACKET, FB_LEAVE, FB_TCP, FB_TIMER, FB_EVENT in the order of their times, then FB_ASK
 *   outside -> guest   FB_OPEN, FB_WRITE, FB_STOP, FB_DATAGRAM, FB_LINK, FB_ROUTE, then FB_NEXT; with FB_QUIT in it the run ends
 *   at the end
 *   guest -> outside   what is left of the records, FB_FINAL for every connection, FB_DONE
 *
 * FB_ASK comes at the start (time 0), whenever the time of the last FB_NEXT is reached, and when there are events. FB_LOG may come at any
 * time and is for people.
 */
#ifndef FOREBAY_PROTOCOL_H
#define FOREBAY_PROTOCOL_H

#ifdef __KERNEL__
#include <linux/types.h>
typedef u8 fb_u8; typedef u16 fb_u16; typedef u32 fb_u32; typedef u64 fb_u64;
#else
#include <stdint.h>
typedef uint8_t fb_u8; typedef uint16_t fb_u16; typedef uint32_t fb_u32; typedef uint64_t fb_u64;
#endif

#define FB_PROTOCOL 1
#define FB_FD_IN 3
#define FB_FD_OUT 4
#define FB_NEVER (~(fb_u64)0)
#define FB_NONE (~(fb_u32)0)
/* Most ports that a packet passes from host to host, the host's own among them. */
#define FB_HOPS 24
/* Numbers of a discipline or a law. */
#define FB_PARAMS 24
/* Numbers of what tags packets. */
#define FB_TAGS 9
/* Numbers of a shim below TCP. */
#define FB_SHIM 26

enum fb_kind {
	/* Outside to guest, before the run. */
	FB_WORLD = 1,
	FB_PORT,
	FB_SWITCH,
	FB_PROFILE,
	FB_SYSCTL,
	FB_GROUP,
	FB_INTERFACE,
	FB_SHIM_HOST,
	FB_SETUP_END, /* no record */
	/* Outside to guest, in answer to FB_ASK. */
	FB_OPEN = 32,
	FB_WRITE,
	FB_STOP,
	FB_DATAGRAM,
	FB_NEXT,
	FB_LINK,
	FB_ROUTE,
	FB_CALL, /* packet scripts */
	FB_INJECT,
	/* Guest to outside. */
	FB_HELLO = 64,
	FB_PACKET,
	FB_LEAVE,
	FB_TCP,
	FB_TIMER,
	FB_EVENT,
	FB_ASK,
	FB_FINAL,
	FB_DONE,
	FB_LOG, /* records are bytes */
	FB_RESULT, /* packet scripts */
	FB_SENT,
	FB_SHIM_ROW,
};

struct fb_frame {
	fb_u32 kind;
	fb_u32 count;
};

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

/* A connection opens now: SYN, handshake. Connections are numbered from 0 without gaps in the order in which they open. */
struct fb_open {
	fb_u32 conn;
	fb_u32 group;
	fb_u32 src; /* interface */
	fb_u32 dst;
	fb_u32 forth_len; /* ports */
	fb_u32 back_len;
	fb_u32 forth[FB_HOPS]; /* ports that its data passes, the first is the sending host's */
	fb_u32 back[FB_HOPS];  /* ports that its ACKs pass */
	fb_u64 ties_forth;     /* names the direction in the draw for packets of the same instant */
	fb_u64 ties_back;
	fb_u32 class_of_service; /* of its data */
	fb_u32 flags;		 /* FB_OPEN_* */
	fb_u64 deadline;	 /* ps; FB_NEVER */
};
#define FB_OPEN_DATAGRAMS 1 /* no handshake, no connection: FB_DATAGRAM sends */

/* The sender writes a message. */
struct fb_write {
	fb_u32 conn;
	fb_u32 flags; /* FB_WRITE_* */
	fb_u64 bytes; /* 0: without end, until FB_STOP */
	fb_u64 deadline;
};
#define FB_WRITE_LAST 1 /* nothing follows */

/* A sender that writes without end stops. */
struct fb_stop {
	fb_u32 conn;
	fb_u32 pad;
};

struct fb_datagram {
	fb_u32 conn;
	fb_u32 payload; /* bytes */
	fb_u32 wire;	/* bytes on the wire */
	fb_u32 class_of_service; /* as its connection's */
};

/* The link behind a port goes down, or comes back with an empty queue. */
struct fb_link {
	fb_u32 port;
	fb_u32 up;
	fb_u64 random[4]; /* state of the queue's random stream from then on */
};

/* A connection takes other ways: as in fb_open, and behind the ports of a way those of nodes where packets may still be. */
struct fb_route {
	fb_u32 conn;
	fb_u32 pad;
	fb_u32 forth_len;
	fb_u32 back_len;
	fb_u32 forth[FB_HOPS];
	fb_u32 back[FB_HOPS];
};

struct fb_next {
	fb_u64 wake; /* when to ask at the latest; FB_NEVER */
	fb_u32 quit;
	fb_u32 pad;
};

struct fb_hello {
	fb_u32 protocol;
	fb_u32 record_sizes; /* sum of the sizes of all structs above and below: both sides must agree */
	char version[56];    /* of the kernel */
};

enum fb_what {
	FB_ARRIVED, /* joined the queue of a port */
	FB_MARKED,  /* joined it with CE set there */
	FB_DROPPED,
	FB_DELIVERED_PACKET, /* reached its host; port is the last one it passed */
	FB_MARKED_LATER, /* got CE while in the queue, or when it left it */
};

enum fb_reason {
	FB_OVERFLOW,
	FB_SHARED,
	FB_EARLY,
	FB_DEAD, /* the link was down */
	FB_CUT,	 /* it waited or was in service when the link went down: has not left, and is no longer in the queue */
	FB_LOST, /* it was on the wire when the link went down */
};

/* What happened to a packet. */
struct fb_packet {
	fb_u64 time;
	fb_u64 id;   /* the same at every port that it passes; numbered in the order in which hosts sent them */
	fb_u32 conn;
	fb_u32 port;
	fb_u32 seq; /* as in the TCP header */
	fb_u32 ack;
	fb_u32 payload; /* bytes */
	fb_u32 wire;	/* bytes */
	fb_u16 window;	/* as in the header */
	fb_u8 tcp_flags;
	fb_u8 ecn; /* of the IP header, before a mark of this port */
	fb_u8 what;
	fb_u8 reason;
	fb_u8 class_of_service;
	fb_u8 back; /* 1: in the direction of ACKs */
	fb_u32 queue_packets; /* waiting and in service, without it; what made space for it was dropped before */
	fb_u32 pad;
	fb_u64 queue_bytes;
};

/* A packet's last bit left a port: it is no longer in the queue. */
struct fb_leave {
	fb_u64 time;
	fb_u64 id;
	fb_u32 port;
	fb_u32 wire;
};

/* A sender after an ACK, or at the end. */
struct fb_tcp {
	fb_u64 time;
	fb_u32 conn;
	fb_u32 cwnd;	 /* segments */
	fb_u32 ssthresh; /* segments; FB_NONE before the first reduction */
	fb_u32 srtt_us8; /* eighths of a microsecond, as tcp_sock.srtt_us */
	fb_u32 rttvar_us4;
	fb_u32 rto_us;
	fb_u64 acked;	 /* bytes acknowledged, without SYN and FIN */
	fb_u32 unacked;	 /* bytes sent and not cumulatively acknowledged */
	fb_u32 packets_out;
	fb_u32 sacked_out;
	fb_u32 lost_out;
	fb_u32 retrans_out;
	fb_u32 total_retrans;
	fb_u32 rtt_us;	/* sample of this ACK; FB_NONE: none */
	fb_u32 snd_wnd; /* bytes */
	fb_u32 alpha;	/* dctcp: of 1024; FB_NONE: the law has none */
	fb_u8 ca_state;
	fb_u8 ece; /* the ACK carried ECE */
	fb_u16 backoff;
};

enum fb_timer_kind { FB_TIMER_RTO, FB_TIMER_PROBE, FB_TIMER_SYN, FB_TIMER_PERSIST };

/* A retransmission timer ran out. */
struct fb_timer {
	fb_u64 time;
	fb_u32 conn;
	fb_u32 kind;
	fb_u32 rto_us; /* that had been in force */
	fb_u32 backoff;
	fb_u32 packets_out;
	fb_u32 pad;
};

enum fb_event_kind {
	FB_WAKE,	/* the time of FB_NEXT has come */
	FB_ESTABLISHED, /* the sender can send */
	FB_DELIVERED,	/* the receiver has read all bytes of a message: `bytes` in order so far */
	FB_ACKED,	/* the sender knows it: `bytes` acknowledged so far */
	FB_FAILED,	/* the connection broke: `bytes` is the errno */
	FB_DATAGRAM_IN,	/* a datagram was delivered */
	FB_CLOSED,	/* both ends have forgotten it */
};

struct fb_event {
	fb_u64 time;
	fb_u32 conn;
	fb_u32 kind;
	fb_u64 bytes;
};

/* What the shims of a connection have done so far. Before the FB_ACKED of a message and at the end, where there is something new. */
struct fb_shim_row {
	fb_u64 time;
	fb_u32 conn;
	fb_u32 probes;	  /* sent ahead of the handshake */
	fb_u32 verdict;	  /* enum fb_train_verdict in proboscis.h, on the first SYN-ACK */
	fb_u32 pad;
	fb_u64 window;	  /* of the first SYN-ACK that left the shim; FB_NEVER: none has */
	fb_u64 held;	  /* ps that it was held */
	fb_u64 throttled; /* ACKs whose window was lowered */
};

struct fb_ask {
	fb_u64 now;
};

struct fb_final {
	fb_u32 conn;
	fb_u32 pad;
	fb_u64 delivered; /* bytes read in order */
	fb_u64 received;  /* bytes received, in order or not */
	fb_u64 acked;
};

struct fb_done {
	fb_u64 now;
	fb_u64 events;	    /* of the wire */
	fb_u64 late_events; /* that were handled after their time */
	fb_u64 late_max;    /* ps */
	fb_u64 packets;
};

/*
 * Packet scripts (FB_SCRIPT): the program outside makes the calls of the application (FB_CALL, each answered by an FB_RESULT) and is the other
 * end of the network (FB_INJECT, FB_SENT). Sockets have the numbers that it gives them.
 */
enum fb_call_kind {
	FB_CALL_SOCKET,	 /* makes socket `socket` */
	FB_CALL_LISTEN,	 /* bind to port number[0] of interface 0, and listen */
	FB_CALL_CONNECT, /* to address number[0] (host order), port number[1] */
	FB_CALL_ACCEPT,	 /* from `socket`; the new one is number[0] */
	FB_CALL_SEND,	 /* number[0] bytes */
	FB_CALL_RECEIVE, /* at most number[0] bytes */
	FB_CALL_SHUTDOWN, /* SHUT_* in number[0] */
	FB_CALL_CLOSE,
	FB_CALL_SET,  /* option number[1] of level number[0]: text, or number[2] where there is none */
	FB_CALL_GET,  /* option number[1] of level number[0], with room for number[2] bytes, into `bytes` */
};

/* No call waits: one that would returns -EAGAIN. */
struct fb_call {
	fb_u32 call; /* enum fb_call_kind */
	fb_u32 socket;
	fb_u64 number[3];
	char text[32];
};
#define FB_SOCKETS 64

struct fb_result {
	fb_u64 value; /* what the call returned, or -errno, as a signed number */
	fb_u8 bytes[256];
};

/* A packet that arrives at interface 0: the IP header and what follows, zeros behind the first bytes. Checksums are not looked at. */
struct fb_inject {
	fb_u32 length;
	fb_u32 head; /* bytes of it in `bytes` */
	fb_u8 bytes[120];
};

/* A packet that left interface 0. */
struct fb_sent {
	fb_u64 time;
	fb_u32 length;
	fb_u32 head;
	fb_u8 bytes[120];
};

/* fb_hello.record_sizes */
#define FB_RECORD_SIZES                                                                                                                  \
	(sizeof(struct fb_frame) + sizeof(struct fb_world) + sizeof(struct fb_port) + sizeof(struct fb_switch) +                         \
	 sizeof(struct fb_profile) + sizeof(struct fb_sysctl) + sizeof(struct fb_group) + sizeof(struct fb_interface) +                  \
	 sizeof(struct fb_open) + sizeof(struct fb_write) + sizeof(struct fb_stop) + sizeof(struct fb_datagram) +                        \
	 sizeof(struct fb_next) + sizeof(struct fb_hello) + sizeof(struct fb_packet) + sizeof(struct fb_leave) + sizeof(struct fb_tcp) + \
	 sizeof(struct fb_timer) + sizeof(struct fb_event) + sizeof(struct fb_ask) + sizeof(struct fb_final) + sizeof(struct fb_done) +  \
	 sizeof(struct fb_link) + sizeof(struct fb_route) + sizeof(struct fb_call) + sizeof(struct fb_inject) + sizeof(struct fb_result) + sizeof(struct fb_sent) + \
	 sizeof(struct fb_shim_host) + sizeof(struct fb_shim_row))

#endif
