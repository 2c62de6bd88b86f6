#!/usr/bin/env bash
# What `make run` does once the server is built: a data directory, a server on
# loopback, a table several times the pool, half a minute of updates and point
# selects, and what the LRU did meanwhile. Run again, it uses what is there.
#
# PORT (default 3316), SECONDS_OF_LOAD (30), ROWS (1700000: six times the pool)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
objects=$root/build/release/obj
binaries=$objects/runtime_output_directory
home=$root/build/run
port=${PORT:-3316}
seconds=${SECONDS_OF_LOAD:-30}
rows=${ROWS:-1700000}
# A socket's path may be 107 bytes long; a deep checkout's is longer.
socket=$home/mysql.sock
[ ${#socket} -lt 104 ] || socket=/tmp/sluice-$port.sock

client() { "$binaries/mysql" --no-defaults --socket="$socket" --user=root "$@"; }
running() { [ -f "$home/mysqld.pid" ] && kill -0 "$(<"$home/mysqld.pid")" 2>/dev/null; }
fail() {
  echo "run: error: $*" >&2
  exit 1
}

if [ ! -d "$home/data" ]; then
  echo "run: making a data directory, $home/data"
  rm -rf -- "$home/data.partial"
  mkdir -p -- "$home"
  "$binaries/mysqld" --no-defaults --initialize-insecure --datadir="$home/data.partial" \
    --basedir="$objects" --lc-messages-dir="$objects/share" --user="$(id -un)" \
    --log-error="$home/initialize.log" || fail "see $home/initialize.log"
  mv -- "$home/data.partial" "$home/data"
fi

if running; then
  echo "run: the server is up already, process $(<"$home/mysqld.pid")"
else
  rm -f -- "$socket" "$home/mysqld.pid"
  nohup "$binaries/mysqld" --defaults-file="$root/config/my.cnf" --datadir="$home/data" \
    --basedir="$objects" --lc-messages-dir="$objects/share" \
    --plugin-dir="$objects/plugin_output_directory" --user="$(id -un)" \
    --port="$port" --socket="$socket" --pid-file="$home/mysqld.pid" \
    --log-error="$home/mysqld.log" >/dev/null 2>&1 &
  server=$!
  until client --execute='DO 0' 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || {
      tail -n 5 "$home/mysqld.log" >&2
      fail "the server did not start; the whole log is $home/mysqld.log (is port $port taken? PORT=... sets another)"
    }
    sleep 0.2
  done
  echo "run: $(client --batch --skip-column-names --execute='SELECT @@version, @@version_comment' | tr '\t' ' ') is up"
fi

bench=(sysbench --mysql-socket="$socket" --mysql-user=root --mysql-db=sbtest
  --tables=1 --table-size="$rows" --rand-type=pareto)
client --execute='CREATE DATABASE IF NOT EXISTS sbtest'
have=$(client --batch --skip-column-names \
  --execute="SELECT COALESCE(MAX(id), 0) FROM sbtest.sbtest1" 2>/dev/null) || have=0
if [ "$have" -lt "$rows" ]; then
  echo "run: making a table of $rows rows, about six times the buffer pool (half a minute)"
  client --execute='DROP TABLE IF EXISTS sbtest.sbtest1'
  "${bench[@]}" --create_secondary=false oltp_point_select prepare >"$home/prepare.log" ||
    fail "sysbench could not make the table, see $home/prepare.log"
fi

snapshot() { client --execute='SELECT * FROM INFORMATION_SCHEMA.INNODB_LRU_STATS ORDER BY POOL_ID' --batch; }

echo "run: $seconds seconds of updates (2 threads) and point selects (2 threads)"
snapshot >"$home/before.tsv"
started=$(date +%s.%N)
"${bench[@]}" --threads=2 --time="$seconds" oltp_update_non_index run >"$home/updates.log" &
updates=$!
"${bench[@]}" --threads=2 --time="$seconds" oltp_point_select run >"$home/selects.log" &
selects=$!
for ((passed = 5; passed < seconds; passed += 5)); do
  sleep 5
  printf '.'
done
wait "$updates" || fail "the updates failed, see $home/updates.log"
wait "$selects" || fail "the point selects failed, see $home/selects.log"
printf '\n'
ended=$(date +%s.%N)
snapshot >"$home/after.tsv"

per_second() { sed -nE 's/.*transactions:.*\(([0-9.]+) per sec.*/\1/p' "$1"; }
echo
echo "updates: $(per_second "$home/updates.log") a second, point selects: $(per_second "$home/selects.log") a second"
echo
echo "INFORMATION_SCHEMA.INNODB_LRU_STATS"
demo/compare.sh "$home/before.tsv" "$home/after.tsv" "$started" "$ended"
cat <<MESSAGE

The server is left running.
  connect   $binaries/mysql --socket=$socket --user=root
            (or any client: 127.0.0.1, port $port, user root, no password)
  log       $home/mysqld.log
  stop      make stop
MESSAGE
