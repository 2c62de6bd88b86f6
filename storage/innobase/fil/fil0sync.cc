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

/** @file fil/fil0sync.cc
 Syncs without the mutex of the tablespace's shard: which fsync a file needs,
 and who does it (the tickets of fil0gate.h); which files were written (the list
 of fil0written.h). See fil0fast.cc. */

#include "univ.i"

#ifndef UNIV_HOTBACKUP

#include <algorithm>
#include <array>
#include <atomic>

#include "fil0fast.h"
#include "fil0fil.h"
#include "fil0priv.h"
#include "fsp0types.h"
#include "my_dbug.h"
#include "os0event.h"
#include "os0file.h"
#include "srv0srv.h"
#include "srv0start.h"

bool fil_fast_needs_fsync(const fil_space_t *space) {
#ifndef _WIN32
  if (space->purpose == FIL_TYPE_TABLESPACE &&
      srv_unix_file_flush_method == SRV_UNIX_O_DIRECT_NO_FSYNC) {
    return false;
  }
#endif /* !_WIN32 */
  return space->purpose != FIL_TYPE_TEMPORARY;
}

bool fil_fast_flush(space_id_t space_id) {
  if (!srv_page_io_fast_path) return false;

  fil_node_t *file;

  {
    Fil_fast_lookup lookup;
    auto space = fil_fast_spaces.find(space_id);
    if (space == nullptr || space->purpose == FIL_TYPE_TEMPORARY) return true;
    /* An IMPORT keeps the ID, and may be adding its file. */
    if (space->purpose != FIL_TYPE_TABLESPACE) return false;
    /* Only system tablespaces have more than one file. */
    if (space->files.size() != 1) {
      return DBUG_EVALUATE_IF("mutate_fil_many_files_not_synced", true, false);
    }
    file = &space->files.front();
    if (!file->io_gate().try_pin()) return false;
  }

  /* The pin keeps the file open, and so the tablespace from being freed. */
  fil_fast_flush_pinned(file);
  --file->n_pending_ios;

  return true;
}

void fil_fast_flush_pinned(fil_node_t *file) {
  auto &gate = file->io_gate();
  const auto size = fil_fast_read_racy(file->size);
  /* If writes need no fsync, one is done for the metadata of the file system
  when the file has grown. */
  const bool force = !fil_fast_needs_fsync(file->space) &&
                     fil_fast_read_racy(file->flush_size) != size;

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
      /* Again, as the fsync may have ended before the reset. */
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

  /* A part of the list at a time, as a lookup keeps a DROP waiting. */
  constexpr size_t PART = 64;
  std::array<space_id_t, PART> part;
  Space_ids space_ids;
  const auto n = fil_fast_written.size();

  for (size_t begin = 0; begin < n; begin += PART) {
    size_t n_part = 0;

    {
      Fil_fast_lookup lookup;
      fil_fast_written.look(begin, std::min(begin + PART, n),
                            [&](fil_node_t *file) {
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

#endif /* !UNIV_HOTBACKUP */
