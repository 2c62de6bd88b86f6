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

#ifndef SCHEMA_TABLE_PLUGIN_INCLUDED
#define SCHEMA_TABLE_PLUGIN_INCLUDED

struct LEX;
class THD;
class Table_ref;
struct ST_SCHEMA_TABLE;

/**
  Keeps the name of a plugin's table until the server ends.

  The plugin's own copy is gone with its library. But the names of a statement's
  tables may be asked for after it was parsed and before it opens them, for
  example by the optimizer trace.

  @param  name  the plugin's

  @return a copy, the same one for the same name
*/
const char *keep_schema_table_name(const char *name);

/**
  Keeps the descriptor of a table whose plugin is uninstalled, instead of
  freeing it.

  Statements remember the address of the descriptor. If the address were used
  again, another plugin of the same name, with other columns, could not be told
  from the one that a statement was prepared for. An address that is used only
  once serves as a generation number. This costs a hundred bytes for each
  UNINSTALL PLUGIN.
*/
void retire_schema_table(ST_SCHEMA_TABLE *table);

#ifndef NDEBUG
/**
  What malloc may do with descriptors that are freed: gives out again the one
  that was retired last. For a mutation of the tests.

  @param  fresh  a new descriptor, which is freed if there is an old one

  @return the old one, with the content of the new one; else the new one
*/
ST_SCHEMA_TABLE *reuse_schema_table(ST_SCHEMA_TABLE *fresh);
#endif /* NDEBUG */

/**
  Keeps the plugin of an INFORMATION_SCHEMA table loaded while a statement uses
  the table. To be called whenever the statement opens the table.

  Table_ref::schema_table was set when the statement was parsed. Since then
  UNINSTALL PLUGIN may have retired the descriptor that it points to, and
  unmapped the code that fills the table. So the plugin is looked up again here,
  by name, and referenced by the LEX of the statement. From then on UNINSTALL
  PLUGIN answers with the warning WARN_PLUGIN_BUSY and takes effect when the
  last statement has ended.

  @param          thd    session; its LEX is that of the statement
  @param[in,out]  table  table with schema_table set. If the plugin was
                         uninstalled and installed again since, the statement
                         is prepared again, or schema_table is set anew.

  @return true, with an error raised, if the plugin is not there any more
*/
bool lock_schema_table_plugin(THD *thd, Table_ref *table);

/**
  Releases what lock_schema_table_plugin() has referenced. To be called when an
  instruction of a stored program has been executed: its LEX lives as long as
  the program is cached, a trigger's as long as its table, and would keep the
  plugin as long. Plugins of other kinds, referenced when the instruction was
  parsed, stay.

  Takes LOCK_plugin if there is anything to release. A plugin that UNINSTALL
  PLUGIN has found busy is removed at the end of a command.

  @param  lex  LEX of the instruction
*/
void unlock_schema_table_plugins(LEX *lex);

/**
  Removes plugins that UNINSTALL PLUGIN found busy and that are not used any
  more. plugin_unlock() does not: its caller may hold a lock that the removal
  takes, as LOCK_system_variables_hash, or that others wait for, as LOCK_open.
  To be called at the end of a command that leaves no metadata lock, and by
  [UN]INSTALL PLUGIN. Defined in sql_plugin.cc.

  Takes LOCK_plugin if there is anything to remove, then LOCK_plugin_delete and
  LOCK_system_variables_hash.
*/
void remove_unused_plugins();

#endif /* SCHEMA_TABLE_PLUGIN_INCLUDED */
