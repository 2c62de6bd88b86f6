/* Copyright (c) 2026, Sluice contributors.
   GPLv2, see LICENSE. */

/** Asks the policy of what the page cleaner leaves to the LRU flushers, for
 test_lru_policy.py. Arguments are calls, one after the other:

   SECONDS:EVICTED:FOR_LSN   after so many seconds, in which so many pages were
                             evicted; the redo log asks for so many a second

 Prints what each call returned: left, or upstream's. */

#include <cstdio>

#include "buf0lrupolicy.h"

int main(int argc, char **argv) {
  Lru_preflush_policy policy;
  Lru_preflush_policy::State state;
  state.most_dirty = 1000000;
  for (int i = 1; i < argc; ++i) {
    double seconds;
    unsigned long evicted, for_lsn;
    if (sscanf(argv[i], "%lf:%lu:%lu", &seconds, &evicted, &for_lsn) != 3) {
      return 1;
    }
    state.now += seconds;
    state.evicted += evicted;
    state.for_lsn = for_lsn;
    puts(policy.pages(state).has_value() ? "left" : "upstream's");
  }
}
