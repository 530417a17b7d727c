/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of applications: where they begin and end in the stream, and when they are wanted. An application says that it is about to write one by a
 * socket option, immediately before it writes (SOL_FOREBAY, FOREBAY_MESSAGE, struct forebay_message); a program of the law at its cgroup takes
 * the option, and the kernel never sees it. A socket that does not use the law gets the kernel's answer: ENOPROTOOPT.
 */
#ifndef FOREBAY_MESSAGES_BPF_H
#define FOREBAY_MESSAGES_BPF_H

#include "tcp.h"

enum { SOL_FOREBAY = 0x4642, FOREBAY_MESSAGE = 1 };

/* What the application says: the bytes of the message, and in how many us from now it is to have arrived; 0: no matter when. */
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
/* What the program answers: done, or on to the kernel with it; or an error. */
enum { OPTION_PASSES = 1, OPTION_REFUSED = 0 };
enum { EINVAL = 22 };

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym;

/* Where the last message ends that was announced. */
struct law_stream {
	u32 end;
	u32 known;
};

/* A message in the stream: sequence numbers of its first byte and behind its last, and when it is wanted, in us of tcp_mstamp. */
struct written {
	u32 begin, end, una;
	u64 deadline;
};

/* The table of a law: `struct talk` is the law's own and begins with a struct law_stream. Its sockets have an entry from init to release. */
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
static __always_inline bool read_message(struct bpf_sockopt *ctx, struct law_stream *stream, struct written *w)
{
	struct forebay_message *m = ctx->optval;
	struct tcp_sock *tp;

	if ((void *)(m + 1) > ctx->optval_end || ctx->optlen != sizeof(*m) || !m->bytes || m->bytes >> 31)
		return false;
	tp = bpf_rdonly_cast(ctx->sk, bpf_core_type_id_kernel(struct tcp_sock));
	/* Behind what was announced and is not written yet; bytes that nobody announced belong to no message. */
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
