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

/** @file fil/fil0fast.cc
 Page I/O without the mutex of the tablespace's shard.

 What is in here, in the order in which a page read meets it:
 - a table from tablespace ID to fil_space_t which is searched without a mutex;
   what is found is not freed before the search is over (Lookup);
 - pinning the file and giving back the pin, see Fil_io_gate;
 - the list of files that were written, from which syncs are done;
 - counters.

 Latching order: the mutex of a shard, then s_spaces_mutex or s_written_mutex.
 Nothing is waited for, and no other latch is taken, while one of these two is
 held or during a Lookup. */

#include "fil0fast.h"

#include "univ.i"

#ifndef UNIV_HOTBACKUP

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "buf0buf.h"
#include "buf0flu.h"
#include "current_thd.h"
#include "fil0fil.h"
#include "fsp0types.h"
#include "mtr0log.h"
#include "mtr0mtr.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "mysql/status_var.h"
#include "os0event.h"
#include "os0file.h"
#include "srv0srv.h"
#include "srv0start.h"
#include "ut0cpu_cache.h"
#include "ut0dbg.h"

bool srv_page_io_fast_path = false;

extern std::atomic<std::uint64_t> fil_n_pending_tablespace_flushes;

#ifdef UNIV_DEBUG
/** A sync point for I/O on one tablespace only: that of test/paused. */
#define FIL_FAST_SYNC(SPACE, POINT)                  \
  DBUG_EXECUTE_IF("fil_fast_sync", {                 \
    if (strcmp((SPACE)->name, "test/paused") == 0) { \
      DEBUG_SYNC_C(POINT);                           \
    }                                                \
  })
#else
#define FIL_FAST_SYNC(SPACE, POINT)
#endif /* UNIV_DEBUG */

namespace {

/** What is counted. */
enum Event : size_t {
  /** Reads and writes which did without the mutex. */
  FAST_READ,
  FAST_WRITE,
  /** I/O with the mutex, because there was no page descriptor to find the
  tablespace by: I/O of recovery and of the doublewrite buffer's own. */
  SLOW_NO_PAGE,
  /** ... because the file was closed. */
  SLOW_CLOSED,
  /** ... because the tablespace was being dropped, truncated or renamed, or
  its file was just looked at to be closed. */
  SLOW_STOPPED,
  /** ... because the page is of a version of the tablespace that is no more, or
  is outside of the file. */
  SLOW_STALE,
  N_EVENTS
};

/** Counters of some threads, on cache lines of their own. */
struct alignas(ut::INNODB_CACHE_LINE_SIZE) Counters {
  std::array<std::atomic<uint64_t>, N_EVENTS> events{};
};

Counters s_counters[Fil_lookups::N_SLOTS];

Fil_lookups s_lookups;

/** @return number of the slot that the calling thread shares with few others */
size_t thread_slot() {
  static std::atomic<size_t> s_next{0};
  thread_local const size_t t_slot =
      s_next.fetch_add(1, std::memory_order_relaxed) % Fil_lookups::N_SLOTS;
  return t_slot;
}

void count(Event event) {
  s_counters[thread_slot()].events[event].fetch_add(1,
                                                    std::memory_order_relaxed);
}

/** A time during which no tablespace that was found in s_spaces, and no file
that was found in s_written, is freed. */
class Lookup {
 public:
  Lookup() : m_slot(thread_slot()), m_phase(s_lookups.begin(m_slot)) {}
  ~Lookup() { s_lookups.end(m_slot, m_phase); }
  Lookup(const Lookup &) = delete;
  Lookup &operator=(const Lookup &) = delete;

 private:
  const size_t m_slot;
  const uint32_t m_phase;
};

/** Tablespaces by their ID, chained by fil_space_t::m_fast_next. IDs are given
out one after the other, so the remainder spreads them evenly. The number is
fixed, because growing would have to move what others are searching; 100 000
tablespaces are 3 to a chain. */
constexpr size_t N_SPACE_CELLS = 32768;
Fil_space_link s_spaces[N_SPACE_CELLS];

/** Protects s_spaces from others who change it. */
std::mutex s_spaces_mutex;

Fil_space_link &space_cell(space_id_t space_id) {
  return s_spaces[space_id % N_SPACE_CELLS];
}

/** Looks up a tablespace. To be called during a Lookup.
@param[in]  space_id  tablespace ID
@return tablespace, which exists as long as the Lookup; nullptr if none */
fil_space_t *find(space_id_t space_id) {
  auto space = space_cell(space_id).load();
  while (space != nullptr && space->id != space_id) {
    /* Also correct if the space was taken out: its link still leads on. */
    space = space->m_fast_next.load();
  }
  return space;
}

/** Files that were written since they were opened. The list is here in order
that a sync finds what to sync without a mutex, and without looking at all
files. A file enters it once, when its first write after the opening finishes,
and leaves it when it is closed or was idle for long.

Chunks are never freed. */
constexpr size_t WRITTEN_CHUNK = 1024;
constexpr size_t MAX_WRITTEN_CHUNKS = 4096;
struct Written_slot {
  /** The file; nullptr if the slot is free. */
  std::atomic<fil_node_t *> file{nullptr};
  /** How many looks found nothing to sync here, in a row; here and not in the
  gate, whose cache line each I/O wants. A lost count is harmless. */
  std::atomic<uint32_t> idle_looks{0};
};
using Written_chunk = std::array<Written_slot, WRITTEN_CHUNK>;
std::atomic<Written_chunk *> s_written[MAX_WRITTEN_CHUNKS];

/** How many slots of s_written were ever used. */
std::atomic<size_t> s_n_written{0};

/** Protects s_written and the following from others who change it. */
std::mutex s_written_mutex;

/** Slots among the first s_n_written which are free. */
std::vector<uint32_t> s_written_free;

/** So many looks that found nothing to sync take a file out of the list. */
constexpr uint32_t MAX_IDLE_LOOKS = 100;

Written_slot &written_slot(size_t slot) {
  return (*s_written[slot / WRITTEN_CHUNK].load())[slot % WRITTEN_CHUNK];
}

/** Puts a file into the list.
@param[in,out]  file  file, pinned */
void list_file(fil_node_t *file) {
  std::lock_guard guard(s_written_mutex);
  auto &gate = file->n_pending_ios;

  if (gate.is_listed()) return;

  uint32_t slot;
  if (!s_written_free.empty()) {
    slot = s_written_free.back();
    s_written_free.pop_back();
  } else {
    const auto n = s_n_written.load();
    ut_a(n < WRITTEN_CHUNK * MAX_WRITTEN_CHUNKS);
    if (s_written[n / WRITTEN_CHUNK].load() == nullptr) {
      s_written[n / WRITTEN_CHUNK].store(new Written_chunk{});
    }
    slot = static_cast<uint32_t>(n);
    s_n_written.store(n + 1);
  }

  gate.m_list_slot = slot;
  written_slot(slot).idle_looks.store(0, std::memory_order_relaxed);
  written_slot(slot).file.store(file);
  /* After the store: who sees the file listed sees it in the list. */
  gate.set_listed();
}

/** Takes a file out of the list.
@param[in,out]  file  file; the caller has s_written_mutex and has found, and
                      reset, that it is listed */
void unlist_file(fil_node_t *file) {
  const auto slot = file->n_pending_ios.m_list_slot;
  ut_ad(written_slot(slot).file.load() == file);
  written_slot(slot).file.store(nullptr);
  s_written_free.push_back(slot);
}

/** @return true if a write to the tablespace has to be followed by an fsync;
see fil_disable_space_flushing() */
bool needs_fsync(const fil_space_t *space) {
#ifndef _WIN32
  if (space->purpose == FIL_TYPE_TABLESPACE &&
      srv_unix_file_flush_method == SRV_UNIX_O_DIRECT_NO_FSYNC) {
    return false;
  }
#endif /* !_WIN32 */
  return space->purpose != FIL_TYPE_TEMPORARY;
}

/** Reads a member that others may write under the shard mutex. An old value
sends the caller the way with the mutex, or is the one that counted when the I/O
was asked for. */
template <typename T>
T read_racy(T &value) {
  return std::atomic_ref<T>(value).load(std::memory_order_relaxed);
}

}  // namespace

void fil_fast_space_added(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  std::lock_guard guard(s_spaces_mutex);
  auto &cell = space_cell(space->id);
  space->m_fast_next.store(cell.load());
  cell.store(space);
}

void fil_fast_space_removed(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* A lookup that has found it already must not acquire it any more. */
  space->n_pending_ops.stop();

  std::lock_guard guard(s_spaces_mutex);
  auto link = &space_cell(space->id);
  for (auto s = link->load(); s != nullptr; s = link->load()) {
    if (s == space) {
      link->store(space->m_fast_next.load());
      return;
    }
    link = &s->m_fast_next;
  }
}

void fil_fast_space_freed(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* At shutdown the map of a shard is emptied as a whole. */
  fil_fast_space_removed(space);
  DBUG_EXECUTE_IF("fil_fast_log_freeing",
                  ib::info()
                      << "Waiting for lookups of tablespace " << space->name;);
  s_lookups.wait_for_all();
  ut_d(space->magic_n = 0);
  DBUG_EXECUTE_IF("fil_fast_log_freeing",
                  ib::info() << "No lookups of tablespace " << space->name;);
}

bool fil_fast_get(space_id_t space_id, fil_space_t *&space) {
  if (!srv_page_io_fast_path) return false;

  Lookup lookup;
  space = find(space_id);
  return true;
}

bool fil_fast_get_flags(space_id_t space_id, uint32_t &flags) {
  if (!srv_page_io_fast_path) return false;

  Lookup lookup;
  auto space = find(space_id);
  if (space == nullptr || read_racy(space->size) == 0) return false;
  flags = read_racy(space->flags);
  return true;
}

fil_space_t *fil_fast_acquire(space_id_t space_id) {
  if (!srv_page_io_fast_path) return nullptr;

  Lookup lookup;
  auto space = find(space_id);
  if (space == nullptr) return nullptr;
  FIL_FAST_SYNC(space, "fil_fast_acquire_found");
  ut_ad(space->magic_n == FIL_SPACE_MAGIC_N);
  return space->n_pending_ops.try_acquire() ? space : nullptr;
}

bool fil_fast_release(fil_space_t *space) {
  if (!srv_page_io_fast_path) return false;

  ut_ad(space->magic_n == FIL_SPACE_MAGIC_N);
  ut_ad(space->n_pending_ops > 0);
  --space->n_pending_ops;
  return true;
}

fil_node_t *fil_fast_begin_io(const IORequest &req, const page_id_t &page_id,
                              const buf_page_t *bpage, page_no_t &page_no) {
  if (!srv_page_io_fast_path) return nullptr;

  /* The reference of the page keeps the tablespace, which is not so for an
  import that has no tablespace yet. */
  fil_space_t *space = bpage == nullptr ? nullptr : bpage->get_space();
  if (space == nullptr) {
    count(SLOW_NO_PAGE);
    return nullptr;
  }

  ut_a(space->id == page_id.space());
  FIL_FAST_SYNC(space, "fil_fast_before_pin");

  page_no_t no = page_no;
  fil_node_t *file = space->get_file_node(&no);

  if (file == nullptr) {
    count(SLOW_STALE);
    return nullptr;
  }

  auto &gate = file->n_pending_ios;

  if (!gate.try_pin()) {
    count(read_racy(file->is_open) ? SLOW_STOPPED : SLOW_CLOSED);
    return nullptr;
  }

  /* With the pin, nobody can close, truncate or delete the file. The version
  of a tablespace changes only while it is stopped and without pins; so if the
  page is of the current version now, it is until the I/O has finished. */
  if (bpage->was_stale() ||
      (read_racy(file->size) <= no && space->id != TRX_SYS_SPACE)) {
    --gate;
    count(SLOW_STALE);
    return nullptr;
  }

  count(req.is_write() ? FAST_WRITE : FAST_READ);
  FIL_FAST_SYNC(space, "fil_fast_pinned");
  page_no = no;
  return file;
}

bool fil_fast_end_io(fil_node_t *file, const IORequest &req) {
  if (!srv_page_io_fast_path) return false;

  auto &gate = file->n_pending_ios;

  ut_a(gate > 0);
  ut_ad(req.validate());
  ut_ad(!req.is_write() || !srv_read_only_mode ||
        fsp_is_system_temporary(file->space->id));

  if (req.is_write() && needs_fsync(file->space)) {
    if (!gate.is_listed()) list_file(file);
    gate.wrote();
    /* With the fence in fil_fast_flush_all(): a thread that learns, even by a
    relaxed atomic as that of the doublewrite batch, that this write has
    finished, finds the file listed, and dirty or synced. */
    std::atomic_thread_fence(std::memory_order_release);
  } else {
    --gate;
  }

  return true;
}

void fil_fast_open_gate(fil_node_t *file) {
  if (!srv_page_io_fast_path) return;

  const auto space = file->space;
  if (file->is_open && !space->stop_new_ops && !space->prevent_file_open) {
    file->n_pending_ios.open();
  }
}

void fil_fast_file_closed(fil_node_t *file) {
  if (!srv_page_io_fast_path) return;

  auto &gate = file->n_pending_ios;
  ut_a(gate == 0);
  ut_ad(!gate.is_open());

  std::lock_guard guard(s_written_mutex);
  if (gate.reset()) unlist_file(file);
}

void fil_fast_stop(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  ut_ad(space->stop_new_ops);
  space->n_pending_ops.stop();
  for (auto &file : space->files) {
    file.n_pending_ios.stop();
  }
}

void fil_fast_restart(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  ut_ad(!space->stop_new_ops);
  for (auto &file : space->files) {
    fil_fast_open_gate(&file);
  }
  space->n_pending_ops.restart();
}

bool fil_fast_flush(space_id_t space_id) {
  if (!srv_page_io_fast_path) return false;

  /* More than one file is something that only system tablespaces have. */
  std::array<fil_node_t *, 8> files;
  size_t n = 0;
  bool all = true;

  {
    Lookup lookup;
    auto space = find(space_id);
    if (space == nullptr || space->purpose == FIL_TYPE_TEMPORARY) return true;
    if (space->files.size() > files.size()) return false;

    for (auto &file : space->files) {
      if (!file.n_pending_ios.try_pin()) {
        all = false;
        break;
      }
      files[n++] = &file;
    }
  }

  /* The pins keep the files open, and so the tablespace from being freed. */
  for (size_t i = 0; i < n; ++i) {
    if (all) fil_fast_flush_pinned(files[i]);
    --files[i]->n_pending_ios;
  }

  return all;
}

void fil_fast_flush_pinned(fil_node_t *file) {
  auto &gate = file->n_pending_ios;
  const auto size = read_racy(file->size);
  /* If writes need no fsync, one is done for the metadata of the file system
  when the file has grown. */
  const bool force =
      !needs_fsync(file->space) && read_racy(file->flush_size) != size;

  Fil_io_gate::Ticket ticket;
  if (!gate.ticket(ticket, force)) return;

  fil_n_pending_tablespace_flushes.fetch_add(1);

  for (;;) {
    auto step = gate.flush_step(ticket);

    if (step == Fil_io_gate::Step::WAIT) {
      const auto signal_count = os_event_reset(file->sync_event);
      /* Again, as the end may have come before the reset. */
      step = gate.flush_step(ticket);
      if (step == Fil_io_gate::Step::WAIT) {
        FIL_FAST_SYNC(file->space, "fil_fast_waits_for_fsync");
        os_event_wait_low(file->sync_event, signal_count);
        continue;
      }
    }

    if (step == Fil_io_gate::Step::DONE) break;

    FIL_FAST_SYNC(file->space, "fil_fast_before_fsync");

    bool skip = srv_shutdown_state.load() >= SRV_SHUTDOWN_LAST_PHASE &&
                srv_fast_shutdown >= 2;
#ifdef _WIN32
    skip = skip || file->is_raw_disk;
#endif /* _WIN32 */

    if (!skip) {
      os_file_flush(file->handle);
      std::atomic_ref<page_no_t>(file->flush_size)
          .store(size, std::memory_order_relaxed);
    }

    gate.flush_end();
    os_event_set(file->sync_event);
    break;
  }

  fil_n_pending_tablespace_flushes.fetch_sub(1);
}

bool fil_fast_flush_all() {
  if (!srv_page_io_fast_path) return false;

  /* See fil_fast_end_io(). */
  std::atomic_thread_fence(std::memory_order_acquire);

  /* A part of the list at a time, as a Lookup keeps a DROP waiting. */
  constexpr size_t PART = 64;
  std::array<space_id_t, PART> part;
  Space_ids space_ids;
  const auto n = s_n_written.load();

  for (size_t begin = 0; begin < n; begin += PART) {
    size_t n_part = 0;

    {
      Lookup lookup;

      for (size_t i = begin; i < std::min(begin + PART, n); ++i) {
        auto &slot = written_slot(i);
        auto file = slot.file.load();
        if (file == nullptr) continue;

        auto &gate = file->n_pending_ios;

        if (!gate.is_flushed()) {
          slot.idle_looks.store(0, std::memory_order_relaxed);
          if (file->space->purpose == FIL_TYPE_TABLESPACE) {
            part[n_part++] = file->space->id;
          }
        } else if (slot.idle_looks.fetch_add(1, std::memory_order_relaxed) >=
                   MAX_IDLE_LOOKS) {
          std::unique_lock guard(s_written_mutex, std::try_to_lock);
          if (guard.owns_lock() && slot.file.load() == file &&
              gate.try_unlist()) {
            unlist_file(file);
          }
        }
      }
    }

    space_ids.insert(space_ids.end(), part.begin(), part.begin() + n_part);
  }

  for (auto space_id : space_ids) {
    fil_flush(space_id);
  }

  return true;
}

#ifdef UNIV_DEBUG
/** What tests can ask for by reading a status variable: to have the root page
of test.paused dirty and no other page; to flush all dirty pages; to acquire
its tablespace as a background thread does, without a metadata lock. */
static void fil_fast_test() {
  const auto space_id = fil_space_get_id_by_name("test/paused");

  DBUG_EXECUTE_IF("fil_fast_dirty_paused", {
    auto space = fil_space_acquire_silent(space_id);
    mtr_t mtr;
    mtr.start();
    auto block = buf_page_get(page_id_t(space_id, 4), page_size_t(space->flags),
                              RW_X_LATCH, UT_LOCATION_HERE, &mtr);
    mlog_write_ulint(block->frame + FIL_PAGE_TYPE,
                     fil_page_get_type(block->frame), MLOG_2BYTES, &mtr);
    mtr.commit();
    fil_space_release(space);
  });

  DBUG_EXECUTE_IF("fil_fast_flush_pages", buf_flush_sync_all_buf_pools(););

  DBUG_EXECUTE_IF("fil_fast_acquire_paused", {
    auto space = fil_space_acquire_silent(space_id);
    if (space != nullptr) fil_space_release(space);
  });
}
#endif /* UNIV_DEBUG */

int fil_fast_show_status(THD *, SHOW_VAR *var, char *) {
  static std::array<unsigned long long, N_EVENTS> s_sums;
  static unsigned long long s_slow;
  static SHOW_VAR s_vars[] = {
      {"reads", (char *)&s_sums[FAST_READ], SHOW_LONGLONG, SHOW_SCOPE_GLOBAL},
      {"writes", (char *)&s_sums[FAST_WRITE], SHOW_LONGLONG, SHOW_SCOPE_GLOBAL},
      {"missed", (char *)&s_slow, SHOW_LONGLONG, SHOW_SCOPE_GLOBAL},
      {"missed_file_closed", (char *)&s_sums[SLOW_CLOSED], SHOW_LONGLONG,
       SHOW_SCOPE_GLOBAL},
      {"missed_no_page", (char *)&s_sums[SLOW_NO_PAGE], SHOW_LONGLONG,
       SHOW_SCOPE_GLOBAL},
      {"missed_stale_page", (char *)&s_sums[SLOW_STALE], SHOW_LONGLONG,
       SHOW_SCOPE_GLOBAL},
      {"missed_stopped", (char *)&s_sums[SLOW_STOPPED], SHOW_LONGLONG,
       SHOW_SCOPE_GLOBAL},
      {nullptr, nullptr, SHOW_LONG, SHOW_SCOPE_GLOBAL}};

  DBUG_EXECUTE_IF("fil_fast_test", fil_fast_test(););

  s_slow = 0;
  for (size_t event = 0; event < N_EVENTS; ++event) {
    unsigned long long sum = 0;
    for (auto &counters : s_counters) {
      sum += counters.events[event].load(std::memory_order_relaxed);
    }
    s_sums[event] = sum;
    if (event >= SLOW_NO_PAGE) s_slow += sum;
  }

  var->type = SHOW_ARRAY;
  var->value = (char *)s_vars;
  var->scope = SHOW_SCOPE_GLOBAL;
  return 0;
}

#endif /* !UNIV_HOTBACKUP */
