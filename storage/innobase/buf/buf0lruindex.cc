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
 Counts by index what the LRU lists do: which index a page belongs to, the
 hooks, and the rows of INNODB_LRU_INDEX_STATS. buf0lruplaces.h explains how
 this is done without locks. */

#include "buf0lruindex.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "btr0btr.h"
#include "buf0buf.h"
#include "buf0lruplaces.h"
#include "buf0lruwalk.h"
#include "fil0fil.h"
#include "fsp0fsp.h"
#include "my_dbug.h"
#include "my_systime.h"

std::atomic<bool> buf_lru_index_on{false};

namespace lru_index {

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

}  // namespace lru_index

using namespace lru_index;

namespace {

constexpr const char *fixed_names[] = {
    nullptr, "(other)", "(undo)", "(system)", "(temporary)", "(change buffer)"};

static_assert(std::size(fixed_names) == N_FIXED, "a name is missing");

/** When counting began, in microseconds since 1970 UTC. Protected by
reader_mutex. */
int64_t since;

/** Finds the place of a page from its header.
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

  /* The thread that creates a page keeps it buffer-fixed until its header is
  written. */
  if (known == Buf_lru_history::NEW &&
      bpage->buf_fix_count > (fixed ? 1U : 0U)) {
    return OTHER;
  }

  /* Others may wait for this page already, while its frame still has what was
  in it before. */
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
