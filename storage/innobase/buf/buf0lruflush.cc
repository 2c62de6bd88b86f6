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
 A thread for each buffer pool instance that keeps the free list filled.

 Latching order: Lru_flusher::m_mutex comes before every mutex of the buffer
 pool; the flusher takes it when it holds none of them. Waiting threads may hold
 latches on pages. So the flusher must not wait for such a latch, nor for
 anything that a holder of one may wait for: it takes page latches only if that
 needs no waiting, like upstream's LRU batch. */

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

#include "arch0arch.h"
#include "btr0sea.h"
#include "buf0buf.h"
#include "buf0dblwr.h"
#include "buf0flu.h"
#include "buf0lru.h"
#include "fsp0sysspace.h"
#include "log0write.h"
#include "my_dbug.h"
#include "my_systime.h"
#include "mysql/components/services/log_builtins.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/status_var.h"
#include "os0thread-create.h"
#include "sql/debug_sync.h"
#include "sql_thd_internal_api.h"
#include "srv0mon.h"
#include "srv0srv.h"

#if __has_include("buf0lrucount.h")
/* The patch lru_stats is there, too: pages and waits count in its tables. */
#include "buf0lrucount.h"
#define HAVE_LRU_STATS
#endif

extern SERVICE_TYPE(system_variable_source) * sysvar_source_svc;
#ifdef UNIV_DEBUG
extern bool innodb_page_cleaner_disabled_debug;
#endif

bool srv_lru_flusher = true;
ulong srv_lru_flusher_free_pages = 0;
thread_local uint32_t buf_lru_flusher_dblwr_turn = 0;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/** As in buf0flu.cc: with fewer pages in the list, nothing is evicted ahead of
demand. */
constexpr size_t LRU_MIN_LEN = 256;

#ifdef UNIV_LINUX
/** As in buf0flu.cc; without the privilege it has no effect. */
constexpr int THREAD_PRIORITY = -20;
#endif

/** Pages of one doublewrite batch at most, and so of one of ours. Each costs a
flush of the redo log, a write to the doublewrite file and a flush of the data
files, whatever its size. */
constexpr size_t BATCH_PAGES = 128;

/** @return pages of a batch that fill one segment of the doublewrite file */
size_t batch_pages() {
  return dblwr::is_enabled() ? std::min<size_t>(BATCH_PAGES, dblwr::n_pages)
                             : BATCH_PAGES;
}

/** Fewer pages are only written if somebody waits or nearly does. */
constexpr size_t MIN_BATCH_PAGES = 16;

/** How much is done in one go under the LRU list mutex: a page that is evicted
or latched for a write counts CHUNK_WORK_PAGE, one that is passed by counts 1.
Then the mutex is released for a moment. */
constexpr size_t CHUNK_WORK = 64;
constexpr size_t CHUNK_WORK_PAGE = 4;

/** The free list is filled for the consumption of that time: enough for the
flusher to be scheduled on a busy machine and for a batch to be written. */
constexpr double HORIZON_SECONDS = 0.03;

/** Least number of pages that are kept free, unless the pool is tiny. */
constexpr size_t MIN_FREE_PAGES = 128;

/** The longest that a thread waits before it goes upstream's way. Far longer
than any write takes on a disk that works. */
constexpr milliseconds MAX_WAIT{500};

/** How long to wait for progress when there is nothing to evict and to write.
 */
constexpr milliseconds NO_PROGRESS_WAIT{10};

/** So many rounds in vain, and threads that wait are sent upstream's way. */
constexpr int NO_PROGRESS_LIMIT = 3;

#ifdef UNIV_PFS_THREAD
PSI_thread_key lru_flush_thread_key;
#endif
PSI_mutex_key lru_flusher_mutex_key;
PSI_cond_key lru_flusher_cond_key;
PSI_cond_key lru_flusher_free_page_cond_key;
PSI_stage_info stage_evicting{0, "LRU flusher evicting pages", 0,
                              PSI_DOCUMENT_ME};
PSI_stage_info stage_flushing{0, "LRU flusher writing pages", 0,
                              PSI_DOCUMENT_ME};
PSI_stage_info stage_waiting{0, "LRU flusher waiting for progress", 0,
                             PSI_DOCUMENT_ME};

void register_instruments() {
#ifdef HAVE_PSI_INTERFACE
  static PSI_mutex_info mutexes[] = {
      {&lru_flusher_mutex_key, "lru_flusher_mutex", 0, 0, PSI_DOCUMENT_ME}};
  static PSI_cond_info conds[] = {
      {&lru_flusher_cond_key, "lru_flusher_cond", 0, 0, PSI_DOCUMENT_ME},
      {&lru_flusher_free_page_cond_key, "lru_flusher_free_page_cond", 0, 0,
       PSI_DOCUMENT_ME}};
  static PSI_stage_info *stages[] = {&stage_evicting, &stage_flushing,
                                     &stage_waiting};
  mysql_mutex_register("innodb", mutexes, std::size(mutexes));
  mysql_cond_register("innodb", conds, std::size(conds));
  mysql_stage_register("innodb", stages, std::size(stages));
#ifdef UNIV_PFS_THREAD
  static PSI_thread_info threads[] = {{&lru_flush_thread_key,
                                       "lru_flush_thread", "ib_lru_flush", 0, 0,
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

/** The flusher of one buffer pool instance. */
class alignas(ut::INNODB_CACHE_LINE_SIZE) Lru_flusher {
 public:
  explicit Lru_flusher(buf_pool_t *buf_pool) : m_pool(buf_pool) {
    mysql_mutex_init(lru_flusher_mutex_key, &m_mutex, MY_MUTEX_INIT_FAST);
    mysql_cond_init(lru_flusher_cond_key, &m_cond);
    m_batch.reserve(BATCH_PAGES);
    m_evicted.reserve(CHUNK_WORK / CHUNK_WORK_PAGE + 1);
  }

  Lru_flusher(const Lru_flusher &) = delete;
  Lru_flusher &operator=(const Lru_flusher &) = delete;

  ~Lru_flusher() {
    mysql_cond_destroy(&m_cond);
    mysql_mutex_destroy(&m_mutex);
  }

  /** Makes the thread. */
  void start(size_t number) {
    m_running.store(true);
    m_thread =
        os_thread_create(lru_flush_thread_key, number, [this] { this->run(); });
    m_thread.start();
  }

  /** Asks the thread to end. */
  void stop() {
    mysql_mutex_lock(&m_mutex);
    m_running.store(false);
    mysql_cond_signal(&m_cond);
    mysql_mutex_unlock(&m_mutex);
  }

  /** Waits until the thread has ended. */
  void join() { m_thread.join(); }

  /** The thread has to look at the variables again. */
  void update() {
    mysql_mutex_lock(&m_mutex);
    m_wake = true;
    mysql_cond_signal(&m_cond);
    mysql_mutex_unlock(&m_mutex);
  }

  /** @return true if this thread cares for the LRU list */
  bool serves() const {
#ifdef UNIV_DEBUG
    /* Tests that stop the page cleaner want pages to stay where they are. */
    if (innodb_page_cleaner_disabled_debug) return false;
#endif
    return srv_lru_flusher && m_running.load(std::memory_order_relaxed) &&
           buf_get_withdraw_depth(m_pool) == 0;
  }

  /** A thread has taken a page from the free list. The length of the list was
  written before the mutex of the list was released, and m_asleep is written
  before the flusher reads the length for the last time: so one of the two sees
  what the other has done. And if not, the next page that is taken will. */
  void taken() {
    if (m_asleep.load(std::memory_order_relaxed) &&
        UT_LIST_GET_LEN(m_pool->free) <
            m_low_water.load(std::memory_order_relaxed) &&
        m_asleep.exchange(false)) {
      wake();
    }
  }

  /** Waits for a free page.
  @return the page, or nullptr if none was to be had */
  buf_block_t *wait();

  /** A write of an LRU batch is complete. */
  void written() {
    const auto until = m_wait_until_in_flight.load();
    if (until >= 0 && in_flight() <= static_cast<size_t>(until)) wake();
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

  void run();

  /** Sleeps until there is something to do.
  @return false if the thread has to end */
  bool sleep();

  /** Fills the free list. */
  void work();

  /** One round: evicts clean pages from the tail of the LRU list and writes
  dirty ones.
  @param[in]  n_free   pages that are wanted in the free list
  @param[in]  n_wait   how many of them somebody waits for
  @param[in]  n_write  pages that may be written
  @return number of pages that were evicted or whose write was started */
  size_t round(size_t n_free, size_t n_wait, size_t n_write);

  /** Walks the LRU list. The caller holds the LRU list mutex; it is released
  and taken again now and then.
  @return number of pages evicted */
  size_t scan(size_t n_free, size_t n_wait, size_t n_write);

  /** Evicts a page; the frame is then in m_evicted.
  @param[in]  bpage  page; the caller holds the LRU list mutex
  @return true if done; the LRU list mutex is held in any case */
  bool evict(buf_page_t *bpage);

  /** Evicts a page of a compressed table.
  @param[in]  bpage  page; the caller holds the LRU list mutex, and has put the
                     hazard pointer on the next one
  @return true if done; the LRU list mutex is held in any case */
  bool evict_compressed(buf_page_t *bpage);

  /** Latches a page for its write; it is then in m_batch.
  @param[in]  bpage  page; the caller holds the LRU list mutex */
  void latch_for_write(buf_page_t *bpage);

  /** Writes the pages of m_batch. The caller holds no mutex. */
  void write_batch();

  /** Gives the frames of m_evicted to threads that wait, and to the free list.
  The caller holds no mutex. */
  void free_evicted();

  /** Gives a page to the first thread that waits. The caller holds m_mutex. */
  void give(buf_block_t *block);

  /** Gives pages of the free list to threads that wait. */
  void serve_waiters();

  /** Sends all threads that wait upstream's way. */
  void dismiss_waiters();

  /** Waits until writes are complete, or a while. */
  void wait_for_progress();

  /** @return true if the flusher has to get up. The caller holds m_mutex. */
  bool is_needed() const {
    return serves() && (!m_waiters.empty() ||
                        UT_LIST_GET_LEN(m_pool->free) < m_low_water.load());
  }

  void wake() {
    mysql_mutex_lock(&m_mutex);
    m_wake = true;
    mysql_cond_signal(&m_cond);
    mysql_mutex_unlock(&m_mutex);
  }

  /** @return pages that LRU batches have under way */
  size_t in_flight() const {
    mutex_enter(&m_pool->flush_state_mutex);
    const auto n = m_pool->n_flush[BUF_FLUSH_LRU];
    mutex_exit(&m_pool->flush_state_mutex);
    return n;
  }

  /** Chooses an object for the doublewrite of a batch that is idle. Upstream
  has two for the LRU batches of the only instance, and uses one.
  @return true if there is one */
  bool find_doublewrite();

  /** Measures the consumption, and sets the target and the low-water mark. */
  void set_target();

  /** @return the highest number of pages to keep free: what the settings allow
  the LRU to write in a second. innodb_lru_scan_depth is per instance, and
  innodb_io_capacity, which stands in for it if it is not set, per server. */
  size_t depth();

  /** @name Read by each thread that takes a page or completes a write
  @{ */
  buf_pool_t *const m_pool;

  /** From start() to stop(). */
  std::atomic<bool> m_running{false};

  /** The thread sleeps and wants to be woken at the low-water mark. */
  std::atomic<bool> m_asleep{false};

  /** Wakes up when the free list is shorter. */
  std::atomic<size_t> m_low_water{0};

  /** The thread waits until no more pages than that are under way; -1: it does
  not wait. */
  std::atomic<ssize_t> m_wait_until_in_flight{-1};
  /** @} */

  /** Number of elements in m_waiters, to be read without m_mutex. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) std::atomic<size_t> m_n_waiters{0};

  mysql_mutex_t m_mutex;
  mysql_cond_t m_cond;
  /** Somebody wants the thread to go on. Protected by m_mutex. */
  bool m_wake{false};
  /** The thread waits for nothing but somebody who needs a page. Protected by
  m_mutex. */
  bool m_idle{false};
  /** First come, first served. Protected by m_mutex. */
  std::deque<Waiter *> m_waiters;

  Statistics m_statistics;
  IB_thread m_thread;
  THD *m_thd{};

  /** @name Used by the thread only
  @{ */
  size_t m_target{0};
  std::vector<buf_page_t *> m_batch;
  std::vector<buf_block_t *> m_evicted;
  /** Pages a second that are taken from the free list. */
  double m_consumption{0};
  uint64_t m_freed{0};
  uint64_t m_freed_before{0};
  size_t m_free_before{0};
  Clock::time_point m_measured{};
  size_t m_depth{0};
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

buf_block_t *Lru_flusher::wait() {
  if (!serves()) return nullptr;

  DBUG_EXECUTE_IF("lru_flusher_no_wait", return nullptr;);

  const auto start = Clock::now();

  /* As upstream: reads that wait for a simulated AIO thread to be woken may
  hold the pages that could be evicted. */
  os_aio_simulated_wake_handler_threads();

  Waiter self;
  mysql_cond_init(lru_flusher_free_page_cond_key, &self.cond);
  milliseconds longest_wait = MAX_WAIT;
  DBUG_EXECUTE_IF("lru_flusher_wait_long",
                  longest_wait = std::chrono::minutes{1};);
  timespec end;
  set_timespec_nsec(
      &end, std::chrono::duration_cast<std::chrono::nanoseconds>(longest_wait)
                .count());

  thd_wait_begin(nullptr, THD_WAIT_DISKIO);
  mysql_mutex_lock(&m_mutex);
  /* Under the mutex, as stop() and the off switch look for waiters under it. */
  self.done = !serves();
  if (!self.done) {
    m_waiters.push_back(&self);
    m_n_waiters.store(m_waiters.size());
    if (m_idle && !m_wake) {
      m_wake = true;
      mysql_cond_signal(&m_cond);
    }
  }
  while (!self.done) {
    if (mysql_cond_timedwait(&self.cond, &m_mutex, &end) != 0 && !self.done) {
      m_waiters.erase(std::find(m_waiters.begin(), m_waiters.end(), &self));
      m_n_waiters.store(m_waiters.size());
      break;
    }
  }
  mysql_mutex_unlock(&m_mutex);
  thd_wait_end(nullptr);
  mysql_cond_destroy(&self.cond);

  const uint64_t usec =
      std::chrono::duration_cast<microseconds>(Clock::now() - start).count();
  add(m_statistics.free_waits, 1);
  add(m_statistics.free_wait_usec, usec);
  auto longest = m_statistics.free_wait_max_usec.load();
  while (
      usec > longest &&
      !m_statistics.free_wait_max_usec.compare_exchange_weak(longest, usec)) {
  }
  if (self.block != nullptr) {
    srv_stats.buf_pool_wait_free.inc();
    MONITOR_INC(MONITOR_LRU_GET_FREE_WAITS);
#ifdef HAVE_LRU_STATS
    buf_lru_hook_waited(m_pool, usec);
#endif
  } else {
    /* The thread goes upstream's way, and counts there. */
    add(m_statistics.free_wait_failures, 1);
  }
  return self.block;
}

void Lru_flusher::run() {
  m_thd = create_internal_thd();

#ifdef UNIV_LINUX
  /* As the page cleaner; without the privilege it stays as it is. */
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
              THREAD_PRIORITY);
#endif

  set_target();
  while (sleep()) work();

  dismiss_waiters();
  destroy_internal_thd(m_thd);
}

bool Lru_flusher::sleep() {
  mysql_end_stage();
  mysql_mutex_lock(&m_mutex);
  m_idle = true;
  m_asleep.store(true);
  while (m_running.load() && !m_wake && !is_needed()) {
    mysql_cond_wait(&m_cond, &m_mutex);
  }
  m_asleep.store(false);
  m_idle = false;
  m_wake = false;
  const bool running = m_running.load();
  mysql_mutex_unlock(&m_mutex);

  if (running) add(m_statistics.wakeups, 1);
  return running;
}

bool Lru_flusher::find_doublewrite() {
  if (!dblwr::is_enabled()) return true;
  for (uint32_t turn = 0; turn < (srv_buf_pool_instances == 1 ? 2 : 1);
       ++turn) {
    buf_lru_flusher_dblwr_turn = turn;
    if (dblwr::is_ready_for_LRU_batch(m_pool->instance_no)) return true;
  }
  return false;
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

void Lru_flusher::set_target() {
  const auto now = Clock::now();
  const auto n_free = UT_LIST_GET_LEN(m_pool->free);
  const std::chrono::duration<double> time = now - m_measured;

  if (time.count() > 0.01) {
    const auto taken = static_cast<double>(m_freed - m_freed_before) +
                       static_cast<double>(m_free_before) -
                       static_cast<double>(n_free);
    const auto rate = std::max(0.0, taken / time.count());
    /* A rise counts at once, so that nobody has to wait for it. */
    m_consumption = std::max(rate, 0.7 * m_consumption + 0.3 * rate);
    m_measured = now;
    m_freed_before = m_freed;
    m_free_before = n_free;
  }

  const size_t size = m_pool->curr_size;
  const size_t most = std::max<size_t>(1, size / 8);
  const size_t most_by_settings = depth();
  size_t target = srv_lru_flusher_free_pages;
  if (target == 0) {
    target = std::clamp<size_t>(
        static_cast<size_t>(m_consumption * HORIZON_SECONDS),
        std::min(MIN_FREE_PAGES, std::max<size_t>(1, size / 32)),
        std::max(most_by_settings, MIN_FREE_PAGES));
  }
  m_target = std::min(target, most);
  m_low_water.store((m_target + 1) / 2);
}

void Lru_flusher::work() {
  int in_vain = 0;

  while (m_running.load()) {
    serve_waiters();
    if (!serves()) break;
    set_target();

    const size_t n_free = UT_LIST_GET_LEN(m_pool->free);
    const size_t n_wait = m_n_waiters.load();
    if (n_free >= m_target && n_wait == 0) return;

    const size_t wanted = std::max(m_target, n_free) - n_free + n_wait;
    const size_t under_way = in_flight();
    size_t n_write =
        wanted > under_way ? std::min(wanted - under_way, batch_pages()) : 0;
    if (!find_doublewrite() || (n_write < MIN_BATCH_PAGES && n_wait == 0 &&
                                n_free >= m_low_water.load())) {
      n_write = 0;
    }

    if (round(wanted, n_wait, n_write) > 0) {
      in_vain = 0;
      continue;
    }

    /* There will be more to do at the low-water mark. */
    if (m_n_waiters.load() == 0 &&
        UT_LIST_GET_LEN(m_pool->free) >= m_low_water.load()) {
      return;
    }

    DBUG_EXECUTE_IF("lru_flusher_wait_long", in_vain = 0;);
    if (++in_vain >= NO_PROGRESS_LIMIT && under_way == 0) {
      /* Every page is in use, or none can be written. Try again when half of
      what is left has been taken, but not by polling. */
      m_low_water.store(UT_LIST_GET_LEN(m_pool->free) / 2);
      break;
    }
    wait_for_progress();
  }

  dismiss_waiters();
}

void Lru_flusher::wait_for_progress() {
  const size_t under_way = in_flight();
  mysql_set_stage(stage_waiting.m_key);

  /* A wake-up for every page that is written would be too many. */
  const size_t until =
      under_way > 2 * MIN_BATCH_PAGES ? under_way - MIN_BATCH_PAGES : 0;
  timespec end;
  set_timespec_nsec(&end, std::chrono::duration_cast<std::chrono::nanoseconds>(
                              NO_PROGRESS_WAIT)
                              .count());

  mysql_mutex_lock(&m_mutex);
  if (under_way > 0) {
    m_wait_until_in_flight.store(until);
  } else {
    m_idle = true;
  }
  /* Looked at after the store: a write that completed before it has not woken
  us. */
  while (m_running.load() && !m_wake &&
         (under_way == 0 || in_flight() > until)) {
    if (mysql_cond_timedwait(&m_cond, &m_mutex, &end) != 0) break;
  }
  m_wait_until_in_flight.store(-1);
  m_idle = false;
  m_wake = false;
  mysql_mutex_unlock(&m_mutex);
}

size_t Lru_flusher::round(size_t n_free, size_t n_wait, size_t n_write) {
  /* One LRU batch at a time, as lru_hp is there once. Unlike buf_flush_start()
  do not wait until the writes of the batch before are complete. */
  bool started = false;
  m_pool->change_flush_state(BUF_FLUSH_LRU, [&] {
    started = !m_pool->init_flush[BUF_FLUSH_LRU];
    m_pool->init_flush[BUF_FLUSH_LRU] = true;
  });
  if (!started) return 0;

  mysql_set_stage(stage_evicting.m_key);
  add(m_statistics.rounds, 1);

  size_t n_evicted{};
  size_t n_flushed{};

  mutex_enter(&m_pool->LRU_list_mutex);
  if (srv_flush_neighbors != 0 || UT_LIST_GET_LEN(m_pool->unzip_LRU) > 0) {
    /* Upstream knows which of the two lists to take from, and which neighbours
    to write. It only works ahead if no more than innodb_lru_scan_depth pages
    are free. */
    const auto before = m_pool->freed_page_clock;
    n_flushed = buf_do_LRU_batch(m_pool, std::min(n_free, BATCH_PAGES));
    n_evicted = m_pool->freed_page_clock - before;
    mutex_exit(&m_pool->LRU_list_mutex);
    m_freed += n_evicted;
  } else {
    n_evicted = scan(n_free, n_wait, n_write);
    mutex_exit(&m_pool->LRU_list_mutex);
    free_evicted();
    n_flushed = m_batch.size();
    if (n_flushed > 0) {
      mysql_set_stage(stage_flushing.m_key);
      write_batch();
    }
#ifdef HAVE_LRU_STATS
    buf_lru_hook_flushed_cleaner(m_pool, n_flushed);
#endif
    if (n_evicted > 0) {
      MONITOR_INC_VALUE_CUMULATIVE(MONITOR_LRU_BATCH_EVICT_TOTAL_PAGE,
                                   MONITOR_LRU_BATCH_EVICT_COUNT,
                                   MONITOR_LRU_BATCH_EVICT_PAGES, n_evicted);
    }
  }

  m_pool->change_flush_state(BUF_FLUSH_LRU, [&] {
    m_pool->try_LRU_scan = true;
    m_pool->init_flush[BUF_FLUSH_LRU] = false;
  });

  if (n_flushed > 0) {
    if (!srv_read_only_mode && dblwr::is_enabled()) {
      dblwr::force_flush(BUF_FLUSH_LRU, m_pool->instance_no);
    } else {
      /* Upstream waits here until no write of the server is under way, and
      flushes all files. The checkpoint does that when it has to be. */
      os_aio_simulated_wake_handler_threads();
    }
  }

  DBUG_EXECUTE_IF("lru_flusher_crash_after_batch",
                  if (n_flushed > 0) DBUG_SUICIDE(););

  if (n_flushed > 0) {
    srv_stats.buf_pool_flushed.add(n_flushed);
    MONITOR_INC_VALUE_CUMULATIVE(MONITOR_LRU_BATCH_FLUSH_TOTAL_PAGE,
                                 MONITOR_LRU_BATCH_FLUSH_COUNT,
                                 MONITOR_LRU_BATCH_FLUSH_PAGES, n_flushed);
  }
  add(m_statistics.pages_evicted, n_evicted);
  add(m_statistics.pages_flushed, n_flushed);
  return n_evicted + n_flushed;
}

size_t Lru_flusher::scan(size_t n_free, size_t n_wait, size_t n_write) {
  ut_ad(mutex_own(&m_pool->LRU_list_mutex));

  size_t n_evicted = 0;
  size_t n_passed = 0;
  size_t work = 0;
  const size_t under_way = in_flight();
  /* What is under way lies at the tail and is passed by each time. Between it
  lies what has been written since, to be evicted now. */
  const size_t tail = under_way + BATCH_PAGES;

  /* Among dirty pages that cannot be written now there are clean ones; but not
  too far from the tail, and not in the young part, unless somebody waits and
  nothing else is there. */
  const size_t old = m_pool->LRU_old != nullptr ? m_pool->LRU_old_len
                                                : UT_LIST_GET_LEN(m_pool->LRU);
  const size_t near = std::max(tail, std::min(old, tail + 2 * n_free));

  buf_page_t *bpage = UT_LIST_GET_LAST(m_pool->LRU);
  while (bpage != nullptr && n_evicted < n_free) {
    const bool starved = n_evicted < n_wait;
    const bool coming = n_evicted + m_batch.size() + under_way >= n_free ||
                        (n_write > 0 && m_batch.size() >= n_write);
    if (coming && n_passed >= tail) break;
    if (n_passed >= near &&
        (!starved || n_evicted + m_batch.size() + under_way > 0)) {
      break;
    }
    if (!starved && UT_LIST_GET_LEN(m_pool->LRU) <= LRU_MIN_LEN) break;

    if (work >= CHUNK_WORK) {
      m_pool->lru_hp.set(bpage);
      mutex_exit(&m_pool->LRU_list_mutex);
      free_evicted();
      work = 0;
      mutex_enter(&m_pool->LRU_list_mutex);
      bpage = m_pool->lru_hp.get();
      m_pool->lru_hp.set(nullptr);
      continue;
    }

    ++n_passed;
    auto *const prev = UT_LIST_GET_PREV(LRU, bpage);
    bool released = false;

    /* Looked at without the mutex of the block, to pass by quickly. Who wants
    to do something looks again under it. */
    if (bpage->was_io_fixed() || bpage->buf_fix_count != 0) {
      ++work;
    } else if (bpage->was_stale()) {
      m_pool->lru_hp.set(prev);
      released = true;
      if (buf_page_free_stale(m_pool, bpage)) {
        ++n_evicted;
        ++m_freed;
        mutex_enter(&m_pool->LRU_list_mutex);
      } else {
        ++work;
      }
    } else if (!bpage->is_dirty()) {
      work += CHUNK_WORK_PAGE;
      if (bpage->zip.data == nullptr) {
        n_evicted += evict(bpage) ? 1 : 0;
      } else {
        m_pool->lru_hp.set(prev);
        released = true;
        n_evicted += evict_compressed(bpage) ? 1 : 0;
      }
    } else if (m_batch.size() < n_write) {
      work += CHUNK_WORK_PAGE;
      latch_for_write(bpage);
    } else {
      ++work;
    }

    if (released) {
      bpage = m_pool->lru_hp.get();
      m_pool->lru_hp.set(nullptr);
    } else {
      bpage = prev;
    }
  }

  if (n_passed > 0) {
    MONITOR_INC_VALUE_CUMULATIVE(MONITOR_LRU_BATCH_SCANNED,
                                 MONITOR_LRU_BATCH_SCANNED_NUM_CALL,
                                 MONITOR_LRU_BATCH_SCANNED_PER_CALL, n_passed);
  }
  return n_evicted;
}

bool Lru_flusher::evict(buf_page_t *bpage) {
  auto *const hash_lock = buf_page_hash_lock_get(m_pool, bpage->id);
  auto *const block_mutex = buf_page_get_mutex(bpage);

  DBUG_EXECUTE_IF("lru_flusher_finds_nothing", return false;);

  rw_lock_x_lock(hash_lock, UT_LOCATION_HERE);
  /* Who completes the last write of a doublewrite batch has it during a flush
  to disk, when the page is clean already. */
  if (mutex_enter_nowait(block_mutex) != 0) {
    rw_lock_x_unlock(hash_lock);
    return false;
  }
  /* A stale page may be ready and dirty; scan() removes those. */
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
  buf_lru_hook_evicting(bpage);
#endif

  /* Releases the hash lock and the mutex of the block. The page cannot be found
  any more, and nobody has a pointer to it: it was not buffer-fixed. */
  const bool has_frame = buf_LRU_block_remove_hashed(bpage, true, false);
  ut_a(has_frame);
  m_evicted.push_back(reinterpret_cast<buf_block_t *>(bpage));
  return true;
}

bool Lru_flusher::evict_compressed(buf_page_t *bpage) {
  auto *const block_mutex = buf_page_get_mutex(bpage);
  const bool has_frame = buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE;

  if (mutex_enter_nowait(block_mutex) != 0) return false;
  if (buf_flush_ready_for_replace(bpage)) {
#ifdef HAVE_LRU_STATS
    const bool freed = buf_lru_hook_evict(bpage);
#else
    const bool freed = buf_LRU_free_page(bpage, true);
#endif
    if (freed) {
      /* All mutexes are released. */
      mutex_enter(&m_pool->LRU_list_mutex);
      if (has_frame) ++m_freed;
      return has_frame;
    }
  }
  mutex_exit(block_mutex);
  return false;
}

void Lru_flusher::latch_for_write(buf_page_t *bpage) {
  auto *const block_mutex = buf_page_get_mutex(bpage);

  DBUG_EXECUTE_IF("lru_flusher_finds_nothing", return;);

  /* Somebody who completes a write has the mutex of the block for the time of
  a flush to disk. */
  if (mutex_enter_nowait(block_mutex) != 0) return;

  const bool uncompressed = buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE;

  /* The conditions are those of buf_flush_page(). */
  if (!buf_flush_ready_for_flush(bpage, BUF_FLUSH_LRU) ||
      bpage->buf_fix_count != 0 ||
      (uncompressed &&
       !rw_lock_sx_lock_nowait(&reinterpret_cast<buf_block_t *>(bpage)->lock,
                               BUF_IO_WRITE, UT_LOCATION_HERE))) {
    mutex_exit(block_mutex);
    return;
  }

  m_pool->change_flush_state(BUF_FLUSH_LRU, [&] {
    buf_page_set_io_fix(bpage, BUF_IO_WRITE);
    buf_page_set_flush_type(bpage, BUF_FLUSH_LRU);
    ++m_pool->n_flush[BUF_FLUSH_LRU];

    if (bpage->get_oldest_lsn() > m_pool->max_lsn_io) {
      m_pool->max_lsn_io = bpage->get_oldest_lsn();
    }

    if (!fsp_is_system_temporary(bpage->id.space()) &&
        m_pool->track_page_lsn != LSN_MAX) {
      const auto *frame = bpage->zip.data != nullptr
                              ? bpage->zip.data
                              : reinterpret_cast<buf_block_t *>(bpage)->frame;
      const lsn_t frame_lsn = mach_read_from_8(frame + FIL_PAGE_LSN);
      arch_page_sys->track_page(bpage, m_pool->track_page_lsn, frame_lsn,
                                false);
    }
  });
  mutex_exit(block_mutex);

  /* From now on the page can neither be moved nor leave the list, as it is
  I/O-fixed and dirty. */
  m_batch.push_back(bpage);
}

void Lru_flusher::write_batch() {
  lsn_t lsn = 0;
  for (const auto *bpage : m_batch)
    lsn = std::max(lsn, bpage->get_newest_lsn());

  /* Once for all pages. The list is in the order of their last use, and so the
  newest change of each is often a little newer than that of the one before:
  page by page, most would need a flush of the log of their own. */
  if (!srv_read_only_mode && log_sys->flushed_to_disk_lsn.load() < lsn) {
    const auto wait_stats = log_write_up_to(*log_sys, lsn, true);
    MONITOR_INC_WAIT_STATS_EX(MONITOR_ON_LOG_, _PAGE_WRITTEN, wait_stats);
  }

  DEBUG_SYNC_C("lru_flusher_batch_latched");
  DBUG_EXECUTE_IF("lru_flusher_sync", {
    static constexpr char action[] =
        "now SIGNAL lru_flusher_latched WAIT_FOR lru_flusher_go_on "
        "TIMEOUT 300";
    ut_a(!debug_sync_set_action(m_thd, STRING_WITH_LEN(action)));
  });
  DBUG_EXECUTE_IF("lru_flusher_crash_before_write", DBUG_SUICIDE(););

  for (auto *bpage : m_batch) {
    if (auto *observer = bpage->get_flush_observer(); observer != nullptr) {
      observer->notify_flush(m_pool, bpage);
    }
    buf_flush_write_block_low(bpage, BUF_FLUSH_LRU, false);
    DBUG_EXECUTE_IF("lru_flusher_crash_in_batch", {
      if (bpage == m_batch[m_batch.size() / 2]) DBUG_SUICIDE();
    });
  }
  m_batch.clear();
}

void Lru_flusher::free_evicted() {
  if (m_evicted.empty()) return;
  m_freed += m_evicted.size();

  for (auto *block : m_evicted) {
    UNIV_MEM_VALID(block->frame, UNIV_PAGE_SIZE);
    btr_search_drop_page_hash_index(block, true);
    UNIV_MEM_INVALID(block->frame, UNIV_PAGE_SIZE);
    buf_block_set_state(block, BUF_BLOCK_MEMORY);
  }

  if (buf_get_withdraw_depth(m_pool) > 0) {
    /* The pool is being shrunk; upstream knows which frames are to go. */
    for (auto *block : m_evicted) buf_LRU_block_free_non_file_page(block);
    m_evicted.clear();
    return;
  }

  for (auto *block : m_evicted) {
    /* What buf_LRU_block_free_non_file_page() does. */
    block->ahi.assert_empty();
    ut_ad(!block->page.in_free_list);
    ut_ad(!block->page.in_flush_list);
    ut_ad(!block->page.in_LRU_list);
    ut_ad(block->page.zip.data == nullptr);
#ifdef UNIV_DEBUG
    memset(block->frame, '\0', UNIV_PAGE_SIZE);
#else
    memset(block->frame + FIL_PAGE_OFFSET, 0xfe, 4);
    memset(block->frame + FIL_PAGE_ARCH_LOG_NO_OR_SPACE_ID, 0xfe, 4);
#endif
    UNIV_MEM_ASSERT_AND_FREE(block->frame, UNIV_PAGE_SIZE);
    buf_page_prepare_for_free(&block->page);
    buf_block_set_state(block, BUF_BLOCK_NOT_USED);
  }

  if (m_n_waiters.load() > 0) {
    mysql_mutex_lock(&m_mutex);
    while (!m_waiters.empty() && !m_evicted.empty()) {
      auto *const block = m_evicted.back();
      m_evicted.pop_back();
      /* As buf_LRU_get_free_only() gives it. */
      buf_block_set_state(block, BUF_BLOCK_READY_FOR_USE);
      UNIV_MEM_ALLOC(block->frame, UNIV_PAGE_SIZE);
      give(block);
    }
    mysql_mutex_unlock(&m_mutex);
  }

  if (!m_evicted.empty()) {
    mutex_enter(&m_pool->free_list_mutex);
    for (auto *block : m_evicted) {
      UT_LIST_ADD_FIRST(m_pool->free, &block->page);
      ut_d(block->page.in_free_list = true);
      ut_ad(!block->page.someone_has_io_responsibility());
    }
    mutex_exit(&m_pool->free_list_mutex);
    m_evicted.clear();
  }
}

void Lru_flusher::give(buf_block_t *block) {
  auto *const waiter = m_waiters.front();
  m_waiters.pop_front();
  m_n_waiters.store(m_waiters.size());
  waiter->block = block;
  waiter->done = true;
  mysql_cond_signal(&waiter->cond);
}

void Lru_flusher::serve_waiters() {
  if (m_n_waiters.load() == 0) return;

  mysql_mutex_lock(&m_mutex);
  while (!m_waiters.empty()) {
    auto *const block = buf_LRU_get_free_only(m_pool);
    if (block == nullptr) break;
    give(block);
  }
  mysql_mutex_unlock(&m_mutex);
}

void Lru_flusher::dismiss_waiters() {
  mysql_mutex_lock(&m_mutex);
  for (auto *waiter : m_waiters) {
    waiter->done = true;
    mysql_cond_signal(&waiter->cond);
  }
  m_waiters.clear();
  m_n_waiters.store(0);
  mysql_mutex_unlock(&m_mutex);
}

}  // namespace

void buf_lru_flusher_start() {
  ut_a(flushers.load() == nullptr);
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
  for (auto &flusher : *all) flusher->stop();
  for (auto &flusher : *all) flusher->join();
  /* As if the page cleaner had ended its last batch. */
  buf_flush_await_no_flushing(nullptr, BUF_FLUSH_LRU);
}

void buf_lru_flusher_free() { delete flushers.exchange(nullptr); }

void buf_lru_flusher_scan_depth_set() { scan_depth_is_set.store(true); }

void buf_lru_flusher_update() {
  auto *const all = flushers.load(std::memory_order_acquire);
  if (all == nullptr) return;
  for (auto &flusher : *all) flusher->update();
}

bool buf_lru_flusher_serves(const buf_pool_t *buf_pool) {
  const auto *flusher = flusher_of(buf_pool);
  return flusher != nullptr && flusher->serves();
}

buf_block_t *buf_lru_flusher_get_low(buf_pool_t *buf_pool, buf_block_t *block,
                                     bool &waited) {
  auto *const flusher = flusher_of(buf_pool);
  if (flusher == nullptr) return block;
  if (block != nullptr) {
    flusher->taken();
    return block;
  }
  if (waited) return nullptr;
  waited = true;
  return flusher->wait();
}

void buf_lru_flusher_written(buf_pool_t *buf_pool) {
  if (auto *flusher = flusher_of(buf_pool); flusher != nullptr) {
    flusher->written();
  }
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
