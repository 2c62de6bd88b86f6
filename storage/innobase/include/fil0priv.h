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

/** @file include/fil0priv.h
 What the files of page I/O without the shard mutex share: fil0fast.cc and
 fil0sync.cc. */

#ifndef fil0priv_h
#define fil0priv_h

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fil0fil.h"
#include "fil0lookup.h"
#include "fil0written.h"
#include "my_dbug.h"
#include "my_sys.h"

#ifdef UNIV_DEBUG
/** @return true for the tablespace of the table test.paused, for the general or
undo tablespace paused, and if the debug keyword fil_fast_sync_temporary is set
for those of sessions' temporary tables */
bool fil_fast_is_paused(const fil_space_t *space);

/** A sync point for I/O on one of these tablespaces only. */
#define FIL_FAST_SYNC(SPACE, POINT)  \
  DBUG_EXECUTE_IF("fil_fast_sync", { \
    if (fil_fast_is_paused(SPACE)) { \
      DEBUG_SYNC_C(POINT);           \
    }                                \
  })
#else
#define FIL_FAST_SYNC(SPACE, POINT)
#endif /* UNIV_DEBUG */

/** Lookups under way, of tablespaces and of files that were written. */
extern Fil_lookups fil_fast_lookups;

/** @return number of the slot that the calling thread shares with few others */
inline size_t fil_fast_thread_slot() {
  static std::atomic<size_t> s_next{0};
  thread_local const size_t t_slot =
      s_next.fetch_add(1, std::memory_order_relaxed) % Fil_lookups::N_SLOTS;
  return t_slot;
}

/** While an object of this class lives, no tablespace that was found in
fil_fast_spaces, and no file that was found in fil_fast_written, is freed. */
class Fil_fast_lookup {
 public:
  Fil_fast_lookup()
      : m_slot(fil_fast_thread_slot()),
        m_phase(fil_fast_lookups.begin(m_slot)) {}
  ~Fil_fast_lookup() { fil_fast_lookups.end(m_slot, m_phase); }
  Fil_fast_lookup(const Fil_fast_lookup &) = delete;
  Fil_fast_lookup &operator=(const Fil_fast_lookup &) = delete;

 private:
  const size_t m_slot;
  const uint32_t m_phase;
};

/** Tablespaces by their ID. 100 000 of them are 3 to a chain. */
extern Fil_id_table<fil_space_t, &fil_space_t::id, &fil_space_t::m_fast_next,
                    32768>
    fil_fast_spaces;

/** Files that were written since they were opened. */
extern Fil_written_list<fil_node_t, &fil_node_t::n_pending_ios>
    fil_fast_written;

/** @return true if a write to the tablespace has to be followed by an fsync;
see fil_disable_space_flushing() */
[[nodiscard]] bool fil_fast_needs_fsync(const fil_space_t *space);

/** Reads a member that others may write under the shard mutex. An old value
makes the caller take the mutex, or is the one that was valid when the I/O was
requested. */
template <typename T>
[[nodiscard]] T fil_fast_read_racy(T &value) {
  return std::atomic_ref<T>(value).load(std::memory_order_relaxed);
}

#endif /* fil0priv_h */
