// Fails one call that changes or opens a file of a test, or kills the process there. Loaded by LD_PRELOAD.
//
// FOREBAY_FAULT_AT: number of the call, from 0.
// FOREBAY_FAULT_ERROR: errno of the failed call, and of all later ones. 0 kills the process.
// FOREBAY_FAULT_LOG: file for the path of the failed call, or for the number of calls.
//
// Calls that write, sync, rename or create something below the current folder at the start of the program count, and no others.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long at = -1;
static int error;
static const char *record;
static char folder[PATH_MAX];

static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_open)(const char *, int, ...);

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("FOREBAY_FAULT_AT");
    if (text) at = atol(text);
    text = getenv("FOREBAY_FAULT_ERROR");
    if (text) error = atoi(text);
    record = getenv("FOREBAY_FAULT_LOG");
    if (!getcwd(folder, sizeof folder)) folder[0] = 0;
    real_write = (__typeof__(real_write))dlsym(RTLD_NEXT, "write");
    real_open = (__typeof__(real_open))dlsym(RTLD_NEXT, "open64");
}

static void note(const char *text) {
    if (!record) return;
    int file = real_open(record, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return;
    real_write(file, text, strlen(text));
    close(file);
}

__attribute__((destructor)) static void end(void) {
    char text[32];
    if (at >= 0) return;
    snprintf(text, sizeof text, "%ld", atomic_load(&calls));
    note(text);
}

static int inside(const char *path) {
    size_t length = strlen(folder);
    return path && (path[0] != '/' || (length && !strncmp(path, folder, length)));
}

// Returns 1 if this call fails. The process ends here if it is to be killed.
static int fails(const char *path) {
    if (!inside(path)) return 0;
    long number = atomic_fetch_add(&calls, 1);
    if (at < 0 || number < at) return 0;
    if (number == at) note(path);
    if (!error) raise(SIGKILL);
    errno = error;
    return 1;
}

static int descriptor_fails(int file) {
    char link[64], path[PATH_MAX];
    struct stat found;
    if (file <= 2 || fstat(file, &found) || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define ON_FILE(type, name, parameters, ...) type name parameters { NEXT(name); return descriptor_fails(file) ? -1 : next(__VA_ARGS__); }
#define ON_PATH(name, parameters, ...) int name parameters { NEXT(name); return fails(path) ? -1 : next(__VA_ARGS__); }
#define OPENING(name, ...) { \
    NEXT(name); \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = va_arg(more, mode_t); \
    va_end(more); \
    int writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0; \
    return writes && fails(path) ? -1 : next(__VA_ARGS__, flags, mode); \
}

// A killed process has written half of it.
ssize_t write(int file, const void *bytes, size_t count) {
    if (error == 0 && at >= 0 && atomic_load(&calls) == at && file > 2) real_write(file, bytes, count / 2);
    return descriptor_fails(file) ? -1 : real_write(file, bytes, count);
}
ON_FILE(ssize_t, writev, (int file, const struct iovec *parts, int count), file, parts, count)
ON_FILE(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t to), file, bytes, count, to)
ON_FILE(int, fsync, (int file), file)
ON_FILE(int, fdatasync, (int file), file)
ON_FILE(int, ftruncate64, (int file, off64_t length), file, length)
ON_PATH(rename, (const char *path, const char *to), path, to)
ON_PATH(link, (const char *path, const char *to), path, to)
ON_PATH(mkdir, (const char *path, mode_t mode), path, mode)
int open(const char *path, int flags, ...) OPENING(open, path)
int open64(const char *path, int flags, ...) OPENING(open64, path)
int openat(int in, const char *path, int flags, ...) OPENING(openat, in, path)
int openat64(int in, const char *path, int flags, ...) OPENING(openat64, in, path)
