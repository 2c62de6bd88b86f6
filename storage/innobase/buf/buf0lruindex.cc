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

/** @file buf/buf0lruindex.cc
 Counts by index what the LRU lists do with its pages.

 There are N_INDEXES places, each with a key (tablespace and index id) and
 counters, and a hash table of place numbers by key. Looking up and counting is
 by atomics only, as it happens under the LRU list mutex and on the path of
 pages that are accessed in the old part. A page keeps the number of its place
 in Buf_lru_history, so the frame is looked at once in its life in the pool.

 Entering a key takes table_mutex, which comes after all latches of InnoDB, so
 nobody holds it for longer than it takes to handle MOST_AT_A_TIME places. When
 no place is left, what is new counts as "(other)", and reclaim() makes room: a
 place without a page in the pool is first retired, so that no page can get its
 number unless its key is entered again, and freed at a later reclaim() that
 still finds no page with it. What it has counted goes to "(other)", so that
 sums over all rows never shrink. The hash table is then made anew beside the
 one in use, without what was freed, so it is never more than half full and has
 no gaps to search through. */

#include "buf0lruindex.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "btr0btr.h"
#include "buf0buf.h"
#include "buf0lruwalk.h"
#include "dict0dict.h"
#include "dict0mem.h"
#include "fil0fil.h"
#include "fsp0fsp.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "my_systime.h"

std::atomic<bool> buf_lru_index_on{false};

namespace {

/** Places; number 0 is none. */
constexpr uint16_t N_INDEXES = 16384;

/** Buffer pool instances that count apart, so that threads of different
instances do not write to the same cache line. More share their counters. */
constexpr uint32_t MOST_SHARDS = 8;

/** Buckets of the hash table: never more than half full. */
constexpr uint32_t N_BUCKETS = 2 * N_INDEXES;

/** Places that are handled before table_mutex is released: some ten
microseconds. */
constexpr uint16_t MOST_AT_A_TIME = 256;

/** What pages belong to that belong to no index, in the place of an index id.
Indexes count up from 1. */
constexpr uint64_t NO_INDEX = ~uint64_t{0};
constexpr uint64_t BLOB = NO_INDEX - 1;
constexpr uint64_t SDI = NO_INDEX - 2;
constexpr uint64_t SPACE_MANAGEMENT = NO_INDEX - 3;

/** And in the place of a tablespace, where it does not matter which. */
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

constexpr const char *fixed_names[] = {
    nullptr, "(other)", "(undo)", "(system)", "(temporary)", "(change buffer)"};

static_assert(std::size(fixed_names) == N_FIXED, "a name is missing");

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
  /** To be had by any key. */
  free,
  used,
  /** Has no page in the pool. Used again if its key is entered. */
  retired,
  /** Neither to be found nor to be had: about to be free. */
  emptied
};

constexpr auto N_COUNTERS = static_cast<size_t>(Lru_index_counter::N);

/** What the hooks count for one index in one instance, or in those that share.
A cache line; 1 MiB for all places. */
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

  /** The places below have been put into the new hash table; 0 if none is being
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
std::atomic<Table *> table{nullptr};

/** Protects entering, retiring and freeing of places. */
std::mutex table_mutex;

/** Serializes switching, reading and reclaiming, which look through the pool.
Never taken with table_mutex held. */
std::mutex reader_mutex;

/** Since when is counted, microseconds since 1970 UTC. Protected by
reader_mutex. */
int64_t since;

/** Finds a place.
@param[in]  t     table
@param[in]  key   its key
@param[in]  also  a state besides used that it may have
@return its number, or 0 */
uint16_t find(const Table &t, const Key &key, State also = State::used) {
  const auto current = t.current.load(std::memory_order_acquire);
  auto bucket = Key_hash{}(key) % N_BUCKETS;
  for (uint32_t n = 0; n < N_BUCKETS; ++n) {
    /* With the release in link(): who sees the number sees the key. */
    const auto number =
        t.buckets[current][bucket].load(std::memory_order_acquire);
    if (number == 0) return 0;
    const auto &place = t.places[number];
    if (place.key() == key && (place.is(State::used) || place.is(also))) {
      /* A place gets another key only after it has left the hash table in use:
      who may have seen half of that key sees another table in use. */
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

/** Finds or makes a place.
@param[in]  key  its key
@return its number; OTHER if there is no room */
uint16_t enter(const Key &key) {
  auto &t = *table.load(std::memory_order_acquire);
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

/** What the header of a page says.
@param[in]   bpage   page whose frame can be read
@param[out]  final   false if that may change soon: the page is new
@return number of its place */
uint16_t classify(const buf_page_t *bpage, bool &final) {
  final = true;
  const auto space = bpage->id.space();

  if (fsp_is_system_temporary(space) || fsp_is_session_temporary(space)) {
    return TEMPORARY;
  }
  if (fsp_is_undo_tablespace(space)) return UNDO;

  const byte *frame = buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE
                          ? reinterpret_cast<const buf_block_t *>(bpage)->frame
                          : bpage->zip.data;

  switch (fil_page_get_type(frame)) {
    case FIL_PAGE_SDI:
      return enter({space, SDI});
    case FIL_PAGE_INDEX:
    case FIL_PAGE_RTREE: {
      const auto index = mach_read_from_8(frame + PAGE_HEADER + PAGE_INDEX_ID);
      if (index >= DICT_IBUF_ID_MIN) return CHANGE_BUFFER;
      if (index == 0) {
        final = false;
        return OTHER;
      }
      return enter({space, index});
    }
    case FIL_PAGE_IBUF_BITMAP:
    case FIL_PAGE_IBUF_FREE_LIST:
      return CHANGE_BUFFER;
    case FIL_PAGE_UNDO_LOG:
    case FIL_PAGE_TYPE_RSEG_ARRAY:
      return UNDO;
    case FIL_PAGE_TYPE_SYS:
    case FIL_PAGE_TYPE_TRX_SYS:
    case FIL_PAGE_TYPE_LEGACY_DBLWR:
      return SYSTEM;
    case FIL_PAGE_TYPE_ALLOCATED:
      final = false;
      break;
    case FIL_PAGE_TYPE_BLOB:
    case FIL_PAGE_TYPE_ZBLOB:
    case FIL_PAGE_TYPE_ZBLOB2:
    case FIL_PAGE_SDI_BLOB:
    case FIL_PAGE_SDI_ZBLOB:
    case FIL_PAGE_TYPE_LOB_INDEX:
    case FIL_PAGE_TYPE_LOB_DATA:
    case FIL_PAGE_TYPE_LOB_FIRST:
    case FIL_PAGE_TYPE_ZLOB_FIRST:
    case FIL_PAGE_TYPE_ZLOB_DATA:
    case FIL_PAGE_TYPE_ZLOB_INDEX:
    case FIL_PAGE_TYPE_ZLOB_FRAG:
    case FIL_PAGE_TYPE_ZLOB_FRAG_ENTRY:
      return enter({space, BLOB});
    default:
      break;
  }
  return space == TRX_SYS_SPACE ? uint16_t{SYSTEM}
                                : enter({space, SPACE_MANAGEMENT});
}

/** Pages of a place, as buf_lru_walk() has found them. */
struct Gauges {
  uint64_t young{0};
  uint64_t old{0};
  uint64_t dirty{0};

  uint64_t pages() const { return young + old; }
};

/** Counts the pages of each place. The caller holds reader_mutex. Pages whose
index is known, nearly all, are only glanced at: one that is replaced meanwhile
is counted as what it was or what it becomes.
@param[out]  gauges  by number, N_INDEXES of them */
void look_through_pool(std::vector<Gauges> &gauges) {
  const auto count = [&gauges](const buf_page_t &page, uint16_t number) {
    auto &g = gauges[number];
    ++(page.old ? g.old : g.young);
    if (page.is_dirty()) ++g.dirty;
  };
  size_t latched = 0;
  buf_lru_walk(
      [&](const buf_page_t &page) {
        const auto number = page.lru_history.index();
        if (number == 0 || number == Buf_lru_history::NEW ||
            DBUG_EVALUATE_IF("mutate_lru_latches_pages", true, false)) {
          return true;
        }
        count(page, number);
        return false;
      },
      [&](const buf_page_t &page) {
        count(page, buf_lru_index_of(&page, false));
        ++latched;
      });
  DBUG_EXECUTE_IF("lru_index_says_latched",
                  ib::info() << "lru_stats latched " << latched << " pages";);
}

struct Names {
  std::string schema;
  std::string table;
  std::string partition;
  std::string index;
};

/** Splits a name of the dictionary cache or of a tablespace, "db/t#p#p0". */
void split(const char *name, Names &names) {
  if (strchr(name, '/') == nullptr) return;
  std::string partition;
  bool is_tmp;
  dict_name::get_table(name, true, names.schema, names.table, partition,
                       is_tmp);
  if (partition.empty()) return;
  std::string sub;
  dict_name::get_partition(partition, true, names.partition, sub);
  if (!sub.empty()) names.partition += "/" + sub;
}

using Names_by_key = std::unordered_map<Key, Names, Key_hash>;

/** Tables that are looked at, or empty cells of the hash table of tables,
before the mutex of the dictionary cache is released: some ten microseconds. */
constexpr size_t MOST_TABLES = 64;
constexpr size_t MOST_CELLS = 4096;

/** Splits a path, "./db/t#p#p0.ibd". */
void split_path(std::string path, Names &names) {
  const auto suffix = path.rfind('.');
  const auto file = path.find_last_of("/\\");
  if (suffix == std::string::npos || file == std::string::npos || file == 0 ||
      suffix < file) {
    return;
  }
  path.resize(suffix);
  path[file] = '/';
  const auto folder = path.find_last_of("/\\", file - 1);
  if (folder != std::string::npos) path.erase(0, folder + 1);
  split(path.c_str(), names);
}

/** Copies the paths of tablespaces that have one table. Nobody here has a
metadata lock, so DDL may create, rename or drop a tablespace at any time. That
rules out fil_space_get_flags() and fil_space_get_first_path(): both load the
tablespace, and assert that it has a file, which in the middle of an import it
has not. Who iterates over the files that there are, under the mutex of their
shard, meets no tablespace without one, and opens none.
@param[in,out]  paths  by tablespace; those of others stay empty
@return false if there is no memory */
bool copy_paths(std::unordered_map<space_id_t, std::string> &paths) {
  const auto copy = [&paths](fil_node_t *file) {
    const auto it = paths.find(file->space->id);
    if (it == paths.end() || !it->second.empty() ||
        FSP_FLAGS_GET_SHARED(file->space->flags)) {
      return DB_SUCCESS;
    }
    try {
      it->second = file->name;
    } catch (const std::bad_alloc &) {
      /* Not to pass through a frame that holds a mutex. */
      return DB_OUT_OF_MEMORY;
    }
    return DB_SUCCESS;
  };
  return Fil_iterator::for_each_file(copy) == DB_SUCCESS;
}

/** Looks names up. For a table that is not in the dictionary cache, the name of
its file tells what it is called, but not its index.
@param[in,out]  names  keys to look up */
void resolve(Names_by_key &names) {
  /* Copied first, taken apart when nobody has to wait for it. */
  struct Found {
    Names *names;
    std::string table;
    std::string index;
  };
  std::vector<Found> found;
  const auto note = [&](const dict_table_t *t) {
    for (const auto *index : t->indexes) {
      const auto it = names.find({index->space, index->id});
      if (it == names.end()) continue;
      found.push_back({&it->second, t->name.m_name, index->name()});
    }
  };

  /* In the order of the table ids' hash: there a table keeps its place, so
  going on where the mutex was released misses none. */
  size_t n_cells = 0;
  size_t cell = 0;
  [[maybe_unused]] size_t most = 0;
  do {
    found.clear();
    {
      IB_mutex_guard guard(&dict_sys->mutex, UT_LOCATION_HERE);
      const auto hash = dict_sys->table_id_hash;
      if (hash_get_n_cells(hash) != n_cells) {
        /* The first time, or dict_resize() has made another one. */
        n_cells = hash_get_n_cells(hash);
        cell = 0;
      }
      const auto end = std::min(cell + MOST_CELLS, n_cells);
      size_t tables = 0;
      while (DBUG_EVALUATE_IF("mutate_lru_names_at_once", cell < n_cells,
                              cell < end && tables < MOST_TABLES)) {
        auto t = static_cast<dict_table_t *>(hash_get_first(hash, cell));
        for (; t != nullptr;
             t = static_cast<dict_table_t *>(HASH_GET_NEXT(id_hash, t))) {
          note(t);
          ++tables;
        }
        ++cell;
      }
      most = std::max(most, tables);
    }
    DEBUG_SYNC_C("lru_index_between_tables");
    for (auto &f : found) {
      split(f.table.c_str(), *f.names);
      f.names->index = std::move(f.index);
    }
  } while (cell < n_cells);
  DBUG_EXECUTE_IF("lru_index_says_latched",
                  ib::info() << "lru_stats held up " << most << " tables";);

  std::unordered_map<space_id_t, std::string> paths;
  for (const auto &entry : names) {
    if (entry.second.table.empty()) {
      paths[static_cast<space_id_t>(entry.first.space)];
    }
  }
  if (paths.empty()) return;

  DEBUG_SYNC_C("lru_index_asks_for_paths");
  DBUG_EXECUTE_IF("mutate_lru_loads_spaces", {
    for (const auto &entry : paths) (void)fil_space_get_flags(entry.first);
  });
  if (!copy_paths(paths)) throw std::bad_alloc();

  for (auto &entry : names) {
    if (!entry.second.table.empty()) continue;
    split_path(paths[static_cast<space_id_t>(entry.first.space)], entry.second);
  }
}

const char *or_null(const std::string &name) {
  return name.empty() ? nullptr : name.c_str();
}

}  // namespace

/** The numbers of pages of which only the compressed copy is in the pool are
not kept: look_through_pool() does not see them, so reclaim() may give such a
number to another index.
@return true if a page has an uncompressed frame */
static bool has_frame(const buf_page_t *bpage) {
  return buf_page_get_state(bpage) == BUF_BLOCK_FILE_PAGE ||
         DBUG_EVALUATE_IF("mutate_lru_index_of_compressed", true, false);
}

uint16_t buf_lru_index_of(const buf_page_t *bpage, bool fixed) {
  const auto known = has_frame(bpage) ? bpage->lru_history.index() : 0;
  if (known != 0 && known != Buf_lru_history::NEW) return known;

  /* Who creates a page keeps it buffer-fixed until its header is written. */
  if (known == Buf_lru_history::NEW &&
      bpage->buf_fix_count > (fixed ? 1U : 0U)) {
    return OTHER;
  }

  /* Others may wait for this page already, and its frame have what was in it
  before. */
  if (bpage->was_io_fix_read()) return OTHER;
  std::atomic_thread_fence(std::memory_order_acquire);

  return buf_lru_index_of_read(bpage);
}

uint16_t buf_lru_index_of_read(const buf_page_t *bpage) {
  bool final;
  const auto number = classify(bpage, final);
  if (final && has_frame(bpage)) bpage->lru_history.set_index(number);
  return number;
}

void buf_lru_index_count(uint16_t index, uint32_t pool_id,
                         Lru_index_counter counter, uint64_t n) {
  if (index == 0 || index >= N_INDEXES) return;
  if (const auto t = table.load(std::memory_order_acquire)) {
    t->counters[pool_id % t->n_shards][index]
        .n[static_cast<size_t>(counter)]
        .fetch_add(n, std::memory_order_relaxed);
  }
}

void buf_lru_index_reread(uint16_t index, uint64_t n) {
  if (index == 0 || index >= N_INDEXES) return;
  if (const auto t = table.load(std::memory_order_acquire)) {
    t->places[index].read_again.fetch_add(n, std::memory_order_relaxed);
  }
}

bool buf_lru_index_set(bool on) try {
  const std::lock_guard<std::mutex> guard(reader_mutex);

  if (!on) {
    buf_lru_index_on.store(false, std::memory_order_relaxed);
    return true;
  }

  auto t = table.load(std::memory_order_relaxed);
  if (t == nullptr) {
    /* The number of instances does not change any more. */
    t = new Table(std::clamp(static_cast<uint32_t>(srv_buf_pool_instances), 1U,
                             MOST_SHARDS));
    table.store(t, std::memory_order_release);
  } else {
    for (uint16_t number = 0; number < N_INDEXES; ++number) {
      for (uint32_t i = 0; i < t->n_shards; ++i) {
        for (auto &c : t->counters[i][number].n) {
          c.store(0, std::memory_order_relaxed);
        }
      }
      t->places[number].read_again.store(0, std::memory_order_relaxed);
    }
  }
  since = static_cast<int64_t>(my_micro_time());
  buf_lru_index_on.store(true, std::memory_order_relaxed);
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

bool buf_lru_index_read(bool (*row)(void *context,
                                    const innodb_lru_index_t &index),
                        void *context, int64_t *since_usec) try {
  std::vector<innodb_lru_index_t> rows;
  Names_by_key names;
  {
    const std::lock_guard<std::mutex> guard(reader_mutex);

    *since_usec = since;
    const auto t = table.load(std::memory_order_relaxed);
    if (t == nullptr || !buf_lru_index_on.load(std::memory_order_relaxed)) {
      return true;
    }

    std::vector<Gauges> gauges(N_INDEXES);
    look_through_pool(gauges);

    for (uint16_t number = 1; number < N_INDEXES; ++number) {
      const auto &place = t->places[number];
      const auto &g = gauges[number];
      if (g.pages() == 0 && !t->counted(number)) continue;

      const auto get = [t, number](Lru_index_counter c) {
        return t->sum(number, c);
      };
      innodb_lru_index_t r{};
      r.space_id = place.space.load(std::memory_order_relaxed);
      r.index_id = place.index.load(std::memory_order_relaxed);
      r.number = number;
      r.young_pages = g.young;
      r.old_pages = g.old;
      r.dirty_pages = g.dirty;
      /* A part before the whole. */
      r.read_ahead = get(Lru_index_counter::read_ahead);
      r.evicted_untouched = get(Lru_index_counter::evicted_untouched);
      r.read = get(Lru_index_counter::read);
      r.made_young = get(Lru_index_counter::made_young);
      r.not_made_young = get(Lru_index_counter::not_made_young);
      r.evicted_old = get(Lru_index_counter::evicted_old);
      r.evicted_young = get(Lru_index_counter::evicted_young);
      r.read_bytes = get(Lru_index_counter::read_bytes);
      r.read_again = place.read_again.load(std::memory_order_relaxed);
      rows.push_back(r);
      if (number >= N_FIXED) names[{r.space_id, r.index_id}];
    }
  }

  resolve(names);

  for (auto &r : rows) {
    if (r.number < N_FIXED) {
      r.index_name = fixed_names[r.number];
    } else {
      const auto &n = names[{r.space_id, r.index_id}];
      r.schema_name = or_null(n.schema);
      r.table_name = or_null(n.table);
      r.partition_name = or_null(n.partition);
      r.index_name = or_null(n.index);
      if (r.index_id == BLOB) r.index_name = "(blob)";
      if (r.index_id == SDI) r.index_name = "(sdi)";
      if (r.index_id == SPACE_MANAGEMENT) r.index_name = "(space management)";
      if (r.index_id >= SPACE_MANAGEMENT) r.index_id = NO_INDEX;
    }
    if (row(context, r)) break;
  }
  return true;
} catch (const std::bad_alloc &) {
  return false;
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
@param[out]     retired  true if there are new ones that are retired
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

/** Makes the hash table anew, of the places that are used or retired.
@param[in,out]  t  table */
void rehash(Table &t) {
  auto &anew = t.buckets[1 - t.current.load(std::memory_order_relaxed)];
  /* It was in use until the last time. A thread that still searches it, since
  seconds, may miss its number: it then searches again under table_mutex. */
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

void buf_lru_index_reclaim() try {
  const auto t = table.load(std::memory_order_acquire);
  if (t == nullptr) return;
  {
    const std::lock_guard<std::mutex> table_guard(table_mutex);
    uint32_t enough = N_INDEXES / 4;
    DBUG_EXECUTE_IF("lru_index_reclaim", enough = N_INDEXES;);
    if (t->n_free > enough) return;
  }

  /* Who reads looks through the pool for a while; there is another time. So
  there is when all that could be done last time was nothing. */
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
