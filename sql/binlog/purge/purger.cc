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

#ifndef _WIN32
#include <sys/statvfs.h>
#endif

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "my_dbug.h"
#include "my_sys.h"
#include "my_systime.h"
#include "my_thread.h"
#include "my_thread_local.h"
#include "mysql/components/services/bits/psi_thread_bits.h"
#include "mysql/components/services/log_builtins.h"
#include "mysql/my_loglevel.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "mysql/psi/mysql_thread.h"
#include "mysqld_error.h"
#include "sql/binlog.h"  // log_bin_basename
#include "sql/binlog/purge/file_remover.h"
#include "sql/binlog/purge/leftovers.h"
#include "sql/binlog/purge/pending_list.h"
#include "sql/binlog/purge/pending_queue.h"
#include "sql/binlog_index.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "sql/mdl.h"  // ENTER_COND
#include "sql/mysqld.h"
#include "sql/query_options.h"
#include "sql/sql_backup_lock.h"
#include "sql/sql_class.h"
#include "sql/sql_const.h"
#include "sql/sql_error.h"
#include "sql/sql_show.h"  // add_status_vars
#include "sql/sql_thd_internal_api.h"

namespace binlog::purge {

bool opt_background;
ulonglong opt_chunk_size;
uint opt_chunk_interval;
uint opt_min_free_percent;
bool opt_hurry;
ulong opt_at_shutdown;

namespace {

using Clock = std::chrono::steady_clock;

/** A pause after that many files, as a directory's journal has to be spared
    of a burst, too. */
constexpr uint max_files_without_pause = 16;
/** A file that can't be removed is tried again after a second, then after
    twice as long each time, but at least every minute. */
constexpr std::chrono::seconds first_retry_delay{1};
constexpr std::chrono::seconds max_retry_delay{60};
/** The list of pending files is written anew if most of that many lines, or
    more, are of files already removed. */
constexpr size_t min_lines_to_rewrite = 1024;
/** How often a wait for the backup lock tries to get it. */
constexpr std::chrono::seconds backup_lock_interval{1};
/** Chunks are multiples of this, and so of the blocks of usual file systems. */
constexpr ulonglong chunk_size_unit = 4096;
/** How often a shutdown says what it waits for. */
constexpr std::chrono::seconds progress_interval{10};

PSI_mutex_key key_mutex;
PSI_mutex_key key_list_mutex;
PSI_cond_key key_cond;
PSI_cond_key key_idle_cond;
PSI_thread_key key_thread;

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

/** What SHOW STATUS shows; written under Purger::m_mutex unless noted. */
struct Status {
  std::atomic<ulonglong> files_pending{0};
  std::atomic<ulonglong> bytes_pending{0};
  std::atomic<ulonglong> files_removed{0};
  std::atomic<ulonglong> bytes_removed{0};
  /** A file and an error count once, however often it is retried. */
  std::atomic<ulonglong> errors{0};
  /** Without a lock. */
  std::atomic<ulonglong> commit_waits{0};
  std::atomic<ulonglong> commit_wait_max_us{0};
};

Status status;

/** A message for the error log, written when no mutex is held. */
struct Message {
  loglevel level;
  std::string text;
};

/** The queue and the thread; there is one. */
class Purger {
 public:
  void open(Binlog_index_monitor *index);
  void start();
  void stop();
  void leave_to_next_start();

  bool is_available() const { return m_is_accepting; }
  bool write_ahead(const Purged_files &files);
  void forget();
  void enqueue(const Purged_files &files);
  bool is_pending(const std::string &name);
  bool wait_until_removed(THD *thd, bool is_reset);
  void finish_reset(THD *thd);
  void wake_up();

  /** The thread's. */
  void run();

 private:
  void init();
  void publish_pending();
  int restore_list(const Purged_files &more);
  Purged_files remove_all_now(bool is_reset);

  bool is_work_due(Clock::time_point *wake_up_at);
  bool wait_for_backup(THD *thd);
  void remove_a_chunk(THD *thd);
  void note_result(File_remover::Result result);
  void note_error(const Pending_file &file, bool will_retry);
  void note_progress();
  std::string progress() const;
  void write_messages();
  bool is_pause_due() const;
  bool is_disk_nearly_full();
  bool is_reset_waiting();
  bool is_stopping();
  void pause(THD *thd);
  void wait(THD *thd, const PSI_stage_info &stage, Clock::time_point until);
  bool tidy_list();

  /** Protects the list, and what follows; held across syncs of it. */
  mysql_mutex_t m_list_mutex;
  Pending_list m_list;
  /** The list was read; if not, it must not be touched. */
  bool m_is_list_read{false};
  /** A purge has written its names ahead and has neither handed its files over
      nor forgotten them. It has LOCK_index, so there is one at most. */
  bool m_is_purge_in_flight{false};
  /** Errors logged, if append() and rewrite() did not succeed since. */
  int m_list_errno{0};
  int m_tidy_errno{0};

  /** Protects all that follows; never held across I/O. */
  mysql_mutex_t m_mutex;
  /** Something to do for the thread, or a reason to end its pause. */
  mysql_cond_t m_cond;
  /** A file is no longer taken. */
  mysql_cond_t m_idle_cond;
  std::atomic<bool> m_is_initialized{false};
  bool m_is_opened{false};
  std::atomic<bool> m_is_accepting{false};
  bool m_is_stopping{false};
  /** Set by stop(): what is pending is removed before the thread ends. */
  bool m_is_finishing{false};
  /** Another thread removes all files; ours must not. */
  bool m_is_removing_all{false};
  /** RESETs that wait until nothing is pending. */
  uint m_waiting_resets{0};
  my_thread_handle m_thread{};
  bool m_is_running{false};
  bool m_was_started{false};
  Pending_queue m_queue;
  /** What the list had at the start, under either name, until start(). */
  std::set<std::string> m_listed_at_start;

  /* The thread's own. */
  ulonglong m_bytes_since_pause{0};
  uint m_files_since_pause{0};
  bool m_disk_is_nearly_full{false};
  Clock::time_point m_disk_checked_at{};
  /** The file it works on, or has worked on. */
  std::string m_last_path;
  bool m_is_backup_wait_logged{false};
  /** Set by stop() first. */
  Clock::time_point m_progress_logged_at{};
  std::vector<Message> m_messages;
  /** The error logged last, if no file was removed since. */
  int m_logged_errno{0};
  std::string m_logged_call;
};

Purger purger;

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

/** Of a file that isn't the one which was purged. */
std::string text_of_replaced(const std::string &name) {
  return "'" + name +
         "' is not the binary log that was purged under this name: its inode, "
         "size or time of change differs. It stays on disk; remove it if it is "
         "not needed.";
}

/* ---- the queue ---------------------------------------------------------- */

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
  // The names stay in the list until the thread makes it shorter.
  MUTEX_LOCK(guard, &m_mutex);
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
  Removes all files, in the calling thread.

  @param is_reset  what can't be removed is no longer pending; if not, it is to
                   be tried again
  @return those which can't be removed
*/
Purged_files Purger::remove_all_now(bool is_reset) {
  Purged_files failed;
  Clock::time_point until = Clock::time_point::max();
  mysql_mutex_lock(&m_mutex);
  m_is_removing_all = true;
  while (m_queue.taken() != nullptr) mysql_cond_wait(&m_idle_cond, &m_mutex);
  while (Pending_file *const file = m_queue.take(until)) {
    mysql_mutex_unlock(&m_mutex);
    File_remover &remover = file->remover;
    const File_remover::Result result = remover.step(0);
    if (remover.is_replaced())
      log(WARNING_LEVEL, text_of_replaced(file->file.name));
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
      if (is_reset) {
        m_queue.finished();
      } else {
        // The others first, and this one by the thread.
        until = Clock::time_point::min();
        m_queue.retry_later(Clock::now());
      }
    }
    publish_pending();
  }
  m_is_removing_all = false;
  mysql_cond_signal(&m_cond);
  // Sessions may wait for one of these files.
  mysql_cond_broadcast(&m_idle_cond);
  mysql_mutex_unlock(&m_mutex);
  return failed;
}

/**
  Waits until each file that is pending now was removed, or has failed to be.
  Files that have failed before are not waited for.

  @param is_reset  no pauses, no backup lock, and no error for files that stay
  @return true with an error reported: the session was killed, or a file is
  still there that this statement has purged, or that has failed meanwhile
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
  if (!m_is_running || awaited.empty()) {
    mysql_mutex_unlock(&m_mutex);
    return false;
  }
  if (is_reset) {
    ++m_waiting_resets;
    mysql_cond_signal(&m_cond);
  }
  PSI_stage_info old_stage;
  thd->ENTER_COND(&m_idle_cond, &m_mutex, &stage_waiting_for_removal,
                  &old_stage);
  while (!thd->killed && !m_is_stopping && m_queue.has_untried(last))
    mysql_cond_wait(&m_idle_cond, &m_mutex);
  if (is_reset) --m_waiting_resets;
  bool is_left = false;
  m_queue.for_each([&](const Pending_file &file) {
    is_left |= awaited.count(file.number) != 0;
  });
  mysql_mutex_unlock(&m_mutex);
  thd->EXIT_COND(&old_stage);
  if (thd->killed) {
    thd->send_kill_message();
    return true;
  }
  if (is_reset || !is_left) return false;
  /* A script that purges until there is room must not go on. */
  my_error(ER_BINLOG_PURGE_FATAL_ERR, MYF(0));
  return true;
}

void Purger::finish_reset(THD *thd) {
  if (!m_is_initialized) return;
  for (const Purged_file &file : remove_all_now(true)) {
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
}

void Purger::wake_up() {
  if (!m_is_initialized) return;
  MUTEX_LOCK(guard, &m_mutex);
  mysql_cond_signal(&m_cond);
}

/* ---- the thread --------------------------------------------------------- */

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
  No file of the binary log vanishes while somebody has LOCK INSTANCE FOR
  BACKUP, be it in the index or not: acquires the backup lock. It tries again
  and again, as each wait that ends without the lock would count as an error
  1205 in the performance schema.

  It goes without the lock if the disk is nearly full, or for RESET. No backup
  misses the files: a purge has the backup lock until they have left the index,
  so whoever has LOCK INSTANCE FOR BACKUP has got it after that.

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
    if (!is_out_of_memory && !m_is_backup_wait_logged) {
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
  Logs an error, but not one that follows its like: with a folder that turned
  read-only there would be one for each file.
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
       "Purged binary log '" + remover.path() + "': " + m_logged_call +
           " failed (" + text_of_errno(m_logged_errno) + "). " +
           (will_retry ? "The removal will be retried until it succeeds; "
                       : "It is removed at once instead of chunk by chunk; ") +
           "further files with this error are only counted, in "
           "Binlog_purge_errors."});
}

/** The error log may be slow, and commits wait for m_mutex. */
void Purger::write_messages() {
  for (const Message &message : m_messages) log(message.level, message.text);
  m_messages.clear();
}

/** A shutdown waits for the thread: says how far it is, now and then. */
void Purger::note_progress() {
  mysql_mutex_assert_owner(&m_mutex);
  if (!m_is_finishing || m_queue.is_empty()) return;
  const Clock::time_point now = Clock::now();
  if (now - m_progress_logged_at < progress_interval &&
      DBUG_EVALUATE_IF("binlog_purge_log_progress", false, true))
    return;
  m_progress_logged_at = now;
  m_messages.push_back({SYSTEM_LEVEL, progress()});
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
          max_retry_delay);
      ++file->failures;
      m_queue.retry_later(Clock::now() + delay);
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

/** Called and left with m_mutex held, and with a file that is due. */
void Purger::remove_a_chunk(THD *thd) {
  mysql_mutex_assert_owner(&m_mutex);
  Pending_file *const file = m_queue.take(Clock::now());
  // Nobody who waits for the end waits longer than he must.
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

/** Looked up once a second, as it goes up and down slowly. */
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
      disk.f_bavail * 100 < disk.f_blocks * opt_min_free_percent;
  return m_disk_is_nearly_full;
#endif
}

bool Purger::is_pause_due() const {
  return m_bytes_since_pause >= opt_chunk_size ||
         m_files_since_pause >= max_files_without_pause;
}

void Purger::pause(THD *thd) {
  m_bytes_since_pause = 0;
  m_files_since_pause = 0;
  const Clock::time_point start = Clock::now();
  // The disk may fill up meanwhile, so it is a pause of a second at a time.
  while (!is_disk_nearly_full()) {
    MUTEX_LOCK(guard, &m_mutex);
    if (m_is_stopping || opt_hurry || m_waiting_resets > 0 ||
        DBUG_EVALUATE_IF("mutate_binlog_purge_pause", true, false))
      return;
    // Looked at each time: the pause may be made shorter while it lasts.
    const auto until = start + std::chrono::milliseconds(opt_chunk_interval);
    const auto now = Clock::now();
    if (now >= until) return;
    wait(thd, stage_pausing, std::min(until, now + std::chrono::seconds(1)));
  }
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
  const size_t pending = m_queue.size();
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
  if (m_is_removing_all || (m_is_stopping && !m_is_finishing)) return false;
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
      mysql_mutex_unlock(&m_mutex);
      const bool is_untidy = tidy_list();
      mysql_mutex_lock(&m_mutex);
      // What came meanwhile has to be seen before the wait.
      if (!is_work_due(&wake_up_at) && !m_is_stopping) {
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
static void *binlog_purge_thread(void *) {
  if (my_thread_init()) return nullptr;
  purger.run();
  my_thread_end();
  return nullptr;
}
}

/* ---- life of the server ------------------------------------------------- */

void Purger::open(Binlog_index_monitor *index) {
  if (m_is_opened) return;
  init();
  m_is_opened = true;
  index->assert_owner();
  // SET has it adjusted; an option file and the command line have not.
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
    return;
  }

  // What a server that stopped between the list and the index left is alive.
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
  if (!opt_background) {
    for (const Purged_file &file : remove_all_now(false))
      log(WARNING_LEVEL, "Purged binary log '" + file.name +
                             "' can't be removed; it will be tried again.");
  }
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
  const int error = mysql_thread_create(key_thread, &m_thread, nullptr,
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
  if (!first_progress.empty()) log(SYSTEM_LEVEL, first_progress);
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
    // Stock would not start with a file among them that it can't remove.
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

/* ---- status ------------------------------------------------------------- */

template <std::atomic<ulonglong> Status::*member>
int show(THD *, SHOW_VAR *var, char *buffer) {
  var->type = SHOW_LONGLONG;
  var->value = buffer;
  *reinterpret_cast<ulonglong *>(buffer) = (status.*member).load();
  return 0;
}

template <std::atomic<ulonglong> Status::*member>
char *shown() {
  return reinterpret_cast<char *>(&show<member>);
}

void add_status() {
  static bool is_added = false;
  if (is_added) return;
  is_added = true;
  SHOW_VAR variables[] = {
      {"Binlog_purge_bytes_pending", shown<&Status::bytes_pending>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_bytes_removed", shown<&Status::bytes_removed>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_commit_wait_max_us", shown<&Status::commit_wait_max_us>(),
       SHOW_FUNC, SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_commit_waits", shown<&Status::commit_waits>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_errors", shown<&Status::errors>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_files_pending", shown<&Status::files_pending>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_files_removed", shown<&Status::files_removed>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {nullptr, nullptr, SHOW_UNDEF, SHOW_SCOPE_UNDEF}};
  add_status_vars(variables);
}

}  // namespace

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

bool refuse_wait(THD *thd) {
  if (!is_wait_asked_for(thd) ||
      !(thd->locked_tables_mode != LTM_NONE ||
        thd->in_active_multi_stmt_transaction() ||
        thd->global_read_lock.is_acquired() || thd->in_sub_stmt != 0) ||
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
  // The thread needs it, and stands behind whoever waits for it exclusively.
  release_backup_lock(thd);
  return purger.wait_until_removed(thd, false);
}

bool prepare_reset(THD *thd) {
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_prepare_reset", true, false))
    return false;
  return purger.wait_until_removed(thd, true);
}
void finish_reset(THD *thd) { purger.finish_reset(thd); }

void rotation_waited(ulonglong microseconds) {
  ++status.commit_waits;
  commits_waited_at_most(microseconds);
}

void commits_waited_at_most(ulonglong microseconds) {
  ulonglong longest = status.commit_wait_max_us;
  while (
      longest < microseconds &&
      !status.commit_wait_max_us.compare_exchange_weak(longest, microseconds)) {
  }
}

}  // namespace binlog::purge
