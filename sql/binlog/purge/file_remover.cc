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
#include <csignal>

#include "my_dbug.h"
#include "my_dir.h"  // MY_S_ISDIR
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

/** Like stat(), but looks at a symbolic link itself where there are such. */
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

File_identity identity_of(const struct stat &file) {
#ifdef _WIN32
  constexpr ulonglong nanoseconds = 0;
#elif defined(__APPLE__)
  const ulonglong nanoseconds = file.st_mtimespec.tv_nsec;
#else
  const ulonglong nanoseconds = file.st_mtim.tv_nsec;
#endif
  return {static_cast<ulonglong>(file.st_ino),
          static_cast<ulonglong>(file.st_size),
          static_cast<ulonglong>(file.st_mtime) * 1000000000ULL + nanoseconds};
}

/**
  Whether this is the purged file.

  @param is_shrinking  it has the name of a file that is being shrunk
*/
bool is_same(const struct stat &file,
             const std::optional<File_identity> &purged, bool is_shrinking) {
  if (!purged || DBUG_EVALUATE_IF("mutate_binlog_purge_identity", true, false))
    return true;
  const File_identity now = identity_of(file);
  if (now.inode != purged->inode) return false;
  if (is_shrinking) return now.size <= purged->size;
  return now.size == purged->size && now.modified == purged->modified;
}

/**
  Keeps others from opening a file, if nobody but the caller has it open or
  mapped. The caller's own descriptor doesn't count.
*/
class Lease {
 public:
  explicit Lease(File fd [[maybe_unused]]) {
#ifdef F_SETLEASE
    m_fd = fd;
    // Somebody who waits for the lease is announced by a signal. SIGIO, the
    // default, would end the server; SIGURG is ignored by default.
    m_is_granted =
        fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
#endif
    DBUG_EXECUTE_IF("mutate_binlog_purge_lease", m_is_granted = true;);
  }
  ~Lease() {
#ifdef F_SETLEASE
    if (m_is_granted) (void)fcntl(m_fd, F_SETLEASE, F_UNLCK);
#endif
  }
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  bool is_granted() const { return m_is_granted; }

 private:
  bool m_is_granted{false};
#ifdef F_SETLEASE
  File m_fd;
#endif
};

}  // namespace

int identify(Purged_file *file) {
  struct stat buffer;
  if (stat_of_name(file->name.c_str(), &buffer) != 0)
    return means_missing(errno) ? ENOENT : errno;
  file->identity = identity_of(buffer);
  return MY_S_ISDIR(buffer.st_mode) ? EISDIR : 0;
}

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

bool File_remover::find() {
  struct stat file;
  m_failed_call = nullptr;
  m_failed_errno = 0;
  m_was_missing = false;
  m_is_replaced = false;

  // A server that stopped may have given it its other name already.
  for (const std::string &path :
       {m_file.name, name_while_shrinking(m_file.name)}) {
    const bool is_shrinking = path == name_while_shrinking(path);
    if (stat_of_name(path.c_str(), &file) != 0) {
      if (means_missing(errno)) continue;
      set_my_errno(errno);
      failed("stat");
      return true;
    }
    if (!is_same(file, m_file.identity, is_shrinking)) {
      m_is_replaced = true;
      continue;
    }
    m_path = path;
    m_is_replaced = false;
    m_found = true;
    m_size = static_cast<ulonglong>(file.st_size);
#ifndef _WIN32
    // Windows doesn't rename a file which others have open.
    m_may_shrink = S_ISREG(file.st_mode) &&
                   (file.st_nlink == 1 ||
                    DBUG_EVALUATE_IF("mutate_binlog_purge_links", true, false));
#endif
    return true;
  }
  m_was_missing = true;
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
  if (new_name != m_path &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_rename", false, true)) {
    if (injected_failure("rename") ||
        mysql_file_rename(key_file_binlog, m_path.c_str(), new_name.c_str(),
                          MYF(0)) != 0) {
      // The unlink finds out if somebody else has removed the file.
      if (my_errno() != ENOENT) failed("rename");
      m_may_shrink = false;
      return;
    }
    m_path = new_name;
    DBUG_EXECUTE_IF("crash_binlog_purge_after_file_rename", DBUG_SUICIDE(););
  }
#ifndef _WIN32
  // Does not wait for another process's lease.
  constexpr int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
#else
  constexpr int flags = O_WRONLY;
#endif
  m_fd = mysql_file_open(key_file_binlog, m_path.c_str(), flags, MYF(0));
  if (m_fd < 0) {
    failed("open");
    m_may_shrink = false;
  }
}

/**
  Cuts a chunk off the open file.

  @return false if the file is to be unlinked instead
*/
bool File_remover::shrink(ulonglong chunk_size) {
  const Lease lease(m_fd);
  m_may_shrink = false;
  if (!lease.is_granted()) return false;
  struct stat file;
  if (injected_failure("fstat") || fstat(m_fd, &file) != 0) {
    set_my_errno(errno);
    failed("fstat");
    DBUG_EXECUTE_IF("mutate_binlog_purge_fstat", {
      file.st_nlink = 1;
      file.st_size = static_cast<off_t>(m_size);
    });
    if (DBUG_EVALUATE_IF("mutate_binlog_purge_fstat", false, true))
      return false;
  }
  if (file.st_nlink > 1 &&
      DBUG_EVALUATE_IF("mutate_binlog_purge_links", false, true))
    return false;
  // Cutting what somebody else has cut meanwhile would make it longer.
  m_size = std::min(m_size, static_cast<ulonglong>(file.st_size));
  if (m_size <= chunk_size) return false;
  const ulonglong new_size =
      DBUG_EVALUATE_IF("mutate_binlog_purge_unaligned", true, false)
          ? m_size - chunk_size
          : (m_size - 1) / chunk_size * chunk_size;
  if (injected_failure("ftruncate") ||
      mysql_file_chsize(m_fd, new_size, 0, MYF(0)) != 0) {
    failed("ftruncate");
    return false;
  }
  m_may_shrink = true;
  m_bytes_freed = m_size - new_size;
  m_size = new_size;
  DBUG_EXECUTE_IF("crash_binlog_purge_after_truncate", DBUG_SUICIDE(););
  return true;
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

  if (!m_found) {
    if (!find()) return Result::done;
    if (m_failed_call != nullptr) return Result::failed;
  }
  if (chunk_size > 0 && m_may_shrink && m_size > chunk_size) {
    if (m_fd < 0) prepare_to_shrink();
    if (m_fd >= 0 && shrink(chunk_size)) return Result::more;
  }
  return unlink();
}

}  // namespace binlog::purge
