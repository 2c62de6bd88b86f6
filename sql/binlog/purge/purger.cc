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

#include "sql/binlog/purge/purger.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string>

#include "mutex_lock.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "mysql/components/services/log_builtins.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysqld_error.h"
#include "sql/binlog/purge/purger_impl.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "sql/mdl.h"  // ENTER_COND
#include "sql/query_options.h"
#include "sql/rpl_group_replication.h"
#include "sql/sql_backup_lock.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"

namespace binlog::purge {

bool opt_background;
ulonglong opt_chunk_size;
uint opt_chunk_interval;
uint opt_min_free_percent;
ulong opt_at_shutdown;

Purger purger;

namespace {

/** Chunks are multiples of this, and so of the blocks of usual file systems. */
constexpr ulonglong chunk_size_unit = 4096;

}  // namespace

void log(loglevel level, const std::string &text) {
  LogErr(level, ER_LOG_PRINTF_MSG, text.c_str());
}

std::string text_of_errno(int number) {
  char buffer[MYSYS_STRERROR_SIZE];
  return std::to_string(number) + " - " +
         my_strerror(buffer, sizeof(buffer), number);
}

std::string count_of(size_t files, ulonglong bytes) {
  return std::to_string(files) + " purged binary logs, " +
         std::to_string(bytes) + " bytes";
}

std::string text_of_replaced(const std::string &name) {
  return "'" + name +
         "' is not the binary log that was purged under this name: its inode, "
         "size or time of change differs. It stays on disk; remove it if it is "
         "not needed.";
}

std::string text_of_failure(const File_remover &remover,
                            const char *what_next) {
  return "Purged binary log '" + remover.path() +
         "': " + remover.failed_call() + " failed (" +
         text_of_errno(remover.failed_errno()) + "). " + what_next +
         "; further files with this error are only counted, in "
         "Binlog_purge_errors.";
}

/* ---- the queue ---------------------------------------------------------- */

/** What SHOW STATUS tells of the queue. */
void Purger::publish_pending() {
  mysql_mutex_assert_owner(&m_mutex);
  status.files_pending = m_queue.size();
  status.bytes_pending = m_queue.bytes();
}

/**
  Writes the list anew after somebody has removed or replaced it: all files are
  in memory, too.

  @param more  files that are not in the queue yet
  @return 0 or errno
*/
int Purger::restore_list(const Purged_files &more) {
  mysql_mutex_assert_owner(&m_list_mutex);
  Purged_files files;
  {
    MUTEX_LOCK(guard, &m_mutex);
    files = m_queue.files();
  }
  files.insert(files.end(), more.begin(), more.end());
  const int error = m_list.rewrite(files);
  if (error == 0)
    log(WARNING_LEVEL, "The list of purged binary logs '" + m_list.name() +
                           "' was removed or replaced by somebody else. It has "
                           "been written anew; do not touch it.");
  return error;
}

bool Purger::write_ahead(const Purged_files &files) {
  MUTEX_LOCK(list_guard, &m_list_mutex);
  assert(!m_is_purge_in_flight);
  DBUG_EXECUTE_IF("crash_binlog_purge_before_list", DBUG_SUICIDE(););
  const int error = DBUG_EVALUATE_IF("mutate_binlog_purge_list", true, false)
                        ? 0
                    : m_list.is_intact() ? m_list.append(files)
                                         : restore_list(files);
  if (error != 0) {
    ++status.errors;
    // With expiry there would be one at each rotation.
    if (error != m_list_errno)
      log(WARNING_LEVEL,
          "Binary logs are removed by the purge itself, which may delay "
          "commits, as long as the list of purged files '" +
              m_list.name() + "' can't be written (" + text_of_errno(error) +
              ").");
    m_list_errno = error;
    return true;
  }
  m_list_errno = 0;
  m_is_purge_in_flight = true;
  DBUG_EXECUTE_IF("crash_binlog_purge_after_list", DBUG_SUICIDE(););
  return false;
}

void Purger::forget() {
  MUTEX_LOCK(list_guard, &m_list_mutex);
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_forget", true, false)) return;
  m_is_purge_in_flight = false;
  // The names stay in the list until the thread makes it shorter. It may have
  // looked at the list already, and be about to wait.
  MUTEX_LOCK(guard, &m_mutex);
  m_has_forgotten =
      DBUG_EVALUATE_IF("mutate_binlog_purge_forget_late", false, true);
  mysql_cond_signal(&m_cond);
}

void Purger::enqueue(const Purged_files &files) {
  MUTEX_LOCK(list_guard, &m_list_mutex);
  m_is_purge_in_flight = false;
  const ulonglong statement =
      current_thd != nullptr ? current_thd->query_id : 0;
  MUTEX_LOCK(guard, &m_mutex);
  for (const Purged_file &file : files) m_queue.add(file, statement);
  publish_pending();
  mysql_cond_signal(&m_cond);
}

bool Purger::is_pending(const std::string &name) {
  if (!m_is_initialized) return false;
  MUTEX_LOCK(guard, &m_mutex);
  return m_listed_at_start.count(name) != 0 || m_queue.has(name) ||
         m_queue.has(File_remover::name_before_shrinking(name));
}

/**
  Removes all files, in the calling thread. Several may do so at a time; each
  takes the next file.

  @param thd           session, whose killing ends the removal; may be nullptr
  @param keeps_failed  true: files that can't be removed stay pending, and those
                       that have failed before are not tried; false: both are
                       tried once and are no longer pending
  @return those which can't be removed
*/
Purged_files Purger::remove_all_now(THD *thd, bool keeps_failed) {
  Purged_files failed;
  int logged_errno = 0;
  const Clock::time_point until =
      keeps_failed ? Clock::time_point::min() : Clock::time_point::max();
  mysql_mutex_lock(&m_mutex);
  ++m_removing_all;
  for (;;) {
    // Taken by the thread, or another session.
    while (m_queue.taken() != nullptr) mysql_cond_wait(&m_idle_cond, &m_mutex);
    if (thd != nullptr && thd->killed) break;
    Pending_file *const file = m_queue.take(until);
    if (file == nullptr) break;
    mysql_mutex_unlock(&m_mutex);
    DBUG_EXECUTE_IF("binlog_purge_tidy_in_reset", {
      // As the thread does when its pause ends.
      (void)tidy_list();
      const char action[] =
          "now SIGNAL binlog_purge_tidied WAIT_FOR binlog_purge_go_on";
      assert(!debug_sync_set_action(current_thd, STRING_WITH_LEN(action)));
    });
    File_remover &remover = file->remover;
    const File_remover::Result result = remover.step(0);
    if (remover.is_replaced())
      log(WARNING_LEVEL, text_of_replaced(file->file.name));
    // The thread logs no error of a file that it finds noted already.
    if (keeps_failed && result == File_remover::Result::failed &&
        remover.failed_errno() != logged_errno &&
        DBUG_EVALUATE_IF("mutate_binlog_purge_quiet_session", false, true)) {
      logged_errno = remover.failed_errno();
      log(WARNING_LEVEL, text_of_failure(remover, "It will be tried again"));
    }
    mysql_mutex_lock(&m_mutex);
    if (result == File_remover::Result::done) {
      if (!remover.was_missing()) ++status.files_removed;
      if (remover.is_replaced()) ++status.errors;
      status.bytes_removed += remover.bytes_freed();
      m_queue.finished();
    } else {
      if (file->last_errno != remover.failed_errno()) ++status.errors;
      file->last_errno = remover.failed_errno();
      failed.push_back({remover.path(), std::nullopt});
      if (keeps_failed) {
        m_queue.retry_later(Clock::now());
      } else {
        ++m_n_given_up;
        m_given_up_statement = std::max(m_given_up_statement, file->statement);
        m_queue.finished();
      }
    }
    publish_pending();
    // Sessions may wait for this file, or to take the next one.
    mysql_cond_broadcast(&m_idle_cond);
  }
  --m_removing_all;
  mysql_cond_signal(&m_cond);
  mysql_mutex_unlock(&m_mutex);
  return failed;
}

/**
  Waits until each file that is pending now has been removed, or its removal has
  failed. Files that have failed before are not waited for. Without the thread,
  the session removes them itself.

  @param is_reset  no pauses, no backup lock, and no error for files that stay
  @return true with an error reported: the session was killed, or got no backup
  lock; or a file is still there that this statement has purged, or that has
  failed meanwhile
*/
bool Purger::wait_until_removed(THD *thd, bool is_reset) {
  if (!m_is_initialized) return false;
  mysql_mutex_lock(&m_mutex);
  const ulonglong last = m_queue.last_number();
  std::set<ulonglong> awaited;
  m_queue.for_each([&](const Pending_file &file) {
    // The thread may have tried those of this statement before it got here.
    if (file.last_errno == 0 ||
        (file.statement == thd->query_id &&
         DBUG_EVALUATE_IF("mutate_binlog_purge_own_failure", false, true)))
      awaited.insert(file.number);
  });
  /* A RESET may have given up a file of this statement before it got here. It
  may have been that of a later one: an error that says too much. */
  bool is_left =
      m_given_up_statement >= thd->query_id &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_given_up_before", false, true);
  if (awaited.empty() && !is_left) {
    mysql_mutex_unlock(&m_mutex);
    return false;
  }
  const ulonglong given_up = m_n_given_up;
  const bool is_running = m_is_running;
  PSI_stage_info old_stage;
  if (is_running) {
    if (is_reset) {
      ++m_waiting_resets;
      mysql_cond_signal(&m_cond);
    }
    thd->ENTER_COND(&m_idle_cond, &m_mutex, &stage_waiting_for_removal,
                    &old_stage);
    while (!thd->killed && !m_is_stopping && m_queue.has_untried(last))
      mysql_cond_wait(&m_idle_cond, &m_mutex);
    // There is no hurry for a RESET that is killed, or refused after this.
    if (is_reset &&
        DBUG_EVALUATE_IF("mutate_binlog_purge_endless_hurry", false, true))
      --m_waiting_resets;
  } else {
    /* The thread could not be started, or is not yet: events, replication and
    the init file come first. */
    mysql_mutex_unlock(&m_mutex);
    if (is_reset
            ? DBUG_EVALUATE_IF("mutate_binlog_purge_no_drain", true, false)
            : DBUG_EVALUATE_IF("mutate_binlog_purge_no_wait_yet", true, false))
      return false;
    if (!is_reset &&
        acquire_shared_backup_lock(
            thd, thd->variables.lock_wait_timeout,
            DBUG_EVALUATE_IF("mutate_binlog_purge_keeps_backup_lock", true,
                             false)))
      return true;
    // What fails now is left to finish_reset().
    (void)remove_all_now(thd, true);
    if (!is_reset) release_backup_lock(thd);
    mysql_mutex_lock(&m_mutex);
  }
  is_left |= m_n_given_up != given_up &&
             DBUG_EVALUATE_IF("mutate_binlog_purge_given_up", false, true);
  m_queue.for_each([&](const Pending_file &file) {
    is_left |= awaited.count(file.number) != 0;
  });
  mysql_mutex_unlock(&m_mutex);
  if (is_running) thd->EXIT_COND(&old_stage);
  if (thd->killed) {
    thd->send_kill_message();
    return true;
  }
  if (is_reset || !is_left) return false;
  /* A script that purges until there is room must not go on. */
  my_error(ER_BINLOG_PURGE_FATAL_ERR, MYF(0));
  return true;
}

void Purger::begin_reset() {
  if (!m_is_initialized ||
      DBUG_EVALUATE_IF("mutate_binlog_purge_begin_reset", true, false))
    return;
  (void)remove_all_now(nullptr, true);
}

void Purger::finish_reset(THD *thd) {
  if (!m_is_initialized) return;
  const bool keeps_failed =
      DBUG_EVALUATE_IF("mutate_binlog_purge_reset_keeps", true, false);
  for (const Purged_file &file : remove_all_now(nullptr, keeps_failed)) {
    push_warning_printf(thd, Sql_condition::SL_WARNING,
                        ER_BINLOG_PURGE_FATAL_ERR,
                        "a problem with deleting %s, which was purged before; "
                        "it stays on disk",
                        file.name.c_str());
    log(WARNING_LEVEL, "Purged binary log '" + file.name +
                           "' can't be removed, and is left on disk by RESET "
                           "BINARY LOGS AND GTIDS. Remove it by hand.");
  }
  MUTEX_LOCK(list_guard, &m_list_mutex);
  // If that fails the thread tries again.
  if (m_is_list_read) (void)m_list.remove();
  // From here on these are names of other files.
  MUTEX_LOCK(guard, &m_mutex);
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_reset_keeps_names", false, true))
    m_listed_at_start.clear();
}

void Purger::wake_up() {
  if (!m_is_initialized) return;
  MUTEX_LOCK(guard, &m_mutex);
  mysql_cond_signal(&m_cond);
}

/* ---- what the server calls ---------------------------------------------- */

void wake_up() { purger.wake_up(); }
void open(Binlog_index_monitor *index) { purger.open(index); }
void start() {
  add_status();
  purger.start();
}
void stop() { purger.stop(); }
void leave_to_next_start() { purger.leave_to_next_start(); }
bool is_available() {
  return opt_background && purger.is_available() &&
         DBUG_EVALUATE_IF("mutate_binlog_purge_background", false, true);
}
bool write_ahead(const Purged_files &files) {
  return purger.write_ahead(files);
}
void forget() { purger.forget(); }
void enqueue(const Purged_files &files) { purger.enqueue(files); }
bool is_pending(const char *name) {
  return DBUG_EVALUATE_IF("mutate_binlog_purge_pending", false, true) &&
         purger.is_pending(name);
}

ulonglong adjusted_chunk_size(ulonglong size) {
  if (size == 0) return 0;
  // Not to 0, which would be the opposite of a small chunk.
  if (size < chunk_size_unit &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_small_chunk", false, true))
    return chunk_size_unit;
  return size / chunk_size_unit * chunk_size_unit;
}

static bool is_wait_asked_for(const THD *thd) {
  return (thd->variables.option_bits & OPTION_BINLOG_PURGE_WAIT) != 0;
}

/** Whether others may wait for a metadata lock of the session. That of the
routine or event which the statement is in doesn't count. */
static bool has_locks_besides_program(const THD *thd) {
  for (int i = 0; i < MDL_key::NAMESPACE_END; ++i) {
    const auto kind = static_cast<MDL_key::enum_mdl_namespace>(i);
    if (kind != MDL_key::FUNCTION && kind != MDL_key::PROCEDURE &&
        kind != MDL_key::EVENT && thd->mdl_context.has_locks(kind))
      return true;
  }
  return false;
}

bool refuse_wait(THD *thd) {
  if (!is_wait_asked_for(thd) ||
      !(thd->in_active_multi_stmt_transaction() || thd->in_sub_stmt != 0 ||
        // That of `SET gtid_next`: others wait for it without a time-out.
        (thd->owned_gtid.sidno > 0 &&
         DBUG_EVALUATE_IF("mutate_binlog_purge_wait_gtid", false, true)) ||
        // By GET_LOCK(), HANDLER, or on what a function in BEFORE has read.
        (has_locks_besides_program(thd) &&
         DBUG_EVALUATE_IF("mutate_binlog_purge_wait_mdl", false, true))) ||
      DBUG_EVALUATE_IF("mutate_binlog_purge_wait_with_locks", true, false))
    return false;
  my_error(ER_LOCK_OR_ACTIVE_TRANSACTION, MYF(0));
  return true;
}

bool wait_if_asked(THD *thd) {
  if (!is_wait_asked_for(thd) ||
      DBUG_EVALUATE_IF("mutate_binlog_purge_wait", true, false))
    return false;
  DEBUG_SYNC(thd, "binlog_purge_before_wait");
  // The thread needs it, and queues behind a session that wants it exclusively.
  release_backup_lock(thd);
  /* Of the routine: a session that drops it waits for this one, with a backup
  lock that keeps the thread waiting once LOCK INSTANCE FOR BACKUP queues. */
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_wait_routine", false, true))
    thd->mdl_context.release_transactional_locks();
  return purger.wait_until_removed(thd, false);
}

/** Whether upstream is going to refuse RESET BINARY LOGS AND GTIDS. */
static bool is_reset_refused(THD *thd) {
  return (thd->locked_tables_mode != LTM_NONE &&
          !thd->global_read_lock.is_acquired()) ||
         (is_group_replication_running() && !is_group_replication_cloning());
}

bool prepare_reset(THD *thd) {
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_prepare_reset", true, false))
    return false;
  if (is_reset_refused(thd) &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_refused_reset", false, true))
    return false;
  return purger.wait_until_removed(thd, true);
}
void begin_reset() { purger.begin_reset(); }
void finish_reset(THD *thd) { purger.finish_reset(thd); }

}  // namespace binlog::purge
