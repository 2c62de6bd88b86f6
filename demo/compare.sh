#!/usr/bin/env bash
# Prints two snapshots of INNODB_LRU_STATS side by side, one line a column, with
# what a counter grew by and its rate. compare.sh BEFORE AFTER START END; the
# snapshots as the client's --batch prints them, the times in seconds.
set -euo pipefail
awk -F '\t' -v start="$3" -v end="$4" '
  # Columns that are a state or a maximum and have no rate.
  function is_gauge(name) { return name ~ /DATABASE_PAGES$|^FREE_BUFFERS$|_MAX$/ }
  FNR == 1 { split($0, names); columns = NF; next }
  { for (i = 1; i <= NF; i++) if (FILENAME == ARGV[1]) before[$1, i] = $i; else after[$1, i] = $i }
  FILENAME != ARGV[1] { pools[++count] = $1 }
  END {
    line = "%-40s %14s %14s %14s %12s\n"
    for (p = 1; p <= count; p++) {
      printf line, "pool instance " pools[p], "before", "after", "growth", "a second"
      for (i = 2; i <= columns; i++) {
        b = before[pools[p], i]; a = after[pools[p], i]
        if (a !~ /^[0-9]+$/) continue
        if (is_gauge(names[i])) printf line, names[i], b, a, "", ""
        else printf line, names[i], b, a, a - b, sprintf("%.1f", (a - b) / (end - start))
      }
    }
  }' "$1" "$2"
