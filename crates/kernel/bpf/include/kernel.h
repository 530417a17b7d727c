/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the running kernel that the programs of this folder use. No system header and no vmlinux.h is needed: offsets
 * are fixed up when a program is loaded (CO-RE), so that only names and types have to agree with the kernel's. */
#ifndef FOREBAY_KERNEL_H
#define FOREBAY_KERNEL_H

typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16;
typedef unsigned int u32, __u32;
typedef unsigned long long u64, __u64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32;
typedef long long s64, __s64;
typedef u16 __be16, __sum16;
typedef u32 __be32, __wsum;
#ifndef bool
#define bool _Bool
#endif
#define true 1
#define false 0

/* include/uapi/linux/bpf.h. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
struct pt_regs;
#include <bpf/bpf_tracing.h>

/* Counters of a program: one copy for each CPU, so that counting needs no lock. `struct counters` is the program's own; user
 * space finds the names of its fields in the type information of the map. */
#define COUNTERS_MAP                                                                                                           \
	struct {                                                                                                               \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                                       \
		__uint(max_entries, 1);                                                                                        \
		__type(key, u32);                                                                                              \
		__type(value, struct counters);                                                                                \
	} counters SEC(".maps");                                                                                               \
	static __always_inline struct counters *counted(void)                                                                  \
	{                                                                                                                      \
		u32 zero = 0;                                                                                                  \
		return bpf_map_lookup_elem(&counters, &zero);                                                                  \
	}
/* Atomically: a program that counts for one socket may be interrupted on its CPU by one that counts for another. */
#define COUNT(field, n)                                                                                                        \
	do {                                                                                                                   \
		struct counters *counters_of_this_cpu = counted();                                                             \
		if (counters_of_this_cpu)                                                                                      \
			__sync_fetch_and_add(&counters_of_this_cpu->field, (n));                                                       \
	} while (0)

/* Parameters of a program, which `forebay tune` changes while it runs. `struct params` is the program's own. */
#define PARAMS_MAP                                                                                                             \
	struct {                                                                                                               \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                              \
		__uint(max_entries, 1);                                                                                        \
		__type(key, u32);                                                                                              \
		__type(value, struct params);                                                                                  \
	} params SEC(".maps");                                                                                                 \
	static __always_inline const struct params *parameters(void)                                                           \
	{                                                                                                                      \
		u32 zero = 0;                                                                                                  \
		return bpf_map_lookup_elem(&params, &zero);                                                                    \
	}

char _license[] SEC("license") = "GPL";

#endif
