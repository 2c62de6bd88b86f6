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
 Simulations of the LRU list; the functions follow buf0lru.cc and buf0buf.ic.

 One row of cells a page, shared by all lists: an access that moves nothing, the
 usual one, reads one piece of memory. */

#include "plugin/lru_stats/lru_simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lru_stats {

namespace {

/* InnoDB's constants of the same names. */
constexpr unsigned BUF_LRU_OLD_MIN_LEN = 512;
constexpr unsigned BUF_LRU_OLD_TOLERANCE = 20;
constexpr unsigned BUF_LRU_NON_OLD_MIN_LEN = 5;
constexpr unsigned BUF_LRU_OLD_RATIO_DIV = 1024;
constexpr unsigned BUF_LRU_OLD_RATIO_MIN = 51;
constexpr unsigned BUF_LRU_OLD_RATIO_MAX = BUF_LRU_OLD_RATIO_DIV;

/** The next lower threshold when the memory is used up: an eighth of the pages
goes. With smaller steps more of the memory would be in use, but each takes a
walk over all pages. */
constexpr uint64_t next_threshold(uint64_t threshold) {
  return threshold - std::max<uint64_t>(threshold / 8, 1);
}

}  // namespace

Lru_simulator::Lru_simulator(std::vector<Lru_config> configs,
                             size_t memory_bytes)
    : m_memory(memory_bytes) {
  m_lists.reserve(configs.size());
  for (const auto &config : configs) m_lists.push_back(make_list(config));
  allocate();
  set_rate();
}

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

/** Makes an empty hash table and empty rows for m_lists. */
void Lru_simulator::allocate() {
  m_stride = 1 + m_lists.size();
  uint32_t cell = 0;
  for (auto &list : m_lists) list.cell = ++cell;

  /* Three slots for two pages. */
  const auto fixed =
      sizeof(*this) + m_lists.size() * sizeof(List) + 2 * sizeof(Slot);
  const auto page_bytes = m_stride * sizeof(Cell) + sizeof(Slot) * 3 / 2;
  const auto rows = m_memory > fixed ? (m_memory - fixed) / page_bytes : 0;
  m_max_rows = static_cast<uint32_t>(std::min<size_t>(rows, NONE));
  m_n_slots = m_max_rows + m_max_rows / 2 + 1;

  /* Not initialized, so that rows take no memory before they are used. */
  m_cells.reset(new Cell[m_max_rows * m_stride]);
  m_slots.reset(new Slot[m_n_slots]);
  std::fill_n(m_slots.get(), m_n_slots, Slot{0, NONE});
  m_rows = 0;
  m_held = 0;
  m_free = NONE;
}

size_t Lru_simulator::memory_used() const {
  return sizeof(*this) + m_lists.capacity() * sizeof(List) +
         m_n_slots * sizeof(Slot) + m_rows * m_stride * sizeof(Cell);
}

void Lru_simulator::set_rate() {
  m_rate = static_cast<double>(m_threshold) / static_cast<double>(ALL);
  m_weight = m_threshold == 0 ? 0 : 1 / m_rate;
  /* One page is too short to be divided. */
  m_min_len = static_cast<uint32_t>(
      std::max(std::ceil(BUF_LRU_OLD_MIN_LEN * m_rate), 2.0));
  /* With less than half a page it would not come to rest. */
  m_tolerance = std::max(BUF_LRU_OLD_TOLERANCE * m_rate, 0.5);
  /* Each page is in the sample with the probability R, so one that is adds
  (1 - R) / R^2 times its square to the variance; hence the root of it. */
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

/* The hash table of pages. */

/** The home of a page. Sampled hashes are small, hence the multiplication. */
size_t Lru_simulator::slot_of(uint32_t hash) const {
  return (uint64_t{hash * 0x9e3779b1U} * m_n_slots) >> 32;
}

uint32_t Lru_simulator::find(uint64_t page, uint32_t hash) const {
  for (auto i = slot_of(hash); m_slots[i].row != NONE;) {
    const auto &slot = m_slots[i];
    if (slot.hash == hash && m_cells[slot.row * m_stride].page.id == page) {
      return slot.row;
    }
    if (++i == m_n_slots) i = 0;
  }
  return NONE;
}

void Lru_simulator::insert_slot(uint32_t hash, uint32_t row) {
  auto i = slot_of(hash);
  while (m_slots[i].row != NONE) {
    if (++i == m_n_slots) i = 0;
  }
  m_slots[i] = {hash, row};
}

/** @return the row of a page, a new one if need be; NONE if there was no memory
and the page is not sampled any more */
uint32_t Lru_simulator::find_or_add(uint64_t page, uint32_t hash) {
  auto found = find(page, hash);
  if (found != NONE) return found;

  while (m_held == m_max_rows) {
    lower_threshold(next_threshold(m_threshold));
    if (hash >= m_threshold) return NONE;
  }
  if (m_free != NONE) {
    found = m_free;
    m_free = static_cast<uint32_t>(row(found)->page.id);
  } else {
    found = m_rows++;
  }
  auto *cells = row(found);
  cells[0].page = {page, hash, 0, 0};
  for (size_t i = 1; i < m_stride; i++) cells[i].node = {};
  m_held++;
  insert_slot(hash, found);
  return found;
}

/** Frees a row that neither a list nor the server's pool has any more. */
void Lru_simulator::free_if_unused(uint32_t unused) {
  const auto &page = row(unused)->page;
  if (page.lists == 0 && !page.in_pool) free_row(unused);
}

void Lru_simulator::free_row(uint32_t unused) {
  auto &page = row(unused)->page;

  auto hole = slot_of(page.hash);
  while (m_slots[hole].row != unused) {
    if (++hole == m_n_slots) hole = 0;
  }
  /* Close the gap with what would not be found behind it. */
  for (auto i = hole;;) {
    if (++i == m_n_slots) i = 0;
    if (m_slots[i].row == NONE) break;
    const auto home = slot_of(m_slots[i].hash);
    const bool stays =
        hole <= i ? hole < home && home <= i : hole < home || home <= i;
    if (stays) continue;
    m_slots[hole] = m_slots[i];
    hole = i;
  }
  m_slots[hole].row = NONE;

  page = {m_free, 0, 0, 0};
  m_free = unused;
  m_held--;
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
@param[in]      old    if it is to be put to the midpoint, not to the head */
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
  remove(list, evicted);
  drop_from_list(list, evicted);
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

/** Puts a page into a list that does not have it, as one read from disk. */
void Lru_simulator::read_in(List &list, uint32_t added, uint32_t hash) {
  if (make_room(list)) {
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
  if (row(i)->page.lists == m_lists.size()) return;
  for (auto &list : m_lists) {
    if (!node(list, i).in_list) read_in(list, i, hash);
  }
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
  note_in_pool(i);
  for (auto &list : m_lists) {
    if (!node(list, i).in_list) read_in(list, i, hash);
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

/* Everything else. */

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
    /* Other variables are no help, but better than nothing. */
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

void Lru_simulator::update_configs(std::vector<Lru_config> configs) {
  /* Of each new list, the old one it continues, or none. */
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
