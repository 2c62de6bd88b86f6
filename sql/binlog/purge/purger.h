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
  Purger::m_mutex, THD::LOCK_thd_data. The thread takes none of the binary
  log's locks, and no lock at all while it touches a purged file but a shared
  backup lock.
*/

#include <string>
#include <vector>

#include "my_inttypes.h"

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
/** binlog_purge_hurry: no pauses. */
extern bool opt_hurry;
/** binlog_purge_at_shutdown: one of the values below. */
extern ulong opt_at_shutdown;
enum At_shutdown : ulong { AT_SHUTDOWN_DEFER, AT_SHUTDOWN_FINISH };

/** Makes the thread look at the variables at once. */
void wake_up();

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
  Leaves what isn't removed to the next start of the server, of this one or of
  upstream's. To be called after stop(), when nobody uses the binary log.
*/
void leave_to_next_start();

/* Purges. */

/** Whether the thread takes files now. */
bool is_available();

/**
  Writes names to the list of pending files, durably. After it, either
  enqueue() or forget() has to be called with the same names, before
  LOCK_index is released.

  @return true if they couldn't be written: the purge has to remove the files
          itself. The error has been logged.
*/
bool write_ahead(const std::vector<std::string> &names);

/** The files are still in the index: it could not be updated. */
void forget();

/** The files are no longer in the index; the thread leaves them alone until
    release(). */
void enqueue(const std::vector<std::string> &names);

/**
  The purge has released its locks: looks at the files, warns the user of
  those that are missing as upstream does, and leaves them to the thread.

  @param thd    session of the purge; nullptr at start-up
  @param names  as passed to enqueue()
*/
void release(THD *thd, const std::vector<std::string> &names);

/** Whether the thread has to remove this file, so that others must not. */
bool is_pending(const char *name);

/**
  Removes all pending files at once, as RESET BINARY LOGS AND GTIDS may use
  their names again.

  To be called with LOCK_log and LOCK_index held.

  @return true if one can't be removed; the error is reported and logged as
          upstream does with those it removes
*/
bool remove_all_for_reset(THD *thd);

/**
  A rotation, and so all commits, waited for a purge.

  @param microseconds  how long
*/
void rotation_waited(ulonglong microseconds);

/**
  A purge held a lock that commits need; if one waited, it was no longer.

  @param microseconds  how long
*/
void commits_waited_at_most(ulonglong microseconds);

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_PURGER_H
