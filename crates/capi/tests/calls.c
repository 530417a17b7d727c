/* Calls of every function, legal and illegal. Prints "passed", or the failed check. */
#include "forebay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            printf("line %d: %s; last error: %s\n", __LINE__, #condition, forebay_error());     \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

#define FAILS(call, text)                                        \
    do {                                                         \
        CHECK((call) < 0);                                       \
        CHECK(strstr(forebay_error(), (text)) != NULL);          \
    } while (0)

static int called;

static void count(forebay_engine *engine, void *argument)
{
    forebay_time *time = argument;

    called++;
    if (time != NULL)
        *time = forebay_now(engine);
}

/* Calls that are illegal in a callback. */
static void nested(forebay_engine *engine, void *argument)
{
    (void)argument;
    called++;
    FAILS(forebay_run(engine), "callback");
    FAILS(forebay_destroy(engine), "callback");
}

static const char *path(const char *folder, const char *name)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/%s", folder, name);
    return text;
}

int main(int argc, char **argv)
{
    const char *settings[] = {"seed=7", "transport.cc=cubic", NULL};
    const char *wrong[] = {"topology.spines=0", NULL};
    forebay_time first = 0, second = 0, third = 0;
    forebay_engine *engine;

    CHECK(argc == 2);
    CHECK(forebay_error()[0] == '\0');
    CHECK(forebay_create(NULL, NULL) == NULL && strstr(forebay_error(), "NULL") != NULL);
    CHECK(forebay_create(path(argv[1], "missing.toml"), NULL) == NULL && strstr(forebay_error(), "no such scenario file") != NULL);
    CHECK(forebay_create(path(argv[1], "wrong.toml"), NULL) == NULL && strstr(forebay_error(), "leafs") != NULL);
    CHECK(forebay_create(path(argv[1], "network.toml"), wrong) == NULL && strstr(forebay_error(), "spines") != NULL);

    engine = forebay_create(path(argv[1], "network.toml"), settings);
    CHECK(engine != NULL);
    CHECK(forebay_hosts(engine) == 128 && forebay_now(engine) == 0);
    CHECK(forebay_host(engine, "h0") == 0 && forebay_host(engine, "h127") == 127);
    FAILS(forebay_host(engine, "nowhere"), "nowhere");
    FAILS(forebay_send(engine, 0, 128, 1, NULL, NULL), "0 to 127");
    FAILS(forebay_send(engine, 3, 3, 1, NULL, NULL), "itself");
    FAILS(forebay_send(engine, 0, 1, 0, NULL, NULL), "1 to");
    FAILS(forebay_schedule(engine, 1, NULL, NULL), "NULL");
    FAILS(forebay_send(NULL, 0, 1, 1, NULL, NULL), "NULL");
    FAILS(forebay_run(NULL), "NULL");
    CHECK(forebay_now(NULL) == 0 && forebay_hosts(NULL) == 0 && forebay_destroy(NULL) == 0);

    /* Nothing to do, a message with and without callback, timers in order of time. */
    CHECK(forebay_run(engine) == 0 && called == 0);
    CHECK(forebay_send(engine, 0, 64, 1000, count, &first) == 0);
    CHECK(forebay_send(engine, 1, 65, 1000, NULL, NULL) == 0);
    CHECK(forebay_schedule(engine, 1234567, count, &second) == 0);
    CHECK(forebay_schedule(engine, 3000000000ULL, nested, NULL) == 0);
    CHECK(forebay_run(engine) == 0 && called == 3);
    CHECK(second == 1234567 && first > second && forebay_now(engine) == 3000000000ULL);

    /* It continues where it ended. */
    CHECK(forebay_send(engine, 64, 0, 1000, count, &third) == 0);
    CHECK(forebay_run(engine) == 0 && called == 4 && third > 3000000000ULL && third == forebay_now(engine));
    CHECK(forebay_destroy(engine) == 0);

    /* Messages that the duration cuts off. */
    engine = forebay_create(path(argv[1], "short.toml"), NULL);
    CHECK(engine != NULL && forebay_send(engine, 0, 64, 1000000, count, NULL) == 0);
    FAILS(forebay_run(engine), "1 messages cannot be delivered");
    FAILS(forebay_run(engine), "duration");
    CHECK(called == 4 && forebay_destroy(engine) == 0);
    printf("passed\n");
    return 0;
}
