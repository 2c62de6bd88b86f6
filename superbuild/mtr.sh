#!/usr/bin/env bash
# Runs mysql-test-run on a build, as an ordinary user (as-user.sh), with the options that
# all runs here have in common: no test gets a second try, a failure does not end the
# run, and servers listen on loopback only.
#
#   mtr.sh PRESET OPTION ... TEST ...
#
# The logs stay after a run with --sanitize: test.sh looks through them.
# MTR_TREE: a source tree to take mysql-test from, and not that of the preset.
# MTR_BUILD_THREAD: says which ports it uses; chosen here if it is not set.
# SLUICE_WAIT_TIMEOUT: seconds that a test waits for a condition (600, upstream 30: too
# few where a machine is busy with other things).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
as_user=$PWD/superbuild/as-user.sh
objects=$PWD/build/$1/obj
shift

# It writes these files beside the server and its plugins, and removes them when it ends.
# That user may write nothing else there, and remove nothing: so a run does not take them
# from another beside it, and the last one that ends removes them here.
if [ "$(id -u)" -eq 0 ]; then
  files=("$objects/runtime_output_directory/mysqld.my"
    "$objects/plugin_output_directory/component_keyring_file.cnf")
  exec 8>"$objects/mtr.lock"
  flock --shared 8
  touch -- "${files[@]}"
  "$as_user" --own "${files[@]}"
  trap 'if flock --nonblock 8; then rm -f -- "${files[@]}"; fi' EXIT
fi

# mysqltest looks for a variable that a test has not set in the environment. The first
# is of the next wait_condition.inc only, which then sets it from the second.
export wait_timeout=${SLUICE_WAIT_TIMEOUT:-600} explicit_default_wait_timeout=${SLUICE_WAIT_TIMEOUT:-600}
# Upstream's minute is too short for a debug server where each sync takes seconds.
export shutdown_server_timeout=300

# Ports of its own for each run on this machine. What mysql-test-run does for that fails if
# several begin at once: it removes lock files that another has opened. A lock here is
# never removed. Its file is opened to read, as it may be another user's.
SLOT=240 # build threads of ten ports each; a worker takes three
are_free() {
  local address state port
  while read -r _ address _ state _; do
    [ "$state" = 0A ] || continue # it does not listen
    port=$((16#${address##*:}))
    ((port < 10000 + 10 * $1 || port >= 10000 + 10 * ($1 + SLOT))) || return 1
  done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
}
choose_ports() {
  local first lock
  for first in $(seq 300 $SLOT 1980); do # below the ports that the system gives away
    lock=/tmp/sluice-mtr-ports-$first
    [ -e "$lock" ] || (: >"$lock") 2>/dev/null || continue
    [ -r "$lock" ] || continue
    exec 7<"$lock"
    if flock --nonblock 7 && are_free "$first"; then
      export MTR_BUILD_THREAD=$first
      return
    fi
  done
}
[ -n "${MTR_BUILD_THREAD:-}" ] || choose_ports

clean=(--clean-vardir)
[[ " $* " != *" --sanitize "* ]] || clean=()

cd "$objects/mysql-test"
if [ -n "${MTR_TREE:-}" ]; then
  export MTR_BINDIR=$objects
  cd "$MTR_TREE/mysql-test"
fi
"$as_user" perl mysql-test-run.pl --retry=0 --testcase-timeout=25 --force --max-test-fail=0 --nounit-tests \
  --bind-local "${clean[@]}" "$@" 7<&- 8>&-
