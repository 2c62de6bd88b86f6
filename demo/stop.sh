#!/usr/bin/env bash
# Stops the server that make run left running, and waits until it is down.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=demo/server.sh
source demo/server.sh

if pid=$(server_pid); then
  stop_server
  echo "stop: the server, process $pid, is down"
else
  echo "stop: no server is running"
fi
