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

/** @file buf/buf0lruflush.cc
 Two threads for each buffer pool instance keep its free list filled. The
 evictor walks along the LRU list, frees clean pages, and says which dirty ones
 are to be written; it never waits for the redo log, the doublewrite buffer or
 the disk. The writer writes them and does. When to do what is in
 buf0lrupolicy.h.

 Latching order: Lru_flusher::m_mutex comes before every mutex of the buffer
 pool. Threads that wait for a page may hold latches on pages. So neither thread
 waits for such a latch, nor for anything that a holder of one may wait for. */

#include "buf0lruflush.h"

#ifdef UNIV_LINUX
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include <mysql/components/services/system_variable_source.h>
#include <mysql/service_thd_wait.h>

#include "btr0sea.h"
#include "buf0buf.h"
#include "buf0dblwr.h"
#include "buf0flu.h"
#include "buf0lru.h"
#include "buf0lrupolicy.h"
#include "log0write.h"
#include "my_dbug.h"
#include "my_systime.h"
#include "mysql/components/services/log_builtins.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/status_var.h"
#include "os0thread-create.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "sql_thd_internal_api.h"
#include "srv0mon.h"
#include "srv0srv.h"
#include "srv0start.h"

#if __has_include("buf0lrucount.h")
/* The patch lru_stats is there, too: pages count in its tables. */
#include "buf0lrucount.h"
#define HAVE_LRU_STATS
#endif

extern SERVICE_TYPE(system_variable_source) * sysvar_source_svc;
#ifdef UNIV_DEBUG
extern bool innodb_page_cleaner_disabled_debug;
#endif

bool srv_lru_flusher = true;
ulong srv_lru_flusher_free_pages = 0;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

#ifdef UNIV_LINUX
/** As in buf0flu.cc; without the privilege it has no effect. */
constexpr int THREAD_PRIORITY = -20;
#endif

/** The longest that a thread waits before it goes upstream's way, which is to
write a page itself: no better if that takes as long. */
constexpr std::chrono::seconds MAX_WAIT{10};

/** A thread that waits looks that often whether the evictor is alive. */
constexpr milliseconds BEAT_WAIT{10};

#ifdef UNIV_PFS_THREAD
PSI_thread_key lru_evict_thread_key;
PSI_thread_key lru_write_thread_key;
#endif
PSI_mutex_key lru_flusher_mutex_key;
PSI_cond_key lru_flusher_cond_key;
PSI_cond_key lru_flusher_free_page_cond_key;
PSI_stage_info stage_evicting{0, "LRU flusher evicting pages", 0,
                              PSI_DOCUMENT_ME};
PSI_stage_info stage_waiting{0, "LRU flusher waiting for progress", 0,
                             PSI_DOCUMENT_ME};
PSI_stage_info stage_log{0, "LRU flusher waiting for the redo log", 0,
                         PSI_DOCUMENT_ME};
PSI_stage_info stage_doublewrite{0, "LRU flusher waiting for the doublewrite",
                                 0, PSI_DOCUMENT_ME};
PSI_stage_info stage_flushing{0, "LRU flusher writing pages", 0,
                              PSI_DOCUMENT_ME};

void register_instruments() {
#ifdef HAVE_PSI_INTERFACE
  static PSI_mutex_info mutexes[] = {
      {&lru_flusher_mutex_key, "lru_flusher_mutex", 0, 0, PSI_DOCUMENT_ME}};
  static PSI_cond_info conds[] = {
      {&lru_flusher_cond_key, "lru_flusher_cond", 0, 0, PSI_DOCUMENT_ME},
      {&lru_flusher_free_page_cond_key, "lru_flusher_free_page_cond", 0, 0,
       PSI_DOCUMENT_ME}};
  static PSI_stage_info *stages[] = {&stage_evicting, &stage_waiting,
                                     &stage_log, &stage_doublewrite,
                                     &stage_flushing};
  mysql_mutex_register("innodb", mutexes, std::size(mutexes));
  mysql_cond_register("innodb", conds, std::size(conds));
  mysql_stage_register("innodb", stages, std::size(stages));
#ifdef UNIV_PFS_THREAD
  static PSI_thread_info threads[] = {
      {&lru_evict_thread_key, "lru_evict_thread", "ib_lru_evict", 0, 0,
       PSI_DOCUMENT_ME},
      {&lru_write_thread_key, "lru_write_thread", "ib_lru_write", 0, 0,
       PSI_DOCUMENT_ME}};
  mysql_thread_register("innodb", threads, std::size(threads));
#endif
#endif
}

/** If innodb_lru_scan_depth was given by anybody. The flushers do not ask the
server for that: its answer takes LOCK_system_variables_hash, and INSTALL PLUGIN
holds that while it reads pages, which wait for a flusher. */
std::atomic<bool> scan_depth_is_set{false};

/** To be called before there are flushers.
@return true if an option or a file of options gave innodb_lru_scan_depth */
bool scan_depth_is_given() {
  static constexpr char name[] = "innodb_lru_scan_depth";
  enum enum_variable_source source;
  return sysvar_source_svc != nullptr &&
         !sysvar_source_svc->get(name, sizeof(name) - 1, &source) &&
         source != COMPILED;
}

/** Says so, once, if the two settings for the rate of page writes contradict
each other. Asked now and then by one thread, as persisted variables are set
when InnoDB has started. */
void note_contradiction() {
  static bool noted = false;
  if (noted || !srv_lru_flusher || !scan_depth_is_set.load()) return;
  const auto lru = srv_LRU_scan_depth * srv_buf_pool_instances;
  if (lru >= srv_io_capacity / 2 && lru / 2 <= srv_io_capacity) return;

  noted = true;
  LogErr(INFORMATION_LEVEL, ER_LOG_PRINTF_MSG,
         ("innodb_lru_scan_depth=" + std::to_string(srv_LRU_scan_depth) +
          " in each of " + std::to_string(srv_buf_pool_instances) +
          " buffer pool instances and innodb_io_capacity=" +
          std::to_string(srv_io_capacity) +
          " for the server ask for different rates of page writes. The first "
          "is what the LRU flusher goes by. Leave innodb_lru_scan_depth unset "
          "to have it follow innodb_io_capacity.")
             .c_str());
}

using Counter = std::atomic<uint64_t>;

void add(Counter &counter, uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

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

template <typename Duration>
timespec end_of(Duration duration) {
  timespec end;
  set_timespec_nsec(
      &end,
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  return end;
}

/** The flusher of one buffer pool instance. */
class alignas(ut::INNODB_CACHE_LINE_SIZE) Lru_flusher {
 public:
  explicit Lru_flusher(buf_pool_t *buf_pool) : m_pool(buf_pool) {
    mysql_mutex_init(lru_flusher_mutex_key, &m_mutex, MY_MUTEX_INIT_FAST);
    mysql_cond_init(lru_flusher_cond_key, &m_cond);
    mysql_cond_init(lru_flusher_cond_key, &m_writer_cond);
  }

  Lru_flusher(const Lru_flusher &) = delete;
  Lru_flusher &operator=(const Lru_flusher &) = delete;

  ~Lru_flusher() {
    mysql_cond_destroy(&m_writer_cond);
    mysql_cond_destroy(&m_cond);
    mysql_mutex_destroy(&m_mutex);
  }

  /** Makes the threads. */
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

  /** Makes the evictor get up, or go on. */
  void wake() {
    mysql_mutex_lock(&m_mutex);
    m_wake = true;
    mysql_cond_signal(&m_cond);
    mysql_mutex_unlock(&m_mutex);
  }

  /** @return true if these threads care for the LRU list */
  bool serves() const {
#ifdef UNIV_DEBUG
    /* Tests that stop the page cleaner want pages to stay where they are. */
    if (innodb_page_cleaner_disabled_debug) return false;
    DBUG_EXECUTE_IF("lru_flusher_stands_aside", return false;);
#endif
    return srv_lru_flusher && m_running.load(std::memory_order_relaxed) &&
           buf_get_withdraw_depth(m_pool) == 0;
  }

  /** A thread has taken a page from the free list. The length of the list was
  written before the mutex of the list was released, and m_asleep is written
  before the evictor reads the length for the last time: so one of the two sees
  what the other has done. And if not, the next page that is taken will. */
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
  @return the page, or nullptr if none was to be had */
  buf_block_t *wait();

  /** A write of an LRU batch is complete. There is a clean page at the tail;
  who waits has the first claim to it. */
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

  const Statistics &statistics() const { return m_statistics; }

 private:
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
  @return the page, or nullptr; then maybe because the evictor is stuck */
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

  /** Sends all threads that wait upstream's way. */
  void dismiss_waiters();

  /** Gives m_ids to the writer, which has nothing to do. */
  void hand_over();

  /** Waits for writes to complete.
  @param[in]  usec    how long at most
  @param[in]  before  m_progress when the walk began
  @param[in]  n       so many are worth while to go on
  @return true if there was progress since then */
  bool wait_for_progress(uint64_t usec, uint64_t before, size_t n);

  /** Writes pages.
  @param[in]  ids  pages
  @param[in]  lsn  the newest change of any of them
  @return number of pages whose write was started */
  size_t write(const std::vector<page_id_t> &ids, lsn_t lsn);

  /** Waits until the doublewrite has room for a batch, and reserves that.
  @return false if the thread has to end */
  bool reserve_doublewrite();

  /** Something is clean, or on its way, that was not. */
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

  /** @return pages that LRU batches have under way */
  size_t in_flight() const {
    mutex_enter(&m_pool->flush_state_mutex);
    const auto n = m_pool->n_flush[BUF_FLUSH_LRU];
    mutex_exit(&m_pool->flush_state_mutex);
    return n;
  }

  Lru_policy::State state() const {
    return {UT_LIST_GET_LEN(m_pool->free),
            m_n_waiters.load(),
            UT_LIST_GET_LEN(m_pool->LRU),
            m_pool->LRU_old != nullptr ? m_pool->LRU_old_len : 0,
            in_flight(),
            m_writer_busy.load()};
  }

  /** Tells the policy how many pages are consumed, and what the settings are.
   */
  void measure();

  /** @return what the settings allow the LRU to write in a second.
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

  /** Wakes up when the free list is shorter. */
  std::atomic<size_t> m_low_water{0};

  /** A thread that waited found that the evictor does not move. Others do not
  wait for it until it does. */
  std::atomic<bool> m_stuck{false};
  /** A thread that waits searches the list by itself. */
  std::atomic<bool> m_searching{false};

  /** The writer waits for a segment of the doublewrite file. */
  std::atomic<bool> m_wants_segment{false};

  /** Writes that were completed, and batches that went out. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) std::atomic<uint64_t> m_progress{0};

  /** The evictor is to be woken when m_progress is that. */
  std::atomic<uint64_t> m_wake_at{UINT64_MAX};
  /** @} */

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
  /** Nothing was to be had: however few pages are free, it is of no use to look
  again before somebody looks for one. */
  bool m_gave_up{false};
  Clock::time_point m_depth_checked{};
  /** @} */
};

using Flushers = std::vector<std::unique_ptr<Lru_flusher>>;

/** One for each instance. Not destroyed by exit(), as threads may be left when
a start has failed. */
std::atomic<Flushers *> flushers{nullptr};

Lru_flusher *flusher_of(const buf_pool_t *buf_pool) {
  auto *const all = flushers.load(std::memory_order_acquire);
  return all != nullptr ? (*all)[buf_pool->instance_no].get() : nullptr;
}

/** A thread with the privileges of the page cleaner. */
class Thread_context {
 public:
  Thread_context() : m_thd(create_internal_thd()) {
#ifdef UNIV_LINUX
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
                THREAD_PRIORITY);
#endif
  }
  ~Thread_context() { destroy_internal_thd(m_thd); }
  Thread_context(const Thread_context &) = delete;
  Thread_context &operator=(const Thread_context &) = delete;

 private:
  THD *m_thd;
};

buf_block_t *Lru_flusher::wait() {
  if (!serves()) return nullptr;

  const auto start = Clock::now();
  auto end = start + MAX_WAIT;
  DBUG_EXECUTE_IF("lru_flusher_keeps_waiters", end += std::chrono::hours{1};);
  buf_block_t *block = nullptr;
  bool sent_away = false;
  DBUG_EXECUTE_IF("mutate_lru_flusher_no_memory", m_stuck.store(false););

  thd_wait_begin(nullptr, THD_WAIT_DISKIO);
  do {
    if (m_stuck.load() && !m_searching.exchange(true)) {
      /* There may be clean pages, and nobody who looks for them. One thread at
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
    /* The thread goes upstream's way, and counts there. */
    add(m_statistics.free_wait_failures, 1);
  }
  return block;
}

buf_block_t *Lru_flusher::queue_up(Clock::time_point end, bool &sent_away) {
  Waiter self;
  mysql_cond_init(lru_flusher_free_page_cond_key, &self.cond);

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
    const auto until = end_of(BEAT_WAIT);
    if (mysql_cond_timedwait(&self.cond, &m_mutex, &until) == 0 || self.done) {
      continue;
    }
    if (m_waits.load() && UT_LIST_GET_LEN(m_pool->free) > 0) {
      /* Others have freed pages while the evictor waits for writes. */
      m_wake = true;
      mysql_cond_signal(&m_cond);
    }
    const bool stuck = beats == m_beats.load() && !m_waits.load();
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
    /* Whoever woke us has cleared it, and there may be nothing to do any more.
     */
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

size_t Lru_flusher::depth() {
  const auto now = Clock::now();
  if (now - m_depth_checked > std::chrono::seconds{1}) {
    m_depth_checked = now;
    if (m_pool->instance_no == 0) note_contradiction();
    m_depth = scan_depth_is_set.load()
                  ? srv_LRU_scan_depth
                  : srv_io_capacity / srv_buf_pool_instances;
  }
  return m_depth;
}

void Lru_flusher::measure() {
  const std::chrono::duration<double> now = Clock::now().time_since_epoch();
  m_policy.measure(
      now.count(), m_freed, UT_LIST_GET_LEN(m_pool->free),
      {m_pool->curr_size, srv_lru_flusher_free_pages, depth(),
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

  /* One walk at a time, as lru_hp is there once. The page cleaner may be at the
  end of one if the flusher was just switched on, or the pool is resized. */
  for (bool started = false; !started;) {
    m_pool->change_flush_state(BUF_FLUSH_LRU, [&] {
      started = !m_pool->init_flush[BUF_FLUSH_LRU];
      m_pool->init_flush[BUF_FLUSH_LRU] = true;
    });
    if (!started) std::this_thread::sleep_for(milliseconds{1});
  }

  auto &hp = m_pool->lru_hp;
  mutex_enter(&m_pool->LRU_list_mutex);
  if (buf_LRU_evict_from_unzip_LRU(m_pool)) {
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
    /* Looked at without the mutex of the block. Who does something with the
    page looks again under it. */
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

  add(m_statistics.rounds, 1);
  add(m_statistics.pages_evicted, walk.n_evicted());
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
  return walk;
}

void Lru_flusher::evict(buf_page_t *bpage, Lru_policy::Walk &walk) {
  ut_ad(mutex_own(&m_pool->LRU_list_mutex));
  const bool has_frame = buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE;
  bool freed = false;

  if (bpage->was_stale()) {
    freed = buf_page_free_stale(m_pool, bpage);
  } else if (bpage->zip.data == nullptr) {
    if (remove(bpage)) {
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
    /* All mutexes are released. */
    if (has_frame) {
      ++m_freed;
      walk.evicted(1);
    }
    mutex_enter(&m_pool->LRU_list_mutex);
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

  /* As upstream does when it evicts; this is how useless read-ahead shows. */
  if (buf_page_is_accessed(bpage) == Clock::time_point{}) {
    ++m_pool->stat.n_ra_pages_evicted;
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
    /* At once, before somebody takes it who has not waited. */
    serve_waiters();
  }
  m_evicted.clear();
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
      "lru_flusher_keeps_waiters", if (serves()) {
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
  /* Looked at after the store: a write that completed before it has not woken
  us. */
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
      /* Never taken back: somebody else may have set it, who wakes but once. */
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
void sync_writer() {
  static constexpr char action[] =
      "now SIGNAL lru_flusher_latched WAIT_FOR lru_flusher_go_on TIMEOUT 300";
  ut_a(!debug_sync_set_action(current_thd, STRING_WITH_LEN(action)));
}
#endif

size_t Lru_flusher::write(const std::vector<page_id_t> &ids, lsn_t lsn) {
  /* Once for all pages, and before any of them is latched. The list is in the
  order of their last use, and so the newest change of each is often a little
  newer than that of the one before: page by page, most would need a flush of
  the log of their own. What is changed from now on is seen to by
  buf_flush_write_block_low(). */
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
    /* One less, as a page may come on top of its neighbours. */
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
      flushes all files. The checkpoint does that when it has to be. */
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

}  // namespace

void buf_lru_flusher_start() {
  ut_a(flushers.load() == nullptr);
  /* The page cleaner gets here, too, if the start of the server has failed. */
  if (srv_shutdown_state.load() >= SRV_SHUTDOWN_CLEANUP &&
      !DBUG_EVALUATE_IF("mutate_lru_flusher_starts_in_vain", true, false)) {
    return;
  }
  DBUG_EXECUTE_IF("lru_flusher_log_start", ib::info()
                                               << "The LRU flusher starts";);
  register_instruments();
  scan_depth_is_set.store(scan_depth_is_given());
  auto *const all = new Flushers;
  for (ulint i = 0; i < srv_buf_pool_instances; ++i) {
    all->push_back(std::make_unique<Lru_flusher>(buf_pool_from_array(i)));
  }
  flushers.store(all, std::memory_order_release);
  for (size_t i = 0; i < all->size(); ++i) (*all)[i]->start(i);
}

void buf_lru_flusher_stop() {
  auto *const all = flushers.load();
  if (all == nullptr) return;
  for (auto &flusher : *all) flusher->stop();
  for (auto &flusher : *all) flusher->join();
  /* As if the page cleaner had ended its last batch. */
  buf_flush_await_no_flushing(nullptr, BUF_FLUSH_LRU);
}

void buf_lru_flusher_free() { delete flushers.exchange(nullptr); }

void buf_lru_flusher_scan_depth_set(bool to_default) {
  DBUG_EXECUTE_IF("mutate_lru_flusher_default_is_set", to_default = false;);
  scan_depth_is_set.store(!to_default);
}

void buf_lru_flusher_update() {
  auto *const all = flushers.load(std::memory_order_acquire);
  if (all == nullptr) return;
  for (auto &flusher : *all) flusher->wake();
}

bool buf_lru_flusher_serves(const buf_pool_t *buf_pool) {
  const auto *flusher = flusher_of(buf_pool);
  return flusher != nullptr && flusher->serves();
}

void buf_lru_flusher_taken_low(buf_pool_t *buf_pool) {
  DBUG_EXECUTE_IF("lru_flusher_no_search", buf_pool->try_LRU_scan = false;);
  if (auto *flusher = flusher_of(buf_pool); flusher != nullptr) {
    flusher->taken();
  }
}

buf_block_t *buf_lru_flusher_wait_low(buf_pool_t *buf_pool, bool &waited) {
  auto *const flusher = flusher_of(buf_pool);
  if (flusher == nullptr || waited) return nullptr;
  waited = true;
  return flusher->wait();
}

void buf_lru_flusher_written(buf_pool_t *buf_pool) {
  /* Upstream's page cleaner says itself when a search is worth while. */
  if (!srv_lru_flusher &&
      !DBUG_EVALUATE_IF("mutate_lru_flusher_written_if_off", true, false)) {
    return;
  }
  if (auto *flusher = flusher_of(buf_pool); flusher != nullptr) {
    flusher->written();
  }
}

#ifdef UNIV_DEBUG
void buf_lru_flusher_before_sync() {
  while (DBUG_EVALUATE_IF("lru_flusher_sync_hangs", true, false)) {
    std::this_thread::sleep_for(milliseconds{1});
  }
}
#endif

void buf_lru_flusher_segment_free() {
  auto *const all = flushers.load(std::memory_order_acquire);
  if (all == nullptr) return;
  /* The last store of the queue that got the segment is a release only. It has
  to come before m_wants_segment is looked at, or a writer that finds the queue
  empty is not woken. */
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (auto &flusher : *all) flusher->segment_free();
}

namespace {

/** The sums of all instances. */
struct Sums {
  uint64_t pages_evicted{};
  uint64_t pages_flushed{};
  uint64_t rounds{};
  uint64_t wakeups{};
  uint64_t free_waits{};
  uint64_t free_wait_usec{};
  uint64_t free_wait_max_usec{};
  uint64_t free_wait_failures{};
};

Sums sums() {
  Sums sums;
  const auto *const all = flushers.load(std::memory_order_acquire);
  if (all == nullptr) return sums;
  for (const auto &flusher : *all) {
    const auto &of = flusher->statistics();
    sums.pages_evicted += of.pages_evicted;
    sums.pages_flushed += of.pages_flushed;
    sums.rounds += of.rounds;
    sums.wakeups += of.wakeups;
    sums.free_waits += of.free_waits;
    sums.free_wait_usec += of.free_wait_usec;
    sums.free_wait_max_usec =
        std::max(sums.free_wait_max_usec, of.free_wait_max_usec.load());
    sums.free_wait_failures += of.free_wait_failures;
  }
  return sums;
}

}  // namespace

void buf_lru_flusher_print(FILE *file) {
  const auto n = sums();
  fprintf(file,
          "-----------\n"
          "LRU FLUSHER\n"
          "-----------\n"
          "%s; pages evicted " UINT64PF ", pages written " UINT64PF
          "\n"
          "Rounds " UINT64PF ", wake-ups " UINT64PF
          "\n"
          "Waits for a free page " UINT64PF ", in vain " UINT64PF
          ", in all " UINT64PF " us, the longest " UINT64PF " us\n",
          srv_lru_flusher ? "On" : "Off", n.pages_evicted, n.pages_flushed,
          n.rounds, n.wakeups, n.free_waits, n.free_wait_failures,
          n.free_wait_usec, n.free_wait_max_usec);
}

namespace {

/** Gives a figure to SHOW STATUS. */
int show(SHOW_VAR *var, char *buff, uint64_t value) {
  *reinterpret_cast<ulonglong *>(buff) = value;
  var->type = SHOW_LONGLONG;
  var->value = buff;
  return 0;
}

}  // namespace

#define DEFINE_SHOW(figure)                                             \
  int buf_lru_flusher_show_##figure(THD *, SHOW_VAR *var, char *buff) { \
    return show(var, buff, sums().figure);                              \
  }
DEFINE_SHOW(pages_evicted)
DEFINE_SHOW(pages_flushed)
DEFINE_SHOW(rounds)
DEFINE_SHOW(wakeups)
DEFINE_SHOW(free_waits)
DEFINE_SHOW(free_wait_usec)
DEFINE_SHOW(free_wait_max_usec)
DEFINE_SHOW(free_wait_failures)
#undef DEFINE_SHOW
