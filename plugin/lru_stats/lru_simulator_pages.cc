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

/** @file plugin/lru_stats/lru_simulator_pages.cc
 The pages that the simulated lists hold, and the memory for them.

 One row of cells a page, shared by all lists: an access that moves nothing, the
 usual one, reads one piece of memory. */

#include "plugin/lru_stats/lru_simulator.h"

#include <algorithm>

namespace lru_stats {

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

/** The next lower threshold when the memory is used up: an eighth of the pages
goes. With smaller steps more of the memory would be in use, but each takes a
walk over all pages. */
uint64_t Lru_simulator::next_threshold(uint64_t threshold) {
  return threshold - std::max<uint64_t>(threshold / 8, 1);
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
  cells[0].page = {page, hash, 0, 0, 0};
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

  page = {m_free, 0, 0, 0, 0};
  m_free = unused;
  m_held--;
}

}  // namespace lru_stats
