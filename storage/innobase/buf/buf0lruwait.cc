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

/** @file buf/buf0lruwait.cc
 Threads that wait for a page of the LRU flusher, and which one is served next.
 See buf0lruflusher.h. */

#include "buf0lruflusher.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <type_traits>

#include <mysql/service_thd_wait.h>

#include "buf0buf.h"
#include "buf0lru.h"
#include "my_dbug.h"
#include "srv0mon.h"
#include "srv0srv.h"

namespace {

/** The longest that a thread waits before it follows upstream's code path and
writes a page itself, which is no better if that takes as long. */
constexpr std::chrono::seconds MAX_WAIT{10};

/** How often a thread that waits checks whether the evictor is alive. */
constexpr std::chrono::milliseconds BEAT_WAIT{10};

}  // namespace

void Lru_flusher::init_cond(PSI_cond_key key, mysql_cond_t *cond) {
  mysql_cond_init(key, cond);
#ifdef UNIV_LINUX
  DBUG_EXECUTE_IF("mutate_lru_flusher_wall_clock", return;);
  static_assert(std::is_same_v<Clock, std::chrono::steady_clock>);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_destroy(&cond->m_cond);
  pthread_cond_init(&cond->m_cond, &attributes);
  pthread_condattr_destroy(&attributes);
#endif /* UNIV_LINUX */
}

buf_block_t *Lru_flusher::wait() {
  if (!serves()) return nullptr;

  const auto start = Clock::now();
  auto end = start + MAX_WAIT;
  DBUG_EXECUTE_IF("lru_flusher_keeps_waiters", end += std::chrono::hours{1};);
  DBUG_EXECUTE_IF("lru_flusher_waits_long", end += std::chrono::hours{1};);
  buf_block_t *block = nullptr;
  bool sent_away = false;
  DBUG_EXECUTE_IF("mutate_lru_flusher_no_memory", m_stuck.store(false););

  thd_wait_begin(nullptr, THD_WAIT_DISKIO);
  do {
    if (DBUG_EVALUATE_IF("mutate_lru_flusher_no_wait", true, false)) break;
    if (m_stuck.load() &&
        !DBUG_EVALUATE_IF("lru_flusher_keeps_waiters", true, false) &&
        !m_searching.exchange(true)) {
      /* There may be clean pages, and no thread looks for them. One thread at
      a time: the search holds the mutex of the list, which the evictor needs to
      show that it works again. */
      const bool freed = buf_LRU_scan_and_free_block(m_pool, true);
      m_searching.store(false);
      if (freed) {
        block = buf_LRU_get_free_only(m_pool);
        continue;
      }
    }
    block = queue_up(end, sent_away);
  } while (block == nullptr && !sent_away && Clock::now() < end);
  thd_wait_end(nullptr);

  DBUG_EXECUTE_IF("mutate_lru_flusher_wait_is_nap",
                  MONITOR_INC(MONITOR_LRU_GET_FREE_WAITS););
  const uint64_t usec =
      std::chrono::duration_cast<microseconds>(Clock::now() - start).count();
  add(m_statistics.free_waits, 1);
  add(m_statistics.free_wait_usec, usec);
  auto longest = m_statistics.free_wait_max_usec.load();
  while (
      usec > longest &&
      !m_statistics.free_wait_max_usec.compare_exchange_weak(longest, usec)) {
  }
  if (block != nullptr) {
    srv_stats.buf_pool_wait_free.inc();
  } else {
    /* The thread follows upstream's code path, and is counted there. */
    add(m_statistics.free_wait_failures, 1);
  }
  return block;
}

buf_block_t *Lru_flusher::queue_up(Clock::time_point end, bool &sent_away) {
  Waiter self;
  init_cond(lru_flusher_free_page_cond_key, &self.cond);

  mysql_mutex_lock(&m_mutex);
  auto beats = m_beats.load();
  /* Under the mutex, as stop() and the off switch look for waiters under it. */
  self.done = !serves();
  if (!self.done) {
    m_waiters.push_back(&self);
    m_n_waiters.store(m_waiters.size());
    mysql_cond_signal(&m_cond);
  }
  while (!self.done) {
    ut_d([[maybe_unused]] const auto asleep_since = Clock::now());
    const auto until = end_of(BEAT_WAIT);
    if (mysql_cond_timedwait(&self.cond, &m_mutex, &until) == 0 || self.done) {
      continue;
    }
#ifdef UNIV_LINUX
    /* By another clock it would have ended at once, or in years. */
    ut_ad(Clock::now() >= asleep_since + BEAT_WAIT);
#endif /* UNIV_LINUX */
    if (m_waits.load() && UT_LIST_GET_LEN(m_pool->free) > 0) {
      /* Others have freed pages while the evictor waits for writes. */
      m_wake = true;
      mysql_cond_signal(&m_cond);
    }
    const bool stuck =
        beats == m_beats.load() && !m_waits.load() &&
        !DBUG_EVALUATE_IF("lru_flusher_keeps_waiters", true, false);
    if (stuck) m_stuck.store(true);
    beats = m_beats.load();
    if (stuck || Clock::now() >= end) {
      m_waiters.erase(std::find(m_waiters.begin(), m_waiters.end(), &self));
      m_n_waiters.store(m_waiters.size());
      break;
    }
  }
  mysql_mutex_unlock(&m_mutex);
  mysql_cond_destroy(&self.cond);

  sent_away = self.done && self.block == nullptr;
  return self.block;
}

void Lru_flusher::serve_waiters() {
  if (m_n_waiters.load() == 0) return;

  mysql_mutex_lock(&m_mutex);
  while (!m_waiters.empty()) {
    auto *const block = buf_LRU_get_free_only(m_pool);
    if (block == nullptr) break;
    auto *const waiter = m_waiters.front();
    m_waiters.pop_front();
    waiter->block = block;
    waiter->done = true;
    mysql_cond_signal(&waiter->cond);
  }
  m_n_waiters.store(m_waiters.size());
  mysql_mutex_unlock(&m_mutex);
}

void Lru_flusher::dismiss_waiters() {
  DBUG_EXECUTE_IF(
      "lru_flusher_keeps_waiters",
      if (serves() || (buf_get_withdraw_depth(m_pool) > 0 &&
                       DBUG_EVALUATE_IF("mutate_lru_flusher_keeps_if_shrinking",
                                        true, false))) {
        std::this_thread::sleep_for(milliseconds{1});
        return;
      });
  mysql_mutex_lock(&m_mutex);
  for (auto *waiter : m_waiters) {
    waiter->done = true;
    mysql_cond_signal(&waiter->cond);
  }
  m_waiters.clear();
  m_n_waiters.store(0);
  mysql_mutex_unlock(&m_mutex);
}
