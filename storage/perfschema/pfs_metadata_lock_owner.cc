/* Copyright (c) 2026, Sluice contributors.

   This program is free software; you can redistribute it and/or modify
   it under the terms of the GNU General Public License, version 2.0,
   as published by the Free Software Foundation.

   This program is distributed in the hope that it will be useful,
   but WITHOUT ANY WARRANTY; without even the implied warranty of
   MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
   GNU General Public License, version 2.0, for more details.

   You should have received a copy of the GNU General Public License
   along with this program; if not, write to the Free Software
   Foundation, Inc., 51 Franklin St, Fifth Floor, Boston, MA 02110-1301  USA */

/**
  @file storage/perfschema/pfs_metadata_lock_owner.cc
  Finding the owner of a metadata lock (implementation).
*/

#include "storage/perfschema/pfs_metadata_lock_owner.h"

#include <condition_variable>
#include <memory>
#include <mutex>

#include "my_dbug.h"
#include "my_inttypes.h"
#include "my_systime.h"  // my_sleep
#include "sql/mdl.h"
#include "storage/perfschema/pfs_buffer_container.h"
#include "storage/perfschema/pfs_instr.h"

/**
  Find an instrumented thread.

  @param         thread_internal_id  The thread.
  @param[in,out] owner               Its connection id, 0 if it serves none, is
                                     set, and the records read are added.

  @returns false if the thread is gone.
*/
static bool find_thread(ulonglong thread_internal_id,
                        PFS_metadata_lock_owner *owner) {
  PFS_thread_iterator it = global_thread_container.iterate();
  while (PFS_thread *pfs = it.scan_next()) {
    ++owner->records_read;
    pfs_optimistic_state lock;
    pfs->m_lock.begin_optimistic_lock(&lock);
    const bool match = pfs->m_thread_internal_id == thread_internal_id;
    const ulong id = pfs->m_processlist_id;
    if (match && pfs->m_lock.end_optimistic_lock(&lock)) {
      owner->processlist_id = id;
      return true;
    }
  }
  return false;
}

namespace {

/** A search, and what it has found. */
struct Search {
  Search(const MDL_key &key_arg, unsigned types_arg)
      : key(key_arg), types(types_arg) {}

  const MDL_key key;
  const unsigned types;

  /* Set when it ends. */
  bool has_ended{false};
  bool has_found{false};
  PFS_metadata_lock_owner owner;
  /** Internal id of the thread that owns the lock. */
  ulonglong thread{0};
  /** The thread that searches has such a lock, too; it does not look for it. */
  bool has_own{false};

  /** Threads that wait for its end. */
  int waiting{0};
};

/* When many requests for one lock time out at once, each search would read the
records of all. So a thread that finds a search for the same lock under way
waits for its end. Not instrumented: nobody holds the mutex for longer than it
takes to copy a pointer. */
std::mutex search_mutex;
std::condition_variable search_ended;
std::shared_ptr<Search> search_under_way;

}  // namespace

/** The search itself. */
static void search_owner(Search *search, ulonglong own_id) {
  auto *const owner = &search->owner;

  PFS_mdl_iterator it = global_mdl_container.iterate();
  while (PFS_metadata_lock *pfs = it.scan_next()) {
    ++owner->records_read;
    pfs_optimistic_state lock;
    pfs->m_lock.begin_optimistic_lock(&lock);

    /*
      The record may be reused while it is read. MDL_key::is_equal() compares
      no more bytes than the length of the key which was asked for, so it can
      give a wrong answer, which the optimistic lock finds out, but no more.
    */
    const opaque_mdl_type mdl_type = pfs->m_mdl_type;
    const ulonglong thread = pfs->m_owner_thread_id;
    DBUG_EXECUTE_IF("mutate_pfs_each_thread", find_thread(thread, owner););
    if (pfs->m_mdl_status != MDL_ticket::GRANTED || mdl_type >= MDL_TYPE_END ||
        (search->types & (1U << mdl_type)) == 0 || thread == 0 ||
        (mdl_type <= owner->type && thread != own_id) ||
        !search->key.is_equal(&pfs->m_mdl_key) ||
        !pfs->m_lock.end_optimistic_lock(&lock))
      continue;

    if (thread == own_id) {
      search->has_own = true;
      continue;
    }
    owner->type = mdl_type;
    search->thread = thread;
  }
  /* A thread that has ended has given up its locks. */
  search->has_found = search->thread != 0 && find_thread(search->thread, owner);
}

bool pfs_find_metadata_lock_owner(const MDL_key &key, unsigned types,
                                  PFS_metadata_lock_owner *owner) {
  DBUG_EXECUTE_IF("mutate_pfs_owner", return false;);
  const PFS_thread *self = PFS_thread::get_current_thread();
  const ulonglong own_id = self == nullptr ? 0 : self->m_thread_internal_id;

  auto search = std::make_shared<Search>(key, types);
  std::unique_lock<std::mutex> guard(search_mutex);
  const auto other = search_under_way;
  if (other == nullptr) {
    search_under_way = search;
  } else if (other->types == types && other->key.is_equal(&key) &&
             DBUG_EVALUATE_IF("mutate_pfs_each_searches", false, true)) {
    ++other->waiting;
    search_ended.wait(guard, [&other] { return other->has_ended; });
    /* The thread that has searched leaves its own locks out, others do not. */
    const bool is_own = other->has_found && other->thread == own_id;
    if (!is_own && (other->has_found || !other->has_own)) {
      *owner = other->owner;
      owner->records_read = 0;
      return other->has_found;
    }
  }
  guard.unlock();

  DBUG_EXECUTE_IF("pfs_search_waits_for_two", {
    for (int i = 0; i < 12000; ++i) {
      guard.lock();
      const int waiting = search->waiting;
      guard.unlock();
      if (waiting == 2) break;
      my_sleep(10000);
    }
  });
  search_owner(search.get(), own_id);

  guard.lock();
  search->has_ended = true;
  if (search_under_way == search) search_under_way = nullptr;
  guard.unlock();
  search_ended.notify_all();
  *owner = search->owner;
  return search->has_found;
}
