/* Copyright (c) 2026, Sluice contributors.
GPLv2, see LICENSE.

Put before the C library with LD_PRELOAD: while the file $FAIL_WRITES exists, a
write to a data file (*.ibd) fails with EIO, as on a disk that breaks. Needs
innodb_use_native_aio=OFF, which writes with pwrite(). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int fd) {
  const char *flag = getenv("FAIL_WRITES");
  char link[64], path[4096];
  ssize_t length;

  if (flag == NULL || access(flag, F_OK) != 0) return 0;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof(path) - 1);
  if (length < 4) return 0;
  path[length] = '\0';
  return strcmp(path + length - 4, ".ibd") == 0;
}

typedef ssize_t (*pwrite_function)(int, const void *, size_t, off64_t);

ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t offset) {
  static pwrite_function next;
  if (next == NULL) next = (pwrite_function)dlsym(RTLD_NEXT, "pwrite64");
  if (fails(fd)) {
    errno = EIO;
    return -1;
  }
  return next(fd, buffer, size, offset);
}

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset) {
  return pwrite64(fd, buffer, size, offset);
}
