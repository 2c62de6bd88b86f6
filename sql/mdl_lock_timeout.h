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

/** What blocks a metadata lock request. */
struct MDL_blocker {
  enum enum_kind {
    /** Nothing any more, or nothing that can be named. */
    NONE = 0,
    /** A granted lock. */
    HOLDER,
    /** A pending request which goes first. */
    WAITER
  };
  enum enum_owner {
    CONNECTION,
    /** A thread of the server which serves no connection. */
    BACKGROUND_THREAD,
    /** The locks of a prepared XA transaction belong to no thread. */
    PREPARED_XA
  };

  enum_kind kind{NONE};
  enum_owner owner{CONNECTION};
  /** Type of the lock held or asked for by the blocker. */
  enum_mdl_type type{MDL_TYPE_END};
  /** As in SHOW PROCESSLIST; 0 unless the owner is a connection. */
  unsigned long connection_id{0};
};

/** What the server above the metadata lock subsystem makes of such a wait. */
class MDL_timeout_reporter {
 public:
  virtual ~MDL_timeout_reporter() = default;

  /** @returns false if nobody wants to know who is in the way. */
  virtual bool is_enabled() const = 0;

  /**
    @returns the connection id of a session which holds or waits for a lock, 0
    if it is a background thread. Called with MDL_lock::m_rwlock read-locked,
    must take no other lock.
  */
  virtual unsigned long connection_id(const THD *thd) const = 0;

  /**
    Find the owner of a lock which is but a counter in this subsystem.

    Called without any lock of it, while the request is still in the queue: as
    long as it is there no request which conflicts with it is granted, so what
    is found has been in its way.

    @param      key      The object.
    @param      types    Bitmap (bit number is enum_mdl_type) of the lock types
                         which conflict with the request.
    @param[out] blocker  Not changed if nobody was found.
  */
  virtual void find_fast_path_owner(const MDL_key &key, unsigned types,
                                    MDL_blocker *blocker) const = 0;

  /**
    Raise ER_LOCK_WAIT_TIMEOUT for a request of the current thread.

    Called without any lock of the MDL subsystem, after the request was removed
    from the waiting queue.

    @param owner    Owner of the context which waited.
    @param key      Object to be locked.
    @param type     Type of the lock asked for.
    @param timeout  Seconds the request could wait, 0 if it could not.
    @param blocker  What blocked it when the time was over.
  */
  virtual void report(MDL_context_owner *owner, const MDL_key &key,
                      enum_mdl_type type, Timeout_type timeout,
                      const MDL_blocker &blocker) const = 0;
};

/** Set once, before there are threads; nullptr: upstream's message. */
extern const MDL_timeout_reporter *mdl_timeout_reporter;

#endif  // MDL_LOCK_TIMEOUT_INCLUDED
