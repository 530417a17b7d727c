// SPDX-License-Identifier: GPL-2.0
/*
 * Registers our congestion controls in a kernel that is built with them, and sets the parameters of connections. A connection belongs to a group of
 * the scenario, and groups with the same congestion control may differ in parameters. The private state of a congestion control (icsk_ca_priv) is too
 * small for parameters: equal sets are kept once, for as long as the kernel runs.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "builtin.h"

/* Definitions from driver/forebay.h. */
u64 fb_now(void);
void forebay_cc_set(struct sock *sk, const u64 *param, unsigned int count);
void forebay_cc_message(struct sock *sk, u64 bytes, u64 deadline);

static struct cc_builtin *const ccs[] = { &cc_rns, &cc_dctcp, &cc_l2dct, &cc_d2tcp, &cc_trim, &cc_prin };

/* A set of parameters in use. */
struct cc_set {
	struct cc_set *next;
	const struct cc_builtin *cc;
	struct cc_common params[];
};

static struct cc_set *sets;

static const struct cc_builtin *cc_of(const struct sock *sk)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ccs); i++) {
		if (inet_csk(sk)->icsk_ca_ops == &ccs[i]->ops)
			return ccs[i];
	}
	return NULL;
}

/* The set with these numbers. */
static const void *find(const struct cc_builtin *cc, const u64 *param)
{
	struct cc_set *set, *new = kzalloc(sizeof(*new) + cc->params, GFP_ATOMIC);

	if (!new)
		panic("no memory for the parameters of %s", cc->ops.name);
	new->cc = cc;
	cc->read(new->params, param && param[CC_PARAM_GIVEN] ? param + CC_PARAM_OWN : NULL);
	new->params->validate = !param || !param[CC_PARAM_GIVEN] || param[CC_PARAM_VALIDATE];
	for (set = sets; set; set = set->next) {
		if (set->cc == cc && !memcmp(set->params, new->params, cc->params)) {
			kfree(new);
			return set->params;
		}
	}
	new->next = sets;
	sets = new;
	return new->params;
}

const void *cc_params(struct sock *sk, const struct cc_builtin *cc)
{
	struct cc_private *private = inet_csk_ca(sk);

	if (!private->params)
		private->params = find(cc, NULL);
	return private->params;
}

/*
 * Sets the parameters of the congestion control of `sk`, if it is one of this file, when the connection opens, and initializes its state again;
 * softirqs are off. `count` is the number of parameters, at least CC_PARAMS.
 */
void forebay_cc_set(struct sock *sk, const u64 *param, unsigned int count)
{
	const struct cc_builtin *cc = cc_of(sk);
	struct cc_private *private = inet_csk_ca(sk);

	if (!cc || count < CC_PARAMS)
		return;
	private->params = find(cc, param);
	if (cc->ops.init)
		cc->ops.init(sk);
}

/* The application writes a message of `bytes` (0: without end) behind those before, wanted by `deadline` (ps of the run, U64_MAX: no matter when). */
void forebay_cc_message(struct sock *sk, u64 bytes, u64 deadline)
{
	const struct cc_builtin *cc = cc_of(sk);
	struct cc_private *private = inet_csk_ca(sk);
	struct cc_stream *stream = (struct cc_stream *)(private + 1);
	u32 begin, end;

	if (!cc || !cc->message)
		return;
	if (!stream->known)
		stream->end = tcp_sk(sk)->write_seq;
	stream->known = true;
	begin = stream->end;
	end = begin + (u32)min_t(u64, bytes ? bytes : S32_MAX, S32_MAX);
	stream->end = end;
	if (deadline != U64_MAX) {
		u64 now = fb_now();

		deadline = tcp_clock_ns() / NSEC_PER_USEC + (deadline > now ? (deadline - now) / 1000000 : 0);
	}
	cc->message(sk, begin, end, deadline);
}

static int __init cc_register(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ccs); i++) {
		int error = tcp_register_congestion_control(&ccs[i]->ops);

		if (error)
			return error;
	}
	return 0;
}
late_initcall(cc_register);
