#!/usr/bin/env bash
# Runs our own mtr tests, the tests of upstream that guard the code our patches touch
# (patches/guard.list), the tests of the superbuild and of the benchmarks, and some
# power cuts and kills. No test gets a second try. Ends with the line "N passed, N failed, N skipped"; results.py
# says what counts as what.
#
#   test.sh [TEST ...]    these mtr tests only, as suite.name, with options of mtr's
#   test.sh --list        the mtr tests that would run, a line each run
#
# PRESET: debug (default), asan or tsan, the build to test.
# MTR_PARALLEL: servers side by side (default twice the cores: tests mostly wait).
# As root, all that starts a server runs as an ordinary user (as-user.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${PRESET:-debug}
work=$PWD/build/$preset/test
results=$work/results
as_user=$PWD/superbuild/as-user.sh
for_preset=() # options of mysql-test-run
[ "$preset" != asan ] || for_preset=(--sanitize)
# Reports of tsan go to files of their own: mysql-test-run would take those of upstream's code for
# failures, or suppress ours with them. tsan_reports.py tells them apart.
races=$work/races
if [ "$preset" = tsan ]; then
  export TSAN_OPTIONS="halt_on_error=0:exitcode=0:symbolize=0:log_path=$races/report"
  # All threads write to these buffers without a lock. A report of that in the
  # middle of a recv() seems to change errno: connections ended with error 1158.
  for consumer in events-{waits,stages,statements,transactions}-history-long; do
    for_preset+=("--mysqld=--loose-performance-schema-consumer-$consumer=OFF")
  done
  # A server that is aborted after a timeout holds the loader's lock while it makes its backtrace, which
  # waits for a report of the sanitizer that waits for this lock: it would never end.
  for_preset+=(--mysqld=--skip-stack-trace)
fi
failed_runs=0

# run NAME OPTION ... -- TEST ...
run() {
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  [ $# -gt 0 ] || return 0
  if [ -n "$list" ]; then
    echo "$name:" "${options[@]}" -- "$@"
    return
  fi
  echo "test: $name, $# tests" "${options[@]}"
  superbuild/hung.py "$work/var" "$results" $$ &
  local watcher=$!
  superbuild/mtr.sh "$preset" --parallel="${MTR_PARALLEL:-$(($(nproc) * 2))}" --suite-timeout=120 \
    --vardir="$work/var" --xml-report="$results/$name.xml" \
    "${for_preset[@]}" "${options[@]}" "$@" || {
    failed_runs=1
    keep_logs "$name"
  }
  kill "$watcher" 2>/dev/null || true # it is gone if there is no gdb
  [ "$preset" != asan ] || no_reports || failed_runs=1
}

# nothing WHERE: a list that could not be read would pass as one without tests.
nothing() {
  echo "test: error: no test was found in $1" >&2
  exit 1
}

# keep_logs NAME: the next run empties the folder in which mysql-test-run says they are.
keep_logs() {
  [ -d "$work/var/log" ] || return 0
  cp -r -- "$work/var/log" "$results/$1.logs"
  echo "test: the logs of the tests that failed are kept in $results/$1.logs"
}

# Shows what the sanitizers have said in any log of the run. mysql-test-run itself does not know the
# address sanitizer's reports: it goes by the server that ends, which some tests expect.
no_reports() {
  local logs
  mapfile -d '' logs < <(find "$work/var" -type f \( -name '*.err' -o -name '*.log' \) -print0)
  if [ ${#logs[@]} -eq 0 ]; then
    echo "test: no log in $work/var: nothing says that there was no report of a sanitizer" >&2
    return 1
  fi
  if grep -H -A 30 -E '==ERROR: (Address|Leak)Sanitizer|: runtime error: ' "${logs[@]}"; then
    echo "test: the sanitizers have reports, see above" >&2
    return 1
  fi
  echo "test: no report of a sanitizer in ${#logs[@]} logs"
}

# The same of the thread sanitizer, for all runs. Upstream's code has reports in any run.
no_races() {
  local logs
  mapfile -d '' logs < <(find "$races" -type f -print0)
  if [ ${#logs[@]} -eq 0 ]; then
    echo "test: no report in $races: nothing says that the thread sanitizer looked" >&2
    return 1
  fi
  python3 superbuild/stress/tsan_reports.py "build/$preset/obj" "${logs[@]}"
}

# A test of ours is suite/SUITE/t/NAME.test; t/NAME.test is in the suite main. Those that
# are too long for every run are for make test-long: mysql-test-run would not leave out what
# it is told by name.
run_own() {
  local tests
  local left_out=(-e include/big_test.inc)
  # Such a test skips itself, and a skipped one has failed.
  case $preset in asan | tsan) left_out+=(-e "include/not_$preset.inc") ;; esac
  mapfile -t tests < <(find mysql-test -path '*/t/*.test' -print0 |
    xargs -0 -r grep --files-without-match "${left_out[@]}" | sort |
    sed -E 's#^mysql-test/(suite/([^/]+)/)?t/(.*)\.test$#\2.\3#; s#^\.#main.#')
  [ ${#tests[@]} -gt 0 ] || nothing mysql-test
  run own -- "${tests[@]}"
}

# One run for all tests of the list that name the same options.
run_guard() {
  local test options option kinds=() kind name=guard number=0 arguments
  local -A tests=()
  while read -r test options; do
    [ -n "$test" ] || continue
    for option in $options; do
      [[ $option == --* ]] || {
        echo "test: patches/guard.list: $test: '$option' is no server option, which would begin with --" >&2
        exit 1
      }
    done
    [ -n "${tests[guard $options]:-}" ] || kinds+=("$options")
    tests[guard $options]+=" $test"
  done < <(sed 's/#.*//' patches/guard.list)
  [ ${#kinds[@]} -gt 0 ] || nothing patches/guard.list
  for kind in "${kinds[@]}"; do
    # Upstream's tests look for the files of a purge when the statement ends.
    arguments=(--mysqld=--loose-binlog-purge-background=OFF)
    for option in $kind; do arguments+=("--mysqld=$option"); done
    # shellcheck disable=SC2086 # a list of words
    run "$name" "${arguments[@]}" -- ${tests[guard $kind]}
    name=guard-$((++number))
  done
}

list=
if [ "${1:-}" = --list ]; then
  list=yes
  run_own
  run_guard
  exit
fi

[ -x "build/$preset/obj/runtime_output_directory/mysqld" ] || {
  echo "test: build/$preset holds no server; 'make $preset' builds it" >&2
  exit 1
}
"$as_user" --check
# A second run would empty the folder of the first under its servers.
exec 9>>"build/$preset/test.lock"
flock --nonblock 9 || {
  echo "test: the tests of build/$preset are running already (process $(<"build/$preset/test.lock")); wait for them, or end them" >&2
  exit 1
}
echo "$$" >"build/$preset/test.lock"
# What an ended run has left may still write there.
[ ! -d "$work" ] || mv -- "$work" "$work.old.$$"
rm -rf -- "$work".old.* || true
"$as_user" --own "$work" "$results"
[ "$preset" != tsan ] || "$as_user" --own "$races"

if [ $# -gt 0 ]; then
  run chosen -- "$@"
else
  # Whose server these start is not what they test: once is enough.
  if [ "$preset" = debug ]; then
    echo "test: superbuild, bench, power cuts and kills go on behind, with what processor time is left: $work/python.log"
    # --keep-going: one that fails hides no other.
    nice -n 10 make --no-print-directory --jobs=2 --output-sync=target --keep-going python-tests \
      PRESET="$preset" RESULTS="$results" >"$work/python.log" 2>&1 &
    python=$!
    trap 'kill "$python" 2>/dev/null || true' EXIT
  fi
  run_own
  run_guard
  if [ "$preset" = debug ]; then
    echo "test: waiting for superbuild, bench, power cuts and kills"
    wait "$python" || failed_runs=1
    trap - EXIT
    cat "$work/python.log"
  fi
fi 9>&- # what a run that was killed leaves behind does not keep the lock

[ "$preset" != tsan ] || no_races || failed_runs=1
python3 superbuild/results.py "$results"/*.xml || failed_runs=1
exit "$failed_runs"
