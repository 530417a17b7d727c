// SPDX-License-Identifier: GPL-2.0
/*
 * The laws as congestion controls of a kernel that is built with them: registers them, and gives connections their parameters. A connection
 * belongs to a group of the scenario, groups with the same law may differ in parameters, and the private room of a congestion control
 * (icsk_ca_priv) is too small for them: equal sets are kept once, for as long as the kernel runs.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "builtin.h"

/* Those of the driver's driver/forebay.h that are needed here. */
u64 fb_now(void);
void forebay_law_set(struct sock *sk, const u64 *param, unsigned int count);
void forebay_law_message(struct sock *sk, u64 bytes, u64 deadline);

static struct law_builtin *const laws[] = { &law_rns, &law_dctcp, &law_l2dct, &law_d2tcp, &law_trim, &law_prin };

/* A set of parameters in use. */
struct law_set {
	struct law_set *next;
	const struct law_builtin *law;
	struct law_common params[];
};

static struct law_set *sets;

static const struct law_builtin *law_of(const struct sock *sk)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(laws); i++) {
		if (inet_csk(sk)->icsk_ca_ops == &laws[i]->ops)
			return laws[i];
	}
	return NULL;
}

/* The set with these numbers. */
static const void *find(const struct law_builtin *law, const u64 *param)
{
	struct law_set *set, *new = kzalloc(sizeof(*new) + law->params, GFP_ATOMIC);

	if (!new)
		panic("no memory for the parameters of %s", law->ops.name);
	new->law = law;
	law->read(new->params, param && param[LAW_PARAM_GIVEN] ? param + LAW_PARAM_OWN : NULL);
	new->params->validate = !param || !param[LAW_PARAM_GIVEN] || param[LAW_PARAM_VALIDATE];
	for (set = sets; set; set = set->next) {
		if (set->law == law && !memcmp(set->params, new->params, law->params)) {
			kfree(new);
			return set->params;
		}
	}
	new->next = sets;
	sets = new;
	return new->params;
}

const void *law_params(struct sock *sk, const struct law_builtin *law)
{
	struct law_private *private = inet_csk_ca(sk);

	if (!private->params)
		private->params = find(law, NULL);
	return private->params;
}

/*
 * Gives the connection of `sk` the parameters of its law, if that is one of ours; softirqs are off. It begins anew with them: they are given
 * when the connection opens. `count` numbers are there, at least LAW_PARAMS.
 */
void forebay_law_set(struct sock *sk, const u64 *param, unsigned int count)
{
	const struct law_builtin *law = law_of(sk);
	struct law_private *private = inet_csk_ca(sk);

	if (!law || count < LAW_PARAMS)
		return;
	private->params = find(law, param);
	if (law->ops.init)
		law->ops.init(sk);
}

/* The application writes a message of `bytes` (0: without end) behind those before, wanted by `deadline` (ps of the run, U64_MAX: no matter when). */
void forebay_law_message(struct sock *sk, u64 bytes, u64 deadline)
{
	const struct law_builtin *law = law_of(sk);
	struct law_private *private = inet_csk_ca(sk);
	struct law_stream *stream = (struct law_stream *)(private + 1);
	u32 begin, end;

	if (!law || !law->message)
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
	law->message(sk, begin, end, deadline);
}

static int __init law_register(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(laws); i++) {
		int error = tcp_register_congestion_control(&laws[i]->ops);

		if (error)
			return error;
	}
	return 0;
}
late_initcall(law_register);
