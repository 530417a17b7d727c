// SPDX-License-Identifier: GPL-2.0
/*
 * Receive side of a host's network card. With interrupt moderation the card raises its interrupt a fixed time after the first frame that it holds
 * (rx_coalesce_usecs, time_since_first_completion in include/uapi/linux/ethtool.h). NAPI then takes all frames at once. GRO merges the segments of a
 * flow among them, and passes all of them to the stack at the end of the poll (napi_complete_done, without gro_flush_timeout). Polls of more than 64
 * frames (NAPI_POLL_WEIGHT) need no second one here: between two of them GRO would only flush what is older than a jiffy.
 */
#include <linux/etherdevice.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/gro.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#include "card.h"
#include "control.h"
#include "setup.h"
#include "wire.h"

/* Card of a host, which all interfaces of the host share. */
struct card {
	struct napi_struct napi;
	struct sk_buff_head frames; /* since the last interrupt */
	struct list_head pending;
	u64 delay; /* ps */
	u64 due;   /* of the interrupt, while there are frames */
};

static struct card **cards; /* by node; NULL: without interrupt moderation */
/* Cards that hold frames, in the order of their interrupts: all have the same delay. */
static LIST_HEAD(pending);

/*
 * Memory that a packet occupies at its receiver. It decides how much of a receive buffer becomes window (tcp_input.c, tcp_measure_rcv_mss). It is
 * the allotment of drivers with one power-of-two buffer a packet (build_skb; igb, ixgbe, mlx5), with 64 bytes of headroom.
 */
static u32 buffer_at_receiver(u32 len)
{
	u32 buffer = roundup_pow_of_two(SKB_DATA_ALIGN(NET_SKB_PAD + len) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));

	return max(buffer, 2048u);
}

u32 fb_memory_at_receiver(u32 len)
{
	return buffer_at_receiver(len) + SKB_DATA_ALIGN(sizeof(struct sk_buff));
}

/*
 * The packet in a receive buffer of the card, as build_skb() makes one of it. In the sender's memory it would share its buffer with the copy that
 * waits for an ACK, and TCP coalesces no shared buffers (skb_try_coalesce, skb_cloned). GRO charges a merged packet with the buffers of all, but only
 * one struct sk_buff for as many as fit into its fragments (skb_gro_receive). NULL: no memory.
 */
static struct sk_buff *in_receive_buffer(struct sk_buff *skb)
{
	u32 size = buffer_at_receiver(skb->len);
	/* Fragments of pages are that long at most; a longer packet keeps the sender's memory. */
	void *buffer = size <= PAGE_FRAG_CACHE_MAX_SIZE ? netdev_alloc_frag(size) : NULL;
	struct sk_buff *own = buffer ? build_skb(buffer, size) : NULL;

	if (!own) {
		if (buffer)
			skb_free_frag(buffer);
		/* The sender still has the data and the list of its pieces, which are about to be added to. */
		return skb_unclone(skb, GFP_ATOMIC) ? NULL : skb;
	}
	skb_reserve(own, NET_SKB_PAD);
	if (skb_copy_bits(skb, 0, skb_put(own, skb->len), skb->len)) {
		kfree_skb(own);
		return NULL;
	}
	own->dev = skb->dev;
	own->mark = skb->mark;
	own->protocol = skb->protocol;
	own->ip_summed = CHECKSUM_UNNECESSARY;
	skb_copy_hash(own, skb);
	skb_reset_mac_header(own);
	skb_reset_network_header(own);
	consume_skb(skb);
	return own;
}

/* NAPI polls from fb_card_tick() only. */
static int poll(struct napi_struct *napi, int budget)
{
	napi_complete_done(napi, 0);
	return 0;
}

int fb_card_attach(u32 node, struct net_device *dev, const struct fb_profile *profile)
{
	struct card *card;

	if (!cards)
		cards = kvcalloc(fb_setup.world.nodes, sizeof(struct card *), GFP_KERNEL);
	if (!cards)
		return -ENOMEM;
	if (!profile->hold_ns)
		return 0;
	if (cards[node])
		return 0;
	card = kzalloc(sizeof(*card), GFP_KERNEL);
	if (!card)
		return -ENOMEM;
	card->delay = profile->hold_ns * 1000ull;
	__skb_queue_head_init(&card->frames);
	netif_napi_add(dev, &card->napi, poll);
	napi_enable(&card->napi);
	cards[node] = card;
	return 0;
}

bool fb_card_holds(u32 node, struct sk_buff *skb, u64 now)
{
	struct card *card = cards[node];

	if (!card)
		return false;
	if (skb_queue_empty(&card->frames)) {
		card->due = now + card->delay;
		list_add_tail(&card->pending, &pending);
		fb_wire_tick_at(card->due);
	}
	__skb_queue_tail(&card->frames, skb);
	return true;
}

static void interrupt(struct card *card, void (*frame)(struct sk_buff *skb))
{
	struct sk_buff *skb;

	list_del(&card->pending);
	if (!napi_schedule_prep(&card->napi))
		fb_die("a card was polled by another");
	while ((skb = __skb_dequeue(&card->frames)))
		frame(skb);
	napi_complete_done(&card->napi, 1);
}

void fb_card_tick(u64 now, void (*frame)(struct sk_buff *skb))
{
	struct card *card;

	while ((card = list_first_entry_or_null(&pending, struct card, pending)) && card->due <= now)
		interrupt(card, frame);
	if (card)
		fb_wire_tick_at(card->due);
}

void fb_card_receives(u32 node, struct net_device *dev, struct sk_buff *skb)
{
	struct card *card = cards[node];
	struct sk_buff *own;

	skb_orphan(skb);
	skb_dst_drop(skb);
	skb->dev = dev;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	skb->tstamp = 0;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	own = (card || skb->data_len) ? in_receive_buffer(skb) : skb;
	if (!own) {
		kfree_skb(skb);
		return;
	}
	own->truesize = fb_memory_at_receiver(own->len);
	if (!card) {
		netif_receive_skb(own);
		return;
	}
	napi_gro_receive(&card->napi, own);
	/* Packets that GRO does not hold are passed one by one, not in batches of eight (gro_normal_batch): no time passes in between. */
	gro_normal_list(&card->napi);
}
