/* SPDX-License-Identifier: GPL-2.0 */
/* Guest to outside: events of packets, senders, timers and connections. */
#ifndef FOREBAY_PROTOCOL_RECORDS_H
#define FOREBAY_PROTOCOL_RECORDS_H

#include "protocol_frames.h"

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
	FB_DAMAGED = 100, /* the link lost it */
};

/* Events of a packet. */
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

/* Headers of a packet as its host hands it to the network: IP, and what follows up to the end of the TCP header. Checksums are not filled in. */
struct fb_header {
	fb_u64 id; /* as in struct fb_packet */
	fb_u8 bytes[FB_HEADER_BYTES]; /* zero behind the end of the packet */
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
	fb_u32 alpha;	/* dctcp: of 1024; FB_NONE: the congestion control has none */
	fb_u8 ca_state;
	fb_u8 ece; /* the ACK carried ECE */
	fb_u16 backoff;
	fb_u64 rwnd_limited_us; /* time in which the receive window limited the sender, as tcpi_rwnd_limited */
	fb_u64 sndbuf_limited_us;
	fb_u64 pacing_rate;   /* bytes per second (sk_pacing_rate) */
	fb_u64 bbr_bw;	      /* bytes per second, as tcp_bbr_info; FB_NEVER: the congestion control does not report it */
	fb_u32 bbr_min_rtt;   /* us; FB_NONE before the first sample */
	fb_u16 bbr_pacing_gain; /* of 256 */
	fb_u16 bbr_cwnd_gain;
};

enum fb_state_cause {
	FB_STATE_PACKET,  /* the socket has processed a packet */
	FB_STATE_TIMEOUT, /* its retransmission timer has expired */
};

/* State of a socket. */
struct fb_sock_state {
	fb_u64 time;
	fb_u32 conn;
	fb_u32 receiver; /* 1: of the end that accepted data, not of the sender */
	fb_u32 cause;
	fb_u32 snd_una; /* base of the sequence numbers in `private` */
	fb_u32 rcv_nxt;
	fb_u32 pad;
	fb_u8 cc[16]; /* name of the congestion control */
	fb_u64 value[FB_STATE_VALUES]; /* in the order of state.h */
	fb_u64 private[FB_STATE_PRIVATE]; /* icsk_ca_priv */
};

enum fb_timer_kind { FB_TIMER_RTO, FB_TIMER_PROBE, FB_TIMER_SYN, FB_TIMER_PERSIST, FB_TIMER_REORDERING };

/* A timer of a sender expired. */
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
	FB_SENDER_CLOSED, /* the sender has received the last FIN */
};

struct fb_event {
	fb_u64 time;
	fb_u32 conn;
	fb_u32 kind;
	fb_u64 bytes;
};

/* Results of the shims of a connection so far. Sent before the FB_ACKED of a message and at the end, after changes. */
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

/* Packets that the queue disciplines of a host have dropped since the last such record, a GSO packet counted once. */
struct fb_host_drops {
	fb_u64 time;
	fb_u32 node;
	fb_u32 drops;
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

#endif
