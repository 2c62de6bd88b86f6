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

/**
  @file sql/binlog/purge/purger_status.cc

  The status variables Binlog_purge_*.
*/

#include "sql/binlog/purge/purger_impl.h"

#include <atomic>

#include "mysql/status_var.h"
#include "sql/sql_show.h"  // add_status_vars

namespace binlog::purge {

Status status;

namespace {

template <std::atomic<ulonglong> Status::*member>
int show(THD *, SHOW_VAR *var, char *buffer) {
  var->type = SHOW_LONGLONG;
  var->value = buffer;
  *reinterpret_cast<ulonglong *>(buffer) = (status.*member).load();
  return 0;
}

template <std::atomic<ulonglong> Status::*member>
char *shown() {
  return reinterpret_cast<char *>(&show<member>);
}

}  // namespace

void add_status() {
  static bool is_added = false;
  if (is_added) return;
  is_added = true;
  SHOW_VAR variables[] = {
      {"Binlog_purge_bytes_pending", shown<&Status::bytes_pending>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_bytes_removed", shown<&Status::bytes_removed>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_commit_wait_max_us", shown<&Status::commit_wait_max_us>(),
       SHOW_FUNC, SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_commit_waits", shown<&Status::commit_waits>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_errors", shown<&Status::errors>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_files_pending", shown<&Status::files_pending>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {"Binlog_purge_files_removed", shown<&Status::files_removed>(), SHOW_FUNC,
       SHOW_SCOPE_GLOBAL},
      {nullptr, nullptr, SHOW_UNDEF, SHOW_SCOPE_UNDEF}};
  add_status_vars(variables);
}

void rotation_waited(ulonglong microseconds) {
  ++status.commit_waits;
  commits_waited_at_most(microseconds);
}

void commits_waited_at_most(ulonglong microseconds) {
  ulonglong longest = status.commit_wait_max_us;
  while (
      longest < microseconds &&
      !status.commit_wait_max_us.compare_exchange_weak(longest, microseconds)) {
  }
}

}  // namespace binlog::purge
