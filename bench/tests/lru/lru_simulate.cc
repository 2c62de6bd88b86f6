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

/** @file bench/tests/lru/lru_simulate.cc
 Feeds recorded references to the LRU simulator, for test_lru_simulator.py.

 lru_simulate FILE MEMORY THRESHOLD CONFIGS...
 Records of FILE: number of the page, or the argument (8 bytes); time in ms (4);
 operation (4), see below. CONFIGS is pages:curr_size:pct:time[:turnover],...,
 the first list for the start and the others for the operation CONFIGS. Prints
 one line of JSON for each PRINT and one at the end. */

#include "plugin/lru_stats/lru_simulator.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using lru_stats::Lru_config;
using lru_stats::Lru_simulator;

namespace {

enum Operation : uint32_t {
  READ,
  CREATE,
  ACCESS,
  FORGET,
  EVICT,
  LOWER,
  RESTART,
  CONFIGS,
  PRINT,
  FOLLOW,
  FADE,
  AWAITED
};

struct Record {
  uint64_t page;
  uint32_t ms;
  uint32_t operation;
};

std::vector<Lru_config> parse(const char *text) {
  std::vector<Lru_config> configs;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    std::istringstream in(one);
    Lru_config config{};
    char colon;
    in >> config.pages >> colon >> config.curr_size >> colon >>
        config.old_pct >> colon >> config.old_time_ms;
    if (!in) exit(2);
    in >> colon >> config.old_turnover; /* or nothing */
    configs.push_back(config);
  }
  return configs;
}

void print(const Lru_simulator &simulator, double seconds, size_t events) {
  printf(
      "{\"threshold\": %llu, \"memory\": %zu, \"pages\": %zu, "
      "\"seconds\": %.6f, \"events\": %zu, \"configs\": [",
      static_cast<unsigned long long>(simulator.threshold()),
      simulator.memory_used(), simulator.pages(), seconds, events);
  for (size_t i = 0; i < simulator.size(); i++) {
    const auto estimate = simulator.estimate(i);
    printf(
        "%s{\"reads\": %.17g, \"variance\": %.17g, \"sampled_reads\": %llu, "
        "\"filled\": %.17g, \"evicting\": %s}",
        i == 0 ? "" : ", ", estimate.reads, estimate.reads_variance,
        static_cast<unsigned long long>(estimate.sampled_reads),
        estimate.filled, estimate.evicting ? "true" : "false");
  }
  puts("]}");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  FILE *file = fopen(argv[1], "rb");
  if (file == nullptr) return 2;
  const size_t memory = strtoull(argv[2], nullptr, 10);
  const uint64_t threshold = strtoull(argv[3], nullptr, 10);

  /* What the server would not send is not part of the time taken. */
  std::vector<Record> records;
  for (Record record; fread(&record, sizeof(record), 1, file) == 1;) {
    if (record.operation > EVICT ||
        Lru_simulator::hash(record.page) < threshold) {
      records.push_back(record);
    }
  }
  fclose(file);

  Lru_simulator simulator(parse(argv[4]), memory);
  simulator.lower_threshold(threshold);
  int next_configs = 5;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  for (const auto &[page, ms, operation] : records) {
    switch (operation) {
      case READ:
        simulator.read(page, Lru_simulator::hash(page), ms);
        break;
      case AWAITED:
        simulator.awaited(page, Lru_simulator::hash(page));
        break;
      case CREATE:
        simulator.create(page, Lru_simulator::hash(page), ms);
        break;
      case ACCESS:
        simulator.access(page, Lru_simulator::hash(page), ms);
        break;
      case FORGET:
        simulator.forget(page);
        break;
      case EVICT:
        simulator.evict(page, Lru_simulator::hash(page));
        break;
      case FOLLOW: /* the time is the size of the pool */
        simulator.follow_pool(page, ms, 5 * page > 4 * ms);
        break;
      case LOWER:
        simulator.lower_threshold(page);
        break;
      case RESTART:
        simulator.restart_counting();
        break;
      case FADE: /* to so many thousandths */
        for (size_t i = 0; i < simulator.size(); i++) {
          simulator.fade(i, static_cast<double>(page) / 1000);
        }
        break;
      case CONFIGS:
        if (next_configs == argc) return 2;
        simulator.update_configs(parse(argv[next_configs++]));
        break;
      case PRINT:
        print(simulator, seconds(), records.size());
        break;
      default:
        return 2;
    }
  }
  print(simulator, seconds(), records.size());
  return 0;
}
