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

/** @file include/buf0lrustats.h
 What the LRU list of each buffer pool instance has done: the interface that
 the server gives to the plugin lru_stats.

 This header is self-contained on purpose. The plugin includes nothing else of
 InnoDB, so it does not depend on the flags InnoDB was compiled with. Whoever
 changes anything in here must raise INNODB_LRU_STATS_VERSION and the number in
 the name of innodb_lru_stats_interface_v1(): a plugin of another version then
 fails to load with the name of the function it misses. */

#ifndef buf0lrustats_h
#define buf0lrustats_h

#include <cstdint>

/** Version of everything in this header. */
constexpr uint32_t INNODB_LRU_STATS_VERSION = 1;

/** State and counters of one buffer pool instance.

The first four members are gauges; they are read without a latch, like those
of INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS, so two of them may belong to
slightly different moments. All others are counters, which never decrease
between two reads with the same base.

"Evicted" means here: replaced, to make room for another page. Pages that leave
the pool because their tablespace was dropped or truncated, because a BLOB was
freed, because a read failed or because DDL flushed and discarded them are not
evicted. Neither is the uncompressed frame of a page whose compressed copy
stays in the pool. */
struct innodb_lru_stats_t {
  /** Pages in the LRU list. */
  uint64_t lru_len;

  /** Pages in the old part of the LRU list; 0 as long as the list is shorter
  than 512 pages, when it has no old part. */
  uint64_t old_len;

  /** Pages in the free list. */
  uint64_t free_len;

  /** Dirty pages (length of the flush list). */
  uint64_t flush_list_len;

  /** Pages moved from the old part to the head of the list. Upstream's
  buf_pool_stat_t::n_pages_made_young. */
  uint64_t made_young;

  /** Accesses to a page of the old part which left it there because its first
  access was less than innodb_old_blocks_time ago; the first access itself is
  one of them. Upstream's buf_pool_stat_t::n_pages_not_made_young, which is not
  protected and may lose a few under concurrency. */
  uint64_t not_made_young_time;

  /** Those of not_made_young_time which were the first access of their page
  since it was read in. */
  uint64_t not_made_young_first;

  /** Page accesses since the first eviction which left their page where it was,
  for any other reason than innodb_old_blocks_time: the page was in the young
  part and near enough to its head. Not counted but derived from the number of
  page gets, see buf_lru_stats_not_old(). */
  uint64_t not_made_young_not_old;

  /** Pages moved to the head of the list that were in the young part already
  but had drifted more than a quarter of it towards the old part. */
  uint64_t young_to_head;

  /** Pages that went from the young part to the old part because the boundary
  between the two moved over them. */
  uint64_t young_to_old;

  /** Pages evicted from the old part. */
  uint64_t evicted_old;

  /** Those of evicted_old which had been in the old part ever since they were
  read in. */
  uint64_t evicted_old_never_young;

  /** Those of evicted_old_never_young which were accessed exactly once. Only
  accesses after the first eviction are seen, because before it InnoDB does not
  look at the place of a page either. */
  uint64_t evicted_old_accessed_once;

  /** Pages evicted from the young part, or from a list without an old part. */
  uint64_t evicted_young;

  /** Pages evicted, from either part, that were never accessed: read ahead in
  vain. Upstream's n_ra_pages_evicted counts those that user threads evict and
  misses those that the page cleaner evicts. */
  uint64_t ra_evicted;

  /** Pages whose write was started by an LRU batch of the page cleaner, with
  the neighbors written along (innodb_flush_neighbors). */
  uint64_t flushed_cleaner;

  /** Pages written from the tail of the list by threads that needed a free
  page. */
  uint64_t flushed_user;

  /** Scans of the LRU list, or of its list of decompressed pages, by threads
  that needed a free page. */
  uint64_t user_scans;

  /** Pages that these scans looked at. */
  uint64_t user_scanned;

  /** How often a thread that needed a free page found the free list empty. */
  uint64_t free_waits;

  /** Microseconds from finding the free list empty until having a page,
  added up over all threads: scans, page writes and sleeps. */
  uint64_t free_wait_usec;

  /** The longest of these waits that has ended, in microseconds. */
  uint64_t free_wait_max_usec;
};

/** What counters are counted from. */
enum innodb_lru_stats_base_t : uint32_t {
  /** The start of the server. */
  INNODB_LRU_STATS_SINCE_START = 0,
  /** The last reset(); the start of the server if there was none. */
  INNODB_LRU_STATS_SINCE_RESET = 1
};

/** The interface. Every function may be called by any thread, which may not
hold an InnoDB latch. They take one mutex that nothing else in the server
takes, and no InnoDB latch: they neither wait for a buffer pool operation, be
it a resize, nor hold one up. */
struct innodb_lru_stats_interface_t {
  /** INNODB_LRU_STATS_VERSION of the server. */
  uint32_t version;

  /** sizeof(innodb_lru_stats_t) in the server. */
  uint32_t row_size;

  /** Number of buffer pool instances, 1 to 64; 0 when there is no buffer pool,
  in the course of startup and shutdown. It does not change in between. */
  uint32_t (*instances)();

  /** Reads all instances at once: no reset() happens between two of them.
  @param[in]   base        what to count from
  @param[out]  rows        one for each instance, in the order of POOL_ID
  @param[in]   n_rows      number of elements of rows
  @param[out]  since_usec  what was counted from: microseconds since 1970 UTC
  @return number of rows filled: the lesser of n_rows and instances() */
  uint32_t (*read)(innodb_lru_stats_base_t base, innodb_lru_stats_t *rows,
                   uint32_t n_rows, int64_t *since_usec);

  /** Makes now the base INNODB_LRU_STATS_SINCE_RESET of all instances. Touches
  no other statistics of InnoDB, and not INNODB_LRU_STATS_SINCE_START. */
  void (*reset)();
};

extern "C" {
/** @return the interface; never nullptr */
const innodb_lru_stats_interface_t *innodb_lru_stats_interface_v1();
}

#endif /* buf0lrustats_h */
