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

/** @file plugin/lru_stats/lru_simulator.cc
 Simulations of the LRU list: what the server's events do to the lists, and how
 these follow its pool, the sample and the configurations. */

#include "plugin/lru_stats/lru_simulator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lru_stats {

Lru_simulator::Lru_simulator(std::vector<Lru_config> configs,
                             size_t memory_bytes)
    : m_memory(memory_bytes) {
  m_lists.reserve(configs.size());
  for (const auto &config : configs) m_lists.push_back(make_list(config));
  allocate();
  set_rate();
}

/* The server's pool. */

/** Forgets the pages that are said to be in the server's pool, but are in no
list, not even in one that is much longer. */
void Lru_simulator::forget_lost() {
  for (uint32_t i = 0; i < m_rows; i++) {
    const auto &page = row(i)->page;
    if (page.lists != 0 || !page.in_pool) continue;
    note_gone(i);
    free_row(i);
  }
}

/** The server's pool has a page. */
void Lru_simulator::note_in_pool(uint32_t there) {
  auto &page = row(there)->page;
  if (page.in_pool || !m_followed) return;
  page.in_pool = 1;
  m_in_pool++;
}

/** The server's pool does not have a page, or it is not sampled any more. */
void Lru_simulator::note_gone(uint32_t gone) {
  auto &page = row(gone)->page;
  if (page.in_pool) m_in_pool--;
  page.in_pool = 0;
}

/* What events do to a list. */

/** Puts a page into a list that does not have it, as one read from disk.
@param[in,out]  list     list
@param[in]      added    row of the page
@param[in]      hash     hash of the page
@param[in]      counted  the read was counted when it was ahead */
void Lru_simulator::read_in(List &list, uint32_t added, uint32_t hash,
                            bool counted) {
  const bool evicts = make_room(list);
  node(list, added).lost_ahead = false;
  if (counted) {
    /* Once is enough. */
  } else if (evicts) {
    /* The low bits are not those the threshold looks at. */
    const auto group = hash % GROUPS;
    list.sampled_reads++;
    list.reads[group] += m_weight;
    list.deviation[group] += m_deviation;
  } else {
    list.unproved += m_weight;
  }
  node(list, added).in_list = true;
  row(added)->page.lists++;
  add(list, added, true);
  note_turnover(list);
}

/** See buf_page_make_young_if_needed(). */
void Lru_simulator::touch(List &list, uint32_t touched) {
  auto &n = node(list, touched);
  const auto now = static_cast<uint32_t>(m_now_ms);
  if (!n.accessed) {
    n.accessed = true;
    n.access_ms = now;
  }
  if (list.clock == 0) return; /* nothing was evicted yet */

  /* See buf_lru_youth_is_unearned(). */
  const bool unearned = list.turnover_limit_ms != UINT64_MAX && n.clock == 0;
  if ((n.old || unearned) && list.config.old_time_ms != 0) {
    const auto wait = std::min(list.config.old_time_ms, list.turnover_limit_ms);
    if (now - n.access_ms < wait) return;
  } else {
    const auto since =
        n.has_clock ? static_cast<uint32_t>(list.clock) - n.clock : list.clock;
    if (since < list.quarter) return;
  }
  remove(list, touched);
  add(list, touched, false);
}

/* Events. */

void Lru_simulator::read(uint64_t page, uint32_t hash, uint64_t now_ms) {
  m_now_ms = std::max(m_now_ms, now_ms);
  if (hash >= m_threshold || m_lists.empty()) return;
  if (m_too_long) shorten();
  m_events += m_weight;
  const auto i = find_or_add(page, hash);
  if (i == NONE) return;
  note_in_pool(i);
  row(i)->page.awaited = 0;
  if (row(i)->page.lists == m_lists.size()) return;
  for (auto &list : m_lists) {
    if (!node(list, i).in_list) read_in(list, i, hash, false);
  }
}

void Lru_simulator::awaited(uint64_t page, uint32_t hash) {
  if (hash >= m_threshold || m_lists.empty()) return;
  const auto i = find(page, hash);
  if (i != NONE) row(i)->page.awaited = 1;
}

void Lru_simulator::create(uint64_t page, uint32_t hash, uint64_t now_ms) {
  m_now_ms = std::max(m_now_ms, now_ms);
  if (hash >= m_threshold || m_lists.empty()) return;
  if (m_too_long) shorten();
  const auto i = find_or_add(page, hash);
  if (i == NONE) return;
  note_in_pool(i);
  if (row(i)->page.lists == m_lists.size()) return;
  for (auto &list : m_lists) {
    auto &n = node(list, i);
    if (n.in_list) continue;
    make_room(list);
    n.in_list = true;
    n.accessed = true;
    n.access_ms = static_cast<uint32_t>(m_now_ms);
    row(i)->page.lists++;
    add(list, i, false);
    note_turnover(list);
  }
}

void Lru_simulator::access(uint64_t page, uint32_t hash, uint64_t now_ms) {
  m_now_ms = std::max(m_now_ms, now_ms);
  if (hash >= m_threshold || m_lists.empty()) return;
  if (m_too_long) shorten();
  m_events += m_weight;
  const auto i = find_or_add(page, hash);
  if (i == NONE) return;
  const bool was_ahead = row(i)->page.in_pool && !row(i)->page.awaited;
  note_in_pool(i);
  for (auto &list : m_lists) {
    if (const auto &n = node(list, i); !n.in_list) {
      read_in(list, i, hash, was_ahead && n.lost_ahead);
    }
    touch(list, i);
  }
}

void Lru_simulator::evict(uint64_t page, uint32_t hash) {
  if (hash >= m_threshold || m_lists.empty()) return;
  m_pool_evicted += m_weight;
  const auto i = find(page, hash);
  if (i == NONE || !row(i)->page.in_pool) return;
  note_gone(i);
  free_if_unused(i);
  /* The server evicts many pages at once; nobody sees the lists before the next
  event that puts a page into one. */
  m_too_long = m_follows;
}

void Lru_simulator::follow_pool(uint64_t lru_pages, uint64_t curr_pages,
                                bool full) {
  const auto lru = static_cast<double>(std::min(lru_pages, curr_pages));
  const auto curr = static_cast<double>(curr_pages);
  if (lru < 1) return;
  /* A simulation that began while the pool was empty knows all its pages. */
  if (!m_followed) m_all_known = lru < curr / 20;
  m_followed = true;

  for (auto &list : m_lists) {
    /* A larger pool has as many pages that are not in the list, a smaller one
    fewer. */
    const auto size = static_cast<double>(list.config.curr_size) / curr;
    list.nominal = static_cast<double>(list.config.pages) -
                   (full ? curr - lru : curr / 20) * std::min(size, 1.0);
    list.share = list.nominal / lru;
  }
  /* Events may have been lost. */
  if (full && m_in_pool > lru * m_rate * 1.1) forget_lost();
  /* What was in the pool before its pages were counted has to be gone. */
  m_follows = full && (m_all_known || m_pool_evicted >= lru) &&
              std::abs(m_in_pool / (lru * m_rate) - 1) < 0.25;
  shorten();
}

void Lru_simulator::forget(uint64_t page) {
  const auto h = hash(page);
  if (h >= m_threshold || m_lists.empty()) return;
  m_pool_evicted += m_weight; /* one of those that had to be gone, see above */
  const auto i = find(page, h);
  if (i == NONE) return;
  for (auto &list : m_lists) {
    if (!node(list, i).in_list) continue;
    remove(list, i);
    drop_from_list(list, i);
    advance_clock(list); /* InnoDB counts these, too */
  }
  if (row(i)->page.in_pool) m_too_long = m_follows;
  note_gone(i);
  free_if_unused(i);
}

/* Fewer pages, other pools. */

bool Lru_simulator::lower_threshold(uint64_t threshold) {
  if (threshold >= m_threshold) return false;
  m_threshold = threshold;
  set_rate();

  /* Without InnoDB's adjustments on the way, which would move the boundary to
  and fro. */
  const auto drop = [this](List &list, uint32_t dropped) {
    auto &n = node(list, dropped);
    if (list.old == dropped) list.old = n.next;
    if (n.old) list.old_len--;
    unlink(list, dropped);
    drop_from_list(list, dropped);
  };
  for (uint32_t i = 0; i < m_rows; i++) {
    const auto &page = row(i)->page;
    if (page.lists == 0 && !page.in_pool) continue; /* free */
    if (page.hash < threshold) continue;
    note_gone(i);
    for (auto &list : m_lists) {
      if (node(list, i).in_list) drop(list, i);
    }
    free_if_unused(i);
  }
  for (auto &list : m_lists) {
    for (const auto most = capacity(list); list.len > most;) {
      const auto last = list.tail;
      drop(list, last);
      free_if_unused(last);
    }
    if (list.len < m_min_len) {
      clear_old(list);
    } else if (list.old == NONE) {
      init_old(list);
    } else {
      adjust_old(list);
    }
  }
  return true;
}

void Lru_simulator::update_configs(std::vector<Lru_config> configs) {
  /* For each new list, the old list that it continues, or none. */
  constexpr auto FRESH = static_cast<size_t>(-1);
  std::vector<size_t> origins;
  std::vector<bool> kept(m_lists.size());
  for (const auto &config : configs) {
    size_t i = 0;
    while (i < m_lists.size() && (kept[i] || !(m_lists[i].config == config))) {
      i++;
    }
    origins.push_back(i < m_lists.size() ? i : FRESH);
    if (i < m_lists.size()) kept[i] = true;
  }

  /* Free the rows that only the other lists have. */
  for (size_t i = 0; i < m_lists.size(); i++) {
    auto &list = m_lists[i];
    if (kept[i]) continue;
    clear_old(list); /* lower_threshold() goes by it */
    while (list.tail != NONE) {
      const auto last = list.tail;
      unlink(list, last);
      drop_from_list(list, last);
      free_if_unused(last);
    }
  }

  Lru_simulator next({}, m_memory);
  next.m_threshold = m_threshold;
  next.m_now_ms = m_now_ms;
  next.m_events = m_events;
  next.m_pool_evicted = m_pool_evicted;
  next.m_followed = m_followed;
  next.m_all_known = m_all_known;
  next.m_lists.reserve(configs.size());
  for (size_t i = 0; i < configs.size(); i++) {
    next.m_lists.push_back(origins[i] == FRESH ? next.make_list(configs[i])
                                               : m_lists[origins[i]]);
  }
  next.allocate();
  /* More lists, fewer pages. */
  while (m_held > next.m_max_rows) {
    lower_threshold(next_threshold(m_threshold));
  }
  next.m_threshold = m_threshold;
  next.set_rate();
  for (size_t i = 0; i < configs.size(); i++) {
    if (origins[i] == FRESH) continue;
    /* Lowering may have changed the list. */
    next.m_lists[i] = m_lists[origins[i]];
    next.m_lists[i].cell = static_cast<uint32_t>(1 + i);
  }

  std::vector<uint32_t> moved(m_rows, NONE);
  for (uint32_t i = 0; i < m_rows; i++) {
    const auto &page = row(i)->page;
    if (page.lists != 0 || page.in_pool) moved[i] = next.m_rows++;
  }
  const auto renumber = [&moved](uint32_t i) {
    return i == NONE ? NONE : moved[i];
  };
  for (uint32_t i = 0; i < m_rows; i++) {
    if (moved[i] == NONE) continue;
    const auto &page = row(i)->page;
    auto *cells = next.row(moved[i]);
    cells[0].page = page;
    next.insert_slot(page.hash, moved[i]);
    for (size_t l = 0; l < configs.size(); l++) {
      auto &n = cells[1 + l].node;
      n = {};
      if (origins[l] == FRESH) continue;
      n = node(m_lists[origins[l]], i);
      if (!n.in_list) continue;
      n.prev = renumber(n.prev);
      n.next = renumber(n.next);
    }
  }
  next.m_held = next.m_rows;
  next.m_in_pool = m_in_pool;
  for (size_t l = 0; l < configs.size(); l++) {
    auto &list = next.m_lists[l];
    list.head = renumber(list.head);
    list.tail = renumber(list.tail);
    list.old = renumber(list.old);
  }
  *this = std::move(next);
}

}  // namespace lru_stats
