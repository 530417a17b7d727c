// SPDX-License-Identifier: GPL-2.0
/*
 * Packet scripts: one host without a network. The program outside makes the calls of its application, and is the other end of the connection: it
 * receives the packets that leave the interface, and sends those that arrive. Calls do not block; the program outside repeats blocking calls.
 */
#include <linux/etherdevice.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "clock.h"
#include "card.h"
#include "control.h"
#include "device.h"
#include "ends.h"
#include "script.h"

static struct socket *sockets[FB_SOCKETS];

static int new_socket(u32 number)
{
	/* As a process has them, with a reference to the namespace: close() stops the timers of the kernel's own (tcp_close). */
	return __sock_create(fb_net(0), AF_INET, SOCK_STREAM, IPPROTO_TCP, &sockets[number], 0);
}

static struct sockaddr_in address(u64 host, u64 port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host) };
}

static int listen_at(struct socket *socket, u64 port)
{
	struct sockaddr_in at = address(fb_setup.interfaces[0].address, port);
	int error = kernel_bind(socket, (void *)&at, sizeof(at));

	return error ? error : kernel_listen(socket, 16);
}

static int connect_to(struct socket *socket, u64 host, u64 port)
{
	struct sockaddr_in to = address(host, port);

	return kernel_connect(socket, (void *)&to, sizeof(to), O_NONBLOCK);
}

static int receive(struct socket *socket, u64 size)
{
	struct kvec nowhere = { .iov_base = NULL, .iov_len = size };
	struct msghdr message = {};

	return kernel_recvmsg(socket, &message, &nowhere, 1, size, MSG_TRUNC | MSG_DONTWAIT);
}

static int write_option(struct sock *sk, const struct fb_call *call)
{
	int number = call->number[2];
	sockptr_t value = KERNEL_SOCKPTR(&number);
	u32 size = sizeof(number);

	if (call->text[0]) {
		value = KERNEL_SOCKPTR((void *)call->text);
		size = strnlen(call->text, sizeof(call->text));
	}
	if (call->number[0] == SOL_SOCKET)
		return sk_setsockopt(sk, SOL_SOCKET, call->number[1], value, size);
	return do_tcp_setsockopt(sk, SOL_TCP, call->number[1], value, size);
}

static int read_option(struct sock *sk, const struct fb_call *call, u8 *bytes)
{
	int size = min_t(u64, call->number[2], sizeof_field(struct fb_result, bytes));

	if (call->number[0] == SOL_SOCKET)
		return sk_getsockopt(sk, SOL_SOCKET, call->number[1], KERNEL_SOCKPTR(bytes), KERNEL_SOCKPTR(&size));
	return do_tcp_getsockopt(sk, SOL_TCP, call->number[1], KERNEL_SOCKPTR(bytes), KERNEL_SOCKPTR(&size));
}

static int make(const struct fb_call *call, struct fb_result *result)
{
	struct socket **socket = &sockets[call->socket];

	if (call->call == FB_CALL_SOCKET)
		return *socket ? -EEXIST : new_socket(call->socket);
	if (!*socket)
		return -EBADF;
	switch (call->call) {
	case FB_CALL_LISTEN:
		return listen_at(*socket, call->number[0]);
	case FB_CALL_CONNECT:
		return connect_to(*socket, call->number[0], call->number[1]);
	case FB_CALL_ACCEPT:
		if (call->number[0] >= FB_SOCKETS || sockets[call->number[0]])
			return -EEXIST;
		return kernel_accept(*socket, &sockets[call->number[0]], O_NONBLOCK);
	case FB_CALL_SEND:
		return fb_send_bytes(*socket, call->number[0]);
	case FB_CALL_RECEIVE:
		return receive(*socket, call->number[0]);
	case FB_CALL_SHUTDOWN:
		return kernel_sock_shutdown(*socket, call->number[0]);
	case FB_CALL_CLOSE:
		sock_release(*socket);
		*socket = NULL;
		return 0;
	case FB_CALL_SET:
		return write_option((*socket)->sk, call);
	case FB_CALL_GET:
		return read_option((*socket)->sk, call, result->bytes);
	default:
		return -ENOSYS;
	}
}

void fb_script_call(const struct fb_call *call)
{
	struct fb_result result = {};

	if (!fb_script() || call->socket >= FB_SOCKETS)
		fb_die("a call on socket %u: no packet script runs, or there are %u at most", call->socket, FB_SOCKETS);
	result.value = make(call, &result);
	local_bh_disable();
	fb_record(FB_RESULT, &result, sizeof(result));
	fb_ask_now();
	local_bh_enable();
}

void fb_script_inject(const struct fb_inject *inject)
{
	struct net_device *dev = fb_script() ? fb_device(0) : NULL;
	struct sk_buff *skb;

	if (!dev || inject->head > sizeof(inject->bytes) || inject->head < sizeof(struct iphdr) || inject->length < inject->head)
		fb_die("a packet of %u bytes, %u of them given: no packet script runs, or lengths do not fit", inject->length, inject->head);
	skb = alloc_skb(NET_SKB_PAD + inject->length, GFP_KERNEL);
	if (!skb)
		fb_die("no memory for a packet: give the guest more (mem=)");
	skb_reserve(skb, NET_SKB_PAD);
	memset(skb_put(skb, inject->length), 0, inject->length);
	memcpy(skb->data, inject->bytes, inject->head);
	skb->dev = dev;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->truesize = fb_memory_at_receiver(skb->len);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	ip_send_check(ip_hdr(skb));
	local_bh_disable();
	netif_receive_skb(skb);
	fb_ask_now();
	local_bh_enable();
}

void fb_script_leaves(struct sk_buff *skb, u32 node)
{
	struct fb_sent sent = { .time = fb_now(), .length = skb->len };

	sent.head = min_t(u32, skb->len, sizeof(sent.bytes));
	if (skb_copy_bits(skb, 0, sent.bytes, sent.head))
		sent.head = 0;
	fb_record(FB_SENT, &sent, sizeof(sent));
	consume_skb(skb);
	fb_ask_now();
}
