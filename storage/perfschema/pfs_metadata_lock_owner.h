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

/**
  Find a connection, other than the calling one, which owns a granted metadata
  lock of one of the given types; the strongest one if there are several.

  For error messages: a scan of all metadata lock records, without any mutex.
  The answer may be out of date when it is given, and there is none when the
  instrument wait/lock/metadata/sql/mdl was not enabled as the lock was taken,
  or when the record was lost for want of space.

  @param      key            The object.
  @param      types          Bitmap of lock types, bit number is enum_mdl_type.
  @param[out] type           Type of the lock found, an enum_mdl_type.
  @param[out] processlist_id Connection id of its owner; 0 if the thread which
                             took the lock has ended, so that the lock belongs
                             to a prepared XA transaction now.

  @retval true   Found.
  @retval false  Not found; the out parameters are not set.
*/
bool pfs_find_metadata_lock_owner(const MDL_key &key, unsigned types, int *type,
                                  unsigned long *processlist_id);

#endif  // PFS_METADATA_LOCK_OWNER_H
