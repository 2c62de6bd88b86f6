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
#include <memory>

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
#include "sql/log_event.h"
#include "sql/mysqld.h"
#include "sql/rpl_gtid.h"

namespace binlog::purge {

namespace {

/** The innermost purge of this thread. */
thread_local Logical_purge *current_purge = nullptr;

/** Purges that have LOCK_index of the binary log: 0 or 1, or 2 for one purge
    in the call of another. */
std::atomic<int> purges_with_lock_index{0};

ulonglong microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now() - start)
      .count();
}

/**
  Reads the names back which were written to the purge index file.

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

Logical_purge::Logical_purge(bool is_relay_log, bool releases_lock_index)
    : m_is_relay_log(is_relay_log),
      m_releases_lock_index(releases_lock_index),
      m_outer(releases_lock_index ? nullptr : current_purge) {
  if (!m_is_relay_log) current_purge = this;
}

Logical_purge::~Logical_purge() {
  if (m_is_relay_log) return;
  current_purge = m_outer;
  if (m_has_lock_index) --purges_with_lock_index;
  if (!m_is_in_background) return;

  if (!m_is_index_updated) {
    // An outer purge has no names of its own.
    if (!m_names.empty()) forget();
  } else if (m_outer != nullptr) {
    m_outer->m_names = std::move(m_names);
    m_outer->m_is_in_background = true;
    m_outer->m_is_index_updated = true;
  } else {
    release(current_thd, m_names);
  }
}

void Logical_purge::lock_index_acquired() {
  if (m_is_relay_log) return;
  m_has_lock_index = true;
  ++purges_with_lock_index;
}

int Logical_purge::sync_names(Binlog_index_monitor *index) {
  if (!m_is_relay_log && is_available()) {
    if (const int error = read_names(index, &m_names); error != 0) return error;
    // Nothing to remove is nothing to write down.
    m_is_in_background = m_names.empty() || !write_ahead(m_names);
    if (m_is_in_background) return 0;
    // Reading has left names in memory only which the file doesn't have.
    if (const int error = register_again(index, m_names); error != 0)
      return error;
    m_names.clear();
  }
  return index->sync_purge_index_file();
}

void Logical_purge::index_updated() {
  if (!m_is_in_background) return;
  m_is_index_updated = true;
  enqueue(m_names);
  DBUG_EXECUTE_IF("crash_binlog_purge_after_enqueue", DBUG_SUICIDE(););
}

bool Logical_purge::update_lost_gtids(const char *first_log) {
  Gtid_set *const lost_gtids =
      const_cast<Gtid_set *>(gtid_state->get_lost_gtids());

  // A look at counters, which no file is read for; the set asks for this lock.
  global_tsid_lock->wrlock();
  const bool has_gtids = !gtid_state->get_executed_gtids()->is_empty();
  global_tsid_lock->unlock();
  if (!has_gtids) return false;

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
