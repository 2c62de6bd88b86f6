#ifndef COLUMNS_BITMAP_INCLUDED
#define COLUMNS_BITMAP_INCLUDED
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
  @file sql/columns_bitmap.h

  A bitmap of a table's columns that lives as long as its scope.
*/

#include "my_bitmap.h"
#include "my_dbug.h"

/**
  Some ten of these are made for each row that goes to the binary log. So the
  bitmap of a table with few columns has its bits inside, and allocates nothing.

  Not copied and not moved: MY_BITMAP points into the object.
*/
class Columns_bitmap : public MY_BITMAP {
 public:
  Columns_bitmap() = default;
  Columns_bitmap(const Columns_bitmap &) = delete;
  Columns_bitmap &operator=(const Columns_bitmap &) = delete;
  ~Columns_bitmap() { release(); }

  /**
    Makes room for the columns of a table, and clears all. May be called again,
    for another table.

    @param n_columns  number of columns, hidden ones included
    @retval false     done
    @retval true      out of memory, which was reported; the bitmap is as it was
                      made, without columns
  */
  bool init(uint n_columns) {
    release();
    const bool few =
        n_columns <= sizeof m_few * 8 &&
        DBUG_EVALUATE_IF("mutate_columns_bitmap_heap", false, true);
    return bitmap_init(this, few ? m_few : nullptr, n_columns);
  }

 private:
  void release() {
    if (bitmap != m_few) bitmap_free(this);
    bitmap = nullptr;
  }

  my_bitmap_map m_few[4];  ///< 128 columns
};

#endif  // COLUMNS_BITMAP_INCLUDED
