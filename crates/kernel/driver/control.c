// SPDX-License-Identifier: GPL-2.0
/* The two pipes. Guest time stands still while the host's read and write calls last, so that none of this takes time. */
#include <linux/kernel.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <kern_util.h>
#include <os.h>
#include "control.h"

/* Bytes kept before they are written. */
#define OUT_SIZE (256 * 1024)
#define IN_SIZE (64 * 1024)

static u8 out[OUT_SIZE] __aligned(8);
static size_t out_len;
static struct fb_frame *last; /* frame that a record of the same kind can join */
static u8 in[IN_SIZE];
static size_t in_at, in_len;
static bool ending;

void fb_power_off(int code)
{
	uml_exitcode = code;
	machine_power_off();
	unreachable();
}

void fb_flush(void)
{
	size_t at = 0;

	while (at < out_len) {
		int n = os_write_file(FB_FD_OUT, out + at, out_len - at);

		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0) /* the reader is gone: there is nothing left to do */
			fb_power_off(1);
		at += n;
	}
	out_len = 0;
	last = NULL;
}

void fb_record(enum fb_kind kind, const void *record, size_t size)
{
	if (out_len + sizeof(*last) + size > OUT_SIZE)
		fb_flush();
	if (!last || last->kind != kind) {
		last = (struct fb_frame *)(out + out_len);
		*last = (struct fb_frame){ .kind = kind };
		out_len += sizeof(*last);
	}
	memcpy(out + out_len, record, size);
	out_len += size;
	last->count++;
}

void fb_read(void *buffer, size_t size)
{
	while (size) {
		size_t n;

		if (in_at == in_len) {
			int got = os_read_file(FB_FD_IN, in, IN_SIZE);

			if (got == -EINTR || got == -EAGAIN)
				continue;
			if (got <= 0)
				fb_power_off(1);
			in_at = 0;
			in_len = got;
		}
		n = min(size, in_len - in_at);
		memcpy(buffer, in + in_at, n);
		in_at += n;
		buffer += n;
		size -= n;
	}
}

static void log_line(const char *format, va_list arguments)
{
	char line[256];
	struct fb_frame *frame;
	size_t len = vscnprintf(line, sizeof(line), format, arguments);

	/* A frame of its own, padded to keep the frames that follow aligned: its records are bytes. */
	if (out_len + sizeof(*frame) + sizeof(line) > OUT_SIZE)
		fb_flush();
	while (len % 8)
		line[len++] = ' ';
	frame = (struct fb_frame *)(out + out_len);
	*frame = (struct fb_frame){ .kind = FB_LOG, .count = len };
	memcpy(frame + 1, line, len);
	out_len += sizeof(*frame) + len;
	last = NULL;
}

void fb_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line(format, arguments);
	va_end(arguments);
}

void fb_die(const char *format, ...)
{
	va_list arguments;

	if (!ending) {
		ending = true;
		va_start(arguments, format);
		log_line(format, arguments);
		va_end(arguments);
		fb_flush();
	}
	fb_power_off(1);
}
