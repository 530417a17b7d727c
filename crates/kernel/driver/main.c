// SPDX-License-Identifier: GPL-2.0
/*
 * Start of the driver. It provides four files to init:
 *   /proc/forebay/setup   read: the frames that init needs (FB_PROFILE, FB_SYSCTL, FB_INTERFACE, FB_QDISC) as they came
 *   /proc/forebay/attach  write "N": makes interface N in the writer's network namespace
 *   /proc/forebay/fail    write the reason for which init cannot continue: the guest ends
 *   /proc/forebay/run     write anything: the run; the guest is powered off when it is over
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <net/tcp.h>
#include <net/udp.h>
#include "control.h"
#include "device.h"
#include "ends.h"
#include "run.h"
#include "script.h"
#include "wire.h"

static struct fb_bytes frames;

static ssize_t setup_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return simple_read_from_buffer(to, size, at, frames.data, frames.length);
}

static ssize_t attach_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	u32 number;
	int error = kstrtou32_from_user(from, size, 10, &number);

	if (!error && number >= fb_setup.world.interfaces)
		error = -EINVAL;
	if (!error && fb_script())
		error = fb_attach(number, fb_script_leaves, NULL);
	else if (!error)
		error = fb_attach(number, fb_leaves, fb_stack_receives);
	return error ? error : size;
}

static ssize_t fail_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char why[200];
	size_t len = min(size, sizeof(why));

	if (copy_from_user(why, from, len))
		len = 0;
	fb_die("init: %.*s", (int)len, why);
}

static ssize_t run_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	fb_run();
}

static const struct proc_ops setup_ops = { .proc_read = setup_read, .proc_lseek = default_llseek };
static const struct proc_ops attach_ops = { .proc_write = attach_write };
static const struct proc_ops fail_ops = { .proc_write = fail_write };
static const struct proc_ops run_ops = { .proc_write = run_write };

/*
 * Limits that the kernel derives from the size of its memory (net/ipv4/tcp.c: tcp_init, tcp_init_mem) are those of a machine with plenty, so
 * that a run does not depend on the guest's memory. Namespaces copy their buffer limits from the first one.
 */
static void independent_of_memory(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		sysctl_tcp_mem[i] = 1 << 24;
		sysctl_udp_mem[i] = 1 << 24;
	}
	sysctl_tcp_max_orphans = 1 << 18;
	init_net.ipv4.sysctl_tcp_rmem[2] = 6 << 20;
	init_net.ipv4.sysctl_tcp_wmem[2] = 4 << 20;
}

static int __init forebay_init(void)
{
	struct fb_hello hello = { .protocol = FB_PROTOCOL, .record_sizes = FB_RECORD_SIZES };
	struct proc_dir_entry *folder;
	int error;

	frames = fb_read_setup();
	independent_of_memory();
	error = fb_wire_setup(&fb_setup.world, fb_setup.ports, fb_setup.switches, fb_setup.nswitches);
	if (error)
		fb_die("the network cannot be made: error %d", -error);
	folder = proc_mkdir("forebay", NULL);
	if (!folder || !proc_create("setup", 0400, folder, &setup_ops) || !proc_create("attach", 0200, folder, &attach_ops) ||
	    !proc_create("fail", 0200, folder, &fail_ops) || !proc_create("run", 0200, folder, &run_ops))
		fb_die("no /proc/forebay");
	strscpy(hello.version, init_utsname()->release, sizeof(hello.version));
	fb_record(FB_HELLO, &hello, sizeof(hello));
	fb_flush();
	return 0;
}
late_initcall(forebay_init);
