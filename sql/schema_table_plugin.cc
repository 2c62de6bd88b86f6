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

#include "sql/schema_table_plugin.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "mutex_lock.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/debug_sync.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_plugin.h"
#include "sql/sql_prepare.h"
#include "sql/sql_show.h"
#include "sql/table.h"

/** The tables of the server itself, in sql_show.cc. */
extern ST_SCHEMA_TABLE schema_tables[];

namespace {

std::mutex retired_mutex;
/** Never destroyed: what it refers to stays reachable until the very end. */
std::vector<ST_SCHEMA_TABLE *> *const retired =
    new std::vector<ST_SCHEMA_TABLE *>;

/** The names of all tables that there have ever been. Never destroyed. */
std::set<std::string> *const names = new std::set<std::string>;

}  // namespace

const char *keep_schema_table_name(const char *name) {
  if (current_thd != nullptr)
    DEBUG_SYNC(current_thd, "schema_table_is_being_installed");
  DBUG_EXECUTE_IF("mutate_schema_table_name", return name;);
  const std::lock_guard<std::mutex> guard(retired_mutex);
  return names->emplace(name).first->c_str();
}

void retire_schema_table(ST_SCHEMA_TABLE *table) {
  const std::lock_guard<std::mutex> guard(retired_mutex);
  retired->push_back(table);
}

#ifndef NDEBUG
ST_SCHEMA_TABLE *reuse_schema_table(ST_SCHEMA_TABLE *fresh) {
  const std::lock_guard<std::mutex> guard(retired_mutex);
  if (retired->empty()) return fresh;
  auto *const table = retired->back();
  retired->pop_back();
  *table = *fresh;
  my_free(fresh);
  return table;
}
#endif /* NDEBUG */

bool lock_schema_table_plugin(THD *thd, Table_ref *table) {
  DBUG_EXECUTE_IF("mutate_schema_table_lock", return false;);
  /* The statement may use the table twice. */
  for (const plugin_ref plugin : thd->lex->plugins) {
    if (plugin_data<ST_SCHEMA_TABLE *>(plugin) == table->schema_table) {
      return false;
    }
  }

  for (auto *builtin = schema_tables; builtin->table_name != nullptr;
       ++builtin) {
    if (builtin == table->schema_table) return false;
  }

  const LEX_CSTRING name{table->table_name, table->table_name_length};
  const plugin_ref plugin =
      plugin_lock_by_name(thd, name, MYSQL_INFORMATION_SCHEMA_PLUGIN);
  ST_SCHEMA_TABLE *found = nullptr;
  if (plugin != nullptr) {
    MUTEX_LOCK(guard, &LOCK_plugin);
    /* As long as INSTALL PLUGIN initializes the plugin, the table lacks its
    columns, and is freed if that fails. */
    if (plugin_state(plugin) != PLUGIN_IS_UNINITIALIZED ||
        DBUG_EVALUATE_IF("mutate_schema_table_installing", true, false)) {
      found = plugin_data<ST_SCHEMA_TABLE *>(plugin);
    }
  }

  if (found == nullptr) {
    my_error(ER_UNKNOWN_TABLE, MYF(0), table->table_name,
             INFORMATION_SCHEMA_NAME.str);
    return true;
  }

  if (found != table->schema_table) {
    /* Another library may have been installed, with other columns. */
    if (DBUG_EVALUATE_IF("mutate_schema_table_reprepare", false, true) &&
        ask_to_reprepare(thd))
      return true;
    table->schema_table = found;
  }
  return false;
}

void unlock_schema_table_plugins(LEX *lex) {
  auto &plugins = lex->plugins;
  auto *const ours =
      std::stable_partition(plugins.begin(), plugins.end(), [](plugin_ref ref) {
        return plugin_decl(ref)->type != MYSQL_INFORMATION_SCHEMA_PLUGIN;
      });
  if (ours == plugins.end()) return;

  plugin_unlock_list(nullptr, ours, plugins.end() - ours);
  plugins.resize(ours - plugins.begin());
}
