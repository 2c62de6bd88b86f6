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

/** @file buf/buf0lruplaces.cc
 The places where buf0lruindex.cc counts: found, entered, reclaimed. See
 buf0lruplaces.h. */

#include "buf0lruplaces.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "buf0buf.h"
#include "my_dbug.h"

namespace lru_index {

std::atomic<Table *> table{nullptr};
std::mutex table_mutex;
std::mutex reader_mutex;

namespace {

/** Places that are handled before table_mutex is released: some ten
microseconds. */
constexpr uint16_t MOST_AT_A_TIME = 256;

/** Finds a place.
@param[in]  t     table
@param[in]  key   its key
@param[in]  also  a state besides used that it may have
@return its number, or 0 */
uint16_t find(const Table &t, const Key &key, State also = State::used) {
  const auto current = t.current.load(std::memory_order_acquire);
  auto bucket = Key_hash{}(key) % N_BUCKETS;
  for (uint32_t n = 0; n < N_BUCKETS; ++n) {
    /* With the release in link(): a thread that sees the number also sees the
    key. */
    const auto number =
        t.buckets[current][bucket].load(std::memory_order_acquire);
    if (number == 0) return 0;
    const auto &place = t.places[number];
    if (place.key() == key && (place.is(State::used) || place.is(also))) {
      /* A place gets another key only after it has left the hash table in use:
      a thread that may have seen half of that key sees another table in use. */
      return t.current.load(std::memory_order_relaxed) == current ? number : 0;
    }
    bucket = (bucket + 1) % N_BUCKETS;
  }
  return 0;
}

/** Puts a number into a hash table. The caller holds table_mutex.
@param[in]      t        table
@param[in,out]  buckets  hash table
@param[in]      number   number of a place that has its key */
void link(const Table &t, Table::Buckets &buckets, uint16_t number) {
  auto bucket = Key_hash{}(t.places[number].key()) % N_BUCKETS;
  while (buckets[bucket].load(std::memory_order_relaxed) != 0) {
    bucket = (bucket + 1) % N_BUCKETS;
  }
  buckets[bucket].store(number, std::memory_order_release);
}

}  // namespace

uint16_t enter(const Key &key) {
  auto *const made = table.load(std::memory_order_acquire);
  /* Where stores are not seen in order, the switch may be seen first. */
  if (made == nullptr) return OTHER;
  auto &t = *made;
  if (const auto number = find(t, key)) return number;

  const std::lock_guard<std::mutex> guard(table_mutex);

  if (const auto number = find(t, key, State::retired)) {
    t.places[number].state.store(State::used, std::memory_order_relaxed);
    return number;
  }
  if (t.n_free == 0) return OTHER;

  const auto number = t.free_places[t.first_free];
  t.first_free = (t.first_free + 1) % N_INDEXES;
  --t.n_free;

  auto &place = t.places[number];
  place.space.store(key.space, std::memory_order_release);
  place.index.store(key.index, std::memory_order_release);
  place.state.store(State::used, std::memory_order_relaxed);
  const auto current = t.current.load(std::memory_order_relaxed);
  link(t, t.buckets[current], number);
  if (number < t.linked_anew) link(t, t.buckets[1 - current], number);
  return number;
}

namespace {

/** Calls a function for each place that is not fixed, in batches.
@param[in]  batch  called with the first number and the one after the last;
holds table_mutex for no longer */
template <typename Batch>
void in_batches(Batch &&batch) {
  for (uint16_t first = N_FIXED; first < N_INDEXES;) {
    const auto end = static_cast<uint16_t>(
        std::min<uint32_t>(first + MOST_AT_A_TIME, N_INDEXES));
    batch(first, end);
    DBUG_EXECUTE_IF("lru_index_reclaim_waits", {
      std::unique_lock<std::mutex> held(table_mutex, std::defer_lock);
      DBUG_EXECUTE_IF("mutate_lru_index_holds_mutex", held.lock(););
      ib::info() << "lru_stats reclaims and waits";
      while (DBUG_EVALUATE_IF("lru_index_reclaim_waits", true, false)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
    first = end;
  }
}

/** Retires places that have no page in the pool, and empties those that were
retired.
@param[in,out]  t        table
@param[in]      gauges   what look_through_pool() has found
@param[out]     retired  true if any place was newly retired
@return the numbers of those that were emptied */
std::vector<uint16_t> retire(Table &t, const std::vector<Gauges> &gauges,
                             bool &retired) {
  std::vector<uint16_t> emptied;
  emptied.reserve(N_INDEXES);
  retired = false;
  in_batches([&](uint16_t first, uint16_t end) {
    const std::lock_guard<std::mutex> guard(table_mutex);
    for (auto number = first; number < end; ++number) {
      auto &state = t.places[number].state;
      const bool has_pages = gauges[number].pages() != 0;
      switch (state.load(std::memory_order_relaxed)) {
        case State::used:
          if (has_pages) break;
          state.store(State::retired, std::memory_order_relaxed);
          retired = true;
          break;
        case State::retired:
          /* With pages, it was retired while a thread had just looked its
          number up. */
          state.store(has_pages ? State::used : State::emptied,
                      std::memory_order_relaxed);
          if (!has_pages) emptied.push_back(number);
          break;
        case State::free:
        case State::emptied:
          break;
      }
    }
  });
  return emptied;
}

/** Makes the hash table anew, from the places that are used or retired.
@param[in,out]  t  table */
void rehash(Table &t) {
  auto &anew = t.buckets[1 - t.current.load(std::memory_order_relaxed)];
  /* It was in use until the last rehash. A thread that has been searching it
  since then, for seconds, may miss its number: it then searches again under
  table_mutex. */
  for (auto &bucket : anew) bucket.store(0, std::memory_order_relaxed);

  in_batches([&](uint16_t first, uint16_t end) {
    const std::lock_guard<std::mutex> guard(table_mutex);
    for (auto number = first; number < end; ++number) {
      if (t.places[number].is(State::used) ||
          t.places[number].is(State::retired)) {
        link(t, anew, number);
      }
    }
    t.linked_anew = end;
    if (end == N_INDEXES) {
      t.current.store(1 - t.current.load(std::memory_order_relaxed),
                      std::memory_order_release);
      t.linked_anew = 0;
    }
  });
}

/** Adds what places have counted to "(other)".
@param[in,out]  t        table
@param[in]      numbers  places that are emptied */
void pass_on(Table &t, const std::vector<uint16_t> &numbers) {
  for (const auto number : numbers) {
    for (uint32_t i = 0; i < t.n_shards; ++i) {
      auto &shard = t.counters[i];
      for (size_t c = 0; c < N_COUNTERS; ++c) {
        shard[OTHER].n[c].fetch_add(
            shard[number].n[c].exchange(0, std::memory_order_relaxed),
            std::memory_order_relaxed);
      }
    }
    t.places[OTHER].read_again.fetch_add(
        t.places[number].read_again.exchange(0, std::memory_order_relaxed),
        std::memory_order_relaxed);
  }
}

}  // namespace

}  // namespace lru_index

void buf_lru_index_reclaim() try {
  using namespace lru_index;

  const auto t = table.load(std::memory_order_acquire);
  if (t == nullptr) return;
  {
    const std::lock_guard<std::mutex> table_guard(table_mutex);
    uint32_t enough = N_INDEXES / 4;
    DBUG_EXECUTE_IF("lru_index_reclaim", enough = N_INDEXES;);
    if (t->n_free > enough) return;
  }

  /* While a reader looks through the pool, this can be put off. It is also put
  off if the last attempt could do nothing. */
  const std::unique_lock<std::mutex> guard(reader_mutex, std::try_to_lock);
  if (!guard.owns_lock()) return;
  static unsigned in_vain = 0;
  DBUG_EXECUTE_IF("lru_index_reclaim", in_vain = 0;);
  if (in_vain > 0 && ++in_vain < 30) return;
  in_vain = 1;

  std::vector<Gauges> gauges(N_INDEXES);
  look_through_pool(gauges);

  bool retired;
  const auto emptied = retire(*t, gauges, retired);
  if (retired) in_vain = 0;
  if (emptied.empty()) return;

  pass_on(*t, emptied);
  rehash(*t);

  for (const auto number : emptied) {
    const std::lock_guard<std::mutex> table_guard(table_mutex);
    t->places[number].state.store(State::free, std::memory_order_relaxed);
    t->free_places[(t->first_free + t->n_free) % N_INDEXES] = number;
    ++t->n_free;
    /* To be the next one, for tests. */
    DBUG_EXECUTE_IF("lru_index_reclaim", {
      t->first_free = (t->first_free + N_INDEXES - 1) % N_INDEXES;
      t->free_places[t->first_free] = number;
    });
  }
} catch (const std::bad_alloc &) {
  /* Next time. */
}
