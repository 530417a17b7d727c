// SPDX-License-Identifier: GPL-2.0
/* Entry points of the rules of tag.h for a test. Not part of a kernel. */
#include "tag.h"

fb_u32 fb_test_tag(const fb_u64 *tag, const struct fb_segment *segment)
{
	return fb_tag_data(tag, segment);
}
