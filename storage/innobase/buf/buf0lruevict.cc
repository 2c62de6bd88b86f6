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

/** @file buf/buf0lruevict.cc
 The evictor of the LRU flusher: it keeps the free list filled. See
 buf0lruflusher.h. */

#include "buf0lruflusher.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "btr0sea.h"
#include "buf0buf.h"
#include "buf0dblwr.h"
#include "buf0flu.h"
#include "buf0lru.h"
#include "my_dbug.h"
#include "srv0mon.h"
#include "srv0srv.h"

void Lru_flusher::run_evictor() {
  const Thread_context context;
  measure();
  while (sleep()) work();
  dismiss_waiters();
}

bool Lru_flusher::sleep() {
  mysql_end_stage();
  mysql_mutex_lock(&m_mutex);
  m_asleep.store(true);
  while (m_running.load() && !m_wake && m_waiters.empty() &&
         (m_gave_up || !serves() ||
          UT_LIST_GET_LEN(m_pool->free) >= m_low_water.load())) {
    mysql_cond_wait(&m_cond, &m_mutex);
    /* A thread that takes a page clears it when it wakes us, and there may be
    nothing left to do. */
    m_asleep.store(true);
  }
  m_asleep.store(false);
  m_wake = false;
  m_gave_up = false;
  const bool running = m_running.load();
  mysql_mutex_unlock(&m_mutex);

  if (running) add(m_statistics.wakeups, 1);
  return running;
}

void Lru_flusher::measure() {
  const std::chrono::duration<double> now = Clock::now().time_since_epoch();
  m_policy.measure(
      now.count(), m_freed, UT_LIST_GET_LEN(m_pool->free),
      {m_pool->curr_size, buf_lru_flusher_setting(srv_lru_flusher_free_pages),
       depth(),
       dblwr::is_enabled() ? dblwr::n_pages : Lru_policy::BATCH_PAGES});
  m_low_water.store(m_policy.low_water());
}

void Lru_flusher::work() {
  for (;;) {
    beat();
    serve_waiters();
    if (!serves()) {
      dismiss_waiters();
      return;
    }
    measure();

    const auto before = m_progress.load();
    const auto done = walk(state());
    serve_waiters();
    if (m_policy.writes(done, state())) hand_over();

    auto now = state();
    auto next = m_policy.next(done, now);
    if (next == Lru_policy::Next::WAIT) {
      const bool progress = wait_for_progress(m_policy.pause_usec(), before,
                                              Lru_policy::wait_for(now));
      now = state();
      next = m_policy.waited(progress, now);
      DBUG_EXECUTE_IF(
          "mutate_lru_flusher_stays_near", if (progress) { m_policy = {}; });
    }
    switch (next) {
      case Lru_policy::Next::WAIT:
      case Lru_policy::Next::AGAIN:
        break;
      case Lru_policy::Next::GIVE_UP:
        /* A thread that has queued up since is not sent away: no walk was made
        for it. */
        if (state().waiters > now.waiters) break;
        m_policy.give_up(now);
        m_low_water.store(m_policy.low_water());
        m_gave_up = DBUG_EVALUATE_IF("mutate_lru_flusher_polls", false, true);
        serve_waiters();
        dismiss_waiters();
        return;
      case Lru_policy::Next::SLEEP:
        return;
    }
  }
}

Lru_policy::Walk Lru_flusher::walk(const Lru_policy::State &state) {
  auto walk = m_policy.plan(state);
  m_ids.clear();
  m_lsn = 0;
  if (walk.wanted() == 0) return walk;

  mysql_set_stage(stage_evicting.m_key);
  DBUG_EXECUTE_IF("lru_flusher_evictor_stands", {
    while (m_running.load() &&
           DBUG_EVALUATE_IF("lru_flusher_evictor_stands", true, false)) {
      std::this_thread::sleep_for(milliseconds{1});
    }
  });

  /* One walk at a time, as there is only one lru_hp. The page cleaner may be at
  the end of a walk if the flusher was just switched on, or the pool is resized.
  */
  for (bool started = false; !started;) {
    m_pool->change_flush_state(BUF_FLUSH_LRU, [&] {
      started = !m_pool->init_flush[BUF_FLUSH_LRU];
      m_pool->init_flush[BUF_FLUSH_LRU] = true;
    });
    if (!started) std::this_thread::sleep_for(milliseconds{1});
  }

  auto &hp = m_pool->lru_hp;
  mutex_enter(&m_pool->LRU_list_mutex);
  if (buf_LRU_evict_from_unzip_LRU(m_pool) &&
      DBUG_EVALUATE_IF("lru_flusher_keeps_unzip_LRU", false, true)) {
    const auto n = buf_free_from_unzip_LRU_list_batch(m_pool, walk.wanted());
    walk.evicted(n);
    m_freed += n;
  }

  auto *bpage = UT_LIST_GET_LAST(m_pool->LRU);
  while (bpage != nullptr && !walk.is_over()) {
    if (walk.yields()) {
      hp.set(bpage);
      mutex_exit(&m_pool->LRU_list_mutex);
      free_evicted();
      beat();
      mutex_enter(&m_pool->LRU_list_mutex);
      bpage = hp.get();
      continue;
    }

    hp.set(UT_LIST_GET_PREV(LRU, bpage));
    /* Read without the mutex of the block. A function that changes the page
    checks again under that mutex. */
    auto page = bpage->was_io_fixed() || bpage->buf_fix_count != 0
                    ? Lru_policy::Page::FIXED
                : !bpage->is_dirty() || bpage->was_stale()
                    ? Lru_policy::Page::CLEAN
                    : Lru_policy::Page::DIRTY;
    DBUG_EXECUTE_IF("lru_flusher_finds_nothing",
                    page = Lru_policy::Page::FIXED;);
    switch (walk.look(page)) {
      case Lru_policy::Action::EVICT:
        evict(bpage, walk);
        break;
      case Lru_policy::Action::WRITE:
        m_ids.push_back(bpage->id);
        m_lsn = std::max(m_lsn, bpage->get_newest_lsn());
        break;
      case Lru_policy::Action::PASS:
        break;
    }
    bpage = hp.get();
  }
  hp.set(nullptr);
  mutex_exit(&m_pool->LRU_list_mutex);
  free_evicted();

  m_pool->change_flush_state(BUF_FLUSH_LRU, [&] {
    /* Where this walk has found all that it looked for, others may look. */
    m_pool->try_LRU_scan = walk.n_evicted() >= walk.wanted();
    m_pool->init_flush[BUF_FLUSH_LRU] = false;
  });

  if (walk.n_evicted() > 0) {
    MONITOR_INC_VALUE_CUMULATIVE(
        MONITOR_LRU_BATCH_EVICT_TOTAL_PAGE, MONITOR_LRU_BATCH_EVICT_COUNT,
        MONITOR_LRU_BATCH_EVICT_PAGES, walk.n_evicted());
  }
  if (walk.n_looked() > 0) {
    MONITOR_INC_VALUE_CUMULATIVE(
        MONITOR_LRU_BATCH_SCANNED, MONITOR_LRU_BATCH_SCANNED_NUM_CALL,
        MONITOR_LRU_BATCH_SCANNED_PER_CALL, walk.n_looked());
  }
  /* Last: a reader that finds these unchanged has seen the counters above of
  the same walk. */
  add(m_statistics.rounds, 1);
  add(m_statistics.pages_evicted, walk.n_evicted());
  return walk;
}

void Lru_flusher::evict(buf_page_t *bpage, Lru_policy::Walk &walk) {
  ut_ad(mutex_own(&m_pool->LRU_list_mutex));
  const bool has_frame = buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE;
  const auto n_free = has_frame ? 0 : UT_LIST_GET_LEN(m_pool->free);
  /* This is how useless read-ahead shows, in upstream, too. */
  const bool was_used = buf_page_is_accessed(bpage) != Clock::time_point{};
  bool freed = false;

  if (bpage->was_stale()) {
    freed = buf_page_free_stale(m_pool, bpage);
  } else if (bpage->zip.data == nullptr) {
    if (remove(bpage)) {
      if (!was_used) ++m_pool->stat.n_ra_pages_evicted;
      ++m_freed;
      walk.evicted(1);
    }
    return;
  } else if (auto *const block_mutex = buf_page_get_mutex(bpage);
             mutex_enter_nowait(block_mutex) == 0) {
    if (buf_flush_ready_for_replace(bpage)) {
#ifdef HAVE_LRU_STATS
      freed = buf_lru_hook_evict(bpage);
#else
      freed = buf_LRU_free_page(bpage, true);
#endif
    }
    if (!freed) mutex_exit(block_mutex);
  }

  if (freed) {
    /* All mutexes are released. A page of which only the compressed copy was in
    the pool leaves a frame if the rest of that frame is free, too. As in
    upstream, the length of the free list tells. */
    if (has_frame ||
        (UT_LIST_GET_LEN(m_pool->free) > n_free &&
         DBUG_EVALUATE_IF("mutate_lru_flusher_uncounted_zip", false, true))) {
      ++m_freed;
      walk.evicted(1);
    }
    mutex_enter(&m_pool->LRU_list_mutex);
    if (!was_used &&
        DBUG_EVALUATE_IF("mutate_lru_flusher_uncounted_ahead", false, true)) {
      ++m_pool->stat.n_ra_pages_evicted;
    }
  }
}

bool Lru_flusher::remove(buf_page_t *bpage) {
  auto *const hash_lock = buf_page_hash_lock_get(m_pool, bpage->id);
  auto *const block_mutex = buf_page_get_mutex(bpage);

  rw_lock_x_lock(hash_lock, UT_LOCATION_HERE);
  if (mutex_enter_nowait(block_mutex) != 0) {
    rw_lock_x_unlock(hash_lock);
    return false;
  }
  /* A stale page may be ready and dirty; evict() removes those. */
  if (!buf_flush_ready_for_replace(bpage) || bpage->is_dirty()) {
    mutex_exit(block_mutex);
    rw_lock_x_unlock(hash_lock);
    return false;
  }

#ifdef HAVE_LRU_STATS
  if (!DBUG_EVALUATE_IF("mutate_lru_flusher_uncounted_evictions", true,
                        false)) {
    buf_lru_hook_evicting(bpage);
  }
#endif

  /* Releases the hash lock and the mutex of the block. The page cannot be found
  any more, and nobody has a pointer to it: it was not buffer-fixed. */
  const bool has_frame = buf_LRU_block_remove_hashed(bpage, true, false);
  ut_a(has_frame);
  m_evicted.push_back(reinterpret_cast<buf_block_t *>(bpage));
  return true;
}

void Lru_flusher::free_evicted() {
  /* The second half of buf_LRU_free_page(). */
  for (auto *block : m_evicted) {
    UNIV_MEM_VALID(block->frame, UNIV_PAGE_SIZE);
    btr_search_drop_page_hash_index(block, true);
    UNIV_MEM_INVALID(block->frame, UNIV_PAGE_SIZE);
    buf_LRU_block_free_hashed_page(block);
    /* At once, before a thread that has not waited takes it. */
    serve_waiters();
  }
  m_evicted.clear();
}

void Lru_flusher::hand_over() {
  DBUG_EXECUTE_IF("mutate_lru_flusher_one_role", {
    write(m_ids, m_lsn);
    return;
  });
  mysql_mutex_lock(&m_mutex);
  ut_ad(!m_writer_busy.load());
  m_batch.swap(m_ids);
  m_batch_lsn = m_lsn;
  m_writer_busy.store(true);
  mysql_cond_signal(&m_writer_cond);
  mysql_mutex_unlock(&m_mutex);
}

bool Lru_flusher::wait_for_progress(uint64_t usec, uint64_t before, size_t n) {
  mysql_set_stage(stage_waiting.m_key);
  const auto end = end_of(microseconds{usec});
  const auto wake_at = m_progress.load() + n;

  mysql_mutex_lock(&m_mutex);
  m_waits.store(true);
  m_wake_at.store(wake_at);
  /* Read after the store: a write that completed before it has not woken us. */
  while (m_running.load() && !m_wake && m_progress.load() < wake_at) {
    if (mysql_cond_timedwait(&m_cond, &m_mutex, &end) != 0) break;
  }
  m_wake_at.store(UINT64_MAX);
  m_waits.store(false);
  m_wake = false;
  mysql_mutex_unlock(&m_mutex);
  DBUG_EXECUTE_IF("lru_flusher_slow_disk", return true;);
  return m_progress.load() != before;
}
