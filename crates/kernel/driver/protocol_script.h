/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet scripts (FB_SCRIPT): the program outside makes the calls of the application (FB_CALL, each answered by an FB_RESULT) and is the other
 * end of the network (FB_INJECT, FB_SENT). Sockets have the numbers that it gives them.
 */
#ifndef FOREBAY_PROTOCOL_SCRIPT_H
#define FOREBAY_PROTOCOL_SCRIPT_H

#include "protocol_frames.h"

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

#endif
