#!/usr/bin/env bash
# The load of the walk-through in docs/design/lru_observatory.md, and its output.
#
#   make release
#   make bench-walkthrough
#
# Clients select rows of a table that fits into the pool. Then a report goes through three
# smaller tables, each of them several times. The report touches its pages again later than
# innodb_old_blocks_time, so they are made young, and push the clients' table out.
#
# Needs sysbench. Takes six minutes, and 400 MB below BENCH_WORK (build/bench). It has no
# options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=bench/tools/common.sh
source bench/tools/common.sh
parse "" "$@"
programs sysbench=sysbench
built release
pool=128 clients=4
orders=400000 # rows, 88 MB
lines=190000  # rows of each table of the report, 42 MB: less than the old part of the pool
work_folder
load_pid=
finish() {
  [ -z "$load_pid" ] || kill "$load_pid" 2>/dev/null || true
  end_server
}
trap finish EXIT

show() {
  printf '\nmysql> %s\n' "$1"
  client --table --execute="$1"
}
bench() {
  sysbench oltp_point_select --mysql-socket="$socket" --mysql-user=root --mysql-db=shop \
    --tables=1 --rand-type=uniform --threads=$clients "$@"
}
# Point selects a second, over ten seconds.
speed() {
  local before after
  before=$(value "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'" | cut -f2)
  sleep 10
  after=$(value "SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'" | cut -f2)
  echo $(((after - before) / 10))
}
report() {
  local table
  for _ in 1 2; do
    for table in order_lines payments shipments; do
      for _ in 1 2 3; do
        value "SELECT k MOD 10, SUM(LENGTH(c)) FROM shop.$table GROUP BY 1" >/dev/null
        sleep 1
      done
    done
  done
}

echo "walk-through: a server, four tables"
initialize_server release "$home/data"
start_server release "$home/data" --plugin-load-add=lru_stats.so --disable-log-bin \
  --innodb-buffer-pool-size="${pool}M" --innodb-flush-method=O_DIRECT --innodb-adaptive-hash-index=OFF
value 'CREATE DATABASE shop'
client <plugin/lru_stats/lru_report.sql
for table in order_lines payments shipments; do
  bench --table-size=$lines --create_secondary=off prepare >/dev/null
  value "RENAME TABLE shop.sbtest1 TO shop.$table"
done
bench --table-size=$orders --create_secondary=off prepare >/dev/null
bench --table-size=$orders --time=0 run >"$home/sysbench.log" 2>&1 &
load_pid=$!

echo "walk-through: the shop alone, a minute"
sleep 20
value "SET GLOBAL innodb_lru_whatif_old_blocks_times = '5000,20000'"
value 'SET GLOBAL innodb_lru_stats_reset = ON;
       SET GLOBAL innodb_lru_whatif_enabled = OFF; SET GLOBAL innodb_lru_whatif_enabled = ON;
       SET GLOBAL innodb_lru_index_stats_enabled = OFF; SET GLOBAL innodb_lru_index_stats_enabled = ON;
       SET GLOBAL innodb_lru_age_histogram_enabled = OFF; SET GLOBAL innodb_lru_age_histogram_enabled = ON'
# Longer than the longest time that is simulated: the shop is young in all lists.
sleep 45
echo "point selects a second: $(speed)"
totals="SELECT SUM(PAGES_EVICTED_OLD), SUM(PAGES_EVICTED_OLD_NEVER_YOUNG),
       SUM(PAGES_EVICTED_YOUNG), SUM(PAGES_MADE_YOUNG), SUM(PAGES_YOUNG_TO_OLD)
  FROM INFORMATION_SCHEMA.INNODB_LRU_STATS_SINCE_RESET;"
show "$totals"

echo "walk-through: the report"
report &
report_pid=$!
sleep 5
echo "point selects a second beside it: $(speed)"
show "$totals"
wait "$report_pid"
echo "point selects a second after it: $(speed)"
# A night later.
for _ in 1 2 3; do
  [ -n "$(value "SELECT 1 FROM sys.lru_report WHERE PRIORITY = 1 AND CONFIDENCE <> 'HIGH'")" ] || break
  report
done
show "SELECT NAME, PAGES_READ, PAGES_READ_AGAIN, TIMES_READ_AGAIN, SHARE_OF_READ_AGAIN_PCT,
       SHARE_OF_POOL_PCT FROM sys.lru_indexes LIMIT 3;"
show "SELECT EVENT, AGE, BAR, IN_WORDS FROM sys.lru_ages
 WHERE EVENT IN ('TOUCHED_AGAIN', 'READ_AGAIN');"
show "SELECT PRIORITY, TOPIC, ADVICE, CONFIDENCE FROM sys.lru_report;"
show "SELECT POOL_SIZE, OLD_BLOCKS_TIME, OLD_BLOCKS_PCT, RUNNING, HIT_PCT, PLUS_MINUS,
       MEASURED_HIT_PCT, READS_PER_SECOND, CONFIDENCE FROM sys.lru_whatif;"

advised=$(value "SELECT TO_VALUE FROM sys.lru_report WHERE TOPIC = 'old_blocks_time'")
[ -n "$advised" ] || {
  echo "walk-through: innodb_old_blocks_time is not advised" >&2
  exit 1
}
echo "walk-through: the report again, with innodb_old_blocks_time = $advised"
value "SET GLOBAL innodb_old_blocks_time = $advised"
report &
report_pid=$!
sleep 5
echo "point selects a second beside it: $(speed)"
wait "$report_pid"
echo "point selects a second after it: $(speed)"
show "SELECT POOL_SIZE, OLD_BLOCKS_TIME, HIT_PCT, MEASURED_HIT_PCT, READS_PER_SECOND,
       MEASURED_READS_PER_SECOND FROM sys.lru_whatif WHERE RUNNING = 'YES';"
