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

#ifndef SQL_BINLOG_PURGE_LOGICAL_PURGE_H
#define SQL_BINLOG_PURGE_LOGICAL_PURGE_H

/**
  @file sql/binlog/purge/logical_purge.h

  The part of a purge that is done under the locks of the binary log, and how
  long that keeps commits waiting.
*/

#include <chrono>
#include <string>
#include <vector>

#include "sql/binlog/purge/file_remover.h"

class Binlog_index_monitor;
class THD;

namespace binlog::purge {

/**
  One purge, while it has LOCK_index. An object on the stack of
  MYSQL_BIN_LOG::purge_logs(), and of purge_logs_before_date(), which calls the
  former with LOCK_index held.

  Does nothing for relay logs. With binlog_purge_background off it only
  measures how long it keeps rotations waiting.
*/
class Logical_purge {
 public:
  explicit Logical_purge(bool is_relay_log) : m_is_relay_log(is_relay_log) {}

  /** Only ends what lock_index_acquired() began. */
  ~Logical_purge();

  Logical_purge(const Logical_purge &) = delete;
  Logical_purge &operator=(const Logical_purge &) = delete;

  /** LOCK_index has been acquired: rotations that wait, wait for a purge. */
  void lock_index_acquired();

  /**
    Makes the names that were registered in the purge index file durable,
    instead of a sync of that file.

    @return 0, or the error of Binlog_index_monitor::sync_purge_index_file()
  */
  int sync_names(Binlog_index_monitor *index);

  /** The names are no longer in the index. */
  void index_updated() { m_is_index_updated = true; }

  /** The files are not to be removed by the purge. */
  bool is_in_background() const { return m_is_in_background; }

  /**
    Adds to the GTIDs that are no longer in the binary log, without reading a
    file while the lock of the TSID map is held.

    @param first_log  the first file which is left
    @return false if successful, true otherwise, with the error reported
  */
  bool update_lost_gtids(const char *first_log);

  /**
    Hands the files over to the thread, or forgets them if the index could not
    be updated. To be called in any case, with LOCK_index still held: from then
    on the list of pending files may be made shorter or removed.

    @param thd  session of the purge; nullptr if there is none
  */
  void finish(Binlog_index_monitor *index, THD *thd);

 private:
  const bool m_is_relay_log;
  bool m_has_lock_index{false};
  bool m_is_in_background{false};
  bool m_is_index_updated{false};
  /** Files that are in the list. */
  Purged_files m_files;
  /** Names in the index without a file. */
  std::vector<std::string> m_missing;
  /** Those of m_files that are folders, or can't be looked at. */
  std::vector<std::string> m_doubtful;
};

/**
  Measures how long a rotation, and so all commits, waits for LOCK_index while
  a purge has it. Has to exist during the acquisition.
*/
class Rotation_wait {
 public:
  explicit Rotation_wait(bool is_relay_log);
  ~Rotation_wait();

 private:
  bool m_is_purge_running;
  std::chrono::steady_clock::time_point m_start;
};

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_LOGICAL_PURGE_H
