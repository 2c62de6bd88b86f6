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

/** @file include/buf0lruwalk.h
 Goes through the pages of the buffer pool, for buf0lrutrace.cc and
 buf0lruindex.cc. */

#ifndef buf0lruwalk_h
#define buf0lruwalk_h

#include "buf0buf.h"
#include "srv0shutdown.h"
#include "srv0srv.h"
#include "sync0sync.h"

/** Calls a function for each page of the buffer pool that has an uncompressed
frame. Holds the chunks_mutex of one instance at a time, so no resize takes a
page's descriptor away. Takes the mutex of a page only where glance asks for it:
while it is held, the page does not become another one.
@param[in]  glance  called with const buf_page_t & and no latch held: the page
may become another one, or none, at any time; returns true if visit is to be
called, too
@param[in]  visit   called with buf_page_t & whose mutex is held; takes no latch
*/
template <typename Glance, typename Visit>
void buf_lru_walk(Glance &&glance, Visit &&visit) {
  if (buf_pool_ptr == nullptr ||
      srv_shutdown_state.load() >= SRV_SHUTDOWN_CLEANUP) {
    return;
  }

  for (ulint i = 0; i < srv_buf_pool_instances; ++i) {
    const auto buf_pool = buf_pool_from_array(i);
    mutex_enter(&buf_pool->chunks_mutex);

    for (ulint n = 0; n < buf_pool->n_chunks; ++n) {
      const auto &chunk = buf_pool->chunks[n];

      for (auto block = chunk.blocks; block != chunk.blocks + chunk.size;
           ++block) {
        if (block->page.state != BUF_BLOCK_FILE_PAGE) continue;
        if (!glance(static_cast<const buf_page_t &>(block->page))) continue;

        mutex_enter(&block->mutex);
        if (buf_block_get_state(block) == BUF_BLOCK_FILE_PAGE) {
          visit(block->page);
        }
        mutex_exit(&block->mutex);
      }
    }

    mutex_exit(&buf_pool->chunks_mutex);
  }
}

#endif /* buf0lruwalk_h */
