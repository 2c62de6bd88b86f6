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

/** @file buf/buf0lruturnover.cc
 Measures the turnover of the old part of the LRU list. See buf0lruturnover.h.

 The time is taken whenever as many pages have come as an eighth of the old part
 has. So the turnover is that of the last whole turn, and follows a change
 within an eighth of a turn. Pages that come are counted, not evictions, because
 these come in batches. A page that is created counts: it makes another one old.

 The first instance stands for all: pages are spread over them by a hash. */

#include "buf0lruturnover.h"

#include <array>
#include <chrono>

#include "buf0buf.h"

uint srv_old_blocks_turnover;

Buf_lru_turnover_limit buf_lru_turnover_limit;

namespace {

constexpr size_t PARTS = 8;

/* The following, and writes to buf_lru_turnover_limit, are protected by the LRU
list mutex of the first instance. */

/** Pages that have come since the time was taken last. */
size_t n_came{0};

/** The last times that were taken, and how many were taken in all. */
std::array<std::chrono::steady_clock::time_point, PARTS> marks;
size_t n_marks{0};

/** Milliseconds of the last turn; 0: there was none yet. */
uint64_t turn_ms{0};

void set_limit() {
  const bool off =
      srv_old_blocks_turnover == 0 &&
      DBUG_EVALUATE_IF("mutate_lru_turnover_never_off", false, true);
  const uint64_t limit =
      off || turn_ms == 0
          ? UINT32_MAX
          : std::clamp<uint64_t>(turn_ms * srv_old_blocks_turnover / 100, 1,
                                 UINT32_MAX);
  buf_lru_turnover_limit.ms.store(static_cast<uint32_t>(limit),
                                  std::memory_order_relaxed);
}

}  // namespace

void buf_lru_turnover_start(bool time_is_set, bool turnover_is_set,
                            bool pct_is_set, uint *pct) {
  if (time_is_set && !turnover_is_set) srv_old_blocks_turnover = 0;
  if (srv_old_blocks_turnover == 0 && !pct_is_set &&
      DBUG_EVALUATE_IF("mutate_lru_turnover_part", false, true)) {
    *pct = BUF_LRU_OLD_PCT_UPSTREAM;
  }
}

void buf_lru_turnover_note(const buf_pool_t *buf_pool) {
  ut_ad(mutex_own(&buf_pool->LRU_list_mutex));
  if (buf_pool->instance_no != 0 || buf_pool->LRU_old == nullptr) return;
  if (++n_came < buf_pool->LRU_old_len / PARTS) return;
  n_came = 0;
  const auto now = std::chrono::steady_clock::now();
  auto &mark = marks[n_marks++ % PARTS];
  if (n_marks > PARTS &&
      DBUG_EVALUATE_IF("mutate_lru_turnover_never", false, true)) {
    const auto turn =
        std::chrono::duration_cast<std::chrono::milliseconds>(now - mark);
    turn_ms = std::max<uint64_t>(1, turn.count());
    set_limit();
  }
  mark = now;
}

void innodb_old_blocks_turnover_update(THD *, SYS_VAR *, void *,
                                       const void *save) {
  const auto buf_pool = buf_pool_from_array(0);
  mutex_enter(&buf_pool->LRU_list_mutex);
  srv_old_blocks_turnover = *static_cast<const uint *>(save);
  set_limit();
  mutex_exit(&buf_pool->LRU_list_mutex);
}
