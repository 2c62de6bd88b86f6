# Sourced by run.sh, monitor.sh and stop.sh: the demonstration's server, and how it is found.
# shellcheck shell=bash

home=${DEMO_HOME:-$PWD/build/run} # for the tests

if [ -d "$home/data" ] && [ ! -w "$home/data" ]; then
  echo "error: $home/data belongs to the user $(stat --format=%U -- "$home/data"), as root called make run: call make as root" >&2
  exit 1
fi

# The process whose working folder is our data directory, as a server's is. True even
# when its binary has been built again since, or the checkout was renamed.
server_pid() {
  local process
  for process in /proc/[0-9]*; do
    if [ "$process/cwd" -ef "$home/data" ] && [ "$(cat "$process/comm")" = mysqld ]; then
      echo "${process#/proc/}"
      return
    fi
  done 2>/dev/null
  return 1
}

# Ends when it is down; false when it does not go down.
stop_server() {
  local pid waited
  pid=$(server_pid) || return 0
  kill -- "$pid" || return
  for ((waited = 0; waited < 600; waited++)); do
    [ "$(server_pid)" = "$pid" ] || return 0
    sleep 0.2
  done
  echo "error: process $pid is still shutting down; $home/mysqld.log says what it does" >&2
  return 1
}

# Ends what make monitor left running: the exporter works in the data directory, for the
# socket, and Prometheus in a folder of its own. Returns when both are gone, and their ports free;
# false when one does not go.
stop_monitoring() {
  local process is waited told=()
  for process in /proc/[0-9]*; do
    # Not $(<...): where the process is gone, that ends the shell in spite of the ||.
    read -r is <"$process/comm" || continue
    if { [ "$is" = prometheus-sql- ] && [ "$process/cwd" -ef "$home/data" ]; } ||
      { [ "$is" = prometheus ] && [ "$process/cwd" -ef "$home/monitor" ]; }; then
      kill -- "${process#/proc/}" || continue
      echo "stop: $is, process ${process#/proc/}, is told to end"
      told+=("$process")
    fi
  done 2>/dev/null
  for process in "${told[@]}"; do
    # A zombie has no working folder any more.
    for ((waited = 0; waited < 600; waited++)); do
      [ -e "$process/cwd" ] || continue 2
      sleep 0.2
    done
    echo "error: process ${process#/proc/} does not end" >&2
    return 1
  done
}
