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

/** @file include/fil0written.h
 The list of written files, which tells a sync what to sync.

 This file knows nothing of InnoDB, so that it can be tested alone. */

#ifndef fil0written_h
#define fil0written_h

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <set>

#include "fil0gate.h"

/** Files that were written since they were opened, so that a sync finds what to
sync without a mutex and without looking at all files. A file enters the list
once, when its first write after the opening finishes, and leaves it when it is
closed or has been idle for long. The lowest free slot is taken first, and free
slots at the end are given up: a look takes a step for each slot up to the last
one in use.
@tparam File            what is in the list
@tparam GATE            its member Fil_io_gate
@tparam MAX_IDLE_LOOKS  the next look after this many that found nothing to sync
                        takes a file out of the list */
template <typename File, Fil_io_gate File::*GATE, uint32_t MAX_IDLE_LOOKS = 100>
class Fil_written_list {
 public:
  /** Puts a file into the list, if it is not there.
  @param[in,out]  file  file, pinned */
  void add(File *file) {
    std::lock_guard guard(m_mutex);
    auto &gate = file->*GATE;

    if (gate.is_listed()) return;

    auto slot = static_cast<uint32_t>(m_end.load());
    if (!m_free.empty()) {
      slot = *m_free.begin();
      m_free.erase(m_free.begin());
    } else {
      if (slot >= CHUNK * MAX_CHUNKS) std::abort();
      auto &chunk = m_chunks[slot / CHUNK];
      if (chunk.load() == nullptr) chunk.store(new Chunk{});
      m_end.store(slot + 1);
    }

    gate.m_list_slot = slot;
    at(slot).idle_looks.store(0, std::memory_order_relaxed);
    at(slot).file.store(file);
    /* After the store: a thread that sees the file listed finds it in the
    list. */
    gate.set_listed();
  }

  /** A file was closed: resets its gate, and takes it out of the list.
  @param[in,out]  file  file; the caller has the shard mutex, and has shut the
                        gate at 0 pins */
  void file_closed(File *file) {
    std::lock_guard guard(m_mutex);
    if ((file->*GATE).reset()) take_out(file);
  }

  /** @return how many slots there are to look at. A file which the caller knows
  to be listed is in one of them. */
  [[nodiscard]] size_t size() const { return m_end.load(); }

  /** Looks for files to sync. To be called during a lookup of Fil_lookups, so
  that no file is freed meanwhile.
  @param[in]  begin  first slot
  @param[in]  end    slot after the last one; at most what size() has returned
  @param[in]  found  is called with each file that has something to sync */
  template <typename Found>
  void look(size_t begin, size_t end, Found &&found) {
    for (size_t i = begin; i < end; ++i) {
      auto &slot = at(i);
      auto file = slot.file.load();
      if (file == nullptr) continue;

      auto &gate = file->*GATE;

      if (!gate.is_flushed()) {
        slot.idle_looks.store(0, std::memory_order_relaxed);
        found(file);
      } else if (slot.idle_looks.fetch_add(1, std::memory_order_relaxed) >=
                 MAX_IDLE_LOOKS) {
        std::unique_lock guard(m_mutex, std::try_to_lock);
        if (guard.owns_lock() && slot.file.load() == file &&
            gate.try_unlist()) {
          take_out(file);
        }
      }
    }
  }

 private:
  struct Slot {
    /** The file; nullptr if the slot is free. */
    std::atomic<File *> file{nullptr};
    /** How many looks in a row found nothing to sync here. Kept here and not in
    the gate, whose cache line each I/O needs. A lost count is harmless. */
    std::atomic<uint32_t> idle_looks{0};
  };

  static constexpr size_t CHUNK = 1024;
  static constexpr size_t MAX_CHUNKS = 4096;
  using Chunk = std::array<Slot, CHUNK>;

  Slot &at(size_t slot) {
    return (*m_chunks[slot / CHUNK].load())[slot % CHUNK];
  }

  /** Takes a file out. The caller holds m_mutex, and has found and reset the
  gate's note that the file is listed.
  @param[in,out]  file  file */
  void take_out(File *file) {
    const auto slot = (file->*GATE).m_list_slot;
    at(slot).file.store(nullptr);
    m_free.insert(slot);

    auto end = m_end.load();
    while (!m_free.empty() && *m_free.rbegin() + 1 == end) {
      m_free.erase(std::prev(m_free.end()));
      --end;
    }
    m_end.store(end);
  }

  /** Never freed, as others may look at them. */
  std::array<std::atomic<Chunk *>, MAX_CHUNKS> m_chunks{};

  /** No slot from here on has a file. */
  std::atomic<size_t> m_end{0};

  /** Free slots below m_end. */
  std::set<uint32_t> m_free;

  /** Serializes changes of the list. */
  std::mutex m_mutex;
};

#endif /* fil0written_h */
