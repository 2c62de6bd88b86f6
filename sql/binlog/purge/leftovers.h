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

#ifndef SQL_BINLOG_PURGE_LEFTOVERS_H
#define SQL_BINLOG_PURGE_LEFTOVERS_H

/**
  @file sql/binlog/purge/leftovers.h

  Purged files on disk which the list of this server doesn't name.
*/

#include <string>

#include "sql/binlog/purge/file_remover.h"

namespace binlog::purge {

/**
  Finds the files with a name that only a file being shrunk has,
  `#purged_<base>.<number>`. Nobody reads them, so they may be removed.

  @param basename  path of the binary logs, without the number
*/
Purged_files find_shrinking(const std::string &basename);

/**
  Warns of lists of pending files that belong to other index files than the one
  in use, a former log_bin's or another server's, and name files that are on
  disk. The files aren't touched: in the other index they may be alive.

  @param own_list  the list of this server
  @param basename  path of the binary logs, without the number
*/
void warn_of_other_lists(const std::string &own_list,
                         const std::string &basename);

}  // namespace binlog::purge

#endif  // SQL_BINLOG_PURGE_LEFTOVERS_H
