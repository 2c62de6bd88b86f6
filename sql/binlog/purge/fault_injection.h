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

#ifndef SQL_BINLOG_PURGE_FAULT_INJECTION_H
#define SQL_BINLOG_PURGE_FAULT_INJECTION_H

/**
  @file sql/binlog/purge/fault_injection.h

  System calls that fail on demand, for tests. Nothing in a release build.
*/

#ifndef NDEBUG

#include <cerrno>
#include <string>

#include "my_dbug.h"
#include "my_thread_local.h"

namespace binlog::purge {

/**
  Shall this call fail? Set by the debug keyword
  binlog_purge_<call>_<EIO|ENOSPC|EACCES|EROFS>.

  @param call unlink, rename, ftruncate, fstat, fsync or write
  @return true, with errno and my_errno() set, if so
*/
inline bool injected_failure(const char *call) {
  struct Failure {
    const char *name;
    int number;
  };
  for (const Failure &failure :
       {Failure{"EIO", EIO}, Failure{"ENOSPC", ENOSPC},
        Failure{"EACCES", EACCES}, Failure{"EROFS", EROFS}}) {
    const std::string keyword =
        std::string("binlog_purge_") + call + "_" + failure.name;
    if (DBUG_EVALUATE_IF(keyword.c_str(), true, false)) {
      errno = failure.number;
      set_my_errno(failure.number);
      return true;
    }
  }
  return false;
}

}  // namespace binlog::purge

#else

namespace binlog::purge {
inline bool injected_failure(const char *) { return false; }
}  // namespace binlog::purge

#endif  // NDEBUG

#endif  // SQL_BINLOG_PURGE_FAULT_INJECTION_H
