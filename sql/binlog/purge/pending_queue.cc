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

#include "sql/binlog/purge/pending_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "my_dbug.h"

namespace binlog::purge {

void Pending_queue::add(const Purged_file &file, ulonglong statement) {
  if (!m_names.insert(file.name).second) return;
  m_files.push_back(
      std::make_unique<Pending_file>(file, ++m_last_number, statement));
  m_bytes += m_files.back()->size;
}

bool Pending_queue::is_file_first() const {
  return !m_files.empty() && DBUG_EVALUATE_IF("mutate_binlog_purge_retry_first",
                                              m_retries.empty(), true);
}

const Pending_file *Pending_queue::next(Clock::time_point now,
                                        Clock::time_point *wake_up_at) const {
  *wake_up_at = Clock::time_point::max();
  if (is_file_first()) return m_files.front().get();
  if (m_retries.empty()) return nullptr;
  const auto &[at, file] = *m_retries.begin();
  if (at <= now) return file.get();
  *wake_up_at = at;
  return nullptr;
}

Pending_file *Pending_queue::take(Clock::time_point now) {
  assert(m_taken == nullptr);
  if (is_file_first()) {
    m_taken = std::move(m_files.front());
    m_files.pop_front();
  } else if (!m_retries.empty() && m_retries.begin()->first <= now) {
    m_taken = std::move(m_retries.begin()->second);
    m_retries.erase(m_retries.begin());
  }
  return m_taken.get();
}

void Pending_queue::put_back() { m_files.push_front(std::move(m_taken)); }

void Pending_queue::retry_later(Clock::time_point at) {
  m_retries.emplace(at, std::move(m_taken));
}

void Pending_queue::finished() {
  m_bytes -= m_taken->size;
  m_names.erase(m_taken->file.name);
  m_taken.reset();
}

void Pending_queue::shrunk(ulonglong bytes) {
  bytes = std::min(bytes, m_taken->size);
  m_taken->size -= bytes;
  m_bytes -= bytes;
}

bool Pending_queue::has_untried(ulonglong last_number) const {
  return (m_taken != nullptr && m_taken->number <= last_number &&
          m_taken->last_errno == 0) ||
         (!m_files.empty() && m_files.front()->number <= last_number);
}

Purged_files Pending_queue::files() const {
  Purged_files result;
  for_each(
      [&result](const Pending_file &file) { result.push_back(file.file); });
  return result;
}

}  // namespace binlog::purge
