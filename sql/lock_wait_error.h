#ifndef LOCK_WAIT_ERROR_INCLUDED
#define LOCK_WAIT_ERROR_INCLUDED
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
  @file sql/lock_wait_error.h

  The text of ER_LOCK_WAIT_TIMEOUT (1205).

  Metadata locks, table-level locks and row locks all end in this error, and
  upstream's text does not tell which of two variables to raise. With
  @@global.lock_wait_timeout_details = ON the text goes on, in parentheses,
  with the variable which governs the wait, its value, and the connection in
  the way if it is known. It does not grow beyond the 128 characters of
  MESSAGE_TEXT, so that a handler can raise it again. A Note tells the rest:
  what was waited for, and how it is held. Error number, SQLSTATE and the
  beginning of the text stay upstream's.

  Seconds are the length of the wait that was allowed, not a measured time. A
  variable is only named when it did govern the wait.
*/

#include <stddef.h>

#include "my_inttypes.h"
#include "my_sys.h"

class THD;
struct TABLE;
struct TABLE_SHARE;

/** @@global.lock_wait_timeout_details. Read without a lock: a bool. */
extern bool opt_lock_wait_timeout_details;

/**
  While it lives, metadata lock waits of this thread have a timeout of their
  own, so that lock_wait_timeout must not be blamed even if it has the same
  value.
*/
class Own_lock_wait_timeout_guard {
 public:
  Own_lock_wait_timeout_guard();
  ~Own_lock_wait_timeout_guard();
  Own_lock_wait_timeout_guard(const Own_lock_wait_timeout_guard &) = delete;
  Own_lock_wait_timeout_guard &operator=(const Own_lock_wait_timeout_guard &) =
      delete;
};

/**
  Raise ER_LOCK_WAIT_TIMEOUT for a wait until nobody uses an old version of a
  table any more (FLUSH TABLES). Governed by lock_wait_timeout.
  The share must not be destroyed meanwhile, LOCK_open must not be held.
*/
void report_table_flush_timeout(THD *thd, const TABLE_SHARE *share);

/**
  Raise the error of mysql_lock_tables().

  @param thd      Current session.
  @param error    Error number; ER_LOCK_WAIT_TIMEOUT is given its details.
  @param tables   Tables to be locked; the name is given if there is only one.
  @param count    Number of tables.
  @param timeout  Seconds allowed.
*/
void report_table_lock_error(THD *thd, int error, TABLE *const *tables,
                             size_t count, ulong timeout);

/**
  To be called by a storage engine which returns HA_ERR_LOCK_WAIT_TIMEOUT, for
  report_engine_lock_timeout() to tell.

  @param thd       Current session.
  @param variable  The system variable which governs the wait.
  @param seconds   Its value in this session.
*/
void note_engine_lock_timeout(const THD *thd, const char *variable,
                              ulonglong seconds);

/**
  Raise ER_LOCK_WAIT_TIMEOUT for a lock inside a storage engine. Upstream's
  text if the engine said nothing about it during this statement.

  @param thd      Current session, may be nullptr.
  @param lock     Kind of lock, a noun.
  @param db       Database, nullptr if not to be told.
  @param table    Table, nullptr if not to be told.
  @param errflag  Flags for my_error().
*/
void report_engine_lock_timeout(THD *thd, const char *lock, const char *db,
                                const char *table, myf errflag);

#endif  // LOCK_WAIT_ERROR_INCLUDED
