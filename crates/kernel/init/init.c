// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's only program: makes a network namespace for every interface that the driver names, and starts the run. Static, without a C
 * library: raw system calls of x86-64 (UML runs on nothing else). Errors are printed on the console, and the guest is powered off.
 */
#include <asm/unistd.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/reboot.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <sys/socket.h>
#include "../driver/protocol.h"

#define CLONE_NEWNET 0x40000000
#define O_RDONLY 0
#define O_WRONLY 1
#define O_CREAT 0100
/* Bytes of the driver's frames at most. */
#define SETUP_SIZE (8 << 20)
#define PROFILES 256

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long result;

	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}
#define CALL3(number, a, b, c) call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)

/* The compiler may call these four by itself. */
void *memcpy(void *to, const void *from, unsigned long size)
{
	for (unsigned long i = 0; i < size; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}
void *memset(void *to, int byte, unsigned long size)
{
	for (unsigned long i = 0; i < size; i++)
		((char *)to)[i] = byte;
	return to;
}

static unsigned long length(const char *text)
{
	unsigned long n = 0;

	while (text[n])
		n++;
	return n;
}

/* Decimal digits of `number`. */
static char *put_number(char *to, unsigned long number)
{
	if (number > 9)
		to = put_number(to, number / 10);
	*to = '0' + number % 10;
	return to + 1;
}

static char *put_text(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static void __attribute__((noreturn)) power_off(void)
{
	for (;;)
		call(__NR_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_POWER_OFF, 0, 0, 0);
}

/* The driver passes it on to the program outside, which is waiting. */
static void __attribute__((noreturn)) fail(const char *what, const char *which, long error)
{
	char text[256], *to = text;
	long file = CALL3(__NR_open, "/proc/forebay/fail", O_WRONLY, 0);

	to = put_text(to, what);
	to = put_text(to, " ");
	to = put_text(to, which);
	to = put_text(to, ": error ");
	to = put_number(to, error < 0 ? -error : error);
	CALL3(__NR_write, file < 0 ? 2 : file, text, to - text);
	power_off();
}

static void write_file(const char *path, const char *value, unsigned long size)
{
	long file = CALL3(__NR_open, path, O_WRONLY, 0);
	long written = file;

	if (file >= 0) {
		written = CALL3(__NR_write, file, value, size);
		CALL3(__NR_close, file, 0, 0);
	}
	if (written < 0)
		fail("writing", path, written);
}

/* Netlink: requests are put one after the other into one message, each answered by an error number. */

static struct {
	char bytes[2048];
	unsigned long size;
	unsigned int requests;
} batch __attribute__((aligned(8)));

static struct nlmsghdr *request(int type, int flags)
{
	struct nlmsghdr *header = (void *)(batch.bytes + batch.size);

	memset(header, 0, sizeof(*header));
	header->nlmsg_len = NLMSG_HDRLEN;
	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	header->nlmsg_seq = ++batch.requests;
	return header;
}

static void *add(struct nlmsghdr *header, const void *bytes, unsigned long size)
{
	void *to = (char *)header + NLMSG_ALIGN(header->nlmsg_len);

	memset(to, 0, NLMSG_ALIGN(size));
	memcpy(to, bytes, size);
	header->nlmsg_len = NLMSG_ALIGN(header->nlmsg_len) + size;
	return to;
}

static struct rtattr *attribute(struct nlmsghdr *header, int type, const void *bytes, unsigned long size)
{
	struct rtattr attribute = { .rta_len = RTA_LENGTH(size), .rta_type = type };
	struct rtattr *at = add(header, &attribute, sizeof(attribute));

	add(header, bytes, size);
	return at;
}

static void number_attribute(struct nlmsghdr *header, int type, unsigned int number)
{
	attribute(header, type, &number, sizeof(number));
}

static void request_end(const struct nlmsghdr *header)
{
	batch.size += NLMSG_ALIGN(header->nlmsg_len);
}

static void link_up(int index)
{
	struct nlmsghdr *header = request(RTM_NEWLINK, 0);
	struct ifinfomsg link = { .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	add(header, &link, sizeof(link));
	request_end(header);
}

static unsigned int network_order(unsigned int number)
{
	return __builtin_bswap32(number);
}

static void address(int index, unsigned int host)
{
	struct nlmsghdr *header = request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg message = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = index };

	add(header, &message, sizeof(message));
	number_attribute(header, IFA_LOCAL, network_order(host));
	request_end(header);
}

/* All of 10.0.0.0/8 is at the other end of the interface; numbers of the profile that are 0 are left to the kernel. */
static void route(int index, unsigned int host, const struct fb_profile *profile)
{
	struct nlmsghdr *header = request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg message = {
		.rtm_family = AF_INET,
		.rtm_dst_len = 8,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_LINK,
		.rtm_type = RTN_UNICAST,
	};
	struct rtattr *metrics;

	add(header, &message, sizeof(message));
	number_attribute(header, RTA_DST, network_order(10u << 24));
	number_attribute(header, RTA_OIF, index);
	number_attribute(header, RTA_PREFSRC, network_order(host));
	metrics = attribute(header, RTA_METRICS, 0, 0);
	if (profile->init_cwnd)
		number_attribute(header, RTAX_INITCWND, profile->init_cwnd);
	if (profile->init_rwnd)
		number_attribute(header, RTAX_INITRWND, profile->init_rwnd);
	if (profile->rto_min_ms) { /* in milliseconds; of a metric that is not locked tcp_rto_min() takes no notice */
		number_attribute(header, RTAX_LOCK, 1u << RTAX_RTO_MIN);
		number_attribute(header, RTAX_RTO_MIN, profile->rto_min_ms);
	}
	if (profile->quickack)
		number_attribute(header, RTAX_QUICKACK, 1);
	metrics->rta_len = (char *)header + header->nlmsg_len - (char *)metrics;
	request_end(header);
}

/* The root queue discipline of the interface. */
static void queue(int index, const struct fb_qdisc *qdisc)
{
	struct nlmsghdr *header = request(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);
	struct tcmsg message = { .tcm_ifindex = index, .tcm_parent = TC_H_ROOT };
	struct rtattr *options;

	add(header, &message, sizeof(message));
	attribute(header, TCA_KIND, qdisc->name, length(qdisc->name) + 1);
	if (qdisc->options && qdisc->option[0] == FB_QDISC_PLAIN) {
		number_attribute(header, TCA_OPTIONS, qdisc->value[0]);
	} else if (qdisc->options) {
		options = attribute(header, TCA_OPTIONS, 0, 0);
		for (unsigned int i = 0; i < qdisc->options && i < FB_OPTIONS; i++)
			number_attribute(header, qdisc->option[i], qdisc->value[i]);
		options->rta_len = (char *)header + header->nlmsg_len - (char *)options;
	}
	request_end(header);
}

static void send_requests(long netlink)
{
	static char answer[8192];

	long sent = call(__NR_sendto, netlink, (long)batch.bytes, batch.size, 0, 0, 0);

	if (sent < 0)
		fail("netlink", "request", sent);
	for (unsigned int answered = 0; answered < batch.requests;) {
		long size = call(__NR_recvfrom, netlink, (long)answer, sizeof(answer), 0, 0, 0);

		if (size < 0)
			fail("netlink", "answer", size);
		for (struct nlmsghdr *header = (void *)answer; NLMSG_OK(header, size); header = NLMSG_NEXT(header, size), answered++) {
			const struct nlmsgerr *error = NLMSG_DATA(header);
			const char *const names[] = { "?", "lo up", "link up", "address", "route", "queue discipline" };

			if (header->nlmsg_type == NLMSG_ERROR && error->error)
				fail("netlink", names[header->nlmsg_seq % 6], error->error);
		}
	}
	batch.requests = 0;
	batch.size = 0;
}

static int index_of(const char *name)
{
	struct ifreq query = {};
	long socket = CALL3(__NR_socket, AF_INET, SOCK_DGRAM, 0);
	long error = socket;

	put_text(query.ifr_name, name);
	if (socket >= 0) {
		error = CALL3(__NR_ioctl, socket, SIOCGIFINDEX, &query);
		CALL3(__NR_close, socket, 0, 0);
	}
	if (error < 0)
		fail("interface", name, error);
	return query.ifr_ifindex;
}

/* The driver's frames. */

static char setup[SETUP_SIZE] __attribute__((aligned(8)));
static unsigned long setup_size;

static void read_setup(void)
{
	long file = CALL3(__NR_open, "/proc/forebay/setup", O_RDONLY, 0);
	long got = file;

	if (file < 0)
		fail("opening", "/proc/forebay/setup", file);
	while ((got = CALL3(__NR_read, file, setup + setup_size, SETUP_SIZE - setup_size)) > 0)
		setup_size += got;
	if (got < 0 || setup_size == SETUP_SIZE)
		fail("reading", "/proc/forebay/setup", got);
	CALL3(__NR_close, file, 0, 0);
}

/* Calls `each` for every record of a kind, with its number. */
static void for_each(unsigned int kind, unsigned long size, void (*each)(const void *record, unsigned int number))
{
	unsigned int number = 0;

	for (unsigned long at = 0; at + sizeof(struct fb_frame) <= setup_size;) {
		const struct fb_frame *frame = (void *)(setup + at);
		unsigned long one = frame->kind == FB_PROFILE ? sizeof(struct fb_profile) :
				    frame->kind == FB_SYSCTL  ? sizeof(struct fb_sysctl) :
				    frame->kind == FB_QDISC   ? sizeof(struct fb_qdisc) :
								sizeof(struct fb_interface);

		at += sizeof(*frame);
		for (unsigned int i = 0; i < frame->count; i++, at += one)
			if (frame->kind == kind)
				each(setup + at, number++);
	}
}

static struct fb_profile profiles[PROFILES];
static unsigned int profile; /* of the interface that is being made */

static void keep_profile(const void *record, unsigned int number)
{
	if (number >= PROFILES)
		fail("more profiles than", "this program knows", PROFILES);
	profiles[number] = *(const struct fb_profile *)record;
}

static void set_sysctl(const void *record, unsigned int number)
{
	const struct fb_sysctl *sysctl = record;
	char path[96];

	if (sysctl->profile != profile)
		return;
	*put_text(put_text(path, "/proc/sys/"), sysctl->key) = 0;
	write_file(path, sysctl->value, length(sysctl->value));
}

static unsigned int interface_number; /* of the interface that is being made */
static int interface_index;

static void make_queue(const void *record, unsigned int number)
{
	const struct fb_qdisc *qdisc = record;

	if (qdisc->interface == interface_number)
		queue(interface_index, qdisc);
}

static void make_interface(const void *record, unsigned int number)
{
	const struct fb_interface *interface = record;
	char digits[16], name[IFNAMSIZ] = "fb";
	long netlink, error = CALL3(__NR_unshare, CLONE_NEWNET, 0, 0);
	int index;

	if (error < 0)
		fail("unshare", "of the network", error);
	*put_number(digits, number) = 0;
	*put_number(name + 2, number) = 0;
	write_file("/proc/forebay/attach", digits, length(digits));
	profile = interface->profile;
	for_each(FB_SYSCTL, sizeof(struct fb_sysctl), set_sysctl);
	index = index_of(name);
	netlink = CALL3(__NR_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (netlink < 0)
		fail("netlink", "socket", netlink);
	link_up(1); /* lo is the first of every namespace */
	link_up(index);
	address(index, interface->address);
	route(index, interface->address, &profiles[profile]);
	interface_number = number;
	interface_index = index;
	for_each(FB_QDISC, sizeof(struct fb_qdisc), make_queue);
	send_requests(netlink);
	CALL3(__NR_close, netlink, 0, 0);
}

__attribute__((noreturn, force_align_arg_pointer)) void _start(void)
{
	long error = call(__NR_mount, (long)"proc", (long)"/proc", (long)"proc", 0, 0, 0);

	if (error < 0)
		power_off();
	read_setup();
	for_each(FB_PROFILE, sizeof(struct fb_profile), keep_profile);
	for_each(FB_INTERFACE, sizeof(struct fb_interface), make_interface);
	write_file("/proc/forebay/run", "", 1);
	power_off();
}
