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

/** @file bench/lru_lab/lru_lab_policy.cc
 Chooses the policy. */

#include "lru_lab_policy.h"

#include <cstdio>
#include <cstdlib>

#include "lru_lab_parameters.h"

namespace lru_lab {

std::unique_ptr<Policy> make_policy(size_t pages) {
  const auto &name = words["policy"];
  if (name == "midpoint") return make_midpoint(pages);
  if (name == "lru") return make_lru(pages);
  if (name == "s3fifo") return make_s3fifo(pages);
  if (name == "tinylfu") return make_tinylfu(pages);
  fprintf(stderr, "lru_lab: no policy '%s'\n", name.c_str());
  exit(2);
}

}  // namespace lru_lab
