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

/** @file bench/lru_lab/lru_lab_s3fifo.cc
 policy=s3fifo */

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lru_lab_lists.h"
#include "lru_lab_page.h"
#include "lru_lab_parameters.h"
#include "lru_lab_policy.h"
#include "lru_lab_whole.h"

namespace lru_lab {

namespace {

/** S3-FIFO: Yang et al., SOSP 2023. */
class S3fifo : public Whole {
 public:
  explicit S3fifo(size_t pages)
      : Whole(pages),
        m_small(m_nodes),
        m_main(m_nodes),
        m_frequency(pages, 0),
        m_small_len(static_cast<size_t>(static_cast<double>(m_frames) *
                                        number("small") / 100)),
        m_ghosts(pages, m_frames - m_small_len) {}

  bool touch(Page p, bool, double) override {
    if (m_where[p] != 0) {
      if (m_frequency[p] < 3) m_frequency[p]++;
      return false;
    }
    came();
    while (m_small.size() + m_main.size() >= m_frames) {
      if (m_small.size() >= m_small_len) {
        evict_small();
      } else {
        evict_main();
      }
    }
    const bool known = m_ghosts.take(p);
    (known ? m_main : m_small).push_front(p);
    m_where[p] = known ? 2 : 1;
    m_frequency[p] = 0;
    return true;
  }

 private:
  void evict_small() {
    while (m_small.size() > 0) {
      const auto p = m_small.tail();
      m_small.erase(p);
      if (m_frequency[p] > 1) {
        m_moves++;
        m_where[p] = 2;
        m_frequency[p] = 0;
        m_main.push_front(p);
        continue; /* the main queue is shortened when it has to be */
      }
      m_where[p] = 0;
      m_ghosts.add(p);
      return;
    }
  }
  void evict_main() {
    for (;;) {
      const auto p = m_main.tail();
      m_main.erase(p);
      if (m_frequency[p] > 0) {
        m_moves++;
        m_frequency[p]--;
        m_main.push_front(p);
        continue;
      }
      m_where[p] = 0;
      return;
    }
  }

  List m_small;
  List m_main;
  std::vector<uint8_t> m_frequency;
  size_t m_small_len;
  Ghosts m_ghosts;
};

}  // namespace

std::unique_ptr<Policy> make_s3fifo(size_t pages) {
  return std::make_unique<S3fifo>(pages);
}

}  // namespace lru_lab
