/* SPDX-License-Identifier: GPL-2.0 */
/* CoDel on both sides: common parameters, the steps of drop_next, and the states after a packet. The file that includes this one has
 * `check_step`. */
#ifndef FOREBAY_CODEL_STEPS_H
#define FOREBAY_CODEL_STEPS_H

#define STEPS 4096
#define UNIT_PS ((fb_u64)1000 << CODEL_SHIFT)

/* State of CoDel in Rust, of one queue; first_above may be FB_NEVER. */
struct codel_state {
	fb_u64 drop_next, first_above, count, last_count, dropping;
};

void codel_state(struct fb_queue *queue, size_t flow, struct codel_state *state);
void codel_set_drop_next(struct fb_queue *queue, size_t flow, fb_u64 time);

/* A step of the kernel at a count of the core, units, and the exact one. */
static void check_step(double count, double exact, double step);

static struct {
	u32 interval, step; /* units */
} noted[STEPS];
static unsigned int notes, taken;
static fb_u64 interval_ps;

static void begin_steps(void)
{
	notes = taken = 0;
}

/* codel_control_law multiplies the interval by the root's reciprocal with this function. */
static u32 reciprocal_scale(u32 value, u32 range)
{
	u32 scaled = (u64)value * range >> 32;

	if (notes == STEPS)
		fail("more than %u steps for a packet", STEPS);
	noted[notes].interval = value;
	noted[notes++].step = scaled;
	return scaled;
}

/* A root by which the core's quotient is the kernel's step. */
double noted_root(double count)
{
	double step;

	if (taken == notes)
		fail("the core takes a step more than the kernel");
	step = (double)noted[taken].step;
	check_step(count, (double)noted[taken++].interval / sqrt(count), step);
	return (double)interval_ps / (step * (double)UNIT_PS + 0.5);
}

#define CODEL_SETTINGS 5

/* Parameters of both, and their number. The kernel's times are whole units, and the core's interval is longer by 1 ps. */
static size_t draw_codel(struct codel_params *kernel, struct setting *settings)
{
	kernel->target = 1 + (u32)fb_below(&draws, 4000);
	kernel->interval = 1 + (u32)fb_below(&draws, 30000);
	kernel->ecn = fb_below(&draws, 2);
	kernel->mtu = (u32)fb_below(&draws, 3000);
	kernel->ce_threshold = fb_below(&draws, 2) ? CODEL_DISABLED_THRESHOLD : (u32)fb_below(&draws, 4000);
	interval_ps = kernel->interval * UNIT_PS + 1;
	settings[0] = (struct setting){ "target", kernel->target * UNIT_PS };
	settings[1] = (struct setting){ "interval", interval_ps };
	settings[2] = (struct setting){ "ecn", kernel->ecn };
	settings[3] = (struct setting){ "mtu", kernel->mtu };
	settings[4] = (struct setting){ "ce-threshold", kernel->ce_threshold * UNIT_PS };
	return kernel->ce_threshold == CODEL_DISABLED_THRESHOLD ? 4 : 5;
}

/* Before a packet leaves. 16 intervals to the bit are not recent in the kernel, and recent in the core, whose interval is longer. */
static void avoid_tie(struct fb_queue *queue, size_t flow, struct codel_vars *kernel, u32 interval)
{
	struct codel_state core;

	if (codel_get_time() - kernel->drop_next == 16 * interval && kernel->drop_next) {
		kernel->drop_next--;
		codel_state(queue, flow, &core);
		codel_set_drop_next(queue, flow, core.drop_next - UNIT_PS);
	}
}

/* After a packet has left. */
static void compare_laws(struct fb_queue *queue, size_t flow, const struct codel_vars *kernel)
{
	struct codel_state core;
	fb_u64 first_above = kernel->first_above_time * UNIT_PS + 1;

	codel_state(queue, flow, &core);
	if (taken != notes)
		fail("the kernel takes %u steps and the core %u", notes, taken);
	if (core.count != kernel->count || core.last_count != kernel->lastcount)
		fail("counts %llu and %llu of the core, %u and %u of the kernel", core.count, core.last_count, kernel->count,
		     kernel->lastcount);
	if (core.dropping != kernel->dropping)
		fail("the core is%s dropping, the kernel is%s", core.dropping ? "" : " not", kernel->dropping ? "" : " not");
	if (core.drop_next != kernel->drop_next * UNIT_PS)
		fail("next drop at %llu of the core, at %llu of the kernel", core.drop_next, kernel->drop_next * UNIT_PS);
	if (core.first_above != (kernel->first_above_time ? first_above : FB_NEVER))
		fail("first above at %llu of the core, at %llu of the kernel", core.first_above, first_above);
}

#endif
