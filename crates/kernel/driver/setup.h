/* SPDX-License-Identifier: GPL-2.0 */
/* setup.c: description of the network, as received from the program outside. Constant after the driver has started. */
#ifndef FOREBAY_SETUP_H
#define FOREBAY_SETUP_H

#include "protocol.h"

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
	struct fb_qdisc *qdiscs;
	u32 nqdiscs;
	struct fb_listed_loss *listed_losses;
	u32 nlisted_losses;
};
extern struct fb_setup fb_setup;

/* The frames for init, as they came. */
struct fb_bytes {
	u8 *data;
	size_t length;
};

/* Reads all of it; what init needs comes back, too. */
struct fb_bytes fb_read_setup(void);

/* True if a packet script runs, instead of connections. */
static inline bool fb_script(void)
{
	return fb_setup.world.records & FB_SCRIPT;
}

#endif
