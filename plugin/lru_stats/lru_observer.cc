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

/** @file plugin/lru_stats/lru_observer.cc
 The thread that takes the events of sampled pages from the server.

 control_mutex serializes switching parts on and off, with the start and the end
 of the thread; it may be held while the server looks through its pool.
 data_mutex protects what the thread makes of the events; it is held for the
 length of a batch, some milliseconds, or longer where settings change and the
 simulation has much memory. No thread that holds data_mutex takes
 control_mutex. times_mutex comes after data_mutex, and is held for a copy only.
 */

#include "plugin/lru_stats/lru_observer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <vector>

#ifdef __linux__
#include <time.h>
#endif

#include "my_dbug.h"
#include "my_sys.h"
#include "my_systime.h"
#include "my_thread.h"
#include "mysql/psi/mysql_thread.h"
#include "plugin/lru_stats/lru_pace.h"
#include "plugin/lru_stats/lru_simulator.h"
#include "plugin/lru_stats/lru_stats.h"
#include "plugin/lru_stats/lru_whatif.h"

namespace lru_stats {

namespace {

using Clock = std::chrono::steady_clock;

/** Pauses between two batches: after many events, and longest after few. The
server keeps 8192 events a ring. */
constexpr std::chrono::milliseconds PAUSE{20};
constexpr std::chrono::milliseconds LONGEST_PAUSE{60};

/** After fewer events than this, the next pause is longer. */
constexpr size_t FEW_EVENTS = 1024;

/** Events of a batch; their memory is allocated once. */
constexpr size_t BATCH = 32768;

/** Processor time that sampling may use, in the thread and in the hooks:
microseconds a second. */
constexpr double CPU_BUDGET_USEC = 5000;

/** Time that a hook takes to record an event: it reads the clock and fills a
slot of a ring. This is not measured at run time. By itself it takes 0.03, but
among other code the slot is in no cache. */
constexpr double HOOK_USEC = 0.1;

/** Fewest pages of the pool that are sampled if the budget is exceeded: with
fewer, little can be said. */
constexpr double LEAST_PAGES = 400;

/** How many times the budget may be exceeded to sample that many. Beyond that,
fewer and fewer are sampled, down to none. A debug server takes much longer for
an event, and its tests need all pages of small pools. */
#ifdef NDEBUG
constexpr double MOST_EXCESS = 4;
#else
constexpr double MOST_EXCESS = 200;
#endif

/** Fewest pages that are sampled if events are lost: each loss costs all that
was counted. */
constexpr double LEAST_PAGES_OF_LOSSES = 50;

/** Evidence is worth half as much after this time, and so on. */
constexpr std::chrono::seconds HALF_LIFE{6 * 3600};

/** How often its weight is reduced. */
constexpr unsigned FADE_SECONDS = 60;

/** Pages that Lru_ages may follow, 7 MB. */
constexpr size_t MOST_AGES = 65536;

/** Most batches without a pause. */
constexpr int MOST_BATCHES = 4;

constexpr uint64_t MAX_TRACE = Lru_simulator::ALL;

/* Everything in this section is protected by control_mutex. */

std::mutex control_mutex;
std::array<bool, static_cast<size_t>(Part::N)> parts{};
my_thread_handle thread;
bool thread_runs = false;

/* Everything in this section is protected by data_mutex. */

std::mutex data_mutex;
std::condition_variable wake_up;
bool stop_thread = false;

uint64_t threshold = 0;
innodb_lru_pool_t pool{};

Whatif whatif(pool);

/** Exists while INNODB_LRU_AGE_HISTOGRAM shows it, or while it is needed to
find the pages that are read again. */
std::unique_ptr<Lru_ages> ages;
bool ages_on = false;
bool rereads_on = false;
int64_t ages_since = 0;
uint64_t ages_lost = 0;
/** Pages read again that were not passed on yet: less than a whole page. */
double reread_rest = 0;

/** SET GLOBAL innodb_lru_whatif_old_blocks_times holds the lock of all global
variables, so it does not wait for data_mutex. */
std::mutex times_mutex;
std::vector<uint32_t> times;

PSI_thread_key key_thread_lru_observer;

double rate() {
  return static_cast<double>(threshold) / static_cast<double>(MAX_TRACE);
}

/** Lowers the threshold everywhere. The caller holds data_mutex. */
void lower_threshold(uint64_t to) {
  if (to >= threshold) return;
  threshold = to;
  whatif.lower_threshold(to);
  if (ages != nullptr) ages->lower_threshold(to);
  /* Not raised, so nothing is looked through. */
  server()->set_trace(to);
}

/** Takes an event. The caller holds data_mutex. */
void take(const innodb_lru_event_t &event) {
  const auto hash = innodb_lru_page_hash(event.page);
  if (hash >= threshold) return;

  const auto weight = 1 / rate();
  const auto window =
      static_cast<uint64_t>(static_cast<double>(pool.lru_pages) * rate());

  whatif.take(event, hash, weight);
  if (ages == nullptr) return;
  const auto index = ages->take(event, weight, window);
  if (rereads_on && index != 0) {
    reread_rest += weight;
    const auto whole = std::floor(reread_rest);
    reread_rest -= whole;
    server()->count_index_reread(index, static_cast<uint64_t>(whole));
  }
}

/** Bounds the memory by lowering the threshold. The caller holds data_mutex. */
void keep_to_memory() {
  if (whatif.runs()) lower_threshold(whatif.simulator().threshold());
  if (ages == nullptr || ages->pages() <= MOST_AGES) return;
  ages->forget_silent();
  while (ages->pages() > MOST_AGES / 4 * 3) lower_threshold(threshold / 2);
}

/** @return processor time of this thread in microseconds */
double cpu_usec() {
#ifdef __linux__
  timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0) {
    return static_cast<double>(now.tv_sec) * 1e6 +
           static_cast<double>(now.tv_nsec) / 1e3;
  }
#endif
  return 0;
}

/** Takes the events that are there, in at most MOST_BATCHES batches.
@param[in,out]  events   room for them
@param[in,out]  order    room for their order
@param[in,out]  dropped  is added to: events that were lost
@param[out]     n_events how many there were
@return false if there are more */
bool take_events(std::vector<innodb_lru_event_t> &events,
                 std::vector<uint32_t> &order, uint64_t &dropped,
                 size_t &n_events) {
  n_events = 0;
  for (int batch = 0; batch < MOST_BATCHES; ++batch) {
    const auto n =
        server()->drain(events.data(), static_cast<uint32_t>(BATCH), &dropped);
    n_events += n;
    /* The rings come one after the other, each in order. */
    for (uint32_t i = 0; i < n; ++i) order[i] = i;
    std::sort(order.begin(), order.begin() + n, [&](uint32_t a, uint32_t b) {
      return std::tie(events[a].time_us, a) < std::tie(events[b].time_us, b);
    });

    const std::lock_guard<std::mutex> lock(data_mutex);
    for (uint32_t i = 0; i < n; ++i) take(events[order[i]]);
    keep_to_memory();
    if (n < BATCH) return true;
  }
  return false;
}

/** Halves the sample, once or more, unless there would be too little left. The
caller holds data_mutex.
@param[in]  excess  what was used, divided by what may be used; a factor of two
                    is left for the next time, as the first events cost more
@param[in]  least   pages of the pool that are to be left */
void sample_less(double excess, double least) {
  auto left = static_cast<double>(pool.lru_pages) * rate() / 2;
  auto to = threshold;
  while (to > 1 && left >= least) {
    to /= 2;
    left /= 2;
    excess /= 2;
    if (excess <= 2) break;
  }
  lower_threshold(to);
}

/** The threshold at which as many pages are sampled as may be followed: if the
pool is large, not all. The caller holds data_mutex and has read the pool. */
uint64_t highest_threshold() {
  /* As many ghosts may be followed as there are pages in the pool. */
  const auto most = 2 * std::max<uint64_t>(pool.curr_pages, 1);
  return most <= MOST_AGES ? MAX_TRACE : MAX_TRACE / most * MOST_AGES;
}

/** Tells the server of a threshold that was raised here before. Until it knows
of it, it samples fewer pages than are followed. The caller does not hold
data_mutex, as the pool is looked through.
@return true if there is no memory */
bool announce_threshold() {
  for (;;) {
    uint64_t to;
    {
      const std::lock_guard<std::mutex> lock(data_mutex);
      to = threshold;
    }
    if (!server()->set_trace(to)) return true;
    const std::lock_guard<std::mutex> lock(data_mutex);
    if (to == threshold) return false;
  }
}

/** Samples twice as many pages, if they may be followed. Nothing is known of
the new ones, so the simulated lists fill anew; what was seen before is kept and
added to. The caller holds data_mutex and has read the pool.
@return true if the server is to be told */
bool sample_more() {
  DBUG_EXECUTE_IF("mutate_lru_never_raises", return false;);
  const auto to = std::min(2 * threshold, highest_threshold());
  if (to <= threshold) return false;
  if (whatif.runs() &&
      2 * whatif.simulator().pages() > whatif.simulator().most_pages()) {
    return false;
  }
  if (ages != nullptr && 2 * ages->pages() > MOST_AGES) return false;

  whatif.raise_threshold(to);
  threshold = to;
  return true;
}

/** The caller holds data_mutex and has read the pool. */
void follow_settings() {
  {
    const std::lock_guard<std::mutex> lock(times_mutex);
    whatif.set_times(times);
  }
  whatif.follow_settings(threshold);
}

#ifndef NDEBUG
/** Stays, with data_mutex, while a test wants it to. The error log tells the
test, as the tables cannot be read meanwhile. */
void stand() {
  log_error("lru_observer stands");
  for (int i = 0; i < 10000; ++i) {
    if (!DBUG_EVALUATE_IF("lru_observer_stands", true, false)) {
      log_error("lru_observer goes on");
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  log_error("lru_observer gives up");
}
#endif

void observe() {
  std::vector<innodb_lru_event_t> events(BATCH);
  std::vector<uint32_t> order(BATCH);
  auto second_began = Clock::now();
  double cpu_then = cpu_usec();
  unsigned seconds = 0;
  uint64_t events_of_second = 0;
  bool less = false;
  Pace pace;
  auto pause = PAUSE;

  for (;;) {
    {
      std::unique_lock<std::mutex> lock(data_mutex);
      if (wake_up.wait_for(lock, pause, [] { return stop_thread; })) return;
    }
    if (DBUG_EVALUATE_IF("lru_observer_rests", true, false)) continue;
    DBUG_EXECUTE_IF("lru_observer_no_memory", throw std::bad_alloc(););

    uint64_t dropped = 0;
    size_t n_events;
    const bool all = take_events(events, order, dropped, n_events);
    pause =
        n_events < FEW_EVENTS ? std::min(pause + PAUSE, LONGEST_PAUSE) : PAUSE;

    bool reclaim = false;
    bool announce = false;
    {
      const std::lock_guard<std::mutex> lock(data_mutex);
      DBUG_EXECUTE_IF("lru_observer_loses_events", dropped = 1;);
      events_of_second += n_events + dropped;
      if (!all || dropped > 0) {
        less = true;
        sample_less(2, LEAST_PAGES_OF_LOSSES);
      }
      if (dropped > 0) {
        if (DBUG_EVALUATE_IF("mutate_lru_ages_lost", false, true)) {
          ages_lost += dropped;
        }
        if (whatif.runs()) server()->pool(&pool);
        whatif.lost(dropped);
      }

      const auto since = Clock::now() - second_began;
      if (since < std::chrono::seconds(1)) continue;

      auto hook_usec = HOOK_USEC;
      DBUG_EXECUTE_IF("lru_observer_dear_hooks", hook_usec = 1e6;);
      DBUG_EXECUTE_IF("mutate_lru_hooks_are_free", hook_usec = 0;);
      const auto cpu_used = cpu_usec() - cpu_then +
                            static_cast<double>(events_of_second) * hook_usec;
      auto excess = cpu_used / std::chrono::duration<double>(since).count() /
                    CPU_BUDGET_USEC;
      DBUG_EXECUTE_IF("lru_observer_busy", excess = 5 * MOST_EXCESS;);
      if (excess > 1) {
        less = true;
        auto least = excess > MOST_EXCESS ? 1 : LEAST_PAGES;
        DBUG_EXECUTE_IF("mutate_lru_floor", least = LEAST_PAGES;);
        sample_less(excess, least);
      }
      DBUG_EXECUTE_IF("lru_observer_stands", stand(););
      server()->pool(&pool);
      follow_settings();
      whatif.note_baselines();
      ++seconds;
      if (seconds % FADE_SECONDS == 0) {
        whatif.fade(std::exp2(-static_cast<double>(FADE_SECONDS) /
                              static_cast<double>(HALF_LIFE.count())));
      }
      DBUG_EXECUTE_IF("lru_observer_fades", whatif.fade(0.5););
      announce = pace.may_have_more(excess, less) && sample_more();
      second_began = Clock::now();
      /* What it took to sample less, or to make other lists, is no reason to
      sample even less. */
      cpu_then = cpu_usec();
      events_of_second = 0;
      less = false;
      reclaim = seconds % 10 == 0;
      DBUG_EXECUTE_IF("lru_index_reclaim", reclaim = true;);
    }
    if (announce) (void)announce_threshold();
    if (reclaim) server()->reclaim_indexes();
    /* Not what the budget is for. */
    if (announce || reclaim) cpu_then = cpu_usec();
  }
}

extern "C" {
static void *run_observer(void *) {
  my_thread_init();
  for (;;) {
    try {
      observe();
      break;
    } catch (const std::bad_alloc &) {
      /* Everything is freed, and nothing is sampled any more. Switching a part
      off and on starts it again. */
      std::unique_lock<std::mutex> lock(data_mutex);
      if (threshold != 0) {
        log_error(
            "The observer of the LRU list ran out of memory and has stopped. "
            "Lower innodb_lru_whatif_memory, and switch off and on what you "
            "use of "
            "innodb_lru_whatif_enabled, innodb_lru_age_histogram_enabled and "
            "innodb_lru_index_stats_enabled.");
      }
      server()->set_trace(0);
      threshold = 0;
      whatif.switch_to(false);
      ages.reset();
      ages_on = rereads_on = false;
      if (wake_up.wait_for(lock, std::chrono::seconds(1),
                           [] { return stop_thread; })) {
        break;
      }
    }
  }
  my_thread_end();
  return nullptr;
}
}

/** Ends the thread. The caller holds control_mutex. */
void end_thread() {
  if (!thread_runs) return;
  {
    const std::lock_guard<std::mutex> lock(data_mutex);
    stop_thread = true;
  }
  wake_up.notify_all();
  my_thread_join(&thread, nullptr);
  thread_runs = false;

  /* What is left in the rings is of no use to anybody. */
  server()->set_trace(0);
  std::array<innodb_lru_event_t, 256> events;
  uint64_t dropped = 0;
  while (server()->drain(events.data(), events.size(), &dropped) > 0) {
  }
}

/** Samples as many pages as may be followed. The caller holds control_mutex.
@return true if there is no memory */
bool sample_most() {
  {
    const std::lock_guard<std::mutex> lock(data_mutex);
    server()->pool(&pool);
    threshold = highest_threshold();
  }
  return announce_threshold();
}

/** Starts the thread. The caller holds control_mutex.
@return see switch_part() */
int start_thread() {
  {
    const std::lock_guard<std::mutex> lock(data_mutex);
    stop_thread = false;
  }
  my_thread_attr_t attributes;
  my_thread_attr_init(&attributes);
  const int error = mysql_thread_create(key_thread_lru_observer, &thread,
                                        &attributes, run_observer, nullptr);
  my_thread_attr_destroy(&attributes);
  if (error != 0) return error;
  thread_runs = true;

  if (sample_most()) {
    end_thread();
    return NO_MEMORY;
  }
  return 0;
}

/** Follows pages for histograms, to find those read again, for both or for
neither. The caller holds data_mutex. */
void follow_pages(bool histograms, bool rereads) {
  if (!histograms && !rereads) {
    ages.reset();
  } else if (ages == nullptr) {
    ages = std::make_unique<Lru_ages>();
  }
  ages_on = histograms;
  rereads_on = rereads;
}

/** Sets a part up, or forgets it. The caller holds control_mutex. */
bool set_up(Part part, bool on) try {
  /* May wait for a thread that looks through the pool, so not with
  data_mutex. */
  if (part == Part::INDEXES && !server()->count_indexes(on)) return true;

  /* Freed when nobody has to wait for it. */
  std::unique_ptr<Lru_simulator> gone;

  const std::lock_guard<std::mutex> lock(data_mutex);
  switch (part) {
    case Part::WHATIF:
      gone = whatif.switch_to(on);
      server()->pool(&pool);
      follow_settings();
      break;
    case Part::AGES:
      follow_pages(on, rereads_on);
      if (on) ages->clear_histograms();
      ages_since = static_cast<int64_t>(my_micro_time());
      ages_lost = 0;
      break;
    case Part::INDEXES:
      follow_pages(ages_on, on);
      /* What was evicted before is not counted. */
      if (on) ages->forget_indexes();
      reread_rest = 0;
      break;
    case Part::N:
      break;
  }
  return false;
} catch (const std::bad_alloc &) {
  DBUG_EXECUTE_IF("mutate_lru_set_no_memory", throw;);
  return true;
}

bool threshold_is_zero() {
  const std::lock_guard<std::mutex> lock(data_mutex);
  return threshold == 0;
}

int switch_locked(Part part, bool on) {
  auto &is = parts[static_cast<size_t>(part)];
  if (is == on) return 0;

  if (on && !thread_runs) {
    if (const int error = start_thread(); error != 0) return error;
  } else if (on && (part == Part::WHATIF || threshold_is_zero())) {
    /* A simulation that starts afresh may have room for more pages than the
    last one. */
    if (sample_most()) return NO_MEMORY;
  }
  const bool failed = set_up(part, on);
  if (failed) set_up(part, false);
  is = on && !failed;

  if (std::none_of(parts.begin(), parts.end(), [](bool p) { return p; })) {
    end_thread();
  }
  return failed ? NO_MEMORY : 0;
}

}  // namespace

int switch_part(Part part, bool on) {
  const std::lock_guard<std::mutex> lock(control_mutex);
  return switch_locked(part, on);
}

int set_whatif_memory(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(control_mutex);
  const bool on = parts[static_cast<size_t>(Part::WHATIF)];
  if (on) switch_locked(Part::WHATIF, false);
  {
    const std::lock_guard<std::mutex> data_lock(data_mutex);
    whatif.set_memory(bytes);
  }
  return on ? switch_locked(Part::WHATIF, true) : 0;
}

void set_whatif_times(const std::vector<uint32_t> &times_ms) {
#ifndef NDEBUG
  std::unique_lock<std::mutex> data_lock(data_mutex, std::defer_lock);
  DBUG_EXECUTE_IF("mutate_lru_times_wait", data_lock.lock(););
#endif
  const std::lock_guard<std::mutex> lock(times_mutex);
  times = times_ms;
}

std::vector<Whatif_row> read_whatif(Whatif_frame &frame) {
  const std::lock_guard<std::mutex> lock(data_mutex);
  return whatif.read(rate(), frame);
}

std::vector<Age_row> read_ages(int64_t &since_usec, uint64_t &events_lost) {
  const std::lock_guard<std::mutex> lock(data_mutex);
  std::vector<Age_row> rows;
  if (!ages_on) return rows;
  since_usec = ages_since;
  events_lost = ages_lost;

  for (unsigned pool_id = 0; pool_id < Lru_ages::N_POOLS; ++pool_id) {
    for (unsigned i = 0; i < Lru_ages::N_INTERVALS; ++i) {
      const auto interval = static_cast<Lru_ages::Interval>(i);
      for (unsigned b = 0; b < Lru_ages::N_BUCKETS; ++b) {
        const auto &bucket = ages->bucket(pool_id, interval, b);
        if (bucket.samples == 0) continue;
        rows.push_back({static_cast<uint8_t>(pool_id), interval, b, bucket});
      }
    }
  }
  return rows;
}

void register_observer() {
  static PSI_thread_info threads[] = {
      {&key_thread_lru_observer, "lru_observer", "lru_obs", PSI_FLAG_SINGLETON,
       0,
       "Takes the events of sampled pages from the buffer pool, for "
       "INNODB_LRU_WHATIF, INNODB_LRU_AGE_HISTOGRAM and "
       "INNODB_LRU_INDEX_STATS."}};
  mysql_thread_register("lru_stats", threads,
                        static_cast<int>(std::size(threads)));
}

}  // namespace lru_stats
