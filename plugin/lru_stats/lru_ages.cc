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

/** @file plugin/lru_stats/lru_ages.cc
 How long pages live in the LRU list, and which come back. */

#include "plugin/lru_stats/lru_ages.h"

#include <algorithm>
#include <cstddef>

namespace lru_stats {

uint16_t Lru_ages::take(const innodb_lru_event_t &event, double weight,
                        uint64_t window) {
  const auto found = m_pages.find(event.page);
  const auto now_ms = event.time_us / 1000;

  switch (event.kind) {
    case INNODB_LRU_EVENT_READ: {
      auto &page = found == m_pages.end() ? m_pages[event.page] : found->second;
      uint16_t read_again = 0;
      if (page.evicted_ms != 0) {
        add(event, READ_AGAIN, page.evicted_ms, weight);
        read_again = page.index;
      }
      page = {};
      page.read_ms = page.seen_ms = now_ms;
      return read_again;
    }

    case INNODB_LRU_EVENT_CREATE: {
      auto &page = m_pages[event.page];
      page = {};
      page.seen_ms = now_ms;
      page.young = true;
      return 0;
    }

    case INNODB_LRU_EVENT_ACCESS: {
      /* A page that was in the pool before sampling began: nothing is known of
      when it was read or first accessed. */
      if (found == m_pages.end()) return 0;
      auto &page = found->second;
      page.seen_ms = now_ms;
      if (page.accessed_ms == 0) {
        page.accessed_ms = now_ms;
      } else if (!page.touched_again && !page.young) {
        page.touched_again = true;
        add(event, TOUCHED_AGAIN, page.accessed_ms, weight);
      }
      return 0;
    }

    case INNODB_LRU_EVENT_MADE_YOUNG: {
      if (found == m_pages.end()) return 0;
      auto &page = found->second;
      if (page.accessed_ms != 0 && !page.young) {
        add(event, MADE_YOUNG, page.accessed_ms, weight);
      }
      page.young = true;
      return 0;
    }

    case INNODB_LRU_EVENT_EVICT: {
      auto &page = found == m_pages.end() ? m_pages[event.page] : found->second;
      if (page.read_ms != 0) add(event, EVICTED, page.read_ms, weight);
      page = {};
      page.evicted_ms = page.seen_ms = now_ms;
      page.eviction = ++m_evictions;
      page.index = event.index;
      m_ghosts.emplace_back(m_evictions, event.page);
      forget_old_ghosts(window);
      return 0;
    }

    case INNODB_LRU_EVENT_GONE:
      if (found != m_pages.end()) m_pages.erase(found);
      return 0;

    case INNODB_LRU_EVENT_AWAITED:
      return 0;
  }
  return 0;
}

void Lru_ages::lower_threshold(uint64_t threshold) {
  for (auto it = m_pages.begin(); it != m_pages.end();) {
    it = innodb_lru_page_hash(it->first) < threshold ? std::next(it)
                                                     : m_pages.erase(it);
  }
}

void Lru_ages::forget_silent() {
  std::vector<uint64_t> seen;
  seen.reserve(m_pages.size());
  for (const auto &entry : m_pages) seen.push_back(entry.second.seen_ms);
  const auto quarter = seen.begin() + static_cast<ptrdiff_t>(seen.size() / 4);
  std::nth_element(seen.begin(), quarter, seen.end());
  if (quarter == seen.end()) return;
  const auto limit = *quarter;
  for (auto it = m_pages.begin(); it != m_pages.end();) {
    it = it->second.seen_ms <= limit ? m_pages.erase(it) : std::next(it);
  }
}

void Lru_ages::add(const innodb_lru_event_t &event, Interval interval,
                   uint64_t from_ms, double weight) {
  const auto now_ms = event.time_us / 1000;
  const auto ms = now_ms > from_ms ? now_ms - from_ms : 0;
  unsigned number = 0;
  while (number < N_BUCKETS - 1 && ms >= low_ms(number + 1)) ++number;

  auto &bucket = m_buckets[event.pool_id][interval][number];
  ++bucket.samples;
  bucket.pages += weight;
}

void Lru_ages::forget_old_ghosts(uint64_t window) {
  while (!m_ghosts.empty() && m_ghosts.front().first + window < m_evictions) {
    const auto [eviction, id] = m_ghosts.front();
    m_ghosts.pop_front();
    const auto it = m_pages.find(id);
    /* It may have been read, or read and evicted again. */
    if (it != m_pages.end() && it->second.evicted_ms != 0 &&
        it->second.eviction == eviction) {
      m_pages.erase(it);
    }
  }
}

}  // namespace lru_stats
