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

/** @file bench/lru_lab/lru_lab_policy.h
 A policy: which pages the pool keeps. */

#ifndef LRU_LAB_POLICY_H
#define LRU_LAB_POLICY_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lru_lab_page.h"

namespace lru_lab {

class Policy {
 public:
  virtual ~Policy() = default;
  /** @param[in]  page     page
  @param[in]  created  it need not be read
  @param[in]  now      milliseconds
  @return whether the pool did not have it */
  virtual bool touch(Page page, bool created, double now) = 0;
  /** A read began; the access that waits for it follows.
  @return whether the page has come now; if not, it comes with the access */
  virtual bool arrive(Page, double) { return false; }
  /** The list has to be no longer than that before the next touch. */
  virtual void shorten(size_t) {}
  /** Pages that moved in the lists of the pool, to give an idea of the work. */
  uint64_t m_moves{0};
  /** Sum of the list's lengths when a page came in, and how many did. */
  double m_length_sum{0};
  uint64_t m_came{0};
  enum Count {
    MADE_YOUNG,
    YOUNG_TO_HEAD,
    GIFTS,
    GIFTS_USED,
    DEMOTED,
    SAVED,
    GHOSTS,
    COUNTS
  };
  std::array<uint64_t, COUNTS> m_counts{};
};

/** @param[in]  pages  of the load
@return the policy that the parameters name */
std::unique_ptr<Policy> make_policy(size_t pages);

/* Each is in the file of its name. */
std::unique_ptr<Policy> make_midpoint(size_t pages);
std::unique_ptr<Policy> make_lru(size_t pages);
std::unique_ptr<Policy> make_s3fifo(size_t pages);
std::unique_ptr<Policy> make_tinylfu(size_t pages);

}  // namespace lru_lab

#endif /* LRU_LAB_POLICY_H */
