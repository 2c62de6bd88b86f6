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

/** @file include/buf0lruindex.h
 What the LRU lists do, counted by index, see buf0lruindex.cc. */

#ifndef buf0lruindex_h
#define buf0lruindex_h

#include <atomic>
#include <cstdint>

#include "buf0lrustats.h"

class buf_page_t;

/** True while there is anything to count. */
extern std::atomic<bool> buf_lru_index_on;

/** What the hooks count; see innodb_lru_index_t. */
enum class Lru_index_counter : unsigned {
  read,
  read_ahead,
  made_young,
  not_made_young,
  evicted_old,
  evicted_young,
  evicted_untouched,
  read_bytes,
  N
};

/** Number of the index that a page belongs to. Determines it at the first call
for the page, and keeps it in Buf_lru_history. Takes no InnoDB latch. For a new
index, takes one mutex, which is held no longer than it takes to enter an index.
@param[in]  bpage  page; its frame can be read: the caller has it buffer-fixed,
or holds its mutex
@param[in]  fixed  true if the caller has it buffer-fixed
@return number, never 0: (other) if the page is still being read or there is no
room */
uint16_t buf_lru_index_of(const buf_page_t *bpage, bool fixed);

/** The same for a page that the caller has just read, and that nobody else has
seen, whatever its state says.
@param[in]  bpage  page
@return number, never 0 */
uint16_t buf_lru_index_of_read(const buf_page_t *bpage);

/** Counts. Does nothing if the index number is 0.
@param[in]  index    number of an index
@param[in]  pool_id  buffer pool instance of the page
@param[in]  counter  what is counted
@param[in]  n        how many */
void buf_lru_index_count(uint16_t index, uint32_t pool_id,
                         Lru_index_counter counter, uint64_t n = 1);

/** innodb_lru_stats_interface_t::count_indexes */
bool buf_lru_index_set(bool on);

/** innodb_lru_stats_interface_t::count_index_reread */
void buf_lru_index_reread(uint16_t index, uint64_t n);

/** innodb_lru_stats_interface_t::read_indexes */
bool buf_lru_index_read(bool (*row)(void *context,
                                    const innodb_lru_index_t &index),
                        void *context, int64_t *since_usec);

/** innodb_lru_stats_interface_t::reclaim_indexes */
void buf_lru_index_reclaim();

#endif /* buf0lruindex_h */
