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

/** @file plugin/lru_stats/lru_whatif.h
 What INNODB_LRU_WHATIF shows: which pools are simulated, since when each
 counts, what was seen of it, and what that is worth. */

#ifndef LRU_WHATIF_H
#define LRU_WHATIF_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugin/lru_stats/lru_simulator.h"
#include "plugin/lru_stats/lru_stats.h"

namespace lru_stats {

/** A setting, and what it would do. */
struct Whatif_row {
  uint64_t pool_size;
  uint32_t old_blocks_pct;
  uint32_t old_blocks_time_ms;
  bool running;
  /** False as long as nothing can be said; then what follows, up to filled, has
  no meaning. */
  bool known;
  double hit_pct;
  double reads_per_second;
  /** Two standard errors of hit_pct. */
  double error_hit_pct;
  /** Only if running. */
  double measured_hit_pct;
  double measured_reads_per_second;
  uint64_t sampled_reads;
  /** Length of the simulated list, in percent of what it can hold. */
  double filled_pct;
  const char *confidence;
  double seconds;
};

/** What all rows share. */
struct Whatif_frame {
  uint64_t sampled_references;
  double sampling_rate;
  /** Events that nobody took out of the server in time, since the part was
  switched on. */
  uint64_t events_lost;
  int64_t since_usec;
};

/** Fewest references for which an estimate is shown. */
constexpr uint64_t LEAST_REFERENCES = 100;

/** The simulated pools. The observer protects it by data_mutex. */
class Whatif {
 public:
  /** @param[in]  pool  what the observer has last read of the server's pool */
  explicit Whatif(const innodb_lru_pool_t &pool) : m_pool(pool) {}

  void set_memory(uint64_t bytes) { m_memory = bytes; }
  void set_times(const std::vector<uint32_t> &times_ms) { m_times = times_ms; }

  /** Switches it on or off, and forgets everything.
  @return the old simulation, to be freed when nobody has to wait for that */
  std::unique_ptr<Lru_simulator> switch_to(bool on);

  /** @return true if there is a simulation */
  bool runs() const { return m_simulator != nullptr; }

  const Lru_simulator &simulator() const { return *m_simulator; }

  /** Brings the simulation in line with the server's settings.
  @param[in]  threshold  of a simulation that is started */
  void follow_settings(uint64_t threshold);

  /** Notes from when on each configuration counts, which is when its list is
  full. As long as the list has room, it counts in consecutive windows, because
  the pages that fill it would already be in a warm pool. */
  void note_baselines();

  /** Starts counting anew after events were lost, because the counts are too
  low. The lists stay as they are.
  @param[in]  dropped  how many */
  void lost(uint64_t dropped);

  /** Gives less weight to what was seen so far, so that what is shown is of
  today and not of last week. All of it is differences to a baseline, which is
  moved nearer.
  @param[in]  factor  0 to 1 */
  void fade(double factor);

  /** Takes an event.
  @param[in]  event   event
  @param[in]  hash    of its page
  @param[in]  weight  pages that this one stands for */
  void take(const innodb_lru_event_t &event, uint64_t hash, double weight);

  /** Simulates fewer pages. */
  void lower_threshold(uint64_t to) {
    if (m_simulator != nullptr) m_simulator->lower_threshold(to);
  }

  /** Simulates more pages. Nothing is known of the new ones, so the lists fill
  anew. What was seen before is kept and added to. */
  void raise_threshold(uint64_t to);

  /** Reads the estimates.
  @param[in]   rate   share of the pages that is sampled
  @param[out]  frame  what all rows share
  @return a row for each setting; empty if it is off or has seen nothing */
  std::vector<Whatif_row> read(double rate, Whatif_frame &frame) const;

 private:
  using Clock = std::chrono::steady_clock;

  /** Reads of the server that were of sampled pages. */
  struct Sampled_reads {
    uint64_t n{0};
    /** The same, each weighted by the number of reads that it stood for. */
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

    /** The same pages cause the errors of both, so errors add up, too. */
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

  /** What the rows need that the simulator does not know. */
  struct Setting {
    uint64_t pool_size;
    uint32_t pct;
    uint32_t time_ms;
    bool running;
    Lru_config config;
    Baseline baseline;
    /** The list was full, and the baseline is not before that. */
    bool full{false};
    /** What the last whole window has shown while the list is not full. */
    Evidence window{};
    /** What was seen while another share of the pages was sampled. */
    Evidence past{};
  };

  std::vector<Setting> wanted_settings() const;
  void follow_length();
  double share_of_sample(const Evidence &e, const Setting &s) const;
  Evidence evidence_of(const Setting &s, const Lru_estimate &estimate,
                       const innodb_lru_pool_t &now) const;
  Evidence shown(const Setting &s, const Lru_estimate &estimate,
                 const innodb_lru_pool_t &now) const;
  void begin(size_t i);
  void restart_counting();
  static double hit_pct_with(const Evidence &e, double reads, uint32_t extra);
  static const char *confidence(const Whatif_row &row, const Evidence &e,
                                double running, double off);

  const innodb_lru_pool_t &m_pool;

  std::unique_ptr<Lru_simulator> m_simulator;
  std::vector<Setting> m_settings;
  uint64_t m_memory = uint64_t{16} << 20;
  std::vector<uint32_t> m_times;
  bool m_on = false;
  uint64_t m_references = 0;
  Sampled_reads m_sampled_reads;
  int64_t m_since = 0;
  uint64_t m_lost = 0;
};

}  // namespace lru_stats

#endif /* LRU_WHATIF_H */
