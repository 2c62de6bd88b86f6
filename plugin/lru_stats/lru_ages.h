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

/** @file plugin/lru_stats/lru_ages.h
 How long pages live in the LRU list, and which come back: histograms over the
 events of sampled pages. */

#ifndef LRU_AGES_H
#define LRU_AGES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "storage/innobase/include/buf0lrustats.h"

namespace lru_stats {

/** Follows each sampled page from its read to its eviction and, as a ghost,
until as many pages have been evicted after it as the pool has. Not thread-safe.
*/
class Lru_ages {
 public:
  /** What is measured. */
  enum Interval : uint8_t {
    /** From the first access to the next one, if that comes before the page is
    made young. */
    TOUCHED_AGAIN,
    /** From the first access until the page was made young. */
    MADE_YOUNG,
    /** From being read to being evicted. */
    EVICTED,
    /** From being evicted to being read again. */
    READ_AGAIN,
    N_INTERVALS
  };

  /** Bucket 0 is less than a millisecond, bucket i from 2^(i-1) to less than
  2^i, the last one all that is longer: 12 days. */
  static constexpr unsigned N_BUCKETS = 32;

  static constexpr unsigned N_POOLS = 64;

  struct Bucket {
    /** Sampled pages. */
    uint64_t samples{0};
    /** Pages that they stand for. */
    double pages{0};
  };

  /** Takes an event.
  @param[in]  event   event of a sampled page; time_us goes back by no more than
                      the events of two threads may be out of order
  @param[in]  weight  pages that a sampled one stands for
  @param[in]  window  evictions of sampled pages after which one is forgotten
  @return index that the page had at EVICT, if it is being read again, else 0 */
  uint16_t take(const innodb_lru_event_t &event, double weight,
                uint64_t window);

  /** Forgets the pages that are sampled no more.
  @param[in]  threshold  see innodb_lru_page_hash() */
  void lower_threshold(uint64_t threshold);

  /** Forgets the pages whose last event is the longest ago. */
  void forget_silent();

  /** @return number of pages followed; each takes some 100 bytes */
  size_t pages() const { return m_pages.size(); }

  /** Forgets the indexes of pages: those evicted until now do not count when
  they are read again. */
  void forget_indexes() {
    for (auto &entry : m_pages) entry.second.index = 0;
  }

  /** Measures from zero; pages are followed as before. */
  void clear_histograms() { m_buckets.fill({}); }

  const Bucket &bucket(unsigned pool_id, Interval interval,
                       unsigned number) const {
    return m_buckets[pool_id][interval][number];
  }

  /** @return least milliseconds in a bucket */
  static uint64_t low_ms(unsigned number) {
    return number == 0 ? 0 : uint64_t{1} << (number - 1);
  }

 private:
  /** A page. Times are 0 where not known. */
  struct Page {
    uint64_t read_ms{0};
    uint64_t accessed_ms{0};
    uint64_t evicted_ms{0};
    uint64_t eviction{0};
    uint64_t seen_ms{0};
    uint16_t index{0};
    bool touched_again{false};
    bool young{false};
  };

  void add(const innodb_lru_event_t &event, Interval interval, uint64_t from_ms,
           double weight);

  void forget_old_ghosts(uint64_t window);

  std::unordered_map<uint64_t, Page> m_pages;

  /** Number of the eviction and page, oldest first. */
  std::deque<std::pair<uint64_t, uint64_t>> m_ghosts;

  /** Evictions of sampled pages so far. */
  uint64_t m_evictions{0};

  using Histogram = std::array<Bucket, N_BUCKETS>;
  std::array<std::array<Histogram, N_INTERVALS>, N_POOLS> m_buckets{};
};

}  // namespace lru_stats

#endif /* LRU_AGES_H */
