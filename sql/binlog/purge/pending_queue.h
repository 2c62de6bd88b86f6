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

  The purged binary logs that are on disk, in memory.
*/

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "my_inttypes.h"
#include "sql/binlog/purge/file_remover.h"

namespace binlog::purge {

/** A purged file that is on disk. */
struct Pending_file {
  explicit Pending_file(const std::string &path) : name(path), remover(path) {}

  /** As the index had it. */
  const std::string name;
  File_remover remover;
  /** Bytes on disk; 0 until the purge has looked. */
  ulonglong size{0};
  /** Attempts that failed in a row. */
  uint failures{0};
  /** errno of the last failed attempt; 0 if none failed. */
  int last_errno{0};
};

/**
  Files in the order of their purge, and beside them those that could not be
  removed and are to be tried again. No operation but names() and take_all()
  takes longer the more files there are.

  Not thread safe: Purger::m_mutex protects it.
*/
class Pending_queue {
 public:
  using Clock = std::chrono::steady_clock;
  using File = std::unique_ptr<Pending_file>;

  /**
    Adds a file, which take_due() passes over until release(). One that is
    there already stays as it is.

    @param name  as the index had it
  */
  void add(const std::string &name);

  /** The purge is done with the file, which has that many bytes. */
  void release(const std::string &name, ulonglong size);

  /**
    Takes a file that may be removed at the given time. It counts as pending
    until finished(), and has to be given back otherwise.

    @param[out] wake_up_at  if no file is due, the time of the next retry, or
                            the maximum if there will be none
    @return nullptr if there is none
  */
  File take_due(Clock::time_point now, Clock::time_point *wake_up_at);

  /** Gives a file back which is to be taken next. */
  void put_back(File file);

  /** Gives a file back which is to be taken at that time. */
  void retry_later(File file, Clock::time_point at);

  /** The file is gone. */
  void finished(File file);

  /** So many bytes of a taken file are gone. */
  void shrunk(Pending_file *file, ulonglong bytes);

  /** Takes all files that aren't taken, released or not. */
  std::vector<File> take_all();

  bool has(const std::string &name) const { return m_names.count(name) != 0; }
  bool is_empty() const { return m_names.empty(); }
  size_t size() const { return m_names.size(); }
  ulonglong bytes() const { return m_bytes; }

  /** All names, in the order of their purge but for those to be retried. */
  std::vector<std::string> names() const;

  /** Calls function with each file that isn't taken. */
  template <typename Function>
  void for_each(Function function) const {
    for (const File &file : m_released) function(*file);
    for (const File &file : m_unreleased) function(*file);
    for (const auto &retry : m_retries) function(*retry.second);
  }

 private:
  std::list<File> m_released;
  std::list<File> m_unreleased;
  std::unordered_map<std::string, std::list<File>::iterator>
      m_unreleased_by_name;
  std::multimap<Clock::time_point, File> m_retries;
  /** Of all files, the taken one included. */
  std::unordered_set<std::string> m_names;
  std::string m_taken_name;
  ulonglong m_bytes{0};
};

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_PENDING_QUEUE_H
