#!/usr/bin/env bash
# Runs our own mtr tests, with our features off the tests of upstream that guard
# the code our patches touch (patches/guard.list), and the tests of the
# benchmarks (bench/tests, on the server that is built). Ends with the line
# "N passed, N failed, N skipped"; any failure is this command's failure.
#
#   test.sh [TEST ...]    these tests only, as suite.name (default: all)
#
# PRESET: debug (default) or asan, the build to test. Not tsan: mysql-test-run would
# take reports of upstream's code for failures; make stress-ddl tells them apart.
# MTR_PARALLEL: servers side by side (default twice the cores: tests mostly wait).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
preset=${PRESET:-debug}
objects=$root/build/$preset/obj
results=$root/build/$preset/results

[ -x "$objects/runtime_output_directory/mysqld" ] || {
  echo "test: build/$preset holds no server; 'make $preset' builds it" >&2
  exit 1
}
sanitize=()
[ "$preset" != asan ] || sanitize=(--sanitize)

# A test of ours is suite/SUITE/t/NAME.test; t/NAME.test is in the suite main.
own_tests() {
  find mysql-test -path '*/t/*.test' | sort |
    sed -E 's#^mysql-test/(suite/([^/]+)/)?t/(.*)\.test$#\2.\3#; s#^\.#main.#'
}
guard_tests() { sed -E 's/#.*//; s/[[:space:]]+//g; /^$/d' patches/guard.list; }

rm -rf -- "$results"
mkdir -p -- "$results"
declare -a arguments
failed_runs=0

# run NAME OPTION ... -- TEST ...
run() {
  local name=$1
  shift
  arguments=()
  while [ "$1" != -- ]; do
    arguments+=("$1")
    shift
  done
  shift
  [ $# -gt 0 ] || return 0
  echo "test: $name, $# tests"
  (cd "$objects/mysql-test" && perl mysql-test-run.pl --parallel="${MTR_PARALLEL:-$(($(nproc) * 2))}" \
    --force --max-test-fail=0 --nounit-tests --clean-vardir --suite-timeout=60 \
    --vardir="$root/build/$preset/var" --xml-report="$results/$name.xml" \
    "${sanitize[@]}" "${arguments[@]}" "$@") || failed_runs=1
}

if [ $# -gt 0 ]; then
  run chosen --retry=0 -- "$@"
else
  mapfile -t own < <(own_tests)
  mapfile -t guard < <(guard_tests)
  run own --retry=0 -- "${own[@]}"
  # Upstream's recorded results hold upstream's message texts, and its tests look
  # for the files of a purge when the statement ends.
  run guard --mysqld=--loose-lock-wait-timeout-details=OFF \
    --mysqld=--loose-binlog-purge-background=OFF -- "${guard[@]}"
  echo "test: bench"
  make --no-print-directory bench-test JUNIT="$results/bench.xml" || failed_runs=1
fi

python3 superbuild/results.py "$results"/*.xml || failed_runs=1
exit "$failed_runs"
