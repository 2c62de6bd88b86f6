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

/** @file bench/lru_lab/lru_lab.cc
 A policy laboratory: how many pages would be read from disk, under a load, if
 the buffer pool replaced pages in another way? See README.md.

 lru_lab NAME=VALUE...   prints what happened as one line of JSON. */

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "lru_lab_belady.h"
#include "lru_lab_loads.h"
#include "lru_lab_parameters.h"
#include "lru_lab_policy.h"

using lru_lab::Belady;
using lru_lab::is_set;
using lru_lab::make_load;
using lru_lab::make_policy;
using lru_lab::Number;
using lru_lab::number;
using lru_lab::parameters;
using lru_lab::Policy;
using lru_lab::Touch;
using lru_lab::Trace_load;
using lru_lab::words;

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const auto *equals = strchr(argv[i], '=');
    const std::string name(
        argv[i], equals == nullptr ? strlen(argv[i]) : equals - argv[i]);
    if (equals != nullptr && words.count(name) != 0) {
      words[name] = equals + 1;
    } else if (equals != nullptr && parameters.count(name) != 0) {
      parameters[name] = atof(equals + 1);
    } else {
      fprintf(stderr, "lru_lab: what is '%s'?\n", argv[i]);
      return 2;
    }
  }

  auto load = make_load();
  const bool best = words["policy"] == "belady";
  Belady belady;
  size_t counted_from = 0;
  /* For the time, which the optimum does not know. */
  std::unique_ptr<Policy> policy;
  if (best) words["policy"] = "lru";
  policy = make_policy(load->pages());

  const auto warm = static_cast<uint64_t>(number("warm"));
  const auto all = warm + static_cast<uint64_t>(number("queries"));
  double now_us = 0;
  double began_us = 0;
  uint64_t reads = 0;
  uint64_t point_reads = 0;
  uint64_t touched = 0;
  const auto report = Number("report").whole();
  uint64_t reported = 0;
  uint64_t reported_reads = 0;
  uint64_t all_reads = 0;
  uint64_t n = 0;
  size_t references = 0;
  std::vector<Touch> touches;
  const bool timed = words["trace"].empty();
  const bool lengths = is_set("lengths");
  if (lengths && timed) {
    fputs("lru_lab: lengths=1 takes the lengths from a trace; name it\n", stderr);
    return 2;
  }
  const Number read_us("read_us");
  const Number query_us("query_us");
  for (; n <= all; n++) {
    if (report > 0 && n == reported + report) {
      printf("{\"queries\": %llu, \"reads_query\": %.5f}\n",
             static_cast<unsigned long long>(n),
             static_cast<double>(all_reads - reported_reads) /
                 static_cast<double>(report));
      reported = n;
      reported_reads = all_reads;
    }
    if (n == warm) {
      began_us = now_us;
      policy->m_counts.fill(0);
      policy->m_moves = 0;
      counted_from = references;
    }
    if (n == all) break;
    touches.clear();
    if (!load->next(touches, now_us)) break;
    for (const auto &[page, created, arrives, length] : touches) {
      if (lengths) policy->shorten(length);
      const bool missing = arrives
                               ? policy->arrive(page, now_us / 1000)
                               : policy->touch(page, created, now_us / 1000);
      if (arrives && !missing) continue;
      if (best && !created) belady.note(page);
      references++;
      if (timed && missing && !created) now_us += read_us;
      if (missing && !created) all_reads++;
      if (n < warm) continue;
      touched++;
      if (!missing || created) continue;
      reads++;
      if (!load->is_scanned(page)) point_reads++;
    }
    if (timed) now_us += query_us;
  }
  const auto frames = static_cast<size_t>(
      number("frames") - number("free") * (1 + number("refill") / 100) / 2);
  if (best) reads = belady.misses(load->pages(), frames, counted_from);

  const auto queries = static_cast<double>(n - warm);
  const auto seconds = (now_us - began_us) / 1e6;
  printf(
      "{\"reads\": %llu, \"touches\": %llu, \"queries\": %.0f, "
      "\"reads_query\": %.5f, \"point_reads_query\": %.5f, \"seconds\": %.1f, "
      "\"pages\": %zu, "
      "\"length\": %.0f, \"moves_query\": %.5f",
      static_cast<unsigned long long>(reads),
      static_cast<unsigned long long>(touched), queries,
      static_cast<double>(reads) / queries,
      best ? -1 : static_cast<double>(point_reads) / queries, seconds,
      load->pages(),
      policy->m_length_sum /
          static_cast<double>(std::max<uint64_t>(1, policy->m_came)),
      static_cast<double>(policy->m_moves) / queries);
  if (const auto *trace = dynamic_cast<const Trace_load *>(load.get())) {
    printf(", \"recorded_reads\": %zu", trace->recorded_reads(warm));
  }
  const auto least = load->least_misses(frames);
  if (least >= 0) printf(", \"least\": %.5f", least);
  static const char *names[] = {"made_young", "young_to_head", "gifts",
                                "gifts_used", "demoted",       "saved",
                                "ghosts"};
  for (size_t i = 0; i < std::size(names); i++) {
    printf(", \"%s\": %.5f", names[i],
           static_cast<double>(policy->m_counts[i]) / queries);
  }
  puts("}");
  return 0;
}
