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

#include "sql/binlog/purge/file_remover.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "my_dbug.h"
#include "my_sys.h"
#include "my_thread_local.h"
#include "mysql/psi/mysql_file.h"
#include "sql/binlog/purge/fault_injection.h"
#include "sql/mysqld.h"  // key_file_binlog

namespace binlog::purge {

namespace {

constexpr char shrinking_prefix[] = "#purged_";
/** Of a name without its folder, on all usual file systems. */
constexpr size_t max_name_length = 255;

/** As stat(), but of a symbolic link itself where there are such. */
int stat_of_name(const char *path, struct stat *buffer) {
#ifdef _WIN32
  return stat(path, buffer);
#else
  return lstat(path, buffer);
#endif
}

/** A name too long for the file system isn't there, either. */
bool means_missing(int error) {
  return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG;
}

}  // namespace

std::string File_remover::name_while_shrinking(const std::string &path) {
  const size_t folder = dirname_length(path.c_str());
  if (path.compare(folder, sizeof(shrinking_prefix) - 1, shrinking_prefix) == 0)
    return path;
  return path.substr(0, folder) + shrinking_prefix + path.substr(folder);
}

std::string File_remover::name_before_shrinking(const std::string &path) {
  const size_t folder = dirname_length(path.c_str());
  const size_t length = sizeof(shrinking_prefix) - 1;
  if (path.compare(folder, length, shrinking_prefix) != 0) return path;
  return path.substr(0, folder) + path.substr(folder + length);
}

void File_remover::failed(const char *call) {
  m_failed_call = call;
  m_failed_errno = my_errno() != 0 ? my_errno() : EIO;
}

void File_remover::close() {
  if (m_fd >= 0) mysql_file_close(m_fd, MYF(0));
  m_fd = -1;
}

/**
  Looks under which name the file is, and what it is.

  @return true if there is none (m_was_missing is set) or it can't be told
*/
bool File_remover::find() {
  struct stat file;
  if (stat_of_name(m_path.c_str(), &file) != 0) {
    if (!means_missing(errno)) {
      set_my_errno(errno);
      failed("stat");
      return true;
    }
    // A server that stopped may have given it its other name already.
    const std::string other_name = name_while_shrinking(m_path);
    if (stat_of_name(other_name.c_str(), &file) != 0) {
      if (means_missing(errno)) {
        m_was_missing = true;
      } else {
        set_my_errno(errno);
        failed("stat");
      }
      return true;
    }
    m_path = other_name;
  }
  m_found = true;
  m_size = static_cast<ulonglong>(file.st_size);
#ifndef _WIN32
  // Windows doesn't rename a file which others have open.
  m_may_shrink = S_ISREG(file.st_mode) && file.st_nlink == 1;
#endif
  return false;
}

/** Renames and opens the file. If that fails it will be unlinked instead. */
void File_remover::prepare_to_shrink() {
  const std::string new_name = name_while_shrinking(m_path);
  if (new_name.size() >= FN_REFLEN ||
      new_name.size() - dirname_length(new_name.c_str()) > max_name_length) {
    m_may_shrink = false;
    return;
  }
  if (new_name != m_path) {
    if (injected_failure("rename") ||
        mysql_file_rename(key_file_binlog, m_path.c_str(), new_name.c_str(),
                          MYF(0)) != 0) {
      // A file that somebody else has removed is found out by the unlink.
      if (my_errno() != ENOENT) failed("rename");
      m_may_shrink = false;
      return;
    }
    m_path = new_name;
    DBUG_EXECUTE_IF("crash_binlog_purge_after_file_rename", DBUG_SUICIDE(););
  }
  m_fd = mysql_file_open(key_file_binlog, m_path.c_str(), O_WRONLY, MYF(0));
  if (m_fd < 0) {
    failed("open");
    m_may_shrink = false;
  }
}

/**
  Looks at the open file again.

  @return true if nothing is left to be cut off: it is at most that size, or
          has a second name by now
*/
bool File_remover::has_shrunk_to(ulonglong size) {
  struct stat file;
  if (fstat(m_fd, &file) != 0) return false;
  m_size = std::min(m_size, static_cast<ulonglong>(file.st_size));
  return m_size <= size || file.st_nlink > 1;
}

File_remover::Result File_remover::unlink() {
  close();
  DBUG_EXECUTE_IF("crash_binlog_purge_before_unlink", DBUG_SUICIDE(););
  if (injected_failure("unlink") ||
      mysql_file_delete(key_file_binlog, m_path.c_str(), MYF(0)) != 0) {
    if (my_errno() != ENOENT) {
      failed("unlink");
      // It may be another file by the time of the next attempt.
      m_found = false;
      return Result::failed;
    }
    m_was_missing = true;
    return Result::done;
  }
  DBUG_EXECUTE_IF("crash_binlog_purge_after_unlink", DBUG_SUICIDE(););
  m_bytes_freed = m_size;
  m_size = 0;
  return Result::done;
}

File_remover::Result File_remover::step(ulonglong chunk_size) {
  m_bytes_freed = 0;
  m_failed_call = nullptr;
  m_failed_errno = 0;

  if (!m_found && find()) return m_was_missing ? Result::done : Result::failed;

  if (chunk_size > 0 && m_may_shrink && m_size > chunk_size) {
    if (m_fd < 0) prepare_to_shrink();
    // Cutting what somebody else has cut meanwhile would make it longer.
    if (m_fd >= 0 && !has_shrunk_to(chunk_size)) {
      if (!injected_failure("ftruncate") &&
          mysql_file_chsize(m_fd, m_size - chunk_size, 0, MYF(0)) == 0) {
        m_size -= chunk_size;
        m_bytes_freed = chunk_size;
        DBUG_EXECUTE_IF("crash_binlog_purge_after_truncate", DBUG_SUICIDE(););
        return Result::more;
      }
      failed("ftruncate");
      m_may_shrink = false;
    }
  }
  return unlink();
}

}  // namespace binlog::purge
