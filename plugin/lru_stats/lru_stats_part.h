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

/** @file plugin/lru_stats/lru_stats_part.h
 What the tables share that the observer fills: a variable that switches the
 table's part on and off, the end of the init function, the deinit function. */

#ifndef LRU_STATS_PART_H
#define LRU_STATS_PART_H

#include "mysql/plugin.h"
#include "plugin/lru_stats/lru_observer.h"
#include "plugin/lru_stats/lru_stats.h"

namespace lru_stats {

/** Update function of a variable ..._enabled.
@tparam  PART     part of the observer that fills the table
@tparam  ENABLED  where the variable is kept */
template <Part PART, bool &ENABLED>
void update_enabled(MYSQL_THD thd, SYS_VAR *, void *, const void *save) {
  const auto on = *static_cast<const bool *>(save);
  const int error = change_setting(
      thd, on != ENABLED, [on] { return switch_part(PART, on); },
      [on](int result) { ENABLED = on && result == 0; });
  if (error != 0) raise_switch_error(error);
}

/** Ends the init function of a table that the observer fills.
@param[in]  part     part of the observer
@param[in]  enabled  true if it is to be switched on
@param[in]  table    name of the table, for the error log
@return 0, or 1 when the plugin cannot be loaded; the reason is in the error log
then */
int start_part(Part part, bool enabled, const char *table);

/** Deinit function of such a table.
@return 0 */
template <Part PART>
int stop_part(void *) {
  switch_part(PART, false);
  return 0;
}

}  // namespace lru_stats

#endif /* LRU_STATS_PART_H */
