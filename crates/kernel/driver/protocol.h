/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protocol between the program outside and the driver inside.
 *
 * The guest kernel has the network and the TCP end points. The applications run outside, in the program that started the guest, and are the same
 * as in the simulator. Guest time stands still while the guest waits for an answer, so that the exchange takes no time.
 *
 * Two pipes: the guest reads FB_FD_IN and writes FB_FD_OUT. Both carry frames: a header and `count` records of the size that belongs to its
 * kind. Little endian, no padding that is not named. Times are picoseconds since the agreed start of the run; FB_NEVER is "not at all".
 *
 *   outside -> guest   FB_WORLD, FB_PORT..., FB_SWITCH..., FB_PROFILE..., FB_SYSCTL..., FB_GROUP..., FB_INTERFACE...,
 *                      FB_LISTED_LOSS..., FB_SHIM_HOST..., FB_QDISC..., FB_SETUP_END
 *   guest -> outside   FB_HELLO
 *   then, repeatedly,
 *   guest -> outside   FB_HEADER, FB_PACKET, FB_LEAVE, FB_TCP, FB_TIMER, FB_EVENT, FB_HOST_DROPS in the order of their times, then FB_ASK
 *   outside -> guest   FB_OPEN, FB_WRITE, FB_STOP, FB_DATAGRAM, FB_LINK, FB_RETUNE, FB_ROUTE, then FB_NEXT; with FB_QUIT in it the run ends
 *   at the end
 *   guest -> outside   what is left of the records, FB_FINAL for every connection, FB_DONE
 *
 * FB_ASK comes at the start (time 0), whenever the time of the last FB_NEXT is reached, and when there are events. FB_LOG may come at any
 * time and is for human readers.
 */
#ifndef FOREBAY_PROTOCOL_H
#define FOREBAY_PROTOCOL_H

#include "protocol_records.h"
#include "protocol_run.h"
#include "protocol_script.h"
#include "protocol_setup.h"

/* fb_hello.record_sizes */
#define FB_RECORD_SIZES                                                                                                                  \
	(sizeof(struct fb_frame) + sizeof(struct fb_world) + sizeof(struct fb_port) + sizeof(struct fb_switch) +                         \
	 sizeof(struct fb_profile) + sizeof(struct fb_sysctl) + sizeof(struct fb_group) + sizeof(struct fb_interface) +                  \
	 sizeof(struct fb_open) + sizeof(struct fb_write) + sizeof(struct fb_stop) + sizeof(struct fb_datagram) +                        \
	 sizeof(struct fb_next) + sizeof(struct fb_hello) + sizeof(struct fb_packet) + sizeof(struct fb_leave) + sizeof(struct fb_tcp) + \
	 sizeof(struct fb_timer) + sizeof(struct fb_event) + sizeof(struct fb_ask) + sizeof(struct fb_final) + sizeof(struct fb_done) +  \
	 sizeof(struct fb_link) + sizeof(struct fb_route) + sizeof(struct fb_call) + sizeof(struct fb_inject) + sizeof(struct fb_result) + sizeof(struct fb_sent) + \
	 sizeof(struct fb_shim_host) + sizeof(struct fb_shim_row) + sizeof(struct fb_qdisc) + sizeof(struct fb_host_drops) + \
	 sizeof(struct fb_retune) + sizeof(struct fb_header) + sizeof(struct fb_path) + sizeof(struct fb_sock_state) + \
	 sizeof(struct fb_listed_loss))

#endif
