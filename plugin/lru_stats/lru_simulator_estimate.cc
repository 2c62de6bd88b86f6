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

/** @file plugin/lru_stats/lru_simulator_estimate.cc
 What the simulated lists have counted, and how well that is known. */

#include "plugin/lru_stats/lru_simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lru_stats {

double Lru_simulator::total_reads(const List &list) {
  return std::accumulate(list.reads.begin(), list.reads.end(), 0.0);
}

/** @return by how much the reads change with the logarithm of the pool's size,
from the next smaller and the next larger pool; negative if there is neither */
double Lru_simulator::slope(const List &list) const {
  const List *smaller = nullptr;
  const List *larger = nullptr;
  for (const auto &other : m_lists) {
    if (other.config.old_pct != list.config.old_pct ||
        other.config.old_time_ms != list.config.old_time_ms ||
        other.config.old_turnover != list.config.old_turnover ||
        !other.evicting || other.began >= m_events) {
      continue;
    }
    const auto pages = other.config.pages;
    if (pages < list.config.pages &&
        (smaller == nullptr || pages > smaller->config.pages)) {
      smaller = &other;
    } else if (pages > list.config.pages &&
               (larger == nullptr || pages < larger->config.pages)) {
      larger = &other;
    }
  }
  double sum = 0;
  int n = 0;
  for (const auto *other : {smaller, larger}) {
    if (other == nullptr) continue;
    const auto ratio = static_cast<double>(other->config.pages) /
                       static_cast<double>(list.config.pages);
    /* They may have begun to count at different times. */
    const auto length = m_events - list.began;
    const auto others =
        total_reads(*other) / (m_events - other->began) * length;
    sum += std::abs((others - total_reads(list)) / std::log(ratio));
    n++;
  }
  return n == 0 ? -1 : sum / n;
}

/** @return standard error of the reads that comes from the list being, by
chance, too long or too short for the pages that are sampled */
double Lru_simulator::error_of_length(const List &list) const {
  if (list.len == 0) return 0;
  auto by_size = slope(list);
  if (by_size < 0) {
    /* Other variables are a poor substitute, but better than nothing. */
    for (const auto &other : m_lists) {
      if (other.config.pages == list.config.pages) {
        by_size = std::max(by_size, slope(other));
      }
    }
  }
  return std::max(by_size, 0.0) * std::sqrt((1 - m_rate) / list.len);
}

Lru_estimate Lru_simulator::estimate(size_t config) const {
  const auto &list = m_lists[config];
  Lru_estimate result{};
  result.reads = total_reads(list);
  const auto mean =
      std::accumulate(list.deviation.begin(), list.deviation.end(), 0.0) /
      GROUPS;
  double squares = 0;
  for (const auto group : list.deviation) {
    squares += (group - mean) * (group - mean);
  }
  const auto error =
      std::sqrt(squares * GROUPS / (GROUPS - 1)) + error_of_length(list);
  result.reads_variance = error * error;
  result.sampled_reads = list.sampled_reads;
  result.unproved = list.unproved;
  result.filled = std::min(1.0, static_cast<double>(list.len) / capacity(list));
  result.evicting = list.evicting;
  return result;
}

void Lru_simulator::restart_counting() {
  for (size_t i = 0; i < m_lists.size(); i++) restart_counting(i);
}

void Lru_simulator::restart_counting(size_t config) {
  auto &list = m_lists[config];
  list.began = m_events;
  list.sampled_reads = 0;
  list.unproved = 0;
  list.reads.fill(0);
  list.deviation.fill(0);
}

void Lru_simulator::fade(size_t config, double factor) {
  auto &list = m_lists[config];
  list.began = m_events - (m_events - list.began) * factor;
  list.sampled_reads =
      static_cast<uint64_t>(static_cast<double>(list.sampled_reads) * factor);
  list.unproved *= factor;
  for (auto &group : list.reads) group *= factor;
  for (auto &group : list.deviation) group *= factor;
}

}  // namespace lru_stats
