#ifndef SYS_VAR_METADATA_LOCK_WAIT_TIMEOUT_INCLUDED
#define SYS_VAR_METADATA_LOCK_WAIT_TIMEOUT_INCLUDED
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
  @file sql/sys_var_metadata_lock_wait_timeout.h

  Class of the second name of lock_wait_timeout. Like sql/sys_vars.h, this is
  included only by the file with the declarations of sys_var variables.
*/

#include <algorithm>

#include "my_dbug.h"
#include "my_getopt.h"
#include "my_inttypes.h"
#include "sql/item.h"
#include "sql/mysqld.h"  // max_system_variables
#include "sql/set_var.h"
#include "sql/sys_vars.h"
#include "sql/sys_vars_shared.h"  // throw_bounds_warning

/**
  An alias of lock_wait_timeout which is no less official than the variable.

  Both are persisted, as with all aliases. The flag is_persisted_deprecated of
  the base class is set without a substitute: that means that the value read
  from the file is set once, by the other name, while no deprecation is ever
  reported. @sa merge_persisted_lock_wait_timeout()
*/
class Sys_var_metadata_lock_wait_timeout final : public Sys_var_alias {
 public:
  Sys_var_metadata_lock_wait_timeout(const char *name_arg, const char *comment,
                                     sys_var &base_var)
      : Sys_var_alias(name_arg, base_var, nullptr, &base_var, true) {
    option.comment = comment;
  }

 private:
  /**
    The same check as that of the variable (@sa Sys_var_integer::do_check),
    but errors and warnings carry the name which the user typed.
  */
  bool do_check(THD *thd, set_var *var) override {
    const longlong v = var->value->val_int();
    const bool is_unsigned = var->value->unsigned_flag;
    bool fixed = false;
    const ulonglong limited = getopt_ull_limit_value(
        is_unsigned || v >= 0 ? static_cast<ulonglong>(v) : 0, &option, &fixed);

    var->save_result.ulonglong_value =
        std::min<ulonglong>(limited, max_system_variables.lock_wait_timeout);
    DBUG_EXECUTE_IF("mutate_second_name_value",
                    var->save_result.ulonglong_value = 1;
                    return false;);
    return throw_bounds_warning(
        thd, name.str,
        var->save_result.ulonglong_value != static_cast<ulonglong>(v),
        is_unsigned, v);
  }
};

#endif  // SYS_VAR_METADATA_LOCK_WAIT_TIMEOUT_INCLUDED
