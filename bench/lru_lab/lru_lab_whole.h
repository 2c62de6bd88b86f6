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

/** @file bench/lru_lab/lru_lab_whole.h
 What the policies of constant length share. */

#ifndef LRU_LAB_WHOLE_H
#define LRU_LAB_WHOLE_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lru_lab_lists.h"
#include "lru_lab_parameters.h"
#include "lru_lab_policy.h"

namespace lru_lab {

/** Common to the policies of constant length. */
class Whole : public Policy {
 public:
  explicit Whole(size_t pages)
      : m_nodes(pages),
        m_where(pages, 0),
        m_frames(static_cast<size_t>(number("frames") -
                                     number("free") *
                                         (1 + number("refill") / 100) / 2)) {}

 protected:
  void came() {
    m_came++;
    m_length_sum += static_cast<double>(m_frames);
  }
  std::vector<Node> m_nodes;
  std::vector<uint8_t> m_where;  // 0: not in the pool
  size_t m_frames;
};

}  // namespace lru_lab

#endif /* LRU_LAB_WHOLE_H */
