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

/** @file bench/lru_lab/lru_lab_lists.h
 What policies are made of: lists of pages in the pool, and of evicted ones. */

#ifndef LRU_LAB_LISTS_H
#define LRU_LAB_LISTS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lru_lab_page.h"

namespace lru_lab {

/** Evicted pages, remembered in the order in which they left. */
class Ghosts {
 public:
  Ghosts(size_t pages, size_t most) : m_at(pages, 0), m_most(most) {}
  void add(Page page) { m_at[page] = ++m_clock; }
  /** @return whether fewer than the most have left since the page did */
  bool take(Page page) {
    const bool there = m_at[page] != 0 && m_clock - m_at[page] < m_most;
    m_at[page] = 0;
    return there;
  }

 private:
  std::vector<uint64_t> m_at;
  uint64_t m_most;
  uint64_t m_clock{0};
};

struct Node {
  Page prev{NONE}, next{NONE};
};

/** A list, head to tail; nodes are the pages'. */
class List {
 public:
  explicit List(std::vector<Node> &nodes) : m_nodes(nodes) {}
  void push_front(Page p) { insert_before(m_head, p); }
  /** Before `where`; at the end if that is NONE. */
  void insert_before(Page where, Page p) {
    const Page prev = where == NONE ? m_tail : m_nodes[where].prev;
    m_nodes[p] = {prev, where};
    (prev == NONE ? m_head : m_nodes[prev].next) = p;
    (where == NONE ? m_tail : m_nodes[where].prev) = p;
    m_size++;
  }
  void insert_after(Page where, Page p) {
    insert_before(m_nodes[where].next, p);
  }
  void erase(Page p) {
    const auto [prev, next] = m_nodes[p];
    (prev == NONE ? m_head : m_nodes[prev].next) = next;
    (next == NONE ? m_tail : m_nodes[next].prev) = prev;
    m_size--;
  }
  Page head() const { return m_head; }
  Page tail() const { return m_tail; }
  Page prev(Page p) const { return m_nodes[p].prev; }
  Page next(Page p) const { return m_nodes[p].next; }
  size_t size() const { return m_size; }

 private:
  std::vector<Node> &m_nodes;
  Page m_head{NONE}, m_tail{NONE};
  size_t m_size{0};
};

}  // namespace lru_lab

#endif /* LRU_LAB_LISTS_H */
