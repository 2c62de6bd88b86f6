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

/** @file bench/lru_lab/lru_lab_belady.h
 policy=belady, which knows the future. */

#ifndef LRU_LAB_BELADY_H
#define LRU_LAB_BELADY_H

#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "lru_lab_page.h"

namespace lru_lab {

/** Belady's optimum for the same references: what is needed last is evicted. */
class Belady {
 public:
  void note(Page p) { m_references.push_back(p); }

  /** @return pages missing from the reference `from` on */
  uint64_t misses(size_t pages, size_t frames, size_t from) const {
    constexpr auto NEVER = UINT32_MAX;
    const auto n = m_references.size();
    std::vector<uint32_t> next(n);
    std::vector<uint32_t> last(pages, NEVER);
    for (size_t i = n; i-- > 0;) {
      next[i] = last[m_references[i]];
      last[m_references[i]] = static_cast<uint32_t>(i);
    }
    std::vector<uint32_t> due(pages, 0); /* 0: not in the pool */
    std::priority_queue<std::pair<uint32_t, Page>> queue;
    size_t held = 0;
    uint64_t misses = 0;
    for (size_t i = 0; i < n; i++) {
      const auto p = m_references[i];
      if (due[p] == 0) {
        if (i >= from) misses++;
        if (held == frames) {
          for (;;) {
            const auto [at, victim] = queue.top();
            queue.pop();
            if (due[victim] != at) continue; /* was used since */
            due[victim] = 0;
            break;
          }
        } else {
          held++;
        }
      }
      due[p] = next[i];
      queue.emplace(next[i], p);
    }
    return misses;
  }

 private:
  std::vector<Page> m_references;
};

}  // namespace lru_lab

#endif /* LRU_LAB_BELADY_H */
