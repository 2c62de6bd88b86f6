/*****************************************************************************

Copyright (c) 2026, Sluice contributors.

This program is free software; you can redistribute it and/or modify it under
the terms of the GNU General Public License, version 2.0, as published by the
Free Software Foundation.

This program is distributed in the hope that it will be useful, but WITHOUT
ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS
FOR A PARTICULAR PURPOSE. See the GNU General Public License, version 2.0,
for more details.

You should have received a copy of the GNU General Public License along with
this program; if not, write to the Free Software Foundation, Inc.,
51 Franklin St, Fifth Floor, Boston, MA 02110-1301  USA

*****************************************************************************/

/** @file plugin/lru_stats/lru_observer.h
 The thread that takes the events of sampled pages from the server, for the
 simulation of other settings, the ages of pages, and the count of pages read
 again. */

#ifndef LRU_OBSERVER_H
#define LRU_OBSERVER_H

#include <cstdint>
#include <vector>

#include "plugin/lru_stats/lru_ages.h"
#include "plugin/lru_stats/lru_whatif.h"

namespace lru_stats {

/** What switch_part() returns if there is no memory. No errno is negative. */
constexpr int NO_MEMORY = -1;

/** What needs the events. The thread runs, and the server samples, while at
least one part is on. */
enum class Part : unsigned { WHATIF, AGES, INDEXES, N };

/** Switches a part on, or switches it off and forgets what it knows. Switching
on a part that is on changes nothing.
@param[in]  part  part
@param[in]  on    true to switch it on
@return 0; if the part could not be switched on and is off, NO_MEMORY or the
errno of the failed creation of the thread */
int switch_part(Part part, bool on);

/** Sets the memory of the simulation, and starts it afresh if it is on.
@param[in]  bytes  bytes
@return see switch_part() */
int set_whatif_memory(uint64_t bytes);

/** Sets which values of innodb_old_blocks_time are simulated besides that in
force, 0 and 1000.
@param[in]  times_ms  milliseconds */
void set_whatif_times(const std::vector<uint32_t> &times_ms);

/** Reads the estimates.
@param[out]  frame  what all rows share
@return a row for each setting; empty if the part is off or has seen nothing */
std::vector<Whatif_row> read_whatif(Whatif_frame &frame);

/** A bucket that is not empty. */
struct Age_row {
  uint8_t pool_id;
  Lru_ages::Interval interval;
  unsigned bucket;
  Lru_ages::Bucket value;
};

/** Reads the histograms.
@param[out]  since_usec   what was counted from: microseconds since 1970 UTC
@param[out]  events_lost  as in Whatif_frame
@return the buckets that are not empty */
std::vector<Age_row> read_ages(int64_t &since_usec, uint64_t &events_lost);

/** Registers the thread with performance_schema. */
void register_observer();

}  // namespace lru_stats

#endif /* LRU_OBSERVER_H */
