#!/usr/bin/env bash
# Instructions of a statement, stock beside ours: what the hot path pays for our patches, if
# both are compiled alike. Callgrind counts inside dispatch_command() only. So neither a background thread nor a
# clock is in the figures.
#
#   make stock unoptimised
#   make bench-instructions ROUNDS=5
#
#   PRESET       our server: unoptimised, or release, which is compiled and laid out by profiles
#                (unoptimised)
#   ROUNDS       measurements of each server, alternating (5)
#   LOAD         a test of sysbench (oltp_point_select); of one with transactions, a figure
#                is that of a transaction
#   STATEMENTS   how many a figure is the mean of (5000)
#   ROWS, POOL   rows of the table (10000), size of the buffer pool (64M); with data larger
#                than the pool most statements read a page, and that is counted, too
#   BINARY_LOG   on or off, of both servers (off)
#   OPTIONS      more options of our server, such as --plugin-load-add=lru_stats.so for the
#                observatory at its defaults
#
# The output has instructions and pages read per statement for each round, and the ratio of
# the medians with its range. Needs valgrind and sysbench. Takes about two minutes a round.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=bench/tools/common.sh
source bench/tools/common.sh
preset=unoptimised rounds=5 load=oltp_point_select statements=5000 rows=10000 pool=64M binary_log=off options=
parse "preset rounds load statements rows pool binary_log options" "$@"
counts rounds statements rows
[[ $preset =~ ^(unoptimised|release)$ ]] || wrong "preset is '$preset', not unoptimised or release"
mebibytes pool >/dev/null
[[ $load =~ ^[a-z_]+$ ]] || wrong "load is '$load', not the name of a test of sysbench"
case $binary_log in
  on) log=(--log-bin=binlog --server-id=1) ;;
  off) log=(--disable-log-bin) ;;
  *) wrong "binary_log is '$binary_log', not on or off" ;;
esac
programs valgrind=valgrind callgrind_control=valgrind sysbench=sysbench
built stock "$preset"
work_folder

bench() {
  sysbench --mysql-socket="$socket" --mysql-user=root --mysql-db=sbtest --db-ps-mode=disable \
    --tables=1 --table-size="$rows" --threads=1 --rand-type=uniform --time=0 \
    "$@" >>"$home/sysbench.log"
}

# start PRESET: on its own data.
start() {
  local -a more=()
  [ "$1" = stock ] || read -ra more <<<"$options"
  start_server "$1" "$home/$1" "${log[@]}" --performance-schema=OFF \
    --innodb-buffer-pool-size="$pool" --innodb-buffer-pool-load-at-startup=OFF \
    --innodb-buffer-pool-dump-at-shutdown=OFF --innodb-stats-auto-recalc=OFF "${more[@]}"
}

pages_read() { value "SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'" | cut -f2; }

# measure PRESET: puts instructions and pages read a statement into measured. Not in a shell of
# its own, whose server would outlive a signal.
measure() {
  local totals before after
  under=(valgrind --tool=callgrind --callgrind-out-file="$home/callgrind.out"
    --toggle-collect='dispatch_command(THD*, COM_DATA const*, enum_server_command)')
  start "$1"
  under=()
  bench --rand-seed=1 --events=$((statements * 2 / 5)) "$load" run
  before=$(pages_read)
  callgrind_control -z "$server_pid" >/dev/null 2>&1
  bench --rand-seed=2 --events="$statements" "$load" run
  callgrind_control -d "$server_pid" >/dev/null 2>&1
  after=$(pages_read)
  stop_server
  totals=$(sed -nE 's/^totals: ([0-9]+).*/\1/p' "$home/callgrind.out.1")
  rm -f -- "$home"/callgrind.out*
  measured="$((totals / statements)) $(awk "BEGIN { printf \"%.3f\", ($after - $before) / $statements }")"
}

for server in stock "$preset"; do
  initialize_server "$server" "$home/$server"
  start "$server"
  value 'CREATE DATABASE sbtest'
  bench "$load" prepare
  stop_server
done

echo "instructions of one event of $load, and pages it reads; $statements events a figure"
printf '%-6s %8s %7s %11s %7s %9s\n' round stock pages "$preset" pages ratio
for ((round = 1; round <= rounds; round++)); do
  measure stock
  read -r stock stock_pages <<<"$measured"
  measure "$preset"
  read -r sluice sluice_pages <<<"$measured"
  printf '%-6s %8s %7s %11s %7s %9s\n' "$round" "$stock" "$stock_pages" "$sluice" "$sluice_pages" \
    "$(awk "BEGIN { printf \"%.5f\", $sluice / $stock }")"
  echo "$stock $sluice" >>"$home/figures"
done
median() { cut -d' ' -f"$1" "$home/figures" | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
ratios=$(awk '{ printf "%.5f\n", $2 / $1 }' "$home/figures" | sort -n)
echo "ratio of the medians $(awk "BEGIN { printf \"%.5f\", $(median 2) / $(median 1) }")," \
  "rounds $(head -n 1 <<<"$ratios") to $(tail -n 1 <<<"$ratios")"
