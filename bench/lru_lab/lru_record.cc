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

/** @file bench/lru_lab/lru_record.cc
 A plugin for the laboratory, not for production: writes what happens to every
 page of the pool into a compressed file, for `lru_lab trace=`. measure.py
 --record builds and uses it. LRU_RECORD_FILE in the environment of the server
 names the file.

 A record is two numbers of 8 bytes: tablespace << 32 | page; microseconds << 3
 | kind, as in buf0lrustats.h. The first one has the length of the list in place
 of a page, and the kind 7. Of a page that is young one access in 16 ms is
 recorded, see docs/design/lru_observatory.md. The tables of lru_stats that take
 events out have to be off: an event is taken out once. */

#define MYSQL_DYNAMIC_PLUGIN
#include <mysql/plugin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <zlib.h>

#include "storage/innobase/include/buf0lrustats.h"

namespace {

std::atomic<bool> stop{false};
std::thread writer;
gzFile file = nullptr;

void write_all() {
  const auto *server = innodb_lru_stats_interface_v6();
  std::vector<innodb_lru_event_t> events(1 << 17);
  std::vector<innodb_lru_event_t> waiting;
  uint64_t dropped = 0;
  uint64_t written = 0;
  innodb_lru_pool_t pool;
  server->pool(&pool);
  const uint64_t length[] = {pool.lru_pages, 7};
  gzwrite(file, length, sizeof(length));
  const auto put = [&](size_t n) {
    for (size_t i = 0; i < n; i++) {
      const uint64_t record[] = {waiting[i].page,
                                 waiting[i].time_us << 3 | waiting[i].kind};
      gzwrite(file, record, sizeof(record));
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(n));
    written += n;
  };
  while (!stop) {
    const auto n = server->drain(
        events.data(), static_cast<uint32_t>(events.size()), &dropped);
    waiting.insert(waiting.end(), events.begin(), events.begin() + n);
    std::stable_sort(
        waiting.begin(), waiting.end(),
        [](const auto &a, const auto &b) { return a.time_us < b.time_us; });
    /* What is older than the last round cannot be preceded any more. */
    put(waiting.size() / 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  put(waiting.size());
  gzclose(file);
  fprintf(stderr, "lru_record: %llu events, %llu lost\n",
          static_cast<unsigned long long>(written),
          static_cast<unsigned long long>(dropped));
}

int init(void *) {
  const char *path = getenv("LRU_RECORD_FILE");
  const auto *server = innodb_lru_stats_interface_v6();
  if (path == nullptr || server->version != INNODB_LRU_STATS_VERSION ||
      (file = gzopen(path, "wb1")) == nullptr ||
      !server->set_trace(uint64_t{1} << 32)) {
    return 1;
  }
  writer = std::thread(write_all);
  return 0;
}

int deinit(void *) {
  innodb_lru_stats_interface_v6()->set_trace(0);
  stop = true;
  if (writer.joinable()) writer.join();
  return 0;
}

st_mysql_daemon daemon_info = {MYSQL_DAEMON_INTERFACE_VERSION};

}  // namespace

mysql_declare_plugin(lru_record){
    MYSQL_DAEMON_PLUGIN,
    &daemon_info,
    "lru_record",
    "Sluice contributors",
    "Records all page accesses",
    PLUGIN_LICENSE_GPL,
    init,
    nullptr,
    deinit,
    0x0100,
    nullptr,
    nullptr,
    nullptr,
    0,
} mysql_declare_plugin_end;
