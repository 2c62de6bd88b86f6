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

/** @file include/fil0gate.h
 Gates that let I/O and operations in without a mutex, or keep them out. Every
 file has a Fil_io_gate, every tablespace a Fil_op_gate. Comments at each step
 say why it is safe.

 This file knows nothing of InnoDB, so that it can be tested alone. */

#ifndef fil0gate_h
#define fil0gate_h

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

/** Which I/O uses one file, and whether the file is to be synced. It replaces
upstream's fil_node_t::n_pending_ios, and counts like it. One word holds four
things, because each of them has to be changed or read in one step with the
number of pins:

- The gate: how many I/Os are in flight ("pins"), and whether more may come
  without the shard mutex.
- Sync tickets: whether a write has finished since the last fsync began, whether
  an fsync is running, and its number. A thread that needs finished writes to be
  durable asks for the number of the fsync that makes them so (the ticket), and
  waits for that fsync or runs it.
- The listing: whether the file is in the list of written files (fil0written.h).
- The second chance: whether the file was used since the LRU list of open files
  was last looked at. If so, the file is not closed yet.

Rules:
- open(), try_shut(), stop() and operator++ are called under the mutex of the
  file's shard only. So a thread that holds the mutex and has shut the gate at 0
  pins has the file for itself until it opens the gate or releases the mutex.
- try_pin() needs no mutex. It succeeds only while the gate is open, in one
  atomic step, so there is no moment between the check and the pin.
- A pin is given back by operator-- or wrote() from any thread, without a mutex.
- While innodb_page_io_fast_path is OFF the gate never opens; then this is a
  counter, which upstream's code changes under the mutex.

Memory ordering: open() releases, and a successful try_pin() acquires, what was
set before the gate was opened: handle, size and name of the file, version of
the tablespace. Giving back a pin releases what the I/O did, and try_shut(), or
reading a count of 0, acquires it. */
class Fil_io_gate {
 public:
  Fil_io_gate() = default;

  /** For std::vector, which moves its files when another one is added. At that
  time only the caller may know the file: a thread that has pinned it, or the
  list of written files, would be left with the old address. */
  Fil_io_gate(const Fil_io_gate &other) : m_word(other.load()) {
    if (pins(other.load()) != 0 || other.is_listed()) std::abort();
  }
  Fil_io_gate &operator=(const Fil_io_gate &) = delete;

  /** @name The gate
  @{ */

  /** @return number of pins. A 0 stays 0 only under the shard mutex and with
  the gate shut. */
  operator size_t() const noexcept { return pins(load()); }

  /** Pins the file, whether or not the gate is open. Needs the shard mutex.
  @return *this */
  Fil_io_gate &operator++() noexcept {
    m_word.fetch_add(1, std::memory_order_acquire);
    return *this;
  }

  /** Gives back a pin of an I/O that wrote nothing, or whose caller notes the
  write elsewhere.
  @return *this */
  Fil_io_gate &operator--() noexcept {
    m_word.fetch_sub(1, std::memory_order_release);
    return *this;
  }

  /** Pins the file if the gate is open. Needs no mutex.
  @return true if pinned, so the file stays open and keeps its name until the
  pin is given back */
  [[nodiscard]] bool try_pin() noexcept {
    auto word = m_word.load(std::memory_order_relaxed);
    while (word & OPEN) {
      if (m_word.compare_exchange_weak(word, (word | USED) + 1,
                                       std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /** Lets I/O in without the mutex. Needs the shard mutex; the file is open and
  no operation wants it for itself. */
  void open() noexcept { m_word.fetch_or(OPEN, std::memory_order_release); }

  /** Keeps I/O out unless it comes with the shard mutex, which the caller
  holds. I/O in flight goes on. */
  void stop() noexcept { m_word.fetch_and(~OPEN, std::memory_order_acq_rel); }

  /** Keeps I/O out if none is in flight. Needs the shard mutex.
  @return true if there is no pin, and there will be none without the mutex;
  false if there are pins and nothing was changed */
  [[nodiscard]] bool try_shut() noexcept {
    auto word = m_word.load(std::memory_order_acquire);
    do {
      if (pins(word) != 0) return false;
      if (!(word & OPEN)) return true;
    } while (!m_word.compare_exchange_weak(word, word & ~OPEN,
                                           std::memory_order_acq_rel,
                                           std::memory_order_acquire));
    return true;
  }

  /** @return true if I/O is let in without the mutex */
  [[nodiscard]] bool is_open() const noexcept { return load() & OPEN; }

  /** @} */

  /** @name Sync tickets
  @{ */

  /** Gives back the pin of a finished write which an fsync has to follow. The
  file must be listed. From here on until such an fsync, is_flushed() is false
  and any ticket() asks for one. */
  void wrote() noexcept {
    auto word = m_word.load(std::memory_order_relaxed);
    while (!m_word.compare_exchange_weak(word, (word | DIRTY) - 1,
                                         std::memory_order_acq_rel,
                                         std::memory_order_relaxed)) {
    }
  }

  /** @return true if every finished write was followed by an fsync which has
  finished too, or if writes are not followed by one at all */
  [[nodiscard]] bool is_flushed() const noexcept {
    return !(load() & (DIRTY | FLUSHING));
  }

  /** Forgets that there is something to sync. Needs the shard mutex, and the
  gate shut at 0 pins: the file is to be thrown away. */
  void set_flushed() noexcept {
    m_word.fetch_and(~DIRTY, std::memory_order_relaxed);
  }

  /** Number of an fsync of one file, modulo 2^24. */
  using Ticket = uint32_t;

  /** Tells which fsync makes all finished writes of the file durable.
  @param[out]  number  number of that fsync, if there is one to wait for
  @param[in]   force   true to have a new one even if there is nothing to sync
  @return false if all of them are durable already */
  [[nodiscard]] bool ticket(Ticket &number, bool force) const noexcept {
    const auto word = m_word.load(std::memory_order_acquire);
    if (!force && !(word & (DIRTY | FLUSHING))) return false;
    /* The running fsync may have begun before the write that set DIRTY. */
    number = generation(word) + ((force || (word & DIRTY)) ? 1 : 0);
    return true;
  }

  enum class Step {
    /** The fsync of the ticket has finished. */
    DONE,
    /** Another thread's fsync is running. */
    WAIT,
    /** The caller has to call fsync() now, and flush_end() after it. */
    FLUSH
  };

  /** Tells what to do next to satisfy a ticket. Needs a pin, or the shard mutex
  and an open file. At most one thread at a time is told to FLUSH.
  @param[in]  number  from ticket()
  @return what to do */
  [[nodiscard]] Step flush_step(Ticket number) noexcept {
    auto word = m_word.load(std::memory_order_acquire);
    for (;;) {
      const int32_t ahead =
          static_cast<int32_t>((generation(word) - number) << 8) / 256;
      if (ahead > 0 || (ahead == 0 && !(word & FLUSHING))) return Step::DONE;
      if (word & FLUSHING) return Step::WAIT;
      /* DIRTY is cleared before the fsync begins. So a write that finishes
      during the fsync, and that the fsync may have missed, sets DIRTY again; a
      write that found DIRTY set had finished before. */
      if (m_word.compare_exchange_weak(
              word, ((word & ~DIRTY) | FLUSHING) + GENERATION_ONE,
              std::memory_order_acq_rel, std::memory_order_acquire)) {
        return Step::FLUSH;
      }
    }
  }

  /** The fsync that flush_step() asked for has finished. */
  void flush_end() noexcept {
    m_word.fetch_and(~FLUSHING, std::memory_order_release);
  }

  /** @} */

  /** @name The listing
  @{ */

  /** @return true if the file is in the list of files to look at for a sync */
  [[nodiscard]] bool is_listed() const noexcept { return load() & LISTED; }

  /** Notes that the file was put into that list. Needs the list's mutex. */
  void set_listed() noexcept {
    m_word.fetch_or(LISTED, std::memory_order_release);
  }

  /** Notes that the file is to leave the list, if nobody uses it and there is
  nothing to sync. Needs the list's mutex. A write that finishes later finds
  the file not listed, as it had no pin yet.
  @return true if the file has to be taken out of the list */
  [[nodiscard]] bool try_unlist() noexcept {
    auto word = load();
    do {
      if (pins(word) != 0 || (word & (DIRTY | FLUSHING)) || !(word & LISTED)) {
        return false;
      }
    } while (!m_word.compare_exchange_weak(word, word & ~LISTED,
                                           std::memory_order_acq_rel,
                                           std::memory_order_acquire));
    return true;
  }

  /** @} */

  /** @name The second chance
  @{ */

  /** Notes that the file is in use, for fil_fast_age_LRU(). */
  void set_used() noexcept { m_word.fetch_or(USED, std::memory_order_relaxed); }

  /** @return true if the file was pinned, or noted as used, since the last
  call. Needs the shard mutex. */
  bool test_and_clear_used() noexcept {
    return (m_word.load(std::memory_order_relaxed) & USED) &&
           (m_word.fetch_and(~USED, std::memory_order_relaxed) & USED);
  }

  /** @} */

  /** The file was closed: forgets everything. Needs the shard mutex and the
  list's mutex.
  @return true if the file was listed */
  bool reset() noexcept {
    return m_word.exchange(0, std::memory_order_acq_rel) & LISTED;
  }

 private:
  /* The word. Bits 0..31: pins. */

  /** The gate: I/O comes in without the shard mutex. */
  static constexpr uint64_t OPEN = 1ULL << 32;
  /** Sync tickets: a write has finished since the last fsync began. */
  static constexpr uint64_t DIRTY = 1ULL << 33;
  /** Sync tickets: an fsync is running. */
  static constexpr uint64_t FLUSHING = 1ULL << 34;
  /** The listing: the file is in the list of written files. */
  static constexpr uint64_t LISTED = 1ULL << 35;
  /** The second chance: pinned, or noted as used, since the LRU list of open
  files was last looked at. */
  static constexpr uint64_t USED = 1ULL << 36;
  /** Sync tickets. Bits 40..63: how many fsyncs have begun. */
  static constexpr uint64_t GENERATION_ONE = 1ULL << 40;

  static size_t pins(uint64_t word) noexcept { return word & 0xFFFFFFFFULL; }
  static uint32_t generation(uint64_t word) noexcept {
    return static_cast<uint32_t>(word >> 40);
  }
  uint64_t load() const noexcept {
    return m_word.load(std::memory_order_acquire);
  }

  std::atomic<uint64_t> m_word{0};

 public:
  /** Place in the list of written files while the file is in it; protected by
  the list's mutex. */
  uint32_t m_list_slot{};
};

/** How many operations have acquired a tablespace, and whether more may do so
without the shard mutex. It takes the place of upstream's
fil_space_t::n_pending_ops and reads like it.

The rules are those of Fil_io_gate, but here open is the normal state. stop(),
restart() and operator++ need the shard mutex; try_acquire() and operator-- do
not. */
class Fil_op_gate {
 public:
  Fil_op_gate() = default;
  Fil_op_gate(const Fil_op_gate &) = delete;
  Fil_op_gate &operator=(const Fil_op_gate &) = delete;

  /** @return number of operations */
  operator uint32_t() const noexcept {
    return m_word.load(std::memory_order_acquire) & ~STOPPED;
  }

  /** Acquires under the shard mutex.
  @return *this */
  Fil_op_gate &operator++() noexcept {
    m_word.fetch_add(1, std::memory_order_acquire);
    return *this;
  }

  /** Releases. The tablespace may be gone right after.
  @return *this */
  Fil_op_gate &operator--() noexcept {
    m_word.fetch_sub(1, std::memory_order_release);
    return *this;
  }

  /** Acquires unless stopped. Needs no mutex, but the caller must know that
  the memory is not freed meanwhile.
  @return true if acquired */
  [[nodiscard]] bool try_acquire() noexcept {
    auto word = m_word.load(std::memory_order_relaxed);
    while (!(word & STOPPED)) {
      if (m_word.compare_exchange_weak(word, word + 1,
                                       std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /** From now on, acquiring needs the shard mutex, which the caller holds. */
  void stop() noexcept { m_word.fetch_or(STOPPED, std::memory_order_acq_rel); }

  /** Undoes stop(). */
  void restart() noexcept {
    m_word.fetch_and(~STOPPED, std::memory_order_release);
  }

 private:
  static constexpr uint32_t STOPPED = 1U << 31;

  std::atomic<uint32_t> m_word{0};
};

#endif /* fil0gate_h */
