/* Copyright (c) 2026, Sluice contributors. GPLv2, see LICENSE.

   LD_PRELOAD shim: a disk that takes its time to make data durable, as rented ones
   do. fsync and fdatasync return so many milliseconds later than they would.

     SLOW_SYNC_MS  milliseconds, default 0 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void pay(void) {
  const char *text = getenv("SLOW_SYNC_MS");
  double ms = text ? atof(text) : 0;
  if (ms <= 0) return;
  struct timespec wait = {(time_t)(ms / 1e3), (long)((ms / 1e3 - (time_t)(ms / 1e3)) * 1e9)};
  while (nanosleep(&wait, &wait) != 0) {
  }
}

#define REAL(name) ((int (*)(int))dlsym(RTLD_NEXT, name))

int fsync(int file) {
  int result = REAL("fsync")(file);
  pay();
  return result;
}

int fdatasync(int file) {
  int result = REAL("fdatasync")(file);
  pay();
  return result;
}
