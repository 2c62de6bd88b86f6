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

/** @file include/buf0lruplaces.h
 The places where buf0lruindex.cc counts, one for each index.

 | file             | what                                                     |
 | ---------------- | -------------------------------------------------------- |
 | buf0lruindex.cc  | whose a page is; counting; the rows of the table         |
 | buf0lruplaces.cc | the places: found, entered, reclaimed                    |
 | buf0lrunames.cc  | names of indexes                                         |

 There are N_INDEXES places, each with a key (tablespace and index id) and
 counters, and a hash table of place numbers by key. Lookups and counting use
 atomics only, because they happen under the LRU list mutex and in accesses to
 pages of the old part. A page keeps the number of its place in Buf_lru_history,
 so its frame is looked at only once while the page is in the pool.

 Entering a key takes table_mutex, which comes after all latches of InnoDB, so
 nobody holds it for longer than it takes to handle MOST_AT_A_TIME places.

 When no place is left, new indexes count as "(other)", and reclaim() makes
 room. A place without a page in the pool is first retired: no page can get its
 number unless its key is entered again. A later reclaim() that still finds no
 page with this number frees the place. Its counts go to "(other)", so that sums
 over all rows never shrink. The hash table is then made anew beside the one in
 use, without the freed places, so it is never more than half full and has no
 gaps to search through. */

#ifndef buf0lruplaces_h
#define buf0lruplaces_h

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "buf0lruindex.h"
#include "univ.i"
#include "ut0cpu_cache.h"

namespace lru_index {

/** Places; number 0 is none. */
constexpr uint16_t N_INDEXES = 16384;

/** Buffer pool instances with counters of their own, so that threads of
different instances do not write to the same cache line. If there are more
instances, they share counters. */
constexpr uint32_t MOST_SHARDS = 8;

/** Buckets of the hash table: never more than half full. */
constexpr uint32_t N_BUCKETS = 2 * N_INDEXES;

/** Used instead of an index id for pages that belong to no index. Index ids
count up from 1. */
constexpr uint64_t NO_INDEX = ~uint64_t{0};
constexpr uint64_t BLOB = NO_INDEX - 1;
constexpr uint64_t SDI = NO_INDEX - 2;
constexpr uint64_t SPACE_MANAGEMENT = NO_INDEX - 3;

/** Used instead of a tablespace id where the tablespace does not matter. */
constexpr uint64_t NO_SPACE = ~uint64_t{0};

/** Numbers of the places that are there from the start, in this order. */
enum Fixed : uint16_t {
  NONE = 0,
  OTHER,
  UNDO,
  SYSTEM,
  TEMPORARY,
  CHANGE_BUFFER,
  N_FIXED
};

struct Key {
  uint64_t space;
  uint64_t index;

  bool operator==(const Key &other) const {
    return space == other.space && index == other.index;
  }
};

struct Key_hash {
  size_t operator()(const Key &key) const {
    return innodb_lru_page_hash(key.space << 32 ^ key.index ^ key.index >> 32);
  }
};

enum class State : uint8_t {
  /** Any key may take it. */
  free,
  used,
  /** Has no page in the pool. Used again if its key is entered. */
  retired,
  /** Can neither be found nor be taken: about to be free. */
  emptied
};

constexpr auto N_COUNTERS = static_cast<size_t>(Lru_index_counter::N);

/** What the hooks count for one index in one instance, or in the instances that
share counters. A cache line; 1 MiB for all places. */
struct alignas(ut::INNODB_CACHE_LINE_SIZE) Counters {
  std::array<std::atomic<uint64_t>, N_COUNTERS> n{};
};

struct Place {
  /** Written under table_mutex, with release: see find(). */
  std::atomic<uint64_t> space{NO_SPACE};
  std::atomic<uint64_t> index{NO_INDEX};

  /** Counted by the plugin. */
  std::atomic<uint64_t> read_again{0};

  /** Written under table_mutex. */
  std::atomic<State> state{State::free};

  bool is(State s) const { return state.load(std::memory_order_relaxed) == s; }

  Key key() const {
    return {space.load(std::memory_order_acquire),
            index.load(std::memory_order_acquire)};
  }
};

struct Table {
  explicit Table(uint32_t n) : n_shards(n), counters(new Shard[n]) {
    for (uint16_t number = N_FIXED; number < N_INDEXES; ++number) {
      free_places[n_free++] = number;
    }
  }

  /** @return a counter of a place, all instances added up */
  uint64_t sum(uint16_t number, Lru_index_counter counter) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n_shards; ++i) {
      sum += counters[i][number].n[static_cast<size_t>(counter)].load(
          std::memory_order_relaxed);
    }
    return sum;
  }

  /** @return true if anything was counted for a place */
  bool counted(uint16_t number) const {
    if (number >= N_FIXED && places[number].key().space == NO_SPACE) {
      return false; /* never used */
    }
    if (places[number].read_again.load(std::memory_order_relaxed) != 0) {
      return true;
    }
    for (size_t c = 0; c < N_COUNTERS; ++c) {
      if (sum(number, static_cast<Lru_index_counter>(c)) != 0) return true;
    }
    return false;
  }

  /** Counters of all places. */
  using Shard = std::array<Counters, N_INDEXES>;
  const uint32_t n_shards;
  const std::unique_ptr<Shard[]> counters;

  std::array<Place, N_INDEXES> places;

  /** A hash table: numbers of places, or 0. */
  using Buckets = std::array<std::atomic<uint16_t>, N_BUCKETS>;

  /** The one in use, and the one that reclaim() makes, or made it from. */
  std::array<Buckets, 2> buckets{};

  /** Which one is in use. Written under table_mutex. */
  std::atomic<unsigned> current{0};

  /* What follows is protected by table_mutex. */

  /** The places below this number are in the new hash table; 0 if none is being
  made. */
  uint16_t linked_anew{0};

  /** The free places, a ring, in the order in which they are used: those that
  were freed last come last. */
  std::array<uint16_t, N_INDEXES> free_places;
  uint32_t first_free{0};
  uint32_t n_free{0};
};

/** Allocated when counting is first switched on. Never freed: a thread may be
about to count at any time. */
extern std::atomic<Table *> table;

/** Protects entering, retiring and freeing of places. */
extern std::mutex table_mutex;

/** Serializes switching, reading and reclaiming, which look through the pool.
Never taken with table_mutex held. */
extern std::mutex reader_mutex;

/** Finds or makes a place.
@param[in]  key  its key
@return its number; OTHER if there is no room */
uint16_t enter(const Key &key);

/** Pages of a place, as buf_lru_walk() has found them. */
struct Gauges {
  uint64_t young{0};
  uint64_t old{0};
  uint64_t dirty{0};

  uint64_t pages() const { return young + old; }
};

/** Counts the pages of each place. The caller holds reader_mutex. Pages whose
index is known, nearly all, are read without their mutex: a page that is
replaced meanwhile is counted as what it was or as what it becomes.
@param[out]  gauges  by number, N_INDEXES of them */
void look_through_pool(std::vector<Gauges> &gauges);

struct Names {
  std::string schema;
  std::string table;
  std::string partition;
  std::string index;
};

using Names_by_key = std::unordered_map<Key, Names, Key_hash>;

/** Looks names up. For a table that is not in the dictionary cache, the name of
its file gives the name of the table, but not that of the index.
@param[in,out]  names  keys to look up */
void resolve(Names_by_key &names);

}  // namespace lru_index

#endif /* buf0lruplaces_h */
