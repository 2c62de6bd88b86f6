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
#include <utility>

namespace binlog::purge {

void Pending_queue::add(const std::string &name) {
  if (!m_names.insert(name).second) return;
  m_unreleased.push_back(std::make_unique<Pending_file>(name));
  m_unreleased_by_name[name] = std::prev(m_unreleased.end());
}

void Pending_queue::release(const std::string &name, ulonglong size) {
  const auto found = m_unreleased_by_name.find(name);
  if (found == m_unreleased_by_name.end()) return;
  (*found->second)->size = size;
  m_bytes += size;
  m_released.splice(m_released.end(), m_unreleased, found->second);
  m_unreleased_by_name.erase(found);
}

Pending_queue::File Pending_queue::take_due(Clock::time_point now,
                                            Clock::time_point *wake_up_at) {
  *wake_up_at = Clock::time_point::max();
  File file;
  if (!m_retries.empty() && m_retries.begin()->first <= now) {
    file = std::move(m_retries.begin()->second);
    m_retries.erase(m_retries.begin());
  } else if (!m_released.empty()) {
    file = std::move(m_released.front());
    m_released.pop_front();
  } else {
    if (!m_retries.empty()) *wake_up_at = m_retries.begin()->first;
    return nullptr;
  }
  m_taken_name = file->name;
  return file;
}

void Pending_queue::put_back(File file) {
  m_taken_name.clear();
  m_released.push_front(std::move(file));
}

void Pending_queue::retry_later(File file, Clock::time_point at) {
  m_taken_name.clear();
  m_retries.emplace(at, std::move(file));
}

void Pending_queue::finished(File file) {
  if (m_taken_name == file->name) m_taken_name.clear();
  m_bytes -= file->size;
  m_names.erase(file->name);
}

void Pending_queue::shrunk(Pending_file *file, ulonglong bytes) {
  bytes = std::min(bytes, file->size);
  file->size -= bytes;
  m_bytes -= bytes;
}

std::vector<Pending_queue::File> Pending_queue::take_all() {
  std::vector<File> files;
  for (File &file : m_released) files.push_back(std::move(file));
  for (File &file : m_unreleased) files.push_back(std::move(file));
  for (auto &retry : m_retries) files.push_back(std::move(retry.second));
  m_released.clear();
  m_unreleased.clear();
  m_unreleased_by_name.clear();
  m_retries.clear();
  return files;
}

std::vector<std::string> Pending_queue::names() const {
  std::vector<std::string> result;
  if (!m_taken_name.empty()) result.push_back(m_taken_name);
  for_each(
      [&result](const Pending_file &file) { result.push_back(file.name); });
  return result;
}

}  // namespace binlog::purge
