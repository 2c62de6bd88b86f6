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

/** @file bench/lru_lab/lru_lab_tinylfu.cc
 policy=tinylfu */

#include <algorithm>
#include <array>
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

/** W-TinyLFU: Einziger et al., ACM TOS 2017; a window, a segmented LRU of a
fifth and four fifths, and a count-min sketch. */
class Tinylfu : public Whole {
 public:
  explicit Tinylfu(size_t pages)
      : Whole(pages),
        m_window(m_nodes),
        m_probation(m_nodes),
        m_protected(m_nodes),
        m_window_len(std::max<size_t>(
            1, static_cast<size_t>(static_cast<double>(m_frames) *
                                   number("window") / 100))),
        m_protected_len((m_frames - m_window_len) * 4 / 5) {
    size_t width = 1;
    while (width < 4 * m_frames) width *= 2;
    for (auto &row : m_sketch) row.assign(width, 0);
  }

  bool touch(Page p, bool, double) override {
    count(p);
    switch (m_where[p]) {
      case WINDOW:
        m_window.erase(p);
        m_window.push_front(p);
        m_moves++;
        return false;
      case PROBATION:
        m_probation.erase(p);
        m_protected.push_front(p);
        m_where[p] = PROTECTED;
        m_moves++;
        if (m_protected.size() > m_protected_len) {
          const auto last = m_protected.tail();
          m_protected.erase(last);
          m_probation.push_front(last);
          m_where[last] = PROBATION;
        }
        return false;
      case PROTECTED:
        m_protected.erase(p);
        m_protected.push_front(p);
        m_moves++;
        return false;
      default:
        break;
    }
    came();
    m_where[p] = WINDOW;
    m_window.push_front(p);
    if (m_window.size() <= m_window_len) return true;
    const auto candidate = m_window.tail();
    m_window.erase(candidate);
    if (m_probation.size() + m_protected.size() >= m_frames - m_window_len) {
      auto &from = m_probation.size() > 0 ? m_probation : m_protected;
      const auto victim = from.tail();
      if (estimate(candidate) <= estimate(victim)) {
        m_where[candidate] = 0;
        return true;
      }
      from.erase(victim);
      m_where[victim] = 0;
    }
    m_probation.push_front(candidate);
    m_where[candidate] = PROBATION;
    return true;
  }

 private:
  enum : uint8_t { WINDOW = 1, PROBATION, PROTECTED };
  static constexpr uint8_t MOST = 3; /* two bits */

  uint8_t &cell(size_t row, Page p) {
    auto h =
        (static_cast<uint64_t>(p) + 1) * 0x9E3779B97F4A7C15ULL * (2 * row + 1);
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ULL;
    return m_sketch[row][(h >> 32) & (m_sketch[row].size() - 1)];
  }
  void count(Page p) {
    const auto least = estimate(p);
    if (least < MOST) {
      for (size_t i = 0; i < m_sketch.size(); i++) {
        auto &c = cell(i, p);
        if (c == least) c++;
      }
    }
    /* So few bits are full sooner. */
    if (++m_counted < 2 * m_frames) return;
    m_counted = 0;
    for (auto &row : m_sketch) {
      for (auto &c : row) c /= 2;
    }
  }
  uint8_t estimate(Page p) {
    uint8_t least = MOST;
    for (size_t i = 0; i < m_sketch.size(); i++) {
      least = std::min(least, cell(i, p));
    }
    return least;
  }

  List m_window;
  List m_probation;
  List m_protected;
  size_t m_window_len;
  size_t m_protected_len;
  std::array<std::vector<uint8_t>, 4> m_sketch;
  size_t m_counted{0};
};

}  // namespace

std::unique_ptr<Policy> make_tinylfu(size_t pages) {
  return std::make_unique<Tinylfu>(pages);
}

}  // namespace lru_lab
