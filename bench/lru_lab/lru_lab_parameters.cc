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

/** @file bench/lru_lab/lru_lab_parameters.cc
 The parameters and their defaults. */

#include "lru_lab_parameters.h"

namespace lru_lab {

/** Numbers, and their defaults. */
std::map<std::string, double> parameters{
    {"frames", 15900},  // of the pool, free ones included
    {"pct", 37},        // innodb_old_blocks_pct
    {"time", 1000},     // innodb_old_blocks_time
    {"turn", 0},  // it is no more than that percentage of the time in which as
                  // many pages come in as the old part has
    {"free", 128},   // most free frames; 0: one page leaves as one comes
    {"refill", 50},  // they are filled up again below that percentage; 0: below
                     // one, and once a second (stock)
    {"lengths", 0},   // 1: the list is as long as it was in the trace
    {"tolerance", 20},   // BUF_LRU_OLD_TOLERANCE
    {"first", 0},        // 1: with time 0, too, the access that reads is none
    {"anchor", 0},       // 1: the boundary hands out no youth
    {"earn", 0},         // 1: a page that the boundary made young has to earn it
    {"ghosts", 0},       // evicted pages that are remembered, percent of frames
    {"ghost_exact", 0},  // unused bits of a fingerprint: 0 exact
    {"second", 0},       // bits of frequency that save from demotion: 0, 1, 2
    {"midpoint_created", 0},  // 1: created pages go to the old part, too
    {"lazy", 0},              // 1: promoted at the tail, not when touched
    {"small", 10},  // s3fifo: percent of the frames in the small queue
    {"window", 1},  // tinylfu: percent of the frames in the window
    {"rows", 6e6},
    {"rows_page", 73},
    {"rows_branch", 1100},
    {"h", 0.2},          // sysbench --rand-pareto-h
    {"exponent", 0.99},  // zipf
    {"scatter", 0},      // 1: hot rows are scattered over the table
    {"scan_pages", 0},   // pages of another table that is scanned over and over
    {"scan_every", 50},  // so many queries, by
    {"scan_chunk", 27},  // so many pages, each touched
    {"scan_touches", 3},    // so often
    {"move_s", 0},          // the hot spot moves after so many seconds
    {"create_every", 0},    // a page is created after so many queries
    {"recent_share", 0},    // queries that touch one of these pages, of all
    {"recent_mean", 1000},  // as many pages younger than it exist, on average
    {"query_us", 30},       // time of a query, all clients together
    {"read_us", 70},        // and of a page that it reads
    {"warm", 2e6},          // queries that are not counted
    {"queries", 2e6},       // and that are
    {"report", 0},          // a line for each so many queries
    {"seed", 1}};

std::map<std::string, std::string> words{
    {"policy", "midpoint"}, {"load", "pareto"}, {"trace", ""}};

double number(const char *name) { return parameters.at(name); }
bool is_set(const char *name) { return number(name) != 0; }

}  // namespace lru_lab
