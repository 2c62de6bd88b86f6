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

#ifndef SQL_BINLOG_PURGE_PENDING_LIST_H
#define SQL_BINLOG_PURGE_PENDING_LIST_H

/**
  @file sql/binlog/purge/pending_list.h

  The file which remembers, across a crash, the binary logs that were purged
  but are still on disk.
*/

#include <string>
#include <utility>
#include <vector>

#include "my_inttypes.h"
#include "sql/binlog/purge/file_remover.h"

namespace binlog::purge {

/**
  A text file beside the index file, `<index>.~purge~`. A line is a path, as the
  index file had it, a tab, and the identity of the file: inode, size and time
  of the last change. A line without an identity is of an older version.

  A name is written, durably, before it is taken out of the index. So a name
  in this list is that of a dead file unless the index has it, too: then the
  server stopped between the two, and the file is alive. A name without a file
  is that of a file which was removed. Neither is an error.

  A name may have several lines: a purge that failed leaves its lines. Until the
  next purge of that file it is alive, and a new encryption key may change it.
  So the last line counts.

  A line without its newline is left by a write that failed or by a crash during
  a write, and is ignored.

  Not thread safe: Purger::m_list_mutex protects it.
*/
class Pending_list {
 public:
  /**
    Sets the name of the list, after that of the index file.

    @return true if the name is too long, false otherwise
  */
  bool set_name(const char *index_file_name);

  const std::string &name() const { return m_name; }

  /** Lines in the file, those of removed files included. After read() a name
      counts once. */
  size_t lines() const { return m_lines; }

  /**
    Whether the file is the one that was written last: not removed, replaced or
    cut short by somebody else. If not, the files in memory are to be written
    anew.
  */
  bool is_intact() const;

  /**
    Reads the names, and clears away what a crash in rewrite() left. A missing
    file is an empty list.

    @return 0 or errno
  */
  int read(Purged_files *files);

  /**
    Reads any list of this kind, and changes nothing.

    @param[out] length  of the lines that are whole, in bytes
    @return 0 or errno; a missing file is an empty list
  */
  static int read_file(const std::string &path, Purged_files *files,
                       my_off_t *length);

  /**
    Adds files and syncs the file. Upon an error the file is left as it was,
    as far as a reader is concerned.

    @return 0 or errno
  */
  int append(const Purged_files &files);

  /**
    Replaces the file by one with these files, by a rename. Upon an error the
    old file is unharmed.

    @return 0 or errno
  */
  int rewrite(const Purged_files &files);

  /**
    Removes the file.

    @return 0 or errno; a file that isn't there is no error
  */
  int remove();

  /**
    Leaves the names to a server which does not know this list: writes them to
    the file in which MYSQL_BIN_LOG::open_index_file() looks for files to be
    deleted. To be called when nobody uses the index any longer.

    @return 0 or errno
  */
  int leave_to_upstream(const std::vector<std::string> &names) const;

 private:
  /** The file that rewrite() finally renames to the list. */
  std::string name_of_new() const { return m_name + "new"; }

  /** Remembers which file is_intact() is to look for. */
  void note_identity();

  std::string m_name;
  /** Upstream's list of that kind, which exists only during a purge. */
  std::string m_upstream_name;
  /** Bytes of the file that are known to be good, where append() goes on. */
  my_off_t m_size{0};
  size_t m_lines{0};
  /** Device and inode of the file; zeros if they are not known. */
  std::pair<ulonglong, ulonglong> m_identity;
};

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_PENDING_LIST_H
