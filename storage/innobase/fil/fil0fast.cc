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

 What is in here, in the order in which a page read meets it: looking up the
 tablespace (fil0lookup.h); pinning the file and giving back the pin
 (fil0gate.h); its encryption; syncs, from the list of files that were written
 (fil0written.h); counters.

 Latching order: the mutex of a shard, then that of s_spaces or s_written.
 Nothing is waited for, and no other latch is taken, while one of these two is
 held or during a Lookup. */

#include "fil0fast.h"

#include "univ.i"

#ifndef UNIV_HOTBACKUP

#include <algorithm>
#include <array>
#include <cstring>

#include "buf0buf.h"
#include "buf0flu.h"
#include "current_thd.h"
#include "fil0fil.h"
#include "fil0lookup.h"
#include "fil0written.h"
#include "fsp0types.h"
#include "mtr0log.h"
#include "mtr0mtr.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "mysql/status_var.h"
#include "os0enc.h"
#include "os0event.h"
#include "os0file.h"
#include "srv0srv.h"
#include "srv0start.h"
#include "ut0cpu_cache.h"
#include "ut0dbg.h"

bool srv_page_io_fast_path = false;

extern std::atomic<std::uint64_t> fil_n_pending_tablespace_flushes;

#ifdef UNIV_DEBUG
/** A sync point for I/O on one tablespace only: that of the table test.paused,
or the general or undo tablespace paused. */
#define FIL_FAST_SYNC(SPACE, POINT)  \
  DBUG_EXECUTE_IF("fil_fast_sync", { \
    if (is_paused(SPACE)) {          \
      DEBUG_SYNC_C(POINT);           \
    }                                \
  })

static bool is_paused(const fil_space_t *space) {
  return strcmp(space->name, "test/paused") == 0 ||
         strcmp(space->name, "paused") == 0;
}
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

/** Tablespaces by their ID. 100 000 of them are 3 to a chain. */
Fil_id_table<fil_space_t, &fil_space_t::id, &fil_space_t::m_fast_next, 32768>
    s_spaces;

/** Files that were written since they were opened. */
Fil_written_list<fil_node_t, &fil_node_t::n_pending_ios> s_written;

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

  s_spaces.add(space);
}

void fil_fast_space_removed(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* A lookup that has found it already must not acquire it any more. */
  space->n_pending_ops.stop();

  s_spaces.remove(space);
}

void fil_fast_space_freed(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* At shutdown the map of a shard is emptied as a whole. */
  fil_fast_space_removed(space);
  DBUG_EXECUTE_IF("fil_fast_log_freeing",
                  ib::info()
                      << "Waiting for lookups of tablespace " << space->name;);
  if (!DBUG_EVALUATE_IF("mutate_fil_free_at_once", true, false)) {
    s_lookups.wait_for_all();
  }
  ut_d(space->magic_n = 0);
  DBUG_EXECUTE_IF("fil_fast_log_freeing",
                  ib::info() << "No lookups of tablespace " << space->name;);
}

bool fil_fast_get(space_id_t space_id, fil_space_t *&space) {
  if (!srv_page_io_fast_path) return false;

  Lookup lookup;
  space = s_spaces.find(space_id);
  return true;
}

bool fil_fast_get_flags(space_id_t space_id, uint32_t &flags) {
  if (!srv_page_io_fast_path) return false;

  Lookup lookup;
  auto space = s_spaces.find(space_id);
  if (space == nullptr || read_racy(space->size) == 0) return false;
  flags = read_racy(space->flags);
  return true;
}

fil_space_t *fil_fast_acquire(space_id_t space_id) {
  if (!srv_page_io_fast_path) return nullptr;

  Lookup lookup;
  auto space = s_spaces.find(space_id);
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
  page is of the current version now, it is until the I/O has finished. A
  deleted tablespace has no current version. */
  if (bpage->was_stale() ||
      (read_racy(file->size) <= no && space->id != TRX_SYS_SPACE)) {
    --gate;
    count(SLOW_STALE);
    return nullptr;
  }

  count(req.is_write() ? FAST_WRITE : FAST_READ);
  DBUG_EXECUTE_IF(
      "fil_fast_log_writes", if (req.is_write()) {
        ib::info() << "Write without mutex: " << file->name;
      });
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

  if (req.is_write() && needs_fsync(file->space) &&
      !DBUG_EVALUATE_IF("mutate_fil_write_not_noted", true, false)) {
    if (!gate.is_listed()) s_written.add(file);
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
  DBUG_EXECUTE_IF("mutate_fil_gate_stays_shut",
                  if (space->id != TRX_SYS_SPACE) return;);
  if (file->is_open && !space->stop_new_ops && !space->prevent_file_open) {
    file->n_pending_ios.open();
  }
}

void fil_fast_file_closed(fil_node_t *file) {
  if (!srv_page_io_fast_path) return;

  auto &gate = file->n_pending_ios;
  ut_a(gate == 0);
  ut_a(!gate.is_open());

  s_written.file_closed(file);
}

void fil_fast_stop(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  ut_ad(space->stop_new_ops);
  space->n_pending_ops.stop();
  DBUG_EXECUTE_IF("mutate_fil_gate_not_stopped", return;);
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

void fil_fast_set_encryption(fil_space_t *space,
                             const Encryption_metadata &metadata) {
  auto &used = space->m_encryption_metadata;

  /* I/O in flight refers to the key. */
  if (used.m_type == metadata.m_type &&
      memcmp(used.m_key, metadata.m_key, sizeof(used.m_key)) == 0 &&
      memcmp(used.m_iv, metadata.m_iv, sizeof(used.m_iv)) == 0) {
    return;
  }

  DBUG_EXECUTE_IF("mutate_fil_encryption_type_first",
                  fil_fast_publish(used.m_type, metadata.m_type););
  DEBUG_SYNC_C("fil_encryption_key_not_set");
  memcpy(used.m_key, metadata.m_key, sizeof(used.m_key));
  memcpy(used.m_iv, metadata.m_iv, sizeof(used.m_iv));
  used.m_key_len = metadata.m_key_len;
  fil_fast_publish(used.m_type, metadata.m_type);
}

void fil_fast_reset_encryption(fil_space_t *space) {
  DEBUG_SYNC_C("fil_encryption_not_reset");
  fil_fast_publish(space->m_encryption_metadata.m_type, Encryption::NONE);
  memset(space->m_encryption_metadata.m_key, 0,
         sizeof(space->m_encryption_metadata.m_key));
  memset(space->m_encryption_metadata.m_iv, 0,
         sizeof(space->m_encryption_metadata.m_iv));
  space->m_encryption_metadata.m_key_len = 0;
}

void fil_fast_use_encryption(const fil_space_t *space, Encryption &encryption) {
  const auto &metadata = space->m_encryption_metadata;
  encryption.set_type(Encryption::AES);
  encryption.set_key(metadata.m_key);
  encryption.set_key_length(Encryption::KEY_LEN);
  encryption.set_initial_vector(metadata.m_iv);
}

bool fil_fast_flush(space_id_t space_id) {
  if (!srv_page_io_fast_path) return false;

  /* More than one file is something that only system tablespaces have. */
  std::array<fil_node_t *, 8> files;
  size_t n = 0;
  bool all = true;

  {
    Lookup lookup;
    auto space = s_spaces.find(space_id);
    if (space == nullptr || space->purpose == FIL_TYPE_TEMPORARY) return true;
    if (space->files.size() > files.size()) {
      return DBUG_EVALUATE_IF("mutate_fil_many_files_not_synced", true, false);
    }

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
  DBUG_EXECUTE_IF(
      "mutate_fil_running_fsync_will_do",
      if (gate.flush_step(ticket - 1) == Fil_io_gate::Step::WAIT) {
        --ticket;
      });

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
  const auto n = s_written.size();

  for (size_t begin = 0; begin < n; begin += PART) {
    size_t n_part = 0;

    {
      Lookup lookup;
      s_written.look(begin, std::min(begin + PART, n), [&](fil_node_t *file) {
        if (file->space->purpose == FIL_TYPE_TABLESPACE) {
          part[n_part++] = file->space->id;
        }
      });
    }

    space_ids.insert(space_ids.end(), part.begin(), part.begin() + n_part);
  }

  for (auto space_id : space_ids) {
    fil_flush(space_id);
  }

  return true;
}

#ifdef UNIV_DEBUG
void fil_fast_waits_for_pins(space_id_t) {
  DEBUG_SYNC_C("fil_waits_for_pending_io");
}

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
