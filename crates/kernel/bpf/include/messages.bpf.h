/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of applications: their extents in the stream and their deadlines. An application announces a message by a socket option immediately before
 * it writes (SOL_FOREBAY, FOREBAY_MESSAGE, struct forebay_message). A program of the congestion control at its cgroup handles the option, which does
 * not reach the kernel. A socket that does not use the congestion control gets the kernel's answer: ENOPROTOOPT.
 */
#ifndef FOREBAY_MESSAGES_BPF_H
#define FOREBAY_MESSAGES_BPF_H

#include "tcp.h"

enum { SOL_FOREBAY = 0x4642, FOREBAY_MESSAGE = 1 };

/* Value of the option: the size of the message in bytes, and its deadline in us from now; 0: no deadline. */
struct forebay_message {
	u32 bytes;
	u32 deadline_us;
};

/* include/uapi/linux/bpf.h. */
struct bpf_sock;
struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval;
	void *optval_end;
	s32 level;
	s32 optname;
	s32 optlen;
	s32 retval;
};
/* Results of the program: handled, passed on to the kernel, or an error. */
enum { OPTION_PASSES = 1, OPTION_REFUSED = 0 };
enum { EINVAL = 22 };

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym;

/* End of the last announced message. */
struct cc_stream {
	u32 end;
	u32 known;
};

/* A message in the stream: sequence numbers of its first byte and behind its last, and when it is wanted, in us of tcp_mstamp. */
struct written {
	u32 begin, end, una;
	u64 deadline;
};

/* The table of a congestion control: `struct talk` is the congestion control's own and begins with a struct cc_stream. Its sockets have an entry from init to release. */
#define TALK_MAP                                                                                                               \
	struct {                                                                                                               \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                         \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                          \
		__type(key, int);                                                                                              \
		__type(value, struct talk);                                                                                    \
	} messages SEC(".maps");

static __always_inline bool is_message(const struct bpf_sockopt *ctx)
{
	return ctx->level == SOL_FOREBAY && ctx->optname == FOREBAY_MESSAGE;
}

/* Reads the option; false where its value is none. */
static __always_inline bool read_message(struct bpf_sockopt *ctx, struct cc_stream *stream, struct written *w)
{
	struct forebay_message *m = ctx->optval;
	struct tcp_sock *tp;

	if ((void *)(m + 1) > ctx->optval_end || ctx->optlen != sizeof(*m) || !m->bytes || m->bytes >> 31)
		return false;
	tp = bpf_rdonly_cast(ctx->sk, bpf_core_type_id_kernel(struct tcp_sock));
	/* After announced bytes that are not written yet; other bytes belong to no message. */
	w->begin = tp->write_seq;
	if (stream->known && before(w->begin, stream->end))
		w->begin = stream->end;
	w->end = w->begin + m->bytes;
	w->una = tp->snd_una;
	w->deadline = m->deadline_us ? bpf_ktime_get_ns() / 1000 + m->deadline_us : ~0ULL;
	stream->end = w->end;
	stream->known = 1;
	/* The kernel has nothing left to do. */
	ctx->optlen = -1;
	return true;
}

#endif
