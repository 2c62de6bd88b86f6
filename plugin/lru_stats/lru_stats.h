/*****************************************************************************

Copyright (c) 2026, Sluice contributors.

This program is free software; you can redistribute it and/or modify it under
the terms of the GNU General Public License, version 2.0, as published by the
Free Software Foundation.

This program is distributed in the hope that it will be useful, but WITHOUT
ANY WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS
FOR A PARTICULAR PURPOSE. See the GNU General Public License, version 2.0,
for more details.

You should have received a copy of the GNU General Public License along with
this program; if not, write to the Free Software Foundation, Inc.,
51 Franklin St, Fifth Floor, Boston, MA 02110-1301  USA

*****************************************************************************/

/** @file plugin/lru_stats/lru_stats.h
 What the tables of the plugin library lru_stats have in common.

 To add a table, write a source file with its columns and its fill function,
 declare its init function here, and add an entry to the list at the end of
 lru_stats.cc. */

#ifndef LRU_STATS_H
#define LRU_STATS_H

#include <cstdint>
#include <mutex>

#include "m_string.h"
#include "my_dbug.h"
#include "my_inttypes.h"
#include "my_sqlcommand.h"
#include "mysql/plugin.h"
#include "mysql_com.h"
#include "sql/debug_sync.h"
#include "sql/mysqld.h"
#include "sql/table.h"
#include "storage/innobase/include/buf0lrustats.h"

class Field;
class Item;
class THD;

namespace lru_stats {

/** Fills a table; the frame has checked the privilege.
@return true if an error was raised */
using Fill_function = bool (*)(THD *thd, TABLE *table);

/** @return the server's counters; not nullptr in a fill function */
const innodb_lru_stats_interface_t *server();

/** A column for a counter, a size or an identifier.
@param[in]  name  its name
@return BIGINT UNSIGNED NOT NULL */
constexpr ST_FIELD_INFO number_column(const char *name) {
  return {name,
          MY_INT64_NUM_DECIMAL_DIGITS,
          MYSQL_TYPE_LONGLONG,
          0,
          MY_I_S_UNSIGNED,
          "",
          0};
}

/** A column for a point in time.
@param[in]  name  its name
@return DATETIME(6) NOT NULL */
constexpr ST_FIELD_INFO time_column(const char *name) {
  return {name, 6, MYSQL_TYPE_DATETIME, 0, 0, "", 0};
}

/** A column for a number that may be unknown.
@param[in]  name  its name
@return BIGINT UNSIGNED */
constexpr ST_FIELD_INFO nullable_number_column(const char *name) {
  return {name, MY_INT64_NUM_DECIMAL_DIGITS,         MYSQL_TYPE_LONGLONG,
          0,    MY_I_S_UNSIGNED | MY_I_S_MAYBE_NULL, "",
          0};
}

/** A column for a measured or estimated figure, which may be unknown.
@param[in]  name  its name
@return DOUBLE */
constexpr ST_FIELD_INFO figure_column(const char *name) {
  return {name, MAX_DOUBLE_STR_LENGTH, MYSQL_TYPE_DOUBLE,
          0,    MY_I_S_MAYBE_NULL,     "",
          0};
}

/** A column for a word that the tables define.
@param[in]  name  its name
@return VARCHAR(16) NOT NULL */
constexpr ST_FIELD_INFO word_column(const char *name) {
  return {name, 16, MYSQL_TYPE_STRING, 0, 0, "", 0};
}

/** A column for the name of a schema, a table, a partition or an index, which
may be unknown.
@param[in]  name  its name
@return VARCHAR */
constexpr ST_FIELD_INFO name_column(const char *name) {
  return {name, NAME_CHAR_LEN * 2 + 1, MYSQL_TYPE_STRING,
          0,    MY_I_S_MAYBE_NULL,     "",
          0};
}

/** Stores into a column that may be unknown.
@param[in,out]  field  its field
@param[in]      known  false to store NULL
@param[in]      value  the value otherwise
@return true if an error was raised */
bool store_figure(Field *field, bool known, double value);
bool store_number(Field *field, bool known, uint64_t value);

/** @param[in]  value  text in UTF-8, nullptr to store NULL */
bool store_text(Field *field, const char *value);

/** What a list of columns ends with. */
constexpr ST_FIELD_INFO end_of_columns() {
  return {nullptr, 0, MYSQL_TYPE_NULL, 0, 0, nullptr, 0};
}

/** Stores a point in time, in the time zone of the session.
@param[in]      thd    session
@param[in,out]  field  field of a time_column()
@param[in]      usec   microseconds since 1970 UTC
@return true if an error was raised */
bool store_time(THD *thd, Field *field, int64_t usec);

/** @return false when the server's counters cannot be used, see init_table() */
bool check_server();

/** @return true, with an error raised, if the session lacks the privilege
PROCESS, which InnoDB's own tables about the buffer pool ask for */
bool access_denied(THD *thd);

/** To be called by the init function of each table. Makes sure that the server
has the counters, in the version this library was compiled for.
@tparam         FILL     fills the table
@param[in,out]  p        what the server gave to the init function
@param[in]      columns  columns, ending with end_of_columns()
@return 0, or 1 when the plugin cannot be loaded; the reason is in the error log
then */
template <Fill_function FILL>
int init_table(void *p, ST_FIELD_INFO *columns) {
  if (!check_server()) return 1;
  auto *schema_table = static_cast<ST_SCHEMA_TABLE *>(p);
  schema_table->fields_info = columns;
  schema_table->fill_table = [](THD *thd, Table_ref *tables, Item *) -> int {
    if (access_denied(thd)) return 1;
    DEBUG_SYNC(thd, "lru_stats_fill_table");
    return FILL(thd, tables->table) ? 1 : 0;
  };
  return 0;
}

/** Init functions of the tables.
@return see init_table() */
int init_innodb_lru_stats(void *p);
int init_innodb_lru_stats_since_reset(void *p);
int init_innodb_lru_index_stats(void *p);
int init_innodb_lru_age_histogram(void *p);
int init_innodb_lru_whatif(void *p);

/** System variables of the tables. */
extern SYS_VAR *innodb_lru_index_stats_variables[];
extern SYS_VAR *innodb_lru_age_histogram_variables[];
extern SYS_VAR *innodb_lru_whatif_variables[];

/** One change of a setting at a time, see change_setting(). */
extern std::mutex setting_mutex;

/** Another session is changing a setting. */
constexpr int BUSY = -2;

/** Does the work of a variable's update function if that may take long, because
it looks through the pool, or waits for a resize or for the end of the thread.
SET GLOBAL holds the lock of all global variables, which each new connection
needs, so that lock is released meanwhile. The next SET waits, so that the
variable shows what is in force.

INSTALL PLUGIN of any plugin also sets the variables that were persisted. It
holds LOCK_plugin, which a new connection takes under the lock of the variables,
so the latter is not released then. For the same reason INSTALL PLUGIN does not
wait for a SET, and a value that is in force does not start anything afresh.
@param[in]  thd     session
@param[in]  differ  true if the value differs from the one in force
@param[in]  change  makes the change; returns 0, or why it failed
@param[in]  store   notes it in the variables, given what change has returned;
called with the lock held
@return what change has returned, or BUSY */
template <typename Change, typename Store>
int change_setting(MYSQL_THD thd, bool differ, Change &&change, Store &&store) {
  const bool is_set =
      thd_sql_command(thd) == SQLCOM_SET_OPTION ||
      DBUG_EVALUATE_IF("mutate_lru_install_is_set", true, false);
  if (!is_set && !differ &&
      DBUG_EVALUATE_IF("mutate_lru_install_afresh", false, true)) {
    return 0;
  }
  const bool keeps =
      !is_set || DBUG_EVALUATE_IF("mutate_lru_set_keeps_lock", true, false);
  if (!keeps) mysql_mutex_unlock(&LOCK_global_system_variables);
  std::unique_lock<std::mutex> guard(setting_mutex, std::defer_lock);
  if (is_set) {
    guard.lock();
  } else if (!guard.try_lock()) {
    return BUSY;
  }
  DEBUG_SYNC(thd, "lru_stats_changes_setting");
  const int error = change();
  if (!keeps) mysql_mutex_lock(&LOCK_global_system_variables);
  store(error);
  return error;
}

/** Raises the error of a table that could not be switched on.
@param[in]  error  what change_setting() returned
@param[in]  bytes  memory that was asked for, 0 if that is not known */
void raise_switch_error(int error, int bytes = 0);

/** Writes to the error log.
@param[in]  message  text */
void log_error(const char *message);

}  // namespace lru_stats

#endif /* LRU_STATS_H */
