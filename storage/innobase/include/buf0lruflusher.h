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

/** @file include/buf0lruflusher.h
 The flusher of one buffer pool instance, for the files that make it up:

 | file            | what                                                     |
 | --------------- | -------------------------------------------------------- |
 | buf0lrupolicy.h | when to do what                                          |
 | buf0lruevict.cc | the evictor                                              |
 | buf0lruwrite.cc | the writer                                               |
 | buf0lruwait.cc  | threads that wait for a page, and who gets the next one  |
 | buf0lruflush.cc | what the upstream code calls, instruments, settings,     |
 |                 | status                                                   |

 The evictor walks along the LRU list, frees clean pages, and says which dirty
 ones are to be written; it never waits for the redo log, the doublewrite buffer
 or the disk. The writer writes them, and does wait.

 Latching order: Lru_flusher::m_mutex comes before every mutex of the buffer
 pool, except in segment_free(): after the flusher was switched off, under the
 mutexes of LRU list and block; and when a batch ends with a page of a dropped
 tablespace, under that of the doublewrite object. Under m_mutex only the mutex
 of the free list is taken. Threads that wait for a page may hold
 latches on pages. So neither thread waits for such a latch, nor for anything
 that a holder of one may wait for. */

#ifndef buf0lruflusher_h
#define buf0lruflusher_h

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "buf0buf.h"
#include "buf0lruflush.h"
#include "buf0lrupolicy.h"
#include "my_dbug.h"
#include "my_systime.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "os0thread-create.h"
#include "ut0cpu_cache.h"

#if __has_include("buf0lrucount.h")
/* The patch lru_stats is there, too: pages count in its tables. */
#include "buf0lrucount.h"
#define HAVE_LRU_STATS
#endif

#ifdef UNIV_DEBUG
extern bool innodb_page_cleaner_disabled_debug;
#endif

/** The flusher of one buffer pool instance. */
class alignas(ut::INNODB_CACHE_LINE_SIZE) Lru_flusher {
 public:
  using Clock = std::chrono::steady_clock;

  using Counter = std::atomic<uint64_t>;

  /** What status variables show of one instance. No two figures are promised to
  agree at every moment. */
  struct Statistics {
    Counter pages_evicted{0};
    Counter pages_flushed{0};
    Counter rounds{0};
    Counter wakeups{0};
    Counter free_waits{0};
    Counter free_wait_usec{0};
    Counter free_wait_max_usec{0};
    Counter free_wait_failures{0};
  };

  /** To be called before start(). */
  static void register_instruments();

  explicit Lru_flusher(buf_pool_t *buf_pool) : m_pool(buf_pool) {
    mysql_mutex_init(lru_flusher_mutex_key, &m_mutex, MY_MUTEX_INIT_FAST);
    init_cond(lru_flusher_cond_key, &m_cond);
    init_cond(lru_flusher_cond_key, &m_writer_cond);
  }

  Lru_flusher(const Lru_flusher &) = delete;
  Lru_flusher &operator=(const Lru_flusher &) = delete;

  ~Lru_flusher() {
    mysql_cond_destroy(&m_writer_cond);
    mysql_cond_destroy(&m_cond);
    mysql_mutex_destroy(&m_mutex);
  }

  /** Starts the threads. */
  void start(size_t number) {
    m_running.store(true);
    m_writer = os_thread_create(lru_write_thread_key, number,
                                [this] { this->run_writer(); });
    m_writer.start();
    m_evictor = os_thread_create(lru_evict_thread_key, number,
                                 [this] { this->run_evictor(); });
    m_evictor.start();
  }

  /** Asks the threads to end. */
  void stop() {
    mysql_mutex_lock(&m_mutex);
    m_running.store(false);
    mysql_cond_signal(&m_cond);
    mysql_cond_signal(&m_writer_cond);
    mysql_mutex_unlock(&m_mutex);
  }

  /** Waits until the threads have ended. */
  void join() {
    m_evictor.join();
    m_writer.join();
  }

  /** Wakes the evictor, or ends its wait. */
  void wake() {
    mysql_mutex_lock(&m_mutex);
    m_wake = true;
    mysql_cond_signal(&m_cond);
    mysql_mutex_unlock(&m_mutex);
  }

  /** @return true if these threads look after the LRU list */
  bool serves() const {
#ifdef UNIV_DEBUG
    /* Tests that stop the page cleaner want pages to stay where they are. */
    if (buf_lru_flusher_setting(innodb_page_cleaner_disabled_debug)) {
      return false;
    }
    DBUG_EXECUTE_IF("lru_flusher_stands_aside", return false;);
#endif
    return buf_lru_flusher_is_on() &&
           m_running.load(std::memory_order_relaxed) &&
           buf_get_withdraw_depth(m_pool) == 0;
  }

  /** A thread has taken a page from the free list. The length of the list was
  written before the mutex of the list was released, and m_asleep is written
  before the evictor reads the length for the last time. So one of the two sees
  what the other has done. If not, the next thread that takes a page will. */
  void taken() {
    DBUG_EXECUTE_IF("mutate_lru_flusher_no_wake", return;);
    if (m_asleep.load(std::memory_order_relaxed) &&
        UT_LIST_GET_LEN(m_pool->free) <
            m_low_water.load(std::memory_order_relaxed) &&
        (serves() ||
         DBUG_EVALUATE_IF("mutate_lru_flusher_not_aside", true, false)) &&
        m_asleep.exchange(false)) {
      wake();
    }
  }

  /** Waits for a free page.
  @return the page, or nullptr if there was none */
  buf_block_t *wait();

  /** A write of an LRU batch is complete. There is a clean page at the tail;
  a thread that waits has the first claim to it. */
  void written() {
    DBUG_EXECUTE_IF("lru_flusher_log_written",
                    ib::info() << "The LRU flusher hears of a write";);
    if (!m_pool->try_LRU_scan && m_n_waiters.load() == 0) {
      m_pool->try_LRU_scan = true;
    }
    progress();
  }

  /** A segment of the doublewrite file is free. */
  void segment_free() {
    if (m_wants_segment.load() && m_wants_segment.exchange(false)) {
      mysql_mutex_lock(&m_mutex);
      mysql_cond_signal(&m_writer_cond);
      mysql_mutex_unlock(&m_mutex);
    }
  }

  /** See Buf_lru_flusher_held. */
  std::atomic<size_t> *held() { return &m_held; }

  const Statistics &statistics() const { return m_statistics; }

 private:
  using microseconds = std::chrono::microseconds;
  using milliseconds = std::chrono::milliseconds;

  /** @name Instruments, defined in buf0lruflush.cc
  @{ */
#ifdef UNIV_PFS_THREAD
  static PSI_thread_key lru_evict_thread_key;
  static PSI_thread_key lru_write_thread_key;
#endif
  static PSI_mutex_key lru_flusher_mutex_key;
  static PSI_cond_key lru_flusher_cond_key;
  static PSI_cond_key lru_flusher_free_page_cond_key;
  static PSI_stage_info stage_evicting;
  static PSI_stage_info stage_waiting;
  static PSI_stage_info stage_log;
  static PSI_stage_info stage_doublewrite;
  static PSI_stage_info stage_flushing;
  /** @} */

  /** A thread with the privileges of the page cleaner. */
  class Thread_context {
   public:
    Thread_context();
    ~Thread_context();
    Thread_context(const Thread_context &) = delete;
    Thread_context &operator=(const Thread_context &) = delete;

   private:
    THD *m_thd;
  };

  static void add(Counter &counter, uint64_t n) {
    counter.fetch_add(n, std::memory_order_relaxed);
  }

  /** Like mysql_cond_init(), but time-outs go by Clock, which nobody can set.
  By the wall clock, a wait of milliseconds would take an hour if that were set
  back by one. Done on Linux only. */
  static void init_cond(PSI_cond_key key, mysql_cond_t *cond);

  /** @return the end of a wait of this length that begins now */
  template <typename Duration>
  static timespec end_of(Duration duration) {
#ifdef UNIV_LINUX
    const auto end = (Clock::now() + duration).time_since_epoch();
#else
    const auto end =
        (std::chrono::system_clock::now() + duration).time_since_epoch();
#endif /* UNIV_LINUX */
    const auto seconds = std::chrono::floor<std::chrono::seconds>(end);
    timespec result;
    result.tv_sec = seconds.count();
    result.tv_nsec =
        std::chrono::duration_cast<std::chrono::nanoseconds>(end - seconds)
            .count();
    return result;
  }

  /** A thread that waits for a free page. Protected by m_mutex. */
  struct Waiter {
    mysql_cond_t cond;
    buf_block_t *block{};
    /** The thread has its page, or has to do without. */
    bool done{};
  };

  /** Queues up for a page.
  @param[in]   end        when to leave the queue at the latest
  @param[out]  sent_away  true if the evictor says that there is none
  @return the page, or nullptr, which may be because the evictor is stuck */
  buf_block_t *queue_up(Clock::time_point end, bool &sent_away);

  void run_evictor();
  void run_writer();

  /** Sleeps until there is something to do.
  @return false if the thread has to end */
  bool sleep();

  /** Fills the free list. */
  void work();

  /** Walks along the LRU list, evicts clean pages, and notes dirty ones in
  m_ids.
  @param[in]  state  what the instance looks like
  @return what was found */
  Lru_policy::Walk walk(const Lru_policy::State &state);

  /** Evicts a page. The caller holds the LRU list mutex.
  @param[in]      bpage  page
  @param[in,out]  walk   counts the page if it was evicted */
  void evict(buf_page_t *bpage, Lru_policy::Walk &walk);

  /** Evicts a clean page that is not compressed; its frame is then in
  m_evicted. The caller holds the LRU list mutex.
  @return true if done */
  bool remove(buf_page_t *bpage);

  /** Puts the frames of m_evicted into the free list, and gives pages to
  threads that wait. The caller holds no mutex. */
  void free_evicted();

  /** Gives pages of the free list to threads that wait. */
  void serve_waiters();

  /** Makes all threads that wait follow upstream's code path. */
  void dismiss_waiters();

  /** Gives m_ids to the writer, which must be idle. */
  void hand_over();

  /** Waits for writes to complete.
  @param[in]  usec    how long at most
  @param[in]  before  m_progress when the walk began
  @param[in]  n       number of writes that ends the wait early
  @return true if there was progress since the walk began */
  bool wait_for_progress(uint64_t usec, uint64_t before, size_t n);

  /** Writes pages.
  @param[in]  ids  pages
  @param[in]  lsn  the newest change of any of them
  @return number of pages whose write was started */
  size_t write(const std::vector<page_id_t> &ids, lsn_t lsn);

  /** Waits until the doublewrite has room for a batch, and reserves that.
  @return false if the thread has to end */
  bool reserve_doublewrite();

  /** A page that was dirty is now clean. */
  void progress() {
    if (m_progress.fetch_add(1) + 1 >= m_wake_at.load() &&
        m_wake_at.exchange(UINT64_MAX) != UINT64_MAX) {
      wake();
    }
  }

  /** The evictor is alive. */
  void beat() {
    m_beats.fetch_add(1, std::memory_order_relaxed);
    if (m_stuck.load(std::memory_order_relaxed)) m_stuck.store(false);
  }

  Lru_policy::State state() const {
    /* Read before and after the other figures: a page that is held only in
    between may be in none of them. */
    const auto held = m_held.load();
    mutex_enter(&m_pool->flush_state_mutex);
    const auto in_flight = m_pool->n_flush[BUF_FLUSH_LRU];
    auto others_under_way = m_pool->n_flush[BUF_FLUSH_LIST] +
                            m_pool->n_flush[BUF_FLUSH_SINGLE_PAGE];
    mutex_exit(&m_pool->flush_state_mutex);
    others_under_way += m_pool->n_pend_reads.load();
    if (DBUG_EVALUATE_IF("mutate_lru_flusher_counts_held", false, true)) {
      others_under_way -=
          std::min<size_t>({others_under_way, held, m_held.load()});
    }
    DBUG_EXECUTE_IF("mutate_lru_flusher_own_writes_only",
                    others_under_way = 0;);
    return {UT_LIST_GET_LEN(m_pool->free),
            m_n_waiters.load(),
            UT_LIST_GET_LEN(m_pool->LRU),
            m_pool->LRU_old != nullptr ? m_pool->LRU_old_len : 0,
            in_flight,
            others_under_way,
            m_writer_busy.load()};
  }

  /** Tells the policy how many pages are consumed, and what the settings are.
   */
  void measure();

  /** @return pages a second that the settings allow to write from the LRU list.
  innodb_lru_scan_depth is per instance, and innodb_io_capacity, which stands in
  for it if it is not set, per server. */
  size_t depth();

  /** @name Read by each thread that takes a page or completes a write
  @{ */
  buf_pool_t *const m_pool;

  /** From start() to stop(). */
  std::atomic<bool> m_running{false};

  /** The evictor sleeps and wants to be woken at the low-water mark. */
  std::atomic<bool> m_asleep{false};

  /** The evictor wakes when the free list is shorter than this. */
  std::atomic<size_t> m_low_water{0};

  /** A thread that waited found that the evictor makes no progress. Others do
  not wait for the evictor until it does. */
  std::atomic<bool> m_stuck{false};
  /** A thread that waits searches the list by itself. */
  std::atomic<bool> m_searching{false};

  /** The writer waits for a segment of the doublewrite file. */
  std::atomic<bool> m_wants_segment{false};

  /** Writes that were completed, and batches that went out. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) std::atomic<uint64_t> m_progress{0};

  /** The evictor is to be woken when m_progress reaches this. */
  std::atomic<uint64_t> m_wake_at{UINT64_MAX};
  /** @} */

  /** Pages that others read or write, but that wait for something other than
  the disk. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) std::atomic<size_t> m_held{0};

  /** Number of elements in m_waiters, to be read without m_mutex. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) std::atomic<size_t> m_n_waiters{0};

  /** Grows while the evictor works. */
  std::atomic<uint64_t> m_beats{0};

  /** The evictor waits for writes: it is not stuck. */
  std::atomic<bool> m_waits{false};

  mysql_mutex_t m_mutex;
  mysql_cond_t m_cond;
  mysql_cond_t m_writer_cond;
  /** Somebody wants the evictor to go on. Protected by m_mutex. */
  bool m_wake{false};
  /** First come, first served. Protected by m_mutex. */
  std::deque<Waiter *> m_waiters;
  /** What is to be written, if m_writer_busy, and the newest change of any of
  these pages. Protected by m_mutex. */
  std::vector<page_id_t> m_batch;
  lsn_t m_batch_lsn{0};
  /** The writer has a batch. Written under m_mutex. */
  std::atomic<bool> m_writer_busy{false};

  Statistics m_statistics;
  IB_thread m_evictor;
  IB_thread m_writer;

  /** @name Used by the evictor only
  @{ */
  Lru_policy m_policy;
  std::vector<page_id_t> m_ids;
  lsn_t m_lsn{0};
  std::vector<buf_block_t *> m_evicted;
  uint64_t m_freed{0};
  size_t m_depth{0};
  /** No page could be freed: however few pages are free, it is of no use to
  look again before a thread looks for one. */
  bool m_gave_up{false};
  Clock::time_point m_depth_checked{};
  /** @} */
};

#endif /* buf0lruflusher_h */
