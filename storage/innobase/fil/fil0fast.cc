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

 The steps of a page I/O, in this order, and where they are:

 | what                                     | file                        |
 | ---------------------------------------- | --------------------------- |
 | looking up the tablespace                | fil0lookup.h, and here      |
 | pinning the file, giving back the pin    | fil0gate.h, and here        |
 | encryption, counters                     | here                        |
 | syncs, of the files that were written    | fil0sync.cc, fil0written.h  |

 Latching order: the mutex of a shard, then that of fil_fast_spaces or
 fil_fast_written. Nothing is waited for, and no other latch is taken, while one
 of these two is held or during a Fil_fast_lookup. */

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
#include "fil0priv.h"
#include "fsp0types.h"
#include "mtr0log.h"
#include "mtr0mtr.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "mysql/status_var.h"
#include "os0enc.h"
#include "os0file.h"
#include "srv0srv.h"
#include "ut0cpu_cache.h"
#include "ut0dbg.h"

bool srv_page_io_fast_path = false;

Fil_lookups fil_fast_lookups;
Fil_id_table<fil_space_t, &fil_space_t::id, &fil_space_t::m_fast_next, 32768>
    fil_fast_spaces;
Fil_written_list<fil_node_t, &fil_node_t::n_pending_ios> fil_fast_written;

#ifdef UNIV_DEBUG
bool fil_fast_is_paused(const fil_space_t *space) {
  return strcmp(space->name, "test/paused") == 0 ||
         strcmp(space->name, "paused") == 0 ||
         (fsp_is_session_temporary(space->id) &&
          DBUG_EVALUATE_IF("fil_fast_sync_temporary", true, false));
}
#endif /* UNIV_DEBUG */

namespace {

/** What is counted. */
enum Event : size_t {
  /** Reads and writes which did without the mutex. */
  FAST_READ,
  FAST_WRITE,
  /** I/O with the mutex, because there was no page descriptor to find the
  tablespace by, or it had no tablespace: restoring pages from the doublewrite
  files, writing the flushed LSN, an import. */
  SLOW_NO_PAGE,
  /** ... because the file was closed. */
  SLOW_CLOSED,
  /** ... because the tablespace was being dropped, truncated or renamed, or
  its file was being considered for closing. */
  SLOW_STOPPED,
  /** ... because the page is of a version of the tablespace that no longer
  exists, or is outside of the file. */
  SLOW_STALE,
  N_EVENTS
};

/** Counters of some threads, on cache lines of their own. */
struct alignas(ut::INNODB_CACHE_LINE_SIZE) Counters {
  std::array<std::atomic<uint64_t>, N_EVENTS> events{};
};

Counters s_counters[Fil_lookups::N_SLOTS];

void count(Event event) {
  s_counters[fil_fast_thread_slot()].events[event].fetch_add(
      1, std::memory_order_relaxed);
}

}  // namespace

void fil_fast_space_added(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* Threads without the mutex count the files. With room for the first one,
  adding it changes one pointer of the vector, not three. */
  if (space->files.empty()) {
    space->files.reserve(1);
    /* Where stores are not seen in order, the pointer may be seen before the
    file. Until then its gate is shut. */
    memset(static_cast<void *>(space->files.data()), 0, sizeof(fil_node_t));
  }
  fil_fast_spaces.add(space);
}

void fil_fast_space_removed(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* A lookup that has found it already must not acquire it any more. */
  space->op_gate().stop();

  fil_fast_spaces.remove(space);
}

void fil_fast_space_freed(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  /* At shutdown the map of a shard is emptied as a whole. */
  fil_fast_space_removed(space);
  DBUG_EXECUTE_IF("fil_fast_log_freeing",
                  ib::info()
                      << "Waiting for lookups of tablespace " << space->name;);
  if (!DBUG_EVALUATE_IF("mutate_fil_free_at_once", true, false)) {
    fil_fast_lookups.wait_for_all();
  }
  ut_d(space->magic_n = 0);
  DBUG_EXECUTE_IF("fil_fast_log_freeing",
                  ib::info() << "No lookups of tablespace " << space->name;);
}

bool fil_fast_get(space_id_t space_id, fil_space_t *&space) {
  if (!srv_page_io_fast_path) return false;

  Fil_fast_lookup lookup;
  space = fil_fast_spaces.find(space_id);
  return true;
}

bool fil_fast_get_flags(space_id_t space_id, uint32_t &flags) {
  if (!srv_page_io_fast_path) return false;

  Fil_fast_lookup lookup;
  auto space = fil_fast_spaces.find(space_id);
  if (space == nullptr || fil_fast_read_racy(space->size) == 0) return false;
  flags = fil_fast_read_racy(space->flags);
  return true;
}

fil_space_t *fil_fast_acquire(space_id_t space_id) {
  if (!srv_page_io_fast_path) return nullptr;

  Fil_fast_lookup lookup;
  auto space = fil_fast_spaces.find(space_id);
  if (space == nullptr) return nullptr;
  FIL_FAST_SYNC(space, "fil_fast_acquire_found");
  ut_ad(space->magic_n == FIL_SPACE_MAGIC_N);
  return space->op_gate().try_acquire() ? space : nullptr;
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
  DBUG_EXECUTE_IF("mutate_fil_all_slow", return nullptr;);

  /* The page's reference keeps the tablespace from being freed. An import may
  have no tablespace yet. */
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

  auto &gate = file->io_gate();

  if (!gate.try_pin()) {
    count(fil_fast_read_racy(file->is_open) ? SLOW_STOPPED : SLOW_CLOSED);
    return nullptr;
  }

  /* With the pin, nobody can close, truncate or delete the file. The version
  of a tablespace changes only while it is stopped and without pins; so if the
  page is of the current version now, it is until the I/O has finished. A
  deleted tablespace has no current version. */
  if ((bpage->was_stale() &&
       !DBUG_EVALUATE_IF("mutate_fil_stale_not_checked", true, false)) ||
      (fil_fast_read_racy(file->size) <= no && space->id != TRX_SYS_SPACE)) {
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

  auto &gate = file->io_gate();

  ut_a(gate > 0);
  ut_ad(req.validate());
  ut_ad(!req.is_write() || !srv_read_only_mode ||
        fsp_is_system_temporary(file->space->id));

  if (req.is_write() && fil_fast_needs_fsync(file->space) &&
      !DBUG_EVALUATE_IF("mutate_fil_write_not_noted", true, false)) {
    if (!gate.is_listed()) fil_fast_written.add(file);
    gate.wrote();
    /* Pairs with the fence in fil_fast_flush_all(): a thread that learns that
    this write has finished, even by a relaxed atomic like that of the
    doublewrite batch, finds the file listed, and dirty or synced. */
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
    file->io_gate().open();
  }
}

void fil_fast_file_closed(fil_node_t *file) {
  if (!srv_page_io_fast_path) return;

  auto &gate = file->io_gate();
  ut_a(gate == 0);
  ut_a(!gate.is_open());

  fil_fast_written.file_closed(file);
}

void fil_fast_stop(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  ut_ad(space->stop_new_ops);
  space->op_gate().stop();
  DBUG_EXECUTE_IF("mutate_fil_gate_not_stopped", return;);
  for (auto &file : space->files) {
    file.io_gate().stop();
  }
}

void fil_fast_restart(fil_space_t *space) {
  if (!srv_page_io_fast_path) return;

  ut_ad(!space->stop_new_ops);
  DBUG_EXECUTE_IF("mutate_fil_not_restarted", return;);
  for (auto &file : space->files) {
    fil_fast_open_gate(&file);
  }
  space->op_gate().restart();
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

#ifdef UNIV_DEBUG
void fil_fast_waits_for_pins(space_id_t) {
  DEBUG_SYNC_C("fil_waits_for_pending_io");
}

/** What tests can ask for by reading a status variable: to have the root page
of test.paused dirty and no other page; to flush all dirty pages; to sync its
file; to acquire its tablespace as a background thread does, without a metadata
lock. */
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

  DBUG_EXECUTE_IF("fil_fast_flush_paused", fil_flush(space_id););

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
