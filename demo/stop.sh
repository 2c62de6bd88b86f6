#!/usr/bin/env bash
# Stops the server that make run left running, and waits until it is down.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pid_file=build/run/mysqld.pid
if [ ! -f "$pid_file" ]; then
  echo "stop: no server is running"
  exit 0
fi
pid=$(<"$pid_file")
# Never another process that was given the same number since.
if [ "$(readlink -f "/proc/$pid/exe" 2>/dev/null)" = "$(readlink -f build/release/obj/runtime_output_directory/mysqld)" ]; then
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
  echo "stop: the server, process $pid, is down"
else
  rm -f -- "$pid_file"
  echo "stop: no server is running"
fi
