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

/** @file plugin/lru_stats/lru_stats_indexes.cc
 INFORMATION_SCHEMA.INNODB_LRU_INDEX_STATS: what the LRU lists have done with
 the pages of each index. */

#include <array>
#include <iterator>
#include <new>

#include "my_sys.h"
#include "mysqld_error.h"
#include "plugin/lru_stats/lru_observer.h"
#include "plugin/lru_stats/lru_stats.h"
#include "plugin/lru_stats/lru_stats_part.h"
#include "sql/field.h"
#include "sql/sql_show.h"

namespace lru_stats {

namespace {

/** A column and where its value comes from. */
struct Column {
  const char *name;
  uint64_t innodb_lru_index_t::*source;
};

/** The columns after COUNTED_SINCE; what each one means is documented at
innodb_lru_index_t. */
constexpr Column columns[] = {
    {"PAGES_YOUNG", &innodb_lru_index_t::young_pages},
    {"PAGES_OLD", &innodb_lru_index_t::old_pages},
    {"PAGES_DIRTY", &innodb_lru_index_t::dirty_pages},
    {"PAGES_READ", &innodb_lru_index_t::read},
    {"PAGES_READ_AHEAD", &innodb_lru_index_t::read_ahead},
    {"PAGES_MADE_YOUNG", &innodb_lru_index_t::made_young},
    {"PAGES_NOT_MADE_YOUNG", &innodb_lru_index_t::not_made_young},
    {"PAGES_EVICTED_OLD", &innodb_lru_index_t::evicted_old},
    {"PAGES_EVICTED_YOUNG", &innodb_lru_index_t::evicted_young},
    {"PAGES_EVICTED_UNTOUCHED", &innodb_lru_index_t::evicted_untouched},
    {"PAGES_READ_AGAIN", &innodb_lru_index_t::read_again},
    {"BYTES_READ", &innodb_lru_index_t::read_bytes},
};

/** Context that the server passes to each call of store(). */
struct Filling {
  THD *thd;
  TABLE *table;
  const int64_t *since;
  bool failed;
};

}  // namespace

static bool store(void *context, const innodb_lru_index_t &index) {
  constexpr auto none = ~uint64_t{0};
  auto &f = *static_cast<Filling *>(context);
  Field **field = f.table->field;

  f.failed = store_number(*field++, index.space_id != none, index.space_id) ||
             store_number(*field++, index.index_id != none, index.index_id) ||
             store_text(*field++, index.schema_name) ||
             store_text(*field++, index.table_name) ||
             store_text(*field++, index.partition_name) ||
             store_text(*field++, index.index_name) ||
             store_time(f.thd, *field++, *f.since);
  for (const auto &column : columns) {
    f.failed = f.failed || store_number(*field++, true, index.*column.source);
  }
  f.failed = f.failed || schema_table_store_record(f.thd, f.table);
  return f.failed;
}

static bool fill(THD *thd, TABLE *table) {
  int64_t since = 0;
  Filling filling{thd, table, &since, false};
  if (DBUG_EVALUATE_IF("mutate_lru_no_memory", true, false) ||
      !server()->read_indexes(store, &filling, &since)) {
    my_error(ER_OUTOFMEMORY, MYF(ME_FATALERROR), 0);
    return true;
  }
  return filling.failed;
}

/** Where innodb_lru_index_stats_enabled is kept. */
static bool enabled = true;

static MYSQL_SYSVAR_BOOL(
    enabled, enabled, PLUGIN_VAR_OPCMDARG,
    "Whether INFORMATION_SCHEMA.INNODB_LRU_INDEX_STATS is filled. Setting it "
    "to "
    "OFF forgets what is there, setting it to ON starts all counters at zero.",
    nullptr, (update_enabled<Part::INDEXES, enabled>), true);

SYS_VAR *innodb_lru_index_stats_variables[] = {MYSQL_SYSVAR(enabled), nullptr};

/** @return the columns in the server's form */
static ST_FIELD_INFO *fields_info() {
  /* Ids, names, COUNTED_SINCE, columns, end. */
  using Fields = std::array<ST_FIELD_INFO, 7 + std::size(columns) + 1>;
  static Fields fields = [] {
    Fields f;
    auto *info = f.data();
    *info++ = nullable_number_column("SPACE_ID");
    *info++ = nullable_number_column("INDEX_ID");
    *info++ = name_column("SCHEMA_NAME");
    *info++ = name_column("TABLE_NAME");
    *info++ = name_column("PARTITION_NAME");
    *info++ = name_column("INDEX_NAME");
    *info++ = time_column("COUNTED_SINCE");
    for (const auto &column : columns) *info++ = number_column(column.name);
    *info = end_of_columns();
    return f;
  }();
  return fields.data();
}

int init_innodb_lru_index_stats(void *p) {
  register_observer();
  if (init_table<fill>(p, fields_info())) return 1;
  return start_part(Part::INDEXES, enabled, "INNODB_LRU_INDEX_STATS");
}

}  // namespace lru_stats
