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

/** @file buf/buf0lrunames.cc
 Names of the indexes that buf0lruindex.cc counts for, from the dictionary cache
 and from the paths of tablespaces. */

#include "buf0lruplaces.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "dict0dd.h"
#include "dict0dict.h"
#include "dict0mem.h"
#include "fil0fil.h"
#include "fsp0fsp.h"
#include "my_dbug.h"
#include "my_sys.h"

namespace lru_index {

namespace {

/** Splits a name of the dictionary cache or of a tablespace, "db/t#p#p0". */
void split(const char *name, Names &names) {
  if (strchr(name, '/') == nullptr) return;
  std::string partition;
  bool is_tmp;
  dict_name::get_table(name, true, names.schema, names.table, partition,
                       is_tmp);
  if (partition.empty()) return;
  std::string sub;
  dict_name::get_partition(partition, true, names.partition, sub);
  if (!sub.empty()) names.partition += "/" + sub;
}

/** Tables that are looked at, or empty cells of the hash table of tables,
before the mutex of the dictionary cache is released: some ten microseconds. */
constexpr size_t MOST_TABLES = 64;
constexpr size_t MOST_CELLS = 4096;

/** Splits a path, "./db/t#p#p0.ibd". */
void split_path(std::string path, Names &names) {
  const auto suffix = path.rfind('.');
  const auto file = path.find_last_of("/\\");
  if (suffix == std::string::npos || file == std::string::npos || file == 0 ||
      suffix < file) {
    return;
  }
  path.resize(suffix);
  path[file] = '/';
  const auto folder = path.find_last_of("/\\", file - 1);
  if (folder != std::string::npos) path.erase(0, folder + 1);
  split(path.c_str(), names);
}

/** Copies the paths of tablespaces that have one table. Nobody here has a
metadata lock, so DDL may create, rename or drop a tablespace at any time. That
rules out fil_space_get_flags() and fil_space_get_first_path(): both load the
tablespace, and assert that it has a file, which it does not have in the middle
of an import. An iteration over the existing files, under the mutex of their
shard, meets no tablespace without a file, and opens none.
@param[in,out]  paths  by tablespace; those of others stay empty
@return false if there is no memory */
bool copy_paths(std::unordered_map<space_id_t, std::string> &paths) {
  const auto copy = [&paths](fil_node_t *file) {
    const auto it = paths.find(file->space->id);
    if (it == paths.end() || !it->second.empty() ||
        FSP_FLAGS_GET_SHARED(file->space->flags)) {
      return DB_SUCCESS;
    }
    try {
      it->second = file->name;
    } catch (const std::bad_alloc &) {
      /* It must not pass through a stack frame that holds a mutex. */
      return DB_OUT_OF_MEMORY;
    }
    return DB_SUCCESS;
  };
  return Fil_iterator::for_each_file(copy) == DB_SUCCESS;
}

}  // namespace

void resolve(Names_by_key &names) {
  /* Names are copied under the mutex, and split when it is released. */
  struct Found {
    Names *names;
    std::string table;
    std::string index;
  };
  std::vector<Found> found;
  const auto note = [&](const dict_table_t *t) {
    for (const auto *index : t->indexes) {
      const auto it = names.find({index->space, index->id});
      if (it == names.end()) continue;
      found.push_back({&it->second, t->name.m_name, index->name()});
    }
  };

  /* In the order of the hash of table ids: a table keeps its place there, so
  continuing where the mutex was released misses none. */
  size_t n_cells = 0;
  size_t cell = 0;
  [[maybe_unused]] size_t most = 0;
  do {
    found.clear();
    {
      IB_mutex_guard guard(&dict_sys->mutex, UT_LOCATION_HERE);
      const auto hash = dict_sys->table_id_hash;
      if (hash_get_n_cells(hash) != n_cells) {
        /* The first time, or dict_resize() has made another one. */
        n_cells = hash_get_n_cells(hash);
        cell = 0;
      }
      const auto end = std::min(cell + MOST_CELLS, n_cells);
      size_t tables = 0;
      while (DBUG_EVALUATE_IF("mutate_lru_names_at_once", cell < n_cells,
                              cell < end && tables < MOST_TABLES)) {
        auto t = static_cast<dict_table_t *>(hash_get_first(hash, cell));
        for (; t != nullptr;
             t = static_cast<dict_table_t *>(HASH_GET_NEXT(id_hash, t))) {
          note(t);
          ++tables;
        }
        ++cell;
      }
      most = std::max(most, tables);
    }
    DEBUG_SYNC_C("lru_index_between_tables");
    for (auto &f : found) {
      split(f.table.c_str(), *f.names);
      f.names->index = std::move(f.index);
    }
  } while (cell < n_cells);
  DBUG_EXECUTE_IF("lru_index_says_latched",
                  ib::info() << "lru_stats held up " << most << " tables";);

  std::unordered_map<space_id_t, std::string> paths;
  for (const auto &entry : names) {
    if (entry.second.table.empty()) {
      paths[static_cast<space_id_t>(entry.first.space)];
    }
  }
  if (paths.empty()) return;

  DEBUG_SYNC_C("lru_index_asks_for_paths");
  DBUG_EXECUTE_IF("mutate_lru_loads_spaces", {
    for (const auto &entry : paths) (void)fil_space_get_flags(entry.first);
  });
  if (!copy_paths(paths)) throw std::bad_alloc();

  for (auto &entry : names) {
    if (!entry.second.table.empty()) continue;
    split_path(paths[static_cast<space_id_t>(entry.first.space)], entry.second);
  }
}

}  // namespace lru_index
