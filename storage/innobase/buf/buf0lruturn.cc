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

/** @file buf/buf0lruturn.cc
 Measures the turnover of the old part of the LRU list. See buf0lruturn.h.

 Pages that come are counted over all instances, and the time is taken whenever
 an eighth as many have come as the old parts have: so the turnover is that of
 the last whole turn, and follows a change within an eighth of one. What comes
 is counted, not what is evicted, as evictions come in batches. */

#include "buf0lruturn.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "buf0buf.h"
#include "my_dbug.h"
#include "srv0srv.h"

uint srv_old_blocks_turnover;

namespace {

constexpr size_t PARTS = 8;

/** Pages since the time was taken last, and how many it is to be. */
std::atomic<size_t> n_came{0};
std::atomic<size_t> part{0};

/** Milliseconds of the last turn; 0: there was none yet. */
std::atomic<uint64_t> turn_ms{0};

/** Protects what follows. Never waited for. */
std::mutex mark_mutex;
std::array<std::chrono::steady_clock::time_point, PARTS> marks;
size_t n_marks{0};

/** Pages in the old parts of all instances. Read without their mutexes: a few
more or less do not matter. */
size_t old_pages() {
  size_t sum = 0;
  for (ulint i = 0; i < srv_buf_pool_instances; ++i) {
    sum += buf_pool_from_array(i)->LRU_old_len;
  }
  return sum;
}

}  // namespace

void buf_lru_turn_page_came() {
  if (n_came.fetch_add(1, std::memory_order_relaxed) + 1 <
      part.load(std::memory_order_relaxed)) {
    return;
  }
  const std::unique_lock<std::mutex> lock(mark_mutex, std::try_to_lock);
  if (!lock.owns_lock() || n_came.load(std::memory_order_relaxed) <
                               part.load(std::memory_order_relaxed)) {
    return;
  }
  n_came.store(0, std::memory_order_relaxed);
  part.store(std::max<size_t>(1, old_pages() / PARTS),
             std::memory_order_relaxed);
  const auto now = std::chrono::steady_clock::now();
  auto &mark = marks[n_marks++ % PARTS];
  if (n_marks > PARTS &&
      !DBUG_EVALUATE_IF("mutate_lru_turn_never", true, false)) {
    const auto turn =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - mark);
    turn_ms.store(std::max<uint64_t>(1, turn.count()),
                  std::memory_order_relaxed);
  }
  mark = now;
}

std::chrono::milliseconds buf_lru_turn_threshold(uint configured) {
  if (configured == BUF_LRU_OLD_TIME_DEFAULT) {
    /* For tests that must not depend on how long anything takes. */
    DBUG_EXECUTE_IF("lru_turn_time_is_endless", configured = UINT32_MAX;);
    const auto turn = turn_ms.load(std::memory_order_relaxed);
    if (turn != 0 && srv_old_blocks_turnover != 0) {
      /* 0 would have another meaning. */
      const auto most =
          std::max<uint64_t>(1, turn * srv_old_blocks_turnover / 100);
      return std::chrono::milliseconds{std::min<uint64_t>(configured, most)};
    }
  }
  return std::chrono::milliseconds{configured};
}
