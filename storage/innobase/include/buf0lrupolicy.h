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

/** @file include/buf0lrupolicy.h
 What an LRU flusher does, and when: how many pages to keep free, when to wake,
 how far to walk along the list, what to evict, what to write, when to wait.

 All decisions and all their constants are here, and nothing of the buffer pool:
 bench/tests/lru/test_lru_policy.py runs this code on a model of the list. */

#ifndef buf0lrupolicy_h
#define buf0lrupolicy_h

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

/** What a flusher does. */
class Lru_policy {
 public:
  /** Most pages of a batch. A batch costs a flush of the redo log, a write
  to the doublewrite file and a flush of the data files, whatever its size; its
  pages cannot be changed until they are written. */
  static constexpr size_t BATCH_PAGES = 128;

  /** Fewer pages are only written if free pages are short: see writes(). Also,
  if threads wait, the number of completed writes that makes another walk
  worthwhile. */
  static constexpr size_t MIN_BATCH_PAGES = 16;

  /** With so many pages in flight, none is put aside for the next batch. With
  one instance, the two segments of the doublewrite file hold fewer, but not
  each page goes there. */
  static constexpr size_t MAX_IN_FLIGHT = 4 * BATCH_PAGES;

  /** With fewer pages in the list nothing is evicted ahead of demand, as in
  buf0flu.cc (BUF_LRU_MIN_LEN). */
  static constexpr size_t MIN_LIST = 256;

  /** Least number of pages that are kept free, unless the pool is tiny: enough
  for the threads of a busy machine to take one each at once. */
  static constexpr size_t MIN_FREE = 128;

  /** The free list is filled for the consumption of this time: enough for the
  flusher to be scheduled on a busy machine and for a batch to be written. */
  static constexpr double HORIZON_SECONDS = 0.03;

  /** Of the pool, at most one page in so many is kept free, unless that is less
  than MIN_FREE. Whenever the list becomes longer by what was free, pages become
  young that nobody has used again. */
  static constexpr size_t POOL_BY_FREE = 16;

  /** The consumption is measured over at least this time. */
  static constexpr double MEASURE_SECONDS = 0.01;

  /** Work that is done in one go under the LRU list mutex, measured in page
  descriptors passed. Then the mutex is released for a moment. */
  static constexpr size_t CHUNK = 64;

  /** Evicting a page takes as long as passing this many. */
  static constexpr size_t EVICT_COST = 4;

  /** After a walk in vain, wait at least this long for writes to complete, so
  that a flusher that finds nothing does not poll. */
  static constexpr uint64_t MIN_PAUSE_USEC = 1000;

  /** Look at the tail at least this often: others write pages there, too. */
  static constexpr uint64_t MAX_PAUSE_USEC = 10000;

  /** Passing a descriptor takes some 50 ns if it is in no cache. So the pause
  after a far walk in vain is ten times as long as the walk. */
  static constexpr double PAUSE_SECONDS_A_PAGE = 500e-9;

  /** The same if the walk has seen all of the old part: another finds hardly
  more than what has become clean since. On a disk that is always too slow,
  such walks follow each other for as long as the load lasts. */
  static constexpr double EMPTY_PAUSE_SECONDS_A_PAGE = 2e-6;

  /** But no longer than this, so that the old part is looked at again before
  the young part is searched, see OLD_PART_SECONDS. */
  static constexpr double MOST_EMPTY_PAUSE_SECONDS = 0.1;

  /** Far walks in vain, each twice as far as the one before: the last one sees
  all of the list. */
  static constexpr unsigned WHOLE_LIST_WALKS = 32;

  /** While writes are under way, the young part of the list is searched only if
  no page was evicted and no write completed for this long. Even a slow disk
  completes a write in that time, so hot pages are left where they are. */
  static constexpr double OLD_PART_SECONDS = 0.2;

  /** What the buffer pool instance looks like. */
  struct State {
    /** Pages in the free list. */
    size_t free{};
    /** Threads that wait for a page. */
    size_t waiters{};
    /** Pages in the LRU list, and in its old part. */
    size_t list{};
    size_t old{};
    /** Pages of LRU batches whose write has begun and is not complete. */
    size_t in_flight{};
    /** Pages that others write, as checkpoints do, or read. */
    size_t others_under_way{};
    /** The writer has a batch that it has not handed to the disk yet. */
    bool writer_busy{};
  };

  /** What the settings say. */
  struct Settings {
    /** Pages of the instance. */
    size_t pool{};
    /** innodb_lru_flusher_free_pages. */
    size_t free_pages{};
    /** Pages of the LRU list that may be written in a second. */
    size_t rate{};
    /** Pages that fit into a segment of the doublewrite file. */
    size_t segment{};
  };

  enum class Page { FIXED, CLEAN, DIRTY };
  enum class Action { PASS, EVICT, WRITE };
  enum class Next { SLEEP, AGAIN, WAIT, GIVE_UP };

  /** One walk along the list, from its tail. */
  class Walk {
   public:
    Walk(size_t evict, size_t write, size_t depth, bool old_part,
         bool under_way)
        : m_evict(evict),
          m_write(write),
          m_depth(depth),
          m_old_part(old_part),
          m_under_way(under_way) {}

    /** @return true if the walk is over */
    bool is_over() const { return m_evicted >= m_evict || m_looked >= m_depth; }

    /** @return what to do with the next page of the list */
    Action look(Page page) {
      ++m_looked;
      ++m_cost;
      switch (page) {
        case Page::CLEAN:
          m_cost += EVICT_COST - 1;
          return Action::EVICT;
        case Page::DIRTY:
          if (m_collected >= m_write) break;
          ++m_collected;
          return Action::WRITE;
        case Page::FIXED:
          break;
      }
      return Action::PASS;
    }

    void evicted(size_t n) { m_evicted += n; }

    /** @return true if the mutex of the list is to be released now */
    bool yields() {
      if (m_cost < CHUNK) return false;
      m_cost = 0;
      return true;
    }

    size_t wanted() const { return m_evict; }
    size_t n_evicted() const { return m_evicted; }
    size_t n_looked() const { return m_looked; }
    size_t n_collected() const { return m_collected; }
    size_t depth() const { return m_depth; }
    /** @return true if it has seen all of the old part, and stopped there */
    bool saw_old_part() const { return m_old_part && m_looked >= m_depth; }
    bool began_under_way() const { return m_under_way; }

   private:
    /** The walk ends when m_evict pages are evicted, or m_depth looked at. */
    size_t m_evict;
    /** Most dirty pages that are put aside for the writer. */
    size_t m_write;
    size_t m_depth;
    /** It may go as far as the old part. */
    bool m_old_part;
    /** Pages were under way when the walk began. */
    bool m_under_way;
    size_t m_evicted{};
    size_t m_looked{};
    size_t m_collected{};
    size_t m_cost{};
  };

  /** Sets the target from what was consumed. To be called before each walk.
  @param[in]  now       seconds, of any clock
  @param[in]  freed     pages that the flusher has put into the free list, ever
  @param[in]  free      length of the free list
  @param[in]  settings  settings */
  void measure(double now, uint64_t freed, size_t free,
               const Settings &settings) {
    m_now = now;
    if (const auto time = now - m_measured; time > MEASURE_SECONDS) {
      const auto taken = static_cast<double>(freed - m_freed) +
                         static_cast<double>(m_free) -
                         static_cast<double>(free);
      const auto rate = std::max(0.0, taken / time);
      /* A rise counts at once, so that nobody has to wait for it. */
      m_consumption = std::max(rate, 0.7 * m_consumption + 0.3 * rate);
      m_measured = now;
      m_freed = freed;
      m_free = free;
    }

    auto target = settings.free_pages;
    if (target == 0) {
      const auto least =
          std::min(MIN_FREE, std::max<size_t>(1, settings.pool / 32));
      const auto most = std::min(settings.rate, settings.pool / POOL_BY_FREE);
      target = std::clamp(static_cast<size_t>(m_consumption * HORIZON_SECONDS),
                          least, std::max(most, MIN_FREE));
    }
    /* What is kept free holds no data. */
    m_target = std::min(target, std::max<size_t>(1, settings.pool / 8));
    m_low_water = (m_target + 1) / 2;
    m_batch = std::min(BATCH_PAGES, settings.segment);
  }

  /** @return pages to be in the free list after a walk */
  size_t target() const { return m_target; }

  /** @return the flusher wakes when fewer pages are free than this: half of the
  target, so that a walk yields at least the other half. */
  size_t low_water() const { return m_low_water; }

  /** @return true if there is nothing to do */
  bool is_served(const State &state) const {
    return state.waiters == 0 && state.free >= m_low_water;
  }

  /** @return true if pages are being written or read: they can be evicted once
  that is complete */
  static bool is_under_way(const State &state) {
    return state.in_flight > 0 || state.others_under_way > 0 ||
           state.writer_busy;
  }

  /** @return the next walk */
  Walk plan(const State &state) const {
    const auto ahead =
        state.list > MIN_LIST ? std::max(m_target, state.free) - state.free : 0;
    const auto evict = ahead + state.waiters;
    /* Pages under way lie at the tail, and are passed. Behind them lie those to
    be evicted, and those to be written meanwhile. */
    const auto near = state.in_flight + evict + m_batch;
    /* If that was in vain, look further, now and then. */
    const auto far =
        goes_far() ? near << std::min(m_in_vain, WHOLE_LIST_WALKS) : near;
    const bool old_part =
        state.old > 0 && m_now - m_dry_since < OLD_PART_SECONDS;
    const auto most = old_part ? state.old : SIZE_MAX;
    const bool writes = !state.writer_busy && state.in_flight < MAX_IN_FLIGHT;
    return {evict, writes ? m_batch : 0, std::max(near, std::min(far, most)),
            far >= most, is_under_way(state)};
  }

  /** @return true if the dirty pages of a walk are worth a batch now
  @param[in]  walk   a walk that is over
  @param[in]  state  as it is after the walk */
  bool writes(const Walk &walk, const State &state) const {
    return walk.n_collected() >=
           (is_served(state) ? std::min(MIN_BATCH_PAGES, m_batch) : 1);
  }

  /** To be called after a walk, when the pages that it has collected have been
  given to the writer.
  @return what to do next
  @param[in]  walk   a walk that is over
  @param[in]  state  as it is after the walk */
  Next next(const Walk &walk, const State &state) {
    if (walk.n_evicted() > 0 || is_served(state)) m_dry_since = NEVER;
    if (walk.wanted() == 0) {
      if (is_served(state)) return Next::SLEEP;
      /* A thread may have queued up since the walk was planned. */
      return plan(state).wanted() > 0 ? Next::AGAIN : Next::GIVE_UP;
    }
    if (walk.n_evicted() >= walk.wanted()) {
      /* Pages were found before the walk had got half as far as it might. */
      if (m_in_vain > 0 && walk.n_looked() <= walk.depth() / 2) --m_in_vain;
      return is_served(state) ? Next::SLEEP : Next::AGAIN;
    }
    if (is_under_way(state)) {
      m_dry_since = std::min(m_dry_since, m_now);
      if (goes_far()) {
        ++m_in_vain;
        m_far_at = m_now + pause_after(walk);
      }
      return Next::WAIT;
    }
    if (is_served(state)) return Next::SLEEP;
    if (walk.n_evicted() == 0 && walk.n_looked() < walk.depth()) {
      /* It has seen all of the list. But what was under way when it passed by
      may be complete now. */
      return walk.began_under_way() ? Next::AGAIN : Next::GIVE_UP;
    }
    /* Nothing in the old part can be evicted or written. */
    if (walk.n_evicted() == 0) m_dry_since = -NEVER;
    ++m_in_vain;
    m_far_at = m_now;
    return Next::AGAIN;
  }

  /** @return microseconds to wait for writes at most */
  uint64_t pause_usec() const {
    const auto usec = std::max(0.0, (m_far_at - m_now) * 1e6);
    return std::clamp(static_cast<uint64_t>(usec), MIN_PAUSE_USEC,
                      MAX_PAUSE_USEC);
  }

  /** @return number of completed writes that ends the wait early: half of those
  in flight, but few if a thread waits */
  static size_t wait_for(const State &state) {
    const auto half = std::max<size_t>(1, state.in_flight / 2);
    return state.waiters > 0 ? std::min(half, MIN_BATCH_PAGES) : half;
  }

  /** To be called after a wait.
  @return what to do next
  @param[in]  progress  true if a write has completed, or a batch gone out
  @param[in]  state     as it is after the wait */
  Next waited(bool progress, const State &state) {
    if (progress || is_served(state)) m_dry_since = NEVER;
    if (!progress) return is_served(state) ? Next::SLEEP : Next::AGAIN;
    /* While threads wait, writes are too slow: clean pages are looked for
    beyond those that are being written, but not among the hot ones. */
    if (state.waiters == 0 && m_in_vain > 0) --m_in_vain;
    m_in_vain = std::min(m_in_vain, WHOLE_LIST_WALKS);
    return Next::AGAIN;
  }

  /** To be called if pages are wanted and none can be had. The flusher tries
  again when half of what is left has been taken, or, if nothing was left, when
  somebody misses a page, but not by polling. In a short list nothing is done
  before somebody waits. */
  void give_up(const State &state) {
    m_low_water =
        state.list > MIN_LIST ? std::max<size_t>(1, state.free / 2) : 0;
  }

 private:
  static constexpr double NEVER = std::numeric_limits<double>::infinity();

  /** @return true if the next walk may go beyond what is near the tail */
  bool goes_far() const { return m_now >= m_far_at; }

  /** @return seconds until a walk may go far again
  @param[in]  walk  a far walk in vain */
  static double pause_after(const Walk &walk) {
    const auto looked = static_cast<double>(walk.n_looked());
    const auto pause = looked * PAUSE_SECONDS_A_PAGE;
    if (!walk.saw_old_part()) return pause;
    return std::max(pause, std::min(looked * EMPTY_PAUSE_SECONDS_A_PAGE,
                                    MOST_EMPTY_PAUSE_SECONDS));
  }

  size_t m_target{};
  size_t m_low_water{};
  size_t m_batch{BATCH_PAGES};
  /** Far walks that found too little, minus walks that found enough near the
  tail, and minus waits after which no thread waited any more. */
  unsigned m_in_vain{};
  /** When the next walk begins, and when one may go far again, in seconds. */
  double m_now{};
  double m_far_at{};
  /** Since when no pages have come although some are wanted. */
  double m_dry_since{NEVER};
  /** Pages a second that are taken from the free list. */
  double m_consumption{};
  double m_measured{};
  uint64_t m_freed{};
  size_t m_free{};
};

/** What the page cleaner leaves to the LRU flushers: see pages(). */
class Lru_preflush_policy {
 public:
  /** Where the page cleaner leaves dirty pages to the flushers, it keeps the
  age of the checkpoint at this fraction of its limit. */
  static constexpr double AGE = 0.5;

  /** If the age gets there soon, upstream's number holds: the redo log may have
  begun to grow faster, and for_lsn is the average of a minute. */
  static constexpr double MOST_AGE = 0.75;
  static constexpr double SOON_SECONDS = 5;

  /** What the page cleaner knows when it plans how many pages of the flush list
  to write. */
  struct State {
    /** Seconds, of any clock. */
    double now{};
    /** Pages that the flushers have evicted, ever. */
    uint64_t evicted{};
    /** Pages to write in a second to keep up with the redo log. */
    size_t for_lsn{};
    /** Age of the checkpoint, as a fraction of its limit. */
    double age{};
    /** The age is above innodb_adaptive_flushing_lwm. */
    bool is_old{};
    /** Dirty pages, and how many innodb_max_dirty_pages_pct lets there be. */
    size_t dirty{};
    size_t most_dirty{};
  };

  /** To be called once a second. Where pages are evicted as fast as the redo
  log calls for, each dirty page comes to the end of the LRU list soon, and is
  written there, once. A page that is written before that may be changed again,
  and is written twice.
  @return pages that the page cleaner has to write all the same; without a
  value, upstream's number holds */
  std::optional<size_t> pages(const State &state) {
    const auto seconds = std::max(state.now - m_last.now, 1e-3);
    const auto rate =
        static_cast<double>(state.evicted - m_last.evicted) / seconds;
    /* Pages are evicted in bursts, so a second without any says nothing. An
    hour does: the page cleaner does not ask while nothing is written. */
    const auto kept = std::pow(0.7, seconds);
    m_rate = std::max(rate, kept * m_rate + (1 - kept) * rate);
    const auto growth = std::max(0.0, state.age - m_last.age) / seconds;
    m_last = state;

    if (m_rate < static_cast<double>(state.for_lsn) ||
        state.age + growth * SOON_SECONDS > MOST_AGE) {
      return {};
    }
    const auto for_age =
        state.is_old ? static_cast<double>(state.for_lsn) * (state.age / AGE)
                     : 0;
    const auto too_many =
        std::max(state.dirty, state.most_dirty) - state.most_dirty;
    return std::max(static_cast<size_t>(std::ceil(for_age)), too_many);
  }

 private:
  State m_last;
  /** Pages that are evicted in a second. */
  double m_rate{};
};

#endif /* buf0lrupolicy_h */
