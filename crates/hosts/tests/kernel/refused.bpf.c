// SPDX-License-Identifier: GPL-2.0
/* A program that the verifier refuses: it reads a packet without looking at its length. */
#include "../../../kernel/bpf/include/packet.h"

SEC("tc")
int egress(struct __sk_buff *skb)
{
	struct ethernet *eth = (void *)(long)skb->data;

	return eth->type ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}
