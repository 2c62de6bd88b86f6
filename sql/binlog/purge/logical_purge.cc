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

#include "sql/binlog/purge/logical_purge.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "my_dbug.h"
#include "my_sys.h"
#include "my_thread_local.h"
#include "mysql/binlog/event/binlog_event.h"
#include "mysql/components/services/log_builtins.h"
#include "mysqld_error.h"
#include "sql/binlog.h"
#include "sql/binlog/purge/purger.h"
#include "sql/binlog_index.h"
#include "sql/binlog_reader.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "sql/derror.h"   // ER_THD
#include "sql/handler.h"  // ha_binlog_index_purge_file
#include "sql/log_event.h"
#include "sql/mysqld.h"
#include "sql/rpl_gtid.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"

namespace binlog::purge {

namespace {

/** Purges that have LOCK_index of the binary log: 0 or 1, or 2 if one purge
    calls another. */
std::atomic<int> purges_with_lock_index{0};

ulonglong microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now() - start)
      .count();
}

/**
  Reads back the names that were written to the purge index file.

  @return 0 or the error
*/
int read_names(Binlog_index_monitor *index, std::vector<std::string> *names) {
  char name[FN_REFLEN];
  size_t length;
  if (const int error = index->reinit_purge_index_file(); error != 0)
    return error;
  while ((length = index->gets_purge_index_file(name, FN_REFLEN)) > 1)
    names->emplace_back(name, length - 1);  // without the '\n'
  return index->error_purge_index_file();
}

/**
  Writes a purge index file anew, with these names.

  @return 0 or the error
*/
int register_again(Binlog_index_monitor *index,
                   const std::vector<std::string> &names) {
  if (const int error = index->open_purge_index_file(true); error != 0)
    return error;
  for (const std::string &name : names) {
    if (const int error = index->register_purge_index_entry(name.c_str());
        error != 0)
      return error;
  }
  return 0;
}

/**
  Reads the GTIDs that were in the binary log before the given file.

  The event is one of the file's first, and is in every file since 5.7, so
  that no other file and no transaction has to be read.

  @return false if it was found, true otherwise
*/
bool read_previous_gtids(const char *log_name, Gtid_set *gtids) {
  Binlog_file_reader reader(opt_source_verify_checksum);
  if (reader.open(log_name)) return true;
  for (ulong events_read [[maybe_unused]] = 1;; ++events_read) {
    const std::unique_ptr<Log_event> event(reader.read_event_object());
    if (event == nullptr) return true;
    switch (event->get_type_code()) {
      case mysql::binlog::event::FORMAT_DESCRIPTION_EVENT:
      case mysql::binlog::event::ROTATE_EVENT:
        break;
      case mysql::binlog::event::PREVIOUS_GTIDS_LOG_EVENT:
#ifndef NDEBUG
        // Upstream's tests look for this note, which debug builds write.
        LogErr(INFORMATION_LEVEL, ER_BINLOG_EVENTS_READ_FROM_BINLOG_INFO,
               events_read, log_name);
#endif
        return static_cast<Previous_gtids_log_event *>(event.get())
                   ->add_to_set(gtids) != 0;
      default:
        return true;
    }
  }
}

}  // namespace

Logical_purge::~Logical_purge() {
  if (m_has_lock_index) --purges_with_lock_index;
}

void Logical_purge::lock_index_acquired() {
  if (m_is_relay_log) return;
  m_has_lock_index = true;
  ++purges_with_lock_index;
}

int Logical_purge::sync_names(Binlog_index_monitor *index) {
  if (!m_is_relay_log && is_available()) {
    std::vector<std::string> names;
    if (const int error = read_names(index, &names); error != 0) return error;
    for (const std::string &name : names) {
      Purged_file file{name, std::nullopt};
      const int error = identify(&file);
      if (error == ENOENT) {
        m_missing.push_back(name);
        continue;
      }
      if (error != 0) m_doubtful.push_back(name);
      m_files.push_back(std::move(file));
    }
    // Nothing to remove is nothing to write down.
    m_is_in_background = m_files.empty() || !write_ahead(m_files);
    if (m_is_in_background) {
      if (current_thd != nullptr)
        DEBUG_SYNC(current_thd, "binlog_purge_after_list");
      return DBUG_EVALUATE_IF("binlog_purge_fail_after_list", LOG_INFO_IO, 0);
    }
    // After the reading, there are names in memory that the file doesn't have.
    if (const int error = register_again(index, names); error != 0)
      return error;
  }
  return index->sync_purge_index_file();
}

void Logical_purge::finish(Binlog_index_monitor *index, THD *thd) {
  if (!m_is_in_background) return;
  index->assert_owner();
  if (!m_is_index_updated) {
    if (!m_files.empty()) forget();
    return;
  }
  // As Binlog_index_monitor::purge_index_entry() does.
  for (const std::string &name : m_missing) {
    if (thd != nullptr)
      push_warning_printf(thd, Sql_condition::SL_WARNING, ER_LOG_PURGE_NO_FILE,
                          ER_THD(thd, ER_LOG_PURGE_NO_FILE), name.c_str());
    LogErr(INFORMATION_LEVEL, ER_CANT_STAT_FILE, name.c_str());
  }
  // Upstream fails with them; the thread will go on trying.
  for (const std::string &name : m_doubtful) {
    if (thd != nullptr)
      push_warning_printf(thd, Sql_condition::SL_WARNING,
                          ER_BINLOG_PURGE_FATAL_ERR,
                          "a problem with deleting %s; "
                          "consider examining correspondence "
                          "of your binlog index file "
                          "to the actual binlog files",
                          name.c_str());
  }
  for (const Purged_file &file : m_files)
    ha_binlog_index_purge_file(thd, file.name.c_str());
  if (m_files.empty()) return;
  enqueue(m_files);
  DBUG_EXECUTE_IF("crash_binlog_purge_after_enqueue", DBUG_SUICIDE(););
}

bool Logical_purge::update_lost_gtids(const char *first_log) {
  Gtid_set *const lost_gtids =
      const_cast<Gtid_set *>(gtid_state->get_lost_gtids());

  // Looks at counters and reads no file; the set asks for this lock.
  global_tsid_lock->wrlock();
  const bool has_gtids = !gtid_state->get_executed_gtids()->is_empty();
  global_tsid_lock->unlock();
  if (!has_gtids || DBUG_EVALUATE_IF("mutate_binlog_purge_gtids", true, false))
    return false;

  // Sets of our own, so that the server's need not be locked for the reading.
  Checkable_rwlock tsid_lock;
  Tsid_map tsid_map(&tsid_lock);
  Gtid_set gtids(&tsid_map, &tsid_lock);
  tsid_lock.wrlock();
  bool error = read_previous_gtids(first_log, &gtids);
  if (error || (gtids.is_empty() && !binlog_gtid_simple_recovery)) {
    // Files of an old server, or a damaged one: upstream knows what to do.
    gtids.clear();
    error = mysql_bin_log.init_gtid_sets(
        nullptr, &gtids, opt_source_verify_checksum, false, nullptr, nullptr);
  }
  if (!error) {
    global_tsid_lock->wrlock();
    const auto start = std::chrono::steady_clock::now();
    error = lost_gtids->add_gtid_set(&gtids) != RETURN_STATUS_OK;
    global_tsid_lock->unlock();
    // No commit gets its GTID meanwhile.
    commits_waited_at_most(microseconds_since(start));
  }
  tsid_lock.unlock();
  return error;
}

Rotation_wait::Rotation_wait(bool is_relay_log)
    : m_is_purge_running(!is_relay_log && purges_with_lock_index > 0) {
  if (m_is_purge_running) m_start = std::chrono::steady_clock::now();
}

Rotation_wait::~Rotation_wait() {
  if (m_is_purge_running) rotation_waited(microseconds_since(m_start));
}

}  // namespace binlog::purge
