// SPDX-License-Identifier: GPL-2.0
#include "real.h"
#include "shared.h"

bool fb_shared_admits(const fb_u64 *param, fb_u64 used, fb_u64 port_bytes, fb_u64 wire)
{
	if (used + wire > param[0])
		return false;
	if (param[1] == FB_STATIC)
		return port_bytes + wire <= param[2];
	return (double)(port_bytes + wire) <= fb_real(param[2]) * (double)(param[0] - used);
}
