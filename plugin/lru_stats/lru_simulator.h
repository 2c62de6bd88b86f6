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

/** @file plugin/lru_stats/lru_simulator.h
 What if the buffer pool had another size or other innodb_old_blocks_*
 variables: small simulations of InnoDB's midpoint insertion LRU list, fed with
 a spatial sample of the references.

 A page is sampled if its hash is below a threshold, so either all references to
 a page are seen or none (SHARDS: Waldspurger et al., FAST 2015). A list that
 gets a share R of the pages and has R times the length behaves like the full
 one ("miniature simulations": Waldspurger et al., ATC 2017). All that InnoDB
 counts in pages is scaled with it.

 Standard C++ and buf0lrustats.h only, so that it can be tested without a
 server. Not thread-safe.

 Limits:
 - At a cliff, where the pages in use just fit or just do not, the choice of
   sampled pages decides on which side of the cliff a list ends up.
 - All instances of the pool are simulated as one list.
 - InnoDB compares 31 bits of freed_page_clock with 32, which errs after 2^31
   evictions. The simulation does not repeat that.

 | file                      | what it has                                  |
 | ------------------------- | -------------------------------------------- |
 | lru_simulator.cc          | events; other pools, fewer pages             |
 | lru_simulator_list.cc     | what InnoDB does with its list               |
 | lru_simulator_pages.cc    | the pages, found by hash, and their memory   |
 | lru_simulator_estimate.cc | what was counted, and how well that is known |
*/

#ifndef LRU_SIMULATOR_H
#define LRU_SIMULATOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "storage/innobase/include/buf0lrustats.h"

namespace lru_stats {

/** A pool to be simulated. */
struct Lru_config {
  /** Length of the LRU list when the pool is full and has no free pages; see
  Lru_simulator::follow_pool(). */
  uint64_t pages;
  /** Size of the pool in pages: a quarter of the young part's share of it must
  have been evicted before a young page is moved to the head again. */
  uint64_t curr_size;
  /** innodb_old_blocks_pct */
  unsigned old_pct;
  /** innodb_old_blocks_time */
  uint64_t old_time_ms;
  /** innodb_old_blocks_turnover, or 0 where it does not limit that time */
  unsigned old_turnover;

  bool operator==(const Lru_config &other) const {
    return pages == other.pages && curr_size == other.curr_size &&
           old_pct == other.old_pct && old_time_ms == other.old_time_ms &&
           old_turnover == other.old_turnover;
  }
};

/** What a simulated pool would have done. */
struct Lru_estimate {
  /** Pages read since the start of counting. Each sampled one stands for as
  many as the rate said at that time. Only counted while `evicting`: a page that
  is missing from a list that has room says nothing about a warm pool. */
  double reads;
  /** Variance of `reads` that comes from the sampling; 0 if all is sampled. The
  standard error is the sum of two parts:
  - Pages are sampled, not reads: the reads of a page are in the sample together
    or not at all. So the pages are dealt into groups by their hash, and the
    spread of the groups' totals is measured. It takes some hundred pages to
    mean much.
  - If by chance more pages are sampled than should be, or busier ones, each
    has less room. How much that matters is taken from the simulated pools of
    the next sizes with the same variables that were full, if there are any.
  Near a size where the pages in use just fit, this part is large. The parts are
  added up because the same pages cause both. */
  double reads_variance;
  /** Number of these reads in the sample. */
  uint64_t sampled_reads;
  /** Reads that were not counted because the list had room: it is not known
  whether a warm pool would have had these pages. `reads` lacks at most this
  many. */
  double unproved;
  /** Length of the list divided by its capacity, 0 to 1. */
  double filled;
  /** Whether the list was ever full, so that pages were evicted. */
  bool evicting;
};

class Lru_simulator {
 public:
  /** The threshold at which all pages are sampled. */
  static constexpr uint64_t ALL = uint64_t{1} << 32;

  /** Starts with empty lists and with all pages sampled.
  @param[in]  configs       pools to be simulated
  @param[in]  memory_bytes  memory it may take: it is reserved at once, and used
                            as pages arrive */
  Lru_simulator(std::vector<Lru_config> configs, size_t memory_bytes);

  Lru_simulator(const Lru_simulator &) = delete;
  Lru_simulator &operator=(const Lru_simulator &) = delete;
  Lru_simulator(Lru_simulator &&) = default;
  Lru_simulator &operator=(Lru_simulator &&) = default;

  static uint32_t hash(uint64_t page) { return innodb_lru_page_hash(page); }

  /** Pages whose hash is below it are sampled, 0 to ALL. It only ever gets
  lower: by lower_threshold(), and by itself in the other functions when the
  memory is used up. Ask after each batch of events; events of pages that are
  not sampled (any more) are ignored. */
  uint64_t threshold() const { return m_threshold; }

  /** @return the share of the pages that is sampled */
  double rate() const { return m_rate; }

  /** Forgets the pages that are not sampled any more, and shortens the lists
  accordingly. What was counted stays.
  @param[in]  threshold  new threshold
  @return whether it was lower than the present one */
  bool lower_threshold(uint64_t threshold);

  /** The server read a page from disk and put it into the pool. It counts as
  read where the simulated pool does not have it.
  @param[in]  page    page
  @param[in]  hash    its hash
  @param[in]  now_ms  time; if it is before that of an earlier event, as may
                      happen with several threads, the earlier event's is taken
  */
  void read(uint64_t page, uint32_t hash, uint64_t now_ms);

  /** That read is complete, and a thread waited for it: the page was not read
  ahead. Parameters as above, without the time. */
  void awaited(uint64_t page, uint32_t hash);

  /** The server created a page in the pool, with no need to read it. Parameters
  as above. */
  void create(uint64_t page, uint32_t hash, uint64_t now_ms);

  /** A page was accessed. Where the simulated pool does not have it, it is read
  first. So is a page that is seen for the first time, which the server's pool
  had before sampling began: it counts where the simulated pool is full.
  It does not count where the server has read the page ahead, and the simulated
  pool has evicted it since: with that pool the server would not have read it
  ahead, as that takes most pages of the extent before it to be in the pool.
  Parameters as above. */
  void access(uint64_t page, uint32_t hash, uint64_t now_ms);

  /** The server evicted a page. Parameters as above, without the time. */
  void evict(uint64_t page, uint32_t hash);

  /** Makes the lists as long as the server's own list is at present. Its length
  changes with the free list, many times a second, and this matters: each time
  the boundary of the old part moves, pages become young without an access, and
  others become old. Also, the share of the server's pages that is in the sample
  is not exactly what the hash says.

  Both are known from the pages that come and go. So the list of the running
  configuration gets as long as there are sampled pages in the pool, and others
  in proportion. To be called every second and after update_configs(). If it is
  never called, lists have their nominal length.
  @param[in]  lru_pages   length of the server's list
  @param[in]  curr_pages  size of its pool in pages
  @param[in]  full        false if the pool has room, so that its length says
                          nothing yet */
  void follow_pool(uint64_t lru_pages, uint64_t curr_pages, bool full);

  /** A page left the server's pool, but not to make room: its table was
  dropped, for example. It leaves the simulated pools, too. */
  void forget(uint64_t page);

  /** @return how many configurations there are */
  size_t size() const { return m_lists.size(); }
  const Lru_config &config(size_t config) const {
    return m_lists[config].config;
  }
  Lru_estimate estimate(size_t config) const;

  /** Counts from zero, for all pools or for one; the lists stay. */
  void restart_counting();
  void restart_counting(size_t config);

  /** Multiplies what a pool has counted by a factor, so it counts for less.
  @param[in]  config  pool
  @param[in]  factor  0 to 1 */
  void fade(size_t config, double factor);

  /** Simulates other pools. A configuration that was there before keeps its
  list and its counts; others start empty, and start counting now. Takes twice
  the memory during the call.
  @param[in]  configs  all pools to be simulated from now on */
  void update_configs(std::vector<Lru_config> configs);

  /** @return bytes in use at present, or when more pages were held before; not
  more than the constructor was told, unless that is too little for anything */
  size_t memory_used() const;

  /** @return how many pages are in a list or in the server's pool */
  size_t pages() const { return m_held; }

  /** @return how many it may hold */
  size_t most_pages() const { return m_max_rows; }

 private:
  static constexpr uint32_t NONE = (uint32_t{1} << 28) - 1;
  static constexpr size_t GROUPS = 64;

  /** A page. Its number is that of a row of m_cells. */
  struct Page {
    /** Its id; in a free row, the number of the next free one. */
    uint64_t id;
    uint32_t hash;
    /** How many lists have it, and whether the server's pool does, as far as
    is known; a row is free when none of them has it. */
    uint32_t lists : 30;
    uint32_t in_pool : 1;
    /** A thread waited for the last read: it was not read ahead. */
    uint32_t awaited : 1;
  };

  /** A page in one of the lists. `prev` is nearer to the head. */
  struct Node {
    uint32_t prev : 28;
    uint32_t in_list : 1;
    /** In the old part. */
    uint32_t old : 1;
    /** Whether `access_ms` is set. */
    uint32_t accessed : 1;
    /** Whether `clock` is set: the page was put to the head. InnoDB does not
    set it at the midpoint, but leaves 0 there. */
    uint32_t has_clock : 1;
    uint32_t next : 28;
    /** Not in the list any more, evicted before its first access: it was read
    ahead, unless Page::awaited, and that read is counted. Holds while the
    server's pool has it. */
    uint32_t lost_ahead : 1;
    /** Time of the first access and value of the clock, lower 32 bits. Good for
    49 days and 2^32 evictions. */
    uint32_t access_ms;
    uint32_t clock;
  };

  /** A row of m_cells has one Page and a Node for each list. */
  union Cell {
    Page page;
    Node node;
  };

  /** A place in the hash table, with open addressing. */
  struct Slot {
    uint32_t hash;
    uint32_t row;
  };

  /** The LRU list of a configuration, and what it has counted. */
  struct List {
    Lru_config config;
    /** Number of this list's node in a row, from 1. */
    uint32_t cell;
    /** Length at which pages are evicted, not scaled; and the same divided by
    the length of the server's list. */
    double nominal{0};
    double share{0};
    uint32_t len{0};
    uint32_t head{NONE};
    uint32_t tail{NONE};
    /** First page of the old part, or NONE when the list is too short for one;
    and length of that part. */
    uint32_t old{NONE};
    uint32_t old_len{0};
    bool evicting{false};
    /** m_events when counting began. */
    double began{0};
    double unproved{0};
    /** Share of the list that is to be old, a multiple of 1/1024. */
    double old_share;
    /** Evictions after which a young page is moved again, not scaled. */
    uint64_t quarter;
    /** As in buf0lruturnover.cc: pages that came to the old part since the time
    was taken last, the last times that were taken, how many were taken in all,
    and the share of the last turnover. */
    uint32_t came{0};
    std::array<uint64_t, 8> marks{};
    size_t n_marks{0};
    uint64_t turnover_limit_ms{UINT64_MAX};
    /** InnoDB's freed_page_clock, not scaled: the pages that left the list,
    each counted as the number of pages it stands for. */
    double clock_exact{0};
    uint64_t clock{0};
    uint64_t sampled_reads{0};
    /** Pages read, by group; and the same weighted to give the variance. */
    std::array<double, GROUPS> reads{};
    std::array<double, GROUPS> deviation{};
  };

  Cell *row(uint32_t row) { return &m_cells[size_t{row} * m_stride]; }
  Node &node(const List &list, uint32_t row) {
    return m_cells[size_t{row} * m_stride + list.cell].node;
  }

  List make_list(const Lru_config &config) const;
  void allocate();
  void set_rate();

  size_t slot_of(uint32_t hash) const;
  uint32_t find(uint64_t page, uint32_t hash) const;
  void insert_slot(uint32_t hash, uint32_t row);
  static uint64_t next_threshold(uint64_t threshold);
  uint32_t find_or_add(uint64_t page, uint32_t hash);
  void free_if_unused(uint32_t row);
  void free_row(uint32_t row);
  void forget_lost();

  void unlink(List &list, uint32_t row);
  void link_first(List &list, uint32_t row);
  void link_after(List &list, uint32_t where, uint32_t row);
  void clear_old(List &list);
  void init_old(List &list);
  void adjust_old(List &list);

  void remove(List &list, uint32_t row);
  void note_turnover(List &list) const;
  void add(List &list, uint32_t row, bool old);
  void advance_clock(List &list) const;
  void evict_last(List &list);
  void shorten();
  bool make_room(List &list);
  uint32_t capacity(const List &list) const;
  void note_in_pool(uint32_t row);
  void note_gone(uint32_t row);
  void read_in(List &list, uint32_t row, uint32_t hash, bool counted);
  void touch(List &list, uint32_t row);
  void drop_from_list(List &list, uint32_t row);

  static double total_reads(const List &list);
  double slope(const List &list) const;
  double error_of_length(const List &list) const;

  std::vector<List> m_lists;
  size_t m_memory;

  uint64_t m_threshold{ALL};
  /** The rate, its inverse, and what follows from it: the least length of a
  list that has an old part, and the tolerance of the old part's length. */
  double m_rate{1};
  double m_weight{1};
  uint32_t m_min_len{0};
  double m_tolerance{0};
  /** Added to List::deviation for a page read. */
  double m_deviation{0};

  /** See follow_pool(): whether it was called, whether the pool was empty at
  the first call, and whether the lists follow m_in_pool. */
  bool m_followed{false};
  bool m_all_known{false};
  bool m_follows{false};
  /** Pages have left the server's pool, so lists may have to be shortened. */
  bool m_too_long{false};
  /** Sampled pages of the server's pool, and how many it has evicted. */
  uint32_t m_in_pool{0};
  double m_pool_evicted{0};

  uint64_t m_now_ms{0};
  /** Reads and accesses so far, sampled or not. */
  double m_events{0};

  /** Rows of one page each, m_stride cells long. */
  std::unique_ptr<Cell[]> m_cells;
  size_t m_stride{0};
  /** How many rows there may be, how many were ever used, and how many hold a
  page. */
  uint32_t m_max_rows{0};
  uint32_t m_rows{0};
  uint32_t m_held{0};
  /** First free row of those that were used. */
  uint32_t m_free{NONE};

  std::unique_ptr<Slot[]> m_slots;
  size_t m_n_slots{0};
};

}  // namespace lru_stats

#endif /* LRU_SIMULATOR_H */
