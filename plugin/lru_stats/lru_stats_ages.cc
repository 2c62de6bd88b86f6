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

/** @file plugin/lru_stats/lru_stats_ages.cc
 INFORMATION_SCHEMA.INNODB_LRU_AGE_HISTOGRAM: how long pages live in the LRU
 list. A row for each bucket that is not empty, of each instance and of all
 (POOL_ID is NULL). */

#include <array>
#include <map>
#include <new>
#include <utility>

#include "my_sys.h"
#include "mysqld_error.h"
#include "plugin/lru_stats/lru_observer.h"
#include "plugin/lru_stats/lru_stats.h"
#include "plugin/lru_stats/lru_stats_part.h"
#include "sql/field.h"
#include "sql/sql_show.h"

namespace lru_stats {

/** Values of EVENT, see Lru_ages::Interval. */
static constexpr const char *events[Lru_ages::N_INTERVALS] = {
    "TOUCHED_AGAIN", "MADE_YOUNG", "EVICTED", "READ_AGAIN"};

/** The columns. Times are in milliseconds, from LOW_MS to less than HIGH_MS;
PAGES is estimated from the SAMPLES. */
static ST_FIELD_INFO columns[] = {
    word_column("EVENT"),
    nullable_number_column("POOL_ID"),
    number_column("BUCKET"),
    number_column("LOW_MS"),
    nullable_number_column("HIGH_MS"),
    number_column("PAGES"),
    number_column("SAMPLES"),
    time_column("COUNTED_SINCE"),
    number_column("EVENTS_LOST"),
    end_of_columns(),
};

/** Stores a row.
@param[in]      thd       session
@param[in,out]  table     table
@param[in]      row       what to store
@param[in]      all       true if it is of all instances
@param[in]      since     COUNTED_SINCE
@param[in]      lost      EVENTS_LOST
@return true if an error was raised */
static bool store(THD *thd, TABLE *table, const Age_row &row, bool all,
                  int64_t since, uint64_t lost) {
  Field **field = table->field;
  const bool last = row.bucket == Lru_ages::N_BUCKETS - 1;
  return store_text(*field++, events[row.interval]) ||
         store_number(*field++, !all, row.pool_id) ||
         store_number(*field++, true, row.bucket) ||
         store_number(*field++, true, Lru_ages::low_ms(row.bucket)) ||
         store_number(*field++, !last, Lru_ages::low_ms(row.bucket + 1)) ||
         store_number(*field++, true,
                      static_cast<uint64_t>(row.value.pages + 0.5)) ||
         store_number(*field++, true, row.value.samples) ||
         store_time(thd, *field++, since) ||
         store_number(*field++, true, lost) ||
         schema_table_store_record(thd, table);
}

static bool fill(THD *thd, TABLE *table) try {
  int64_t since = 0;
  uint64_t lost = 0;
  const auto rows = read_ages(since, lost);

  std::map<std::pair<unsigned, unsigned>, Age_row> totals;
  for (const auto &row : rows) {
    const auto [it, is_new] =
        totals.try_emplace({row.interval, row.bucket}, row);
    if (is_new) continue;
    it->second.value.samples += row.value.samples;
    it->second.value.pages += row.value.pages;
  }
  for (const auto &total : totals) {
    if (store(thd, table, total.second, true, since, lost)) return true;
  }
  for (const auto &row : rows) {
    if (store(thd, table, row, false, since, lost)) return true;
  }
  return false;
} catch (const std::bad_alloc &) {
  my_error(ER_OUTOFMEMORY, MYF(ME_FATALERROR), 0);
  return true;
}

/** Where innodb_lru_age_histogram_enabled is kept. */
static bool enabled = true;

static MYSQL_SYSVAR_BOOL(
    enabled, enabled, PLUGIN_VAR_OPCMDARG,
    "Whether INFORMATION_SCHEMA.INNODB_LRU_AGE_HISTOGRAM is filled. Setting it "
    "to "
    "OFF forgets what is there, setting it to ON starts afresh.",
    nullptr, (update_enabled<Part::AGES, enabled>), true);

SYS_VAR *innodb_lru_age_histogram_variables[] = {MYSQL_SYSVAR(enabled),
                                                 nullptr};

int init_innodb_lru_age_histogram(void *p) {
  register_observer();
  if (init_table<fill>(p, columns)) return 1;
  return start_part(Part::AGES, enabled, "INNODB_LRU_AGE_HISTOGRAM");
}

}  // namespace lru_stats
