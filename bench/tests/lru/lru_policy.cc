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

/** @file bench/tests/lru/lru_policy.cc
 Runs the policy of the LRU flusher on a model of an LRU list, a disk and
 threads that need pages, for test_lru_policy.py.

 lru_policy NAME=VALUE...  Prints what happened as one line of JSON. Time goes
 in steps of 50 microseconds.

 With hot=N, the page cleaner on a model of the flush list instead: N pages that
 are changed all the time and never evicted, and the age of the checkpoint. Time
 goes in seconds. */

#include "buf0lrupolicy.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr uint64_t STEP = 50;

/** The parameters and their defaults. Times are in microseconds. */
std::map<std::string, double> parameters{
    {"pool", 8192},     // pages of the instance
    {"rate", 10000},    // pages a second that are taken
    {"dirty", 0},       // part of the pages that are changed
    {"tail_dirty", 0},  // pages at the tail that are dirty at the start
    {"zip", 0},      // of the pages at the start, so large a part has no frame
    {"reading", 0},  // 1: others are reading pages all the time
    {"all_fixed", 0},   // 1: no page can be evicted or written
    {"log", 100},       // flush of the redo log for a batch; <0: hangs
    {"write", 500},     // doublewrite and data files; <0: hangs
    {"segments", 2},    // batches that may be under way
    {"sync", 0},        // flush of the data files after a batch
    {"segment", 64},    // pages of a segment
    {"free_pages", 0},  // innodb_lru_flusher_free_pages
    {"settings_rate", 1024},
    {"seconds", 2},
    {"stall_from", 1e9},    // the writer hangs from that second on
    {"cleaned_at", 1e9},    // others write all dirty pages at that second
    {"others_until", 0},    // others are writing all pages until that second
    {"clients", 64},        // threads: no more of them wait
    {"flusher_delay", 20},  // until the flusher runs when it is woken
    {"hot", 0},             // pages that are changed all the time
    {"redo", 0.02},         // redo log of a second, as part of its capacity
    {"burst", 0},           // the same, from that second on:
    {"burst_from", 1e9},
    {"lumps", 0},         // 1: pages are evicted each fourth second only
    {"lwm", 0.1},         // innodb_adaptive_flushing_lwm, as part of it
    {"evicted", 1e6},     // pages that are evicted in a second
    {"upstream", 0},      // pages that upstream would write in a second
    {"most_dirty", 1e6},  // by innodb_max_dirty_pages_pct
    {"off_core", 0}  // each walk takes so much longer: others run, and the disk
};

double of(const char *name) { return parameters.at(name); }

/** ZIP: clean, and compressed only. Nothing can be read into its place. */
enum class Kind { CLEAN, DIRTY, FIXED, IN_FLIGHT, ZIP };

struct Page {
  Kind kind;
  bool old;
};

struct Model {
  /** Tail first. */
  std::list<Page> lru;
  size_t n_old{};
  size_t free{};
  std::deque<uint64_t> waiters;
  size_t in_flight{};
  size_t others_under_way{};
  std::vector<std::list<Page>::iterator> batch;
  uint64_t now{};
  uint64_t freed{};

  /** Writes under way, by the time when they are complete. */
  std::multimap<uint64_t, std::list<Page>::iterator> writes;
  std::multimap<uint64_t, int> syncs;
  size_t segments_used{};
  uint64_t writer_free_at{};
  bool writer_busy{};
  uint64_t n_written{};
  uint64_t n_out{};
  size_t most_in_flight{};

  /** What is printed. */
  uint64_t n_taken{}, n_waits{}, max_wait{}, n_walks{}, n_looked{}, n_evicted{},
      n_batches{}, n_batch_pages{}, n_gave_up{}, n_wakeups{}, n_young_evicted{},
      n_self{}, n_late_waits{}, n_dismissed{}, n_zip_evicted{};
  /** When others wrote pages, and the first one was evicted. */
  uint64_t cleaned{}, found{};

  void add(Page page) {
    /* At the midpoint: the list keeps 3/8 in its old part. */
    auto at = lru.begin();
    if (midpoint_valid) at = midpoint;
    page.old = true;
    midpoint = lru.insert(at, page);
    midpoint_valid = true;
    ++n_old;
    balance();
  }

  void balance() {
    while (n_old > lru.size() * 3 / 8 && midpoint != lru.begin()) {
      midpoint->old = false;
      /* Towards the tail. */
      --midpoint;
      --n_old;
    }
  }

  void remove(std::list<Page>::iterator page) {
    if (page->old) --n_old;
    if (midpoint_valid && page == midpoint) {
      midpoint = std::next(page);
      if (midpoint == lru.end()) {
        midpoint_valid = false;
      } else if (!midpoint->old) {
        midpoint->old = true;
        ++n_old;
      }
    }
    lru.erase(page);
  }

  /** The oldest of the young side of the boundary: the page read last. */
  std::list<Page>::iterator midpoint;
  bool midpoint_valid{};

  Lru_policy::State state() const {
    return {free,      waiters.size(),   lru.size(), n_old,
            in_flight, others_under_way, writer_busy};
  }

  void serve() {
    while (!waiters.empty() && free > 0) {
      const auto wait = now - waiters.front();
      max_wait = std::max(max_wait, wait);
      waiters.pop_front();
      --free;
      taken();
    }
  }

  void taken() {
    ++n_taken;
    const bool dirty = (n_taken * 7919) % 1000 < of("dirty") * 1000;
    add({dirty ? Kind::DIRTY : Kind::CLEAN, true});
  }

  /** A thread that finds no free page looks at the tail itself, as upstream. */
  bool help_oneself() {
    size_t n = 0;
    for (auto page = lru.begin(); page != lru.end() && n < 100; ++page, ++n) {
      if (page->kind == Kind::CLEAN) {
        remove(page);
        ++n_self;
        return true;
      }
    }
    return false;
  }
};

void print(const std::map<std::string, uint64_t> &result) {
  const char *separator = "{";
  for (const auto &[name, value] : result) {
    std::printf("%s\"%s\": %llu", separator, name.c_str(),
                static_cast<unsigned long long>(value));
    separator = ", ";
  }
  std::puts("}");
}

void run() {
  Model m;
  Lru_policy policy;
  const Lru_policy::Settings settings{static_cast<size_t>(of("pool")),
                                      static_cast<size_t>(of("free_pages")),
                                      static_cast<size_t>(of("settings_rate")),
                                      static_cast<size_t>(of("segment"))};

  for (size_t i = 0; i < settings.pool; ++i) {
    const auto kind = of("all_fixed") != 0 || of("others_until") > 0
                          ? Kind::FIXED
                      : i < of("tail_dirty")                 ? Kind::DIRTY
                      : (i * 7919) % 1000 < of("zip") * 1000 ? Kind::ZIP
                                                             : Kind::CLEAN;
    m.lru.push_back({kind, i < settings.pool * 3 / 8});
    if (m.lru.back().old) {
      ++m.n_old;
      m.midpoint = std::prev(m.lru.end());
      m.midpoint_valid = true;
    }
  }

  enum { ASLEEP, READY, WAITING } flusher = READY;
  uint64_t ready_at = 0;
  uint64_t wait_until = 0;
  uint64_t wait_written = 0;
  uint64_t progress_before = 0;
  double owed = 0;
  /* After it has given up the flusher sleeps until somebody misses a page. */
  bool gave_up = false;

  const auto threads = [&](double usec) {
    owed += of("rate") * usec / 1e6;
    while (owed >= 1 && m.waiters.size() < of("clients")) {
      owed -= 1;
      if (m.free > 0) {
        --m.free;
        m.taken();
      } else if (gave_up = false; m.help_oneself()) {
        m.taken();
      } else {
        m.waiters.push_back(m.now);
        ++m.n_waits;
        if (m.now > 1000000) ++m.n_late_waits;
      }
    }
    owed = std::min(owed, 1.0);
  };

  const auto disk = [&](uint64_t now) {
    while (!m.writes.empty() && m.writes.begin()->first <= now) {
      m.writes.begin()->second->kind = Kind::CLEAN;
      m.writes.erase(m.writes.begin());
      --m.in_flight;
      ++m.n_written;
    }
    while (!m.syncs.empty() && m.syncs.begin()->first <= now) {
      m.syncs.erase(m.syncs.begin());
      --m.segments_used;
    }
    const bool stalled = static_cast<double>(now) >= of("stall_from") * 1e6;
    if (m.writer_busy && !stalled && m.writer_free_at <= now &&
        of("log") >= 0 && m.segments_used < of("segments")) {
      ++m.segments_used;
      uint64_t last = now;
      for (size_t i = 0; i < m.batch.size(); ++i) {
        ++m.in_flight;
        if (of("write") < 0) continue;
        last = now + static_cast<uint64_t>(of("write")) +
               i * static_cast<uint64_t>(of("write")) / 64;
        m.writes.emplace(last, m.batch[i]);
      }
      if (of("write") >= 0) {
        m.syncs.emplace(last + static_cast<uint64_t>(of("sync")), 0);
      }
      m.most_in_flight = std::max(m.most_in_flight, m.in_flight);
      m.batch.clear();
      m.writer_busy = false;
      ++m.n_out;
      if (flusher == WAITING) wait_until = now;
    }
    if (of("others_until") > 0 && m.others_under_way > 0 &&
        static_cast<double>(now) >= of("others_until") * 1e6) {
      m.others_under_way = 0;
      for (auto &page : m.lru) page.kind = Kind::CLEAN;
    }
  };

  if (of("others_until") > 0) m.others_under_way = m.lru.size();
  if (of("reading") > 0) m.others_under_way = 1;

  for (; m.now < of("seconds") * 1e6; m.now += STEP) {
    disk(m.now);

    if (m.cleaned == 0 &&
        static_cast<double>(m.now) >= of("cleaned_at") * 1e6) {
      m.cleaned = m.now;
      for (auto &page : m.lru) {
        if (page.kind == Kind::DIRTY) page.kind = Kind::CLEAN;
      }
    }

    threads(STEP);

    /* The flusher. */
    if (flusher == ASLEEP && !gave_up && !policy.is_served(m.state())) {
      flusher = READY;
      ready_at = m.now + static_cast<uint64_t>(of("flusher_delay"));
      ++m.n_wakeups;
    }
    if (flusher == WAITING &&
        (m.now >= wait_until || m.n_written >= wait_written)) {
      const auto next =
          policy.waited(m.n_written + m.n_out > progress_before, m.state());
      flusher = next == Lru_policy::Next::SLEEP ? ASLEEP : READY;
    }
    if (flusher != READY || ready_at > m.now) continue;

    m.serve();
    policy.measure(static_cast<double>(m.now) / 1e6, m.freed, m.free, settings);
    auto walk = policy.plan(m.state());
    ++m.n_walks;
    std::vector<std::list<Page>::iterator> collected;
    for (auto page = m.lru.begin(); page != m.lru.end() && !walk.is_over();) {
      const auto next = std::next(page);
      const bool zip = page->kind == Kind::ZIP;
      const auto kind = page->kind == Kind::CLEAN || zip
                            ? Lru_policy::Page::CLEAN
                        : page->kind == Kind::DIRTY ? Lru_policy::Page::DIRTY
                                                    : Lru_policy::Page::FIXED;
      switch (walk.look(kind)) {
        case Lru_policy::Action::EVICT:
          if (!page->old) ++m.n_young_evicted;
          m.remove(page);
          if (zip) {
            ++m.n_zip_evicted;
            break;
          }
          walk.evicted(1);
          ++m.free;
          ++m.freed;
          ++m.n_evicted;
          if (m.cleaned != 0 && m.found == 0) m.found = m.now;
          break;
        case Lru_policy::Action::WRITE:
          collected.push_back(page);
          break;
        case Lru_policy::Action::PASS:
          break;
      }
      if (walk.yields()) m.serve();
      page = next;
    }
    m.n_looked += walk.n_looked();
    threads(of("off_core"));
    if (of("off_core") > 0) disk(m.now + static_cast<uint64_t>(of("off_core")));
    m.serve();
    if (!collected.empty() && policy.writes(walk, m.state())) {
      for (auto page : collected) page->kind = Kind::IN_FLIGHT;
      m.batch = collected;
      m.writer_busy = true;
      m.writer_free_at = m.now + static_cast<uint64_t>(std::abs(of("log")));
      ++m.n_batches;
      m.n_batch_pages += collected.size();
    }
    /* The time that the walk takes. */
    ready_at = m.now + (walk.n_looked() * 50 + walk.n_evicted() * 300) / 1000;

    switch (policy.next(walk, m.state())) {
      case Lru_policy::Next::SLEEP:
        flusher = ASLEEP;
        break;
      case Lru_policy::Next::AGAIN:
        break;
      case Lru_policy::Next::WAIT:
        flusher = WAITING;
        wait_until = m.now + policy.pause_usec();
        progress_before = m.n_written + m.n_out;
        wait_written = m.n_written + Lru_policy::wait_for(m.state());
        break;
      case Lru_policy::Next::GIVE_UP:
        ++m.n_gave_up;
        m.n_dismissed += m.waiters.size();
        m.waiters.clear();
        policy.give_up(m.state());
        flusher = ASLEEP;
        gave_up = true;
        break;
    }
  }

  for (auto since : m.waiters) m.max_wait = std::max(m.max_wait, m.now - since);
  const std::map<std::string, uint64_t> result{
      {"taken", m.n_taken},
      {"waits", m.n_waits},
      {"late_waits", m.n_late_waits},
      {"waiting", m.waiters.size()},
      {"max_wait", m.max_wait},
      {"found_after", m.found - m.cleaned},
      {"walks", m.n_walks},
      {"looked", m.n_looked},
      {"evicted", m.n_evicted},
      {"zip_evicted", m.n_zip_evicted},
      {"batches", m.n_batches},
      {"batch_pages", m.n_batch_pages},
      {"written", m.n_written},
      {"most_in_flight", m.most_in_flight},
      {"gave_up", m.n_gave_up},
      {"dismissed", m.n_dismissed},
      {"wakeups", m.n_wakeups},
      {"young_evicted", m.n_young_evicted},
      {"self", m.n_self},
      {"target", policy.target()},
      {"low_water", policy.low_water()},
      {"free", m.free}};
  print(result);
}

void run_page_cleaner() {
  Lru_preflush_policy policy;
  /* When each page of the flush list was changed first, oldest first. */
  std::deque<double> list(static_cast<size_t>(of("hot")), 0.0);
  double most_age = 0, lsn = 0, average = 0, averaged_at = 0;
  uint64_t written = 0, left = 0;
  for (double now = 1; now <= of("seconds"); ++now) {
    lsn += now > of("burst_from") ? of("burst") : of("redo");
    /* As Adaptive_flush::set_average(). */
    if (static_cast<uint64_t>(now) % 30 == 0) {
      average = (average + (lsn - averaged_at) / 30) / 2;
      averaged_at = lsn;
    }
    const auto age = lsn - list.front();
    most_age = std::max(most_age, age);
    /* As set_flush_target_by_lsn(). */
    size_t for_lsn = 0;
    for (auto at : list) for_lsn += at <= list.front() + 3 * average;
    for_lsn = std::max<size_t>(1, for_lsn / 3);

    Lru_preflush_policy::State state;
    state.now = now;
    state.evicted = static_cast<uint64_t>(now * of("evicted"));
    if (of("lumps") != 0) {
      state.evicted =
          static_cast<uint64_t>(std::floor(now / 4) * 4 * of("evicted"));
    }
    state.for_lsn = for_lsn;
    state.age = age;
    state.is_old = age > of("lwm");
    state.dirty = list.size();
    state.most_dirty = static_cast<size_t>(of("most_dirty"));
    auto n = static_cast<size_t>(of("upstream"));
    if (const auto ours = policy.pages(state)) {
      n = *ours;
      ++left;
    }
    for (size_t i = 0; i < std::min(n, list.size()); ++i) {
      list.pop_front();
      list.push_back(lsn);
      ++written;
    }
  }
  print({{"most_age", static_cast<uint64_t>(most_age * 100)},
         {"written", written},
         {"left", left}});
}

}  // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const auto *value = std::strchr(argv[i], '=');
    if (value == nullptr) return 2;
    const std::string name(argv[i], static_cast<size_t>(value - argv[i]));
    if (parameters.count(name) == 0) {
      std::fprintf(stderr, "lru_policy: no parameter %s\n", name.c_str());
      return 2;
    }
    parameters[name] = std::atof(value + 1);
  }
  if (of("hot") > 0) {
    run_page_cleaner();
  } else {
    run();
  }
  return 0;
}
