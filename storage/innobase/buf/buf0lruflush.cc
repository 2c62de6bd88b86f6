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
 What the upstream code sees of the LRU flusher, its instruments, settings and
 status. buf0lruflusher.h describes the parts of the flusher. */

#include "buf0lruflush.h"

#ifdef UNIV_LINUX
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mysql/components/services/system_variable_source.h>

#include "buf0buf.h"
#include "buf0dblwr.h"
#include "buf0flu.h"
#include "buf0lruflusher.h"
#include "log0files_capacity.h"
#include "log0log.h"
#include "my_dbug.h"
#include "mysql/components/services/log_builtins.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/status_var.h"
#include "os0thread-create.h"
#include "sql_thd_internal_api.h"
#include "srv0srv.h"
#include "srv0start.h"

extern SERVICE_TYPE(system_variable_source) * sysvar_source_svc;

bool srv_lru_flusher = true;
ulong srv_lru_flusher_free_pages = 0;

#ifdef UNIV_PFS_THREAD
PSI_thread_key Lru_flusher::lru_evict_thread_key;
PSI_thread_key Lru_flusher::lru_write_thread_key;
#endif
PSI_mutex_key Lru_flusher::lru_flusher_mutex_key;
PSI_cond_key Lru_flusher::lru_flusher_cond_key;
PSI_cond_key Lru_flusher::lru_flusher_free_page_cond_key;
PSI_stage_info Lru_flusher::stage_evicting{0, "LRU flusher evicting pages", 0,
                                           PSI_DOCUMENT_ME};
PSI_stage_info Lru_flusher::stage_waiting{0, "LRU flusher waiting for progress",
                                          0, PSI_DOCUMENT_ME};
PSI_stage_info Lru_flusher::stage_log{0, "LRU flusher waiting for the redo log",
                                      0, PSI_DOCUMENT_ME};
PSI_stage_info Lru_flusher::stage_doublewrite{
    0, "LRU flusher waiting for the doublewrite", 0, PSI_DOCUMENT_ME};
PSI_stage_info Lru_flusher::stage_flushing{0, "LRU flusher writing pages", 0,
                                           PSI_DOCUMENT_ME};

void Lru_flusher::register_instruments() {
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

namespace {

#ifdef UNIV_LINUX
/** As in buf0flu.cc; without the privilege it has no effect. */
constexpr int THREAD_PRIORITY = -20;
#endif

/** Whether anybody has set innodb_lru_scan_depth. The flushers do not ask the
server for that: its answer takes LOCK_system_variables_hash, and INSTALL PLUGIN
holds this lock while it reads pages, which wait for a flusher. */
std::atomic<bool> scan_depth_is_set{false};

/** To be called before there are flushers.
@return true if the command line or an option file set innodb_lru_scan_depth */
bool scan_depth_is_given() {
  static constexpr char name[] = "innodb_lru_scan_depth";
  enum enum_variable_source source;
  return sysvar_source_svc != nullptr &&
         !sysvar_source_svc->get(name, sizeof(name) - 1, &source) &&
         source != COMPILED;
}

/** Writes to the error log, once, that the two settings for the rate of page
writes contradict each other. Called now and then by one thread, because
persisted variables are set after InnoDB has started. */
void note_contradiction() {
  static bool noted = false;
  if (noted || !buf_lru_flusher_is_on() || !scan_depth_is_set.load()) return;
  const auto scan_depth = buf_lru_flusher_setting(srv_LRU_scan_depth);
  const auto io_capacity = buf_lru_flusher_setting(srv_io_capacity);
  const auto lru = scan_depth * srv_buf_pool_instances;
  if (lru >= io_capacity / 2 && lru / 2 <= io_capacity) return;

  noted = true;
  LogErr(INFORMATION_LEVEL, ER_LOG_PRINTF_MSG,
         ("innodb_lru_scan_depth=" + std::to_string(scan_depth) +
          " in each of " + std::to_string(srv_buf_pool_instances) +
          " buffer pool instances and innodb_io_capacity=" +
          std::to_string(io_capacity) +
          " for the server ask for different rates of page writes. The first "
          "is what the LRU flusher goes by. Leave innodb_lru_scan_depth unset "
          "to have it follow innodb_io_capacity.")
             .c_str());
}

using Flushers = std::vector<std::unique_ptr<Lru_flusher>>;

/** One for each instance. Not destroyed by exit(), as threads may be left when
a start has failed. */
std::atomic<Flushers *> flushers{nullptr};

Lru_flusher *flusher_of(const buf_pool_t *buf_pool) {
  auto *const all = flushers.load(std::memory_order_acquire);
  return all != nullptr ? (*all)[buf_pool->instance_no].get() : nullptr;
}

}  // namespace

Lru_flusher::Thread_context::Thread_context() : m_thd(create_internal_thd()) {
#ifdef UNIV_LINUX
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
              THREAD_PRIORITY);
#endif
}

Lru_flusher::Thread_context::~Thread_context() { destroy_internal_thd(m_thd); }

size_t Lru_flusher::depth() {
  const auto now = Clock::now();
  if (now - m_depth_checked > std::chrono::seconds{1}) {
    m_depth_checked = now;
    if (m_pool->instance_no == 0) note_contradiction();
    m_depth =
        DBUG_EVALUATE_IF("mutate_lru_flusher_asks_server",
                         scan_depth_is_given(), scan_depth_is_set.load())
            ? buf_lru_flusher_setting(srv_LRU_scan_depth)
            : buf_lru_flusher_setting(srv_io_capacity) / srv_buf_pool_instances;
  }
  return m_depth;
}

void buf_lru_flusher_start() {
  ut_a(flushers.load() == nullptr);
  /* The page cleaner gets here, too, if the start of the server has failed. */
  if (srv_shutdown_state.load() >= SRV_SHUTDOWN_CLEANUP &&
      !DBUG_EVALUATE_IF("mutate_lru_flusher_starts_in_vain", true, false)) {
    return;
  }
  DBUG_EXECUTE_IF("lru_flusher_log_start", ib::info()
                                               << "The LRU flusher starts";);
  Lru_flusher::register_instruments();
  /* Not to false: a persisted value may have been set meanwhile. */
  if (scan_depth_is_given()) scan_depth_is_set.store(true);
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

namespace {

/** @return true if the flusher is on and there; in a recovery it is not */
bool runs() {
  return buf_lru_flusher_is_on() &&
         (flushers.load(std::memory_order_relaxed) != nullptr ||
          DBUG_EVALUATE_IF("mutate_lru_flusher_ends_in_recovery", true, false));
}

}  // namespace

bool buf_lru_flusher_ends_batches() {
  DBUG_EXECUTE_IF("mutate_lru_flusher_sync_under_mutex", return false;);
  return runs();
}

bool buf_lru_flusher_serves(const buf_pool_t *buf_pool) {
  const auto *flusher = flusher_of(buf_pool);
  return flusher != nullptr && flusher->serves();
}

void buf_lru_flusher_await_writes() {
  if (runs() &&
      DBUG_EVALUATE_IF("mutate_lru_flusher_awaits_writes", false, true)) {
    return;
  }
  os_aio_wait_until_no_pending_writes();
  while (DBUG_EVALUATE_IF("lru_flusher_always_writes", true, false)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
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

std::atomic<size_t> *buf_lru_flusher_held(const buf_pool_t *buf_pool) {
  auto *const flusher = flusher_of(buf_pool);
  return flusher != nullptr ? flusher->held() : nullptr;
}

void buf_lru_flusher_written(buf_pool_t *buf_pool) {
  /* Upstream's page cleaner itself says when a search is worthwhile. */
  if (!buf_lru_flusher_is_on() &&
      !DBUG_EVALUATE_IF("mutate_lru_flusher_written_if_off", true, false)) {
    return;
  }
  if (auto *flusher = flusher_of(buf_pool); flusher != nullptr) {
    flusher->written();
  }
}

#ifdef UNIV_DEBUG
namespace {

std::atomic<bool> batches_are_awaited{false};

/** At a shutdown, holds up the end of the last batch until it is waited for.
@return true if it was */
bool sync_late() {
  if (srv_shutdown_state.load() < SRV_SHUTDOWN_CLEANUP) return false;
  while (!batches_are_awaited.load()) {
    for (ulint i = 0; i < srv_buf_pool_instances; ++i) {
      const auto *const buf_pool = buf_pool_from_array(i);
      for (const auto n : buf_pool->n_flush) {
        /* Not the last one. */
        if (n > 0) return false;
      }
    }
    ut_a(srv_shutdown_state.load() < SRV_SHUTDOWN_LAST_PHASE);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace

void buf_lru_flusher_before_sync(bool lru) {
  while (lru && DBUG_EVALUATE_IF("lru_flusher_sync_hangs", true, false)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  DBUG_EXECUTE_IF("lru_flusher_sync_slow_in_recovery", {
    if (recv_recovery_is_on()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
    }
  });
  DBUG_EXECUTE_IF("lru_flusher_sync_late", {
    if (sync_late()) {
      ib::info() << "The end of a batch was waited for at shutdown "
                 << srv_fast_shutdown;
    }
  });
}
#endif

void buf_lru_flusher_await_batches() {
  DBUG_EXECUTE_IF("mutate_lru_flusher_leaves_batches", return;);
  ut_d(batches_are_awaited.store(true));
  while (dblwr::n_batches() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

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

/** Rounds in which the page cleaner has left dirty pages to the flusher. */
std::atomic<uint64_t> n_preflush_left{0};

/** The sums of all instances. */
struct Sums {
  uint64_t pages_evicted{};
  uint64_t pages_flushed{};
  uint64_t preflush_left{n_preflush_left};
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

ulint buf_lru_flusher_preflush(ulint n_pages, ulint pages_for_lsn, lsn_t age,
                               bool is_old) {
  /* The default of innodb_max_dirty_pages_pct_lwm. */
  constexpr double DEFAULT_LWM = 10;
  /* Only one thread calls this function. */
  static Lru_preflush_policy policy;

  ulint lru, free, dirty;
  buf_get_total_list_len(&lru, &free, &dirty);
  lsn_t limit_for_free_check;
  lsn_t limit;
  log_files_capacity_get_limits(*log_sys, limit_for_free_check, limit);
  const std::chrono::duration<double> now =
      std::chrono::steady_clock::now().time_since_epoch();

  Lru_preflush_policy::State state;
  state.now = now.count();
  state.evicted = sums().pages_evicted;
  state.for_lsn = pages_for_lsn;
  state.age = static_cast<double>(age) / static_cast<double>(limit);
  state.is_old = is_old;
  state.dirty = dirty;
  state.most_dirty = static_cast<size_t>(srv_max_buf_pool_modified_pct / 100 *
                                         static_cast<double>(lru + free));
  DBUG_EXECUTE_IF("mutate_lru_flusher_preflush_cached", state.for_lsn = 0;);
  DBUG_EXECUTE_IF("mutate_lru_flusher_preflush_age", state.is_old = false;);
  DBUG_EXECUTE_IF("mutate_lru_flusher_preflush_dirty", state.dirty = 0;);
  const auto n = policy.pages(state);

  /* With one of the last two off, nothing else advances a checkpoint that is
  waited for. */
  bool obeys = (srv_max_dirty_pages_pct_lwm != 0 &&
                srv_max_dirty_pages_pct_lwm != DEFAULT_LWM) ||
               !srv_adaptive_flushing || !srv_flush_sync;
  DBUG_EXECUTE_IF("mutate_lru_flusher_preflush_lwm", obeys = false;);
  if (!n.has_value() || obeys || !buf_lru_flusher_is_on() ||
      DBUG_EVALUATE_IF("mutate_lru_flusher_preflush", true, false)) {
    return n_pages;
  }
  n_preflush_left.fetch_add(1, std::memory_order_relaxed);
  return *n;
}

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
          buf_lru_flusher_is_on() ? "On" : "Off", n.pages_evicted,
          n.pages_flushed, n.rounds, n.wakeups, n.free_waits,
          n.free_wait_failures, n.free_wait_usec, n.free_wait_max_usec);
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
DEFINE_SHOW(preflush_left)
DEFINE_SHOW(rounds)
DEFINE_SHOW(wakeups)
DEFINE_SHOW(free_waits)
DEFINE_SHOW(free_wait_usec)
DEFINE_SHOW(free_wait_max_usec)
DEFINE_SHOW(free_wait_failures)
#undef DEFINE_SHOW
