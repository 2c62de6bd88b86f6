#!/usr/bin/env bash
# Stops the server that make run left running, and waits until it is down; before that, what
# make monitor left running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=demo/server.sh
source demo/server.sh

stop_monitoring
if pid=$(server_pid); then
  stop_server
  echo "stop: the server, process $pid, is down"
else
  echo "stop: no server is running"
fi
