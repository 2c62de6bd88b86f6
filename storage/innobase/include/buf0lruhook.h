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

/** @file include/buf0lruhook.h
 Hooks in the buffer pool code: there buf0lrustats.cc counts, buf0lruindex.cc
 counts by index, and buf0lrutrace.cc records sampled pages.

 An access to a page that is in the pool and young passes one of them, which
 tests a byte. The others are in branches in which upstream counts, moves,
 reads, evicts or writes a page, or in which a thread found no free page. No
 hook takes a latch of InnoDB or changes what InnoDB does; those that wrap a
 call of upstream's code do what that code does. The first page of an index
 takes one mutex of our own for a moment, see buf_lru_index_of(). */

#ifndef buf0lruhook_h
#define buf0lruhook_h

#ifndef UNIV_HOTBACKUP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

class buf_page_t;
struct buf_pool_t;

/** What the LRU code has seen of one page since it was read in. Four bytes in
what was padding of buf_page_t.

Set by threads that have the page buffer-fixed, or that hold the LRU list
mutex; read under the LRU list mutex when the page is evicted, at which time
nobody has it buffer-fixed. Two simultaneous accesses may be taken for one, so
relaxed loads and stores will do. */
class Buf_lru_history {
 public:
  Buf_lru_history(const Buf_lru_history &other)
      : m_state(other.get()),
        m_sampled(other.sampled() ? 1 : 0),
        m_index(other.index()) {}
  Buf_lru_history &operator=(const Buf_lru_history &) = delete;

  /** The page is new in the pool. */
  void reset() {
    set(UNSEEN);
    set_sampled(false);
    set_index(0);
  }

  /** Notes an access that did not make the page young: it is in the old part,
  or waits in the young one.
  @return true if it is the first one */
  bool note_access() {
    const auto state = get();
    if (state < ACCESSED_AGAIN) set(state + 1);
    return state == UNSEEN;
  }

  /** Notes that the page is, or was until now, in the young part. */
  void note_young() {
    if (get() != YOUNG) set(YOUNG);
  }

  /** @return true if the page was in the young part at some time */
  bool was_young() const { return get() == YOUNG; }

  /** @return true if the page was accessed more than once, or was young */
  bool accessed_again() const { return get() >= ACCESSED_AGAIN; }

  /** @return true if accesses to the page are traced, see buf0lrutrace.cc. An
  access to a young page looks at nothing else here. */
  bool sampled() const {
    return m_sampled.load(std::memory_order_relaxed) != 0;
  }

  void set_sampled(bool sampled) {
    m_sampled.store(sampled ? 1 : 0, std::memory_order_relaxed);
  }

  /** Notes when an access was traced.
  @param[in]  tick  time in any unit
  @return true if that was in the same tick as the last one; may err once in 255
  ticks */
  bool note_tick(uint64_t tick) {
    const auto value = static_cast<uint8_t>(tick % 255 + 1);
    if (m_sampled.load(std::memory_order_relaxed) == value) return true;
    m_sampled.store(value, std::memory_order_relaxed);
    return false;
  }

  /** Index of a page that is being created: its frame says nothing yet. */
  static constexpr uint16_t NEW = 0xFFFF;

  /** @return number of the page's index in buf0lruindex.cc, 0 if not known */
  uint16_t index() const { return m_index.load(std::memory_order_relaxed); }

  void set_index(uint16_t index) {
    m_index.store(index, std::memory_order_relaxed);
  }

 private:
  enum : uint8_t { UNSEEN = 0, ACCESSED = 1, ACCESSED_AGAIN = 2, YOUNG = 3 };

  uint8_t get() const { return m_state.load(std::memory_order_relaxed); }
  void set(uint8_t state) { m_state.store(state, std::memory_order_relaxed); }

  std::atomic<uint8_t> m_state;
  /** 0 if not sampled, see note_tick(). */
  std::atomic<uint8_t> m_sampled{0};
  std::atomic<uint16_t> m_index{0};
};

static_assert(sizeof(Buf_lru_history) == 4, "must fit into padding");

/** Notes a page that has come into the LRU list.
@param[in,out]  bpage  page; the caller holds the LRU list mutex
@param[in]      old    true if it was read, false if it was created */
void buf_lru_hook_added(buf_page_t *bpage, bool old);

/** Notes a page that is being created: its frame still has what was in it, so
its index is not known. Of a page that comes into the pool, before others can
see it. Of one that is in the pool already, not before the caller has latched
it: getting the page is an access, which would determine the index.
@param[in]  bpage  page, buffer-fixed by the caller until its header is written
*/
void buf_lru_hook_created(const buf_page_t *bpage);

/** Notes an access to a page whose Buf_lru_history::sampled() is true.
@param[in]  bpage  page, buffer-fixed by the caller */
void buf_lru_hook_accessed(const buf_page_t *bpage);

/** Notes a page whose read from disk has succeeded.
@param[in]  bpage  page; the caller holds its mutex, and nobody has seen it yet
@param[in]  ahead  true if nobody waits for the read: it was asynchronous */
void buf_lru_hook_read(const buf_page_t *bpage, bool ahead);

/** Counts an access that does not make its page young: to a page of the old
part, or to one that waits in the young part.
@param[in]  bpage  page, buffer-fixed by the caller */
void buf_lru_hook_not_made_young(const buf_page_t *bpage);

/** Counts a page that is about to move to the head of the list.
@param[in]  bpage  page; the caller holds the LRU list mutex */
void buf_lru_hook_make_young(buf_page_t *bpage);

/** Counts a page that the boundary has just turned from young to old.
@param[in]  bpage  page; the caller holds the LRU list mutex */
void buf_lru_hook_young_to_old(buf_page_t *bpage);

/** Notes a page that has just been taken out of the list. This is the only
place where pages leave it: evicted, freed with their table, given up by DDL, or
because their read failed.
@param[in]  bpage  page; the caller holds the LRU list mutex and its mutex
@param[in]  zip    false if the compressed copy of an uncompressed page stays */
void buf_lru_hook_removed(const buf_page_t *bpage, bool zip);

/** To be called where upstream zeroes its own statistics: at startup, when the
pages that recovery has read are thrown out and before any session can have
read a counter.
@param[in]  buf_pool  buffer pool instance */
void buf_lru_hook_invalidated(const buf_pool_t *buf_pool);

/** Evicts a clean page: buf_LRU_free_page(bpage, true), and counts.
@param[in]  bpage  page; mutexes as for buf_LRU_free_page()
@return what buf_LRU_free_page() returns */
[[nodiscard]] bool buf_lru_hook_evict(buf_page_t *bpage);

/** Frees a page that has just been written: buf_LRU_free_page(bpage, true), and
counts an eviction if it was written to be evicted.
@param[in]  bpage         page; mutexes as for buf_LRU_free_page()
@param[in]  by_lru_batch  true if the write was of type BUF_FLUSH_LRU
@return what buf_LRU_free_page() returns */
[[nodiscard]] bool buf_lru_hook_free_written(buf_page_t *bpage,
                                             bool by_lru_batch);

/** Writes a page, to evict it, for a thread that needs a free page:
buf_flush_page(buf_pool, bpage, BUF_FLUSH_SINGLE_PAGE, true), and counts.
@param[in]  buf_pool  buffer pool instance
@param[in]  bpage     page; mutexes as for buf_flush_page()
@return what buf_flush_page() returns */
[[nodiscard]] bool buf_lru_hook_flush_user(buf_pool_t *buf_pool,
                                           buf_page_t *bpage);

/** Counts the pages of an LRU batch of the page cleaner.
@param[in]  buf_pool  buffer pool instance
@param[in]  n         number of pages whose write was started */
void buf_lru_hook_flushed_cleaner(const buf_pool_t *buf_pool, size_t n);

/** Counts a scan by a thread that needs a free page.
@param[in]  buf_pool  buffer pool instance
@param[in]  n         number of pages looked at */
void buf_lru_hook_user_scan(const buf_pool_t *buf_pool, size_t n);

/** Measures how long a thread goes without the free page that it asked for. */
class Buf_lru_free_wait {
 public:
  explicit Buf_lru_free_wait(const buf_pool_t *buf_pool)
      : m_buf_pool(buf_pool) {}
  Buf_lru_free_wait(const Buf_lru_free_wait &) = delete;
  Buf_lru_free_wait &operator=(const Buf_lru_free_wait &) = delete;

  ~Buf_lru_free_wait() {
    if (m_waiting) end();
  }

  /** The free list was empty. Only the first call for a page counts. */
  void begin() {
    if (m_waiting) return;
    m_waiting = true;
    m_start = std::chrono::steady_clock::now();
  }

 private:
  /** Counts the wait. */
  void end() const;

  const buf_pool_t *m_buf_pool;
  bool m_waiting{};
  std::chrono::steady_clock::time_point m_start;
};

#endif /* !UNIV_HOTBACKUP */

#endif /* buf0lruhook_h */
