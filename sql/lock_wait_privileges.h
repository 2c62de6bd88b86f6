#ifndef LOCK_WAIT_PRIVILEGES_INCLUDED
#define LOCK_WAIT_PRIVILEGES_INCLUDED
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
  @file sql/lock_wait_privileges.h
  Which names ER_LOCK_WAIT_TIMEOUT may tell.
*/

#include "sql/mdl.h"  // MDL_key

class THD;

/**
  May the name of an object be told to the user?

  A statement also waits for objects whose names it does not contain: tables
  under a view, children and parents of foreign keys, what a trigger or a
  routine with the rights of its definer uses. The privileges of the connected
  account on that very object decide what a user reads, and not the statement,
  whose LEX may be gone. While other rights than that account's are in force, as
  in a routine with the rights of its definer, no name is told.

  Waits for nothing: while somebody changes privileges, only global ones count.

  @param thd            Current session.
  @param mdl_namespace  Kind of the object.
  @param db             Its schema, or its name if it is one; empty if it is in
                        none, as a tablespace is.
  @param name           Its name.
*/
bool lock_wait_may_see_name(THD *thd, MDL_key::enum_mdl_namespace mdl_namespace,
                            const char *db, const char *name);

#endif  // LOCK_WAIT_PRIVILEGES_INCLUDED
