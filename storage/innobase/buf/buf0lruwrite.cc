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

/** @file buf/buf0lruwrite.cc
 The writer of the LRU flusher: it writes the dirty pages that the evictor has
 passed. See buf0lruflusher.h. */

#include "buf0lruflusher.h"

#include <vector>

#include "buf0buf.h"
#include "buf0dblwr.h"
#include "buf0flu.h"
#include "log0write.h"
#include "my_dbug.h"
#include "os0file.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "srv0mon.h"
#include "srv0srv.h"

void Lru_flusher::run_writer() {
  const Thread_context context;
  std::vector<page_id_t> ids;
  for (;;) {
    mysql_end_stage();
    mysql_mutex_lock(&m_mutex);
    while (m_running.load() && !m_writer_busy.load()) {
      mysql_cond_wait(&m_writer_cond, &m_mutex);
    }
    ids.swap(m_batch);
    const auto lsn = m_batch_lsn;
    mysql_mutex_unlock(&m_mutex);
    if (!m_running.load()) return;

    const auto n = write(ids, lsn);
    ids.clear();

    mysql_mutex_lock(&m_mutex);
    m_writer_busy.store(false);
    /* The next batch can be made. If no page could be latched, it need not be
    tried again at once. */
    if (n > 0) {
      m_progress.fetch_add(1);
      /* Never reset: another thread may have set it, and it wakes only once. */
      if (m_waits.load()) {
        m_wake = true;
        mysql_cond_signal(&m_cond);
      }
    }
    mysql_mutex_unlock(&m_mutex);
  }
}

bool Lru_flusher::reserve_doublewrite() {
  DBUG_EXECUTE_IF("mutate_lru_flusher_no_reservation", return true;);
  for (;;) {
    m_wants_segment.store(true);
    /* See buf_lru_flusher_segment_free(). */
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (dblwr::reserve_LRU_batch(m_pool->instance_no)) break;

    mysql_set_stage(stage_doublewrite.m_key);
    mysql_mutex_lock(&m_mutex);
    while (m_running.load() && m_wants_segment.load()) {
      mysql_cond_wait(&m_writer_cond, &m_mutex);
    }
    mysql_mutex_unlock(&m_mutex);
    if (!m_running.load()) return false;
  }
  m_wants_segment.store(false);
  return true;
}

#ifdef UNIV_DEBUG
/** Stops the writer for a test. */
static void sync_writer() {
  static constexpr char action[] =
      "now SIGNAL lru_flusher_latched WAIT_FOR lru_flusher_go_on TIMEOUT 800";
  ut_a(!debug_sync_set_action(current_thd, STRING_WITH_LEN(action)));
}
#endif

size_t Lru_flusher::write(const std::vector<page_id_t> &ids, lsn_t lsn) {
  /* Once for all pages, and before any of them is latched. The list is in the
  order of last use, so the newest change of each page is often a little newer
  than that of the one before: page by page, most would need a log flush of
  their own. buf_flush_write_block_low() takes care of pages that are changed
  from now on. */
  if (!srv_read_only_mode && log_sys->flushed_to_disk_lsn.load() < lsn) {
    mysql_set_stage(stage_log.m_key);
    const auto wait_stats = log_write_up_to(*log_sys, lsn, true);
    MONITOR_INC_WAIT_STATS_EX(MONITOR_ON_LOG_, _PAGE_WRITTEN, wait_stats);
  }
  if (!reserve_doublewrite()) return 0;

  mysql_set_stage(stage_flushing.m_key);
  DBUG_EXECUTE_IF("lru_flusher_sync_reserved", sync_writer(););
  size_t n = 0;
  for (const auto &id : ids) {
    /* One less, as a page may come in addition to its neighbours. */
    n += buf_flush_try_neighbors(id, BUF_FLUSH_LRU, n, ids.size() - 1);
    DBUG_EXECUTE_IF("lru_flusher_crash_in_batch", {
      if (n >= ids.size() / 2) DBUG_SUICIDE();
    });
    if (n >= ids.size()) break;
  }

  DBUG_EXECUTE_IF("lru_flusher_sync", if (n > 0) sync_writer(););
  DBUG_EXECUTE_IF("lru_flusher_crash_before_write", if (n > 0) DBUG_SUICIDE(););

  if (n > 0) {
    if (!srv_read_only_mode && dblwr::is_enabled()) {
      dblwr::force_flush(BUF_FLUSH_LRU, m_pool->instance_no);
    } else {
      /* Upstream waits here until no write of the server is under way, and
      flushes all files. The checkpoint does that when it is necessary. */
      os_aio_simulated_wake_handler_threads();
    }
  }
  dblwr::release_LRU_batch();

  DBUG_EXECUTE_IF("lru_flusher_crash_after_batch", if (n > 0) DBUG_SUICIDE(););

  if (n > 0) {
    srv_stats.buf_pool_flushed.add(n);
    MONITOR_INC_VALUE_CUMULATIVE(MONITOR_LRU_BATCH_FLUSH_TOTAL_PAGE,
                                 MONITOR_LRU_BATCH_FLUSH_COUNT,
                                 MONITOR_LRU_BATCH_FLUSH_PAGES, n);
    add(m_statistics.pages_flushed, n);
#ifdef HAVE_LRU_STATS
    if (!DBUG_EVALUATE_IF("mutate_lru_flusher_uncounted", true, false)) {
      buf_lru_hook_flushed_cleaner(m_pool, n);
    }
#endif
  }
  return n;
}
