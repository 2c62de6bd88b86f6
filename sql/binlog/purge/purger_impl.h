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

#ifndef SQL_BINLOG_PURGE_PURGER_IMPL_H
#define SQL_BINLOG_PURGE_PURGER_IMPL_H

/**
  @file sql/binlog/purge/purger_impl.h

  What the files of the purger share:

  | file              | what                                               |
  | ----------------- | -------------------------------------------------- |
  | purger.cc         | what the server calls; files come in, waits        |
  | purger_thread.cc  | the thread: it removes them                        |
  | purger_life.cc    | start and stop of the server                       |
  | purger_status.cc  | status variables                                   |
*/

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "my_inttypes.h"
#include "my_thread.h"
#include "mysql/my_loglevel.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/psi/mysql_mutex.h"
#include "mysql/psi/mysql_stage.h"
#include "sql/binlog/purge/file_remover.h"
#include "sql/binlog/purge/pending_list.h"
#include "sql/binlog/purge/pending_queue.h"
#include "sql/binlog/purge/purger.h"

namespace binlog::purge {

using Clock = std::chrono::steady_clock;

/** What SHOW STATUS shows; written under Purger::m_mutex, but for errors. */
struct Status {
  std::atomic<ulonglong> files_pending{0};
  std::atomic<ulonglong> bytes_pending{0};
  std::atomic<ulonglong> files_removed{0};
  std::atomic<ulonglong> bytes_removed{0};
  /** A file counts once for each error, however often it is retried. */
  std::atomic<ulonglong> errors{0};
  /** Without a lock. */
  std::atomic<ulonglong> commit_waits{0};
  std::atomic<ulonglong> commit_wait_max_us{0};
};

extern Status status;

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
  void begin_reset();
  void finish_reset(THD *thd);
  void wake_up();

  /** The thread's. */
  void run();

 private:
  void init();
  void publish_pending();
  int restore_list(const Purged_files &more);
  Purged_files remove_all_now(THD *thd, bool keeps_failed);

  bool is_work_due(Clock::time_point *wake_up_at);
  bool wait_for_backup(THD *thd);
  void remove_a_chunk(THD *thd);
  void note_result(File_remover::Result result);
  void note_error(const Pending_file &file, bool will_retry);
  void note_progress();
  std::string progress() const;
  static loglevel progress_level();
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

  /** Protects all that follows. Held across I/O only while the server starts or
      shuts down. */
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
  /** Sessions that remove all files; the thread must not. */
  uint m_removing_all{0};
  /** forget() was called since the thread last looked at the list. */
  bool m_has_forgotten{false};
  /** RESETs that wait until nothing is pending. */
  uint m_waiting_resets{0};
  /** Files that a RESET could not remove, and left on disk. */
  ulonglong m_n_given_up{0};
  /** The last statement that has purged one of them. */
  ulonglong m_given_up_statement{0};
  my_thread_handle m_thread{};
  bool m_is_running{false};
  bool m_was_started{false};
  Pending_queue m_queue;
  /** What the list had at the start, under either name, until start() or a
      RESET. */
  std::set<std::string> m_listed_at_start;

  /* The thread's own. */
  ulonglong m_bytes_since_pause{0};
  uint m_files_since_pause{0};
  bool m_disk_is_nearly_full{false};
  Clock::time_point m_disk_checked_at{};
  /** The file it works on, or has worked on. */
  std::string m_last_path;
  bool m_is_backup_wait_logged{false};
  /** First set by stop(). */
  Clock::time_point m_progress_logged_at{};
  std::vector<Message> m_messages;
  /** The error logged last, if no file was removed since. */
  int m_logged_errno{0};
  std::string m_logged_call;
};

extern Purger purger;

/** @name Stages, defined in purger_life.cc
@{ */
extern PSI_stage_info stage_waiting_for_files;
extern PSI_stage_info stage_removing;
extern PSI_stage_info stage_pausing;
extern PSI_stage_info stage_waiting_for_removal;
extern PSI_stage_info stage_waiting_for_backup;
extern PSI_stage_info stage_waiting_to_retry;
/** @} */

/** Adds the status variables, once. */
void add_status();

void log(loglevel level, const std::string &text);

std::string text_of_errno(int number);

std::string count_of(size_t files, ulonglong bytes);

/** The message about a file that isn't the one which was purged. */
std::string text_of_replaced(const std::string &name);

/** The message about a file whose removal has failed. */
std::string text_of_failure(const File_remover &remover, const char *what_next);

/** The thread's function. */
extern "C" void *binlog_purge_thread(void *);

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_PURGER_IMPL_H
