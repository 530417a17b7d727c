// SPDX-License-Identifier: GPL-2.0
/* Reads the description of the network from the program outside. */
#include <linux/kernel.h>
#include <linux/vmalloc.h>
#include "control.h"
#include "proboscis.h"
#include "setup.h"

struct fb_setup fb_setup;

static struct fb_bytes frames; /* for init */

/* A growing array; `data` may move while frames are read, and stays where it is afterwards. */
struct table {
	void *data;
	u32 count;
	u32 room;
};

static void table_add(struct table *table, const void *record, size_t size)
{
	if (table->count == table->room) {
		u32 room = table->room ? 2 * table->room : 64;
		void *data = vzalloc(room * size);

		if (!data)
			fb_die("no memory for the set-up: give the guest more (mem=)");
		if (table->data)
			memcpy(data, table->data, table->count * size);
		vfree(table->data);
		table->data = data;
		table->room = room;
	}
	memcpy(table->data + table->count++ * size, record, size);
}

static void keep_for_init(const void *bytes, size_t size)
{
	static size_t room;

	if (frames.length + size > room) {
		size_t more = 2 * (frames.length + size);
		u8 *new = vmalloc(more);

		if (!new)
			fb_die("no memory for the set-up: give the guest more (mem=)");
		if (frames.length)
			memcpy(new, frames.data, frames.length);
		vfree(frames.data);
		frames.data = new;
		room = more;
	}
	memcpy(frames.data + frames.length, bytes, size);
	frames.length += size;
}

/* The numbers in the records must be those of things that exist: from here on nothing checks them again. */
static void check(u32 profiles)
{
	const struct fb_world *world = &fb_setup.world;
	u32 i;

	for (i = 0; i < world->ports; i++) {
		const struct fb_port *port = &fb_setup.ports[i];

		if (port->from >= world->nodes || port->to >= world->nodes || !port->rate)
			fb_die("port %u of the set-up has a node, rate or discipline that does not exist", i);
	}
	for (i = 0; i < fb_setup.nswitches; i++)
		if (fb_setup.switches[i].node >= world->nodes)
			fb_die("switch %u of the set-up is at a node that does not exist", i);
	for (i = 0; i < world->groups; i++) {
		const struct fb_group *group = &fb_setup.groups[i];

		if (group->profile >= profiles || strnlen(group->cc, sizeof(group->cc)) == sizeof(group->cc))
			fb_die("group %u of the set-up has a profile that does not exist, or a congestion control whose name does not end", i);
	}
	for (i = 0; i < world->interfaces; i++) {
		const struct fb_interface *interface = &fb_setup.interfaces[i];

		if (interface->node >= world->nodes || interface->profile >= profiles || interface->mtu < 68 || interface->mtu > 65535)
			fb_die("interface %u of the set-up has a node, profile or MTU that does not exist", i);
	}
	for (i = 0; i < fb_setup.nlisted_losses; i++)
		if (fb_setup.listed_losses[i].port >= world->ports)
			fb_die("listed loss %u of the set-up is at a port that does not exist", i);
	for (i = 0; i < fb_setup.nshim_hosts; i++) {
		const struct fb_shim_host *host = &fb_setup.shim_hosts[i];

		if (host->group >= world->groups || host->node >= world->nodes || host->phase >= fb_setup.groups[host->group].shim[FB_PB_TICK])
			fb_die("host %u of a shim of the set-up has a group, node or phase that does not exist", i);
	}
}

union setup_record {
	struct fb_world world;
	struct fb_port port;
	struct fb_switch switch_;
	struct fb_profile profile;
	struct fb_sysctl sysctl;
	struct fb_group group;
	struct fb_interface interface;
	struct fb_shim_host shim_host;
	struct fb_qdisc qdisc;
	struct fb_listed_loss listed_loss;
};

static size_t setup_size(u32 kind)
{
	switch (kind) {
	case FB_WORLD: return sizeof(struct fb_world);
	case FB_PORT: return sizeof(struct fb_port);
	case FB_SWITCH: return sizeof(struct fb_switch);
	case FB_PROFILE: return sizeof(struct fb_profile);
	case FB_SYSCTL: return sizeof(struct fb_sysctl);
	case FB_GROUP: return sizeof(struct fb_group);
	case FB_INTERFACE: return sizeof(struct fb_interface);
	case FB_SHIM_HOST: return sizeof(struct fb_shim_host);
	case FB_QDISC: return sizeof(struct fb_qdisc);
	case FB_LISTED_LOSS: return sizeof(struct fb_listed_loss);
	default: return 0;
	}
}

struct fb_bytes fb_read_setup(void)
{
	struct table tables[FB_SETUP_END] = {};
	union setup_record record;
	struct fb_frame frame;
	u32 kind;

	for (;;) {
		size_t size;
		bool for_init;

		fb_read(&frame, sizeof(frame));
		if (frame.kind == FB_SETUP_END && !frame.count)
			break;
		size = setup_size(frame.kind);
		if (!size)
			fb_die("frame of kind %u with %u records in the set-up", frame.kind, frame.count);
		for_init = frame.kind == FB_PROFILE || frame.kind == FB_SYSCTL || frame.kind == FB_INTERFACE ||
			   frame.kind == FB_QDISC;
		if (for_init)
			keep_for_init(&frame, sizeof(frame));
		while (frame.count--) {
			fb_read(&record, size);
			table_add(&tables[frame.kind], &record, size);
			if (for_init)
				keep_for_init(&record, size);
		}
	}
	if (tables[FB_WORLD].count != 1)
		fb_die("%u worlds in the set-up, must be 1", tables[FB_WORLD].count);
	fb_setup.world = *(struct fb_world *)tables[FB_WORLD].data;
	if (fb_setup.world.protocol != FB_PROTOCOL)
		fb_die("the program outside speaks protocol %u, this kernel %u: build the kernel again", fb_setup.world.protocol, FB_PROTOCOL);
	for (kind = FB_PORT; kind < FB_SETUP_END; kind++) {
		u32 said = kind == FB_PORT ? fb_setup.world.ports : kind == FB_PROFILE ? fb_setup.world.profiles :
			   kind == FB_GROUP ? fb_setup.world.groups : kind == FB_INTERFACE ? fb_setup.world.interfaces : FB_NONE;

		if (said != FB_NONE && said != tables[kind].count)
			fb_die("%u records of kind %u in the set-up, %u were promised", tables[kind].count, kind, said);
	}
	fb_setup.ports = tables[FB_PORT].data;
	fb_setup.switches = tables[FB_SWITCH].data;
	fb_setup.nswitches = tables[FB_SWITCH].count;
	fb_setup.profiles = tables[FB_PROFILE].data;
	fb_setup.groups = tables[FB_GROUP].data;
	fb_setup.interfaces = tables[FB_INTERFACE].data;
	fb_setup.shim_hosts = tables[FB_SHIM_HOST].data;
	fb_setup.nshim_hosts = tables[FB_SHIM_HOST].count;
	fb_setup.qdiscs = tables[FB_QDISC].data;
	fb_setup.nqdiscs = tables[FB_QDISC].count;
	fb_setup.listed_losses = tables[FB_LISTED_LOSS].data;
	fb_setup.nlisted_losses = tables[FB_LISTED_LOSS].count;
	check(tables[FB_PROFILE].count);
	return frames;
}
