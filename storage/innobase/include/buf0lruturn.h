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

/** @file include/buf0lruturn.h
 How long a page has to wait in the old part of the LRU list before an access
 makes it young: innodb_old_blocks_time, but, while that has its default, no
 longer than a share of the time in which the pages of the old part are
 replaced. Else, where they are replaced faster than once in
 innodb_old_blocks_time, no page would ever be made young. */

#ifndef buf0lruturn_h
#define buf0lruturn_h

#include <chrono>
#include <cstdint>

#include "univ.i"

/** innodb_old_blocks_turnover: that share in percent, 0: innodb_old_blocks_time
whatever the turnover. */
extern uint srv_old_blocks_turnover;

/** innodb_old_blocks_time when nobody has set it. Any other value is obeyed to
the letter. */
constexpr uint BUF_LRU_OLD_TIME_DEFAULT = 1000;

/** Notes that a page was put to the start of the old part, of any instance. The
caller may hold any latch. */
void buf_lru_turn_page_came();

/** @param[in]  configured  innodb_old_blocks_time
@return how long ago the first access must be */
std::chrono::milliseconds buf_lru_turn_threshold(uint configured);

#endif /* buf0lruturn_h */
