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

#ifndef SQL_BINLOG_PURGE_FILE_REMOVER_H
#define SQL_BINLOG_PURGE_FILE_REMOVER_H

/**
  @file sql/binlog/purge/file_remover.h

  Removal of one file in steps small enough for the file system.
*/

#include <string>

#include "my_inttypes.h"
#include "my_io.h"

namespace binlog::purge {

/**
  Removes one file, giving its space back chunk by chunk.

  A file larger than a chunk first gets a name which nobody takes for that of
  a binary log, `#purged_<name>` in the same folder, so that no copy is made
  of a file cut short. Then it is shrunk from its end, and at last unlinked.
  The new name stays until then: a file without a name would be given back by
  the kernel at once if the server stopped, and be left behind by NFS.

  A file which isn't a regular one, or has a second name (somebody's hard
  link), is unlinked and never shrunk.

  Not thread safe.
*/
class File_remover {
 public:
  enum class Result {
    /** There is more to remove: call step() again. */
    more,
    /** The file is gone. */
    done,
    /** step() may be called again later, and goes on where it failed. */
    failed
  };

  explicit File_remover(const std::string &path) : m_path(path) {}
  ~File_remover() { close(); }
  File_remover(const File_remover &) = delete;
  File_remover &operator=(const File_remover &) = delete;

  /**
    Gives back at most chunk_size bytes, or unlinks what is at most that.

    @param chunk_size in bytes; 0 removes the whole file by one unlink
  */
  Result step(ulonglong chunk_size);

  /** Bytes that the last step() gave back. */
  ulonglong bytes_freed() const { return m_bytes_freed; }

  /** Whether somebody else has removed the file. */
  bool was_missing() const { return m_was_missing; }

  /**
    The system call that failed in the last step() and its errno. There may be
    one even if the step didn't fail: a file that can't be renamed or shrunk
    is unlinked instead.
  */
  const char *failed_call() const { return m_failed_call; }
  int failed_errno() const { return m_failed_errno; }

  /** The name under which the file is on disk now. */
  const std::string &path() const { return m_path; }

  /** The name under which a file is being shrunk. */
  static std::string name_while_shrinking(const std::string &path);

  /** The opposite; the path itself if it isn't such a name. */
  static std::string name_before_shrinking(const std::string &path);

 private:
  void failed(const char *call);
  void close();
  bool find();
  void prepare_to_shrink();
  bool has_shrunk_to(ulonglong size);
  Result unlink();

  std::string m_path;
  File m_fd{-1};
  ulonglong m_size{0};
  bool m_found{false};
  bool m_may_shrink{false};
  bool m_was_missing{false};
  ulonglong m_bytes_freed{0};
  const char *m_failed_call{nullptr};
  int m_failed_errno{0};
};

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_FILE_REMOVER_H
