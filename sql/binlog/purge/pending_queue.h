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

#ifndef SQL_BINLOG_PURGE_PENDING_QUEUE_H
#define SQL_BINLOG_PURGE_PENDING_QUEUE_H

/**
  @file sql/binlog/purge/pending_queue.h

  The queue, in memory, of purged binary logs that are still on disk.
*/

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "my_inttypes.h"
#include "sql/binlog/purge/file_remover.h"

namespace binlog::purge {

/** A purged file that is on disk. */
struct Pending_file {
  Pending_file(const Purged_file &purged_file, ulonglong number_arg,
               ulonglong statement_arg)
      : file(purged_file),
        number(number_arg),
        statement(statement_arg),
        remover(purged_file),
        size(purged_file.identity ? purged_file.identity->size : 0) {}

  const Purged_file file;
  /** Goes up from file to file. */
  const ulonglong number;
  /** Query id of the statement that purged it; 0 if none did in this run of the
      server. */
  const ulonglong statement;
  File_remover remover;
  /** Bytes on disk. */
  ulonglong size;
  /** Attempts that failed in a row. */
  uint failures{0};
  /** errno of the last failed attempt; 0 if none failed. */
  int last_errno{0};
};

/**
  Files in the order of their purge, and beside them those that could not be
  removed and are to be tried again. One at a time may be taken out to be worked
  on; it still belongs to the queue. Only files() and for_each() take longer the
  more files there are.

  Not thread safe: Purger::m_mutex protects it, but not the taken file, which
  belongs to the thread that has taken it.
*/
class Pending_queue {
 public:
  using Clock = std::chrono::steady_clock;

  /** Adds a file, unless there is one with its name already. */
  void add(const Purged_file &file, ulonglong statement = 0);

  /**
    The file that take() would take.

    @param[out] wake_up_at  if none is due, the time of the next retry, or the
                            maximum if there will be none
    @return nullptr if none is due
  */
  const Pending_file *next(Clock::time_point now,
                           Clock::time_point *wake_up_at) const;

  /**
    Takes the next file; none may be taken already.

    @param now  the maximum takes one that waits for its retry, too
    @return nullptr if none is due
  */
  Pending_file *take(Clock::time_point now);

  /** The file that is taken; nullptr if none. */
  Pending_file *taken() const { return m_taken.get(); }

  /** Gives the taken file back, to be taken next. */
  void put_back();

  /** Gives the taken file back, to be taken at that time. */
  void retry_later(Clock::time_point at);

  /** The taken file is gone, or no longer of interest. */
  void finished();

  /** This many bytes of the taken file are gone. */
  void shrunk(ulonglong bytes);

  bool has(const std::string &name) const { return m_names.count(name) != 0; }
  bool is_empty() const { return m_names.empty(); }
  size_t size() const { return m_names.size(); }
  ulonglong bytes() const { return m_bytes; }

  /** The number of the file added last. */
  ulonglong last_number() const { return m_last_number; }

  /** Whether there is a file, up to this number, that has never failed. */
  bool has_untried(ulonglong last_number) const;

  /** All files, the taken one first, those to be retried last. */
  Purged_files files() const;

  /** Calls function with each file. */
  template <typename Function>
  void for_each(Function function) const {
    if (m_taken != nullptr) function(*m_taken);
    for (const File &file : m_files) function(*file);
    for (const auto &retry : m_retries) function(*retry.second);
  }

 private:
  using File = std::unique_ptr<Pending_file>;

  /** Whether m_files is next. Retries come after it even if they are due: on a
  file system that hangs, each may take longer than the next one's delay. */
  bool is_file_first() const;

  std::list<File> m_files;
  std::multimap<Clock::time_point, File> m_retries;
  File m_taken;
  /** Of all files. */
  std::unordered_set<std::string> m_names;
  ulonglong m_bytes{0};
  ulonglong m_last_number{0};
};

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_PENDING_QUEUE_H
