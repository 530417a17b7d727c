/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs the cores with input from a pipe, for the test that compares them with the congestion controls of the simulator
 * (crates/kernel/tests/congestion_controls.rs). Input: batches, each with the number of bytes and sequences; a sequence is a `struct sequence` with
 * its events. Output: a `struct outcome` for every event.
 */
#include "cores_test.h"

int main(void)
{
	cc_u32 size;

	while (fread(&size, sizeof(size), 1, stdin) == 1) {
		char *batch = malloc(size), *at = batch;

		if (!batch || fread(batch, 1, size, stdin) != size)
			return 2;
		while (at < batch + size) {
			const struct sequence *q = (const void *)at;
			const struct event *e = (const void *)(at + sizeof(*q));
			cc_u32 i;

			begin(q);
			for (i = 0; i < q->events; i++) {
				struct outcome o = on_event(&e[i]);

				fwrite(&o, sizeof(o), 1, stdout);
			}
			at = (char *)&e[i];
		}
		fflush(stdout);
		free(batch);
	}
	return 0;
}
