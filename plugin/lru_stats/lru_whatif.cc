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

/** @file plugin/lru_stats/lru_whatif.cc
 The simulated pools: which there are, and what was seen of them. */

#include "plugin/lru_stats/lru_whatif.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "my_dbug.h"
#include "my_systime.h"

namespace lru_stats {

namespace {

/** How long the evidence of a list that has room is collected, the first time
and from then on. */
constexpr std::chrono::seconds FIRST_WINDOW{10};
constexpr std::chrono::seconds WINDOW{60};

/** Fewest references for which an estimate is worth much. */
constexpr uint64_t GOOD_REFERENCES = 1000;

/** Sizes that are simulated, as multiples of the size of the pool. */
constexpr double SIZES[] = {0.25, 0.5, 1, 2, 4, 8};

/** Values of innodb_old_blocks_pct that are simulated besides the present one:
the ends and upstream's default. */
constexpr uint32_t PCTS[] = {5, 37, 95};

/** Values of innodb_old_blocks_time that are always simulated. */
constexpr uint32_t TIMES[] = {0, 1000};

}  // namespace

std::vector<Whatif::Setting> Whatif::wanted_settings() const {
  std::vector<Setting> wanted;
  if (m_pool.curr_pages == 0) return wanted;

  const auto add = [&](double size, uint32_t pct, uint32_t time_ms) {
    const auto pages = static_cast<double>(m_pool.curr_pages) * size;
    const auto pool_size =
        static_cast<uint64_t>(static_cast<double>(m_pool.size) * size);
    for (const auto &s : wanted) {
      if (s.pool_size == pool_size && s.pct == pct && s.time_ms == time_ms) {
        return;
      }
    }
    Setting s{};
    s.pool_size = pool_size;
    s.pct = pct;
    s.time_ms = time_ms;
    s.running = size == 1 && pct == m_pool.old_blocks_pct &&
                time_ms == m_pool.old_blocks_time_ms;
    s.config.pages = static_cast<uint64_t>(pages);
    s.config.curr_size = static_cast<uint64_t>(pages);
    s.config.old_pct = pct;
    s.config.old_time_ms = time_ms;
    s.config.old_turnover =
        time_ms == INNODB_LRU_TURNOVER_TIME_MS ? m_pool.old_blocks_turnover : 0;
    wanted.push_back(s);
  };

  std::vector<uint32_t> times{m_pool.old_blocks_time_ms};
  times.insert(times.end(), std::begin(TIMES), std::end(TIMES));
  times.insert(times.end(), m_times.begin(), m_times.end());

  for (const auto size : SIZES) {
    for (const auto time_ms : times) add(size, m_pool.old_blocks_pct, time_ms);
  }
  for (const auto pct : PCTS) add(1, pct, m_pool.old_blocks_time_ms);
  return wanted;
}

/** Makes the simulated lists as long as the server's, whose length changes as
free pages are taken and made. */
void Whatif::follow_length() {
  /* Some pages of a pool are never in the list: hash tables, locks, and free
  ones that InnoDB keeps ready. Their number is seen only when it is full. */
  m_simulator->follow_pool(m_pool.lru_pages, m_pool.curr_pages,
                           m_pool.free_pages < m_pool.curr_pages / 5);
}

void Whatif::follow_settings(uint64_t threshold) {
  if (!m_on || m_pool.curr_pages == 0) return;

  auto wanted = wanted_settings();
  const bool same = wanted.size() == m_settings.size() &&
                    std::equal(wanted.begin(), wanted.end(), m_settings.begin(),
                               [](const Setting &a, const Setting &b) {
                                 return a.config == b.config &&
                                        a.running == b.running &&
                                        a.pool_size == b.pool_size;
                               });
  if (same && m_simulator != nullptr) {
    follow_length();
    return;
  }

  std::vector<Lru_config> configs;
  for (const auto &s : wanted) configs.push_back(s.config);

  if (m_simulator == nullptr) {
    m_simulator = std::make_unique<Lru_simulator>(configs, m_memory);
    m_simulator->lower_threshold(threshold);
    m_since = static_cast<int64_t>(my_micro_time());
  } else {
    m_simulator->update_configs(configs);
    for (auto &w : wanted) {
      for (const auto &s : m_settings) {
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
  m_settings = std::move(wanted);
  follow_length();
}

/** A ratio estimator. By chance the sample has more of the reads than its
share, or less. For the running configuration it is known by how much, because
all reads are counted, and those of the sample, too. Others have the same pages.
@param[in]  e  measured reads
@param[in]  s  configuration that they are counted for
@return factor for what is estimated from the sample, 1 if too little is known
*/
double Whatif::share_of_sample(const Evidence &e, const Setting &s) const {
  const auto n = m_sampled_reads.n - s.baseline.sampled.n;
  const auto weighted = m_sampled_reads.weighted - s.baseline.sampled.weighted;
  if (n < LEAST_REFERENCES) return 1;
  return std::clamp(e.measured_reads / weighted, 0.5, 2.0);
}

/** @return what was seen of a configuration since its baseline */
Whatif::Evidence Whatif::evidence_of(const Setting &s,
                                     const Lru_estimate &estimate,
                                     const innodb_lru_pool_t &now) const {
  Evidence e;
  e.seconds =
      std::chrono::duration<double>(Clock::now() - s.baseline.when).count();
  e.gets = static_cast<double>(now.gets - s.baseline.gets);
  e.measured_reads = static_cast<double>(now.reads - s.baseline.reads);
  e.references = m_references - s.baseline.references;
  const auto factor = share_of_sample(e, s);
  /* What is not proved may all be reads, or none. */
  e.reads = (estimate.reads + estimate.unproved) * factor;
  e.error =
      (2 * std::sqrt(estimate.reads_variance) + estimate.unproved) * factor;
  e.sampled_reads = estimate.sampled_reads;
  return e;
}

/** @return what is shown of a configuration */
Whatif::Evidence Whatif::shown(const Setting &s, const Lru_estimate &estimate,
                               const innodb_lru_pool_t &now) const {
  if (!s.full) {
    return s.past.seconds > s.window.seconds ? s.past : s.window;
  }
  auto e = evidence_of(s, estimate, now);
  e.add(s.past);
  return e;
}

/** For each leaf page that is read while the change buffer is not empty, InnoDB
looks at its bitmap, see buf_page_io_complete() and
ibuf_merge_or_delete_for_page(): a get of a page that is always there. So a
configuration that reads more has more gets, too.
@param[in]  e      what was measured
@param[in]  reads  reads of the configuration
@param[in]  extra  innodb_lru_pool_t::gets_of_a_read
@return hit rate in percent of the same load with other reads than measured */
double Whatif::hit_pct_with(const Evidence &e, double reads, uint32_t extra) {
  reads = std::max(reads, 0.0);
  const auto gets =
      std::max({e.gets + extra * (reads - e.measured_reads), reads, 1.0});
  return 100 - reads / gets * 100;
}

/** Begins to count for a configuration. */
void Whatif::begin(size_t i) {
  m_simulator->restart_counting(i);
  m_settings[i].baseline = {true,         m_pool.gets,     m_pool.reads,
                            m_references, m_sampled_reads, Clock::now()};
}

void Whatif::note_baselines() {
  for (size_t i = 0; i < m_settings.size(); ++i) {
    auto &s = m_settings[i];
    if (s.full) continue;

    const auto estimate = m_simulator->estimate(i);
    s.full = estimate.evicting;
    if (s.full || !s.baseline.set) {
      begin(i);
    } else if (Clock::now() - s.baseline.when >=
               (s.window.seconds == 0 ? FIRST_WINDOW : WINDOW)) {
      s.window = evidence_of(s, estimate, m_pool);
      begin(i);
    }
  }
}

/** Starts counting anew, with the lists as they are: events were lost, so what
was counted is too little. */
void Whatif::restart_counting() {
  if (m_simulator == nullptr) return;
  for (auto &s : m_settings) {
    s.baseline.set = false;
    s.full = false;
    s.window = {};
    s.past = {};
  }
  m_references = 0;
  m_sampled_reads = {};
  note_baselines();
  m_since = static_cast<int64_t>(my_micro_time());
}

void Whatif::lost(uint64_t dropped) {
  if (DBUG_EVALUATE_IF("mutate_lru_whatif_lost", false, true)) {
    m_lost += dropped;
  }
  restart_counting();
}

void Whatif::fade(double factor) {
  DBUG_EXECUTE_IF("mutate_lru_never_fades", return;);
  const auto less = [factor](uint64_t now, uint64_t then) {
    return now -
           static_cast<uint64_t>(static_cast<double>(now - then) * factor);
  };
  for (size_t i = 0; i < m_settings.size(); ++i) {
    auto &s = m_settings[i];
    s.past.fade(factor);
    if (!s.full) continue;

    m_simulator->fade(i, factor);
    auto &b = s.baseline;
    b.gets = less(m_pool.gets, b.gets);
    b.reads = less(m_pool.reads, b.reads);
    b.references = less(m_references, b.references);
    b.sampled.n = less(m_sampled_reads.n, b.sampled.n);
    b.sampled.weighted =
        m_sampled_reads.weighted -
        (m_sampled_reads.weighted - b.sampled.weighted) * factor;
    const auto now = Clock::now();
    b.when = now - std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(now - b.when) * factor);
  }
}

void Whatif::take(const innodb_lru_event_t &event, uint64_t hash,
                  double weight) {
  if (m_simulator == nullptr) return;
  switch (event.kind) {
    case INNODB_LRU_EVENT_READ:
      ++m_references;
      ++m_sampled_reads.n;
      m_sampled_reads.weighted += weight;
      m_simulator->read(event.page, hash, event.time_us / 1000);
      break;
    case INNODB_LRU_EVENT_CREATE:
      m_simulator->create(event.page, hash, event.time_us / 1000);
      break;
    case INNODB_LRU_EVENT_ACCESS:
      ++m_references;
      m_simulator->access(event.page, hash, event.time_us / 1000);
      break;
    case INNODB_LRU_EVENT_EVICT:
      m_simulator->evict(event.page, hash);
      break;
    case INNODB_LRU_EVENT_GONE:
      m_simulator->forget(event.page);
      break;
    case INNODB_LRU_EVENT_AWAITED:
      m_simulator->awaited(event.page, hash);
      break;
    case INNODB_LRU_EVENT_MADE_YOUNG:
      break;
  }
}

void Whatif::raise_threshold(uint64_t to) {
  if (m_simulator == nullptr) return;
  std::vector<Lru_config> configs;
  for (size_t i = 0; i < m_settings.size(); ++i) {
    auto &s = m_settings[i];
    configs.push_back(s.config);
    if (s.full) s.past.add(evidence_of(s, m_simulator->estimate(i), m_pool));
    s.full = false;
    s.baseline.set = false;
    s.window = {};
  }
  /* Not both in memory at a time. */
  m_simulator.reset();
  m_simulator = std::make_unique<Lru_simulator>(configs, m_memory);
  m_simulator->lower_threshold(to);
  follow_length();
}

std::unique_ptr<Lru_simulator> Whatif::switch_to(bool on) {
  m_on = on;
  m_lost = 0;
  auto gone = std::move(m_simulator);
  m_settings.clear();
  m_references = 0;
  m_sampled_reads = {};
  return gone;
}

/** What the figures are worth.
@param[in]  row      estimate
@param[in]  e        what it was made of
@param[in]  running  reads a second of the running configuration, simulated
@param[in]  off      difference between its simulated and its measured hit rate,
in percentage points
@return HIGH, MEDIUM, LOW or NONE */
const char *Whatif::confidence(const Whatif_row &row, const Evidence &e,
                               double running, double off) {
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

std::vector<Whatif_row> Whatif::read(double rate, Whatif_frame &frame) const {
  std::vector<Whatif_row> rows;
  if (m_simulator == nullptr) return rows;

  frame.sampled_references = m_references;
  frame.sampling_rate = rate;
  frame.since_usec = m_since;
  frame.events_lost = m_lost;

  innodb_lru_pool_t now;
  server()->pool(&now);

  /* How far the simulation of the running configuration is from what was
  measured of it. */
  double off = std::numeric_limits<double>::infinity();

  double running = 0;
  std::vector<Evidence> evidence;

  for (size_t i = 0; i < m_settings.size(); ++i) {
    const auto &s = m_settings[i];
    const auto estimate = m_simulator->estimate(i);
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

}  // namespace lru_stats
