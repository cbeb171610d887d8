/* Preloaded into a process (LD_PRELOAD), writes down every change it makes to the files of one folder, in order.

   DISK_TRACE_ROOT is the folder, DISK_TRACE_FILE where the trace goes. A record is appended once the system call has succeeded,
   under one lock with it, so the trace is the order of the changes also where several threads make them. SQLite's shared memory
   (-shm) is left out: it is mapped, never synced, and made anew from the log. disk_trace.py reads the trace; whoever uses it
   compares what it leads to with the folder, so a call that is missing here does not stay unseen. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct head { uint64_t inode, offset; uint32_t text_bytes, data_bytes; char what, unused[7]; };

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_bytes;
static int trace = -1;
static long changes_left = -1;
static int dies_unsynced;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LOCKED(call) ({ pthread_mutex_lock(&one_at_a_time); __typeof__(call) done = (call); pthread_mutex_unlock(&one_at_a_time); done; })

static void die(void) {
    kill(getpid(), SIGKILL);
    pause();
}

static void note(char what, uint64_t inode, uint64_t offset, const char *text, size_t text_bytes, const void *data, size_t data_bytes) {
    struct head head = {inode, offset, text_bytes, data_bytes, what, {0}};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)text, text_bytes}, {(void *)data, data_bytes}};
    if (writev(trace, parts, 3) != (ssize_t)(sizeof head + text_bytes + data_bytes)) abort();
    if (what != 'M' && changes_left > 0 && !--changes_left) die();
}

/* The path below the folder, or NULL for what is not in it. "" is the folder itself. */
static const char *inside(const char *path) {
    size_t length = strlen(path);
    if (trace < 0 || strncmp(path, root, root_bytes) || (path[root_bytes] && path[root_bytes] != '/')) return NULL;
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return NULL;
    return path + root_bytes + (path[root_bytes] == '/');
}

static const char *absolute(int folder, const char *path, char *room) {
    char link[64], base[PATH_MAX];
    if (path[0] == '/') return path;
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) abort();
    base[length] = 0;
    if (snprintf(room, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) abort();
    return room;
}

static int is_traced(int descriptor, struct stat *found) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = trace < 0 ? -1 : readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return inside(path) && !fstat(descriptor, found);
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("DISK_TRACE_ROOT"), *file = getenv("DISK_TRACE_FILE");
    if (!folder || !file || !realpath(folder, root)) return;
    root_bytes = strlen(root);
    trace = REAL(open)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (trace < 0) abort();
}

/* For the process itself: what it acknowledged, for instance. */
void disk_trace_mark(const char *text) {
    pthread_mutex_lock(&one_at_a_time);
    note('M', 0, 0, text, strlen(text), NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
}

/* Be killed right after so many more changes. */
void disk_trace_die_in(long changes) {
    pthread_mutex_lock(&one_at_a_time);
    changes_left = changes;
    pthread_mutex_unlock(&one_at_a_time);
}

/* Be killed when a file is to be synced next: everything is written, nothing of it durable. */
void disk_trace_die_unsynced(void) {
    pthread_mutex_lock(&one_at_a_time);
    dies_unsynced = 1;
    pthread_mutex_unlock(&one_at_a_time);
}

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char room[PATH_MAX];
    const char *name = trace < 0 ? NULL : inside(absolute(folder, path, room));
    if (!name) return REAL(openat)(folder, path, flags, mode);
    struct stat found;
    int was_there = !fstatat(folder, path, &found, 0);
    int descriptor = REAL(openat)(folder, path, flags, mode);
    if (descriptor < 0 || fstat(descriptor, &found)) return descriptor;
    if (!was_there) note('C', found.st_ino, 0, name, strlen(name), NULL, 0);
    else if ((flags & O_TRUNC) && S_ISREG(found.st_mode)) note('T', found.st_ino, 0, NULL, 0, NULL, 0);
    return descriptor;
}

#define MODE(flags) ({ mode_t mode = 0; if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list more; va_start(more, flags); \
    mode = va_arg(more, mode_t); va_end(more); } mode; })
int open(const char *path, int flags, ...) { mode_t mode = MODE(flags); return LOCKED(opened(AT_FDCWD, path, flags, mode)); }
int open64(const char *path, int flags, ...) { mode_t mode = MODE(flags); return LOCKED(opened(AT_FDCWD, path, flags, mode)); }
int openat(int folder, const char *path, int flags, ...) { mode_t mode = MODE(flags); return LOCKED(opened(folder, path, flags, mode)); }
int openat64(int folder, const char *path, int flags, ...) { mode_t mode = MODE(flags); return LOCKED(opened(folder, path, flags, mode)); }

static ssize_t written(int descriptor, const void *data, size_t length, off_t at) {
    struct stat found;
    ssize_t count = REAL(pwrite)(descriptor, data, length, at);
    if (count > 0 && is_traced(descriptor, &found)) note('W', found.st_ino, at, NULL, 0, data, count);
    return count;
}

/* A plain write moves the place in the file, so it is made as such and noted afterwards. */
static ssize_t appended(int descriptor, const void *data, size_t length) {
    struct stat found;
    ssize_t count = REAL(write)(descriptor, data, length);
    if (count > 0 && is_traced(descriptor, &found) && S_ISREG(found.st_mode))
        note('W', found.st_ino, lseek(descriptor, 0, SEEK_CUR) - count, NULL, 0, data, count);
    return count;
}

ssize_t write(int descriptor, const void *data, size_t length) { return LOCKED(appended(descriptor, data, length)); }
ssize_t pwrite(int descriptor, const void *data, size_t length, off_t at) { return LOCKED(written(descriptor, data, length, at)); }
ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t at) { return LOCKED(written(descriptor, data, length, at)); }

static int cut(int descriptor, off_t length) {
    struct stat found;
    int done = REAL(ftruncate)(descriptor, length);
    if (!done && is_traced(descriptor, &found)) note('T', found.st_ino, length, NULL, 0, NULL, 0);
    return done;
}
int ftruncate(int descriptor, off_t length) { return LOCKED(cut(descriptor, length)); }
int ftruncate64(int descriptor, off64_t length) { return LOCKED(cut(descriptor, length)); }

static int synced(int descriptor, int (*sync)(int)) {
    struct stat found;
    int is_ours = is_traced(descriptor, &found);
    if (is_ours && dies_unsynced) die();
    int done = sync(descriptor);
    if (!done && is_ours) note('S', found.st_ino, 0, NULL, 0, NULL, 0);
    return done;
}
int fsync(int descriptor) { return LOCKED(synced(descriptor, REAL(fsync))); }
int fdatasync(int descriptor) { return LOCKED(synced(descriptor, REAL(fdatasync))); }

static int unlinked(int folder, const char *path, int flags) {
    char room[PATH_MAX];
    const char *name = trace < 0 ? NULL : inside(absolute(folder, path, room));
    int done = REAL(unlinkat)(folder, path, flags);
    if (!done && name) note('U', 0, 0, name, strlen(name), NULL, 0);
    return done;
}
int unlink(const char *path) { return LOCKED(unlinked(AT_FDCWD, path, 0)); }
int rmdir(const char *path) { return LOCKED(unlinked(AT_FDCWD, path, AT_REMOVEDIR)); }
int unlinkat(int folder, const char *path, int flags) { return LOCKED(unlinked(folder, path, flags)); }

static int renamed(int old_folder, const char *old_path, int new_folder, const char *new_path) {
    char old_room[PATH_MAX], new_room[PATH_MAX], both[2 * PATH_MAX];
    const char *from = trace < 0 ? NULL : inside(absolute(old_folder, old_path, old_room));
    const char *to = trace < 0 ? NULL : inside(absolute(new_folder, new_path, new_room));
    int done = REAL(renameat)(old_folder, old_path, new_folder, new_path);
    if (done || (!from && !to)) return done;
    if (!from || !to) abort(); /* into the folder or out of it: not a change of a disk's one folder */
    note('R', 0, 0, both, snprintf(both, sizeof both, "%s\n%s", from, to), NULL, 0);
    return done;
}
int rename(const char *from, const char *to) { return LOCKED(renamed(AT_FDCWD, from, AT_FDCWD, to)); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) { return LOCKED(renamed(from_folder, from, to_folder, to)); }

static int linked(int old_folder, const char *old_path, int new_folder, const char *new_path, int flags) {
    char old_room[PATH_MAX], new_room[PATH_MAX], both[2 * PATH_MAX];
    const char *from = trace < 0 ? NULL : inside(absolute(old_folder, old_path, old_room));
    const char *to = trace < 0 ? NULL : inside(absolute(new_folder, new_path, new_room));
    int done = REAL(linkat)(old_folder, old_path, new_folder, new_path, flags);
    if (done || (!from && !to)) return done;
    if (!from || !to) abort();
    note('L', 0, 0, both, snprintf(both, sizeof both, "%s\n%s", from, to), NULL, 0);
    return done;
}
int link(const char *from, const char *to) { return LOCKED(linked(AT_FDCWD, from, AT_FDCWD, to, 0)); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    return LOCKED(linked(from_folder, from, to_folder, to, flags));
}

static int made(int folder, const char *path, mode_t mode) {
    char room[PATH_MAX];
    struct stat found;
    const char *name = trace < 0 ? NULL : inside(absolute(folder, path, room));
    int done = REAL(mkdirat)(folder, path, mode);
    if (!done && name && !fstatat(folder, path, &found, 0)) note('D', found.st_ino, 0, name, strlen(name), NULL, 0);
    return done;
}
int mkdir(const char *path, mode_t mode) { return LOCKED(made(AT_FDCWD, path, mode)); }
int mkdirat(int folder, const char *path, mode_t mode) { return LOCKED(made(folder, path, mode)); }
