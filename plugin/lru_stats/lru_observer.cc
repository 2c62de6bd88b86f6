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
 length of a batch, some milliseconds at most. Nobody who holds data_mutex takes
 control_mutex. */

#include "plugin/lru_stats/lru_observer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>

#ifdef __linux__
#include <time.h>
#endif

#include "my_dbug.h"
#include "my_sys.h"
#include "my_systime.h"
#include "my_thread.h"
#include "mysql/psi/mysql_thread.h"
#include "plugin/lru_stats/lru_simulator.h"
#include "plugin/lru_stats/lru_stats.h"

namespace lru_stats {

namespace {

using Clock = std::chrono::steady_clock;

/** Pauses between two batches: after many events, and longest after few. The
server keeps 8192 events a ring. */
constexpr std::chrono::milliseconds PAUSE{20};
constexpr std::chrono::milliseconds LONGEST_PAUSE{60};

/** Fewer events than this, and the next pause is longer. */
constexpr size_t FEW_EVENTS = 1024;

/** Events of a batch; their memory is allocated once. */
constexpr size_t BATCH = 32768;

/** Processor time that sampling may use: microseconds a second, of the thread
and of the hooks. */
constexpr double CPU_BUDGET_USEC = 5000;

/** What a hook takes to record an event, which is not measured as it happens: a
look at the clock and a slot of a ring. Alone that is 0.03, between other code
the slot is in no cache. */
constexpr double HOOK_USEC = 0.1;

/** Pages of the pool that are to be sampled if the budget is exceeded: with
less, little can be said. */
constexpr double LEAST_PAGES = 400;

/** How many times the budget may be exceeded to have so many. Beyond, fewer and
fewer are sampled, down to none. A debug server takes much longer for an event,
and its tests need all pages of small pools. */
#ifdef NDEBUG
constexpr double MOST_EXCESS = 4;
#else
constexpr double MOST_EXCESS = 200;
#endif

/** Pages that are to be sampled if events are lost: each loss costs all that
was counted. */
constexpr double LEAST_PAGES_OF_LOSSES = 50;

/** More pages are sampled again when less than this share of the budget was
used for a time. If that was too much and pages are given up again soon, the
next time is twice as long. */
constexpr double LITTLE_OF_BUDGET = 0.125;
constexpr std::chrono::seconds FIRST_QUIET{600};
constexpr std::chrono::seconds LONGEST_QUIET{86400};

/** Evidence is worth half as much after this time, and so on. */
constexpr std::chrono::seconds HALF_LIFE{6 * 3600};

/** How often it is made less. */
constexpr unsigned FADE_SECONDS = 60;

/** Pages that Lru_ages may follow, 7 MB. */
constexpr size_t MOST_AGES = 65536;

/** Batches without a pause. */
constexpr int MOST_BATCHES = 4;

/** How long the evidence of a list that has room is collected, the first time
and from then on. */
constexpr std::chrono::seconds FIRST_WINDOW{10};
constexpr std::chrono::seconds WINDOW{60};

/** References that an estimate needs to be shown, and to be of much worth. */
constexpr uint64_t LEAST_REFERENCES = 100;
constexpr uint64_t GOOD_REFERENCES = 1000;

constexpr uint64_t MAX_TRACE = Lru_simulator::ALL;

/** Sizes that are simulated, by that of the pool. */
constexpr double SIZES[] = {0.25, 0.5, 1, 2, 4, 8};

/** innodb_old_blocks_pct that are simulated: the ends and the default. */
constexpr uint32_t PCTS[] = {5, 37, 95};

/** innodb_old_blocks_time that are always simulated. */
constexpr uint32_t TIMES[] = {0, 1000};

/** Reads of the server that were of sampled pages. */
struct Sampled_reads {
  uint64_t n{0};
  /** Each counted as as many as it stood for. */
  double weighted{0};
};

/** From when on a configuration is counted. */
struct Baseline {
  bool set{false};
  uint64_t gets{0};
  uint64_t reads{0};
  uint64_t references{0};
  Sampled_reads sampled;
  Clock::time_point when;
};

/** What was seen of a configuration for a time. */
struct Evidence {
  double seconds{0};
  /** Page gets and reads of the server. */
  double gets{0};
  double measured_reads{0};
  /** Sampled references. */
  uint64_t references{0};
  /** Reads of the simulated pool, and two standard errors. */
  double reads{0};
  double error{0};
  uint64_t sampled_reads{0};

  /** What the same pages cause in both adds up, so errors do, too. */
  void add(const Evidence &other) {
    seconds += other.seconds;
    gets += other.gets;
    measured_reads += other.measured_reads;
    references += other.references;
    reads += other.reads;
    error += other.error;
    sampled_reads += other.sampled_reads;
  }

  void fade(double factor) {
    seconds *= factor;
    gets *= factor;
    measured_reads *= factor;
    references =
        static_cast<uint64_t>(static_cast<double>(references) * factor);
    reads *= factor;
    error *= factor;
    sampled_reads =
        static_cast<uint64_t>(static_cast<double>(sampled_reads) * factor);
  }
};

/** What the rows are made of that the simulator does not know. */
struct Setting {
  uint64_t pool_size;
  uint32_t pct;
  uint32_t time_ms;
  bool running;
  Lru_config config;
  Baseline baseline;
  /** The list was full, and the baseline is not before that. */
  bool full{false};
  /** As long as it is not, what the last whole window has shown. */
  Evidence window{};
  /** What was seen while another share of the pages was sampled. */
  Evidence past{};
};

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

std::unique_ptr<Lru_simulator> simulator;
std::vector<Setting> settings;
uint64_t whatif_memory = uint64_t{16} << 20;
std::vector<uint32_t> whatif_times;
bool whatif_on = false;
uint64_t references = 0;
Sampled_reads sampled_reads;
int64_t whatif_since = 0;
uint64_t whatif_lost = 0;

/** Is there while INNODB_LRU_AGE_HISTOGRAM shows it, or it finds the pages that
are read again. */
std::unique_ptr<Lru_ages> ages;
bool ages_on = false;
bool rereads_on = false;
int64_t ages_since = 0;
uint64_t ages_lost = 0;
/** What was not passed on of pages read again, as it was no whole page. */
double reread_rest = 0;

PSI_thread_key key_thread_lru_observer;

double rate() {
  return static_cast<double>(threshold) / static_cast<double>(MAX_TRACE);
}

/** Makes what is to be simulated. The caller holds data_mutex. */
std::vector<Setting> wanted_settings() {
  std::vector<Setting> wanted;
  if (pool.curr_pages == 0) return wanted;

  const auto add = [&](double size, uint32_t pct, uint32_t time_ms) {
    const auto pages = static_cast<double>(pool.curr_pages) * size;
    const auto pool_size =
        static_cast<uint64_t>(static_cast<double>(pool.size) * size);
    for (const auto &s : wanted) {
      if (s.pool_size == pool_size && s.pct == pct && s.time_ms == time_ms) {
        return;
      }
    }
    Setting s{};
    s.pool_size = pool_size;
    s.pct = pct;
    s.time_ms = time_ms;
    s.running = size == 1 && pct == pool.old_blocks_pct &&
                time_ms == pool.old_blocks_time_ms;
    s.config.pages = static_cast<uint64_t>(pages);
    s.config.curr_size = static_cast<uint64_t>(pages);
    s.config.old_pct = pct;
    s.config.old_time_ms = time_ms;
    s.config.old_turnover =
        time_ms == INNODB_LRU_TURNOVER_TIME_MS ? pool.old_blocks_turnover : 0;
    wanted.push_back(s);
  };

  std::vector<uint32_t> times{pool.old_blocks_time_ms};
  times.insert(times.end(), std::begin(TIMES), std::end(TIMES));
  times.insert(times.end(), whatif_times.begin(), whatif_times.end());

  for (const auto size : SIZES) {
    for (const auto time_ms : times) add(size, pool.old_blocks_pct, time_ms);
  }
  for (const auto pct : PCTS) add(1, pct, pool.old_blocks_time_ms);
  return wanted;
}

/** The simulated lists are as long as the server's is, which goes up and down
as free pages are taken and made. The caller holds data_mutex. */
void follow_length() {
  /* Some pages of a pool are never in the list: hash tables, locks, and free
  ones that InnoDB keeps ready. How many, is only seen when it is full. */
  simulator->follow_pool(pool.lru_pages, pool.curr_pages,
                         pool.free_pages < pool.curr_pages / 5);
}

/** Brings the simulation in line with the server's settings. The caller holds
data_mutex. */
void follow_settings() {
  server()->pool(&pool);
  if (!whatif_on || pool.curr_pages == 0) return;

  auto wanted = wanted_settings();
  const bool same = wanted.size() == settings.size() &&
                    std::equal(wanted.begin(), wanted.end(), settings.begin(),
                               [](const Setting &a, const Setting &b) {
                                 return a.config == b.config &&
                                        a.running == b.running &&
                                        a.pool_size == b.pool_size;
                               });
  if (same && simulator != nullptr) {
    follow_length();
    return;
  }

  std::vector<Lru_config> configs;
  for (const auto &s : wanted) configs.push_back(s.config);

  if (simulator == nullptr) {
    simulator = std::make_unique<Lru_simulator>(configs, whatif_memory);
    simulator->lower_threshold(threshold);
    whatif_since = static_cast<int64_t>(my_micro_time());
  } else {
    simulator->update_configs(configs);
    for (auto &w : wanted) {
      for (const auto &s : settings) {
        if (s.config == w.config) {
          /* What runs from now on is measured from now on. */
          if (w.running && !s.running) continue;
          w.baseline = s.baseline;
          w.full = s.full;
          w.window = s.window;
          w.past = s.past;
        }
      }
    }
  }
  settings = std::move(wanted);
  follow_length();
}

/** By chance the sample has more of the reads than its share, or less. As all
reads are counted and those of the sample, too, it is known by how much for the
running configuration, and others have the same pages: a ratio estimator.
@param[in]  e  measured reads
@param[in]  s  configuration that they are counted for
@return factor for what is estimated from the sample, 1 if too little is known
*/
double share_of_sample(const Evidence &e, const Setting &s) {
  const auto n = sampled_reads.n - s.baseline.sampled.n;
  const auto weighted = sampled_reads.weighted - s.baseline.sampled.weighted;
  if (n < LEAST_REFERENCES) return 1;
  return std::clamp(e.measured_reads / weighted, 0.5, 2.0);
}

/** @return what was seen of a configuration since its baseline */
Evidence evidence_of(const Setting &s, const Lru_estimate &estimate,
                     const innodb_lru_pool_t &now) {
  Evidence e;
  e.seconds =
      std::chrono::duration<double>(Clock::now() - s.baseline.when).count();
  e.gets = static_cast<double>(now.gets - s.baseline.gets);
  e.measured_reads = static_cast<double>(now.reads - s.baseline.reads);
  e.references = references - s.baseline.references;
  const auto factor = share_of_sample(e, s);
  /* What is not proved may all be reads, or none. */
  e.reads = (estimate.reads + estimate.unproved) * factor;
  e.error =
      (2 * std::sqrt(estimate.reads_variance) + estimate.unproved) * factor;
  e.sampled_reads = estimate.sampled_reads;
  return e;
}

/** @return what is shown of a configuration */
Evidence shown(const Setting &s, const Lru_estimate &estimate,
               const innodb_lru_pool_t &now) {
  if (!s.full) {
    return s.past.seconds > s.window.seconds ? s.past : s.window;
  }
  auto e = evidence_of(s, estimate, now);
  e.add(s.past);
  return e;
}

/** For each leaf page that is read while the change buffer is not empty, InnoDB
looks at its bitmap, see buf_page_io_complete() and
ibuf_merge_or_delete_for_page(): a get of a page that is always there. So who
reads more has more gets, too.
@param[in]  e      what was measured
@param[in]  reads  reads of the configuration
@param[in]  extra  innodb_lru_pool_t::gets_of_a_read
@return hit rate in percent of the same load with other reads than measured */
double hit_pct_with(const Evidence &e, double reads, uint32_t extra) {
  reads = std::max(reads, 0.0);
  const auto gets =
      std::max({e.gets + extra * (reads - e.measured_reads), reads, 1.0});
  return 100 - reads / gets * 100;
}

/** Begins to count for a configuration. The caller holds data_mutex. */
void begin(size_t i) {
  simulator->restart_counting(i);
  settings[i].baseline = {true,       pool.gets,     pool.reads,
                          references, sampled_reads, Clock::now()};
}

/** Notes from when on each configuration counts: from when its list is full. As
long as it has room, it counts in windows that follow each other, as what fills
it would be in a warm pool. The caller holds data_mutex and has read the pool.
*/
void note_baselines() {
  for (size_t i = 0; i < settings.size(); ++i) {
    auto &s = settings[i];
    if (s.full) continue;

    const auto estimate = simulator->estimate(i);
    s.full = estimate.evicting;
    if (s.full || !s.baseline.set) {
      begin(i);
    } else if (Clock::now() - s.baseline.when >=
               (s.window.seconds == 0 ? FIRST_WINDOW : WINDOW)) {
      s.window = evidence_of(s, estimate, pool);
      begin(i);
    }
  }
}

/** Starts counting anew, with the lists as they are: events were lost, so what
was counted is too little. The caller holds data_mutex. */
void restart_counting() {
  if (simulator == nullptr) return;
  for (auto &s : settings) {
    s.baseline.set = false;
    s.full = false;
    s.window = {};
    s.past = {};
  }
  server()->pool(&pool);
  references = 0;
  sampled_reads = {};
  note_baselines();
  whatif_since = static_cast<int64_t>(my_micro_time());
}

/** Lets what was seen so far count for less, so that what is shown is of this
time, and not of last week. All of it is differences to a baseline, which comes
nearer. The caller holds data_mutex and has read the pool.
@param[in]  factor  0 to 1 */
void fade(double factor) {
  DBUG_EXECUTE_IF("mutate_lru_never_fades", return;);
  const auto less = [factor](uint64_t now, uint64_t then) {
    return now -
           static_cast<uint64_t>(static_cast<double>(now - then) * factor);
  };
  for (size_t i = 0; i < settings.size(); ++i) {
    auto &s = settings[i];
    s.past.fade(factor);
    if (!s.full) continue;

    simulator->fade(i, factor);
    auto &b = s.baseline;
    b.gets = less(pool.gets, b.gets);
    b.reads = less(pool.reads, b.reads);
    b.references = less(references, b.references);
    b.sampled.n = less(sampled_reads.n, b.sampled.n);
    b.sampled.weighted = sampled_reads.weighted -
                         (sampled_reads.weighted - b.sampled.weighted) * factor;
    const auto now = Clock::now();
    b.when = now - std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(now - b.when) * factor);
  }
}

/** Lowers the threshold everywhere. The caller holds data_mutex. */
void lower_threshold(uint64_t to) {
  if (to >= threshold) return;
  threshold = to;
  if (simulator != nullptr) simulator->lower_threshold(to);
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

  if (simulator != nullptr) {
    switch (event.kind) {
      case INNODB_LRU_EVENT_READ:
        ++references;
        ++sampled_reads.n;
        sampled_reads.weighted += weight;
        simulator->read(event.page, hash, event.time_us / 1000);
        break;
      case INNODB_LRU_EVENT_CREATE:
        simulator->create(event.page, hash, event.time_us / 1000);
        break;
      case INNODB_LRU_EVENT_ACCESS:
        ++references;
        simulator->access(event.page, hash, event.time_us / 1000);
        break;
      case INNODB_LRU_EVENT_EVICT:
        simulator->evict(event.page, hash);
        break;
      case INNODB_LRU_EVENT_GONE:
        simulator->forget(event.page);
        break;
      case INNODB_LRU_EVENT_MADE_YOUNG:
        break;
    }
  }
  if (ages == nullptr) return;
  const auto index = ages->take(event, weight, window);
  if (rereads_on && index != 0) {
    reread_rest += weight;
    const auto whole = std::floor(reread_rest);
    reread_rest -= whole;
    server()->count_index_reread(index, static_cast<uint64_t>(whole));
  }
}

/** Memory is bounded by lowering the threshold. The caller holds data_mutex. */
void keep_to_memory() {
  if (simulator != nullptr) lower_threshold(simulator->threshold());
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

/** Forgets everything. The caller holds data_mutex. */
void forget_whatif() {
  simulator.reset();
  settings.clear();
  references = 0;
  sampled_reads = {};
}

/** Takes the events there are, MOST_BATCHES at most.
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
@param[in]  excess  how many times more was used than may be; a factor of two is
                    left for the next time, as the first events cost more
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

/** Tells the server of a threshold that was raised. It hears of that second: it
may sample more than is wanted, as events of other pages are ignored, but not
less. The caller does not hold data_mutex, as the pool is looked through.
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

/** Samples twice as many pages, if they may be followed. Of the new ones
nothing is known, so the simulated lists fill anew; what was seen of them before
stays, and is added to. The caller holds data_mutex and has read the pool.
@return true if the server is to be told */
bool sample_more() {
  DBUG_EXECUTE_IF("mutate_lru_never_raises", return false;);
  const auto to = std::min(2 * threshold, highest_threshold());
  if (to <= threshold) return false;
  if (simulator != nullptr &&
      2 * simulator->pages() > simulator->most_pages()) {
    return false;
  }
  if (ages != nullptr && 2 * ages->pages() > MOST_AGES) return false;

  if (simulator != nullptr) {
    std::vector<Lru_config> configs;
    for (size_t i = 0; i < settings.size(); ++i) {
      auto &s = settings[i];
      configs.push_back(s.config);
      if (s.full) s.past.add(evidence_of(s, simulator->estimate(i), pool));
      s.full = false;
      s.baseline.set = false;
      s.window = {};
    }
    /* Not both in memory at a time. */
    simulator.reset();
    simulator = std::make_unique<Lru_simulator>(configs, whatif_memory);
    simulator->lower_threshold(to);
    follow_length();
  }
  threshold = to;
  return true;
}

/** Decides when more pages are to be sampled again. */
class Pace {
 public:
  /** To be called every second.
  @param[in]  used  share of the budget
  @param[in]  less  true if pages were given up, or events lost
  @return true if it is time to try with more pages */
  bool may_have_more(double used, bool less) {
    const auto now = Clock::now();
    if (less) {
      m_quiet = now - m_raised < m_quiet ? std::min(2 * m_quiet, LONGEST_QUIET)
                                         : FIRST_QUIET;
    }
    bool wait = used > LITTLE_OF_BUDGET || now - m_since < m_quiet;
    DBUG_EXECUTE_IF("lru_observer_raises", wait = false;);
    if (less || used > LITTLE_OF_BUDGET) m_since = now;
    if (less || wait) return false;
    m_since = m_raised = now;
    return true;
  }

 private:
  Clock::time_point m_since{Clock::now()};
  Clock::time_point m_raised{};
  std::chrono::seconds m_quiet{FIRST_QUIET};
};

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
        whatif_lost += dropped;
        ages_lost += dropped;
        restart_counting();
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
      follow_settings();
      note_baselines();
      ++seconds;
      if (seconds % FADE_SECONDS == 0) {
        fade(std::exp2(-static_cast<double>(FADE_SECONDS) /
                       static_cast<double>(HALF_LIFE.count())));
      }
      DBUG_EXECUTE_IF("lru_observer_fades", fade(0.5););
      announce = pace.may_have_more(excess, less) && sample_more();
      second_began = Clock::now();
      /* What it took to sample less, or to make other lists, is no reason to
      sample even less. */
      cpu_then = cpu_usec();
      events_of_second = 0;
      less = false;
      reclaim = seconds % 10 == 0 && rereads_on;
      DBUG_EXECUTE_IF("lru_index_reclaim", reclaim = rereads_on;);
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
      /* All is given back and nothing sampled any more. Switching a part off
      and on starts it again. */
      std::unique_lock<std::mutex> lock(data_mutex);
      server()->set_trace(0);
      threshold = 0;
      whatif_on = false;
      forget_whatif();
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
@return true on error */
bool start_thread() {
  {
    const std::lock_guard<std::mutex> lock(data_mutex);
    stop_thread = false;
  }
  my_thread_attr_t attributes;
  my_thread_attr_init(&attributes);
  const auto failed = mysql_thread_create(key_thread_lru_observer, &thread,
                                          &attributes, run_observer, nullptr);
  my_thread_attr_destroy(&attributes);
  if (failed) return true;
  thread_runs = true;

  if (sample_most()) {
    end_thread();
    return true;
  }
  return false;
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
  /* Looks through the pool, so not with data_mutex. */
  if (part == Part::INDEXES && !server()->count_indexes(on)) return true;

  /* Freed when nobody has to wait for it. */
  std::unique_ptr<Lru_simulator> gone;

  const std::lock_guard<std::mutex> lock(data_mutex);
  switch (part) {
    case Part::WHATIF:
      whatif_on = on;
      whatif_lost = 0;
      gone = std::move(simulator);
      forget_whatif();
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
  return true;
}

bool threshold_is_zero() {
  const std::lock_guard<std::mutex> lock(data_mutex);
  return threshold == 0;
}

bool switch_locked(Part part, bool on) {
  auto &is = parts[static_cast<size_t>(part)];
  if (is == on) return false;

  if (on && !thread_runs) {
    if (start_thread()) return true;
  } else if (on && (part == Part::WHATIF || threshold_is_zero())) {
    /* A simulation that starts afresh may have room for more pages than the
    last one. */
    if (sample_most()) return true;
  }
  bool failed = set_up(part, on);
  if (failed) set_up(part, false);
  is = on && !failed;

  if (std::none_of(parts.begin(), parts.end(), [](bool p) { return p; })) {
    end_thread();
  }
  return failed;
}

/** What the figures are worth.
@param[in]  row      estimate
@param[in]  e        what it was made of
@param[in]  running  reads a second of the running configuration, simulated
@param[in]  off      difference between its simulated and its measured hit rate,
in percentage points
@return HIGH, MEDIUM, LOW or NONE */
const char *confidence(const Whatif_row &row, const Evidence &e, double running,
                       double off) {
  if (!row.known) return "NONE";
  /* Of the reads that there are, or of those that are to be saved. */
  const auto of = std::max(row.reads_per_second, running) * e.seconds;
  const auto relative = of > 0 ? e.error / of : 0;
  if (off > 3 || row.error_hit_pct > 3 || relative > 0.3 || e.seconds < 9 ||
      e.references < GOOD_REFERENCES) {
    return "LOW";
  }
  if (off > 2 || row.error_hit_pct > 1 || relative > 0.1 || e.seconds < 59) {
    return "MEDIUM";
  }
  return "HIGH";
}

}  // namespace

bool switch_part(Part part, bool on) {
  const std::lock_guard<std::mutex> lock(control_mutex);
  return switch_locked(part, on);
}

bool set_whatif_memory(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(control_mutex);
  const bool on = parts[static_cast<size_t>(Part::WHATIF)];
  if (on) switch_locked(Part::WHATIF, false);
  {
    const std::lock_guard<std::mutex> data_lock(data_mutex);
    whatif_memory = bytes;
  }
  return on && switch_locked(Part::WHATIF, true);
}

void set_whatif_times(const std::vector<uint32_t> &times_ms) {
  const std::lock_guard<std::mutex> lock(data_mutex);
  whatif_times = times_ms;
}

std::vector<Whatif_row> read_whatif(Whatif_frame &frame) {
  const std::lock_guard<std::mutex> lock(data_mutex);
  std::vector<Whatif_row> rows;
  if (simulator == nullptr) return rows;

  frame.sampled_references = references;
  frame.sampling_rate = rate();
  frame.since_usec = whatif_since;
  frame.events_lost = whatif_lost;

  innodb_lru_pool_t now;
  server()->pool(&now);

  /* How far the simulation of what runs is from what was measured of it. */
  double off = std::numeric_limits<double>::infinity();

  double running = 0;
  std::vector<Evidence> evidence;

  for (size_t i = 0; i < settings.size(); ++i) {
    const auto &s = settings[i];
    const auto estimate = simulator->estimate(i);
    const auto e = shown(s, estimate, now);

    Whatif_row row{};
    row.pool_size = s.pool_size;
    row.old_blocks_pct = s.pct;
    row.old_blocks_time_ms = s.time_ms;
    row.running = s.running;
    row.sampled_reads = e.sampled_reads;
    row.filled_pct = estimate.filled * 100;
    row.seconds = e.seconds;
    row.known =
        e.gets >= 1 && e.seconds >= 1 && e.references >= LEAST_REFERENCES;
    if (row.known) {
      row.hit_pct = hit_pct_with(e, e.reads, now.gets_of_a_read);
      row.reads_per_second = e.reads / e.seconds;
      row.error_hit_pct = std::max(
          hit_pct_with(e, e.reads - e.error, now.gets_of_a_read) - row.hit_pct,
          row.hit_pct - hit_pct_with(e, e.reads + e.error, now.gets_of_a_read));
      if (s.running) {
        row.measured_hit_pct =
            hit_pct_with(e, e.measured_reads, now.gets_of_a_read);
        row.measured_reads_per_second = e.measured_reads / e.seconds;
        running = row.reads_per_second;
        off = std::abs(row.measured_hit_pct - row.hit_pct);
      }
    }
    rows.push_back(row);
    evidence.push_back(e);
  }

  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].confidence = confidence(rows[i], evidence[i], running, off);
  }
  return rows;
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
