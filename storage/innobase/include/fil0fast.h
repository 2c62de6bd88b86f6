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

/** @file include/fil0fast.h
 Page I/O without the mutex of the tablespace's shard: the functions that
 fil0fil.cc calls. Their parts are in fil0gate.h (which I/O may use a file, and
 whether it is to be synced), fil0lookup.h (finding tablespaces) and
 fil0written.h (finding files to sync). */

#ifndef fil0fast_h
#define fil0fast_h

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fil0gate.h"
#include "my_dbug.h"

class Encryption;
struct Encryption_metadata;
struct fil_node_t;
struct fil_space_t;

/** Reads a member that another thread may publish by fil_fast_publish().
@param[in]  value  the member
@return its value; the caller also sees what was written before it was published
*/
template <typename T>
[[nodiscard]] T fil_fast_load(const T &value) noexcept {
  return std::atomic_ref<T>(const_cast<T &>(value))
      .load(std::memory_order_acquire);
}

/** Publishes a value of a member that others read by fil_fast_load().
@param[out]  member  the member
@param[in]   value   its value */
template <typename T>
void fil_fast_publish(T &member, T value) noexcept {
  std::atomic_ref<T>(member).store(value, std::memory_order_release);
}

#ifndef UNIV_HOTBACKUP

class buf_page_t;
class IORequest;
class page_id_t;
struct SHOW_VAR;
class THD;

/** innodb_page_io_fast_path: whether page I/O goes without the shard mutex.
Read-only after start-up. */
extern bool srv_page_io_fast_path;

/** Link of a tablespace in the table that is searched without a mutex. */
using Fil_space_link = std::atomic<fil_space_t *>;

/* If innodb_page_io_fast_path is OFF, the following functions do nothing, and
return the value that makes the caller follow upstream's code path. */

/** Lets lookups find a tablespace. Needs the shard mutex.
@param[in,out]  space  tablespace, with its id set */
void fil_fast_space_added(fil_space_t *space);

/** Hides a tablespace from new lookups. Lookups in progress may still have it.
Needs the shard mutex. May be called again.
@param[in,out]  space  tablespace */
void fil_fast_space_removed(fil_space_t *space);

/** To be called before the memory of a tablespace is freed: waits until no
lookup has it. Such a lookup takes microseconds at most and never waits for
anything, so this may be called with any mutex held.
@param[in,out]  space  tablespace */
void fil_fast_space_freed(fil_space_t *space);

/** Looks up a tablespace. As with fil_space_get(), the caller must make sure
that it is not freed after this returns.
@param[in]   space_id  tablespace ID
@param[out]  space     the tablespace, nullptr if there is none
@return false if the caller has to look it up with the mutex */
[[nodiscard]] bool fil_fast_get(uint32_t space_id, fil_space_t *&space);

/** Reads the flags of a tablespace.
@param[in]   space_id  tablespace ID
@param[out]  flags     its flags
@return false if the caller has to do it with the mutex: no such tablespace, or
its size is not known yet */
[[nodiscard]] bool fil_fast_get_flags(uint32_t space_id, uint32_t &flags);

/** Acquires a tablespace as fil_space_acquire() does.
@param[in]  space_id  tablespace ID
@return the tablespace; nullptr if the caller has to try it with the mutex */
[[nodiscard]] fil_space_t *fil_fast_acquire(uint32_t space_id);

/** Releases a tablespace.
@param[in,out]  space  tablespace from fil_space_acquire()
@return false if the caller has to do it with the mutex */
[[nodiscard]] bool fil_fast_release(fil_space_t *space);

/** Pins the file of a page for one I/O.
@param[in]      req      the request
@param[in]      page_id  page
@param[in]      bpage    descriptor of the page, which is I/O-fixed by the
                         caller and so holds a reference to its tablespace;
                         nullptr if there is none
@param[in,out]  page_no  in: number of the page in the tablespace; out, if a
                         file is returned: number of the page in that file
@return the file; nullptr if the caller has to do it with the mutex, and gets
the error there if there is one */
[[nodiscard]] fil_node_t *fil_fast_begin_io(const IORequest &req,
                                            const page_id_t &page_id,
                                            const buf_page_t *bpage,
                                            uint32_t &page_no);

/** Finishes an I/O, whichever way it was begun. The file may be closed and its
tablespace freed right after, unless the caller has a page of it I/O-fixed.
@param[in,out]  file  file, pinned
@param[in]      req   the request
@return false if the caller has to do it with the mutex */
[[nodiscard]] bool fil_fast_end_io(fil_node_t *file, const IORequest &req);

/** Lets I/O in, if nothing keeps it out: the file is open, its tablespace is
not stopped and the file not about to be renamed. Needs the shard mutex.
@param[in,out]  file  file */
void fil_fast_open_gate(fil_node_t *file);

/** A file was closed. Needs the shard mutex.
@param[in,out]  file  file, with its gate shut */
void fil_fast_file_closed(fil_node_t *file);

#ifdef UNIV_DEBUG
/** For tests: somebody waits until the I/O of a tablespace has finished.
@param[in]  space_id  its ID */
void fil_fast_waits_for_pins(uint32_t space_id);
#endif /* UNIV_DEBUG */

/** fil_space_t::stop_new_ops was set. Needs the shard mutex.
@param[in,out]  space  tablespace */
void fil_fast_stop(fil_space_t *space);

/** fil_space_t::stop_new_ops was reset. Needs the shard mutex.
@param[in,out]  space  tablespace */
void fil_fast_restart(fil_space_t *space);

/* The following three do the same whether innodb_page_io_fast_path is ON or
 * OFF.
 */

/** Sets key and type of a tablespace's encryption so that I/O, which reads them
without a latch, sees no type without its key. Needs the shard mutex.
@param[in,out]  space     tablespace
@param[in]      metadata  type and key */
void fil_fast_set_encryption(fil_space_t *space,
                             const Encryption_metadata &metadata);

/** Removes key and type. Needs the shard mutex. No page of the tablespace may
be encrypted on disk, or be written encrypted: its encryption_op_in_progress is
DECRYPTION.
@param[in,out]  space  tablespace */
void fil_fast_reset_encryption(fil_space_t *space);

/** Makes an I/O use the key of its tablespace. The type is not checked again:
it may have been removed meanwhile, in which case the I/O is a read of a page
that is not encrypted.
@param[in]   space       tablespace, which had a key when the caller checked
@param[out]  encryption  of the I/O */
void fil_fast_use_encryption(const fil_space_t *space, Encryption &encryption);

/** Syncs a tablespace, as fil_flush() does.
@param[in]  space_id  tablespace ID
@return false if the caller has to do it with the mutex */
[[nodiscard]] bool fil_fast_flush(uint32_t space_id);

/** Syncs a file which the caller has pinned, so that all writes to it that are
finished now are durable. Call it without the shard mutex.
@param[in,out]  file  file */
void fil_fast_flush_pinned(fil_node_t *file);

/** Syncs all tablespaces that were written, as fil_flush_file_spaces() does.
@return false if the caller has to do it with the mutex */
[[nodiscard]] bool fil_fast_flush_all();

/** Function of the status variables Innodb_page_io_fast_path_*.
@param[out]  var  gets the array of variables
@return 0 */
int fil_fast_show_status(THD *, SHOW_VAR *var, char *);

/** Gives files at the end of the LRU list of open files another round if they
were used since the last call. An I/O, with the mutex or without, only marks its
file; this function moves it. Needs the shard mutex.
@param[in,out]  list  the list, most recently opened or moved first */
template <typename List>
void fil_fast_age_LRU(List &list) {
  if (!srv_page_io_fast_path) return;
  DBUG_EXECUTE_IF("mutate_fil_files_not_aged", return;);

  for (auto n = list.get_length(); n > 0; --n) {
    auto file = list.last_element;
    if (!file->io_gate().test_and_clear_used()) break;
    ut_list_move_to_front(list, file);
  }
}

#endif /* !UNIV_HOTBACKUP */

#endif /* fil0fast_h */
