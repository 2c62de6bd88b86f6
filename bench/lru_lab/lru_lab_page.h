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

/** @file bench/lru_lab/lru_lab_page.h
 A page, by its number. */

#ifndef LRU_LAB_PAGE_H
#define LRU_LAB_PAGE_H

#include <cstdint>

namespace lru_lab {

using Page = uint32_t;
constexpr Page NONE = UINT32_MAX;

}  // namespace lru_lab

#endif /* LRU_LAB_PAGE_H */
