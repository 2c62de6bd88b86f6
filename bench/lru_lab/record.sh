#!/usr/bin/env bash
# Records all page accesses of a server: builds the plugin for the release server and says how to
# start it. record.sh PLUGIN_DIR puts it there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${1:?record.sh PLUGIN_DIR}/lru_record.so
preset=${PRESET:-release}
c++ -O2 -std=c++20 -shared -fPIC -o "$target" bench/lru_lab/lru_record.cc -lz \
  -I. -Ibuild/tree -Ibuild/tree/include -I"build/$preset/obj/include"
echo "$target is made. Start the server with
  LRU_RECORD_FILE=/tmp/accesses.gz mysqld --plugin-dir=$1 --plugin-load-add=lru_record.so ...
stop it, and say
  lru_lab trace=/tmp/accesses.gz frames=PAGES time=..."
