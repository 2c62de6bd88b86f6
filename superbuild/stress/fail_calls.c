/* Copyright (c) 2026, Sluice contributors.
GPLv2, see LICENSE.

Put before the C library with LD_PRELOAD: while the file $FAIL_CALLS exists, calls fail.
Which, is the word in it:

  write      a write to a data file (*.ibd): EIO, as on a disk that breaks. Needs
             innodb_use_native_aio=OFF, which writes with pwrite().
  sync       an fsync of a data file: EIO
  submit     io_submit: EAGAIN, as where fs.aio-max-nr is used up
  thread N   pthread_create after the first N: EAGAIN, as where a limit is reached

Each call that fails makes the file $FAIL_CALLS.made a byte longer. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(const char *call, long *number) {
  const char *flag = getenv("FAIL_CALLS");
  char word[64];
  ssize_t length;
  int fd;

  if (flag == NULL || (fd = open(flag, O_RDONLY | O_CLOEXEC)) < 0) return 0;
  length = read(fd, word, sizeof(word) - 1);
  close(fd);
  if (length < 0) return 0;
  word[length] = '\0';
  if (strncmp(word, call, strlen(call)) != 0) return 0;
  if (number != NULL) *number = atol(word + strlen(call));
  return 1;
}

static void made(void) {
  char path[4096];
  int fd;

  snprintf(path, sizeof(path), "%s.made", getenv("FAIL_CALLS"));
  fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, "x", 1) != 1) abort();
  close(fd);
}

static int is_data_file(int fd) {
  char link[64], path[4096];
  ssize_t length;

  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof(path) - 1);
  if (length < 4) return 0;
  path[length] = '\0';
  return strcmp(path + length - 4, ".ibd") == 0;
}

#define NEXT(function) ((typeof(&function))dlsym(RTLD_NEXT, #function))

ssize_t pwrite64(int fd, const void *buffer, size_t size, off64_t offset) {
  if (fails("write", NULL) && is_data_file(fd)) {
    made();
    errno = EIO;
    return -1;
  }
  return NEXT(pwrite64)(fd, buffer, size, offset);
}

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset) {
  return pwrite64(fd, buffer, size, offset);
}

int fsync(int fd) {
  if (fails("sync", NULL) && is_data_file(fd)) {
    made();
    errno = EIO;
    return -1;
  }
  return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
  if (fails("sync", NULL) && is_data_file(fd)) {
    made();
    errno = EIO;
    return -1;
  }
  return NEXT(fdatasync)(fd);
}

int io_submit(void *context, long n, void **requests) {
  if (fails("submit", NULL)) {
    made();
    return -EAGAIN;
  }
  return NEXT(io_submit)(context, n, requests);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *argument) {
  static atomic_long created;
  long most;

  if (fails("thread", &most) && atomic_fetch_add(&created, 1) >= most) {
    made();
    return EAGAIN;
  }
  return NEXT(pthread_create)(thread, attributes, start, argument);
}
