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

#include "my_inttypes.h"
#include "sql/mdl.h"
#include "storage/perfschema/pfs_buffer_container.h"
#include "storage/perfschema/pfs_instr.h"

/**
  Find an instrumented thread.

  @param      thread_internal_id  The thread.
  @param[out] processlist_id      Its connection id, 0 if it serves none.

  @returns false if the thread is gone.
*/
static bool find_processlist_id(ulonglong thread_internal_id,
                                ulong *processlist_id) {
  PFS_thread_iterator it = global_thread_container.iterate();
  while (PFS_thread *pfs = it.scan_next()) {
    pfs_optimistic_state lock;
    pfs->m_lock.begin_optimistic_lock(&lock);
    const bool match = pfs->m_thread_internal_id == thread_internal_id;
    *processlist_id = pfs->m_processlist_id;
    if (match && pfs->m_lock.end_optimistic_lock(&lock)) return true;
  }
  return false;
}

bool pfs_find_metadata_lock_owner(const MDL_key &key, unsigned types, int *type,
                                  unsigned long *processlist_id) {
  const PFS_thread *self = PFS_thread::get_current_thread();
  const ulonglong own_id = self == nullptr ? 0 : self->m_thread_internal_id;

  bool found = false;
  PFS_mdl_iterator it = global_mdl_container.iterate();
  while (PFS_metadata_lock *pfs = it.scan_next()) {
    pfs_optimistic_state lock;
    pfs->m_lock.begin_optimistic_lock(&lock);

    /*
      The record may be reused while it is read. MDL_key::is_equal() compares
      no more bytes than the length of the key which was asked for, so it can
      give a wrong answer, which the optimistic lock finds out, but no more.
    */
    const opaque_mdl_type mdl_type = pfs->m_mdl_type;
    const ulonglong owner = pfs->m_owner_thread_id;
    if (pfs->m_mdl_status != MDL_ticket::GRANTED || mdl_type < 0 ||
        mdl_type >= MDL_TYPE_END || (types & (1U << mdl_type)) == 0 ||
        owner == 0 || owner == own_id || !key.is_equal(&pfs->m_mdl_key) ||
        !pfs->m_lock.end_optimistic_lock(&lock))
      continue;

    ulong id;
    if (!find_processlist_id(owner, &id)) {
      /*
        A thread gives up its locks before it ends. If the record is still
        there the lock was handed over: that is done by XA PREPARE only.
      */
      if (!pfs->m_lock.end_optimistic_lock(&lock)) continue;
      id = 0;
    } else if (id == 0) {
      continue;  // A background thread.
    }
    if (!found || mdl_type > *type) {
      *type = mdl_type;
      *processlist_id = id;
      found = true;
    }
  }
  return found;
}
