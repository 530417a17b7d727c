/* All-reduce by a ring: each host sends a part of its data to the next one, and passes on what it receives, 2 (N - 1) times.
 *
 *     cc ring.c -lforebay -o ring && ./ring network.toml 128 1048576
 *
 * With a fourth argument it prints each message: sender, step, and time of delivery in picoseconds.
 */
#include "forebay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct host {
    uint32_t number;
    uint32_t received;
};

static struct host *hosts;
static uint32_t count;
static uint64_t part;
static int trace;

static void on_message(forebay_engine *engine, void *argument);

static void fail(void)
{
    fprintf(stderr, "%s\n", forebay_error());
    exit(1);
}

static void send_to_next(forebay_engine *engine, const struct host *from)
{
    struct host *to = &hosts[(from->number + 1) % count];

    if (forebay_send(engine, from->number, to->number, part, on_message, to) != 0)
        fail();
}

/* A host has a message completely. */
static void on_message(forebay_engine *engine, void *argument)
{
    struct host *host = argument;

    if (trace)
        printf("%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", (host->number + count - 1) % count, host->received, forebay_now(engine));
    host->received++;
    if (host->received < 2 * (count - 1))
        send_to_next(engine, host);
}

int main(int argc, char **argv)
{
    forebay_engine *engine;
    uint32_t i;

    if (argc < 4) {
        fprintf(stderr, "usage: ring SCENARIO HOSTS BYTES [trace]\n");
        return 2;
    }
    engine = forebay_create(argv[1], NULL);
    if (engine == NULL)
        fail();
    count = (uint32_t)strtoul(argv[2], NULL, 10);
    if (count < 2 || count > forebay_hosts(engine)) {
        fprintf(stderr, "the network has %" PRIu32 " hosts; a ring needs 2 or more of them\n", forebay_hosts(engine));
        return 2;
    }
    part = strtoull(argv[3], NULL, 10) / count;
    trace = argc > 4;
    hosts = calloc(count, sizeof *hosts);
    if (hosts == NULL)
        return 1;
    for (i = 0; i < count; i++)
        hosts[i].number = i;
    for (i = 0; i < count; i++)
        send_to_next(engine, &hosts[i]);
    if (forebay_run(engine) != 0)
        fail();
    fprintf(stderr, "%" PRIu32 " hosts, %.3f ms\n", count, (double)forebay_now(engine) / 1e9);
    forebay_destroy(engine);
    free(hosts);
    return 0;
}
