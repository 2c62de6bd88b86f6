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

/** @file include/buf0lruturnover.h
 Which access makes a page young, while innodb_old_blocks_time has its default:

 - The page has waited for that time, but no longer than a share of the time in
 which the old part is replaced. Without this limit, no page would be made young
 where the old part is replaced faster than once in innodb_old_blocks_time.
 - A page that came to the young part without an access has to wait, too. The
 boundary of the old part moves over the newest pages whenever the list gets
 longer, that is, after each refill of the free list. Upstream moves such a page
 to the start of the list on its first access. */

#ifndef buf0lruturnover_h
#define buf0lruturnover_h

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "my_dbug.h"
#include "univ.i"
#include "ut0cpu_cache.h"

class THD;
struct SYS_VAR;
struct buf_pool_t;

/** innodb_old_blocks_turnover: the share in percent; 0: upstream's
rules. See buf_lru_turnover_start(). */
extern uint srv_old_blocks_turnover;

/** innodb_old_blocks_time when nobody has set it. Any other value is obeyed. */
constexpr uint BUF_LRU_OLD_TIME_DEFAULT = 1000;

/** innodb_old_blocks_pct when nobody has set it. */
constexpr uint BUF_LRU_OLD_PCT_DEFAULT = 20;

/** Upstream's default, see buf_lru_turnover_start(). */
constexpr uint BUF_LRU_OLD_PCT_UPSTREAM = 100 * 3 / 8;

/** Milliseconds that the share comes to, at least 1, as 0 has another meaning;
UINT32_MAX: no limit, or not known yet. Each access reads it, so it has a cache
line of its own. */
struct alignas(ut::INNODB_CACHE_LINE_SIZE) Buf_lru_turnover_limit {
  std::atomic<uint32_t> ms{UINT32_MAX};
};
extern Buf_lru_turnover_limit buf_lru_turnover_limit;

/** Tells if a page that may be in the young part has never been at the start of
the list, and if that matters. It does not before the turnover is known, nor if
upstream's rules were asked for.
@param[in]  freed_page_clock  of the page; only the start of the list sets it
@param[in]  configured        innodb_old_blocks_time
@return true if an access is to be treated as one to a page of the old part */
inline bool buf_lru_youth_is_unearned(uint32_t freed_page_clock,
                                      uint configured) {
  return freed_page_clock == 0 &&
         (configured == BUF_LRU_OLD_TIME_DEFAULT ||
          DBUG_EVALUATE_IF("mutate_lru_turnover_youth_if_set", true, false)) &&
         (buf_lru_turnover_limit.ms.load(std::memory_order_relaxed) !=
              UINT32_MAX ||
          DBUG_EVALUATE_IF("mutate_lru_turnover_youth_if_off", true, false)) &&
         DBUG_EVALUATE_IF("mutate_lru_turnover_youth_for_nothing", false, true);
}

/** @param[in]  configured  innodb_old_blocks_time
@return how many milliseconds ago the first access must be */
inline uint buf_lru_turnover_threshold(uint configured) {
  if (configured != BUF_LRU_OLD_TIME_DEFAULT &&
      DBUG_EVALUATE_IF("mutate_lru_turnover_obeys_nobody", false, true)) {
    return configured;
  }
  /* For tests that must not depend on how long anything takes. */
  DBUG_EXECUTE_IF("old_blocks_wait_is_endless", return UINT32_MAX;);
  DBUG_EXECUTE_IF("old_blocks_time_is_endless", configured = UINT32_MAX;);
  return std::min<uint>(
      configured, buf_lru_turnover_limit.ms.load(std::memory_order_relaxed));
}

/** As the server starts: obeys options that somebody has set. With a time, the
turnover is 0, and without a turnover, the old part has upstream's length.
Variables that were persisted are set later.
@param[in]      time_is_set      somebody has set innodb_old_blocks_time
@param[in]      turnover_is_set  ... innodb_old_blocks_turnover
@param[in]      pct_is_set       ... innodb_old_blocks_pct
@param[in,out]  pct              the value of innodb_old_blocks_pct */
void buf_lru_turnover_start(bool time_is_set, bool turnover_is_set,
                            bool pct_is_set, uint *pct);

/** Notes that a page is being read or created. To be called before it is in the
list.
@param[in]  buf_pool  buffer pool instance; the caller holds its LRU list mutex
*/
void buf_lru_turnover_note(const buf_pool_t *buf_pool);

/** Updates the system variable innodb_old_blocks_turnover, which takes effect
at once. The server calls it with the new value, a uint. */
void innodb_old_blocks_turnover_update(THD *, SYS_VAR *, void *,
                                       const void *save);

#endif /* buf0lruturnover_h */
