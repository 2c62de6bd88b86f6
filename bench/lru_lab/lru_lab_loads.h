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

/** @file bench/lru_lab/lru_lab_loads.h
 Loads: a stream of queries, each a few pages. */

#ifndef LRU_LAB_LOADS_H
#define LRU_LAB_LOADS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lru_lab_page.h"

namespace lru_lab {

/** One touch of a page. */
struct Touch {
  Page page;
  bool created;
  /** It is being read, and not accessed yet. */
  bool arrives{false};
  /** Pages that the server has in its list now. */
  size_t length{SIZE_MAX};
};

class Load {
 public:
  virtual ~Load() = default;
  /** @param[out]  touches  pages of the next query
  @param[in]   now_us   time
  @return false if there are no more
  */
  virtual bool next(std::vector<Touch> &touches, double &now_us) = 0;
  virtual size_t pages() const = 0;
  /** @return true if it is a page of the table that is scanned */
  virtual bool is_scanned(Page) const { return false; }
  /** @return the part of the queries that read their leaf if the hottest
  `frames` pages are always in the pool; negative if that is not known */
  virtual double least_misses(size_t) const { return -1; }
};

/** Events that lru_record.cc has recorded. A "query" is one of them. */
class Trace_load : public Load {
 public:
  explicit Trace_load(const std::string &path);
  size_t size() const { return m_events.size(); }
  /** @return what the server has read from the event `from` on */
  size_t recorded_reads(size_t from) const {
    return static_cast<size_t>(
        m_reads.end() - std::lower_bound(m_reads.begin(), m_reads.end(), from));
  }
  size_t pages() const override { return m_pages; }
  bool next(std::vector<Touch> &touches, double &now_us) override {
    if (m_next == m_events.size()) return false;
    const auto &event = m_events[m_next++];
    now_us = event.us - m_events[0].us;
    touches.push_back({event.page, event.kind == CREATE, event.kind == READ,
                       event.length});
    return true;
  }

 private:
  /** As in buf0lrustats.h, but for the first record. */
  enum Kind : uint8_t { READ, CREATE, ACCESS, YOUNG, EVICT, GONE, LENGTH = 7 };
  struct Event {
    Page page;
    Kind kind;
    uint32_t length;
    double us;
  };
  std::vector<size_t> m_reads;
  std::vector<Event> m_events;
  size_t m_next{0};
  size_t m_pages{0};
};

/** @return the load that the parameters name. If that is a trace, sets the
parameters `warm` and `queries` to its length. */
std::unique_ptr<Load> make_load();

}  // namespace lru_lab

#endif /* LRU_LAB_LOADS_H */
