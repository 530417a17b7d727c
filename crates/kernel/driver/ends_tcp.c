// SPDX-License-Identifier: GPL-2.0
/*
 * Connections with real sockets. Softirqs only note what a process would be woken for (the socket's callbacks); the process's own calls
 * (accept, recvmsg, sendmsg, shutdown, close) are made in process context at the same instant.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/inet_common.h>
#include <net/tcp.h>
#include "control.h"
#include "device.h"
#include "ends.h"
#include "flow_hash.h"

/* Of a destination; connections start at one of the sender's ports, in turn. */
#define LISTEN_PORT 5000
#define FIRST_PORT 10000
#define PORTS 50000
/* Most bytes of one sendmsg: more than a socket takes. */
#define WRITE_PAGES 16384

static struct fb_listener *listeners; /* interface * groups + group */
static u32 *opened;		      /* connections that each interface has opened */
static struct kvec *data;	      /* one page again and again */

void __weak forebay_cc_set(struct sock *sk, const u64 *param, unsigned int count)
{
}

void fb_tcp_init(void)
{
	void *page = (void *)get_zeroed_page(GFP_KERNEL);
	u32 i;

	listeners = vzalloc(array3_size(fb_setup.world.interfaces, fb_setup.world.groups, sizeof(*listeners)));
	opened = vzalloc(array_size(fb_setup.world.interfaces, sizeof(*opened)));
	data = vmalloc(array_size(WRITE_PAGES, sizeof(*data)));
	if (!page || !listeners || !opened || !data)
		fb_die("no memory for end points: give the guest more (mem=)");
	for (i = 0; i < WRITE_PAGES; i++)
		data[i] = (struct kvec){ .iov_base = page, .iov_len = PAGE_SIZE };
}

static struct fb_conn *conn_of(struct sock *sk)
{
	return sk->sk_user_data;
}

/* Callbacks of the sockets; in softirq context mostly. */

static void listener_ready(struct sock *sk)
{
	/* A connection that has not been accepted has its listener's callbacks: what it has to say is looked at when it is accepted. */
	if (sk->sk_state == TCP_LISTEN)
		fb_todo_listener(sk->sk_user_data);
}

static void datagram_ready(struct sock *sk)
{
	fb_todo_listener(sk->sk_user_data);
}

static void receiver_ready(struct sock *sk)
{
	if (conn_of(sk))
		fb_todo(fb_receives(conn_of(sk), sk), FB_TODO_READ);
}

/* As sk_stream_write_space (net/core/stream.c) wakes a process that waits for room. */
static void sender_space(struct sock *sk)
{
	if (!conn_of(sk) || !__sk_stream_is_writeable(sk, 1))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	fb_todo(fb_sends(conn_of(sk), sk), FB_TODO_WRITE);
}

static void sender_changed(struct sock *sk)
{
	struct fb_conn *conn = conn_of(sk);

	if (!conn)
		return;
	if (sk->sk_state == TCP_ESTABLISHED && !conn->established) {
		conn->established = true;
		forebay_cc_set(sk, fb_setup.groups[conn->group].param, FB_PARAMS);
		fb_event(conn->number, FB_ESTABLISHED, 0);
		fb_todo(conn, FB_TODO_WRITE);
	}
	if (sk->sk_state == TCP_CLOSE)
		fb_todo(conn, FB_TODO_SENDER);
}

static void closed(struct fb_conn *conn)
{
	if (conn->ended || conn->sender || !conn->received_all)
		return;
	conn->ended = true;
	fb_event(conn->number, FB_CLOSED, 0);
}

/* The receiver's socket has been forgotten by the stack as well. */
static void receiver_destroyed(struct sock *sk)
{
	struct fb_conn *conn = conn_of(sk);

	inet_sock_destruct(sk);
	conn->received_all = true;
	closed(conn);
}

/* A socket with the congestion control and the buffers of a group. */
static struct socket *make_socket(u32 interface, u32 number)
{
	const struct fb_group *group = &fb_setup.groups[number];
	bool datagrams = !group->cc[0];
	struct socket *socket;
	struct sock *sk;
	int error = sock_create_kern(fb_net(interface), AF_INET, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0, &socket);

	if (error)
		fb_die("no socket on interface %u: error %d", interface, -error);
	sk = socket->sk;
	sk->sk_reuse = SK_CAN_REUSE;
	if (group->rcvbuf)
		sock_set_rcvbuf(sk, min(group->rcvbuf, INT_MAX / 2ull));
	lock_sock(sk);
	/* A process that sends datagrams waits for room; the host's card has room for all of them. */
	if (group->sndbuf || datagrams) {
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		WRITE_ONCE(sk->sk_sndbuf, max_t(int, min(group->sndbuf ?: U64_MAX, INT_MAX / 2ull) * 2, SOCK_MIN_SNDBUF));
	}
	/* sk_setsockopt, SO_MAX_PACING_RATE; accepted sockets inherit it. */
	if (group->max_pacing_rate) {
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
		WRITE_ONCE(sk->sk_max_pacing_rate, group->max_pacing_rate);
		sk->sk_pacing_rate = min_t(unsigned long, sk->sk_pacing_rate, group->max_pacing_rate);
	}
	if (!datagrams && group->flags & FB_GROUP_NODELAY)
		__tcp_sock_set_nodelay(sk, true);
	if (!datagrams)
		error = tcp_set_congestion_control(sk, group->cc, false, true);
	release_sock(sk);
	if (error)
		fb_die("the congestion control %s is not in this kernel", group->cc);
	return socket;
}

static struct sockaddr_in address_of(u32 interface, u16 port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(fb_setup.interfaces[interface].address),
	};
}

static int bind_socket(struct socket *socket, u32 interface, u16 port)
{
	struct sockaddr_in address = address_of(interface, port);

	return kernel_bind(socket, (void *)&address, sizeof(address));
}

static int connect_socket(struct socket *socket, u32 interface, u16 port)
{
	struct sockaddr_in address = address_of(interface, port);

	return kernel_connect(socket, (void *)&address, sizeof(address), O_NONBLOCK);
}

struct fb_listener *fb_listener(u32 interface, u32 group)
{
	struct fb_listener *listener = &listeners[interface * fb_setup.world.groups + group];
	struct sock *sk;
	int error;

	if (listener->socket)
		return listener;
	listener->socket = make_socket(interface, group);
	error = bind_socket(listener->socket, interface, LISTEN_PORT + group);
	sk = listener->socket->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = listener;
	sk->sk_data_ready = sk->sk_type == SOCK_DGRAM ? datagram_ready : listener_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	if (!error && sk->sk_type != SOCK_DGRAM)
		error = kernel_listen(listener->socket, 65535);
	if (error)
		fb_die("interface %u cannot listen for group %u: error %d", interface, group, -error);
	return listener;
}

struct socket *fb_connect(struct fb_conn *conn)
{
	const struct fb_group *group = &fb_setup.groups[conn->group];
	u8 *ecn = &fb_net(conn->src)->ipv4.sysctl_tcp_ecn;
	u8 had = *ecn;
	int error, tries;

	fb_listener(conn->dst, conn->group);
	fb_flow_hash_for(conn->number, false);
	for (tries = 0; tries < PORTS; tries++) {
		struct socket *socket = make_socket(conn->src, conn->group);
		struct sock *sk = socket->sk;

		sk->sk_mark = conn->number + 1;
		sk->sk_user_data = conn;
		if (sk->sk_type == SOCK_STREAM) {
			write_lock_bh(&sk->sk_callback_lock);
			sk->sk_write_space = sender_space;
			sk->sk_state_change = sender_changed;
			write_unlock_bh(&sk->sk_callback_lock);
			fb_watch_timer(sk);
		}
		error = bind_socket(socket, conn->src, FIRST_PORT + opened[conn->src]++ % PORTS);
		conn->sender = socket;
		/* The SYN is made before connect returns; a congestion control that needs ECN requests it whatever the setting (tcp_ecn_send_syn). */
		if (group->flags & FB_GROUP_ECN)
			*ecn = 1;
		if (!error)
			error = connect_socket(socket, conn->dst, LISTEN_PORT + conn->group);
		*ecn = had;
		if (!error || error == -EINPROGRESS)
			return socket;
		/* The port is taken, by a connection in TIME-WAIT for instance. */
		sk->sk_user_data = NULL;
		conn->sender = NULL;
		sock_release(socket);
		if (error != -EADDRINUSE && error != -EADDRNOTAVAIL)
			break;
	}
	conn->ended = true;
	fb_event(conn->number, FB_FAILED, -error);
	return NULL;
}

int fb_send_bytes(struct socket *socket, size_t size)
{
	struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	return kernel_sendmsg(socket, &message, data, DIV_ROUND_UP(size, PAGE_SIZE), size);
}

void fb_open_reverse(struct fb_conn *conn, struct fb_conn *opener)
{
	struct sock *sk;

	if (conn->src != opener->dst || conn->dst != opener->src || opener->reverse || !opener->sender)
		fb_die("connection %u is not the direction back of connection %u", conn->number, opener->number);
	conn->passive = true;
	conn->reverse = opener;
	opener->reverse = conn;
	conn->receiver = opener->sender;
	sk = conn->receiver->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = receiver_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	fb_shim_join(conn);
}

/* The socket that accepts is the sender of the direction back. */
static void accept_reverse(struct fb_conn *conn, struct socket *socket)
{
	struct sock *sk = socket->sk;

	conn->sender = socket;
	conn->established = true;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_write_space = sender_space;
	write_unlock_bh(&sk->sk_callback_lock);
	fb_watch_timer(sk);
	fb_event(conn->number, FB_ESTABLISHED, 0);
	fb_todo(conn, FB_TODO_WRITE);
}

void fb_tcp_accept(struct fb_listener *listener)
{
	struct socket *socket;

	while (!kernel_accept(listener->socket, &socket, O_NONBLOCK)) {
		struct sock *sk = socket->sk;
		struct fb_conn *conn = fb_conn(sk->sk_mark - 1);

		if (!conn || conn->receiver || conn->received_all) {
			fb_log("accepted a socket of no connection (mark %u)", sk->sk_mark);
			sk->sk_user_data = NULL;
			sock_release(socket);
			continue;
		}
		conn->receiver = socket;
		if (conn->reverse)
			accept_reverse(conn->reverse, socket);
		write_lock_bh(&sk->sk_callback_lock);
		sk->sk_user_data = conn;
		sk->sk_data_ready = receiver_ready;
		sk->sk_state_change = receiver_ready;
		sk->sk_destruct = receiver_destroyed;
		write_unlock_bh(&sk->sk_callback_lock);
		local_bh_disable();
		forebay_cc_set(sk, fb_setup.groups[conn->group].param, FB_PARAMS);
		local_bh_enable();
		fb_todo(conn, FB_TODO_READ);
	}
}

static void close_receiver(struct fb_conn *conn)
{
	conn->received = fb_watch_received(conn->receiver->sk);
	/* A socket of both directions ends as a sender: its stream ends when the connection breaks. */
	if (!conn->reverse)
		sock_release(conn->receiver);
	else if (conn->reverse->sender)
		fb_todo(conn->reverse, FB_TODO_SENDER);
	conn->receiver = NULL;
}

/* As a process that reads whatever there is each time it is woken; the bytes are not looked at (MSG_TRUNC, tcp(7)). */
static void read_conn(struct fb_conn *conn)
{
	while (conn->receiver) {
		struct kvec nowhere = { .iov_base = data[0].iov_base, .iov_len = 1 << 30 };
		struct msghdr message = {};
		struct sock *sk = conn->receiver->sk;
		int got = kernel_recvmsg(conn->receiver, &message, &nowhere, 1, nowhere.iov_len, MSG_TRUNC | MSG_DONTWAIT);

		if (got == -EAGAIN)
			break;
		if (got <= 0) {
			close_receiver(conn);
			break;
		}
		conn->delivered += got;
		if (!(sk->sk_shutdown & RCV_SHUTDOWN) && !sk->sk_err)
			break;
	}
	fb_tcp_report(conn);
}

/* Bytes of a message that the call takes which writes its next byte. */
static u64 rest_of_call(const struct fb_message *message, u64 written)
{
	u64 done = max(written, message->begin) - message->begin;

	return min(message->end - written, message->part - done % message->part);
}

/* As a process that writes one message after the other, each with its number of calls, and waits while the socket has no room. */
static void write_conn(struct fb_conn *conn)
{
	const u64 most = WRITE_PAGES * PAGE_SIZE;

	if (!conn->established || !conn->sender || conn->fin)
		return;
	/* It still waits, whatever else there is to write: sender_space wakes it. */
	if (test_bit(SOCK_NOSPACE, &conn->sender->flags))
		return;
	for (;;) {
		u64 size = most;
		int sent;

		while (conn->unwritten && conn->unwritten->end <= conn->written)
			conn->unwritten = fb_next_message(conn, conn->unwritten);
		if (conn->unwritten)
			size = min(rest_of_call(conn->unwritten, conn->written), most);
		else if (!conn->endless)
			break;
		sent = fb_send_bytes(conn->sender, size);
		if (sent > 0)
			conn->written += sent;
		if (sent < (s64)size) /* no room: sender_space; broken: sender_changed */
			return;
	}
	if (conn->last && fb_setup.groups[conn->group].flags & FB_GROUP_FIN) {
		conn->fin = true;
		kernel_sock_shutdown(conn->sender, SHUT_WR);
	}
}

/* The sender's socket is in state CLOSED: the connection has broken, or the last FIN has come (TIME-WAIT lives on without a socket). */
static void close_sender(struct fb_conn *conn)
{
	struct sock *sk;
	int error;

	if (!conn->sender)
		return;
	sk = conn->sender->sk;
	error = sk->sk_err;
	fb_tcp_report(conn);
	fb_watch_end(conn);
	conn->acked = fb_tcp_acked(conn);
	sk->sk_user_data = NULL;
	if (conn->reverse)
		conn->reverse->receiver = NULL;
	sock_release(conn->sender);
	conn->sender = NULL;
	if (error && !conn->ended) {
		conn->ended = true;
		fb_event(conn->number, FB_FAILED, error);
	} else if (!error) {
		fb_event(conn->number, FB_SENDER_CLOSED, 0);
	}
	closed(conn);
}

void fb_tcp_work(struct fb_conn *conn, u8 work)
{
	if (work & FB_TODO_READ)
		read_conn(conn);
	if (work & FB_TODO_WRITE)
		write_conn(conn);
	if (work & FB_TODO_SENDER)
		close_sender(conn);
}
