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

#include "sql/binlog/purge/leftovers.h"

#include <sys/stat.h>

#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "my_dbug.h"
#include "my_dir.h"
#include "my_sys.h"
#include "mysql/components/services/log_builtins.h"
#include "mysqld_error.h"
#include "sql/binlog.h"
#include "sql/binlog/purge/pending_list.h"
#include "sql/mysqld.h"  // mysql_data_home

namespace binlog::purge {

namespace {

constexpr char list_extension[] = ".~purge~";

std::string folder_of(const std::string &path) {
  return path.substr(0, dirname_length(path.c_str()));
}

std::string without_folder(const std::string &path) {
  return path.substr(dirname_length(path.c_str()));
}

/** The names in a folder; none if it can't be read. */
std::vector<std::string> names_in(const std::string &folder) {
  std::vector<std::string> names;
  MY_DIR *const dir =
      my_dir(folder.empty() ? "." : folder.c_str(), MYF(MY_DONT_SORT));
  if (dir == nullptr) return names;
  for (uint i = 0; i < dir->number_off_files; ++i)
    names.emplace_back(dir->dir_entry[i].name);
  my_dirend(dir);
  return names;
}

/** Whether the name is base, a dot, and digits. */
bool is_log(const std::string &name, const std::string &base) {
  if (name.size() < base.size() + 2 ||
      name.compare(0, base.size(), base) != 0 || name[base.size()] != '.')
    return false;
  for (size_t i = base.size() + 1; i < name.size(); ++i)
    if (!isdigit(static_cast<unsigned char>(name[i]))) return false;
  return true;
}

/** Device and inode; they are the same however the path is written. */
std::pair<ulonglong, ulonglong> id_of(const std::string &path) {
  struct stat file;
  if (stat(path.empty() ? "." : path.c_str(), &file) != 0) return {0, 0};
  return {static_cast<ulonglong>(file.st_dev),
          static_cast<ulonglong>(file.st_ino)};
}

}  // namespace

Purged_files find_shrinking(const std::string &basename) {
  Purged_files files;
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_orphans", true, false))
    return files;
  const std::string base = without_folder(basename);
  for (const std::string &name : names_in(folder_of(basename))) {
    const std::string log = File_remover::name_before_shrinking(name);
    if (log == name || !is_log(log, base)) continue;
    Purged_file file{folder_of(basename) + name, std::nullopt};
    if (identify(&file) == 0) files.push_back(std::move(file));
  }
  return files;
}

void warn_of_other_lists(const std::string &own_list,
                         const std::string &basename) {
  if (DBUG_EVALUATE_IF("mutate_binlog_purge_other_lists", true, false)) return;
  std::set<std::pair<ulonglong, ulonglong>> seen{id_of(own_list)};
  for (const std::string &folder : {folder_of(own_list), folder_of(basename),
                                    std::string(mysql_data_home) + FN_LIBCHAR})
    for (const std::string &name : names_in(folder)) {
      const size_t length = sizeof(list_extension) - 1;
      if (name.size() <= length ||
          name.compare(name.size() - length, length, list_extension) != 0 ||
          !seen.insert(id_of(folder + name)).second)
        continue;
      Purged_files files;
      my_off_t ignored;
      if (Pending_list::read_file(folder + name, &files, &ignored) != 0)
        continue;
      size_t count = 0;
      std::string first;
      for (const Purged_file &file : files) {
        File_remover remover(file);
        if (!remover.find()) continue;
        // What is in the index of this server is its own affair.
        Log_info log_info;
        if (mysql_bin_log.find_log_pos(&log_info, file.name.c_str(), true) == 0)
          continue;
        if (++count == 1) first = remover.path();
      }
      if (count == 0) continue;
      LogErr(WARNING_LEVEL, ER_LOG_PRINTF_MSG,
             ("'" + folder + name + "' names " + std::to_string(count) +
              " purged binary logs that are still on disk; the first one is '" +
              first +
              "'. It belongs to another index file than that of "
              "log_bin_index, so they are left alone. If it is not another "
              "server's, start this one once with the former --log-bin and "
              "--log-bin-index to have them removed, or remove them and then "
              "this list by hand.")
                 .c_str());
    }
}

}  // namespace binlog::purge
