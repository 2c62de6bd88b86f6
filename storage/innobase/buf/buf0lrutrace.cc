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

/** @file buf/buf0lrutrace.cc
 Records what happens to sampled pages, for the plugin lru_stats to simulate
 other settings with.

 Sampling is spatial (SHARDS, Waldspurger et al., FAST 2015): everything is
 recorded of a page whose hash is below a threshold, and nothing of the others.
 Buf_lru_history says whether a page is sampled, so an access to another page
 costs the test of a byte. Events go into rings, each a bounded queue with
 a sequence number in each slot (Vyukov): a thread that records takes a slot by
 compare and swap on the tail of its ring and never waits for anybody; when a
 ring is full, the event is lost and counted. Threads are spread over the rings.
 */

#include "buf0lrutrace.h"

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>

#ifdef __linux__
#include <time.h>
#endif

#include "buf0buf.h"
#include "buf0lruwalk.h"
#include "my_dbug.h"
#include "my_sys.h"
#include "ut0log.h"

std::atomic<uint64_t> buf_lru_trace_threshold{0};

namespace {

/** Threads are assigned to the rings in turn. */
constexpr size_t N_RINGS = 16;

/** Events in a ring, a power of two. At 100 000 events a second in one thread
that is 80 ms. */
constexpr size_t RING_SIZE = 8192;

/** Bits of the second word of an event, from the lowest: kind, instance, index,
time. The time has 39 bits of microseconds, which wrap after six days. */
constexpr unsigned KIND_BITS = 3;
constexpr unsigned POOL_BITS = 6;
constexpr unsigned INDEX_BITS = 16;
constexpr unsigned INDEX_SHIFT = KIND_BITS + POOL_BITS;
constexpr unsigned TIME_SHIFT = INDEX_SHIFT + INDEX_BITS;

/** Events may be recorded while others are taken out, and so be newer than that
moment, but not by more than this. */
constexpr uint64_t MOST_AHEAD_US = 1'000'000;

static_assert(MAX_BUFFER_POOLS <= 1 << POOL_BITS,
              "an instance needs more bits");

class Ring {
 public:
  Ring() {
    for (size_t i = 0; i < RING_SIZE; ++i) {
      m_slots[i].sequence.store(i, std::memory_order_relaxed);
    }
  }

  void push(uint64_t page, uint64_t rest) {
    auto position = m_tail.load(std::memory_order_relaxed);
    for (;;) {
      auto &slot = m_slots[position % RING_SIZE];
      const auto sequence = slot.sequence.load(std::memory_order_acquire);
      const auto ahead = static_cast<int64_t>(sequence - position);

      if (ahead < 0) {
        if (DBUG_EVALUATE_IF("mutate_lru_ring_full", false, true)) {
          m_dropped.fetch_add(1, std::memory_order_relaxed);
        }
        return;
      }
      if (ahead > 0) {
        position = m_tail.load(std::memory_order_relaxed);
        continue;
      }
      if (m_tail.compare_exchange_weak(position, position + 1,
                                       std::memory_order_relaxed)) {
        slot.page = page;
        slot.rest = rest;
        /* With the acquire in pop(): a thread that sees the number also sees
        the event. */
        slot.sequence.store(position + 1, std::memory_order_release);
        return;
      }
    }
  }

  /** One thread at a time. */
  bool pop(uint64_t &page, uint64_t &rest) {
    auto &slot = m_slots[m_head % RING_SIZE];
    if (slot.sequence.load(std::memory_order_acquire) != m_head + 1) {
      return false;
    }
    page = slot.page;
    rest = slot.rest;
    /* With the acquire in push(): no thread writes before this was read. */
    slot.sequence.store(m_head + RING_SIZE, std::memory_order_release);
    ++m_head;
    return true;
  }

  uint64_t take_dropped() {
    return m_dropped.exchange(0, std::memory_order_relaxed);
  }

 private:
  struct Slot {
    std::atomic<uint64_t> sequence;
    uint64_t page;
    uint64_t rest;
  };

  alignas(ut::INNODB_CACHE_LINE_SIZE) std::atomic<uint64_t> m_tail{0};
  std::atomic<uint64_t> m_dropped{0};
  alignas(ut::INNODB_CACHE_LINE_SIZE) uint64_t m_head{0};
  std::array<Slot, RING_SIZE> m_slots;
};

using Rings = std::array<Ring, N_RINGS>;

/** Allocated when tracing is first switched on, 3 MiB. Never freed: a thread
may be about to record something at any time. */
std::atomic<Rings *> rings{nullptr};

/** Protects changes of the threshold. Not held while the pool is looked
through. */
std::mutex set_mutex;

uint64_t now_us() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/** @param[in]  time  lower bits of a time that is less than three days from now
@param[in]  now   in microseconds
@return the whole time */
uint64_t unwrapped(uint64_t time, uint64_t now) {
  const auto since =
      static_cast<int64_t>((now - time) << TIME_SHIFT) >> TIME_SHIFT;
  return now - static_cast<uint64_t>(since);
}

/** The next thread's ring. */
std::atomic<unsigned> next_ring{0};
thread_local unsigned my_ring = N_RINGS;

}  // namespace

uint64_t buf_lru_trace_now_ms() {
#ifdef __linux__
  /* A tenth of the price of the exact clock; ticks every 1 to 10 ms. */
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 +
         static_cast<uint64_t>(now.tv_nsec) / 1000000;
#else
  return now_us() / 1000;
#endif
}

void buf_lru_trace(innodb_lru_event_kind_t kind, uint64_t page, ulint pool_id,
                   uint16_t index) {
  const auto r = rings.load(std::memory_order_acquire);
  if (r == nullptr) return;

  if (my_ring == N_RINGS) {
    my_ring = next_ring.fetch_add(1, std::memory_order_relaxed) % N_RINGS;
  }
  auto now = now_us();
  DBUG_EXECUTE_IF("lru_trace_ahead", now += 1'000 * MOST_AHEAD_US;);
  (*r)[my_ring].push(page, now << TIME_SHIFT | uint64_t{index} << INDEX_SHIFT |
                               pool_id << KIND_BITS | kind);
}

bool buf_lru_trace_set(uint64_t threshold) {
  uint64_t before;
  {
    const std::lock_guard<std::mutex> guard(set_mutex);

    if (threshold != 0 && rings.load(std::memory_order_relaxed) == nullptr) {
      const auto r = new (std::nothrow) Rings;
      if (r == nullptr) return false;
      rings.store(r, std::memory_order_release);
    }
    before =
        buf_lru_trace_threshold.exchange(threshold, std::memory_order_relaxed);
  }

  /* Pages above a lower threshold lose their mark at their next access: also
  those that are marked here while another thread lowers it. */
  if (threshold > before) {
    DEBUG_SYNC_C("lru_trace_marks_pages");
    const auto takes = [](const buf_page_t &page) {
      return buf_lru_trace_takes(buf_lru_trace_page(page.id));
    };
    buf_lru_walk(takes, [&takes](buf_page_t &page) {
      if (takes(page)) page.lru_history.set_sampled(true);
    });
  }
  return true;
}

uint32_t buf_lru_trace_drain(innodb_lru_event_t *events, uint32_t max,
                             uint64_t *dropped) {
  const auto r = rings.load(std::memory_order_acquire);
  if (r == nullptr) return 0;

  /* Not always the same ring first, so that all get their turn when events keep
  coming. */
  static size_t first = 0;
  ++first;

#ifdef UNIV_DEBUG
  /* A caller that comes again has processed the events before. */
  static bool took_all = false;
  DBUG_EXECUTE_IF("lru_trace_says_taken", if (took_all) ib::info()
                                              << "lru_stats took all events";);
#endif

  const auto now = now_us();
  uint32_t n = 0;
  for (size_t i = 0; i < N_RINGS; ++i) {
    auto &ring = (*r)[(first + i) % N_RINGS];
    uint64_t page;
    uint64_t rest;
    while (n < max && ring.pop(page, rest)) {
      auto &event = events[n++];
      event.page = page;
      event.time_us = unwrapped(rest >> TIME_SHIFT, now);
      /* It has been there for more than three days: a thread was recording it
      when tracing was switched off. */
      if (event.time_us > now + MOST_AHEAD_US &&
          DBUG_EVALUATE_IF("mutate_lru_trace_ahead", false, true)) {
        --n;
        ++*dropped;
        continue;
      }
      event.index = static_cast<uint16_t>(rest >> INDEX_SHIFT);
      event.pool_id = rest >> KIND_BITS & ((1 << POOL_BITS) - 1);
      event.kind =
          static_cast<innodb_lru_event_kind_t>(rest & ((1 << KIND_BITS) - 1));
    }
    *dropped += ring.take_dropped();
  }
  ut_d(took_all = DBUG_EVALUATE_IF("lru_trace_says_taken", n < max, false));
  return n;
}
