#ifndef MDL_LOCK_TIMEOUT_INCLUDED
#define MDL_LOCK_TIMEOUT_INCLUDED
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
  @file sql/mdl_lock_timeout.h

  What the metadata lock subsystem tells about a wait which ran out of time.

  mdl.cc knows nothing about THD and is also linked into small unit tests, so
  it reports through a pointer. Until somebody sets the pointer the error is
  upstream's ER_LOCK_WAIT_TIMEOUT.
*/

#include "my_systime.h"  // Timeout_type
#include "sql/mdl.h"

class THD;

/** Who stands in the way of a metadata lock request. */
struct MDL_blocker {
  enum enum_kind {
    /** Nobody any more, or nobody that this subsystem can name. */
    NONE = 0,
    /** A granted lock. */
    HOLDER,
    /** A pending request which goes first. */
    WAITER
  };

  enum_kind kind{NONE};
  /** Type of the lock held or asked for by the blocker. */
  enum_mdl_type type{MDL_TYPE_END};
  /**
    Connection id (as in SHOW PROCESSLIST), 0 if the blocker has no THD: the
    locks of a prepared XA transaction are kept without one.
  */
  unsigned long connection_id{0};
  /**
    Bitmap (bit number is enum_mdl_type) of the conflicting lock types granted
    on the fast path, that is as a counter only: their owners are not known
    here. 0 if kind is HOLDER.
  */
  unsigned fast_path_types{0};
};

/** What the server above the metadata lock subsystem makes of such a wait. */
class MDL_timeout_reporter {
 public:
  virtual ~MDL_timeout_reporter() = default;

  /**
    @returns the connection id of a session which holds or waits for a lock.
    Called with MDL_lock::m_rwlock read-locked, must take no other lock.
  */
  virtual unsigned long connection_id(const THD *thd) const = 0;

  /**
    Raise ER_LOCK_WAIT_TIMEOUT for a request of the current thread.

    Called without any lock of the MDL subsystem, after the request was removed
    from the waiting queue.

    @param owner    Owner of the context which waited.
    @param key      Object to be locked.
    @param type     Type of the lock asked for.
    @param timeout  Seconds the request could wait, 0 if it could not.
    @param blocker  Who stood in the way when the time was over.
  */
  virtual void report(MDL_context_owner *owner, const MDL_key &key,
                      enum_mdl_type type, Timeout_type timeout,
                      const MDL_blocker &blocker) const = 0;
};

/** Set once, before there are threads; nullptr: upstream's message. */
extern const MDL_timeout_reporter *mdl_timeout_reporter;

#endif  // MDL_LOCK_TIMEOUT_INCLUDED
