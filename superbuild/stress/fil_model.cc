/* Every interleaving of a few threads in the lock-free parts of page I/O
(fil0gate.h, fil0lookup.h and fil0written.h in storage/innobase/include): the
code itself runs, on atomics and mutexes that hand control to a scheduler before
each access. The scheduler tries each order of accesses once: it starts again from
the beginning for each branch, and leaves a branch when it meets a state which it
has seen. A state is the value of each atomic, who has which mutex, and the registers
and the stack of each thread. (What a mutex protects and is no atomic, the list's
free slots, follows from the atomics.)

Orders of accesses are tried, as if each were sequentially consistent; that
weaker orders suffice is argued in docs/design/page_io_fast_path.md, and fil_gate.cc under
ThreadSanitizer looks at it.

usage: fil_model [SCENARIO ...]   (default: all)
Prints how many states and runs there were. A check that fails, or threads that
all wait, ends it with the order of threads that led there, and status 1. */

#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace model {

constexpr int MAX_THREADS = 4;
constexpr size_t STACK = 64 * 1024;

uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9E3779B97F4A7C15ULL + (a << 6) + (a >> 2);
  a *= 0xBF58476D1CE4E5B9ULL;
  return a ^ (a >> 29);
}

struct Thread {
  /** Where it begins; later it is in jump. */
  ucontext_t context;
  jmp_buf jump;
  bool started;
  std::function<void()> body;
  bool finished;
  /** The end of its stack, which grows downwards. */
  char *top;
  /** Waits for this to be true; nullptr if for nothing. */
  const uint64_t *locked;
  bool yields;
  /** Count of changes at its last access. */
  uint64_t seen;
};

Thread threads[MAX_THREADS];
alignas(16) char stacks[MAX_THREADS][STACK];
int n_threads, running;
jmp_buf scheduler;
/** Changes of shared values so far, and the sum of hashes of all of them. */
uint64_t n_changes, shared;
std::vector<int> order;
const char *scenario;

[[noreturn]] void fail(const char *what, int line) {
  printf("%s: line %d: %s\n  threads in order:", scenario, line, what);
  for (int t : order) printf(" %d", t);
  printf("\n");
  fflush(stdout);
  _exit(1);
}

#define CHECK(A)                           \
  do {                                     \
    if (!(A)) model::fail(#A, __LINE__);   \
  } while (0)

/** To be called before each access to something shared. */
[[gnu::noinline]] void step() {
  if (running < 0) return;
  auto &t = threads[running];
  t.top = static_cast<char *>(__builtin_frame_address(0));
  if (_setjmp(t.jump) == 0) _longjmp(scheduler, 1);
}

/** Lets a thread go on to its next access. */
[[gnu::noinline]] void run(int i) {
  running = i;
  auto &t = threads[i];
  if (_setjmp(scheduler) == 0) {
    if (t.started) _longjmp(t.jump, 1);
    t.started = true;
    setcontext(&t.context);
  }
  running = -1;
}
/** Something was read, so what has changed until now is no news. */
void observe() {
  if (running >= 0) threads[running].seen = n_changes;
}
uint64_t hash_of(const void *where, uint64_t value) {
  return mix(reinterpret_cast<uintptr_t>(where), value);
}
void change(const void *where, uint64_t before, uint64_t after) {
  if (before == after) return;
  shared += hash_of(where, after) - hash_of(where, before);
  ++n_changes;
  if (running >= 0) threads[running].seen = n_changes;
}
void yield() {
  threads[running].yields = true;
  step();
  threads[running].yields = false;
}

}  // namespace model

/* What the headers take for std::atomic, std::mutex and this_thread::yield. */
namespace std {

template <typename T>
class model_atomic {
 public:
  constexpr model_atomic() noexcept : m_value{} {}
  constexpr model_atomic(T value) noexcept : m_value(value) {}
  model_atomic(const model_atomic &) = delete;

  T load(memory_order = memory_order_seq_cst) const noexcept {
    model::step();
    model::observe();
    return m_value;
  }
  void store(T value, memory_order = memory_order_seq_cst) noexcept {
    model::step();
    set(value);
  }
  T exchange(T value, memory_order = memory_order_seq_cst) noexcept {
    return modify([&](T) { return value; });
  }
  T fetch_add(T n, memory_order = memory_order_seq_cst) noexcept {
    return modify([&](T v) { return static_cast<T>(v + n); });
  }
  T fetch_sub(T n, memory_order = memory_order_seq_cst) noexcept {
    return modify([&](T v) { return static_cast<T>(v - n); });
  }
  T fetch_or(T n, memory_order = memory_order_seq_cst) noexcept {
    return modify([&](T v) { return static_cast<T>(v | n); });
  }
  T fetch_and(T n, memory_order = memory_order_seq_cst) noexcept {
    return modify([&](T v) { return static_cast<T>(v & n); });
  }
  bool compare_exchange_weak(T &expected, T desired, memory_order,
                             memory_order) noexcept {
    model::step();
    model::observe();
    if (m_value == expected) {
      set(desired);
      return true;
    }
    expected = m_value;
    return false;
  }

 private:
  static uint64_t bits(T value) {
    uint64_t result = 0;
    memcpy(&result, &value, sizeof(value));
    return result;
  }
  void set(T value) {
    model::change(this, bits(m_value), bits(value));
    m_value = value;
  }
  template <typename F>
  T modify(F &&f) {
    model::step();
    const T before = m_value;
    model::observe();
    set(f(before));
    return before;
  }

  T m_value;
};

class model_mutex {
 public:
  void lock() {
    if (model::running >= 0) {
      model::threads[model::running].locked = &m_locked;
      model::step();
      model::threads[model::running].locked = nullptr;
    }
    take();
  }
  bool try_lock() {
    model::step();
    model::observe();
    if (m_locked) return false;
    take();
    return true;
  }
  void unlock() {
    model::step();
    model::change(&m_locked, 1, 0);
    m_locked = 0;
  }

 private:
  void take() {
    CHECK(!m_locked);
    model::change(&m_locked, 0, 1);
    m_locked = 1;
  }

  uint64_t m_locked{0};
};

namespace this_thread {
inline void model_yield() { model::yield(); }
}  // namespace this_thread

}  // namespace std

#define atomic model_atomic
#define mutex model_mutex
#define yield model_yield
#include "fil0gate.h"
#include "fil0lookup.h"
#include "fil0written.h"
#undef atomic
#undef mutex
#undef yield

/* Memory has the same addresses in each run, whatever the order of allocations:
blocks of the list of files have an arena of their own. */
namespace model {

struct Arena {
  char *memory;
  size_t size, used;
};
Arena large{static_cast<char *>(calloc(1, 1 << 20)), 1 << 20, 0};
bool in_run;

}  // namespace model

[[gnu::noinline]] void *operator new(size_t size) {
  if (model::in_run && size > 8192) {
    auto &a = model::large;
    const auto at = a.used;
    a.used += (size + 63) & ~size_t{63};
    if (a.used > a.size) abort();
    return a.memory + at;
  }
  return malloc(size);
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
  if (memory < model::large.memory ||
      memory >= model::large.memory + model::large.size) {
    free(memory);
  }
}
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept {
  operator delete(memory);
}

namespace {

template <typename T>
using Shared = std::model_atomic<T>;

/** What is accessed under a mutex or a pin only: no other thread comes between
an access and the one before it. */
template <typename T>
class Plain {
 public:
  Plain(T value) : m_value(value) {}
  T load() const {
    model::observe();
    return m_value;
  }
  void store(T value) {
    model::change(this, m_value, value);
    m_value = value;
  }

 private:
  T m_value;
};

/** A file, its tablespace and the disk. */
struct File {
  Fil_io_gate gate;
  std::model_mutex mutex;  // of the shard
  Plain<int> is_open{0};
  Plain<int> stopped{0};
  Plain<int> version{0};
  // Writes: in the kernel, finished for those who wait, and on disk.
  Shared<int> in_kernel{0}, finished{0};
  Plain<int> on_disk{0}, syncing{0};
  Shared<int> event{0};
  // The look-up of the tablespace.
  int id{7};
  Shared<File *> next{nullptr};
  Fil_op_gate ops;
  Plain<int> freed{0};
};

/** What there is at the beginning of each run. */
struct World {
  File file;
  File other;
  // Every look that finds nothing to do takes the file out.
  Fil_written_list<File, &File::gate, 0> written;
  Fil_id_table<File, &File::id, &File::next, 1> table;
  Fil_lookups lookups;
};
alignas(64) char world_memory[sizeof(World)];
World *w;

void fsync(File &f) {
  CHECK(f.is_open.load());
  CHECK(!f.syncing.load());
  f.syncing.store(1);
  const int n = f.in_kernel.load();
  model::step();
  CHECK(f.is_open.load());
  f.on_disk.store(std::max(n, f.on_disk.load()));
  f.syncing.store(0);
}

/** As fil_fast_flush_pinned(). */
void flush_pinned(File &f) {
  Fil_io_gate::Ticket ticket;
  if (!f.gate.ticket(ticket, false)) return;
  for (;;) {
    auto step = f.gate.flush_step(ticket);
    if (step == Fil_io_gate::Step::WAIT) {
      const int signal_count = f.event.load();
      step = f.gate.flush_step(ticket);
      if (step == Fil_io_gate::Step::WAIT) {
        while (f.event.load() == signal_count) model::yield();
        continue;
      }
    }
    if (step == Fil_io_gate::Step::DONE) return;
    fsync(f);
    f.gate.flush_end();
    f.event.fetch_add(1);
    return;
  }
}

void open_locked(File &f) {
  f.is_open.store(1);
  if (!f.stopped.load()) f.gate.open();
}

/** As fil_fast_begin_io(), and the way with the mutex. */
void pin(File &f) {
  if (f.gate.try_pin()) return;
  std::lock_guard guard(f.mutex);
  if (!f.is_open.load()) open_locked(f);
  ++f.gate;
}

/** As fil_fast_end_io() after a write. */
void wrote(File &f) {
  if (!f.gate.is_listed()) w->written.add(&f);
  f.gate.wrote();
}

void write(File &f) {
  pin(f);
  CHECK(f.is_open.load());
  f.in_kernel.fetch_add(1);
  CHECK(f.is_open.load());
  wrote(f);
  f.finished.fetch_add(1);
}

void read(File &f) {
  pin(f);
  CHECK(f.is_open.load());
  --f.gate;
}

/** As fil_fast_flush(). */
void flush(File &f) {
  if (f.gate.try_pin()) {
    flush_pinned(f);
    --f.gate;
    return;
  }
  {
    std::lock_guard guard(f.mutex);
    if (!f.is_open.load()) return;
    ++f.gate;
  }
  flush_pinned(f);
  --f.gate;
}

/** As fil_fast_flush_all(). All writes that had finished are on disk. */
void flush_all() {
  const int n = w->file.finished.load(), n_other = w->other.finished.load();
  std::array<File *, 2> found;
  size_t n_found = 0;
  const auto phase = w->lookups.begin(0);
  w->written.look(0, w->written.size(),
                  [&](File *file) { found[n_found++] = file; });
  w->lookups.end(0, phase);
  for (size_t i = 0; i < n_found; ++i) flush(*found[i]);
  CHECK(w->file.on_disk.load() >= n);
  CHECK(w->other.on_disk.load() >= n_other);
}

/** As shut_to_close() and close_file(). */
void close(File &f) {
  std::lock_guard guard(f.mutex);
  if (!f.is_open.load()) return;
  if (!f.gate.is_flushed() || !f.gate.try_shut()) return;
  if (!f.gate.is_flushed()) {
    if (!f.stopped.load()) f.gate.open();
    return;
  }
  CHECK(f.on_disk.load() == f.in_kernel.load());
  CHECK(f.gate == 0);
  f.is_open.store(0);
  w->written.file_closed(&f);
}

/** As the truncation of a tablespace: stop, drain, new version, start again. */
void truncate(File &f) {
  {
    std::lock_guard guard(f.mutex);
    f.stopped.store(1);
    f.gate.stop();
  }
  while (f.gate > 0) model::yield();
  std::lock_guard guard(f.mutex);
  f.version.store(f.version.load() + 1);
  f.stopped.store(0);
  if (f.is_open.load()) f.gate.open();
}

/** I/O without the mutex of a page of the current version. */
void io_of_page(File &f) {
  if (!f.gate.try_pin()) return;
  const int version = f.version.load();
  CHECK(f.is_open.load());
  model::step();
  CHECK(f.is_open.load() && f.version.load() == version);
  --f.gate;
}

/** fil_space_acquire() and fil_space_release(). */
void acquire(size_t slot) {
  const auto phase = w->lookups.begin(slot);
  auto f = w->table.find(7);
  bool acquired = false;
  if (f != nullptr) {
    CHECK(!f->freed.load());
    acquired = f->ops.try_acquire();
  }
  w->lookups.end(slot, phase);
  if (acquired) {
    model::step();
    CHECK(!f->freed.load());
    --f->ops;
  }
}

/** DROP: stops, waits, closes, takes out and frees. */
void drop(File &f) {
  {
    std::lock_guard guard(f.mutex);
    f.stopped.store(1);
    f.ops.stop();
    f.gate.stop();
  }
  while (f.ops > 0) model::yield();
  while (f.gate > 0) model::yield();
  {
    std::lock_guard guard(f.mutex);
    w->table.remove(&f);
    if (f.gate > 0) return;  // came with the mutex: not of this scenario
    if (f.is_open.load()) {
      f.gate.set_flushed();
      f.is_open.store(0);
      w->written.file_closed(&f);
    }
  }
  w->lookups.wait_for_all();
  f.freed.store(1);
  // Who looks at it now finds anything: something to sync, say.
  ++f.gate;
  f.gate.wrote();
}

/** A look at the list while files go. */
void look() {
  const auto phase = w->lookups.begin(0);
  w->written.look(0, w->written.size(),
                  [&](File *file) { CHECK(!file->freed.load()); });
  w->lookups.end(0, phase);
}

/** After the last step of each run: with all files closed, no slot of the list
is left to look at. */
void close_all() {
  for (auto f : {&w->file, &w->other}) {
    flush(*f);
    close(*f);
    CHECK(!f->is_open.load());
  }
  CHECK(w->written.size() == 0);
}

struct Scenario {
  const char *name;
  std::function<void()> prepare;
  std::vector<std::function<void()>> threads;
};

void open_file() { open_locked(w->file); }
void dirty_file() {
  open_locked(w->file);
  open_locked(w->other);
  w->other.id = 8;
  w->table.add(&w->file);
  write(w->file);
  write(w->other);
}

const Scenario scenarios[] = {
    {"write, close, sync of all",
     open_file,
     {[] { write(w->file); }, [] { close(w->file); }, [] { flush_all(); }}},
    {"write, write, close",
     open_file,
     {[] { write(w->file); },
      [] { write(w->file); },
      [] { close(w->file); }}},
    {"write and sync, close, close",
     open_file,
     {[] {
        write(w->file);
        flush(w->file);
      },
      [] { close(w->file); },
      [] { close(w->file); }}},
    {"write, two syncs of all",
     open_file,
     {[] { write(w->file); }, [] { flush_all(); }, [] { flush_all(); }}},
    {"two writes during syncs",
     dirty_file,
     {[] {
        write(w->file);
        flush_all();
      },
      [] { flush_all(); }}},
    {"write, write, close, sync of all",
     open_file,
     {[] { write(w->file); },
      [] { write(w->file); },
      [] { close(w->file); },
      [] { flush_all(); }}},
    {"idle, write, look",
     open_file,
     {[] {
        write(w->file);
        flush_all();
        look();
      },
      [] {
        write(w->file);
        flush_all();
      }}},
    {"close, write and sync of all",
     dirty_file,
     {[] {
        flush(w->file);
        close(w->file);
      },
      [] {
        write(w->other);
        flush_all();
      }}},
    {"read, close, close",
     open_file,
     {[] {
        read(w->file);
        read(w->file);
      },
      [] { close(w->file); },
      [] { close(w->file); }}},
    {"read, write, truncate",
     open_file,
     {[] {
        io_of_page(w->file);
        io_of_page(w->file);
      },
      [] { io_of_page(w->file); },
      [] { truncate(w->file); }}},
    {"two look-ups, drop",
     dirty_file,
     {[] { acquire(0); }, [] { acquire(1); }, [] { drop(w->file); }}},
    {"look at the list, write, drop",
     dirty_file,
     {[] { look(); }, [] { drop(w->file); }, [] { write(w->other); }}},
};

// --- exploration -----------------------------------------------------------

void trampoline() {
  auto &t = model::threads[model::running];
  t.body();
  t.finished = true;
  model::step();
}

bool is_enabled(const model::Thread &t) {
  if (t.finished) return false;
  if (t.locked != nullptr) return *t.locked == 0;
  return !t.yields || model::n_changes > t.seen;
}

uint64_t state() {
  uint64_t hash = model::shared;
  for (int i = 0; i < model::n_threads; ++i) {
    const auto &t = model::threads[i];
    uint64_t words[8];
    memcpy(words, t.jump, sizeof(words));
    for (auto word : words) hash = model::mix(hash, word);
    const auto end = model::stacks[i] + model::STACK;
    for (auto p = t.top; p + 8 <= end; p += 8) {
      uint64_t word;
      memcpy(&word, p, sizeof(word));
      hash = model::mix(hash, word);
    }
    hash = model::mix(hash, t.finished + 2 * t.yields + 4 * is_enabled(t) +
                                8 * (t.locked != nullptr));
  }
  return hash;
}

void explore(const Scenario &s) {
  model::scenario = s.name;
  std::unordered_set<uint64_t> seen;
  // What was chosen at each step of this run, and what is left to be tried.
  std::vector<std::vector<int>> left;
  size_t n_runs = 0;

  for (;;) {
    ++n_runs;
    if (w != nullptr) w->~World();
    model::running = -1;
    model::large.used = 0;
    model::n_changes = model::shared = 0;
    model::order.clear();
    memset(world_memory, 0, sizeof(world_memory));
    model::in_run = true;
    w = new (world_memory) World;
    s.prepare();
    model::n_threads = static_cast<int>(s.threads.size());
    for (int i = 0; i < model::n_threads; ++i) {
      auto &t = model::threads[i];
      getcontext(&t.context);
      t.context.uc_stack.ss_sp = model::stacks[i];
      t.context.uc_stack.ss_size = model::STACK;
      t.started = false;
      t.body = s.threads[i];
      t.finished = t.yields = false;
      t.locked = nullptr;
      t.seen = 0;
      makecontext(&t.context, trampoline, 0);
    }
    /* To the first access of each. */
    for (int i = 0; i < model::n_threads; ++i) {
      model::run(i);
    }

    for (size_t depth = 0;; ++depth) {
      if (depth == left.size()) {
        model::in_run = false;
        const bool is_new = seen.insert(state()).second;
        std::vector<int> enabled;
        bool all_finished = true;
        for (int i = 0; i < model::n_threads; ++i) {
          all_finished &= model::threads[i].finished;
          if (is_enabled(model::threads[i])) enabled.push_back(i);
        }
        if (all_finished) close_all();
        if (all_finished || !is_new) break;
        if (depth > 1000) model::fail("a thread goes round and round", __LINE__);
        if (enabled.empty()) model::fail("all threads wait", __LINE__);
        left.push_back(enabled);
        model::in_run = true;
      }
      model::order.push_back(left[depth].back());
      model::run(left[depth].back());
    }
    model::in_run = false;

    while (!left.empty()) {
      left.back().pop_back();
      if (!left.back().empty()) break;
      left.pop_back();
    }
    if (left.empty()) break;
  }
  printf("%-32s %9zu states %9zu runs\n", s.name, seen.size(), n_runs);
  fflush(stdout);
}

// --- the copy of a gate ----------------------------------------------------

/** @return true if it calls abort(); tried in another process */
template <typename F>
bool aborts(F &&f) {
  const pid_t child = fork();
  if (child == 0) {
    f();
    _exit(0);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/** A gate that is pinned or listed is not copied: others have its address. */
void copies() {
  model::scenario = "copy of a gate";
  model::running = -1;
  Fil_io_gate gate;
  const auto copy = [&] { const Fil_io_gate moved(gate); };
  gate.open();
  CHECK(!aborts(copy));
  CHECK(Fil_io_gate(gate).is_open());
  ++gate;
  CHECK(aborts(copy));
  --gate;
  gate.set_listed();
  CHECK(aborts(copy));
}

// --- one thread ------------------------------------------------------------

/** An I/O marks its file, and the mark is good for one round. */
void second_chance() {
  model::scenario = "second chance";
  Fil_io_gate gate;
  gate.open();
  CHECK(!gate.test_and_clear_used());
  CHECK(gate.try_pin());
  --gate;
  CHECK(gate.test_and_clear_used());
  CHECK(!gate.test_and_clear_used());
  gate.set_used();
  CHECK(gate.test_and_clear_used());
}

/** A file leaves the list after that many looks that found nothing to sync, not
before, and not while it is pinned. */
void idle_files() {
  model::scenario = "idle files";
  File idle, pinned;
  Fil_written_list<File, &File::gate, 2> list;
  const auto look_at_all = [&] { list.look(0, list.size(), [](File *) {}); };
  for (auto f : {&idle, &pinned}) {
    f->gate.open();
    CHECK(f->gate.try_pin());
    list.add(f);
    f->gate.wrote();
  }
  for (int i = 0; i < 5; ++i) look_at_all();
  CHECK(idle.gate.is_listed() && pinned.gate.is_listed());
  for (auto f : {&idle, &pinned}) {
    Fil_io_gate::Ticket ticket;
    CHECK(f->gate.ticket(ticket, false));
    CHECK(f->gate.flush_step(ticket) == Fil_io_gate::Step::FLUSH);
    f->gate.flush_end();
  }
  CHECK(pinned.gate.try_pin());
  look_at_all();
  look_at_all();
  CHECK(idle.gate.is_listed());
  look_at_all();
  CHECK(!idle.gate.is_listed() && pinned.gate.is_listed());
  --pinned.gate;
  look_at_all();
  CHECK(!pinned.gate.is_listed());
  CHECK(list.size() == 0);
}

}  // namespace

int main(int argc, char **argv) {
  copies();
  second_chance();
  idle_files();
  for (const auto &s : scenarios) {
    if (argc == 1 ||
        std::any_of(argv + 1, argv + argc,
                    [&](const char *a) { return strstr(s.name, a); })) {
      explore(s);
    }
  }
  return 0;
}
