/* SPDX-License-Identifier: GPL-2.0 */
/* Outside to guest, in answer to FB_ASK: requests of applications and changes of links. */
#ifndef FOREBAY_PROTOCOL_RUN_H
#define FOREBAY_PROTOCOL_RUN_H

#include "protocol_frames.h"

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
	fb_u32 rss_forth;	 /* hash of its data by the card of the receiver (RSS) */
	fb_u32 rss_back;	 /* of its ACKs, by the card of the sender */
	fb_u64 deadline;	 /* ps; FB_NEVER */
	fb_u32 reverse_of;	 /* with FB_OPEN_REVERSE: this connection */
	fb_u32 number;		 /* outside, as in fb_listed_loss */
};
#define FB_OPEN_DATAGRAMS 1 /* no handshake, no connection: FB_DATAGRAM sends */
/* No handshake of its own: the direction back of the TCP connection that `reverse_of` has opened at the same instant. The socket that accepts that
 * one is the sender of this one. */
#define FB_OPEN_REVERSE 2

/* The sender writes a message. */
struct fb_write {
	fb_u32 conn;
	fb_u32 flags; /* FB_WRITE_* */
	fb_u64 bytes; /* 0: without end, until FB_STOP */
	fb_u64 part;  /* bytes of each call but the last */
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

/* The link behind a port has another rate, delay or loss from now on. */
struct fb_retune {
	fb_u32 port;
	fb_u32 flags;	       /* FB_RETUNE_*: the values that change */
	fb_u64 rate;	       /* bit/s */
	fb_u64 delay;	       /* ps */
	fb_u64 loss_below;     /* bound of 53 random bits, below which a packet is lost */
	fb_u64 loss_random[4]; /* state of the random stream, if the link has lost no packets so far */
};
#define FB_RETUNE_RATE 1
#define FB_RETUNE_DELAY 2
#define FB_RETUNE_LOSS 4

/* One more path for a direction of a connection. Its data takes it when the hash of its socket has changed once more than for the path before; with
 * flowlets switches choose among all of them. */
struct fb_path {
	fb_u32 conn;
	fb_u32 length; /* ports */
	fb_u32 back;
	fb_u32 pad;
	fb_u32 ports[FB_HOPS];
};

/* A connection gets other paths: as in fb_open. After the ports of a path: ports of nodes where packets may still be. */
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

#endif
