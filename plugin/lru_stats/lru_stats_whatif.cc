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

/** @file plugin/lru_stats/lru_stats_whatif.cc
 INFORMATION_SCHEMA.INNODB_LRU_WHATIF: what another size of the pool, another
 innodb_old_blocks_time or innodb_old_blocks_pct would do, simulated on sampled
 pages. */

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "my_sys.h"
#include "mysqld_error.h"
#include "plugin/lru_stats/lru_observer.h"
#include "plugin/lru_stats/lru_stats.h"
#include "plugin/lru_stats/lru_stats_part.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_show.h"

namespace lru_stats {

/** The columns, documented in docs/design/lru_observatory.md. */
static ST_FIELD_INFO columns[] = {
    number_column("POOL_SIZE"),
    number_column("OLD_BLOCKS_PCT"),
    number_column("OLD_BLOCKS_TIME"),
    word_column("IS_RUNNING"),
    figure_column("ESTIMATED_HIT_PCT"),
    figure_column("ESTIMATED_READS_PER_SECOND"),
    figure_column("MEASURED_HIT_PCT"),
    figure_column("MEASURED_READS_PER_SECOND"),
    figure_column("ERROR_HIT_PCT"),
    number_column("SAMPLED_REFERENCES"),
    number_column("SAMPLED_READS"),
    figure_column("FILLED_PCT"),
    word_column("CONFIDENCE"),
    figure_column("SAMPLING_RATE"),
    figure_column("SECONDS"),
    time_column("COUNTED_SINCE"),
    number_column("EVENTS_LOST"),
    end_of_columns(),
};

static bool fill(THD *thd, TABLE *table) try {
  Whatif_frame frame{};
  for (const auto &row : read_whatif(frame)) {
    const bool measured = row.known && row.running;
    Field **field = table->field;
    if (store_number(*field++, true, row.pool_size) ||
        store_number(*field++, true, row.old_blocks_pct) ||
        store_number(*field++, true, row.old_blocks_time_ms) ||
        store_text(*field++, row.running ? "YES" : "NO") ||
        store_figure(*field++, row.known, row.hit_pct) ||
        store_figure(*field++, row.known, row.reads_per_second) ||
        store_figure(*field++, measured, row.measured_hit_pct) ||
        store_figure(*field++, measured, row.measured_reads_per_second) ||
        store_figure(*field++, row.known, row.error_hit_pct) ||
        store_number(*field++, true, frame.sampled_references) ||
        store_number(*field++, true, row.sampled_reads) ||
        store_figure(*field++, true, row.filled_pct) ||
        store_text(*field++, row.confidence) ||
        store_figure(*field++, true, frame.sampling_rate) ||
        store_figure(*field++, true, row.seconds) ||
        store_time(thd, *field++, frame.since_usec) ||
        store_number(*field++, true, frame.events_lost) ||
        schema_table_store_record(thd, table)) {
      return true;
    }
  }
  return false;
} catch (const std::bad_alloc &) {
  my_error(ER_OUTOFMEMORY, MYF(ME_FATALERROR), 0);
  return true;
}

/** Where the variables are kept. */
static bool enabled = true;
static unsigned long long memory;
static char *old_blocks_times = nullptr;

/** Most values that innodb_lru_whatif_old_blocks_times may have: each is
simulated with six sizes. */
static constexpr size_t MOST_TIMES = 4;

/** Reads innodb_lru_whatif_old_blocks_times.
@param[in]   text   numbers with commas between them; blanks do not matter
@param[out]  times  the numbers
@return false if it is no such list, or one that is too long */
static bool parse_times(const char *text, std::vector<uint32_t> &times) {
  if (text == nullptr) return true;
  const char *p = text + strspn(text, " ");
  while (*p != '\0') {
    if (*p < '0' || *p > '9') return false;
    char *end;
    errno = 0;
    const auto value = strtoull(p, &end, 10);
    /* innodb_old_blocks_time has 32 bits, too. */
    if (errno != 0 || value > UINT32_MAX || times.size() == MOST_TIMES) {
      return false;
    }
    times.push_back(static_cast<uint32_t>(value));
    p = end + strspn(end, " ");
    if (*p == '\0') return true;
    if (*p != ',') return false;
    p += 1 + strspn(p + 1, " ");
    if (*p == '\0') return false;
  }
  return true;
}

static int check_times(MYSQL_THD thd, SYS_VAR *, void *save,
                       st_mysql_value *value) {
  char buffer[256];
  int length = sizeof(buffer);
  const char *text = value->val_str(value, buffer, &length);
  if (text == nullptr) text = "";

  std::vector<uint32_t> times;
  if (!parse_times(text, times)) {
    my_error(ER_WRONG_VALUE_FOR_VAR, MYF(0),
             "innodb_lru_whatif_old_blocks_times", text);
    return 1;
  }
  *static_cast<const char **>(save) =
      text == buffer ? thd->strmake(text, strlen(text)) : text;
  return 0;
}

static void update_times(MYSQL_THD, SYS_VAR *, void *variable,
                         const void *save) {
  const char *text = *static_cast<const char *const *>(save);
  *static_cast<const char **>(variable) = text;
  std::vector<uint32_t> times;
  parse_times(text, times);
  set_whatif_times(times);
}

static void update_memory(MYSQL_THD thd, SYS_VAR *, void *, const void *save) {
  const auto bytes = *static_cast<const unsigned long long *>(save);
  const int error = change_setting(
      thd, bytes != memory, [bytes] { return set_whatif_memory(bytes); },
      [bytes](int result) {
        memory = bytes;
        if (result != 0) enabled = false;
      });
  if (error != 0) raise_switch_error(error, static_cast<int>(bytes));
}

static MYSQL_SYSVAR_BOOL(
    enabled, enabled, PLUGIN_VAR_OPCMDARG,
    "Whether INFORMATION_SCHEMA.INNODB_LRU_WHATIF is filled. Setting it to OFF "
    "forgets what is there, setting it to ON starts afresh.",
    nullptr, (update_enabled<Part::WHATIF, enabled>), true);

static MYSQL_SYSVAR_ULONGLONG(
    memory, memory, PLUGIN_VAR_RQCMDARG,
    "Bytes that the simulation of INFORMATION_SCHEMA.INNODB_LRU_WHATIF may "
    "use. "
    "With more, more pages are sampled and the estimates have smaller errors. "
    "Setting it starts afresh.",
    nullptr, update_memory, 16ULL << 20, 1ULL << 20, 1ULL << 30, 1 << 20);

static MYSQL_SYSVAR_STR(old_blocks_times, old_blocks_times,
                        PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_MEMALLOC,
                        "Values of innodb_old_blocks_time, in milliseconds "
                        "with commas between them, "
                        "at most 4, that INFORMATION_SCHEMA.INNODB_LRU_WHATIF "
                        "simulates besides the "
                        "one in force, 0 and 1000.",
                        check_times, update_times, "");

SYS_VAR *innodb_lru_whatif_variables[] = {
    MYSQL_SYSVAR(enabled), MYSQL_SYSVAR(memory), MYSQL_SYSVAR(old_blocks_times),
    nullptr};

int init_innodb_lru_whatif(void *p) {
  register_observer();
  if (init_table<fill>(p, columns)) return 1;

  /* Values from the command line have not been checked. */
  std::vector<uint32_t> times;
  if (!parse_times(old_blocks_times, times)) {
    log_error(
        "innodb_lru_whatif_old_blocks_times must be at most 4 numbers of "
        "milliseconds with commas between them, for example '100,5000'; "
        "INNODB_LRU_WHATIF is not loaded");
    return 1;
  }
  set_whatif_times(times);
  set_whatif_memory(memory);
  return start_part(Part::WHATIF, enabled, "INNODB_LRU_WHATIF");
}

}  // namespace lru_stats
