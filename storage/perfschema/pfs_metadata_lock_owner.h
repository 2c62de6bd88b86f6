#ifndef PFS_METADATA_LOCK_OWNER_H
#define PFS_METADATA_LOCK_OWNER_H
/* Copyright (c) 2026, Sluice contributors.

   This program is free software; you can redistribute it and/or modify
   it under the terms of the GNU General Public License, version 2.0,
   as published by the Free Software Foundation.

   This program is distributed in the hope that it will be useful,
   but WITHOUT ANY WARRANTY; without even the implied warranty of
   MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
   GNU General Public License, version 2.0, for more details.

   You should have received a copy of the GNU General Public License
   along with this program; if not, write to the Free Software
   Foundation, Inc., 51 Franklin St, Fifth Floor, Boston, MA 02110-1301  USA */

/**
  @file storage/perfschema/pfs_metadata_lock_owner.h
  Finding the owner of a metadata lock.
*/

struct MDL_key;

/** Owner of a granted metadata lock. */
struct PFS_metadata_lock_owner {
  /** Type of the lock, an enum_mdl_type. */
  int type{-1};
  /** Connection id, 0 if the thread serves none. */
  unsigned long processlist_id{0};
  /** Records that the calling thread has read to find this. */
  unsigned long records_read{0};
};

/**
  Find a thread, other than the calling one, which owns a granted metadata lock
  of one of the given types; of the strongest type if there are several.

  For error messages: one scan of all metadata lock records and one of all
  threads, however many owners there are. A thread that finds a search for the
  same object and types under way waits for its end, and takes what it has
  found. The answer may be out of date when it is given, and there is none when
  the instrument wait/lock/metadata/sql/mdl was not enabled as the lock was
  taken, when the record was lost for want of space, or when the owner gave up
  the lock during the search.

  @param      key    The object.
  @param      types  Bitmap of lock types, bit number is enum_mdl_type.
  @param[out] owner  What was found.

  @returns true if an owner was found
*/
bool pfs_find_metadata_lock_owner(const MDL_key &key, unsigned types,
                                  PFS_metadata_lock_owner *owner);

#endif  // PFS_METADATA_LOCK_OWNER_H
