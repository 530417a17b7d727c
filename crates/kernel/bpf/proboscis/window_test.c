/* SPDX-License-Identifier: GPL-2.0 */
/* The window of window_core.bpf.h for a test that holds it against the simulator's (tests/driver). */
#include "window_core.bpf.h"

void fb_test_window_open(struct shim_window *s, cc_u32 ack)
{
	shim_open(s, ack);
}

void fb_test_window_sent(struct shim_window *s, cc_u32 end)
{
	s->high = end;
}

/* The window field that the guest gets. */
void fb_test_window_restart(struct shim_window *s)
{
	shim_restart(s);
}

cc_u16 fb_test_window_acked(struct shim_window *s, const struct shim_params *p, cc_u32 ack, cc_u32 echo, cc_u16 field, cc_u32 scale)
{
	shim_acked(s, p, ack, echo, (cc_u64)field << scale);
	return shim_limited(s, field, scale);
}
