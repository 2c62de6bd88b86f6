/* Copyright (c) 2026, Sluice contributors. GPLv2, see LICENSE.

   LD_PRELOAD shim: a file system that is slow to give space back, for files
   below one directory. Before a call that frees blocks (unlink, unlinkat,
   remove, a truncation that shrinks) the calling thread sleeps in proportion
   to the bytes given back, as a file system does that walks a file's extents
   inside the call. The sleep comes first, so that a name is gone, or a size
   smaller, only when its time has been paid.

     SLOW_UNLINK_UNDER            the directory, absolute; nothing sleeps without it
     SLOW_UNLINK_SECONDS_PER_GIB  default 1
     SLOW_UNLINK_LOG              a line for each sleep is added to this file:
                                  CLOCK_MONOTONIC seconds, call, bytes, seconds, path

   Bytes are those that the file occupies, not its length; a name that is not
   the last hard link frees nothing. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static double seconds_per_gib(void) {
  const char *text = getenv("SLOW_UNLINK_SECONDS_PER_GIB");
  return text ? atof(text) : 1.0;
}

static int is_under(const char *path) {
  const char *directory = getenv("SLOW_UNLINK_UNDER");
  if (!directory || !*directory) return 0;
  size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && path[length] == '/';
}

/* The absolute name of a path relative to a directory handle. */
static int absolute(int directory, const char *path, char *name) {
  char parent[PATH_MAX], copy[PATH_MAX];
  if (path[0] == '/') {
    if (strlen(path) >= sizeof copy) return 0;
    strcpy(copy, path);
  } else {
    char link[64];
    if (directory == AT_FDCWD)
      snprintf(link, sizeof link, "/proc/self/cwd");
    else
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, parent, sizeof parent - 1);
    if (length < 0) return 0;
    parent[length] = 0;
    if (snprintf(copy, sizeof copy, "%s/%s", parent, path) >= (int)sizeof copy) return 0;
  }
  /* The parent is resolved, the name itself is not: it is what is unlinked. */
  char *slash = strrchr(copy, '/');
  const char *last = slash + 1;
  *slash = 0;
  if (!realpath(*copy ? copy : "/", parent)) return 0;
  return snprintf(name, PATH_MAX, "%s/%s", parent, last) < PATH_MAX;
}

static void pay(const char *call, const char *path, double bytes) {
  double seconds = bytes / (1024.0 * 1024 * 1024) * seconds_per_gib();
  if (seconds < 1e-4) return; /* a sleep takes about that long whatever it is asked for */
  struct timespec now, wait = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
  clock_gettime(CLOCK_MONOTONIC, &now);
  while (nanosleep(&wait, &wait) != 0) {
  }
  const char *log = getenv("SLOW_UNLINK_LOG");
  if (!log) return;
  char line[PATH_MAX + 128];
  int length = snprintf(line, sizeof line, "%lld.%06ld %s %.0f %.6f %s\n", (long long)now.tv_sec,
                        now.tv_nsec / 1000, call, bytes, seconds, path);
  int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (write(file, line, length) != length) perror(log);
  close(file);
}

static void pay_for_name(const char *call, int directory, const char *path) {
  char name[PATH_MAX];
  struct stat status;
  if (!absolute(directory, path, name) || !is_under(name)) return;
  if (lstat(name, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) return;
  pay(call, name, 512.0 * status.st_blocks);
}

static void pay_for_size(const char *call, const char *name, const struct stat *status,
                         off_t size) {
  if (!is_under(name) || !S_ISREG(status->st_mode)) return;
  double freed = (double)status->st_size - size, occupied = 512.0 * status->st_blocks;
  pay(call, name, freed < occupied ? freed : occupied);
}

static void pay_for_handle(const char *call, int file, off_t size) {
  char link[64], name[PATH_MAX];
  struct stat status;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, name, sizeof name - 1);
  if (length < 0 || fstat(file, &status) != 0) return;
  name[length] = 0;
  pay_for_size(call, name, &status, size);
}

static void pay_for_truncated_name(const char *call, const char *path, off_t size) {
  char name[PATH_MAX];
  struct stat status;
  if (!realpath(path, name) || stat(name, &status) != 0) return;
  pay_for_size(call, name, &status, size);
}

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

int unlink(const char *path) {
  pay_for_name("unlink", AT_FDCWD, path);
  return REAL(int (*)(const char *), "unlink")(path);
}

int unlinkat(int directory, const char *path, int flags) {
  if (!(flags & AT_REMOVEDIR)) pay_for_name("unlinkat", directory, path);
  return REAL(int (*)(int, const char *, int), "unlinkat")(directory, path, flags);
}

int remove(const char *path) {
  pay_for_name("remove", AT_FDCWD, path);
  return REAL(int (*)(const char *), "remove")(path);
}

int ftruncate(int file, off_t size) {
  pay_for_handle("ftruncate", file, size);
  return REAL(int (*)(int, off_t), "ftruncate")(file, size);
}

int ftruncate64(int file, off64_t size) {
  pay_for_handle("ftruncate", file, size);
  return REAL(int (*)(int, off64_t), "ftruncate64")(file, size);
}

int truncate(const char *path, off_t size) {
  pay_for_truncated_name("truncate", path, size);
  return REAL(int (*)(const char *, off_t), "truncate")(path, size);
}

int truncate64(const char *path, off64_t size) {
  pay_for_truncated_name("truncate", path, size);
  return REAL(int (*)(const char *, off64_t), "truncate64")(path, size);
}
