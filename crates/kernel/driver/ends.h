/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the end points (ends*.c), the set-up (setup.c) and the pipes (control.c) offer to each other. */
#ifndef FOREBAY_ENDS_H
#define FOREBAY_ENDS_H

#include <linux/list.h>
#include <linux/net.h>
#include <net/sock.h>
#include "forebay.h"

/* setup.c: what the program outside has said about the network. Not changed after the driver has started. */

struct fb_setup {
	struct fb_world world;
	struct fb_port *ports;
	struct fb_switch *switches;
	u32 nswitches;
	struct fb_profile *profiles;
	struct fb_group *groups;
	struct fb_interface *interfaces;
	struct fb_shim_host *shim_hosts;
	u32 nshim_hosts;
};
extern struct fb_setup fb_setup;

/* control.c */

/* Reads all of `buffer`; ends the guest when the program outside has ended. */
void fb_read(void *buffer, size_t size);
/* Sends the records kept so far. */
void fb_flush(void);
/* A line for people. */
__printf(1, 2) void fb_log(const char *format, ...);
/* Says why and powers the guest off at once. */
__printf(1, 2) void __noreturn fb_die(const char *format, ...);
/* Powers the guest off at once; `code` is the exit status of its process. */
void __noreturn fb_power_off(int code);

/* ends.c */

/* A connection, or a flow of datagrams. */
struct fb_conn {
	struct list_head todo; /* in the list of those for which a process has something to do */
	u32 number;
	u32 group;
	u32 src; /* interfaces */
	u32 dst;
	u8 work; /* FB_TODO_* */
	bool datagrams;
	bool established;
	bool endless; /* writes until FB_STOP */
	bool last;    /* nothing follows what is written */
	bool fin;     /* the sender has said that it is finished */
	bool ended;   /* CLOSED or FAILED has been reported */
	bool received_all; /* the receiver's socket has been destroyed */
	u64 goal;      /* bytes that the application has handed over so far */
	u64 written;   /* of it: taken by the socket */
	u64 delivered; /* read by the receiver in order */
	u64 received;  /* arrived at the receiver, in order or not; only once its socket is closed */
	u64 acked;     /* acknowledged; only once the sender's socket is closed */
	struct list_head messages; /* not acknowledged yet, oldest first */
	struct fb_message *unread;    /* the oldest that the receiver has not read; NULL: none */
	struct fb_message *unwritten; /* the oldest that the socket has not taken whole; NULL: none */
	struct socket *sender;
	struct socket *receiver;
	struct fb_shim_ends *shim; /* between TCP and the interfaces; NULL: nothing */
};
#define FB_TODO_READ 1
#define FB_TODO_WRITE 2
#define FB_TODO_SENDER 4 /* the state of the sender's socket has changed */

/* A message: the bytes from `begin` to `end` of its connection's stream. */
struct fb_message {
	struct list_head list;
	u64 begin;
	u64 end;
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

struct fb_conn *fb_conn(u32 number);
/* A process does `work` at this instant. From softirq or process context. */
void fb_todo(struct fb_conn *conn, u8 work);
void fb_todo_listener(struct fb_listener *listener);
void fb_event(u32 conn, enum fb_event_kind kind, u64 bytes);
/* The program outside will be asked at this instant what to do. */
void fb_ask_now(void);
/* The run: returns never, since the guest ends with it. In process context. */
void __noreturn fb_run(void);

/* ends_device.c: interfaces. */

/* A netdev for interface `number` in the namespace of the caller. */
int fb_attach(u32 number);
/* Memory that a packet of `len` bytes occupies at its receiver. */
u32 fb_memory_at_receiver(u32 len);
struct net *fb_net(u32 interface);
struct net_device *fb_device(u32 interface);

/* ends_tcp.c: sockets and connections. All in process context. */

void fb_tcp_init(void);
/* Room for datagrams or connections to arrive at. */
struct fb_listener *fb_listener(u32 interface, u32 group);
/* Makes the sender's socket and connects it; NULL when that fails, which has then been reported. */
struct socket *fb_connect(struct fb_conn *conn);
/* sendmsg of so many bytes, without waiting. */
int fb_send_bytes(struct socket *socket, size_t size);
void fb_tcp_accept(struct fb_listener *listener);
/* Does what `work` says. */
void fb_tcp_work(struct fb_conn *conn, u8 work);

/* ends_messages.c: may be called from softirqs, but for fb_tcp_message. */

/* A message has been handed over. */
void fb_tcp_message(struct fb_conn *conn, const struct fb_write *write);
/* Reports messages that the receiver has read, and those of which the sender knows it. */
void fb_tcp_report(struct fb_conn *conn);
/* Bytes of the application that have been acknowledged. */
u64 fb_tcp_acked(const struct fb_conn *conn);

/* ends_shim.c: shims between TCP and the interfaces (fb_group.shim). */

void fb_shim_init(void);
/* A new connection. */
void fb_shim_open(struct fb_conn *conn);
/* A packet leaves host `node` through the shim, if its connection has one. Takes the skb over. */
void fb_shim_send(struct fb_conn *conn, u32 node, struct sk_buff *skb);
/* A packet has reached its host; false: it is not for the stack. */
bool fb_shim_arrives(struct fb_conn *conn, bool back, struct sk_buff *skb);
/* Leaves an FB_SHIM_ROW if there is something new. */
void fb_shim_report(const struct fb_conn *conn);

/* ends_datagram.c */

void fb_datagram_open(struct fb_conn *conn);
void fb_datagram_send(struct fb_conn *conn, const struct fb_datagram *datagram);
void fb_datagram_read(struct fb_listener *listener);

/* script.c: packet scripts. */

/* Whether one runs, instead of connections. */
static inline bool fb_script(void)
{
	return fb_setup.world.records & FB_SCRIPT;
}
void fb_script_call(const struct fb_call *call);
void fb_script_inject(const struct fb_inject *inject);
/* A packet has left interface 0. */
void fb_script_sent(const struct sk_buff *skb);

/* ends_watch.c: what the sender's TCP thinks. */

/* Of the sender before an ACK is handed to it. */
struct fb_before {
	u32 srtt_us;
	u32 mdev_us;
	u32 delivered;
};
void fb_watch_before(const struct fb_conn *conn, struct fb_before *before);
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

#endif
