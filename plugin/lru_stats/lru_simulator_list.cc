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

/** @file plugin/lru_stats/lru_simulator_list.cc
 The simulated LRU list as InnoDB keeps it; the functions follow buf0lru.cc. */

#include "plugin/lru_stats/lru_simulator.h"

#include <algorithm>
#include <cmath>

namespace lru_stats {

namespace {

/* InnoDB's constants of the same names. */
constexpr unsigned BUF_LRU_OLD_MIN_LEN = 512;
constexpr unsigned BUF_LRU_OLD_TOLERANCE = 20;
constexpr unsigned BUF_LRU_NON_OLD_MIN_LEN = 5;
constexpr unsigned BUF_LRU_OLD_RATIO_DIV = 1024;
constexpr unsigned BUF_LRU_OLD_RATIO_MIN = 51;
constexpr unsigned BUF_LRU_OLD_RATIO_MAX = BUF_LRU_OLD_RATIO_DIV;

}  // namespace

Lru_simulator::List Lru_simulator::make_list(const Lru_config &config) const {
  List list{};
  list.config = config;
  list.nominal = static_cast<double>(config.pages);
  list.began = m_events;
  const auto ratio = std::clamp(config.old_pct * BUF_LRU_OLD_RATIO_DIV / 100,
                                BUF_LRU_OLD_RATIO_MIN, BUF_LRU_OLD_RATIO_MAX);
  list.old_share = static_cast<double>(ratio) / BUF_LRU_OLD_RATIO_DIV;
  list.quarter = config.curr_size * (BUF_LRU_OLD_RATIO_DIV - ratio) /
                 (BUF_LRU_OLD_RATIO_DIV * 4);
  return list;
}

void Lru_simulator::set_rate() {
  m_rate = static_cast<double>(m_threshold) / static_cast<double>(ALL);
  m_weight = m_threshold == 0 ? 0 : 1 / m_rate;
  /* A list of one page is too short to be divided. */
  m_min_len = static_cast<uint32_t>(
      std::max(std::ceil(BUF_LRU_OLD_MIN_LEN * m_rate), 2.0));
  /* With less than half a page, the boundary would not come to rest. */
  m_tolerance = std::max(BUF_LRU_OLD_TOLERANCE * m_rate, 0.5);
  /* Each page is in the sample with the probability R. So a page that is adds
  (1 - R) / R^2 times its square to the variance; this is the root of that. */
  m_deviation = std::sqrt(1 - m_rate) * m_weight;
}

/** @return length at which pages are evicted, scaled */
uint32_t Lru_simulator::capacity(const List &list) const {
  const auto scaled =
      m_follows ? m_in_pool * list.share : list.nominal * m_rate;
  /* Rounded; NONE is no number of a row, so no list is longer. */
  return static_cast<uint32_t>(
      std::clamp<double>(scaled + 0.5, 1, static_cast<double>(NONE)));
}

/* The list as such. */

void Lru_simulator::unlink(List &list, uint32_t removed) {
  auto &n = node(list, removed);
  if (n.prev == NONE) {
    list.head = n.next;
  } else {
    node(list, n.prev).next = n.next;
  }
  if (n.next == NONE) {
    list.tail = n.prev;
  } else {
    node(list, n.next).prev = n.prev;
  }
  list.len--;
}

void Lru_simulator::link_first(List &list, uint32_t added) {
  auto &n = node(list, added);
  n.prev = NONE;
  n.next = list.head;
  if (list.head == NONE) {
    list.tail = added;
  } else {
    node(list, list.head).prev = added;
  }
  list.head = added;
  list.len++;
}

void Lru_simulator::link_after(List &list, uint32_t where, uint32_t added) {
  auto &n = node(list, added);
  auto &before = node(list, where);
  n.prev = where;
  n.next = before.next;
  if (before.next == NONE) {
    list.tail = added;
  } else {
    node(list, before.next).prev = added;
  }
  before.next = added;
  list.len++;
}

/* The old part. */

void Lru_simulator::clear_old(List &list) {
  for (auto i = list.old; i != NONE;) {
    auto &n = node(list, i);
    n.old = false;
    i = n.next;
  }
  list.old = NONE;
  list.old_len = 0;
}

/** See buf_LRU_old_init(). */
void Lru_simulator::init_old(List &list) {
  for (auto i = list.head; i != NONE;) {
    auto &n = node(list, i);
    n.old = true;
    i = n.next;
  }
  list.old = list.head;
  list.old_len = list.len;
  adjust_old(list);
}

/** See buf_LRU_old_adjust_len(). */
void Lru_simulator::adjust_old(List &list) {
  /* Rounded down in pages that are not scaled, to be what InnoDB has. */
  const double len = list.len * m_weight;
  const auto share = static_cast<uint64_t>(len * list.old_share);
  const double wanted =
      std::min(static_cast<double>(share),
               len - (BUF_LRU_OLD_TOLERANCE + BUF_LRU_NON_OLD_MIN_LEN)) *
      m_rate;

  while (list.old_len + m_tolerance < wanted) {
    const auto prev = node(list, list.old).prev;
    if (prev == NONE) break;
    list.old = prev;
    node(list, prev).old = true;
    list.old_len++;
  }
  while (list.old_len > wanted + m_tolerance && list.old_len > 1) {
    auto &n = node(list, list.old);
    n.old = false;
    list.old = n.next;
    list.old_len--;
  }
}

/* What InnoDB does with the list. */

/** See buf_LRU_remove_block(). */
void Lru_simulator::remove(List &list, uint32_t removed) {
  auto &n = node(list, removed);
  if (removed == list.old) {
    if (n.prev != NONE) {
      list.old = n.prev;
      node(list, n.prev).old = true;
      list.old_len++;
    } else {
      list.old = n.next; /* only if scaled so much that all pages are old */
    }
  }
  unlink(list, removed);
  if (n.old) list.old_len--;
  n.old = false;
  if (list.old == NONE) return;
  if (list.len < m_min_len) {
    clear_old(list);
  } else {
    adjust_old(list);
  }
}

/** See buf_lru_turnover_note(). */
void Lru_simulator::note_turnover(List &list) const {
  if (list.config.old_turnover == 0 || list.old == NONE) return;
  const auto parts = list.marks.size();
  if (++list.came < list.old_len / parts) return;
  list.came = 0;
  auto &mark = list.marks[list.n_marks++ % parts];
  if (list.n_marks > parts) {
    list.turnover_limit_ms = std::max<uint64_t>(
        (m_now_ms - mark) * list.config.old_turnover / 100, 1);
  }
  mark = m_now_ms;
}

/** See buf_LRU_add_block_low().
@param[in,out]  list   list
@param[in]      added  row of the page
@param[in]      old    true to put it at the midpoint, false at the head */
void Lru_simulator::add(List &list, uint32_t added, bool old) {
  auto &n = node(list, added);
  if (!old || list.old == NONE) {
    link_first(list, added);
    n.clock = static_cast<uint32_t>(list.clock);
    n.has_clock = true;
  } else {
    link_after(list, list.old, added);
    n.old = true;
    list.old_len++;
  }
  if (list.old != NONE) {
    adjust_old(list);
  } else if (list.len >= m_min_len) {
    init_old(list);
  }
}

/** A page left the list. */
void Lru_simulator::advance_clock(List &list) const {
  list.clock_exact += m_weight;
  list.clock = static_cast<uint64_t>(list.clock_exact);
}

/** A page leaves the list for good. */
void Lru_simulator::drop_from_list(List &list, uint32_t dropped) {
  node(list, dropped) = {};
  row(dropped)->page.lists--;
}

void Lru_simulator::evict_last(List &list) {
  const auto evicted = list.tail;
  const bool accessed = node(list, evicted).accessed;
  remove(list, evicted);
  drop_from_list(list, evicted);
  node(list, evicted).lost_ahead = !accessed;
  free_if_unused(evicted);
  advance_clock(list);
  list.evicting = true;
}

/** Evicts a page if the list is full.
@return whether pages are evicted from this list */
bool Lru_simulator::make_room(List &list) {
  if (list.len >= capacity(list)) evict_last(list);
  return list.evicting;
}

/** Evicts what is too much in any list. */
void Lru_simulator::shorten() {
  m_too_long = false;
  for (auto &list : m_lists) {
    const auto most = capacity(list);
    while (list.len > most) evict_last(list);
  }
}

}  // namespace lru_stats
