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

/** @file include/buf0lruflush.h
 Two threads for each buffer pool instance that keep the free list filled, so
 that threads that need a page need neither search the LRU list nor write a
 page. The design note is docs/design/lru_flusher.md.

 The functions here are all that the upstream code knows of it. */

#ifndef buf0lruflush_h
#define buf0lruflush_h

#ifndef UNIV_HOTBACKUP

#include <atomic>
#include <cstdio>

#include "buf0types.h"
#include "log0types.h"
#include "my_dbug.h"
#include "univ.i"

class THD;
struct SHOW_VAR;
struct buf_block_t;
struct buf_pool_t;
class buf_page_t;

/** innodb_lru_flusher. Off: the server does what upstream does. */
extern bool srv_lru_flusher;

/** innodb_lru_flusher_free_pages: free pages of each instance that the flusher
keeps ready; 0: as many as the consumption calls for. */
extern ulong srv_lru_flusher_free_pages;

/** Reads a system variable that SET may write meanwhile. A thread that still
sees the old value does what was right a moment ago.
@param[in]  variable  the system variable
@return its value */
template <typename T>
[[nodiscard]] T buf_lru_flusher_setting(T &variable) {
  return std::atomic_ref<T>(variable).load(std::memory_order_relaxed);
}

/** Writes a system variable that buf_lru_flusher_setting() reads.
@param[out]  var_ptr  the system variable
@param[in]   save     its new value */
template <typename T>
void buf_lru_flusher_set(void *var_ptr, const void *save) {
  std::atomic_ref<T>(*static_cast<T *>(var_ptr))
      .store(*static_cast<const T *>(save), std::memory_order_relaxed);
}

/** @return true if innodb_lru_flusher is on */
[[nodiscard]] inline bool buf_lru_flusher_is_on() {
  return buf_lru_flusher_setting(srv_lru_flusher);
}

/** Starts the threads. To be called when recovery is over, by the thread that
calls buf_lru_flusher_stop() later. */
void buf_lru_flusher_start();

/** Stops the threads, and waits until they are gone. From now on, threads that
wait for a free page follow upstream's code path. */
void buf_lru_flusher_stop();

/** Waits until no thread flushes the data files at the end of a doublewrite
batch. To be called before the files are closed, when no page counts as being
written: pages no longer count while their batch ends. */
void buf_lru_flusher_await_batches();

/** Frees what buf_lru_flusher_start() made. To be called when no other thread
uses the buffer pool. */
void buf_lru_flusher_free();

/** To be called when innodb_lru_scan_depth is set by a statement, or from
mysqld-auto.cnf: from now on the flusher obeys it, see buf0lruflush.cc.
@param[in]  to_default  true if it was set to its default: it is not obeyed */
void buf_lru_flusher_scan_depth_set(bool to_default);

/** To be called when a system variable has changed. */
void buf_lru_flusher_update();

/** @return true if the flusher of this instance is at work, so that the page
cleaner has to leave the LRU list alone, and a page that an LRU batch has
written is not to be evicted by the thread that completes the write. False while
the pool is being shrunk.
@param[in]  buf_pool  buffer pool instance */
[[nodiscard]] bool buf_lru_flusher_serves(const buf_pool_t *buf_pool);

/** Tells how many pages of the flush list the page cleaner has to write itself
and cannot leave to the flusher: see Lru_preflush_policy. To be called by the
page cleaner once a second.
@param[in]  n_pages        upstream's number, which holds if the flusher,
                           innodb_adaptive_flushing or innodb_flush_sync is off.
                           It also holds if innodb_max_dirty_pages_pct_lwm is
                           neither 0 nor its default: then that is obeyed
@param[in]  pages_for_lsn  pages to write in a second to keep up with the redo
                           log
@param[in]  age            bytes of redo log since the oldest change of a dirty
                           page
@param[in]  is_old         true if the age is above innodb_adaptive_flushing_lwm
@return pages to write in this second */
[[nodiscard]] ulint buf_lru_flusher_preflush(ulint n_pages, ulint pages_for_lsn,
                                             lsn_t age, bool is_old);

/** What buf_lru_flusher_taken() does when the flusher is switched on. */
void buf_lru_flusher_taken_low(buf_pool_t *buf_pool);

/** To be called by a thread that has looked for a page in the free list. Wakes
the evictor if the list is short.
@param[in]  buf_pool  buffer pool instance */
inline void buf_lru_flusher_taken(buf_pool_t *buf_pool) {
  if (buf_lru_flusher_is_on()) buf_lru_flusher_taken_low(buf_pool);
}

/** What buf_lru_flusher_wait() does when the flusher is switched on. */
[[nodiscard]] buf_block_t *buf_lru_flusher_wait_low(buf_pool_t *buf_pool,
                                                    bool &waited);

/** Waits for a page. To be called by a thread that has found none in the free
list, and no clean one at the tail of the LRU list. It must hold no mutex of the
buffer pool; it may hold latches on pages, as the flusher never waits for one.
@param[in]      buf_pool  buffer pool instance
@param[in,out]  waited    true if the caller has waited for this page already;
                          nobody waits twice
@return a page in state BUF_BLOCK_READY_FOR_USE, or nullptr if the caller has to
write one */
[[nodiscard]] inline buf_block_t *buf_lru_flusher_wait(buf_pool_t *buf_pool,
                                                       bool &waited) {
  return buf_lru_flusher_is_on() ? buf_lru_flusher_wait_low(buf_pool, waited)
                                 : nullptr;
}

/** @return counter for Buf_lru_flusher_held, or nullptr if there is no flusher
@param[in]  buf_pool  buffer pool instance of the page */
[[nodiscard]] std::atomic<size_t> *buf_lru_flusher_held(
    const buf_pool_t *buf_pool);

/** While an object of this class lives, a page that counts as being read or
written waits for something other than the disk: for its latch, or for other
pages that the change buffer needs. The thread that holds it up may itself wait
for the evictor. So the evictor does not count on that page. */
class Buf_lru_flusher_held {
 public:
  explicit Buf_lru_flusher_held(const buf_pool_t *buf_pool)
      : m_counter(buf_lru_flusher_is_on() ? buf_lru_flusher_held(buf_pool)
                                          : nullptr) {
    if (m_counter != nullptr) m_counter->fetch_add(1);
  }
  ~Buf_lru_flusher_held() {
    if (m_counter != nullptr) m_counter->fetch_sub(1);
  }
  Buf_lru_flusher_held(const Buf_lru_flusher_held &) = delete;
  Buf_lru_flusher_held &operator=(const Buf_lru_flusher_held &) = delete;

 private:
  std::atomic<size_t> *const m_counter;
};

/** To be called when a write of an LRU batch is complete. The caller holds no
latch.
@param[in]  buf_pool  buffer pool instance */
void buf_lru_flusher_written(buf_pool_t *buf_pool);

/** To be called where upstream waits until no asynchronous write of the server
is pending. While the flusher is on, there may be no such moment for as long as
pages are being written, as it begins a batch before the last one is complete.
Then this does not wait: nobody relies on it. The pages of a tablespace that is
flushed are written when they have left the flush list, and a checkpoint flushes
the files. */
void buf_lru_flusher_await_writes();

/** Prints the section of SHOW ENGINE INNODB STATUS.
@param[in,out]  file  where to print */
void buf_lru_flusher_print(FILE *file);

/** @name Functions that show a status variable
@{ */
int buf_lru_flusher_show_pages_evicted(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_pages_flushed(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_preflush_left(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_rounds(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_wakeups(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_free_waits(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_free_wait_usec(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_free_wait_max_usec(THD *, SHOW_VAR *var, char *buff);
int buf_lru_flusher_show_free_wait_failures(THD *, SHOW_VAR *var, char *buff);
/** @} */

/** Elements of the array of InnoDB's status variables. */
#define BUF_LRU_FLUSHER_STATUS(name, figure)                                \
  {                                                                         \
    "lru_flusher_" name, (char *)&buf_lru_flusher_show_##figure, SHOW_FUNC, \
        SHOW_SCOPE_GLOBAL                                                   \
  }
#define BUF_LRU_FLUSHER_STATUS_VARIABLES                              \
  BUF_LRU_FLUSHER_STATUS("free_wait_failures", free_wait_failures),   \
      BUF_LRU_FLUSHER_STATUS("free_wait_max_us", free_wait_max_usec), \
      BUF_LRU_FLUSHER_STATUS("free_wait_us", free_wait_usec),         \
      BUF_LRU_FLUSHER_STATUS("free_waits", free_waits),               \
      BUF_LRU_FLUSHER_STATUS("pages_evicted", pages_evicted),         \
      BUF_LRU_FLUSHER_STATUS("pages_flushed", pages_flushed),         \
      BUF_LRU_FLUSHER_STATUS("preflush_left", preflush_left),         \
      BUF_LRU_FLUSHER_STATUS("rounds", rounds),                       \
      BUF_LRU_FLUSHER_STATUS("wakeups", wakeups)

/** To be called when a segment of the doublewrite file for LRU batches is free.
 */
void buf_lru_flusher_segment_free();

/** @return true if the flush of the data files at the end of a doublewrite
batch has to wait until no mutex is held; false, as upstream does it, if the
flusher is off or not there. A crash recovery waits for the flush by the mutex
of the page, before it frees the space of a file that was deleted. */
bool buf_lru_flusher_ends_batches();

/** To be called before that flush. For tests.
@param[in]  lru  true if it is of an LRU batch */
#ifdef UNIV_DEBUG
void buf_lru_flusher_before_sync(bool lru);
#else
inline void buf_lru_flusher_before_sync(bool) {}
#endif

namespace dblwr {
/** @name Defined in buf0dblwr.cc
@{ */

/** Reserves what the next LRU batch of the calling thread needs, so that the
thread does not wait for another batch while it has pages latched.
@param[in]  buf_pool_index  buffer pool instance
@return true if done, or if nothing is needed. Else
buf_lru_flusher_segment_free() is called when it is worth another try. */
[[nodiscard]] bool reserve_LRU_batch(uint32_t buf_pool_index) noexcept;

/** Gives back what the batch did not need. */
void release_LRU_batch() noexcept;

/** @return number of batches that have taken a segment and not given it back */
[[nodiscard]] uint32_t n_batches() noexcept;

/** Flushes the data files and frees the segment, if the calling thread has
completed the last write of a batch. To be called without a mutex. */
void end_batch() noexcept;
/** @} */
}  // namespace dblwr

/** @name Functions of upstream that are static there
@{ */

/** Defined in buf0lru.cc. */
bool buf_LRU_block_remove_hashed(buf_page_t *bpage, bool zip,
                                 bool ignore_content);
/** Defined in buf0lru.cc. */
void buf_LRU_block_free_hashed_page(buf_block_t *block) noexcept;

/** Defined in buf0flu.cc. */
ulint buf_free_from_unzip_LRU_list_batch(buf_pool_t *buf_pool, ulint max);

/** Defined in buf0flu.cc. */
ulint buf_flush_try_neighbors(const page_id_t &page_id, buf_flush_t flush_type,
                              ulint n_flushed, ulint n_to_flush);
/** @} */

#endif /* !UNIV_HOTBACKUP */

#endif /* buf0lruflush_h */
