/* SPDX-License-Identifier: GPL-2.0 */
/* Interfaces between the parts of the end points (ends*.c), lower parts first. Softirqs are off unless stated otherwise. */
#ifndef FOREBAY_ENDS_H
#define FOREBAY_ENDS_H

#include <linux/list.h>
#include <linux/net.h>
#include <net/sock.h>
#include "setup.h"

/* A connection, or a flow of datagrams. */
struct fb_conn {
	struct list_head todo; /* in the list of those for which a process has something to do */
	u32 number;  /* in the order of opening */
	u32 outside; /* in the program outside: in the order of creation, as in fb_open */
	u32 group;
	u32 src; /* interfaces */
	u32 dst;
	u32 rss[2]; /* hash of its packets by the cards, forth and back */
	u8 work; /* FB_TODO_* */
	bool datagrams;
	bool established;
	bool endless; /* writes until FB_STOP */
	bool last;    /* nothing follows what is written */
	bool fin;     /* the sender has said that it is finished */
	bool ended;   /* CLOSED or FAILED has been reported */
	bool received_all; /* the receiver's socket has been destroyed */
	u32 acked_number; /* that the last ACK of a misbehaving receiver was for */
	bool sacked;      /* that ACK carried SACK blocks */
	u32 drawn;     /* random numbers that its congestion control has drawn */
	u64 goal;      /* bytes that the application has handed over so far */
	u64 written;   /* of it: taken by the socket */
	u64 delivered; /* read by the receiver in order */
	u64 received;  /* arrived at the receiver, in order or not; only once its socket is closed */
	u64 acked;     /* acknowledged; only once the sender's socket is closed */
	struct list_head messages; /* not acknowledged yet, oldest first */
	struct fb_message *unread;    /* the oldest that the receiver has not read; NULL: none */
	struct fb_message *unwritten; /* the oldest that the socket has not taken whole; NULL: none */
	struct fb_conn *reverse; /* other direction of the same TCP connection; NULL: data flows in one direction */
	bool passive;		 /* it is the direction from the socket that accepts */
	struct socket *sender;
	struct socket *receiver;
	struct fb_shim_ends *shim; /* between TCP and the interfaces; NULL: nothing */
	const struct fb_datagram *leaving; /* the stack is handing its packet to the device; NULL: none */
};
#define FB_TODO_READ 1
#define FB_TODO_WRITE 2
#define FB_TODO_SENDER 4 /* the state of the sender's socket has changed */

/* A message: the bytes from `begin` to `end` of its connection's stream. */
struct fb_message {
	struct list_head list;
	u64 begin;
	u64 end;
	u64 part; /* bytes of each call but the last that writes it */
};

/* The one behind it; NULL: none. */
static inline struct fb_message *fb_next_message(struct fb_conn *conn, struct fb_message *message)
{
	return list_is_last(&message->list, &conn->messages) ? NULL : list_next_entry(message, list);
}

/* A socket that waits for connections or datagrams: one for every interface and group that is a destination. */
struct fb_listener {
	struct list_head todo;
	struct socket *socket;
	bool waiting; /* is in the list */
};

/* ends_table.c */

void fb_table_init(void);
/* The connection that opens, whose number must be the next one. */
struct fb_conn *fb_new_conn(const struct fb_open *open);
/* NULL: there is none. */
struct fb_conn *fb_conn(u32 number);
/* Total number. */
u32 fb_conns(void);

/* ends_todo.c */

/* A process does `work` at this instant. From softirq or process context. */
void fb_todo(struct fb_conn *conn, u8 work);
void fb_todo_listener(struct fb_listener *listener);
void fb_event(u32 conn, enum fb_event_kind kind, u64 bytes);
/* The program outside will be asked at this instant what to do. */
void fb_ask_now(void);
/* The same, because the time of the last FB_NEXT has come. */
void fb_wake(void);
/* True if it must be called. */
bool fb_asks(void);
/* It is being asked. */
void fb_asked(void);
/* Waits until there is something to do. In process context. */
void fb_wait(void);

/* Pending work of a process. */
struct fb_work {
	struct fb_listener *listener; /* something waits there; NULL: */
	struct fb_conn *conn;	      /* of this connection */
	u8 what;		      /* FB_TODO_* */
};
/* The next one; false: there is none. */
bool fb_take_work(struct fb_work *work);

/* ends_tag.c */

/* Class of service of a packet with `payload` bytes that leaves a host, by what its group tags packets with. */
u32 fb_class_of(const struct fb_conn *conn, bool back, const struct sk_buff *skb, u32 payload);

/* ends_misbehaving.c */

/* A packet leaves host `node` of a connection whose receiver misbehaves. Takes the skb over. */
void fb_misbehave(struct fb_conn *conn, u32 node, struct sk_buff *skb);

/* ends_shim.c: shims between TCP and the interfaces (fb_group.shim). */

void fb_shim_init(void);
/* A new connection. */
void fb_shim_open(struct fb_conn *conn);
/* The new connection is the direction back of one whose SYN has left. */
void fb_shim_join(const struct fb_conn *conn);
/* A packet leaves host `node` through the shim, if its connection has one. Takes the skb over. */
void fb_shim_send(struct fb_conn *conn, u32 node, struct sk_buff *skb);
/* A packet has reached its host; false: it is not for the stack. */
bool fb_shim_arrives(struct fb_conn *conn, bool back, struct sk_buff *skb);
/* Leaves an FB_SHIM_ROW if there is something new. */
void fb_shim_report(const struct fb_conn *conn);
/* Timers that are due by `now`. */
void fb_shim_tick(u64 now);

/* ends_messages.c: may be called from softirqs, but for fb_tcp_message. */

/* A message has been handed over. */
void fb_tcp_message(struct fb_conn *conn, const struct fb_write *write);
/* Reports messages that the receiver has read, and those that are acknowledged. */
void fb_tcp_report(struct fb_conn *conn);
/* Bytes of the application that have been acknowledged. */
u64 fb_tcp_acked(const struct fb_conn *conn);

/* ends_watch.c: state of the sender's TCP. */

/* Of the sender before an ACK is handed to it. */
struct fb_before {
	u32 srtt_us;
	u32 mdev_us;
	u32 delivered;
	u32 snd_una;
	u32 snd_wnd;
};
void fb_watch_before(const struct fb_conn *conn, struct fb_before *before);
/* False: the ACK that data carried has nothing new. */
bool fb_watch_is_news(const struct fb_conn *conn, const struct fb_before *before, bool ece);
void fb_watch_ack(const struct fb_conn *conn, const struct fb_before *before, bool ece);
/* From now on the expiry of the sender's retransmission timer leaves an FB_TIMER. */
void fb_watch_timer(struct sock *sk);
/* A SYN-ACK leaves that answers no packet. */
void fb_watch_synack(u32 conn, const struct sk_buff *skb);
/* The sender as it is now. */
void fb_watch_end(const struct fb_conn *conn);
void fb_watch_final(const struct fb_conn *conn);
/* Bytes of the receiver's socket that have arrived, in order or not. */
u64 fb_watch_received(const struct sock *sk);

/* ends_state.c */

/* Leaves an FB_SOCK_STATE of one end of a connection. */
void fb_state_record(u32 conn, bool receiver, struct sock *sk, enum fb_state_cause cause);

/* ends_tcp.c: sockets and connections. All in process context. */

/* The direction in which a socket sends, and the one in which it receives. */
static inline struct fb_conn *fb_sends(struct fb_conn *conn, const struct sock *sk)
{
	return conn && conn->reverse && !(conn->sender && conn->sender->sk == sk) ? conn->reverse : conn;
}

static inline struct fb_conn *fb_receives(struct fb_conn *conn, const struct sock *sk)
{
	return conn && conn->reverse && !(conn->receiver && conn->receiver->sk == sk) ? conn->reverse : conn;
}

void fb_tcp_init(void);
/* Room for datagrams or connections to arrive at. */
struct fb_listener *fb_listener(u32 interface, u32 group);
/* Makes the sender's socket and connects it; NULL when that fails, which has then been reported. */
struct socket *fb_connect(struct fb_conn *conn);
/* The direction back of the TCP connection that `opener` has opened. */
void fb_open_reverse(struct fb_conn *conn, struct fb_conn *opener);
/* sendmsg of so many bytes, without waiting. */
int fb_send_bytes(struct socket *socket, size_t size);
void fb_tcp_accept(struct fb_listener *listener);
/* Executes `work`. */
void fb_tcp_work(struct fb_conn *conn, u8 work);

/* ends_datagram.c */

void fb_datagram_open(struct fb_conn *conn);
void fb_datagram_send(struct fb_conn *conn, const struct fb_datagram *datagram);
void fb_datagram_read(struct fb_listener *listener);

/* ends_packets.c */

/* A packet leaves an interface of host `node`. Takes the skb over. */
void fb_leaves(struct sk_buff *skb, u32 node);
/* As fb_wire_hosts.deliver. */
void fb_deliver(u32 conn, bool back, struct sk_buff *skb, u64 time);
/* A packet, or several that GRO has merged, is for the stack of its interface. Takes the skb over. */
void fb_stack_receives(struct sk_buff *skb);
/* As fb_wire_hosts.tick: interrupts of cards, and timers of shims. */
void fb_tick(u64 now);

/* ends.c: what applications want (protocol_run.h). In process context. */

void fb_want_open(const struct fb_open *open);
void fb_want_write(const struct fb_write *write);
void fb_want_stop(const struct fb_stop *stop);
void fb_want_datagram(const struct fb_datagram *datagram);

/* Interface of our own congestion controls; the driver has empty functions (weak symbols) for a kernel without them. In softirq context. */

/* Parameters of the congestion control of this socket, in the order of its core. Its `init` has been called. */
void forebay_cc_set(struct sock *sk, const u64 *param, unsigned int count);
/* The next message of this socket is `bytes` long (0: without end), and is wanted by `deadline` (ps since the start of the run). */
void forebay_cc_message(struct sock *sk, u64 bytes, u64 deadline);

#endif
