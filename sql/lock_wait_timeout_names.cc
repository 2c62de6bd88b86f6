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
  @file sql/lock_wait_timeout_names.cc
  Two names of one system variable.
*/

#include "sql/lock_wait_timeout_names.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "lex_string.h"
#include "my_dbug.h"
#include "my_inttypes.h"
#include "mysql/components/services/log_builtins.h"
#include "mysql/strings/m_ctype.h"
#include "mysqld_error.h"
#include "sql/mysqld.h"  // global_system_variables
#include "sql/session_tracker.h"
#include "sql/sql_class.h"
#include "sql/sql_const.h"  // LONG_TIMEOUT
#include "sql/system_variables.h"
#include "string_with_len.h"

namespace {

/* The first one is that of the Sys_var which owns the value. */
constexpr LEX_CSTRING NAMES[] = {
    {STRING_WITH_LEN("lock_wait_timeout")},
    {STRING_WITH_LEN("metadata_lock_wait_timeout")}};

/** @returns index into NAMES, -1 if it is some other variable. */
int name_index(const char *name) {
  for (int i = 0; i < 2; ++i)
    if (my_strcasecmp(system_charset_info, NAMES[i].str, name) == 0) return i;
  return -1;
}

/** What was given at startup under each name, in seconds; 0: nothing. */
struct Startup_options {
  ulong value[2]{0, 0};
  int last{-1};
  ulong maximum{LONG_TIMEOUT};
} startup_options;

}  // namespace

bool is_other_lock_wait_timeout_name(const std::string &a,
                                     const std::string &b) {
  DBUG_EXECUTE_IF("mutate_second_hint", return false;);
  const int index_a = name_index(a.c_str());
  const int index_b = name_index(b.c_str());
  return index_a >= 0 && index_b >= 0 && index_a != index_b;
}

bool track_other_lock_wait_timeout_name(sys_var *self, THD *thd,
                                        enum_var_type type) {
  if (type != OPT_SESSION) return false;
  DBUG_EXECUTE_IF("mutate_track_other_name", return false;);

  /* The name which was used is tracked by sys_var::update(). */
  State_tracker *tracker =
      thd->session_tracker.get_tracker(SESSION_SYSVARS_TRACKER);
  if (tracker->is_enabled())
    tracker->mark_as_changed(thd, NAMES[1 - name_index(self->name.str)]);
  return false;
}

void note_lock_wait_timeout_option(const char *name) {
  /* Neither locale nor character sets are set up yet. */
  const int index = strcmp(name, NAMES[0].str) == 0   ? 0
                    : strcmp(name, NAMES[1].str) == 0 ? 1
                                                      : -1;
  if (index < 0) return;

  /* --maximum-lock-wait-timeout is seen here too but sets another value. */
  if (startup_options.maximum != max_system_variables.lock_wait_timeout) {
    startup_options.maximum = max_system_variables.lock_wait_timeout;
    return;
  }
  startup_options.value[index] = global_system_variables.lock_wait_timeout;
  startup_options.last = index;
}

void report_lock_wait_timeout_options() {
  DBUG_EXECUTE_IF("mutate_startup_note", return;);
  const int used = startup_options.last;
  if (used < 0) return;
  const int other = 1 - used;
  if (startup_options.value[other] == 0 ||
      startup_options.value[other] == startup_options.value[used])
    return;

  char buff[256];
  snprintf(buff, sizeof(buff),
           "%s=%lu and %s=%lu were given, two names of the same variable. "
           "Using the last one, %s=%lu.",
           NAMES[other].str, startup_options.value[other], NAMES[used].str,
           startup_options.value[used], NAMES[used].str,
           startup_options.value[used]);
  LogErr(INFORMATION_LEVEL, ER_LOG_PRINTF_MSG, buff);
}

void merge_persisted_lock_wait_timeout(Persisted_variables_uset *variables) {
  auto find = [variables](const LEX_CSTRING &name) {
    return std::find_if(
        variables->begin(), variables->end(),
        [&name](const st_persist_var &var) { return var.key == name.str; });
  };

  const auto base = find(NAMES[0]);
  const auto second = find(NAMES[1]);
  if (base == variables->end()) {
    /* A server that knows only the first name has reset it. */
    if (second != variables->end()) variables->erase(second);
    return;
  }

  const bool use_second =
      second != variables->end() && second->timestamp > base->timestamp;
  st_persist_var winner = use_second ? *second : *base;

  variables->erase(base);
  /* Erasing an element of an unordered set leaves other iterators valid. */
  if (second != variables->end()) variables->erase(second);
  for (const LEX_CSTRING &name : NAMES) {
    winner.key.assign(name.str, name.length);
    variables->insert(winner);
  }
}
