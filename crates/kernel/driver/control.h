/* SPDX-License-Identifier: GPL-2.0 */
/* control.c: the two pipes, and the end of the guest. */
#ifndef FOREBAY_CONTROL_H
#define FOREBAY_CONTROL_H

#include <linux/compiler.h>
#include "protocol.h"

/* Reads all of `buffer`; ends the guest when the program outside has ended. */
void fb_read(void *buffer, size_t size);
/* A record for outside, kept until the next FB_ASK or until the buffer is full. */
void fb_record(enum fb_kind kind, const void *record, size_t size);
/* Sends the records kept so far. */
void fb_flush(void);
/* A line for people. */
__printf(1, 2) void fb_log(const char *format, ...);
/* Says why and powers the guest off at once. */
__printf(1, 2) void __noreturn fb_die(const char *format, ...);
/* Powers the guest off at once; `code` is the exit status of its process. */
void __noreturn fb_power_off(int code);

#endif
