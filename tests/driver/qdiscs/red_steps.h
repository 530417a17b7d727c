/* SPDX-License-Identifier: GPL-2.0 */
/* RED on both sides: common parameters, the average around an arrival, and its region. */
#ifndef FOREBAY_RED_STEPS_H
#define FOREBAY_RED_STEPS_H

/* State of RED in Rust. */
struct red_state {
	double *average;
	long long *count;
	double *p_max;
};

void red_state(struct fb_queue *queue, struct red_state *state);
void red_age(struct fb_queue *queue);
bool red_marks(struct fb_queue *queue);

static struct fb_queue *core;
static struct red_state law;
static double law_min, law_max;
static struct red_parms *parms; /* of the kernel */
static struct red_vars *vars;
static unsigned long long regions[3], after_idle;

/* The table of tc-red, of the loss in powers of two for the time of each cell. */
static u8 damping(u8 weight_log, double packet_us, u8 *table)
{
	/* Powers of two that are lost in a microsecond. */
	double loss = -log2(1.0 - 1.0 / (double)(1 << weight_log)) / packet_us;
	u8 cell_log = 0;

	while (31.0 / loss / (double)(1u << cell_log) >= 512.0)
		cell_log++;
	for (int i = 0; i < RED_STAB_SIZE; i++)
		table[i] = (u8)fmin(31.0, (double)((u64)i << cell_log) * loss);
	table[RED_STAB_SIZE - 1] = 31;
	return cell_log;
}

#define RED_SETTINGS 7

/* Parameters of both, for thresholds in bytes or packets. True if packets above the upper one are dropped although they could be marked. */
static bool draw_red(u32 low, u32 high, bool bytes, struct setting *settings)
{
	u8 weight_log = 1 + (u8)fb_below(&draws, 11), table[RED_STAB_SIZE], cell_log;
	bool hard = fb_below(&draws, 2);
	double most = 0.01 + 0.5 * fb_unit(&draws);
	const fb_u64 unit = bytes ? 0 : IN_PACKETS;
	const struct setting drawn[RED_SETTINGS] = {
		{ "min", low | unit },
		{ "max", high | unit },
		{ "p-max", fb_bits(most) },
		{ "weight", fb_bits(1.0 / (double)(1 << weight_log)) },
		{ "above-max", hard },
		{ "count", 0 },
		{ "mean-packet", 1000 },
	};

	law_min = low;
	law_max = high;
	memcpy(settings, drawn, sizeof(drawn));
	/* 1000 bytes in 1000 bytes' times: a microsecond for each ns of a byte. */
	cell_log = damping(weight_log, (double)byte_ns, table);
	red_set_parms(parms, low, high, weight_log, 0, cell_log, table, (u32)(most * 4294967296.0));
	red_set_vars(vars);
	kernel_now = 1;
	red_start_of_idle_period(vars);
	return hard;
}

static double unit(void)
{
	return 1.0 / (double)(1 << parms->Wlog);
}

/* Between the core's arrival and the kernel's, with the average of the core before and the kernel's backlog now. */
static void lead(double before, u32 backlog, bool signal)
{
	const bool idle = red_is_idling(vars);
	double average;
	int region;

	if (idle != !serving)
		fail("the kernel is%s idle, the core is%s", idle ? "" : " not", serving ? " not" : "");
	red_age(core);
	if (idle) {
		average = (double)red_calc_qavg_from_idle_time(parms, vars) * unit();
		/* A cell of the table is less than 1/8 of a power of two. */
		if (average < 0.49 * *law.average - 1.0 || average > 2.0 * 1.1 * *law.average + 1.0)
			fail("average %g of the kernel, %g of the core, %g before idle time", average, *law.average, before);
		after_idle++;
		red_end_of_idle_period(vars);
	}
	region = *law.average < law_min ? 0 : *law.average < law_max ? 1 : 2;
	regions[region]++;
	/* Within the rounding of a threshold either region is right: the kernel's average is led to the side of the core's. */
	if (idle || fabs(*law.average - law_min) < 4.0 || fabs(*law.average - law_max) < 4.0) {
		const bool up = region == 2 || (region == 1 && *law.average - law_min < law_max - *law.average);

		average = *law.average / unit() + (up ? 2.0 : -2.0) - backlog;
		average /= 1.0 - unit();
		vars->qavg = average > 0.0 ? (unsigned long)average : 0;
	}
	/* Between the thresholds: a signal at once, or none. */
	vars->qcount = 0;
	vars->qR = region == 1 && signal ? 0 : UINT_MAX;
}

static void compare_averages(void)
{
	double average = (double)vars->qavg * unit();

	if (average < *law.average - 4.0 * unit() || average > *law.average + 1.0 + 4.0 * unit())
		fail("average %.9g of the kernel, %.9g of the core", average, *law.average);
}

static void say_regions(void)
{
	printf("%llu packets below, %llu between, %llu above the thresholds, %llu after idle time\n", regions[0], regions[1], regions[2],
	       after_idle);
}

double noted_root(double count)
{
	return sqrt(count);
}

#endif
