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

#include <optional>
#include <string>
#include <vector>

#include "my_inttypes.h"
#include "my_io.h"

namespace binlog::purge {

/** What tells a purged file from a later one with its name. */
struct File_identity {
  ulonglong inode;
  ulonglong size;
  /** When the contents last changed, in nanoseconds. */
  ulonglong modified;
};

/** A binary log that was taken out of the index. */
struct Purged_file {
  /** As the index had it. */
  std::string name;
  /** Empty if it could not be looked at, or the version that purged it did not
      record it: then the name alone counts. */
  std::optional<File_identity> identity;
};

using Purged_files = std::vector<Purged_file>;

/**
  Looks at a file that is about to be purged.

  @param[in,out] file  its name; gets its identity
  @return 0, ENOENT if it is not there, EISDIR if it is a folder, or another
          errno
*/
int identify(Purged_file *file);

/**
  Removes one file, giving its space back chunk by chunk.

  A file larger than a chunk is first renamed to `#purged_<name>` in the same
  folder, which nobody takes for a binary log, so that nobody copies a file that
  was cut short. Then it is shrunk from its end, and finally unlinked. It keeps
  the new name until then: a file without a name would be given back by the
  kernel at once if the server stopped, and be left behind by NFS.

  Only a file that nobody else has open is shrunk, as a reader would meet a
  wrong end of file. A lease (F_SETLEASE) tells, and keeps others from opening
  the file until the cut is made. A file for which the kernel grants no lease is
  unlinked. So is a file that isn't a regular one, or that has a second name
  (somebody's hard link).

  A file that isn't the one that was purged stays.

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

  explicit File_remover(const Purged_file &file)
      : m_file(file), m_path(file.name) {}
  ~File_remover() { close(); }
  File_remover(const File_remover &) = delete;
  File_remover &operator=(const File_remover &) = delete;

  /**
    Looks for the file, under either name.

    @return true if it is there, or if that can't be told (failed_call() is
            set)
  */
  bool find();

  /**
    Shrinks the file by at most chunk_size bytes, to a multiple of chunk_size,
    or unlinks it if it isn't larger than chunk_size.

    @param chunk_size in bytes; 0 removes the whole file by one unlink
  */
  Result step(ulonglong chunk_size);

  /** Bytes that the last step() gave back. */
  ulonglong bytes_freed() const { return m_bytes_freed; }

  /** Whether somebody else has removed the file. */
  bool was_missing() const { return m_was_missing; }

  /** Whether the file is missing and another one has its name. */
  bool is_replaced() const { return m_is_replaced; }

  /** Bytes on disk, if the file is there. */
  ulonglong size() const { return m_size; }

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
  void prepare_to_shrink();
  bool shrink(ulonglong chunk_size);
  Result unlink();

  const Purged_file m_file;
  std::string m_path;
  File m_fd{-1};
  ulonglong m_size{0};
  bool m_found{false};
  bool m_may_shrink{false};
  bool m_was_missing{false};
  bool m_is_replaced{false};
  ulonglong m_bytes_freed{0};
  const char *m_failed_call{nullptr};
  int m_failed_errno{0};
};

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_FILE_REMOVER_H
