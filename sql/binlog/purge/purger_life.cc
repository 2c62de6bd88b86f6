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
  @file sql/binlog/purge/purger_life.cc

  The purger when the server starts and stops; its instruments.
*/

#include "sql/binlog/purge/purger_impl.h"

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "mutex_lock.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "my_thread.h"
#include "mysql/components/services/bits/psi_thread_bits.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/psi/mysql_thread.h"
#include "sql/binlog.h"  // log_bin_basename
#include "sql/binlog/purge/leftovers.h"
#include "sql/binlog_index.h"
#include "sql/mysqld.h"

namespace binlog::purge {

PSI_stage_info stage_waiting_for_files = {0, "Waiting for purged binary logs",
                                          0, PSI_DOCUMENT_ME};
PSI_stage_info stage_removing = {0, "Removing purged binary logs", 0,
                                 PSI_DOCUMENT_ME};
PSI_stage_info stage_pausing = {
    0, "Pausing between chunks of purged binary logs", 0, PSI_DOCUMENT_ME};
PSI_stage_info stage_waiting_for_removal = {
    0, "Waiting for the removal of purged binary logs", 0, PSI_DOCUMENT_ME};
PSI_stage_info stage_waiting_for_backup = {
    0, "Waiting for backup lock to remove purged binary logs", 0,
    PSI_DOCUMENT_ME};
PSI_stage_info stage_waiting_to_retry = {
    0, "Waiting to retry the removal of purged binary logs", 0,
    PSI_DOCUMENT_ME};

namespace {

PSI_mutex_key key_mutex;
PSI_mutex_key key_list_mutex;
PSI_cond_key key_cond;
PSI_cond_key key_idle_cond;
PSI_thread_key key_thread;

#ifdef HAVE_PSI_INTERFACE
void register_instruments() {
  static PSI_mutex_info mutexes[] = {
      {&key_mutex, "MYSQL_BIN_LOG::LOCK_purge", PSI_FLAG_SINGLETON, 0,
       PSI_DOCUMENT_ME},
      {&key_list_mutex, "MYSQL_BIN_LOG::LOCK_purge_list", PSI_FLAG_SINGLETON, 0,
       PSI_DOCUMENT_ME}};
  static PSI_cond_info conds[] = {
      {&key_cond, "MYSQL_BIN_LOG::COND_purge", PSI_FLAG_SINGLETON, 0,
       PSI_DOCUMENT_ME},
      {&key_idle_cond, "MYSQL_BIN_LOG::COND_purge_idle", PSI_FLAG_SINGLETON, 0,
       PSI_DOCUMENT_ME}};
  static PSI_thread_info threads[] = {{&key_thread, "binlog_purge", "bl_purge",
                                       PSI_FLAG_SINGLETON, 0, PSI_DOCUMENT_ME}};
  static PSI_stage_info *stages[] = {&stage_waiting_for_files,
                                     &stage_removing,
                                     &stage_pausing,
                                     &stage_waiting_for_removal,
                                     &stage_waiting_for_backup,
                                     &stage_waiting_to_retry};
  mysql_mutex_register("sql", mutexes, std::size(mutexes));
  mysql_cond_register("sql", conds, std::size(conds));
  mysql_thread_register("sql", threads, std::size(threads));
  mysql_stage_register("sql", stages, std::size(stages));
}
#endif

}  // namespace

void Purger::init() {
  if (m_is_initialized) return;
#ifdef HAVE_PSI_INTERFACE
  register_instruments();
#endif
  mysql_mutex_init(key_list_mutex, &m_list_mutex, MY_MUTEX_INIT_FAST);
  mysql_mutex_init(key_mutex, &m_mutex, MY_MUTEX_INIT_FAST);
  mysql_cond_init(key_cond, &m_cond);
  mysql_cond_init(key_idle_cond, &m_idle_cond);
  m_is_initialized = true;
}

void Purger::open(Binlog_index_monitor *index) {
  if (m_is_opened) return;
  init();
  m_is_opened = true;
  index->assert_owner();
  // SET adjusts it; an option file and the command line do not.
  const ulonglong given_size = opt_chunk_size;
  opt_chunk_size = adjusted_chunk_size(given_size);
  if (opt_chunk_size != given_size)
    log(WARNING_LEVEL, "option 'binlog_purge_chunk_size': unsigned value " +
                           std::to_string(given_size) + " adjusted to " +
                           std::to_string(opt_chunk_size) + ".");

  Purged_files listed;
  int error = 0;
  if (m_list.set_name(index->get_index_fname()))
    error = ENAMETOOLONG;
  else
    error = m_list.read(&listed);
  if (error != 0) {
    log(ERROR_LEVEL, "The list of purged binary logs '" + m_list.name() +
                         "' can't be read (" + text_of_errno(error) +
                         "): purges will remove files themselves. Files in it "
                         "stay on disk until it can be read at a start.");
    if (DBUG_EVALUATE_IF("mutate_binlog_purge_unread_is_empty", false, true))
      return;
  }

  // Files left by a server that stopped between list and index are alive.
  std::set<std::string> alive;
  const auto in_index = index->get_log_index(false);
  if (in_index.first != LOG_INFO_EOF) {
    log(ERROR_LEVEL,
        "The index of the binary log can't be read: the files in '" +
            m_list.name() + "' stay on disk until it can be read at a start.");
    return;
  }
  for (const std::string &name : in_index.second)
    alive.insert(name.substr(dirname_length(name.c_str())));

  std::string first;
  Purged_files pending;
  for (const Purged_file &file : listed) {
    if (alive.count(file.name.substr(dirname_length(file.name.c_str()))) != 0)
      continue;
    // Upstream's list of that kind may name it, too, and knows no identity.
    m_listed_at_start.insert(file.name);
    m_listed_at_start.insert(File_remover::name_while_shrinking(file.name));
    File_remover remover(file);
    if (!remover.find()) {
      if (!remover.is_replaced()) continue;
      ++status.errors;
      log(WARNING_LEVEL, text_of_replaced(file.name));
      continue;
    }
    if (pending.empty()) first = remover.path();
    pending.push_back(file);
  }
  mysql_mutex_lock(&m_mutex);
  for (const Purged_file &file : pending) m_queue.add(file);
  publish_pending();
  mysql_mutex_unlock(&m_mutex);

  if (!pending.empty())
    log(INFORMATION_LEVEL,
        std::to_string(pending.size()) +
            " binary logs were purged, but not yet removed, when the server "
            "stopped; the first one is '" +
            first + "'.");
  m_is_list_read = true;
  m_is_accepting = true;
  if (!opt_background) (void)remove_all_now(nullptr, true);
}

void Purger::start() {
  init();
  if (!m_is_accepting) return;
  warn_of_other_lists(m_list.name(), log_bin_basename);

  // By the name while shrinking, without the folder.
  std::set<std::string> known;
  {
    /* Replication and events have been started: somebody may purge already. */
    MUTEX_LOCK(guard, &m_mutex);
    m_queue.for_each([&known](const Pending_file &file) {
      const std::string name =
          File_remover::name_while_shrinking(file.file.name);
      known.insert(name.substr(dirname_length(name.c_str())));
    });
  }
  Purged_files orphans;
  for (const Purged_file &file : find_shrinking(log_bin_basename))
    if (known.count(file.name.substr(dirname_length(file.name.c_str()))) == 0)
      orphans.push_back(file);
  if (!orphans.empty())
    log(WARNING_LEVEL,
        std::to_string(orphans.size()) +
            " purged binary logs are not in the list of them, and will be "
            "removed; the first one is '" +
            orphans.front().name + "'.");

  MUTEX_LOCK(guard, &m_mutex);
  m_listed_at_start.clear();
  for (const Purged_file &file : orphans) m_queue.add(file);
  publish_pending();
  const int error = DBUG_EVALUATE_IF("binlog_purge_no_thread", true, false)
                        ? EAGAIN
                        : mysql_thread_create(key_thread, &m_thread, nullptr,
                                              binlog_purge_thread, nullptr);
  m_is_running = error == 0;
  m_was_started = true;
  if (error != 0) {
    m_is_accepting = false;
    log(ERROR_LEVEL,
        "The thread that removes purged binary logs can't be started (" +
            text_of_errno(error) + "): purges will remove files themselves.");
  }
}

void Purger::stop() {
  m_is_accepting = false;
  if (!m_is_running) return;
  mysql_mutex_lock(&m_mutex);
  m_is_stopping = true;
  m_is_finishing = opt_at_shutdown == AT_SHUTDOWN_FINISH;
  m_progress_logged_at = Clock::now();
  const std::string first_progress =
      m_is_finishing && !m_queue.is_empty() ? progress() : "";
  mysql_cond_signal(&m_cond);
  mysql_cond_broadcast(&m_idle_cond);
  mysql_mutex_unlock(&m_mutex);
  if (!first_progress.empty()) log(progress_level(), first_progress);
  // It may wait for a backup lock, but nobody is connected who could have it.
  my_thread_join(&m_thread, nullptr);
  m_is_running = false;
}

void Purger::leave_to_next_start() {
  if (!m_is_initialized) return;
  stop();
  mysql_mutex_lock(&m_list_mutex);
  mysql_mutex_lock(&m_mutex);
  // A start that was given up has removed nothing that the list doesn't have.
  if (m_is_list_read && m_was_started && m_list.lines() > 0) {
    const Purged_files rest = m_queue.files();
    // An upstream server would not start if it couldn't remove one of them.
    std::vector<std::string> for_upstream;
    m_queue.for_each([&for_upstream](const Pending_file &file) {
      if (file.last_errno == 0) for_upstream.push_back(file.remover.path());
    });
    int error = m_list.rewrite(rest);
    DBUG_EXECUTE_IF("crash_binlog_purge_before_leaving_files", DBUG_SUICIDE(););
    if (error == 0 && !for_upstream.empty())
      error = m_list.leave_to_upstream(for_upstream);
    if (!rest.empty())
      log(INFORMATION_LEVEL, std::to_string(rest.size()) +
                                 " purged binary logs will be removed after "
                                 "the next start of the server; the first one "
                                 "is '" +
                                 rest.front().name + "'.");
    if (error != 0)
      log(WARNING_LEVEL, "The list of purged binary logs '" + m_list.name() +
                             "' can't be written (" + text_of_errno(error) +
                             ").");
  }
  m_queue = Pending_queue();
  mysql_mutex_unlock(&m_mutex);
  mysql_mutex_unlock(&m_list_mutex);

  mysql_cond_destroy(&m_idle_cond);
  mysql_cond_destroy(&m_cond);
  mysql_mutex_destroy(&m_mutex);
  mysql_mutex_destroy(&m_list_mutex);
  m_is_initialized = false;
}

}  // namespace binlog::purge
