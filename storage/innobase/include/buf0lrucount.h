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

/** @file include/buf0lrucount.h
 Hooks for code of other patches that does the same as upstream's code with a
 hook of buf0lruhook.h. If this file exists, the patch lru_stats is applied. */

#ifndef buf0lrucount_h
#define buf0lrucount_h

#ifndef UNIV_HOTBACKUP

#include <cstdint>

#include "buf0lruhook.h"

/** Counts a clean page that is about to be evicted by other means than
buf_lru_hook_evict().
@param[in]  bpage  page; the caller holds the mutexes that buf_LRU_free_page()
                   asks for, and will evict the page under them */
void buf_lru_hook_evicting(const buf_page_t *bpage);

/** Counts a wait for a free page that Buf_lru_free_wait has not measured.
@param[in]  buf_pool  buffer pool instance
@param[in]  usec      how long it was, in microseconds */
void buf_lru_hook_waited(const buf_pool_t *buf_pool, uint64_t usec);

#endif /* !UNIV_HOTBACKUP */

#endif /* buf0lrucount_h */
