/* Stress of the lock-free parts of page I/O (fil0gate.h, fil0lookup.h and
fil0written.h in storage/innobase/include), which need nothing of InnoDB. What the
server does is played with "files" whose members are plain variables, so that
ThreadSanitizer sees whether the gate orders accesses to them:

- I/O threads pin a file, read its members, "write", and now and then want their
  write durable;
- closers shut the gate under the mutex, close the file, change its members and
  open it again; or stop it as a DROP does, drain it, and start it again;
- now and then the list of written files is looked at;
- lookups search a table from which tablespaces are taken out and freed.

Checked: nobody uses a closed file; no write that somebody wanted durable is
missed by all fsyncs; at most one fsync a file at a time; nothing is used after
it was freed (poisoned here, and seen by ASAN and TSAN); at the end, with all
files closed, no slot of the list is left to look at.

usage: fil_gate SECONDS [THREADS] */

#include "fil0gate.h"
#include "fil0lookup.h"
#include "fil0written.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <vector>

#define CHECK(A)                                                     \
  do {                                                               \
    if (!(A)) {                                                      \
      fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #A); \
      abort();                                                       \
    }                                                                \
  } while (0)

namespace {

std::atomic<bool> stop_all{false};
std::atomic<uint64_t> n_pins, n_refused, n_closes, n_stops, n_fsyncs, n_lookups,
    n_freed, n_looks, n_waits;

struct File {
  Fil_io_gate gate;
  std::mutex mutex;  // of the shard
  // Plain: written with the gate shut only.
  bool is_open{false};
  bool stopped{false};
  int handle{-1};
  uint64_t version{0};
  // How many writes the "kernel" has, and how many of them are on "disk".
  std::atomic<uint64_t> in_kernel{0};
  std::atomic<uint64_t> on_disk{0};
  std::atomic<int> fsyncs_running{0};
  std::mutex event_mutex;
  std::condition_variable event;
};

Fil_written_list<File, &File::gate> written;
constexpr int N_FILES = 4;
File files[N_FILES];

void fsync(File &f) {
  CHECK(f.fsyncs_running.fetch_add(1) == 0);
  const auto n = f.in_kernel.load();
  std::this_thread::yield();
  auto old = f.on_disk.load();
  while (old < n && !f.on_disk.compare_exchange_weak(old, n)) {
  }
  CHECK(f.fsyncs_running.fetch_sub(1) == 1);
  n_fsyncs.fetch_add(1, std::memory_order_relaxed);
}

/** As fil_fast_flush_pinned(). */
void flush_pinned(File &f) {
  Fil_io_gate::Ticket ticket;
  if (!f.gate.ticket(ticket, false)) return;
  for (;;) {
    auto step = f.gate.flush_step(ticket);
    if (step == Fil_io_gate::Step::WAIT) {
      n_waits.fetch_add(1, std::memory_order_relaxed);
      std::unique_lock lock(f.event_mutex);
      step = f.gate.flush_step(ticket);
      if (step == Fil_io_gate::Step::WAIT) {
        f.event.wait(lock);
        continue;
      }
    }
    if (step == Fil_io_gate::Step::DONE) return;
    CHECK(f.is_open && f.handle > 0);
    fsync(f);
    {
      std::lock_guard lock(f.event_mutex);
      f.gate.flush_end();
    }
    f.event.notify_all();
    return;
  }
}

void open_locked(File &f) {
  f.is_open = true;
  f.handle = 1 + rand() % 1000;
  ++f.version;
  if (!f.stopped) f.gate.open();
}

/** Closes and forgets, with the gate shut and nothing to sync. */
void close_locked(File &f) {
  CHECK(f.gate == 0 && !f.gate.is_open());
  f.handle = -1;
  f.is_open = false;
  written.file_closed(&f);
  CHECK(!f.gate.is_listed());
}

void io_thread(unsigned seed) {
  std::minstd_rand random(seed);
  while (!stop_all.load(std::memory_order_relaxed)) {
    auto &f = files[random() % N_FILES];
    if (!f.gate.try_pin()) {
      n_refused.fetch_add(1, std::memory_order_relaxed);
      // The way with the mutex.
      std::lock_guard lock(f.mutex);
      if (!f.is_open) open_locked(f);
      continue;
    }
    n_pins.fetch_add(1, std::memory_order_relaxed);
    CHECK(f.is_open && f.handle > 0);
    const auto version = f.version;
    const bool write = random() % 2;
    if (!write) {
      CHECK(f.version == version);
      --f.gate;
      continue;
    }
    // The order of writes in the kernel is ours plus those of others.
    const auto mine = f.in_kernel.fetch_add(1) + 1;
    if (!f.gate.is_listed()) written.add(&f);
    CHECK(f.version == version && f.is_open);
    f.gate.wrote();
    if (random() % 8) continue;
    if (random() % 8 == 0) {
      // As fil_fast_flush_all(): what the list shows is synced.
      std::vector<File *> found;
      written.look(0, written.size(), [&](File *g) { found.push_back(g); });
      n_looks.fetch_add(1, std::memory_order_relaxed);
      if (std::find(found.begin(), found.end(), &f) == found.end()) {
        // Then it was synced meanwhile.
        CHECK(f.on_disk.load() >= mine);
      }
    }
    // Make it durable, as the doublewrite buffer does at the end of a batch.
    if (!f.gate.try_pin()) {
      // Shut: closed, which needs all to be synced; or stopped.
      std::lock_guard lock(f.mutex);
      if (f.is_open && !f.gate.is_open()) continue;
      if (!f.is_open) {
        CHECK(f.on_disk.load() >= mine);
        continue;
      }
      ++f.gate;
    }
    flush_pinned(f);
    CHECK(f.on_disk.load() >= mine);
    --f.gate;
  }
}

void closer_thread(unsigned seed) {
  std::minstd_rand random(seed);
  while (!stop_all.load(std::memory_order_relaxed)) {
    auto &f = files[random() % N_FILES];
    std::unique_lock lock(f.mutex);
    if (!f.is_open || f.stopped) continue;
    if (random() % 4) {
      // As can_be_closed() and close_file().
      if (!f.gate.try_shut()) continue;
      if (!f.gate.is_flushed()) {
        f.gate.open();
        lock.unlock();
        if (f.gate.try_pin()) {
          flush_pinned(f);
          --f.gate;
        }
        continue;
      }
      CHECK(f.on_disk.load() >= f.in_kernel.load());
      close_locked(f);
      n_closes.fetch_add(1, std::memory_order_relaxed);
      if (random() % 2) open_locked(f);
    } else {
      // As a truncate: stop, drain, change, start again.
      f.stopped = true;
      f.gate.stop();
      lock.unlock();
      while (f.gate > 0) std::this_thread::yield();
      lock.lock();
      // A pin may have come with the mutex, as a read or write by name does.
      if (f.gate == 0) {
        ++f.version;
        n_stops.fetch_add(1, std::memory_order_relaxed);
      }
      f.stopped = false;
      if (f.is_open) f.gate.open();
    }
  }
}

// --- lookups ---------------------------------------------------------------

struct Space {
  uint32_t id;
  std::atomic<Space *> next{nullptr};
  Fil_op_gate ops;
  uint64_t alive{0x1234};
  ~Space() { alive = 0; }
};

constexpr uint32_t N_IDS = 16;
// One chain: the hardest case.
Fil_id_table<Space, &Space::id, &Space::next, 1> spaces;
std::mutex spaces_mutex;  // of the shard
Fil_lookups lookups;

void lookup_thread(unsigned seed, size_t slot) {
  std::minstd_rand random(seed);
  while (!stop_all.load(std::memory_order_relaxed)) {
    const auto id = random() % N_IDS;
    const auto phase = lookups.begin(slot);
    auto s = spaces.find(id);
    bool acquired = false;
    if (s != nullptr) {
      CHECK(s->alive == 0x1234);
      acquired = s->ops.try_acquire();
    }
    lookups.end(slot, phase);
    if (acquired) {
      // Outside of the lookup: the count keeps it.
      CHECK(s->alive == 0x1234);
      n_lookups.fetch_add(1, std::memory_order_relaxed);
      --s->ops;
    }
  }
}

void ddl_thread(unsigned seed) {
  std::minstd_rand random(seed);
  while (!stop_all.load(std::memory_order_relaxed)) {
    const uint32_t id = random() % N_IDS;
    std::unique_lock lock(spaces_mutex);
    auto s = spaces.find(id);
    if (s == nullptr) {
      s = new Space;
      s->id = id;
      spaces.add(s);
      continue;
    }
    s->ops.stop();
    while (s->ops > 0) std::this_thread::yield();
    spaces.remove(s);
    lookups.wait_for_all();
    delete s;
    n_freed.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

int main(int argc, char **argv) {
  const int seconds = argc > 1 ? atoi(argv[1]) : 10;
  const int n = argc > 2 ? atoi(argv[2]) : 4;
  std::vector<std::thread> threads;

  for (int i = 0; i < n; ++i) {
    threads.emplace_back(io_thread, 100 + i);
    threads.emplace_back(lookup_thread, 200 + i, i % Fil_lookups::N_SLOTS);
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back(closer_thread, 300 + i);
    threads.emplace_back(ddl_thread, 400 + i);
  }
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  stop_all = true;
  for (auto &thread : threads) thread.join();

  for (auto &f : files) {
    CHECK(f.gate == 0);
    if (!f.is_open) continue;
    flush_pinned(f);
    CHECK(f.gate.try_shut() && f.gate.is_flushed());
    close_locked(f);
  }
  CHECK(written.size() == 0);
  printf(
      "pins %llu refused %llu closes %llu stops %llu looks %llu fsyncs %llu "
      "fsync_waits %llu lookups %llu freed %llu\n",
      (unsigned long long)n_pins, (unsigned long long)n_refused,
      (unsigned long long)n_closes, (unsigned long long)n_stops,
      (unsigned long long)n_looks, (unsigned long long)n_fsyncs,
      (unsigned long long)n_waits, (unsigned long long)n_lookups,
      (unsigned long long)n_freed);
  return 0;
}
