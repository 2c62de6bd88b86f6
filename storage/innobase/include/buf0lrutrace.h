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

/** @file include/buf0lrutrace.h
 What happens to sampled pages, as a stream of events, see buf0lrutrace.cc. */

#ifndef buf0lrutrace_h
#define buf0lrutrace_h

#include <atomic>
#include <cstdint>

#include "buf0lrustats.h"
#include "buf0types.h"

class buf_page_t;

/** Pages whose innodb_lru_page_hash() is lower are traced; 0 is none. Read
without order: a page more or less does not matter. */
extern std::atomic<uint64_t> buf_lru_trace_threshold;

/** @return true if any page is traced */
inline bool buf_lru_trace_on() {
  return buf_lru_trace_threshold.load(std::memory_order_relaxed) != 0;
}

/** @param[in]  id  page
@return innodb_lru_event_t::page */
inline uint64_t buf_lru_trace_page(const page_id_t &id) {
  return uint64_t{id.space()} << 32 | id.page_no();
}

/** @param[in]  page  as in innodb_lru_event_t
@return true if the page is traced */
inline bool buf_lru_trace_takes(uint64_t page) {
  return innodb_lru_page_hash(page) <
         buf_lru_trace_threshold.load(std::memory_order_relaxed);
}

/** @return milliseconds of a cheap clock that ticks every 10 ms or more often
 */
uint64_t buf_lru_trace_now_ms();

/** Records an event. If the last ones were not taken out in time, the event is
lost and counted. Takes no latch and allocates nothing, so callers may hold any.
@param[in]  kind     what happened
@param[in]  page     to which page, as in innodb_lru_event_t
@param[in]  pool_id  of which instance
@param[in]  index    as in innodb_lru_event_t */
void buf_lru_trace(innodb_lru_event_kind_t kind, uint64_t page, ulint pool_id,
                   uint16_t index = 0);

/** innodb_lru_stats_interface_t::set_trace */
bool buf_lru_trace_set(uint64_t threshold);

/** innodb_lru_stats_interface_t::drain */
uint32_t buf_lru_trace_drain(innodb_lru_event_t *events, uint32_t max,
                             uint64_t *dropped);

#endif /* buf0lrutrace_h */
