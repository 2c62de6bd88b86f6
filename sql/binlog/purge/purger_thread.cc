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
  @file sql/binlog/purge/purger_thread.cc

  The thread that removes purged binary logs.
*/

#include "sql/binlog/purge/purger_impl.h"

#ifndef _WIN32
#include <sys/statvfs.h>
#endif

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>

#include "mutex_lock.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "my_systime.h"
#include "my_thread_local.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "mysqld_error.h"
#include "sql/debug_sync.h"
#include "sql/mdl.h"
#include "sql/sql_backup_lock.h"
#include "sql/sql_class.h"
#include "sql/sql_const.h"
#include "sql/sql_error.h"
#include "sql/sql_thd_internal_api.h"

namespace binlog::purge {

namespace {

/** There is a pause after this many files, to spare a directory's journal a
    burst, too. */
constexpr uint max_files_without_pause = 16;
/** A file that can't be removed is tried again after a second, then after
    twice as long each time, but at least every minute. */
constexpr std::chrono::seconds first_retry_delay{1};
constexpr std::chrono::seconds max_retry_delay{60};
/** The list of pending files is written anew if it has this many lines, or
    more, and most of them are of files already removed. */
constexpr size_t min_lines_to_rewrite = 1024;
/** How often a wait for the backup lock tries to get it. */
constexpr std::chrono::seconds backup_lock_interval{1};
/** How often a shutdown says what it waits for. */
constexpr std::chrono::seconds progress_interval{10};

}  // namespace

/**
  Waits until m_cond is signalled or, if that is sooner, until the given time.
*/
void Purger::wait(THD *thd, const PSI_stage_info &stage,
                  Clock::time_point until) {
  mysql_mutex_assert_owner(&m_mutex);
  THD_STAGE_INFO(thd, stage);
  if (until == Clock::time_point::max()) {
    mysql_cond_wait(&m_cond, &m_mutex);
    return;
  }
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(
      until - Clock::now());
  if (rest.count() <= 0) return;
  struct timespec abstime;
  set_timespec_nsec(&abstime, rest.count());
  mysql_cond_timedwait(&m_cond, &m_mutex, &abstime);
}

/**
  Acquires the backup lock, so that no file of the binary log, in the index or
  not, vanishes while somebody has LOCK INSTANCE FOR BACKUP. It tries again and
  again, as each wait that ends without the lock would count as an error 1205 in
  the performance schema.

  It does without the lock if the disk is nearly full, or for RESET. No backup
  misses the files: a purge has the backup lock until they have left the index,
  so a session that has LOCK INSTANCE FOR BACKUP got it after that.

  @return true if a shutdown ended the wait
*/
bool Purger::wait_for_backup(THD *thd) {
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_backup_lock", true, false))
    return false;
  for (;;) {
    if (is_reset_waiting() ||
        (is_disk_nearly_full() &&
         DBUG_EVALUATE_IF("mutate_binlog_purge_low_disk", false, true)))
      break;
    // Looked at before the attempt: sessions end before stop() is called.
    const bool is_last_attempt = is_stopping();
    MDL_request request;
    MDL_REQUEST_INIT(&request, MDL_key::BACKUP_LOCK, "", "",
                     MDL_INTENTION_EXCLUSIVE, MDL_EXPLICIT);
    const bool is_out_of_memory = thd->mdl_context.try_acquire_lock(&request);
    if (!is_out_of_memory && request.ticket != nullptr) {
      m_is_backup_wait_logged = false;
      break;
    }
    DBUG_EXECUTE_IF("mutate_binlog_purge_count_1205",
                    my_error(ER_LOCK_WAIT_TIMEOUT, MYF(0)););
    thd->clear_error();
    thd->get_stmt_da()->reset_condition_info(thd);
    if (is_last_attempt) return true;
    if (!is_out_of_memory &&
        (!m_is_backup_wait_logged ||
         DBUG_EVALUATE_IF("mutate_binlog_purge_backup_log_once", true,
                          false))) {
      {
        MUTEX_LOCK(guard, &m_mutex);
        m_messages.push_back(
            {SYSTEM_LEVEL,
             "The removal of " + count_of(m_queue.size(), m_queue.bytes()) +
                 ", waits until LOCK INSTANCE FOR BACKUP is released, or less "
                 "than binlog_purge_min_free_percent of the disk is free."});
      }
      write_messages();
      m_is_backup_wait_logged = true;
    }
    MUTEX_LOCK(guard, &m_mutex);
    if (!m_is_stopping && m_waiting_resets == 0)
      wait(thd, stage_waiting_for_backup, Clock::now() + backup_lock_interval);
  }
  return false;
}

bool Purger::is_reset_waiting() {
  MUTEX_LOCK(guard, &m_mutex);
  return m_waiting_resets > 0;
}

bool Purger::is_stopping() {
  MUTEX_LOCK(guard, &m_mutex);
  return m_is_stopping;
}

/**
  Logs an error, unless it is the same as the one before: with a folder that
  turned read-only there would be one for each file.
*/
void Purger::note_error(const Pending_file &file, bool will_retry) {
  const File_remover &remover = file.remover;
  if (file.last_errno == remover.failed_errno()) return;
  ++status.errors;
  if (m_logged_errno == remover.failed_errno() &&
      m_logged_call == remover.failed_call() &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_log_once", false, true))
    return;
  m_logged_errno = remover.failed_errno();
  m_logged_call = remover.failed_call();
  m_messages.push_back(
      {WARNING_LEVEL,
       text_of_failure(
           remover, will_retry
                        ? "The removal will be retried until it succeeds"
                        : "It is removed at once instead of chunk by chunk")});
}

/** The error log may be slow, and commits wait for m_mutex. */
void Purger::write_messages() {
  for (const Message &message : m_messages) log(message.level, message.text);
  m_messages.clear();
}

/** While a shutdown waits for the thread, reports its progress now and then. */
void Purger::note_progress() {
  mysql_mutex_assert_owner(&m_mutex);
  if (!m_is_finishing || m_queue.is_empty()) return;
  const Clock::time_point now = Clock::now();
  if (now - m_progress_logged_at < progress_interval &&
      DBUG_EVALUATE_IF("binlog_purge_log_progress", false, true))
    return;
  m_progress_logged_at = now;
  m_messages.push_back({progress_level(), progress()});
}

/** Shown whatever log_error_verbosity is. */
loglevel Purger::progress_level() {
  return DBUG_EVALUATE_IF("mutate_binlog_purge_quiet_progress", true, false)
             ? INFORMATION_LEVEL
             : SYSTEM_LEVEL;
}

std::string Purger::progress() const {
  return "The shutdown waits for the removal of " +
         count_of(m_queue.size(), m_queue.bytes()) +
         " (binlog_purge_at_shutdown=FINISH).";
}

/** Deals with the taken file. */
void Purger::note_result(File_remover::Result result) {
  mysql_mutex_assert_owner(&m_mutex);
  Pending_file *const file = m_queue.taken();
  const File_remover &remover = file->remover;
  const ulonglong freed = remover.bytes_freed();
  status.bytes_removed += freed;
  m_queue.shrunk(freed);
  m_bytes_since_pause += freed;
  m_last_path = remover.path();

  if (remover.failed_call() != nullptr)
    note_error(*file, result == File_remover::Result::failed);

  switch (result) {
    case File_remover::Result::more:
      m_queue.put_back();
      break;
    case File_remover::Result::failed: {
      file->last_errno = remover.failed_errno();
      const auto delay = std::min<Clock::duration>(
          first_retry_delay * (1 << std::min(file->failures, 10U)),
          DBUG_EVALUATE_IF("binlog_purge_retry_at_once", max_retry_delay * 0,
                           max_retry_delay));
      ++file->failures;
      // A shutdown retries nothing, or it might never end.
      m_queue.retry_later(
          m_is_finishing && DBUG_EVALUATE_IF("mutate_binlog_purge_finish_retry",
                                             false, true)
              ? Clock::time_point::max()
              : Clock::now() + delay);
      break;
    }
    case File_remover::Result::done:
      if (remover.is_replaced()) {
        ++status.errors;
        m_messages.push_back(
            {WARNING_LEVEL, text_of_replaced(file->file.name)});
      } else if (file->last_errno != 0) {
        m_messages.push_back(
            {INFORMATION_LEVEL, "Purged binary log '" + remover.path() +
                                    "' has been removed after all."});
      }
      if (remover.failed_call() == nullptr) m_logged_errno = 0;
      if (!remover.was_missing()) {
        ++status.files_removed;
        ++m_files_since_pause;
      }
      m_queue.finished();
      break;
  }
  publish_pending();
  note_progress();
}

/** Called and left with m_mutex held. Called when a file is due. */
void Purger::remove_a_chunk(THD *thd) {
  mysql_mutex_assert_owner(&m_mutex);
  Pending_file *const file = m_queue.take(Clock::now());
  // Pauses don't hold up a session or a shutdown that waits for the end.
  const ulonglong chunk_size =
      m_is_finishing || m_waiting_resets > 0 ? 0 : opt_chunk_size;
  mysql_mutex_unlock(&m_mutex);

  THD_STAGE_INFO(thd, stage_removing);
  const File_remover::Result result = file->remover.step(chunk_size);
  DBUG_EXECUTE_IF("binlog_purge_sync_after_chunk", {
    const char action[] =
        "now SIGNAL binlog_purge_chunk_removed WAIT_FOR binlog_purge_go_on";
    assert(!debug_sync_set_action(thd, STRING_WITH_LEN(action)));
  });

  mysql_mutex_lock(&m_mutex);
  note_result(result);
  mysql_cond_broadcast(&m_idle_cond);
}

/** Checked once a second, as the free space changes slowly. */
bool Purger::is_disk_nearly_full() {
#ifdef _WIN32
  return false;
#else
  if (DBUG_EVALUATE_IF("binlog_purge_disk_nearly_full", true, false))
    return opt_min_free_percent > 0;
  if (opt_min_free_percent == 0) return false;
  const Clock::time_point now = Clock::now();
  if (now - m_disk_checked_at < std::chrono::seconds(1))
    return m_disk_is_nearly_full;
  m_disk_checked_at = now;
  char folder[FN_REFLEN];
  size_t length;
  dirname_part(folder, m_last_path.c_str(), &length);
  struct statvfs disk;
  m_disk_is_nearly_full =
      statvfs(length > 0 ? folder : ".", &disk) == 0 && disk.f_blocks > 0 &&
      disk.f_bavail * 100 < disk.f_blocks * opt_min_free_percent &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_disk_is_free", false, true);
  return m_disk_is_nearly_full;
#endif
}

bool Purger::is_pause_due() const {
  // A chunk size of 0 makes a chunk of each file.
  const bool is_chunk_done = opt_chunk_size == 0
                                 ? m_files_since_pause > 0
                                 : m_bytes_since_pause >= opt_chunk_size;
  return is_chunk_done || m_files_since_pause >= max_files_without_pause;
}

void Purger::pause(THD *thd) {
  const Clock::time_point start = Clock::now();
  // The disk may fill up meanwhile, so this pauses a second at a time.
  while (!is_disk_nearly_full()) {
    MUTEX_LOCK(guard, &m_mutex);
    if (m_is_stopping || m_waiting_resets > 0 ||
        DBUG_EVALUATE_IF("mutate_binlog_purge_pause", true, false))
      break;
    // Looked at each time: the pause may be made shorter while it lasts, and
    // with a larger chunk it is not due yet.
    if (!is_pause_due() &&
        DBUG_EVALUATE_IF("mutate_binlog_purge_old_chunk", false, true))
      break;
    const auto until = start + std::chrono::milliseconds(opt_chunk_interval);
    const auto now = Clock::now();
    if (now >= until) break;
    wait(thd, stage_pausing, std::min(until, now + std::chrono::seconds(1)));
  }
  m_bytes_since_pause = 0;
  m_files_since_pause = 0;
}

/**
  Removes the list if no file is pending, or makes it shorter. Writes it anew if
  somebody else has removed it.

  @return true if it could not be done and is to be tried again
*/
bool Purger::tidy_list() {
  MUTEX_LOCK(list_guard, &m_list_mutex);
  if (m_list.lines() == 0 ||
      (m_is_purge_in_flight &&
       DBUG_EVALUATE_IF("mutate_binlog_purge_in_flight", false, true)))
    return false;
  const bool is_lost = !m_list.is_intact();
  mysql_mutex_lock(&m_mutex);
  const bool is_taken_left_out =
      m_queue.taken() != nullptr &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_taken", true, false);
  const size_t pending = m_queue.size() - (is_taken_left_out ? 1 : 0);
  const bool is_long =
      m_list.lines() >= min_lines_to_rewrite && m_list.lines() > 2 * pending;
  const Purged_files files = is_long ? m_queue.files() : Purged_files();
  mysql_mutex_unlock(&m_mutex);
  if (pending > 0 && !is_long && !is_lost) return false;

  DBUG_EXECUTE_IF("crash_binlog_purge_before_list_remove", {
    if (pending == 0) DBUG_SUICIDE();
  });
  const int error =
      pending > 0 && is_lost ? restore_list({}) : m_list.rewrite(files);
  // The old list, if it is there, is as good, only longer.
  if (error != 0 && error != m_tidy_errno) {
    ++status.errors;
    log(WARNING_LEVEL,
        "The list of purged binary logs '" + m_list.name() + "' can't be " +
            (pending > 0 && is_lost ? "written anew (" : "made shorter (") +
            text_of_errno(error) + "); it will be tried again.");
  }
  m_tidy_errno = error;
  return error != 0;
}

/**
  Whether there is a file that the thread may remove now.

  @param[out] wake_up_at  if not, when to ask again
*/
bool Purger::is_work_due(Clock::time_point *wake_up_at) {
  mysql_mutex_assert_owner(&m_mutex);
  *wake_up_at = Clock::time_point::max();
  if (m_removing_all > 0 || (m_is_stopping && !m_is_finishing)) return false;
  const Pending_file *const file = m_queue.next(Clock::now(), wake_up_at);
  if (file != nullptr) m_last_path = file->remover.path();
  return file != nullptr;
}

void Purger::run() {
  THD *thd = create_internal_thd();
  thd->set_command(COM_DAEMON);

  mysql_mutex_lock(&m_mutex);
  for (;;) {
    Clock::time_point wake_up_at;
    if (!is_work_due(&wake_up_at)) {
      if (m_is_stopping) break;
      m_has_forgotten = false;
      mysql_mutex_unlock(&m_mutex);
      const bool is_untidy = tidy_list();
      DBUG_EXECUTE_IF("binlog_purge_sync_after_tidying", {
        const char action[] =
            "now SIGNAL binlog_purge_tidied WAIT_FOR binlog_purge_go_on";
        assert(!debug_sync_set_action(thd, STRING_WITH_LEN(action)));
      });
      mysql_mutex_lock(&m_mutex);
      // What came meanwhile has to be seen before the wait.
      if (!is_work_due(&wake_up_at) && !m_is_stopping && !m_has_forgotten) {
        if (is_untidy)
          wake_up_at = std::min(wake_up_at, Clock::now() + max_retry_delay);
        wait(thd,
             m_queue.is_empty() ? stage_waiting_for_files
                                : stage_waiting_to_retry,
             wake_up_at);
      }
      continue;
    }
    mysql_mutex_unlock(&m_mutex);
    const bool is_given_up = wait_for_backup(thd);
    mysql_mutex_lock(&m_mutex);
    if (is_given_up) break;
    // RESET BINARY LOGS or stop() may have been faster.
    if (is_work_due(&wake_up_at)) remove_a_chunk(thd);
    mysql_mutex_unlock(&m_mutex);
    release_backup_lock(thd);

    write_messages();
    tidy_list();
    if (is_pause_due()) pause(thd);
    mysql_mutex_lock(&m_mutex);
  }
  mysql_mutex_unlock(&m_mutex);
  destroy_internal_thd(thd);
}

extern "C" {
void *binlog_purge_thread(void *) {
  if (my_thread_init()) return nullptr;
  purger.run();
  my_thread_end();
  return nullptr;
}
}

}  // namespace binlog::purge
