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

/** @file bench/lru_lab/lru_lab_midpoint.cc
 policy=midpoint */

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lru_lab_lists.h"
#include "lru_lab_page.h"
#include "lru_lab_parameters.h"
#include "lru_lab_policy.h"

namespace lru_lab {

namespace {

/** InnoDB's list: buf0lru.cc, buf0buf.ic, and what might be changed in it. */
class Midpoint : public Policy {
 public:
  explicit Midpoint(size_t pages)
      : m_pages(pages),
        m_nodes(pages),
        m_list(m_nodes),
        m_frames(static_cast<size_t>(number("frames"))),
        m_most_free(static_cast<size_t>(number("free"))),
        m_refill(number("refill") / 100),
        m_shortened(is_set("lengths")),
        m_free(m_frames),
        m_ratio(
            std::clamp(std::floor(number("pct") * 1024 / 100), 51.0, 1024.0)),
        m_time(number("time")),
        m_turn(number("turn") / 100),
        m_tolerance(static_cast<size_t>(number("tolerance"))),
        m_first(is_set("first")),
        m_anchor(is_set("anchor")),
        m_earn(is_set("earn")),
        m_midpoint_created(is_set("midpoint_created")),
        m_lazy(is_set("lazy")),
        m_most_frequency((1 << static_cast<int>(number("second"))) - 1),
        m_ghosts(pages, static_cast<size_t>(number("ghosts") / 100 *
                                            number("frames"))),
        m_use_ghosts(is_set("ghosts")) {}

  bool touch(Page p, bool created, double now) override {
    auto &page = m_pages[p];
    if (m_most_free > 0 && m_refill == 0 && now >= m_next_second &&
        !m_shortened) {
      m_next_second = now + 1000;
      if (m_free < m_most_free) refill(); /* the page cleaner's round */
    }
    const bool missing = !page.there;
    if (missing) come(p, created, now);
    access(p, missing && !created, now);
    return missing;
  }

  bool arrive(Page p, double now) override {
    if (m_pages[p].there) return false;
    come(p, false, now);
    return true;
  }

  void shorten(size_t length) override {
    while (m_list.size() > length) evict();
  }

 private:
  struct State {
    bool there{false};
    bool old{false};
    bool accessed{false};
    uint8_t frequency{0};
    double access{0};   // the first one, in milliseconds
    uint64_t clock{0};  // of the last move to the head
  };

  void come(Page p, bool created, double now) {
    take_frame();
    auto &page = m_pages[p];
    page = {};
    page.there = true;
    m_came++;
    m_length_sum += static_cast<double>(m_list.size());
    bool old = !created || m_midpoint_created;
    if (created) {
      page.accessed = true;
      page.access = now;
    } else if (m_use_ghosts && m_ghosts.take(p)) {
      m_counts[GHOSTS]++;
      old = false;
    }
    add(p, old);
    if (page.old) turn(now);
  }

  void take_frame() {
    if (m_shortened) return;
    if (m_most_free == 0) {
      if (m_free == 0) evict();
    } else if (m_free == 0) {
      evict(); /* a thread helps itself */
    }
    m_free--;
    if (m_most_free > 0 && m_refill > 0 &&
        static_cast<double>(m_free) <
            m_refill * static_cast<double>(m_most_free)) {
      refill();
    }
  }

  void refill() {
    while (m_free < m_most_free && m_list.size() > 256) evict();
  }

  void evict() {
    for (int tries = 0;; tries++) {
      const auto p = m_list.tail();
      auto &page = m_pages[p];
      if (m_lazy && page.frequency > 0 && tries < 10) {
        page.frequency = 0;
        to_head(p);
        continue;
      }
      remove(p);
      if (m_use_ghosts) m_ghosts.add(p);
      page.there = false;
      m_clock++;
      m_free++;
      return;
    }
  }

  /* buf_page_make_young_if_needed() */
  void access(Page p, bool first, double now) {
    auto &page = m_pages[p];
    const bool was_accessed = page.accessed;
    if (!page.accessed) {
      page.accessed = true;
      page.access = now;
    }
    if (m_clock == 0) return;
    const bool unproved = page.old || (m_earn && page.clock == 0);
    if (m_lazy) {
      if (!first && is_ripe(page, now) && page.frequency < 3) page.frequency++;
      return;
    }
    if (unproved && m_time != 0) {
      if (is_ripe(page, now)) to_head(p);
      return;
    }
    if (m_first && !was_accessed) return;
    if (m_most_frequency > 0 && !page.old) {
      if (page.frequency < m_most_frequency) page.frequency++;
      return;
    }
    /* buf_page_peek_if_young() */
    const auto quarter = static_cast<uint64_t>(static_cast<double>(m_frames) *
                                               (1024 - m_ratio) / (1024 * 4));
    if (m_clock >= page.clock + quarter) to_head(p);
  }

  bool is_ripe(const State &page, double now) const {
    auto time = m_time;
    if (m_turn != 0 && m_turn_began > 0) {
      time = std::min(time, m_turn * std::max(m_turn_time, now - m_turn_began));
    }
    return now - page.access >= time;
  }

  /** A page was put to the midpoint. */
  void turn(double now) {
    if (++m_turned < m_old_len) return;
    m_turned = 0;
    if (m_turn_began > 0) m_turn_time = now - m_turn_began;
    m_turn_began = now;
  }

  void to_head(Page p) {
    m_moves++;
    m_counts[m_pages[p].old ? MADE_YOUNG : YOUNG_TO_HEAD]++;
    if (!m_pages[p].old && m_pages[p].clock == 0) m_counts[GIFTS_USED]++;
    remove(p);
    add(p, false);
  }

  /* buf_LRU_remove_block() */
  void remove(Page p) {
    if (p == m_old) {
      const auto prev = m_list.prev(p);
      m_old = prev;
      m_pages[prev].old = true;
      m_old_len++;
    }
    m_list.erase(p);
    if (m_list.size() < 512) {
      for (auto q = m_list.head(); q != NONE; q = m_list.next(q)) {
        m_pages[q].old = false;
      }
      m_old = NONE;
      m_old_len = 0;
      return;
    }
    if (m_pages[p].old) m_old_len--;
    adjust(false);
  }

  /* buf_LRU_add_block_low() */
  void add(Page p, bool old) {
    auto &page = m_pages[p];
    if (!old || m_list.size() < 512) {
      m_list.push_front(p);
      page.clock = m_clock;
      page.frequency = 0;
    } else {
      m_list.insert_after(m_old, p);
      m_old_len++;
    }
    page.old = false;
    if (m_list.size() > 512) {
      page.old = old;
      adjust(old);
    } else if (m_list.size() == 512) {
      for (auto q = m_list.head(); q != NONE; q = m_list.next(q)) {
        m_pages[q].old = true;
      }
      m_old = m_list.head();
      m_old_len = m_list.size();
      adjust(false);
    }
  }

  /* buf_LRU_old_adjust_len() */
  void adjust(bool) {
    const auto len = m_list.size();
    const auto wanted =
        std::min(static_cast<size_t>(static_cast<double>(len) * m_ratio / 1024),
                 len - (m_tolerance + 5));
    /* Once pages are evicted the boundary stays where it is while the list gets
    longer and shorter; see README.md. */
    const auto slack = m_anchor && m_clock > 0 ? len / 8 : 0;
    int chances = 100;
    for (;;) {
      if (m_old_len + m_tolerance < wanted) {
        const auto p = m_list.prev(m_old);
        auto &page = m_pages[p];
        if (page.frequency > 0 && chances > 0) {
          /* A second chance. */
          chances--;
          m_moves++;
          m_counts[SAVED]++;
          page.frequency--;
          m_list.erase(p);
          m_list.push_front(p);
          page.clock = m_clock;
          continue;
        }
        m_old = p;
        m_old_len++;
        page.old = true;
        m_counts[DEMOTED]++;
      } else if (m_old_len > wanted + m_tolerance + slack) {
        m_pages[m_old].old = false;
        m_counts[GIFTS]++;
        m_old = m_list.next(m_old);
        m_old_len--;
      } else {
        return;
      }
    }
  }

  std::vector<State> m_pages;
  std::vector<Node> m_nodes;
  List m_list;
  size_t m_frames;
  size_t m_most_free;
  double m_refill;
  bool m_shortened;
  size_t m_free;
  double m_ratio;
  double m_time;
  double m_turn;
  size_t m_tolerance;
  bool m_first;
  bool m_anchor;
  bool m_earn;
  bool m_midpoint_created;
  bool m_lazy;
  uint8_t m_most_frequency;
  Ghosts m_ghosts;
  bool m_use_ghosts;
  Page m_old{NONE};
  size_t m_old_len{0};
  uint64_t m_clock{0};
  double m_next_second{0};
  /** Pages that have come to the midpoint in this turn, when it began, and how
  long the last one took. */
  size_t m_turned{0};
  double m_turn_began{0};
  double m_turn_time{0};
};

}  // namespace

std::unique_ptr<Policy> make_midpoint(size_t pages) {
  return std::make_unique<Midpoint>(pages);
}

}  // namespace lru_lab
