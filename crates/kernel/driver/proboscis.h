/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ProBoSCIS for a guest, with packets and times as input and packets as output. The shim is that of the crate `shims`, in Rust (crates/guest).
 */
#ifndef FOREBAY_PROBOSCIS_H
#define FOREBAY_PROBOSCIS_H

#include "queue.h"

/* Numbers of the shim that the driver reads; fb_group.shim begins with the kind, and the rest is for fb_proboscis_host_new. Times are ps. */
enum fb_proboscis_param {
	FB_PB_KIND = 0,
	FB_PB_WORDS = 1,
	FB_PB_TICK = 8,
	FB_PB_PROBE_SIZE = 16,
};

/* The IP protocol of probes: for experimentation (RFC 3692). The rest of one is the header of the packet behind it, with number and size of the train in
 * the place of the urgent pointer, which that does not use; as crates/kernel/bpf/proboscis has it. */
#define FB_PROBE 253

/*
 * On a TCP connection with data in both directions each direction has a sender, the end that sends its data, and a receiver. In the direction of the host
 * that accepts the connection (`answers`) the handshake is that of the other direction.
 */

/* A packet as the shim sees it, and may change it. */
struct fb_seen {
	/* First sequence number of what the sender sends; of what the receiver sends, the number that it acknowledges. */
	fb_u32 number;
	fb_u32 payload;
	fb_u16 window;
	fb_u8 flags; /* of the TCP header */
	fb_u8 ecn;   /* of the IP header */
	fb_u8 scale; /* of windows, as a SYN or SYN-ACK announces it */
	fb_u8 batch; /* number of a probe's train */
	fb_u8 size;  /* of that train; 0: it is no probe */
	fb_u8 pad;
	void *body; /* the caller's */
};
#define FB_SEEN_SYN 0x02

/* Output of packets that the shim creates. */
struct fb_shim_out {
	/* A probe (`body` is that of the packet behind it, of whose headers it is a copy), a copy of a SYN, or a SYN-ACK that was held. */
	void (*send)(struct fb_shim_out *out, const struct fb_seen *packet);
	/* A SYN-ACK that was held is not sent. */
	void (*discard)(struct fb_shim_out *out, const struct fb_seen *packet);
};

/* Pointers are valid and not null, except where a function says so. */

/* The shim of a transport at a host. */
struct fb_proboscis_host;
/* `words` is fb_group.shim from FB_PB_WORDS on; `cost` is the time in which the host earns one repeated probe. */
struct fb_proboscis_host *fb_proboscis_host_new(const fb_u64 *words, fb_u64 cost);

/* Both ends of a direction of a connection. */
struct fb_proboscis_ends;
struct fb_proboscis_ends *fb_proboscis_ends_new(void);
void fb_proboscis_results(const struct fb_proboscis_ends *ends, struct fb_shim_row *row);

/* Verdict of the receiver on the train ahead of the first SYN-ACK. */
enum fb_train_verdict { FB_VERDICT_NONE, FB_VERDICT_PROPORTIONAL, FB_VERDICT_SEVERE, FB_VERDICT_INSUFFICIENT, FB_VERDICT_UNPROBED };

/* A packet of the guest on its way to the network; probes go ahead of it. */
void fb_sender_egress(struct fb_proboscis_ends *ends, struct fb_proboscis_host *host, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out);
/* A packet on its way to the guest. */
void fb_sender_ingress(struct fb_proboscis_ends *ends, struct fb_proboscis_host *host, fb_u64 now, struct fb_seen *p);
/* The host's timer, for ends that wait. */
void fb_sender_tick(struct fb_proboscis_ends *ends, struct fb_proboscis_host *host, fb_u64 now, struct fb_shim_out *out);
bool fb_sender_waits(const struct fb_proboscis_ends *ends);

/* As above; false: the packet is held. */
bool fb_receiver_egress(struct fb_proboscis_ends *ends, struct fb_proboscis_host *host, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out);
/* As above; false: it is not for the guest. */
bool fb_receiver_ingress(struct fb_proboscis_ends *ends, const struct fb_proboscis_host *host, fb_u64 now, struct fb_seen *p, struct fb_shim_out *out);
void fb_receiver_tick(struct fb_proboscis_ends *ends, struct fb_proboscis_host *host, fb_u64 now, struct fb_shim_out *out);
bool fb_receiver_waits(const struct fb_proboscis_ends *ends);

/* The direction is that of the host that accepts the connection, whose data begins behind `isn`; NULL: that is not known yet. */
void fb_sender_answers(struct fb_proboscis_ends *ends, const fb_u32 *isn);
void fb_receiver_answers(struct fb_proboscis_ends *ends, const fb_u32 *isn);
/* A SYN-ACK (sender) or SYN (receiver) of the other direction leaves the end's host; probes go ahead of it. */
void fb_sender_handshake_egress(struct fb_proboscis_ends *ends, const struct fb_proboscis_host *host, fb_u64 now, const struct fb_seen *p,
				struct fb_shim_out *out);
void fb_receiver_handshake_egress(struct fb_proboscis_ends *ends, const struct fb_proboscis_host *host, const struct fb_seen *p);
/* A SYN (sender) or SYN-ACK (receiver) of the other direction has arrived at the end's host. */
void fb_sender_handshake_ingress(struct fb_proboscis_ends *ends, const struct fb_proboscis_host *host, fb_u64 now, const struct fb_seen *p);
void fb_receiver_handshake_ingress(struct fb_proboscis_ends *ends, const struct fb_proboscis_host *host, fb_u64 now, const struct fb_seen *p);

#endif
