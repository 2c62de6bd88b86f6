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
 the name of innodb_lru_stats_interface_v6(): a plugin of another version then
 fails to load with the name of the function it misses. */

#ifndef buf0lrustats_h
#define buf0lrustats_h

#include <cstdint>

/** Version of everything in this header. */
constexpr uint32_t INNODB_LRU_STATS_VERSION = 6;

/** State and counters of one buffer pool instance.

The first four members are gauges; they are read without a latch, like those
of INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS, so two of them may belong to
slightly different moments. All others are counters, which never decrease
between two reads with the same base.

"Evicted" means here: replaced, to make room for another page. Pages that leave
the pool because their tablespace was dropped or truncated, because a read
failed or because DDL flushed and discarded them are not evicted.
Neither is the uncompressed frame of a page whose compressed copy
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
  part and near enough to its head, or the mutex of the list was taken. Not
  counted but derived from the number of page gets, see buf_lru_stats_not_old().
*/
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

/** What happened to a sampled page. */
enum innodb_lru_event_kind_t : uint8_t {
  /** It came into the list at the start of the old part: a read began. */
  INNODB_LRU_EVENT_READ = 0,
  /** It came into the list at its head: a new page, nothing was read. */
  INNODB_LRU_EVENT_CREATE = 1,
  /** It was accessed in a way that may move it. */
  INNODB_LRU_EVENT_ACCESS = 2,
  /** It was moved from the old part to the head. */
  INNODB_LRU_EVENT_MADE_YOUNG = 3,
  /** It was evicted. */
  INNODB_LRU_EVENT_EVICT = 4,
  /** It left the pool, but not to make room: its table was dropped, truncated,
  rebuilt or discarded, or DDL gave it up. */
  INNODB_LRU_EVENT_GONE = 5,
  /** A read of it is complete, and a thread waited for that: it was not read
  ahead. */
  INNODB_LRU_EVENT_AWAITED = 6
};

/** An event. The events of one thread come in their order; those of two threads
are to be sorted by their time. */
struct innodb_lru_event_t {
  /** Tablespace id in the upper 32 bits, page number in the lower. */
  uint64_t page;
  /** Microseconds of the clock that innodb_old_blocks_time is measured with. */
  uint64_t time_us;
  /** INNODB_LRU_INDEX_... number of the page's index, 0 if it is not known.
  Only in EVICT, and only while indexes are counted. */
  uint16_t index;
  /** Buffer pool instance. */
  uint8_t pool_id;
  innodb_lru_event_kind_t kind;
};

/** All pages whose hash is lower than a threshold of 0 to 2^32 are sampled.
@param[in]  page  as in innodb_lru_event_t
@return the upper half of MurmurHash3's 64-bit finalizer */
constexpr uint32_t innodb_lru_page_hash(uint64_t page) {
  page ^= page >> 33;
  page *= 0xff51afd7ed558ccdULL;
  page ^= page >> 33;
  page *= 0xc4ceb9fe1a85ec53ULL;
  page ^= page >> 33;
  return static_cast<uint32_t>(page >> 32);
}

/** The innodb_old_blocks_time that innodb_old_blocks_turnover limits. */
constexpr uint32_t INNODB_LRU_TURNOVER_TIME_MS = 1000;

/** All of the buffer pool, its instances added up, and its settings. Read
without a latch. */
struct innodb_lru_pool_t {
  /** innodb_buffer_pool_size: bytes, page descriptors included. */
  uint64_t size;
  /** Pages that the pool has memory for. */
  uint64_t curr_pages;
  /** Pages in the LRU lists. */
  uint64_t lru_pages;
  /** Pages in the free lists. */
  uint64_t free_pages;
  /** Page gets since the start of the server. */
  uint64_t gets;
  /** Pages read since the start of the server, ahead or not. */
  uint64_t reads;
  /** innodb_old_blocks_pct. */
  uint32_t old_blocks_pct;
  /** innodb_old_blocks_time. */
  uint32_t old_blocks_time_ms;
  /** innodb_old_blocks_turnover, 0 in a server without it. */
  uint32_t old_blocks_turnover;
  /** Page gets that the read of a leaf page causes besides its own: 1 if
  the bitmap page of the change buffer is looked at, 0 if the change buffer is
  known to be empty. */
  uint32_t gets_of_a_read;
};

/** What is known of an index, or of pages that belong to none. The pointers are
valid during the call that passes them. */
struct innodb_lru_index_t {
  /** Tablespace and index; ~0 where there is none. */
  uint64_t space_id;
  uint64_t index_id;
  /** Names, nullptr where there is none or it is not known. A name in
  parentheses is that of pages which belong to no index. */
  const char *schema_name;
  const char *table_name;
  const char *partition_name;
  const char *index_name;
  /** Number that innodb_lru_event_t::index has. */
  uint16_t number;
  /** Gauges: pages now in the young part, in the old part, and dirty ones in
  both. A list without an old part is young. Pages of which only the compressed
  copy is in the pool are missing. */
  uint64_t young_pages;
  uint64_t old_pages;
  uint64_t dirty_pages;
  /** Pages read, and those of them that nobody waited for. */
  uint64_t read;
  uint64_t read_ahead;
  /** As innodb_lru_stats_t has them. */
  uint64_t made_young;
  uint64_t not_made_young;
  uint64_t evicted_old;
  uint64_t evicted_young;
  uint64_t evicted_untouched;
  /** Bytes of the pages read, as they are on disk. */
  uint64_t read_bytes;
  /** What count_index_reread() has added up. */
  uint64_t read_again;
};

/** The interface. Every function may be called by any thread that holds no
InnoDB latch. Unless stated otherwise, a function takes at most one mutex that
nothing else in the server takes, and no InnoDB latch: it holds up no buffer
pool operation. Those about indexes may wait for a resize of the pool. */
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

  /** Makes this moment the base INNODB_LRU_STATS_SINCE_RESET of all instances.
  Touches no other statistics of InnoDB, and not INNODB_LRU_STATS_SINCE_START.
  */
  void (*reset)();

  /** Reads the state of the whole pool. Takes no mutex. All zero when there is
  no buffer pool. */
  void (*pool)(innodb_lru_pool_t *pool);

  /** Sets which pages are traced; 0, the initial value, is none. When the
  threshold is raised, the function looks through the pages in the pool. It
  holds the chunks_mutex of each instance in turn, which resizing takes, and for
  a moment the mutex of each page that comes to be traced.
  @param[in]  threshold  0 to 2^32
  @return false if there is no memory for the events */
  bool (*set_trace)(uint64_t threshold);

  /** Takes events out. One thread at a time may do that. Takes no mutex.
  @param[out]     events   the events
  @param[in]      max      number of elements of events
  @param[in,out]  dropped  is added to: events lost since the last call, as
                           nobody took them out in time
  @return number of events */
  uint32_t (*drain)(innodb_lru_event_t *events, uint32_t max,
                    uint64_t *dropped);

  /** Starts counting by index with all counters zero, or stops.
  @param[in]  on  true to start
  @return false if there is no memory */
  bool (*count_indexes)(bool on);

  /** Adds to innodb_lru_index_t::read_again.
  @param[in]  index  as in innodb_lru_event_t
  @param[in]  n      pages */
  void (*count_index_reread)(uint16_t index, uint64_t n);

  /** Reads all indexes that have pages in the pool or anything counted. Looks
  through the pool, holding the chunks_mutex of one instance at a time, and the
  mutexes of pages whose index is not known yet. Then copies names from the
  dictionary cache, whose mutex it holds for some tables at a time, and, for
  tables that are not there, from the shards of the tablespace cache, whose
  mutexes it holds one at a time. Waits for no metadata lock: a table that DDL
  changes meanwhile has its old or its new name, or none.
  @param[in]   row         called for each, with no latch held; true ends it
  @param[in]   context     its first argument
  @param[out]  since_usec  what was counted from: microseconds since 1970 UTC
  @return false if there is no memory */
  bool (*read_indexes)(bool (*row)(void *context,
                                   const innodb_lru_index_t &index),
                       void *context, int64_t *since_usec);

  /** Reuses the room of indexes that have left the pool, when little is left;
  what they counted goes to "(other)". To be called every few seconds. Looks
  through the pool as read_indexes() does, if it does anything. */
  void (*reclaim_indexes)();
};

extern "C" {
/** @return the interface; never nullptr */
const innodb_lru_stats_interface_t *innodb_lru_stats_interface_v6();
}

#endif /* buf0lrustats_h */
