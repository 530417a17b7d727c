/* SPDX-License-Identifier: GPL-2.0 */
/* device.c: interfaces. */
#ifndef FOREBAY_DEVICE_H
#define FOREBAY_DEVICE_H

#include <linux/netdevice.h>

/* A netdev for interface `number` in the namespace of the caller. Its packets are passed to `leaves`, which takes the skb over, and belong to
 * host `node`. Packets for the stack are passed to `receives`, which takes them over and calls ip_rcv(). NULL: the stack takes them. */
int fb_attach(u32 number, void (*leaves)(struct sk_buff *skb, u32 node), void (*receives)(struct sk_buff *skb));
/* The run begins: byte queue limits begin as those of interfaces that come up now, however long the guest took to boot. */
void fb_device_start(void);
/* The link of host `node` has come back: the queue disciplines of its interfaces begin as new ones (dev_deactivate, dev_activate). */
void fb_device_restart(u32 node);
/* Leaves an FB_HOST_DROPS for every interface whose queue discipline has dropped packets since the last. */
void fb_device_report(void);
struct net *fb_net(u32 interface);
struct net_device *fb_device(u32 interface);

#endif
