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

/** @file plugin/lru_stats/lru_stats.cc
 The frame of the plugin library lru_stats: its list of plugins, one a table,
 its system variable, and what the tables share.

 What INNODB_LRU_STATS shows is counted and kept by the server, so figures go
 back to the server's start, and a reset is remembered, whenever the tables are
 installed and uninstalled. What the other tables show begins when they are
 installed, see lru_observer.h, and the server spends nothing on it before. */

#include "plugin/lru_stats/lru_stats.h"

#include <cstdio>
#include <cstring>
#include <mutex>

#include "my_time.h"
#include "mysql/components/services/log_builtins.h"
#include "mysqld_error.h"
#include "plugin/lru_stats/lru_stats_part.h"
#include "sql/auth/auth_acls.h"
#include "sql/auth/auth_common.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/tztime.h"

/* The names that LogPluginErrMsg() uses. */
static SERVICE_TYPE(registry) *reg_srv = nullptr;
SERVICE_TYPE(log_builtins) *log_bi = nullptr;
SERVICE_TYPE(log_builtins_string) *log_bs = nullptr;

namespace lru_stats {

std::mutex setting_mutex;

/* A server without the counters has no innodb_lru_stats_interface_v6(): then
the library is not even loaded, and INSTALL PLUGIN shows that name. */
const innodb_lru_stats_interface_t *server() {
  return innodb_lru_stats_interface_v6();
}

bool check_server() {
  auto version = server()->version;
  DBUG_EXECUTE_IF("lru_stats_wrong_version", ++version;);

  if (version == INNODB_LRU_STATS_VERSION &&
      server()->row_size == sizeof(innodb_lru_stats_t)) {
    return true;
  }

  char message[256];
  snprintf(
      message, sizeof(message),
      "lru_stats.so was built for version %u of the LRU counters of InnoDB "
      "(%zu bytes), this server has version %u (%u bytes). Use the library "
      "that came with the server.",
      INNODB_LRU_STATS_VERSION, sizeof(innodb_lru_stats_t), version,
      server()->row_size);
  log_error(message);
  return false;
}

void log_error(const char *message) {
  /* The service's handles are one set for the library. */
  static std::mutex mutex;
  const std::lock_guard<std::mutex> guard(mutex);
  if (!init_logging_service_for_plugin(&reg_srv, &log_bi, &log_bs)) {
    LogPluginErrMsg(ERROR_LEVEL, ER_LOG_PRINTF_MSG, "%s", message);
    deinit_logging_service_for_plugin(&reg_srv, &log_bi, &log_bs);
  }
}

bool store_figure(Field *field, bool known, double value) {
  if (!known) {
    field->set_null();
    return false;
  }
  field->set_notnull();
  return field->store(value) != TYPE_OK;
}

bool store_number(Field *field, bool known, uint64_t value) {
  if (!known) {
    field->set_null();
    return false;
  }
  field->set_notnull();
  return field->store(static_cast<longlong>(value), true) != TYPE_OK;
}

bool store_text(Field *field, const char *value) {
  if (value == nullptr) {
    field->set_null();
    return false;
  }
  field->set_notnull();
  /* An invalid or overlong name is better shown in part than not at all. */
  return field->store(value, strlen(value), system_charset_info) ==
         TYPE_ERR_OOM;
}

void raise_switch_error(int error, int bytes) {
  if (error == NO_MEMORY) {
    my_error(ER_OUTOFMEMORY, MYF(ME_FATALERROR), bytes);
  } else if (error == BUSY) {
    /* The plugin is installed all the same. */
    push_warning(current_thd, Sql_condition::SL_WARNING, ER_UNKNOWN_ERROR,
                 "Another session is changing an innodb_lru_ variable: a "
                 "persisted one was not set. Set it with SET GLOBAL");
  } else {
    my_error(ER_CANT_CREATE_THREAD, MYF(ME_FATALERROR), error);
  }
}

int start_part(Part part, bool enabled, const char *table) {
  char message[256];
  const int error = enabled ? switch_part(part, true) : 0;
  if (error == 0) return 0;
  if (error == NO_MEMORY) {
    snprintf(message, sizeof(message), "%s: not enough memory", table);
  } else {
    snprintf(message, sizeof(message),
             "%s: its thread cannot be created (errno %d)", table, error);
  }
  log_error(message);
  return 1;
}

bool access_denied(THD *thd) {
  DBUG_EXECUTE_IF("mutate_lru_privilege", return false;);
  return check_global_access(thd, PROCESS_ACL);
}

bool store_time(THD *thd, Field *field, int64_t usec) {
  MYSQL_TIME time;
  thd->time_zone()->gmt_sec_to_TIME(
      &time, my_timeval{usec / 1000000, static_cast<int64_t>(usec % 1000000)});
  return field->store_time(&time, 6) != TYPE_OK;
}

/** Where innodb_lru_stats_reset is kept: always OFF, as nothing sets it. */
static bool reset_variable = false;

/** SET GLOBAL innodb_lru_stats_reset = ON: makes now the start of all figures
in the tables ..._SINCE_RESET. OFF does nothing.
@param[in]  save  the new value */
static void update_reset(MYSQL_THD, SYS_VAR *, void *, const void *save) {
  DBUG_EXECUTE_IF("mutate_lru_reset", return;);
  if (*static_cast<const bool *>(save)) server()->reset();
}

static MYSQL_SYSVAR_BOOL(
    reset, reset_variable, PLUGIN_VAR_NOCMDOPT | PLUGIN_VAR_NOPERSIST,
    "Setting it to ON starts all counters of "
    "INFORMATION_SCHEMA.INNODB_LRU_STATS_SINCE_RESET at zero again. "
    "INNODB_LRU_STATS and INNODB_METRICS are not affected. Always reads OFF.",
    nullptr, update_reset, false);

static SYS_VAR *system_variables[] = {MYSQL_SYSVAR(reset), nullptr};

static st_mysql_information_schema descriptor = {
    MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};

static constexpr unsigned int plugin_version = 0x0100;

}  // namespace lru_stats

/* innodb_lru_stats_reset belongs to INNODB_LRU_STATS: a variable has the name
of its plugin. */
mysql_declare_plugin(lru_stats){
    MYSQL_INFORMATION_SCHEMA_PLUGIN,
    &lru_stats::descriptor,
    "INNODB_LRU_STATS",
    "Sluice contributors",
    "InnoDB LRU list activity since the start of the server",
    PLUGIN_LICENSE_GPL,
    lru_stats::init_innodb_lru_stats,
    nullptr, /* check uninstall */
    nullptr, /* deinit */
    lru_stats::plugin_version,
    nullptr, /* status variables */
    lru_stats::system_variables,
    nullptr, /* reserved */
    0,       /* flags */
},
    {
        MYSQL_INFORMATION_SCHEMA_PLUGIN,
        &lru_stats::descriptor,
        "INNODB_LRU_STATS_SINCE_RESET",
        "Sluice contributors",
        "InnoDB LRU list activity since the last innodb_lru_stats_reset",
        PLUGIN_LICENSE_GPL,
        lru_stats::init_innodb_lru_stats_since_reset,
        nullptr, /* check uninstall */
        nullptr, /* deinit */
        lru_stats::plugin_version,
        nullptr, /* status variables */
        nullptr, /* system variables */
        nullptr, /* reserved */
        0,       /* flags */
    },
    {
        MYSQL_INFORMATION_SCHEMA_PLUGIN,
        &lru_stats::descriptor,
        "INNODB_LRU_INDEX_STATS",
        "Sluice contributors",
        "InnoDB LRU list activity by index",
        PLUGIN_LICENSE_GPL,
        lru_stats::init_innodb_lru_index_stats,
        nullptr, /* check uninstall */
        lru_stats::stop_part<lru_stats::Part::INDEXES>,
        lru_stats::plugin_version,
        nullptr, /* status variables */
        lru_stats::innodb_lru_index_stats_variables,
        nullptr, /* reserved */
        0,       /* flags */
    },
    {
        MYSQL_INFORMATION_SCHEMA_PLUGIN,
        &lru_stats::descriptor,
        "INNODB_LRU_AGE_HISTOGRAM",
        "Sluice contributors",
        "How long pages live in the InnoDB LRU list",
        PLUGIN_LICENSE_GPL,
        lru_stats::init_innodb_lru_age_histogram,
        nullptr, /* check uninstall */
        lru_stats::stop_part<lru_stats::Part::AGES>,
        lru_stats::plugin_version,
        nullptr, /* status variables */
        lru_stats::innodb_lru_age_histogram_variables,
        nullptr, /* reserved */
        0,       /* flags */
    },
    {
        MYSQL_INFORMATION_SCHEMA_PLUGIN,
        &lru_stats::descriptor,
        "INNODB_LRU_WHATIF",
        "Sluice contributors",
        "What other settings of the InnoDB LRU list would do",
        PLUGIN_LICENSE_GPL,
        lru_stats::init_innodb_lru_whatif,
        nullptr, /* check uninstall */
        lru_stats::stop_part<lru_stats::Part::WHATIF>,
        lru_stats::plugin_version,
        nullptr, /* status variables */
        lru_stats::innodb_lru_whatif_variables,
        nullptr, /* reserved */
        0,       /* flags */
    } mysql_declare_plugin_end;
