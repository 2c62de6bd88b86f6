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

#include "sql/binlog/purge/pending_list.h"

#include <fcntl.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "my_dbug.h"
#include "my_io.h"
#include "my_sys.h"
#include "my_thread_local.h"
#include "mysql/psi/mysql_file.h"
#include "sql/binlog/purge/fault_injection.h"
#include "sql/mysqld.h"  // key_file_binlog_index, mysql_data_home

namespace binlog::purge {

namespace {

/**
  Makes the creation, renaming or removal of a file durable.

  @return 0 or errno
*/
int sync_folder_of(const std::string &file [[maybe_unused]]) {
#ifndef _WIN32
  char folder[FN_REFLEN];
  size_t length;
  dirname_part(folder, file.c_str(), &length);
  const File fd = my_open(length > 0 ? folder : ".", O_RDONLY, MYF(0));
  if (fd < 0) return my_errno();
  // Some file systems can't sync a folder; my_sync() knows how most say so.
  int error = my_sync(fd, MYF(MY_IGNORE_BADFD)) != 0 ? my_errno() : 0;
  DBUG_EXECUTE_IF("binlog_purge_folder_ENOTSUP", error = ENOTSUP;);
  my_close(fd, MYF(0));
  return error == ENOTSUP && DBUG_EVALUATE_IF("mutate_binlog_purge_folder_sync",
                                              false, true)
             ? 0
             : error;
#else
  return 0;
#endif
}

std::pair<ulonglong, ulonglong> device_and_inode(const struct stat &file) {
  return {static_cast<ulonglong>(file.st_dev),
          static_cast<ulonglong>(file.st_ino)};
}

std::string lines_of(const Purged_files &files) {
  std::string text;
  for (const Purged_file &file : files) {
    text.append(file.name);
    if (file.identity)
      text.append("\t" + std::to_string(file.identity->inode) + " " +
                  std::to_string(file.identity->size) + " " +
                  std::to_string(file.identity->modified));
    text.append("\n");
  }
  return text;
}

/** The opposite, for a line without its newline. */
Purged_file file_of(const std::string &line) {
  const size_t tab = line.rfind('\t');
  if (tab != std::string::npos) {
    File_identity identity;
    int length = 0;
    if (sscanf(line.c_str() + tab, "\t%llu %llu %llu%n", &identity.inode,
               &identity.size, &identity.modified, &length) == 3 &&
        tab + length == line.size())
      return {line.substr(0, tab), identity};
  }
  return {line, std::nullopt};
}

/**
  Writes text at the given offset of a file, and syncs it.

  @return 0 or errno
*/
int write_and_sync(File fd, const std::string &text, my_off_t offset) {
  if (injected_failure("write") ||
      mysql_file_pwrite(fd, pointer_cast<const uchar *>(text.data()),
                        text.size(), offset, MYF(MY_NABP)) != 0)
    return my_errno() != 0 ? my_errno() : EIO;
  if (injected_failure("fsync") || mysql_file_sync(fd, MYF(0)) != 0)
    return my_errno();
  return 0;
}

/**
  Creates a file with this text, durably, or none.

  @return 0 or errno
*/
int create_with(const std::string &name, const std::string &text) {
  const File fd = mysql_file_create(key_file_binlog_index, name.c_str(), 0,
                                    O_RDWR | O_TRUNC, MYF(0));
  if (fd < 0) return my_errno();
  int error = write_and_sync(fd, text, 0);
  if (mysql_file_close(fd, MYF(0)) != 0 && error == 0) error = my_errno();
  if (error != 0)
    mysql_file_delete(key_file_binlog_index, name.c_str(), MYF(0));
  return error;
}

}  // namespace

bool Pending_list::set_name(const char *index_file_name) {
  char buffer[FN_REFLEN];
  const myf flags = MYF(MY_UNPACK_FILENAME | MY_SAFE_PATH | MY_REPLACE_EXT);
  if (fn_format(buffer, index_file_name, mysql_data_home, ".~purge~", flags) ==
      nullptr)
    return true;
  m_name = buffer;
  // As Binlog_index::set_purge_index_file_name() has it.
  if (fn_format(buffer, index_file_name, mysql_data_home, ".~rec~", flags) ==
      nullptr)
    return true;
  m_upstream_name = buffer;
  return false;
}

int Pending_list::read_file(const std::string &path, Purged_files *files,
                            my_off_t *whole_lines) {
  files->clear();
  *whole_lines = 0;
  const File fd =
      mysql_file_open(key_file_binlog_index, path.c_str(), O_RDONLY, MYF(0));
  if (fd < 0) return my_errno() == ENOENT ? 0 : my_errno();

  std::string text;
  uchar buffer[IO_SIZE];
  size_t length;
  while ((length = mysql_file_read(fd, buffer, sizeof(buffer), MYF(0))) !=
             MY_FILE_ERROR &&
         length > 0)
    text.append(pointer_cast<const char *>(buffer), length);
  const int error = length == MY_FILE_ERROR ? my_errno() : 0;
  mysql_file_close(fd, MYF(0));
  if (error != 0) return error;

  std::unordered_map<std::string, size_t> places;
  size_t start = 0;
  for (size_t end; (end = text.find('\n', start)) != std::string::npos;
       start = end + 1) {
    Purged_file file = file_of(text.substr(start, end - start));
    const auto [place, is_first] = places.emplace(file.name, files->size());
    if (is_first ||
        DBUG_EVALUATE_IF("mutate_binlog_purge_old_lines", true, false))
      files->push_back(std::move(file));
    else
      (*files)[place->second] = std::move(file);
  }
  *whole_lines = start;
  return 0;
}

int Pending_list::read(Purged_files *files) {
  // Left by a server that stopped in rewrite(); the old list is the good one.
  mysql_file_delete(key_file_binlog_index, name_of_new().c_str(), MYF(0));
  if (const int error = read_file(m_name, files, &m_size); error != 0)
    return error;
  m_lines = files->size();
  note_identity();
  // Empty, or the rest of a first append that wasn't completed.
  return m_lines == 0 ? remove() : 0;
}

bool Pending_list::is_intact() const {
  struct stat file;
  return m_size == 0 ||
         DBUG_EVALUATE_IF("mutate_binlog_purge_lost_list", true, false) ||
         (stat(m_name.c_str(), &file) == 0 &&
          device_and_inode(file) == m_identity &&
          static_cast<my_off_t>(file.st_size) >= m_size);
}

void Pending_list::note_identity() {
  struct stat file;
  m_identity = stat(m_name.c_str(), &file) == 0
                   ? device_and_inode(file)
                   : std::pair<ulonglong, ulonglong>();
}

int Pending_list::append(const Purged_files &files) {
  const bool is_new = m_size == 0;
  const File fd = mysql_file_open(key_file_binlog_index, m_name.c_str(),
                                  O_RDWR | (is_new ? O_CREAT : 0), MYF(0));
  if (fd < 0) return my_errno();

  const std::string text = lines_of(files);
  // What a failed append left behind must not follow our lines.
  int error = mysql_file_chsize(fd, m_size, 0, MYF(0)) != 0 ? my_errno() : 0;
  if (error == 0) error = write_and_sync(fd, text, m_size);
  // A best effort: m_size makes the next append cut it off again.
  if (error != 0) (void)mysql_file_chsize(fd, m_size, 0, MYF(0));
  if (mysql_file_close(fd, MYF(0)) != 0 && error == 0) error = my_errno();
  if (error == 0 && is_new) error = sync_folder_of(m_name);
  if (error != 0) {
    if (is_new)
      mysql_file_delete(key_file_binlog_index, m_name.c_str(), MYF(0));
    return error;
  }

  m_size += text.size();
  m_lines += files.size();
  note_identity();
  return 0;
}

int Pending_list::rewrite(const Purged_files &files) {
  if (files.empty()) return remove();

  const std::string text = lines_of(files);
  const std::string new_name = name_of_new();
  int error = create_with(new_name, text);
  if (error != 0) return error;
  DBUG_EXECUTE_IF("crash_binlog_purge_before_list_rename", DBUG_SUICIDE(););
  if (injected_failure("rename") ||
      mysql_file_rename(key_file_binlog_index, new_name.c_str(), m_name.c_str(),
                        MYF(0)) != 0) {
    error = my_errno();
    mysql_file_delete(key_file_binlog_index, new_name.c_str(), MYF(0));
    return error;
  }
  m_size = text.size();
  m_lines = files.size();
  note_identity();
  return sync_folder_of(m_name);
}

int Pending_list::remove() {
  if (mysql_file_delete(key_file_binlog_index, m_name.c_str(), MYF(0)) != 0 &&
      my_errno() != ENOENT)
    return my_errno();
  m_size = 0;
  m_lines = 0;
  return 0;
}

int Pending_list::leave_to_upstream(
    const std::vector<std::string> &names) const {
  std::string text;
  for (const std::string &name : names) text.append(name).append("\n");
  const int error = create_with(m_upstream_name, text);
  return error != 0 ? error : sync_folder_of(m_upstream_name);
}

}  // namespace binlog::purge
