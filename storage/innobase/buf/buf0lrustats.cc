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

/** @file buf/buf0lrustats.cc
 Counts what happens in the LRU list of each buffer pool instance, where
 upstream does not, and gives it to the plugin lru_stats. buf0lruindex.cc counts
 by index, and buf0lrutrace.cc records sampled pages; the hooks here call both.

 Writers: the hooks of buf0lruhook.h, with atomic additions. Some run under
 the LRU list mutex, some without; which one does not matter, as no two counters
 are promised to agree at every moment. Readers: only the
 functions of innodb_lru_stats_interface_t, under reader_mutex, which no hook
 takes. */

#include "buf0lrustats.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "buf0buf.h"
#include "buf0flu.h"
#include "buf0lru.h"
#include "buf0lrucount.h"
#include "buf0lruindex.h"
#include "buf0lrutrace.h"
#if __has_include("buf0lruturnover.h")
#include "buf0lruturnover.h"
#endif
#include "ibuf0ibuf.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "my_systime.h"
#include "sql/mysqld.h"
#include "srv0shutdown.h"
#include "srv0srv.h"
#include "ut0counter.h"

#if defined(__linux__) && defined(__x86_64__)
/* buf_page_t must not grow, as there is one for every page of the pool. These
are its sizes without the bytes of Buf_lru_history, which are padding there. */
#ifdef UNIV_DEBUG
static_assert(sizeof(buf_page_t) == 168, "buf_page_t has grown");
#else
static_assert(sizeof(buf_page_t) == 136, "buf_page_t has grown");
#endif
#endif

namespace {

using Counter_t = std::atomic<uint64_t>;

/** What the hooks count for one buffer pool instance. Two instances share no
cache line. Nor do counters of threads that hold the LRU list mutex share one
with counters of other threads. The names are those of innodb_lru_stats_t. */
struct alignas(ut::INNODB_CACHE_LINE_SIZE) Lru_counters {
  /* By threads that hold the LRU list mutex. */
  Counter_t young_to_head;
  Counter_t young_to_old;
  Counter_t evicted_old;
  Counter_t evicted_old_never_young;
  Counter_t evicted_old_accessed_once;
  Counter_t evicted_young;
  Counter_t ra_evicted;

  /** What uncounted_accesses() was when freed_page_clock left 0. */
  Counter_t accesses_at_first_removal;

  /* By threads that have only fixed a page. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) Counter_t not_made_young_first;

  /* By threads that make free pages, or need one. */
  alignas(ut::INNODB_CACHE_LINE_SIZE) Counter_t flushed_cleaner;
  Counter_t flushed_user;
  Counter_t user_scans;
  Counter_t user_scanned;
  Counter_t free_waits;
  Counter_t free_wait_usec;
  Counter_t free_wait_max_usec;

  /** Longest wait since the last reset. A maximum cannot be had by subtraction,
  so there are two. */
  Counter_t free_wait_max_usec_since_reset;
};

/** Indexed by buf_pool_index(). Static: counting starts with the server, and
reading needs no check whether there is something to read. */
Lru_counters counters[MAX_BUFFER_POOLS];

/** Protects everything below. Held for a few microseconds by a thread that
reads or resets, which holds no InnoDB latch and takes none meanwhile. */
std::mutex reader_mutex;

/** The counters at the last reset; zero if there was none. */
innodb_lru_stats_t reset_base[MAX_BUFFER_POOLS];

/** When that was, in microseconds since 1970 UTC; 0 if there was none. */
int64_t reset_time_usec;

/** The largest values shown so far of two counters which come from sources
that are not exact, and would decrease at times. */
struct Shown {
  uint64_t not_made_young_time;
  uint64_t not_made_young_not_old;
} shown[MAX_BUFFER_POOLS];

/** The members of innodb_lru_stats_t that count, so that "since the reset" is
a subtraction. Not the gauges, nor the maximum. */
constexpr uint64_t innodb_lru_stats_t::*counting_members[] = {
    &innodb_lru_stats_t::made_young,
    &innodb_lru_stats_t::not_made_young_time,
    &innodb_lru_stats_t::not_made_young_first,
    &innodb_lru_stats_t::not_made_young_not_old,
    &innodb_lru_stats_t::young_to_head,
    &innodb_lru_stats_t::young_to_old,
    &innodb_lru_stats_t::evicted_old,
    &innodb_lru_stats_t::evicted_old_never_young,
    &innodb_lru_stats_t::evicted_old_accessed_once,
    &innodb_lru_stats_t::evicted_young,
    &innodb_lru_stats_t::ra_evicted,
    &innodb_lru_stats_t::flushed_cleaner,
    &innodb_lru_stats_t::flushed_user,
    &innodb_lru_stats_t::user_scans,
    &innodb_lru_stats_t::user_scanned,
    &innodb_lru_stats_t::free_waits,
    &innodb_lru_stats_t::free_wait_usec,
};

static_assert(sizeof(innodb_lru_stats_t) ==
                  sizeof(uint64_t) * (std::size(counting_members) + 4 + 1),
              "a member is neither gauge nor in counting_members nor maximum");

/** Set while this thread writes a page because it needs a free one, to tell
the eviction that follows from those after a DDL's writes: both are of type
BUF_FLUSH_SINGLE_PAGE, and are completed by the thread that started them. */
thread_local bool flushing_for_free_page = false;

/** Set while this thread evicts a page, to tell that page from others that
leave the list. The trace uses it; it is reset when the page leaves. */
struct Evicting {
  bool page{false};
  /** Number of its index, 0 if indexes are not counted. */
  uint16_t index{0};
};
thread_local Evicting evicting;

Lru_counters &counters_of(const buf_pool_t *buf_pool) {
  return counters[buf_pool_index(buf_pool)];
}

/* Release and acquire, so that a thread that reads a part before its whole (see
read_since_start()) never sees more of the part than of the whole. */

void add(Counter_t &counter, uint64_t n = 1) {
  counter.fetch_add(n, std::memory_order_release);
}

uint64_t get(const Counter_t &counter) {
  return counter.load(std::memory_order_acquire);
}

void set(Counter_t &counter, uint64_t value) {
  counter.store(value, std::memory_order_release);
}

void raise_to(Counter_t &maximum, uint64_t value) {
  auto seen = get(maximum);
  while (seen < value && !maximum.compare_exchange_weak(
                             seen, value, std::memory_order_acq_rel)) {
  }
}

/** The page accesses of an instance that no other counter, ours or upstream's,
tells apart. Upstream counts every page get already, so the accesses to
young pages, which are the hot path, need not be counted a second time.
May wrap around; only differences mean something.
@param[in]  buf_pool  buffer pool instance
@return number of page gets less those that moved their page, or did not because
of innodb_old_blocks_time */
uint64_t uncounted_accesses(const buf_pool_t *buf_pool) {
  const auto &stat = buf_pool->stat;
  const auto &c = counters_of(buf_pool);
  /* The minuend first: then an access in between is missing for a moment. In
  the other order, one too many would be shown. */
  const auto gets = Counter::total(stat.m_n_page_gets);
  /* As in read_since_start(): what upstream has lost there is not shown here.
   */
  const auto not_made_young =
      std::max<uint64_t>(stat.n_pages_not_made_young,
                         DBUG_EVALUATE_IF("mutate_lru_time_twice", 0,
                                          get(c.not_made_young_first)));
  return gets - stat.n_pages_made_young - not_made_young - get(c.young_to_head);
}

/** Computes innodb_lru_stats_t::not_made_young_not_old.
Besides the accesses to young pages, it contains those that never move a page:
parallel scans (Page_fetch::SCAN), probes (PEEK_IF_IN_POOL), lookups that
returned no page, and gets that were begun before the first eviction.
@param[in]  buf_pool  buffer pool instance
@return the counter; 0 before the first eviction */
uint64_t buf_lru_stats_not_old(const buf_pool_t *buf_pool) {
  if (buf_pool->freed_page_clock == 0) return 0;
  const auto n = static_cast<int64_t>(
      uncounted_accesses(buf_pool) -
      get(counters_of(buf_pool).accesses_at_first_removal));
  return std::max<int64_t>(n, 0);
}

/** Reads an instance. The caller holds reader_mutex.
@param[in]   i    number of the instance
@param[out]  row  its gauges, and its counters since the start of the server */
void read_since_start(uint32_t i, innodb_lru_stats_t &row) {
  const auto buf_pool = buf_pool_from_array(i);
  const auto &c = counters[i];

  row.lru_len = UT_LIST_GET_LEN(buf_pool->LRU);
  row.old_len = buf_pool->LRU_old_len;
  row.free_len = UT_LIST_GET_LEN(buf_pool->free);
  row.flush_list_len = UT_LIST_GET_LEN(buf_pool->flush_list);

  /* A part is read before the whole, and the maximum before the sum, so that a
  reader does not see more of the part. */
  row.not_made_young_first = get(c.not_made_young_first);
  row.evicted_old_accessed_once = get(c.evicted_old_accessed_once);
  row.evicted_old_never_young = get(c.evicted_old_never_young);
  row.ra_evicted = get(c.ra_evicted);
  row.free_wait_max_usec = get(c.free_wait_max_usec);
  DEBUG_SYNC_C("lru_stats_reads_wholes");

  row.made_young = buf_pool->stat.n_pages_made_young;
  /* Upstream increments it without protection, and may lose what is counted as
  first accesses. */
  row.not_made_young_time = shown[i].not_made_young_time = std::max<uint64_t>(
      {shown[i].not_made_young_time, buf_pool->stat.n_pages_not_made_young,
       DBUG_EVALUATE_IF("mutate_lru_time_lost", 0, row.not_made_young_first)});
  row.not_made_young_not_old = shown[i].not_made_young_not_old = std::max(
      shown[i].not_made_young_not_old, buf_lru_stats_not_old(buf_pool));
  row.young_to_head = get(c.young_to_head);
  row.young_to_old = get(c.young_to_old);
  row.evicted_old = get(c.evicted_old);
  row.evicted_young = get(c.evicted_young);
  row.flushed_cleaner = get(c.flushed_cleaner);
  row.flushed_user = get(c.flushed_user);
  row.user_scans = get(c.user_scans);
  row.user_scanned = get(c.user_scanned);
  row.free_waits = get(c.free_waits);
  row.free_wait_usec = get(c.free_wait_usec);
}

/** Limits parts to their wholes: the base has read a part before the whole,
too, so the difference to it may have more of the part.
@param[in,out]  row  an instance, since the reset */
void limit_parts(innodb_lru_stats_t &row) {
  DBUG_EXECUTE_IF("mutate_lru_reset_parts", return;);
  const auto limit = [](uint64_t &part, uint64_t whole) {
    part = std::min(part, whole);
  };
  limit(row.not_made_young_first, row.not_made_young_time);
  limit(row.evicted_old_never_young, row.evicted_old);
  limit(row.evicted_old_accessed_once, row.evicted_old_never_young);
  limit(row.ra_evicted, row.evicted_old + row.evicted_young);
  limit(row.free_wait_max_usec, row.free_wait_usec);
}

uint32_t lru_stats_instances() {
  return buf_pool_ptr == nullptr
             ? 0
             : static_cast<uint32_t>(srv_buf_pool_instances);
}

uint32_t lru_stats_read(innodb_lru_stats_base_t base, innodb_lru_stats_t *rows,
                        uint32_t n_rows, int64_t *since_usec) {
  const auto n = std::min(n_rows, lru_stats_instances());
  const std::lock_guard<std::mutex> guard(reader_mutex);

  *since_usec = base == INNODB_LRU_STATS_SINCE_RESET && reset_time_usec != 0
                    ? reset_time_usec
                    : static_cast<int64_t>(server_start_time) * 1000000;

  for (uint32_t i = 0; i < n; ++i) {
    read_since_start(i, rows[i]);
    if (base != INNODB_LRU_STATS_SINCE_RESET) continue;

    for (const auto member : counting_members) {
      rows[i].*member -= reset_base[i].*member;
    }
    rows[i].free_wait_max_usec =
        get(counters[i].free_wait_max_usec_since_reset);
    limit_parts(rows[i]);
  }
  return n;
}

void lru_stats_reset() {
  const auto n = lru_stats_instances();
  const std::lock_guard<std::mutex> guard(reader_mutex);

  reset_time_usec = static_cast<int64_t>(my_micro_time());
  for (uint32_t i = 0; i < n; ++i) {
    read_since_start(i, reset_base[i]);
    set(counters[i].free_wait_max_usec_since_reset, 0);
  }
}

/** With the patch ibuf_empty, a read does not look at the bitmap page while the
change buffer is empty; without the patch there is no n_inserting.
@param[in]  i  change buffer
@return innodb_lru_pool_t::gets_of_a_read */
template <typename Ibuf>
uint32_t gets_of_a_read(const Ibuf *i) {
  if constexpr (requires { i->n_inserting; }) {
    return i != nullptr && i->empty.load() ? 0 : 1;
  } else {
    return 1;
  }
}

void lru_stats_pool(innodb_lru_pool_t *pool) {
  *pool = {};
  /* The plugin's thread may outlive the pool for a moment. */
  if (srv_shutdown_state.load() >= SRV_SHUTDOWN_CLEANUP) return;
  pool->size = buf_pool_get_curr_size();
  for (uint32_t i = 0; i < lru_stats_instances(); ++i) {
    const auto buf_pool = buf_pool_from_array(i);
    pool->curr_pages += buf_pool->curr_size;
    pool->lru_pages += UT_LIST_GET_LEN(buf_pool->LRU);
    pool->free_pages += UT_LIST_GET_LEN(buf_pool->free);
    pool->reads += buf_pool->stat.n_pages_read;
    pool->gets += Counter::total(buf_pool->stat.m_n_page_gets);
    /* Converted back from 1024ths, as buf_LRU_old_ratio_update() rounds. */
    pool->old_blocks_pct = static_cast<uint32_t>(
        (buf_pool->LRU_old_ratio * 100 + BUF_LRU_OLD_RATIO_DIV / 2) /
        BUF_LRU_OLD_RATIO_DIV);
  }
  /* Not get_buf_LRU_old_threshold(), which innodb_old_blocks_turnover may make
  shorter all the time. */
  pool->old_blocks_time_ms = buf_LRU_old_threshold;
#if __has_include("buf0lruturnover.h")
  static_assert(INNODB_LRU_TURNOVER_TIME_MS == BUF_LRU_OLD_TIME_DEFAULT);
  pool->old_blocks_turnover = srv_old_blocks_turnover;
#endif
  pool->gets_of_a_read =
      DBUG_EVALUATE_IF("mutate_lru_no_bitmap", 0, gets_of_a_read(ibuf));
}

/** What has to be noted of a page before it is gone. */
class Eviction {
 public:
  /** @param[in]  bpage  page; the caller holds the LRU list mutex, so the page
  cannot change its part of the list before it is evicted */
  explicit Eviction(const buf_page_t *bpage)
      : m_counters(counters_of(buf_pool_from_bpage(bpage))),
        m_old(bpage->old),
        m_accessed(buf_page_is_accessed(bpage) !=
                   std::chrono::steady_clock::time_point{}),
        m_was_young(bpage->lru_history.was_young()),
        m_accessed_again(bpage->lru_history.accessed_again()),
        m_pool_id(bpage->buf_pool_index),
        m_index(buf_lru_index_on.load(std::memory_order_relaxed)
                    ? buf_lru_index_of(bpage, false)
                    : 0) {
    evicting = {true, m_index};
  }

  /** Counts it. In the reverse order of read_since_start(). */
  void count() const {
    if (m_old) {
      add(m_counters.evicted_old);
      if (!m_was_young) {
        add(m_counters.evicted_old_never_young);
        if (m_accessed && !m_accessed_again) {
          add(m_counters.evicted_old_accessed_once);
        }
      }
    } else {
      add(m_counters.evicted_young);
    }
    if (!m_accessed) add(m_counters.ra_evicted);

    buf_lru_index_count(m_index, m_pool_id,
                        m_old ? Lru_index_counter::evicted_old
                              : Lru_index_counter::evicted_young);
    if (!m_accessed) {
      buf_lru_index_count(m_index, m_pool_id,
                          Lru_index_counter::evicted_untouched);
    }
  }

 private:
  Lru_counters &m_counters;
  const bool m_old;
  const bool m_accessed;
  const bool m_was_young;
  const bool m_accessed_again;
  const uint32_t m_pool_id;
  const uint16_t m_index;
};

}  // namespace

const innodb_lru_stats_interface_t *innodb_lru_stats_interface_v6() {
  static const innodb_lru_stats_interface_t functions = {
      INNODB_LRU_STATS_VERSION, sizeof(innodb_lru_stats_t),
      lru_stats_instances,      lru_stats_read,
      lru_stats_reset,          lru_stats_pool,
      buf_lru_trace_set,        buf_lru_trace_drain,
      buf_lru_index_set,        buf_lru_index_reread,
      buf_lru_index_read,       buf_lru_index_reclaim};
  return &functions;
}

/* Each hook can be left out, to see that a test notices: the keywords are those
of the file `mutations` of the suite lru_stats. */
#define LEFT_OUT(KEYWORD) DBUG_EVALUATE_IF(KEYWORD, true, false)

void buf_lru_hook_added(buf_page_t *bpage, bool old) {
  ut_ad(mutex_own(&buf_pool_from_bpage(bpage)->LRU_list_mutex));
  if (LEFT_OUT("mutate_lru_added")) return;

  if (!buf_lru_trace_on()) return;
  const auto page = buf_lru_trace_page(bpage->id);
  if (!buf_lru_trace_takes(page)) return;

  bpage->lru_history.set_sampled(true);
  buf_lru_trace(old ? INNODB_LRU_EVENT_READ : INNODB_LRU_EVENT_CREATE, page,
                bpage->buf_pool_index);
}

void buf_lru_hook_created(const buf_page_t *bpage) {
  ut_ad(bpage->buf_fix_count > 0);
  if (LEFT_OUT("mutate_lru_created")) return;

  bpage->lru_history.set_index(Buf_lru_history::NEW);
}

void buf_lru_hook_accessed(const buf_page_t *bpage) {
  if (LEFT_OUT("mutate_lru_accessed")) return;

  const auto page = buf_lru_trace_page(bpage->id);
  if (!buf_lru_trace_takes(page)) {
    /* The threshold was lowered since. */
    bpage->lru_history.set_sampled(false);
    return;
  }
  /* A page of an index root may be accessed a million times a second. Where it
  is young, or nothing was ever evicted, one access in 16 ms tells as much. */
  const bool once_a_tick =
      !bpage->old || buf_pool_from_bpage(bpage)->freed_page_clock == 0;
  if (once_a_tick &&
      bpage->lru_history.note_tick(buf_lru_trace_now_ms() / 16)) {
    return;
  }
  buf_lru_trace(INNODB_LRU_EVENT_ACCESS, page, bpage->buf_pool_index);
}

void buf_lru_hook_read(const buf_page_t *bpage, bool ahead) {
  if (LEFT_OUT("mutate_lru_read")) return;
  if (const auto page = buf_lru_trace_page(bpage->id);
      !ahead && bpage->lru_history.sampled() && buf_lru_trace_takes(page) &&
      !LEFT_OUT("mutate_lru_awaited")) {
    buf_lru_trace(INNODB_LRU_EVENT_AWAITED, page, bpage->buf_pool_index);
  }
  if (!buf_lru_index_on.load(std::memory_order_relaxed)) return;

  const auto index = buf_lru_index_of_read(bpage);
  const auto pool_id = bpage->buf_pool_index;
  buf_lru_index_count(index, pool_id, Lru_index_counter::read);
  buf_lru_index_count(index, pool_id, Lru_index_counter::read_bytes,
                      bpage->size.physical());
  if (ahead) buf_lru_index_count(index, pool_id, Lru_index_counter::read_ahead);

  /* A thread that sees the page without BUF_IO_READ, see buf_lru_index_of(),
  also sees what was read. */
  std::atomic_thread_fence(std::memory_order_release);
}

void buf_lru_hook_not_made_young(const buf_page_t *bpage) {
  if (LEFT_OUT("mutate_lru_not_made_young")) return;
  if (bpage->lru_history.note_access()) {
    add(counters_of(buf_pool_from_bpage(bpage)).not_made_young_first,
        DBUG_EVALUATE_IF("lru_stats_time_lost", 1000000, 1));
  }
  if (buf_lru_index_on.load(std::memory_order_relaxed)) {
    buf_lru_index_count(buf_lru_index_of(bpage, true), bpage->buf_pool_index,
                        Lru_index_counter::not_made_young);
  }
}

void buf_lru_hook_make_young(buf_page_t *bpage) {
  ut_ad(mutex_own(&buf_pool_from_bpage(bpage)->LRU_list_mutex));
  if (LEFT_OUT("mutate_lru_make_young")) return;

  if (!bpage->old) {
    add(counters_of(buf_pool_from_bpage(bpage)).young_to_head);
    return;
  }
  bpage->lru_history.note_young();

  if (buf_lru_index_on.load(std::memory_order_relaxed)) {
    buf_lru_index_count(buf_lru_index_of(bpage, true), bpage->buf_pool_index,
                        Lru_index_counter::made_young);
  }
  const auto page = buf_lru_trace_page(bpage->id);
  if (bpage->lru_history.sampled() && buf_lru_trace_takes(page)) {
    buf_lru_trace(INNODB_LRU_EVENT_MADE_YOUNG, page, bpage->buf_pool_index);
  }
}

void buf_lru_hook_young_to_old(buf_page_t *bpage) {
  ut_ad(mutex_own(&buf_pool_from_bpage(bpage)->LRU_list_mutex));
  if (LEFT_OUT("mutate_lru_young_to_old")) return;

  bpage->lru_history.note_young();
  add(counters_of(buf_pool_from_bpage(bpage)).young_to_old);
}

void buf_lru_hook_removed(const buf_page_t *bpage, bool zip) {
  const auto buf_pool = buf_pool_from_bpage(bpage);
  ut_ad(mutex_own(&buf_pool->LRU_list_mutex));

  /* Code that evicts a page says so right before. */
  const auto evicted = evicting;
  evicting = {};

  if (buf_pool->freed_page_clock == 1 &&
      !LEFT_OUT("mutate_lru_first_removal")) {
    /* From now on InnoDB looks at the place of a page in the list. */
    set(counters_of(buf_pool).accesses_at_first_removal,
        uncounted_accesses(buf_pool));
  }
  if (LEFT_OUT("mutate_lru_gone") && !evicted.page) return;

  const bool stays = !zip && bpage->zip.data != nullptr &&
                     buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE &&
                     !LEFT_OUT("mutate_lru_gone_frame");
  if (stays || !bpage->lru_history.sampled()) return;

  /* A page of a dropped or truncated tablespace comes here when somebody comes
  across it in the pool: until then it takes up room like any other. */
  const auto page = buf_lru_trace_page(bpage->id);
  if (buf_lru_trace_takes(page)) {
    buf_lru_trace(evicted.page ? INNODB_LRU_EVENT_EVICT : INNODB_LRU_EVENT_GONE,
                  page, bpage->buf_pool_index, evicted.index);
  }
}

void buf_lru_hook_invalidated(const buf_pool_t *buf_pool) {
  if (LEFT_OUT("mutate_lru_invalidated")) return;
  auto &c = counters_of(buf_pool);
  for (auto counter :
       {&c.not_made_young_first, &c.young_to_head, &c.young_to_old,
        &c.evicted_old, &c.evicted_old_never_young,
        &c.evicted_old_accessed_once, &c.evicted_young, &c.ra_evicted,
        &c.flushed_cleaner, &c.flushed_user, &c.user_scans, &c.user_scanned,
        &c.free_waits, &c.free_wait_usec, &c.free_wait_max_usec,
        &c.free_wait_max_usec_since_reset, &c.accesses_at_first_removal}) {
    set(*counter, 0);
  }
}

bool buf_lru_hook_evict(buf_page_t *bpage) {
  if (LEFT_OUT("mutate_lru_evict")) return buf_LRU_free_page(bpage, true);
  const Eviction eviction(bpage);
  if (!buf_LRU_free_page(bpage, true)) {
    evicting = {};
    return false;
  }
  eviction.count();
  return true;
}

void buf_lru_hook_evicting(const buf_page_t *bpage) {
  if (LEFT_OUT("mutate_lru_evicting")) return;
  Eviction(bpage).count();
}

bool buf_lru_hook_free_written(buf_page_t *bpage, bool by_lru_batch) {
  const bool evicts = (by_lru_batch && !LEFT_OUT("mutate_lru_evict_batch")) ||
                      flushing_for_free_page;
  return evicts && !LEFT_OUT("mutate_lru_free_written")
             ? buf_lru_hook_evict(bpage)
             : buf_LRU_free_page(bpage, true);
}

bool buf_lru_hook_flush_user(buf_pool_t *buf_pool, buf_page_t *bpage) {
  flushing_for_free_page = true;
  const bool flushed =
      buf_flush_page(buf_pool, bpage, BUF_FLUSH_SINGLE_PAGE, true);
  flushing_for_free_page = false;

  if (flushed && !LEFT_OUT("mutate_lru_flush_user")) {
    add(counters_of(buf_pool).flushed_user);
  }
  return flushed;
}

void buf_lru_hook_flushed_cleaner(const buf_pool_t *buf_pool, size_t n) {
  if (LEFT_OUT("mutate_lru_flushed_cleaner")) return;
  if (n > 0) add(counters_of(buf_pool).flushed_cleaner, n);
}

void buf_lru_hook_user_scan(const buf_pool_t *buf_pool, size_t n) {
  if (LEFT_OUT("mutate_lru_user_scan")) return;
  auto &c = counters_of(buf_pool);
  add(c.user_scans);
  if (n > 0) add(c.user_scanned, n);
}

void buf_lru_hook_waited(const buf_pool_t *buf_pool, uint64_t usec) {
  if (LEFT_OUT("mutate_lru_waited")) return;
  auto &c = counters_of(buf_pool);
  add(c.free_waits);
  add(c.free_wait_usec, usec);
  raise_to(c.free_wait_max_usec, usec);
  raise_to(c.free_wait_max_usec_since_reset, usec);
}

void Buf_lru_free_wait::end() const {
  const auto wait = std::chrono::steady_clock::now() - m_start;
  buf_lru_hook_waited(
      m_buf_pool,
      static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(wait).count()));
}
