#ifndef LOCK_WAIT_TIMEOUT_NAMES_INCLUDED
#define LOCK_WAIT_TIMEOUT_NAMES_INCLUDED
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
  @file sql/lock_wait_timeout_names.h

  lock_wait_timeout and metadata_lock_wait_timeout are two names of one system
  variable, neither of them deprecated. Class Sys_var_alias makes them share
  value and metadata; this file has what it leaves open for two equal names.
*/

#include <string>

#include "sql/persisted_variable.h"  // Persisted_variables_uset
#include "sql/set_var.h"             // enum_var_type

class THD;
class sys_var;

/**
  Are these the two names of the variable?
  Names are compared without regard to case, equal names are not "two".
*/
bool is_other_lock_wait_timeout_name(const std::string &a,
                                     const std::string &b);

/**
  Update function of both names: a session which is tracked under one name is
  told when it was set by the other one. Called with THD::LOCK_thd_sysvar.

  @returns false
*/
bool track_other_lock_wait_timeout_name(sys_var *self, THD *thd,
                                        enum_var_type type);

/**
  Startup: an option was read from the command line or from an option file.
  Called for every option, right after its value was set.
*/
void note_lock_wait_timeout_option(const char *name);

/**
  Startup, after all options: write a note to the error log if both names were
  given, with different values. The last one given is in effect.
*/
void report_lock_wait_timeout_options();

/**
  Startup: make the persisted variables hold both names, with the same value,
  or none. The younger one wins: a stock server knows, and sets, one of them.

  Caller must be the only thread, or hold m_LOCK_persist_variables.
*/
void merge_persisted_lock_wait_timeout(Persisted_variables_uset *variables);

#endif  // LOCK_WAIT_TIMEOUT_NAMES_INCLUDED
