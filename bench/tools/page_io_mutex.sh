#!/usr/bin/env bash
# How often the mutex of the tablespace cache is taken for each page read or written, and
# how long threads wait for it: stock, and ours with innodb_page_io_fast_path OFF and ON.
# The data are eight times the pool; the loads are point selects and updates.
#
#   make stock release
#   make bench-page-io-mutex SECONDS=15 ROUNDS=1
#
#   SERVERS   which of "stock off on" (all)
#   SECONDS   length of a measurement (15)
#   ROUNDS    measurements of each server and load (1)
#   CLIENTS   threads of sysbench (32)
#   POOL      size of the buffer pool (64M)
#   TABLES    number of tables (1)
#   FLUSH     innodb_flush_method (O_DIRECT)
#   LINES     1: which lines of the source have taken the mutex, from a sample of 10000
#             acquisitions (0)
#
# Needs sysbench. Data go below BENCH_WORK (build/bench) and are removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=bench/tools/common.sh
source bench/tools/common.sh
servers='stock off on' seconds=15 rounds=1 clients=32 pool=64M tables=1 flush=O_DIRECT lines=0
parse "servers seconds rounds clients pool tables flush lines" "$@"
counts seconds rounds clients tables
[[ $lines == [01] ]] || wrong "lines is '$lines', not 0 or 1"
pool=$(mebibytes pool)
[ -n "$servers" ] || wrong "servers is empty"
for server in $servers; do
  [[ $server == stock || $server == off || $server == on ]] ||
    wrong "servers: there is no '$server'; known: stock off on"
done
programs sysbench=sysbench
built release
[[ " $servers " != *" stock "* ]] || built stock
rows=$((8 * pool * 1024 * 1024 / 220 / tables))
work_folder

bench() {
  local script=$1
  shift
  sysbench "$script" --mysql-socket="$socket" --mysql-user=root --mysql-db=sbtest \
    --tables="$tables" --table-size="$rows" --create_secondary=off --rand-type=uniform "$@"
}

# start PRESET OPTION ...
start() {
  start_server "$1" "$home/data" --disable-log-bin \
    --performance-schema=ON --innodb-buffer-pool-size="${pool}M" --innodb-buffer-pool-instances=1 \
    --innodb-lru-scan-depth=$((pool * 8)) --innodb-io-capacity=$((pool * 8)) \
    --innodb-flush-method="$flush" --innodb-flush-log-at-trx-commit=2 \
    --innodb-redo-log-capacity=1G --innodb-stats-persistent=OFF \
    --innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-at-shutdown=OFF \
    --performance-schema-events-waits-history-long-size=10000 \
    --performance-schema-instrument='wait/synch/mutex/innodb/fil_system_mutex=ON' \
    --performance-schema-consumer-events-waits-current=ON \
    --performance-schema-consumer-events-waits-history-long="$lines" "${@:2}"
}

figures() {
  value "SELECT COUNT_STAR, SUM_TIMER_WAIT / 1e12,
         (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_pages_read'),
         (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_pages_written'),
         (SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_data_fsyncs')
       FROM performance_schema.events_waits_summary_global_by_event_name
       WHERE EVENT_NAME = 'wait/synch/mutex/innodb/fil_system_mutex'"
}

initialize_server release "$home/data"
start release --innodb-doublewrite=OFF --innodb-buffer-pool-size=1G
value 'CREATE DATABASE sbtest'
bench oltp_point_select prepare >/dev/null
stop_server

printf '%-6s %-22s %5s %10s %10s %10s %12s %9s %9s %8s\n' server load round statements read written acquired per_page waited_s fsyncs
for round in $(seq "$rounds"); do
  for server in $servers; do
    case $server in
    stock) start stock ;;
    off) start release --innodb-page-io-fast-path=OFF ;;
    on) start release --innodb-page-io-fast-path=ON ;;
    esac
    for load in oltp_point_select oltp_update_non_index; do
      bench "$load" --threads="$clients" --time=3 run >/dev/null
      before=$(figures)
      statements=$(bench "$load" --threads="$clients" --time="$seconds" run | awk '/queries:/ {print $2}')
      after=$(figures)
      paste <(echo "$before") <(echo "$after") | awk -v s="$server" -v l="$load" -v r="$round" -v n="$statements" '
        {printf "%-6s %-22s %5d %10d %10d %10d %12d %9.3f %9.3f %8d\n",
           s, l, r, n, $8-$3, $9-$4, $6-$1, ($6-$1)/($8-$3+$9-$4), $7-$2, $10-$5}'
      [ "$lines" = 0 ] || value "SELECT SOURCE, COUNT(*) FROM performance_schema.events_waits_history_long
           WHERE EVENT_NAME = 'wait/synch/mutex/innodb/fil_system_mutex' GROUP BY SOURCE ORDER BY 2 DESC LIMIT 15"
    done
    [ "$server" != on ] || value "SHOW GLOBAL STATUS LIKE 'Innodb_page_io_fast_path%'"
    stop_server
  done
done
