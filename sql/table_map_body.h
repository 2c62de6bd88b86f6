#ifndef TABLE_MAP_BODY_INCLUDED
#define TABLE_MAP_BODY_INCLUDED
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
  @file sql/table_map_body.h

  What a table map event says of a table's columns, kept with the open table.
*/

#include <cstring>
#include <initializer_list>
#include <new>

#include "my_dbug.h"
#include "my_inttypes.h"
#include "my_sys.h"  // MY_WME
#include "mysql/service_mysql_alloc.h"
#include "mysqld_error.h"        // ER_OUT_OF_RESOURCES
#include "sql/psi_memory_key.h"  // key_memory_TABLE
#include "sql/sql_class.h"       // THD
#include "sql/table.h"

/**
  The part of a table map event that follows the names of database and table:
  number, types, metadata and nullability of the columns, and the optional
  metadata. It depends on the table's definition and on binlog_row_metadata
  alone, so it is made for the first statement that changes the open table, and
  written again for the others. It lives as long as the TABLE, which does not
  survive a change of the definition.

  Locking: none. A TABLE is used by one thread at a time.
*/
class Table_map_body {
 public:
  /**
    Bytes of the largest body that is kept. With binlog_row_metadata=FULL it
    holds the values of ENUM and SET columns, which may be megabytes. 4 KB are
    enough for 200 columns whose names have 15 letters. The default
    table_open_cache of 4000 then keeps no more than 32 MB for both values.
  */
  static constexpr size_t max_length = 4096;

  /** Some bytes of the event. */
  struct Part {
    const void *start;
    size_t length;
  };

  /**
    @param table         open table
    @param row_metadata  a value of binlog_row_metadata
    @return what was kept for this value, or nullptr
  */
  static const Table_map_body *kept_with(const TABLE *table,
                                         ulong row_metadata) {
    if (is_changed_by_test()) return nullptr;
    return table->table_map_bodies[slot(row_metadata)];
  }

  /**
    Keeps a body until the table is closed. One that is too large is not kept,
    nor one that there is or was no memory for: each statement makes it, as
    upstream does.

    @param table         open table
    @param row_metadata  the value of binlog_row_metadata that it was made by
    @param n_columns     number of columns in the event
    @param parts         its bytes
  */
  static void keep(TABLE *table, ulong row_metadata, ulong n_columns,
                   std::initializer_list<Part> parts) {
    if (is_changed_by_test() || may_lack_a_part(table) ||
        DBUG_EVALUATE_IF("mutate_table_map_body_not_kept", true, false)) {
      return;
    }
    size_t length = 0;
    for (const Part &part : parts) length += part.length;
    if (length > max_length &&
        DBUG_EVALUATE_IF("mutate_table_map_body_no_limit", false, true)) {
      return;
    }
    DBUG_EXECUTE_IF("fail_table_map_body",
                    DBUG_SET("+d,simulate_out_of_memory"););
    /* Not in the table's MEM_ROOT: there a lack of memory is an error. */
    void *memory = my_malloc(
        key_memory_TABLE, sizeof(Table_map_body) + length,
        MYF(DBUG_EVALUATE_IF("mutate_table_map_body_reports", MY_WME, 0)));
    if (memory == nullptr) return;
    auto *body = new (memory) Table_map_body{n_columns, length};
    uchar *to = reinterpret_cast<uchar *>(body + 1);
    for (const Part &part : parts) {
      memcpy(to, part.start, part.length);
      to += part.length;
    }
    table->table_map_bodies[slot(row_metadata)] = body;
  }

  /** Frees what is kept, as the table is closed. */
  static void forget(TABLE *table) {
    for (Table_map_body *&body : table->table_map_bodies) {
      if (DBUG_EVALUATE_IF("mutate_table_map_body_stays", false, true)) {
        my_free(body);
      }
      body = nullptr;
    }
  }

  const uchar *bytes() const {
    return reinterpret_cast<const uchar *>(this + 1);
  }

  const ulong n_columns;
  const size_t length;  ///< of bytes()

 private:
  Table_map_body(ulong columns, size_t bytes)
      : n_columns(columns), length(bytes) {}

  static size_t slot(ulong row_metadata) {
    return DBUG_EVALUATE_IF("mutate_table_map_body_one_slot", 0, row_metadata);
  }

  /**
    Upstream makes the optional metadata by appending, and does not look at
    each result. Without memory a name may be missing; the statement fails then.
    @return true if the session has an error, so that the body is not to be kept
  */
  static bool may_lack_a_part(const TABLE *table) {
    THD *const thd = table->in_use;
    DBUG_EXECUTE_IF("table_map_body_out_of_memory",
                    my_error(ER_OUT_OF_RESOURCES, MYF(0)););
    const bool has_error =
        thd->is_error() &&
        DBUG_EVALUATE_IF("mutate_table_map_body_keeps_errors", false, true);
    DBUG_EXECUTE_IF("table_map_body_out_of_memory", thd->clear_error(););
    return has_error;
  }

  /**
    Upstream's tests have events written that are wrong on purpose.
    @return true if this event may be one, so that it is not to be kept
  */
  static bool is_changed_by_test() {
#ifndef NDEBUG
    for (const char *keyword :
         {"binlog_omit_last_column_from_table_map_event",
          "inject_invalid_column_type", "inject_invalid_blob_size",
          "inject_invalid_geometry_type", "simulate_no_optional_metadata",
          "simulate_init_charset_field_error", "dont_log_column_name",
          "simulate_init_primary_key_field_error"}) {
      if (DBUG_EVALUATE_IF(keyword, true, false)) return true;
    }
#endif
    return false;
  }
};

#endif  // TABLE_MAP_BODY_INCLUDED
