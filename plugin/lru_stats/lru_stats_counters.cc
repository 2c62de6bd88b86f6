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

/** @file plugin/lru_stats/lru_stats_counters.cc
 INFORMATION_SCHEMA.INNODB_LRU_STATS and INNODB_LRU_STATS_SINCE_RESET: the state
 and the counters of the LRU list, one row a buffer pool instance. Both tables
 have the same columns and differ in what the counters start from. */

#include <array>
#include <iterator>
#include <memory>
#include <new>

#include "my_sys.h"
#include "mysqld_error.h"
#include "plugin/lru_stats/lru_stats.h"
#include "sql/field.h"
#include "sql/sql_show.h"

namespace lru_stats {

namespace {

/** A column and where its value comes from. */
struct Column {
  const char *name;
  uint64_t innodb_lru_stats_t::*source;
};

}  // namespace

/** The columns after POOL_ID and COUNTED_SINCE. What each one means, with its
limits, is documented at innodb_lru_stats_t. Names are those of
INNODB_BUFFER_POOL_STATS where it has the figure. Times are in microseconds. */
static constexpr Column columns[] = {
    {"DATABASE_PAGES", &innodb_lru_stats_t::lru_len},
    {"OLD_DATABASE_PAGES", &innodb_lru_stats_t::old_len},
    {"FREE_BUFFERS", &innodb_lru_stats_t::free_len},
    {"MODIFIED_DATABASE_PAGES", &innodb_lru_stats_t::flush_list_len},
    {"PAGES_MADE_YOUNG", &innodb_lru_stats_t::made_young},
    {"PAGES_NOT_MADE_YOUNG_TIME", &innodb_lru_stats_t::not_made_young_time},
    {"PAGES_NOT_MADE_YOUNG_FIRST_ACCESS",
     &innodb_lru_stats_t::not_made_young_first},
    {"PAGES_NOT_MADE_YOUNG_NOT_OLD",
     &innodb_lru_stats_t::not_made_young_not_old},
    {"PAGES_YOUNG_MOVED_TO_HEAD", &innodb_lru_stats_t::young_to_head},
    {"PAGES_YOUNG_TO_OLD", &innodb_lru_stats_t::young_to_old},
    {"PAGES_EVICTED_OLD", &innodb_lru_stats_t::evicted_old},
    {"PAGES_EVICTED_OLD_NEVER_YOUNG",
     &innodb_lru_stats_t::evicted_old_never_young},
    {"PAGES_EVICTED_OLD_ACCESSED_ONCE",
     &innodb_lru_stats_t::evicted_old_accessed_once},
    {"PAGES_EVICTED_YOUNG", &innodb_lru_stats_t::evicted_young},
    {"READ_AHEAD_EVICTED", &innodb_lru_stats_t::ra_evicted},
    {"PAGES_FLUSHED_LRU_PAGE_CLEANER", &innodb_lru_stats_t::flushed_cleaner},
    {"PAGES_FLUSHED_LRU_USER_THREADS", &innodb_lru_stats_t::flushed_user},
    {"LRU_SCANS_USER_THREADS", &innodb_lru_stats_t::user_scans},
    {"LRU_PAGES_SCANNED_USER_THREADS", &innodb_lru_stats_t::user_scanned},
    {"FREE_LIST_WAITS", &innodb_lru_stats_t::free_waits},
    {"FREE_LIST_WAIT_TIME", &innodb_lru_stats_t::free_wait_usec},
    {"FREE_LIST_WAIT_TIME_MAX", &innodb_lru_stats_t::free_wait_max_usec},
};

static_assert(std::size(columns) * sizeof(uint64_t) ==
                  sizeof(innodb_lru_stats_t),
              "a figure of the server has no column");

/** Fills either table.
@param[in]      thd    session
@param[in,out]  table  table to fill
@param[in]      base   what its counters start from
@return true if an error was raised */
static bool fill(THD *thd, TABLE *table, innodb_lru_stats_base_t base) {
  const uint32_t n_rows = server()->instances();
  if (n_rows == 0) return false;

  /* All instances are read before the first row is stored: storing may have to
  write to disk, and then they would belong to different moments. */
  const std::unique_ptr<innodb_lru_stats_t[]> rows(
      new (std::nothrow) innodb_lru_stats_t[n_rows]);
  if (rows == nullptr) {
    my_error(ER_OUTOFMEMORY, MYF(ME_FATALERROR),
             static_cast<int>(n_rows * sizeof(innodb_lru_stats_t)));
    return true;
  }

  int64_t since_usec = 0;
  const auto n = server()->read(base, rows.get(), n_rows, &since_usec);

  for (uint32_t i = 0; i < n; ++i) {
    Field **field = table->field;
    if ((*field++)->store(i, true) != TYPE_OK ||
        store_time(thd, *field++, since_usec)) {
      return true;
    }
    for (const auto &column : columns) {
      if ((*field++)->store(rows[i].*column.source, true) != TYPE_OK) {
        return true;
      }
    }
    if (schema_table_store_record(thd, table)) return true;
  }
  return false;
}

/** @return the columns of both tables in the server's form */
static ST_FIELD_INFO *fields_info() {
  /* POOL_ID, COUNTED_SINCE, columns, end. */
  using Fields = std::array<ST_FIELD_INFO, 2 + std::size(columns) + 1>;
  static Fields fields = [] {
    Fields f;
    auto *info = f.data();
    *info++ = number_column("POOL_ID");
    *info++ = time_column("COUNTED_SINCE");
    for (const auto &column : columns) *info++ = number_column(column.name);
    *info = end_of_columns();
    return f;
  }();
  return fields.data();
}

static bool fill_since_start(THD *thd, TABLE *table) {
  return fill(thd, table, INNODB_LRU_STATS_SINCE_START);
}

static bool fill_since_reset(THD *thd, TABLE *table) {
  return fill(thd, table, INNODB_LRU_STATS_SINCE_RESET);
}

int init_innodb_lru_stats(void *p) {
  return init_table<fill_since_start>(p, fields_info());
}

int init_innodb_lru_stats_since_reset(void *p) {
  return init_table<fill_since_reset>(p, fields_info());
}

}  // namespace lru_stats
