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

/** @file plugin/lru_stats/lru_pace.h
 When the observer tries to sample more pages again. */

#ifndef LRU_PACE_H
#define LRU_PACE_H

#include <algorithm>
#include <chrono>

#include "my_dbug.h"

namespace lru_stats {

/** Decides when more pages are to be sampled again. */
class Pace {
 public:
  /** To be called every second.
  @param[in]  used  share of the budget
  @param[in]  less  true if pages were given up, or events lost
  @return true if it is time to try with more pages */
  bool may_have_more(double used, bool less) {
    const auto now = Clock::now();
    if (less) {
      m_quiet = now - m_raised < m_quiet ? std::min(2 * m_quiet, LONGEST_QUIET)
                                         : FIRST_QUIET;
    }
    bool wait = used > LITTLE_OF_BUDGET || now - m_since < m_quiet;
    DBUG_EXECUTE_IF("lru_observer_raises", wait = false;);
    if (less || used > LITTLE_OF_BUDGET) m_since = now;
    if (less || wait) return false;
    m_since = m_raised = now;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /** More pages are sampled again when less than this share of the budget was
  used for some time. If that proves too much, and pages are given up again
  soon, the next wait is twice as long. */
  static constexpr double LITTLE_OF_BUDGET = 0.125;
  static constexpr std::chrono::seconds FIRST_QUIET{600};
  static constexpr std::chrono::seconds LONGEST_QUIET{86400};

  Clock::time_point m_since{Clock::now()};
  Clock::time_point m_raised{};
  std::chrono::seconds m_quiet{FIRST_QUIET};
};

}  // namespace lru_stats

#endif /* LRU_PACE_H */
