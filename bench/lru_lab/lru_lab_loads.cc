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

/** @file bench/lru_lab/lru_lab_loads.cc
 The loads: selects that are made up, and traces. */

#include "lru_lab_loads.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <unordered_map>

#include <zlib.h>

#include "lru_lab_parameters.h"

namespace lru_lab {

namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : m_engine(seed) {}
  double operator()() {
    return static_cast<double>(m_engine() >> 11) * 0x1p-53;
  }

 private:
  std::mt19937_64 m_engine;
};

/** Point selects on a B-tree of three levels, with a scan beside. Pages: root,
branches, leaves, then those of the scanned table, then created ones. */
class Select_load : public Load {
 public:
  explicit Select_load(const std::string &kind)
      : m_kind(kind == "none"      ? NONE_KIND
               : kind == "uniform" ? UNIFORM
               : kind == "zipf"    ? ZIPF
                                   : PARETO),
        m_random(static_cast<uint64_t>(number("seed"))),
        m_rows(static_cast<uint64_t>(number("rows"))),
        m_rows_page(number("rows_page")),
        m_leaves(leaf_of(m_rows) + 1),
        m_branch(static_cast<uint64_t>(number("rows_branch"))),
        m_branches(m_leaves / m_branch + 1),
        m_power(std::log(number("h")) / std::log(1 - number("h"))),
        m_rest(1 - number("exponent")),
        m_scan_first(static_cast<Page>(1 + m_branches + m_leaves)),
        m_created_first(m_scan_first + static_cast<Page>(number("scan_pages"))),
        m_created(m_created_first) {}

  size_t pages() const override {
    return m_created + 2 +
           (is_set("create_every")
                ? static_cast<size_t>((number("warm") + number("queries")) /
                                      number("create_every"))
                : 0);
  }

  bool next(std::vector<Touch> &touches, double &now_us) override {
    m_n++;
    if (m_scan_pages != 0 && m_n % m_scan_every == 0) {
      for (auto i = m_scan_chunk; i > 0; i--) {
        for (auto k = m_scan_touches; k > 0; k--) {
          touches.push_back({m_scan_first + m_scan, false});
        }
        m_scan = (m_scan + 1) % m_scan_pages;
      }
    }
    if (m_create_every != 0 && m_n % m_create_every == 0) {
      touches.push_back({m_created++, true});
    }
    if (m_recent_share != 0 && m_random() < m_recent_share) {
      /* The age is distributed exponentially. */
      const auto age =
          static_cast<Page>(-std::log(1 - m_random()) * m_recent_mean);
      if (m_created_first + age < m_created) {
        touches.push_back({m_created - 1 - age, false});
        return true;
      }
    }
    if (m_kind == NONE_KIND) return true;
    if (m_move_us != 0 && now_us >= m_move_at) {
      m_move_at = now_us + m_move_us;
      m_shift = static_cast<uint64_t>(m_random() * static_cast<double>(m_rows));
    }
    const auto leaf = leaf_of((row() + m_shift) % m_rows);
    touches.push_back({0, false});
    touches.push_back({static_cast<Page>(1 + leaf / m_branch), false});
    touches.push_back({static_cast<Page>(1 + m_branches + leaf), false});
    return true;
  }

  bool is_scanned(Page page) const override {
    return page >= m_scan_first && page - m_scan_first < m_scan_pages;
  }

  double least_misses(size_t frames) const override {
    if (m_scan_pages != 0 || m_move_us != 0 || m_create_every != 0) {
      return -1;
    }
    if (frames <= 1 + m_branches) return 1;
    frames -= 1 + m_branches;
    if (frames >= m_leaves) return 0;
    std::vector<double> weight(m_leaves);
    if (m_kind == UNIFORM) {
      return 1 - static_cast<double>(frames) / static_cast<double>(m_leaves);
    }
    double sum = 0;
    double before = 0;
    for (uint64_t r = 1; r <= m_rows; r++) {
      const auto upto = cumulative(static_cast<double>(r));
      const auto place = m_scatter ? scattered(r - 1) : r - 1;
      weight[leaf_of(place)] += upto - before;
      sum += upto - before;
      before = upto;
    }
    std::nth_element(weight.begin(),
                     weight.begin() + static_cast<ptrdiff_t>(frames),
                     weight.end(), std::greater<>());
    double hot = 0;
    for (size_t i = 0; i < frames; i++) hot += weight[i];
    return 1 - hot / sum;
  }

 private:
  enum Kind { NONE_KIND, UNIFORM, ZIPF, PARETO };

  /** A bijection of the rows. */
  uint64_t scattered(uint64_t row) const {
    /* A prime that divides no number of rows used here. */
    return row * 2654435761ULL % m_rows;
  }

  double cumulative(double r) const {
    const auto n = static_cast<double>(m_rows);
    if (m_kind == ZIPF) {
      return (std::pow(r + 1, m_rest) - 1) / (std::pow(n + 1, m_rest) - 1);
    }
    return std::pow(r / n, 1 / m_power);
  }

  uint64_t row() {
    const auto n = static_cast<double>(m_rows);
    const auto u = m_random();
    uint64_t row;
    if (m_kind == UNIFORM) {
      row = static_cast<uint64_t>(u * n);
    } else if (m_kind == ZIPF) {
      row = static_cast<uint64_t>(
          std::pow((std::pow(n + 1, m_rest) - 1) * u + 1, 1 / m_rest) - 1);
    } else { /* as sb_rand_pareto() */
      row = static_cast<uint64_t>(n * std::pow(u, m_power));
    }
    row = std::min(row, m_rows - 1);
    return m_scatter ? scattered(row) : row;
  }

  uint64_t leaf_of(uint64_t row) const {
    return static_cast<uint64_t>(static_cast<double>(row) / m_rows_page);
  }

  Kind m_kind;
  Random m_random;
  uint64_t m_rows;
  double m_rows_page;
  Page m_scan_pages = static_cast<Page>(number("scan_pages"));
  uint64_t m_scan_every = Number("scan_every").whole();
  uint64_t m_scan_chunk = Number("scan_chunk").whole();
  uint64_t m_scan_touches = Number("scan_touches").whole();
  uint64_t m_create_every = Number("create_every").whole();
  double m_recent_share = number("recent_share");
  double m_recent_mean = number("recent_mean");
  double m_move_us = number("move_s") * 1e6;
  bool m_scatter = is_set("scatter");
  uint64_t m_leaves;
  uint64_t m_branch;
  uint64_t m_branches;
  double m_power;
  double m_rest;
  Page m_scan_first;
  Page m_scan{0};
  Page m_created_first;
  Page m_created;
  uint64_t m_n{0};
  double m_move_at{0};
  uint64_t m_shift{0};
};

}  // namespace

Trace_load::Trace_load(const std::string &path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    perror(path.c_str());
    exit(2);
  }
  std::unordered_map<uint64_t, Page> numbers;
  struct {
    uint64_t page;
    uint64_t time_kind;
  } record;
  uint64_t length = 0;
  while (gzread(file, &record, sizeof(record)) ==
         static_cast<int>(sizeof(record))) {
    const auto kind = static_cast<Kind>(record.time_kind & 7);
    if (kind == LENGTH) length = record.page;
    if (kind == EVICT || kind == GONE) length--;
    if (kind > ACCESS) continue;
    const auto [it, fresh] =
        numbers.try_emplace(record.page, static_cast<Page>(numbers.size()));
    if (kind == READ) m_reads.push_back(m_events.size());
    if (kind != ACCESS) length++;
    m_events.push_back({it->second, kind, static_cast<uint32_t>(length),
                        static_cast<double>(record.time_kind >> 3)});
  }
  gzclose(file);
  m_pages = numbers.size();
}

std::unique_ptr<Load> make_load() {
  if (!words["trace"].empty()) {
    auto trace = std::make_unique<Trace_load>(words["trace"]);
    /* The first part warms. */
    const auto size = static_cast<double>(trace->size());
    parameters["warm"] = std::min(number("warm"), size / 2);
    parameters["queries"] = size - number("warm");
    return trace;
  }
  const auto &name = words["load"];
  if (name != "pareto" && name != "zipf" && name != "uniform" &&
      name != "none") {
    fprintf(stderr, "lru_lab: no load '%s'\n", name.c_str());
    exit(2);
  }
  return std::make_unique<Select_load>(name);
}

}  // namespace lru_lab
