/* The simulator forebay as a library: a program sends messages through a simulated network, and a function of it is called when each has been
 * delivered.
 *
 *     forebay_engine *e = forebay_create("network.toml", NULL);
 *     forebay_send(e, 0, 1, 1000000, done, NULL);
 *     forebay_run(e);
 *     forebay_destroy(e);
 *
 * Errors. Functions that return int return 0 on success and -1 on an error; forebay_create returns NULL. forebay_error() has the text. No function ends
 * the process. A defect of the simulator becomes an error, and the engine refuses all later calls except forebay_destroy.
 *
 * Memory. forebay_create allocates the engine, forebay_destroy frees it. The engine copies no argument of a callback and frees none: what `argument`
 * points to must live until the callback has been called. Strings that are passed in are read during the call only. The result of forebay_error
 * belongs to the library, and is valid until the next call on the same thread.
 *
 * Threads. One thread at a time uses an engine. Several engines can run at the same time, on a thread each.
 *
 * Callbacks are called by forebay_run only. They may call every function except forebay_run and forebay_destroy of the same engine. They must return:
 * no exception and no longjmp may leave them.
 */
#ifndef FOREBAY_H
#define FOREBAY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forebay_engine forebay_engine;

/* Simulated time in picoseconds since the start of the run. */
typedef uint64_t forebay_time;

typedef void (*forebay_callback)(forebay_engine *engine, void *argument);

/* Creates the network and the transports of a scenario file. `settings` is a list of texts "key=value" that ends with NULL, as `forebay run --set` takes
 * them, or NULL. Workloads in the file, if there are some, run beside the messages of the program. Returns NULL on an error. */
forebay_engine *forebay_create(const char *file, const char *const *settings);

/* Frees the engine with all messages and timers; their callbacks are not called. NULL is legal. */
int forebay_destroy(forebay_engine *engine);

/* Number of hosts, which have the numbers from 0 on in the order of the topology. 0 on an error. */
uint32_t forebay_hosts(const forebay_engine *engine);

/* Number of the host with this name. -1 on an error. */
int64_t forebay_host(const forebay_engine *engine, const char *name);

/* Sends `bytes` bytes from one host to another, on a connection of its own. `callback` is called when the receiver has all of them; it may be NULL.
 * In the callback of a timer, and before the first forebay_run, the message begins now. In the callback of a message it begins with the next window of
 * the simulator: at most the shortest delay of a link later. */
int forebay_send(forebay_engine *engine, uint32_t src, uint32_t dst, uint64_t bytes, forebay_callback callback, void *argument);

/* Calls `callback` when `delay` has passed, from now on. Callbacks of one time are called in the order of these calls. */
int forebay_schedule(forebay_engine *engine, forebay_time delay, forebay_callback callback, void *argument);

/* Runs until all messages have been delivered and no callback is scheduled, and calls the callbacks in order of time. It is an error if a message can
 * no longer be delivered, because the `duration` of the scenario is over or no packet of it is left. After it has returned, more messages can be sent,
 * and it can be called again. */
int forebay_run(forebay_engine *engine);

/* Simulated time: that of the callback that is running, or of the last one. 0 on an error. */
forebay_time forebay_now(const forebay_engine *engine);

/* Text of the last error on this thread; empty if there was none. */
const char *forebay_error(void);

#ifdef __cplusplus
}
#endif

#endif
