#!/usr/bin/env bash
# What `make run` does once the server is built. It makes a data directory, starts a server
# that listens on a socket only, fills a table several times as large as the pool, runs half
# a minute of updates and point selects, and shows what the LRU list did meanwhile. When it
# runs again, it uses what is there. The server never runs as root (superbuild/as-user.sh).
#
# PRESET (default release), SECONDS_OF_LOAD (30), ROWS (1700000: six times the pool)
# run.sh --all: every counter of the last load, without another one
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=demo/server.sh
source demo/server.sh
objects=$PWD/build/${PRESET:-release}/obj
binaries=$objects/runtime_output_directory
plugins=$objects/plugin_output_directory
options=$PWD/config/demonstration.cnf
as_user=$PWD/superbuild/as-user.sh
seconds=${SECONDS_OF_LOAD:-30}
rows=${ROWS:-1700000}

# A socket's path may be 107 bytes long, a checkout's is longer now and then. In the
# data directory its name is enough, and nobody else may enter that one: the server's
# root has no password.
client() { (cd "$home/data" && "$binaries/mysql" --no-defaults --socket=mysql.sock --user=root "$@"); }
# Takes the place of the shell that calls it, so that the shell's process id is sysbench's.
load() {
  cd "$home/data" && exec sysbench --mysql-socket=mysql.sock --mysql-user=root --mysql-db=sbtest \
    --tables=1 --table-size="$rows" --rand-type=pareto "$@"
}
fail() {
  echo "run: error: $*" >&2
  exit 1
}

if [ "${1:-}" = --all ]; then
  exec demo/summary.py "$home/samples.tsv" --all
fi

[ -x "$binaries/mysqld" ] || fail "there is no server in $objects; 'make run' builds it"
"$as_user" --check
mkdir -p -- "$home"
exec 9>>"$home/run.lock"
flock --nonblock 9 || fail "another 'make run' uses $home; wait for its end"

if [ ! -d "$home/data" ]; then
  echo "run: making a data directory, $home/data"
  rm -rf -- "$home/data.partial"
  "$as_user" --own "$home/data.partial"
  "$as_user" "$binaries/mysqld" --no-defaults --initialize-insecure --datadir="$home/data.partial" \
    --basedir="$objects" --lc-messages-dir="$objects/share" >"$home/initialize.log" 2>&1 || {
    tail -n 3 -- "$home/initialize.log" >&2
    fail "no data directory could be made; the whole log is $home/initialize.log"
  }
  mv -- "$home/data.partial" "$home/data"
fi

# What is running may be older than what was built since.
if pid=$(server_pid); then
  if [ -n "$(find "$binaries/mysqld" "$plugins/lru_stats.so" "$options" demo superbuild/as-user.sh \
    -newer "$home/started" 2>&1)" ]; then
    echo "run: the server that is up, process $pid, is older than what is built; starting it again"
    stop_server
  else
    echo "run: the server is up already, process $pid"
  fi
fi

if ! server_pid >/dev/null; then
  touch -- "$home/started"
  "$as_user" --own "$home/data"
  chmod 0700 -- "$home/data"
  nohup "$as_user" "$binaries/mysqld" --defaults-file="$options" --datadir="$home/data" \
    --basedir="$objects" --lc-messages-dir="$objects/share" --plugin-dir="$plugins" \
    --socket=mysql.sock >>"$home/mysqld.log" 2>&1 9>&- &
  server=$!
  until client --execute='DO 0' 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || {
      tail -n 5 -- "$home/mysqld.log" >&2
      fail "the server did not start; the whole log is $home/mysqld.log"
    }
    sleep 0.2
  done
  echo "run: $(client --batch --skip-column-names --execute='SELECT @@version, @@version_comment' | tr '\t' ' ') is up"
fi

client --execute='CREATE DATABASE IF NOT EXISTS sbtest'
have=$(client --batch --skip-column-names \
  --execute="SELECT COALESCE(MAX(id), 0) FROM sbtest.sbtest1" 2>/dev/null) || have=0
if [ "$have" -lt "$rows" ]; then
  echo "run: making a table of $rows rows, about six times the buffer pool (half a minute)"
  client --execute='DROP TABLE IF EXISTS sbtest.sbtest1'
  (load --create_secondary=false oltp_point_select prepare) >"$home/prepare.log" 2>&1 ||
    fail "sysbench could not make the table, see $home/prepare.log"
fi

# Once a second, the LRU's counters.
sample() {
  client --batch "$@" --execute="SELECT UNIX_TIMESTAMP(NOW(6)) AS SECONDS, lru.*
    FROM INFORMATION_SCHEMA.INNODB_LRU_STATS AS lru ORDER BY POOL_ID"
}
per_second() { sed -nE 's/.*transactions:.*\(([0-9]+).* per sec.*/\1/p' "$1"; }

echo "run: $seconds seconds of updates (2 threads) and point selects (2 threads)"
sample >"$home/samples.tsv"
updates='' selects=''
trap 'kill $updates $selects 2>/dev/null || true' EXIT
load --threads=2 --time="$seconds" oltp_update_non_index run >"$home/updates.log" 2>&1 &
updates=$!
load --threads=2 --time="$seconds" oltp_point_select run >"$home/selects.log" 2>&1 &
selects=$!
for ((passed = 1; passed < seconds; passed++)); do
  sleep 1
  sample --skip-column-names >>"$home/samples.tsv" || fail "the server does not answer, see $home/mysqld.log"
  [ ! -t 1 ] || printf '\rrun: %d of %d seconds ' "$passed" "$seconds"
done
wait "$updates" || fail "the updates failed, see $home/updates.log"
wait "$selects" || fail "the point selects failed, see $home/selects.log"
trap - EXIT
[ ! -t 1 ] || printf '\r\033[K'
sample --skip-column-names >>"$home/samples.tsv"

printf '\n%s updates and %s point selects a second. What moved meanwhile:\n' \
  "$(per_second "$home/updates.log")" "$(per_second "$home/selects.log")"
demo/summary.py "$home/samples.tsv"
cat <<MESSAGE

The server is left running, as the user $(stat --format=%U "/proc/$(server_pid)"), on a socket only.
  connect   cd $home/data && $binaries/mysql --socket=mysql.sock --user=root
  log       $home/mysqld.log
  counters  make run-counters (all of them, before and after)
  stop      make stop
MESSAGE
