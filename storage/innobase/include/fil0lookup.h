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

/** @file include/fil0lookup.h
 A table that is searched without a mutex (Fil_id_table), and the counts of
 lookups that keep a found element from being freed meanwhile (Fil_lookups).

 This file knows nothing of InnoDB, so that it can be tested alone. */

#ifndef fil0lookup_h
#define fil0lookup_h

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

/** Counts lookups in progress in tables that are searched without a mutex. An
element taken out of such a table is freed only after wait_for_all().

The counters in here and the pointers of the tables are accessed by
memory_order_seq_cst throughout, so there is one order of all these accesses.
A lookup that has found an element counted itself before it read the pointer.
That was before the element was taken out, which was before wait_for_all().
wait_for_all() sees both counters of each slot at 0, so the lookup has ended.

A slot has two counters for the sake of the waiting thread only: lookups that
begin after it has switched m_phase do not keep it waiting. */
class Fil_lookups {
 public:
  /** Number of slots. Threads are spread over them, so that they seldom write
  to the same cache line. */
  static constexpr size_t N_SLOTS = 64;

  /** Begins a lookup. It must not wait for anything, nor take a mutex that is
  held by a caller of wait_for_all().
  @param[in]  slot  number below N_SLOTS
  @return phase, to be passed to end() */
  [[nodiscard]] uint32_t begin(size_t slot) noexcept {
    const auto phase = m_phase.load() & 1;
    m_slots[slot].n[phase].fetch_add(1);
    return phase;
  }

  /** Ends a lookup.
  @param[in]  slot   number that was passed to begin()
  @param[in]  phase  what begin() has returned */
  void end(size_t slot, uint32_t phase) noexcept {
    m_slots[slot].n[phase].fetch_sub(1);
  }

  /** Waits until each lookup that is under way now has ended. */
  void wait_for_all() noexcept {
    std::lock_guard guard(m_mutex);
    const auto phase = m_phase.load() & 1;
    wait(phase ^ 1);
    m_phase.store(phase ^ 1);
    wait(phase);
  }

 private:
  void wait(uint32_t phase) noexcept {
    for (auto &slot : m_slots) {
      while (slot.n[phase].load() != 0) {
        std::this_thread::yield();
      }
    }
  }

  struct alignas(64) Slot {
    std::atomic<uint32_t> n[2]{};
  };
  Slot m_slots[N_SLOTS];

  /** Its last bit says which counters new lookups use. */
  alignas(64) std::atomic<uint32_t> m_phase{0};

  /** One wait at a time, so that no other switches the phase back meanwhile. */
  std::mutex m_mutex;
};

/** Finds elements by their number; they are chained through one of their
members. Numbers are assigned consecutively, so the remainder spreads them
evenly. The number of cells is fixed, because growing would have to move what
others are searching.
@tparam Element   what is searched for
@tparam ID        its member with the number, which does not change while it is
                  in the table
@tparam NEXT      its member std::atomic<Element *> for the chain
@tparam N_CELLS   number of chains */
template <typename Element, auto ID, auto NEXT, size_t N_CELLS>
class Fil_id_table {
 public:
  /** Adds an element. Lookups find it from here on.
  @param[in,out]  element  element */
  void add(Element *element) {
    std::lock_guard guard(m_mutex);
    auto &first = cell(element->*ID);
    (element->*NEXT).store(first.load());
    first.store(element);
  }

  /** Removes an element. Only lookups in progress may still have it.
  @param[in,out]  element  element; nothing is done if it is not in the table */
  void remove(Element *element) {
    std::lock_guard guard(m_mutex);
    auto link = &cell(element->*ID);
    for (auto e = link->load(); e != nullptr; e = link->load()) {
      if (e == element) {
        link->store((element->*NEXT).load());
        return;
      }
      link = &(e->*NEXT);
    }
  }

  /** Looks up an element, during a lookup of Fil_lookups.
  @param[in]  id  its number
  @return element, which exists as long as the lookup; nullptr if none */
  template <typename Id>
  [[nodiscard]] Element *find(Id id) {
    auto element = cell(id).load();
    while (element != nullptr && element->*ID != id) {
      /* Also correct if it was taken out: its link still leads on. */
      element = (element->*NEXT).load();
    }
    return element;
  }

 private:
  template <typename Id>
  std::atomic<Element *> &cell(Id id) {
    return m_cells[id % N_CELLS];
  }

  std::array<std::atomic<Element *>, N_CELLS> m_cells{};

  /** Serializes changes of the table. */
  std::mutex m_mutex;
};

#endif /* fil0lookup_h */
