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

#ifndef SQL_BINLOG_PURGE_PURGER_H
#define SQL_BINLOG_PURGE_PURGER_H

/**
  @file sql/binlog/purge/purger.h

  Removal of purged binary logs by a thread of the server: its queue, the
  thread itself, and what the rest of the server calls.

  Order of locks: LOCK_log, LOCK_index, Purger::m_list_mutex,
  Purger::m_mutex. The thread takes none of the binary log's locks. While it
  touches a purged file, it has no lock but a shared backup lock.
*/

#include "my_inttypes.h"
#include "sql/binlog/purge/file_remover.h"

class Binlog_index_monitor;
class THD;

namespace binlog::purge {

/* System variables; see sql/binlog/purge/sys_vars.ic. */

/** binlog_purge_background: off gives upstream's purge. */
extern bool opt_background;
/** binlog_purge_chunk_size, bytes; 0 removes a file by one unlink. */
extern ulonglong opt_chunk_size;
/** binlog_purge_chunk_interval, milliseconds between two chunks. */
extern uint opt_chunk_interval;
/** binlog_purge_min_free_percent: with less disk free there are no pauses. */
extern uint opt_min_free_percent;
/** binlog_purge_at_shutdown: one of the values below. */
extern ulong opt_at_shutdown;
enum At_shutdown : ulong { AT_SHUTDOWN_DEFER, AT_SHUTDOWN_FINISH };

/** binlog_purge_wait, a bit of THD::variables.option_bits which query_options.h
    does not use. */
constexpr ulonglong OPTION_BINLOG_PURGE_WAIT = 1ULL << 63;

/** Makes the thread look at the variables at once. */
void wake_up();

/** The value that is used for a value of binlog_purge_chunk_size: 0, or a
    multiple of 4096. */
ulonglong adjusted_chunk_size(ulonglong size);

/* Life of the server. */

/**
  Reads what an earlier run of the server left to be removed, once. With
  binlog_purge_background off the files are removed here.

  To be called with LOCK_index held, after the index file was opened and
  before upstream deletes the files in its own list of that kind.
*/
void open(Binlog_index_monitor *index);

/** Registers status variables and instruments; starts the thread if there is
    a binary log. */
void start();

/** Stops the thread. From now on purges remove files themselves. */
void stop();

/**
  Leaves the files that aren't removed to the next start of this server or of
  upstream's. To be called after stop(), when nobody uses the binary log.
*/
void leave_to_next_start();

/* Purges. */

/** Whether the thread takes files now. */
bool is_available();

/**
  Writes files to the list of pending ones, durably. After it, either enqueue()
  or forget() has to be called, before LOCK_index is released.

  @return true if they couldn't be written: the purge has to remove the files
          itself. The error has been logged.
*/
bool write_ahead(const Purged_files &files);

/** The files are still in the index: it could not be updated. */
void forget();

/** The files are no longer in the index; the thread may remove them. */
void enqueue(const Purged_files &files);

/** Whether the thread has to remove this file, so that others must not. */
bool is_pending(const char *name);

/**
  Refuses a PURGE BINARY LOGS that is to wait and would keep locks meanwhile, as
  STOP REPLICA is refused. The thread may wait for a backup lock, and the owner
  of that lock for these locks; no deadlock detector sees this.

  @return true if it has to wait and has locks, with the error reported
*/
bool refuse_wait(THD *thd);

/**
  With binlog_purge_wait on, waits until each pending file has been removed, or
  its removal has failed. To be called by PURGE BINARY LOGS; gives up the backup
  lock before it waits.

  @return true with an error reported: the session was killed meanwhile, or a
          file could not be removed
*/
bool wait_if_asked(THD *thd);

/* RESET BINARY LOGS AND GTIDS, which may use the names of pending files again.
   It has the files removed before it takes any lock. Under its locks it removes
   the rest: files that came meanwhile, or whose removal has failed. */

/**
  Waits until each pending file has been removed, or its removal has failed; or
  removes the files, if there is no thread. Does nothing if RESET is going to be
  refused.

  @return true if the session was killed meanwhile, with the error reported
*/
bool prepare_reset(THD *thd);

/**
  Removes what is pending. What can't be removed stays pending.

  To be called with LOCK_log and LOCK_index held, before the logs of the index
  are removed: a server that is killed after that, and before the index is gone,
  does not start. So that must not take long.
*/
void begin_reset();

/**
  Tries what is still pending once more. What can't be removed is left on disk,
  with a warning, as by upstream's purge.

  To be called with LOCK_log and LOCK_index held, once the logs of the index are
  gone and before the first new one is there.
*/
void finish_reset(THD *thd);

/**
  A rotation, and so all commits, waited for a purge.

  @param microseconds  how long
*/
void rotation_waited(ulonglong microseconds);

/**
  A purge held a lock that commits need. A commit that waited for it, if any,
  waited no longer than the lock was held.

  @param microseconds  how long it was held
*/
void commits_waited_at_most(ulonglong microseconds);

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_PURGER_H
