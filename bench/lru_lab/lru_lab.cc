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

/** @file bench/lru_lab/lru_lab.cc
 A policy laboratory: how many pages would be read from disk, under a load, if
 the buffer pool replaced pages in another way? See README.md.

 lru_lab NAME=VALUE...   prints what happened as one line of JSON. */

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <zlib.h>

namespace {

using Page = uint32_t;
constexpr Page NONE = UINT32_MAX;

/* Parameters. */

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
    {"tolerance", 20},   // BUF_LRU_OLD_TOLERANCE
    {"first", 0},        // 1: with time 0, too, the access that reads is none
    {"anchor", 0},       // 1: the boundary hands out no youth
    {"earn", 0},         // 1: who got youth from the boundary has to earn it
    {"ghosts", 0},       // evicted pages that are remembered, percent of frames
    {"ghost_exact", 0},  // unused bits of a fingerprint: 0 exact
    {"second", 0},       // bits of frequency that save from demotion: 0, 1, 2
    {"lazy", 0},         // 1: promoted at the tail, not when touched
    {"small", 10},       // s3fifo: percent of the frames in the small queue
    {"window", 1},       // tinylfu: percent of the frames in the window
    {"rows", 6e6},
    {"rows_page", 73},
    {"rows_branch", 1100},
    {"h", 0.2},          // sysbench --rand-pareto-h
    {"exponent", 0.99},  // zipf
    {"scatter", 0},      // 1: hot rows are scattered over the table
    {"scan_pages", 0},   // pages of another table that is scanned over and over
    {"scan_every", 50},  // so many queries, by
    {"scan_chunk", 27},  // so many pages, each touched
    {"scan_touches", 3},  // so often
    {"move_s", 0},        // the hot spot moves after so many seconds
    {"create_every", 0},  // a page is created after so many queries
    {"query_us", 30},     // time of a query, all clients together
    {"read_us", 70},      // and of a page that it reads
    {"warm", 2e6},        // queries that are not counted
    {"queries", 2e6},     // and that are
    {"report", 0},        // a line for each so many queries
    {"seed", 1}};

std::map<std::string, std::string> words{
    {"policy", "midpoint"}, {"load", "pareto"}, {"trace", ""}};

double number(const char *name) { return parameters.at(name); }
bool is_set(const char *name) { return number(name) != 0; }

/** A number that is looked up once. */
class Number {
 public:
  explicit Number(const char *name) : m_value(number(name)) {}
  operator double() const { return m_value; }
  uint64_t whole() const { return static_cast<uint64_t>(m_value); }

 private:
  double m_value;
};

/* Loads: a stream of queries, each a few pages. */

class Random {
 public:
  explicit Random(uint64_t seed) : m_engine(seed) {}
  double operator()() {
    return static_cast<double>(m_engine() >> 11) * 0x1p-53;
  }

 private:
  std::mt19937_64 m_engine;
};

/** One touch of a page. */
struct Touch {
  Page page;
  bool created;
};

class Load {
 public:
  virtual ~Load() = default;
  /** @param[out]  touches  pages of the next query
  @param[in]   now_us   time
  @return false if there are no more
  */
  virtual bool next(std::vector<Touch> &touches, double &now_us) = 0;
  virtual size_t pages() const = 0;
  /** @return true if it is a page of the table that is scanned */
  virtual bool is_scanned(Page) const { return false; }
  /** @return the part of the queries that read their leaf if the hottest
  `frames` pages are always in the pool; negative if that is not known */
  virtual double least_misses(size_t) const { return -1; }
};

/** Point selects on a B-tree of three levels, with a scan beside. Pages: root,
branches, leaves, then those of the scanned table, then created ones. */
class Select_load : public Load {
 public:
  explicit Select_load(const std::string &kind)
      : m_kind(kind == "none"      ? NONE_KIND
               : kind == "uniform" ? UNIFORM
               : kind == "zipf"    ? ZIPF
                                   : PARETO),
        m_random(static_cast<uint64_t>(number("seed"))),
        m_rows(static_cast<uint64_t>(number("rows"))),
        m_rows_page(number("rows_page")),
        m_leaves(leaf_of(m_rows) + 1),
        m_branch(static_cast<uint64_t>(number("rows_branch"))),
        m_branches(m_leaves / m_branch + 1),
        m_power(std::log(number("h")) / std::log(1 - number("h"))),
        m_rest(1 - number("exponent")),
        m_scan_first(static_cast<Page>(1 + m_branches + m_leaves)),
        m_created(m_scan_first + static_cast<Page>(number("scan_pages"))) {}

  size_t pages() const override {
    return m_created + 2 +
           (is_set("create_every")
                ? static_cast<size_t>((number("warm") + number("queries")) /
                                      number("create_every"))
                : 0);
  }

  bool next(std::vector<Touch> &touches, double &now_us) override {
    m_n++;
    if (m_scan_pages != 0 && m_n % m_scan_every == 0) {
      for (auto i = m_scan_chunk; i > 0; i--) {
        for (auto k = m_scan_touches; k > 0; k--) {
          touches.push_back({m_scan_first + m_scan, false});
        }
        m_scan = (m_scan + 1) % m_scan_pages;
      }
    }
    if (m_create_every != 0 && m_n % m_create_every == 0) {
      touches.push_back({m_created++, true});
    }
    if (m_kind == NONE_KIND) return true;
    if (m_move_us != 0 && now_us >= m_move_at) {
      m_move_at = now_us + m_move_us;
      m_shift = static_cast<uint64_t>(m_random() * static_cast<double>(m_rows));
    }
    const auto leaf = leaf_of((row() + m_shift) % m_rows);
    touches.push_back({0, false});
    touches.push_back({static_cast<Page>(1 + leaf / m_branch), false});
    touches.push_back({static_cast<Page>(1 + m_branches + leaf), false});
    return true;
  }

  bool is_scanned(Page page) const override {
    return page >= m_scan_first && page - m_scan_first < m_scan_pages;
  }

  double least_misses(size_t frames) const override {
    if (m_scan_pages != 0 || m_move_us != 0 || m_create_every != 0) {
      return -1;
    }
    if (frames <= 1 + m_branches) return 1;
    frames -= 1 + m_branches;
    if (frames >= m_leaves) return 0;
    std::vector<double> weight(m_leaves);
    if (m_kind == UNIFORM) {
      return 1 - static_cast<double>(frames) / static_cast<double>(m_leaves);
    }
    double sum = 0;
    double before = 0;
    for (uint64_t r = 1; r <= m_rows; r++) {
      const auto upto = cumulative(static_cast<double>(r));
      const auto place = m_scatter ? scattered(r - 1) : r - 1;
      weight[leaf_of(place)] += upto - before;
      sum += upto - before;
      before = upto;
    }
    std::nth_element(weight.begin(),
                     weight.begin() + static_cast<ptrdiff_t>(frames),
                     weight.end(), std::greater<>());
    double hot = 0;
    for (size_t i = 0; i < frames; i++) hot += weight[i];
    return 1 - hot / sum;
  }

 private:
  enum Kind { NONE_KIND, UNIFORM, ZIPF, PARETO };

  /** A bijection of the rows. */
  uint64_t scattered(uint64_t row) const {
    /* A prime that divides no number of rows used here. */
    return row * 2654435761ULL % m_rows;
  }

  double cumulative(double r) const {
    const auto n = static_cast<double>(m_rows);
    if (m_kind == ZIPF) {
      return (std::pow(r + 1, m_rest) - 1) / (std::pow(n + 1, m_rest) - 1);
    }
    return std::pow(r / n, 1 / m_power);
  }

  uint64_t row() {
    const auto n = static_cast<double>(m_rows);
    const auto u = m_random();
    uint64_t row;
    if (m_kind == UNIFORM) {
      row = static_cast<uint64_t>(u * n);
    } else if (m_kind == ZIPF) {
      row = static_cast<uint64_t>(
          std::pow((std::pow(n + 1, m_rest) - 1) * u + 1, 1 / m_rest) - 1);
    } else { /* as sb_rand_pareto() */
      row = static_cast<uint64_t>(n * std::pow(u, m_power));
    }
    row = std::min(row, m_rows - 1);
    return m_scatter ? scattered(row) : row;
  }

  uint64_t leaf_of(uint64_t row) const {
    return static_cast<uint64_t>(static_cast<double>(row) / m_rows_page);
  }

  Kind m_kind;
  Random m_random;
  uint64_t m_rows;
  double m_rows_page;
  Page m_scan_pages = static_cast<Page>(number("scan_pages"));
  uint64_t m_scan_every = Number("scan_every").whole();
  uint64_t m_scan_chunk = Number("scan_chunk").whole();
  uint64_t m_scan_touches = Number("scan_touches").whole();
  uint64_t m_create_every = Number("create_every").whole();
  double m_move_us = number("move_s") * 1e6;
  bool m_scatter = is_set("scatter");
  uint64_t m_leaves;
  uint64_t m_branch;
  uint64_t m_branches;
  double m_power;
  double m_rest;
  Page m_scan_first;
  Page m_scan{0};
  Page m_created;
  uint64_t m_n{0};
  double m_move_at{0};
  uint64_t m_shift{0};
};

/** Events that lru_record.cc has recorded. A "query" is one access. */
class Trace_load : public Load {
 public:
  explicit Trace_load(const std::string &path) {
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) {
      perror(path.c_str());
      exit(2);
    }
    std::unordered_map<uint64_t, Page> numbers;
    struct {
      uint64_t page;
      uint64_t time_kind;
    } record;
    while (gzread(file, &record, sizeof(record)) ==
           static_cast<int>(sizeof(record))) {
      const auto kind = record.time_kind & 7;
      if (kind > ACCESS) continue;
      const auto [it, fresh] =
          numbers.try_emplace(record.page, static_cast<Page>(numbers.size()));
      if (kind == READ) {
        /* The access that waits for it follows. */
        m_reads.push_back(m_events.size());
        continue;
      }
      m_events.push_back({it->second, kind == CREATE,
                          static_cast<double>(record.time_kind >> 3)});
    }
    gzclose(file);
    m_pages = numbers.size();
  }
  size_t size() const { return m_events.size(); }
  /** @return what the server has read from the event `from` on */
  size_t recorded_reads(size_t from) const {
    return static_cast<size_t>(
        m_reads.end() - std::lower_bound(m_reads.begin(), m_reads.end(), from));
  }
  size_t pages() const override { return m_pages; }
  bool next(std::vector<Touch> &touches, double &now_us) override {
    if (m_next == m_events.size()) return false;
    const auto &event = m_events[m_next++];
    now_us = event.us - m_events[0].us;
    touches.push_back({event.page, event.created});
    return true;
  }

 private:
  /** As in buf0lrustats.h. */
  enum { READ = 0, CREATE = 1, ACCESS = 2 };
  struct Event {
    Page page;
    bool created;
    double us;
  };
  std::vector<size_t> m_reads;
  std::vector<Event> m_events;
  size_t m_next{0};
  size_t m_pages{0};
};

/* Policies. */

class Policy {
 public:
  virtual ~Policy() = default;
  /** @param[in]  page     page
  @param[in]  created  it need not be read
  @param[in]  now      milliseconds
  @return whether the pool did not have it */
  virtual bool touch(Page page, bool created, double now) = 0;
  /** Pages that moved in the lists of the pool, to give an idea of the work. */
  uint64_t m_moves{0};
  /** Sum of the list's lengths when a page came in, and how many did. */
  double m_length_sum{0};
  uint64_t m_came{0};
  enum Count {
    MADE_YOUNG,
    YOUNG_TO_HEAD,
    GIFTS,
    GIFTS_USED,
    DEMOTED,
    SAVED,
    GHOSTS,
    COUNTS
  };
  std::array<uint64_t, COUNTS> m_counts{};
};

/** Evicted pages, remembered in the order in which they left. */
class Ghosts {
 public:
  Ghosts(size_t pages, size_t most) : m_at(pages, 0), m_most(most) {}
  void add(Page page) { m_at[page] = ++m_clock; }
  /** @return whether fewer than the most have left since the page did */
  bool take(Page page) {
    const bool there = m_at[page] != 0 && m_clock - m_at[page] < m_most;
    m_at[page] = 0;
    return there;
  }

 private:
  std::vector<uint64_t> m_at;
  uint64_t m_most;
  uint64_t m_clock{0};
};

struct Node {
  Page prev{NONE}, next{NONE};
};

/** A list, head to tail; nodes are the pages'. */
class List {
 public:
  explicit List(std::vector<Node> &nodes) : m_nodes(nodes) {}
  void push_front(Page p) { insert_before(m_head, p); }
  /** Before `where`; at the end if that is NONE. */
  void insert_before(Page where, Page p) {
    const Page prev = where == NONE ? m_tail : m_nodes[where].prev;
    m_nodes[p] = {prev, where};
    (prev == NONE ? m_head : m_nodes[prev].next) = p;
    (where == NONE ? m_tail : m_nodes[where].prev) = p;
    m_size++;
  }
  void insert_after(Page where, Page p) {
    insert_before(m_nodes[where].next, p);
  }
  void erase(Page p) {
    const auto [prev, next] = m_nodes[p];
    (prev == NONE ? m_head : m_nodes[prev].next) = next;
    (next == NONE ? m_tail : m_nodes[next].prev) = prev;
    m_size--;
  }
  Page head() const { return m_head; }
  Page tail() const { return m_tail; }
  Page prev(Page p) const { return m_nodes[p].prev; }
  Page next(Page p) const { return m_nodes[p].next; }
  size_t size() const { return m_size; }

 private:
  std::vector<Node> &m_nodes;
  Page m_head{NONE}, m_tail{NONE};
  size_t m_size{0};
};

/** InnoDB's list: buf0lru.cc, buf0buf.ic, and what might be changed in it. */
class Midpoint : public Policy {
 public:
  explicit Midpoint(size_t pages)
      : m_pages(pages),
        m_nodes(pages),
        m_list(m_nodes),
        m_frames(static_cast<size_t>(number("frames"))),
        m_most_free(static_cast<size_t>(number("free"))),
        m_refill(number("refill") / 100),
        m_free(m_frames),
        m_ratio(
            std::clamp(std::floor(number("pct") * 1024 / 100), 51.0, 1024.0)),
        m_time(number("time")),
        m_turn(number("turn") / 100),
        m_tolerance(static_cast<size_t>(number("tolerance"))),
        m_first(is_set("first")),
        m_anchor(is_set("anchor")),
        m_earn(is_set("earn")),
        m_lazy(is_set("lazy")),
        m_most_frequency((1 << static_cast<int>(number("second"))) - 1),
        m_ghosts(pages, static_cast<size_t>(number("ghosts") / 100 *
                                            number("frames"))),
        m_use_ghosts(is_set("ghosts")) {}

  bool touch(Page p, bool created, double now) override {
    auto &page = m_pages[p];
    if (m_most_free > 0 && m_refill == 0 && now >= m_next_second) {
      m_next_second = now + 1000;
      if (m_free < m_most_free) refill(); /* the page cleaner's round */
    }
    const bool missing = !page.there;
    if (missing) come(p, created, now);
    access(p, missing && !created, now);
    return missing;
  }

 private:
  struct State {
    bool there{false};
    bool old{false};
    bool accessed{false};
    uint8_t frequency{0};
    double access{0};   // the first one, in milliseconds
    uint64_t clock{0};  // of the last move to the head
  };

  void come(Page p, bool created, double now) {
    take_frame();
    auto &page = m_pages[p];
    page = {};
    page.there = true;
    m_came++;
    m_length_sum += static_cast<double>(m_list.size());
    bool old = !created;
    if (created) {
      page.accessed = true;
      page.access = now;
    } else if (m_use_ghosts && m_ghosts.take(p)) {
      m_counts[GHOSTS]++;
      old = false;
    }
    add(p, old);
    if (page.old) turn(now);
  }

  void take_frame() {
    if (m_most_free == 0) {
      if (m_free == 0) evict();
    } else if (m_free == 0) {
      evict(); /* a thread helps itself */
    }
    m_free--;
    if (m_most_free > 0 && m_refill > 0 &&
        static_cast<double>(m_free) <
            m_refill * static_cast<double>(m_most_free)) {
      refill();
    }
  }

  void refill() {
    while (m_free < m_most_free && m_list.size() > 256) evict();
  }

  void evict() {
    for (int tries = 0;; tries++) {
      const auto p = m_list.tail();
      auto &page = m_pages[p];
      if (m_lazy && page.frequency > 0 && tries < 10) {
        page.frequency = 0;
        to_head(p);
        continue;
      }
      remove(p);
      if (m_use_ghosts) m_ghosts.add(p);
      page.there = false;
      m_clock++;
      m_free++;
      return;
    }
  }

  /* buf_page_make_young_if_needed() */
  void access(Page p, bool first, double now) {
    auto &page = m_pages[p];
    const bool was_accessed = page.accessed;
    if (!page.accessed) {
      page.accessed = true;
      page.access = now;
    }
    if (m_clock == 0) return;
    const bool unproved = page.old || (m_earn && page.clock == 0);
    if (m_lazy) {
      if (!first && is_ripe(page, now) && page.frequency < 3) page.frequency++;
      return;
    }
    if (unproved && m_time != 0) {
      if (is_ripe(page, now)) to_head(p);
      return;
    }
    if (m_first && !was_accessed) return;
    if (m_most_frequency > 0 && !page.old) {
      if (page.frequency < m_most_frequency) page.frequency++;
      return;
    }
    /* buf_page_peek_if_young() */
    const auto quarter = static_cast<uint64_t>(static_cast<double>(m_frames) *
                                               (1024 - m_ratio) / (1024 * 4));
    if (m_clock >= page.clock + quarter) to_head(p);
  }

  bool is_ripe(const State &page, double now) const {
    auto time = m_time;
    if (m_turn != 0 && m_turn_began > 0) {
      time = std::min(time, m_turn * std::max(m_turn_time, now - m_turn_began));
    }
    return now - page.access >= time;
  }

  /** A page was put to the midpoint. */
  void turn(double now) {
    if (++m_turned < m_old_len) return;
    m_turned = 0;
    if (m_turn_began > 0) m_turn_time = now - m_turn_began;
    m_turn_began = now;
  }

  void to_head(Page p) {
    m_moves++;
    m_counts[m_pages[p].old ? MADE_YOUNG : YOUNG_TO_HEAD]++;
    if (!m_pages[p].old && m_pages[p].clock == 0) m_counts[GIFTS_USED]++;
    remove(p);
    add(p, false);
  }

  /* buf_LRU_remove_block() */
  void remove(Page p) {
    if (p == m_old) {
      const auto prev = m_list.prev(p);
      m_old = prev;
      m_pages[prev].old = true;
      m_old_len++;
    }
    m_list.erase(p);
    if (m_list.size() < 512) {
      for (auto q = m_list.head(); q != NONE; q = m_list.next(q)) {
        m_pages[q].old = false;
      }
      m_old = NONE;
      m_old_len = 0;
      return;
    }
    if (m_pages[p].old) m_old_len--;
    adjust(false);
  }

  /* buf_LRU_add_block_low() */
  void add(Page p, bool old) {
    auto &page = m_pages[p];
    if (!old || m_list.size() < 512) {
      m_list.push_front(p);
      page.clock = m_clock;
      page.frequency = 0;
    } else {
      m_list.insert_after(m_old, p);
      m_old_len++;
    }
    page.old = false;
    if (m_list.size() > 512) {
      page.old = old;
      adjust(old);
    } else if (m_list.size() == 512) {
      for (auto q = m_list.head(); q != NONE; q = m_list.next(q)) {
        m_pages[q].old = true;
      }
      m_old = m_list.head();
      m_old_len = m_list.size();
      adjust(false);
    }
  }

  /* buf_LRU_old_adjust_len() */
  void adjust(bool) {
    const auto len = m_list.size();
    const auto wanted =
        std::min(static_cast<size_t>(static_cast<double>(len) * m_ratio / 1024),
                 len - (m_tolerance + 5));
    /* Once pages are evicted the boundary stays where it is while the list gets
    longer and shorter; see README.md. */
    const auto slack = m_anchor && m_clock > 0 ? len / 8 : 0;
    int chances = 100;
    for (;;) {
      if (m_old_len + m_tolerance < wanted) {
        const auto p = m_list.prev(m_old);
        auto &page = m_pages[p];
        if (page.frequency > 0 && chances > 0) {
          /* A second chance. */
          chances--;
          m_moves++;
          m_counts[SAVED]++;
          page.frequency--;
          m_list.erase(p);
          m_list.push_front(p);
          page.clock = m_clock;
          continue;
        }
        m_old = p;
        m_old_len++;
        page.old = true;
        m_counts[DEMOTED]++;
      } else if (m_old_len > wanted + m_tolerance + slack) {
        m_pages[m_old].old = false;
        m_counts[GIFTS]++;
        m_old = m_list.next(m_old);
        m_old_len--;
      } else {
        return;
      }
    }
  }

  std::vector<State> m_pages;
  std::vector<Node> m_nodes;
  List m_list;
  size_t m_frames;
  size_t m_most_free;
  double m_refill;
  size_t m_free;
  double m_ratio;
  double m_time;
  double m_turn;
  size_t m_tolerance;
  bool m_first;
  bool m_anchor;
  bool m_earn;
  bool m_lazy;
  uint8_t m_most_frequency;
  Ghosts m_ghosts;
  bool m_use_ghosts;
  Page m_old{NONE};
  size_t m_old_len{0};
  uint64_t m_clock{0};
  double m_next_second{0};
  /** Pages that have come to the midpoint in this turn, when it began, and how
  long the last one took. */
  size_t m_turned{0};
  double m_turn_began{0};
  double m_turn_time{0};
};

/** Common to the policies of constant length. */
class Whole : public Policy {
 public:
  explicit Whole(size_t pages)
      : m_nodes(pages),
        m_where(pages, 0),
        m_frames(static_cast<size_t>(number("frames") -
                                     number("free") *
                                         (1 + number("refill") / 100) / 2)) {}

 protected:
  void came() {
    m_came++;
    m_length_sum += static_cast<double>(m_frames);
  }
  std::vector<Node> m_nodes;
  std::vector<uint8_t> m_where;  // 0: not in the pool
  size_t m_frames;
};

class Lru : public Whole {
 public:
  explicit Lru(size_t pages) : Whole(pages), m_list(m_nodes) {}
  bool touch(Page p, bool, double) override {
    const bool missing = m_where[p] == 0;
    if (missing) {
      came();
      if (m_list.size() >= m_frames) {
        m_where[m_list.tail()] = 0;
        m_list.erase(m_list.tail());
      }
      m_where[p] = 1;
    } else {
      m_moves++;
      m_list.erase(p);
    }
    m_list.push_front(p);
    return missing;
  }

 private:
  List m_list;
};

/** S3-FIFO: Yang et al., SOSP 2023. */
class S3fifo : public Whole {
 public:
  explicit S3fifo(size_t pages)
      : Whole(pages),
        m_small(m_nodes),
        m_main(m_nodes),
        m_frequency(pages, 0),
        m_small_len(static_cast<size_t>(static_cast<double>(m_frames) *
                                        number("small") / 100)),
        m_ghosts(pages, m_frames - m_small_len) {}

  bool touch(Page p, bool, double) override {
    if (m_where[p] != 0) {
      if (m_frequency[p] < 3) m_frequency[p]++;
      return false;
    }
    came();
    while (m_small.size() + m_main.size() >= m_frames) {
      if (m_small.size() >= m_small_len) {
        evict_small();
      } else {
        evict_main();
      }
    }
    const bool known = m_ghosts.take(p);
    (known ? m_main : m_small).push_front(p);
    m_where[p] = known ? 2 : 1;
    m_frequency[p] = 0;
    return true;
  }

 private:
  void evict_small() {
    while (m_small.size() > 0) {
      const auto p = m_small.tail();
      m_small.erase(p);
      if (m_frequency[p] > 1) {
        m_moves++;
        m_where[p] = 2;
        m_frequency[p] = 0;
        m_main.push_front(p);
        continue; /* the main queue is shortened when it has to be */
      }
      m_where[p] = 0;
      m_ghosts.add(p);
      return;
    }
  }
  void evict_main() {
    for (;;) {
      const auto p = m_main.tail();
      m_main.erase(p);
      if (m_frequency[p] > 0) {
        m_moves++;
        m_frequency[p]--;
        m_main.push_front(p);
        continue;
      }
      m_where[p] = 0;
      return;
    }
  }

  List m_small;
  List m_main;
  std::vector<uint8_t> m_frequency;
  size_t m_small_len;
  Ghosts m_ghosts;
};

/** W-TinyLFU: Einziger et al., ACM TOS 2017; a window, a segmented LRU of a
fifth and four fifths, and a count-min sketch. */
class Tinylfu : public Whole {
 public:
  explicit Tinylfu(size_t pages)
      : Whole(pages),
        m_window(m_nodes),
        m_probation(m_nodes),
        m_protected(m_nodes),
        m_window_len(std::max<size_t>(
            1, static_cast<size_t>(static_cast<double>(m_frames) *
                                   number("window") / 100))),
        m_protected_len((m_frames - m_window_len) * 4 / 5) {
    size_t width = 1;
    while (width < 4 * m_frames) width *= 2;
    for (auto &row : m_sketch) row.assign(width, 0);
  }

  bool touch(Page p, bool, double) override {
    count(p);
    switch (m_where[p]) {
      case WINDOW:
        m_window.erase(p);
        m_window.push_front(p);
        m_moves++;
        return false;
      case PROBATION:
        m_probation.erase(p);
        m_protected.push_front(p);
        m_where[p] = PROTECTED;
        m_moves++;
        if (m_protected.size() > m_protected_len) {
          const auto last = m_protected.tail();
          m_protected.erase(last);
          m_probation.push_front(last);
          m_where[last] = PROBATION;
        }
        return false;
      case PROTECTED:
        m_protected.erase(p);
        m_protected.push_front(p);
        m_moves++;
        return false;
      default:
        break;
    }
    came();
    m_where[p] = WINDOW;
    m_window.push_front(p);
    if (m_window.size() <= m_window_len) return true;
    const auto candidate = m_window.tail();
    m_window.erase(candidate);
    if (m_probation.size() + m_protected.size() >= m_frames - m_window_len) {
      auto &from = m_probation.size() > 0 ? m_probation : m_protected;
      const auto victim = from.tail();
      if (estimate(candidate) <= estimate(victim)) {
        m_where[candidate] = 0;
        return true;
      }
      from.erase(victim);
      m_where[victim] = 0;
    }
    m_probation.push_front(candidate);
    m_where[candidate] = PROBATION;
    return true;
  }

 private:
  enum : uint8_t { WINDOW = 1, PROBATION, PROTECTED };
  static constexpr uint8_t MOST = 3; /* two bits */

  uint8_t &cell(size_t row, Page p) {
    auto h =
        (static_cast<uint64_t>(p) + 1) * 0x9E3779B97F4A7C15ULL * (2 * row + 1);
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93ULL;
    return m_sketch[row][(h >> 32) & (m_sketch[row].size() - 1)];
  }
  void count(Page p) {
    const auto least = estimate(p);
    if (least < MOST) {
      for (size_t i = 0; i < m_sketch.size(); i++) {
        auto &c = cell(i, p);
        if (c == least) c++;
      }
    }
    /* So few bits are full sooner. */
    if (++m_counted < 2 * m_frames) return;
    m_counted = 0;
    for (auto &row : m_sketch) {
      for (auto &c : row) c /= 2;
    }
  }
  uint8_t estimate(Page p) {
    uint8_t least = MOST;
    for (size_t i = 0; i < m_sketch.size(); i++) {
      least = std::min(least, cell(i, p));
    }
    return least;
  }

  List m_window;
  List m_probation;
  List m_protected;
  size_t m_window_len;
  size_t m_protected_len;
  std::array<std::vector<uint8_t>, 4> m_sketch;
  size_t m_counted{0};
};

std::unique_ptr<Policy> make_policy(size_t pages) {
  const auto &name = words["policy"];
  if (name == "midpoint") return std::make_unique<Midpoint>(pages);
  if (name == "lru") return std::make_unique<Lru>(pages);
  if (name == "s3fifo") return std::make_unique<S3fifo>(pages);
  if (name == "tinylfu") return std::make_unique<Tinylfu>(pages);
  fprintf(stderr, "lru_lab: no policy '%s'\n", name.c_str());
  exit(2);
}

std::unique_ptr<Load> make_load() {
  if (!words["trace"].empty()) {
    auto trace = std::make_unique<Trace_load>(words["trace"]);
    /* The first part warms. */
    const auto size = static_cast<double>(trace->size());
    parameters["warm"] = std::min(number("warm"), size / 2);
    parameters["queries"] = size - number("warm");
    return trace;
  }
  const auto &name = words["load"];
  if (name != "pareto" && name != "zipf" && name != "uniform" &&
      name != "none") {
    fprintf(stderr, "lru_lab: no load '%s'\n", name.c_str());
    exit(2);
  }
  return std::make_unique<Select_load>(name);
}

/** Belady's optimum for the same references: what is needed last is evicted. */
class Belady {
 public:
  void note(Page p) { m_references.push_back(p); }

  /** @return pages missing from the reference `from` on */
  uint64_t misses(size_t pages, size_t frames, size_t from) const {
    constexpr auto NEVER = UINT32_MAX;
    const auto n = m_references.size();
    std::vector<uint32_t> next(n);
    std::vector<uint32_t> last(pages, NEVER);
    for (size_t i = n; i-- > 0;) {
      next[i] = last[m_references[i]];
      last[m_references[i]] = static_cast<uint32_t>(i);
    }
    std::vector<uint32_t> due(pages, 0); /* 0: not in the pool */
    std::priority_queue<std::pair<uint32_t, Page>> queue;
    size_t held = 0;
    uint64_t misses = 0;
    for (size_t i = 0; i < n; i++) {
      const auto p = m_references[i];
      if (due[p] == 0) {
        if (i >= from) misses++;
        if (held == frames) {
          for (;;) {
            const auto [at, victim] = queue.top();
            queue.pop();
            if (due[victim] != at) continue; /* was used since */
            due[victim] = 0;
            break;
          }
        } else {
          held++;
        }
      }
      due[p] = next[i];
      queue.emplace(next[i], p);
    }
    return misses;
  }

 private:
  std::vector<Page> m_references;
};

}  // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const auto *equals = strchr(argv[i], '=');
    const std::string name(
        argv[i], equals == nullptr ? strlen(argv[i]) : equals - argv[i]);
    if (equals != nullptr && words.count(name) != 0) {
      words[name] = equals + 1;
    } else if (equals != nullptr && parameters.count(name) != 0) {
      parameters[name] = atof(equals + 1);
    } else {
      fprintf(stderr, "lru_lab: what is '%s'?\n", argv[i]);
      return 2;
    }
  }

  auto load = make_load();
  const bool best = words["policy"] == "belady";
  Belady belady;
  size_t counted_from = 0;
  /* For the time, which the optimum does not know. */
  std::unique_ptr<Policy> policy;
  if (best) words["policy"] = "lru";
  policy = make_policy(load->pages());

  const auto warm = static_cast<uint64_t>(number("warm"));
  const auto all = warm + static_cast<uint64_t>(number("queries"));
  double now_us = 0;
  double began_us = 0;
  uint64_t reads = 0;
  uint64_t point_reads = 0;
  uint64_t touched = 0;
  const auto report = Number("report").whole();
  uint64_t reported = 0;
  uint64_t reported_reads = 0;
  uint64_t all_reads = 0;
  uint64_t n = 0;
  size_t references = 0;
  std::vector<Touch> touches;
  const bool timed = words["trace"].empty();
  const Number read_us("read_us");
  const Number query_us("query_us");
  for (; n <= all; n++) {
    if (report > 0 && n == reported + report) {
      printf("{\"queries\": %llu, \"reads_query\": %.5f}\n",
             static_cast<unsigned long long>(n),
             static_cast<double>(all_reads - reported_reads) /
                 static_cast<double>(report));
      reported = n;
      reported_reads = all_reads;
    }
    if (n == warm) {
      began_us = now_us;
      policy->m_counts.fill(0);
      policy->m_moves = 0;
      counted_from = references;
    }
    if (n == all) break;
    touches.clear();
    if (!load->next(touches, now_us)) break;
    for (const auto &[page, created] : touches) {
      const bool missing = policy->touch(page, created, now_us / 1000);
      if (best && !created) belady.note(page);
      references++;
      if (timed && missing && !created) now_us += read_us;
      if (missing && !created) all_reads++;
      if (n < warm) continue;
      touched++;
      if (!missing || created) continue;
      reads++;
      if (!load->is_scanned(page)) point_reads++;
    }
    if (timed) now_us += query_us;
  }
  const auto frames = static_cast<size_t>(
      number("frames") - number("free") * (1 + number("refill") / 100) / 2);
  if (best) reads = belady.misses(load->pages(), frames, counted_from);

  const auto queries = static_cast<double>(n - warm);
  const auto seconds = (now_us - began_us) / 1e6;
  printf(
      "{\"reads\": %llu, \"touches\": %llu, \"queries\": %.0f, "
      "\"reads_query\": %.5f, \"point_reads_query\": %.5f, \"seconds\": %.1f, "
      "\"pages\": %zu, "
      "\"length\": %.0f, \"moves_query\": %.5f",
      static_cast<unsigned long long>(reads),
      static_cast<unsigned long long>(touched), queries,
      static_cast<double>(reads) / queries,
      best ? -1 : static_cast<double>(point_reads) / queries, seconds,
      load->pages(),
      policy->m_length_sum /
          static_cast<double>(std::max<uint64_t>(1, policy->m_came)),
      static_cast<double>(policy->m_moves) / queries);
  if (const auto *trace = dynamic_cast<const Trace_load *>(load.get())) {
    printf(", \"recorded_reads\": %zu", trace->recorded_reads(warm));
  }
  const auto least = load->least_misses(frames);
  if (least >= 0) printf(", \"least\": %.5f", least);
  static const char *names[] = {"made_young", "young_to_head", "gifts",
                                "gifts_used", "demoted",       "saved",
                                "ghosts"};
  for (size_t i = 0; i < std::size(names); i++) {
    printf(", \"%s\": %.5f", names[i],
           static_cast<double>(policy->m_counts[i]) / queries);
  }
  puts("}");
  return 0;
}
