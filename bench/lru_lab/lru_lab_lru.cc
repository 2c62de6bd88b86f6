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

/** @file bench/lru_lab/lru_lab_lru.cc
 policy=lru */

#include <cstddef>
#include <memory>

#include "lru_lab_lists.h"
#include "lru_lab_page.h"
#include "lru_lab_policy.h"
#include "lru_lab_whole.h"

namespace lru_lab {

namespace {

class Lru : public Whole {
 public:
  explicit Lru(size_t pages) : Whole(pages), m_list(m_nodes) {}
  bool touch(Page p, bool, double) override {
    const bool missing = m_where[p] == 0;
    if (missing) {
      came();
      if (m_list.size() >= m_frames) {
        m_where[m_list.tail()] = 0;
        m_list.erase(m_list.tail());
      }
      m_where[p] = 1;
    } else {
      m_moves++;
      m_list.erase(p);
    }
    m_list.push_front(p);
    return missing;
  }

 private:
  List m_list;
};

}  // namespace

std::unique_ptr<Policy> make_lru(size_t pages) {
  return std::make_unique<Lru>(pages);
}

}  // namespace lru_lab
