#!/usr/bin/env bash
# A compiler launcher: instruments InnoDB, its plugin lru_stats and what our
# patches touch elsewhere, and leaves the rest of the server as the debug preset
# compiles it, so that it comes from ccache.
#
#   sanitize.sh SANITIZER[,SANITIZER] COMMAND ...    COMMAND: [env] [ccache] compiler ...
set -euo pipefail
sanitizers=$1
shift

source=
previous=
for argument in "$@"; do
  [ "$previous" != -c ] || source=$argument
  previous=$argument
done
# Below the source folder of the preset, whose name is src.
name=${source##*/src/}
root=$(dirname "${BASH_SOURCE[0]}")/..

ours() {
  case $name in
    storage/innobase/* | plugin/lru_stats/*) return 0 ;;
    *) [ -f "$root/$name" ] || grep -qxF -- "+++ b/$name" "$root"/patches/*.patch ;;
  esac
}

if [ -n "$name" ] && ours; then
  # A precompiled header is of the rest (precompiled.sh).
  command=()
  while [ $# -gt 0 ]; do
    if [ "$1" = -include-pch ]; then shift; else command+=("$1"); fi
    shift
  done
  # Unoptimized code is too slow with them. vptr wants the types of the rest, too.
  without=vptr
  # Upstream's I_List casts its end mark to an element, which nobody looks into.
  [ "$name" != sql/sql_plugin.cc ] || without+=,object-size
  exec "${command[@]}" "-fsanitize=$sanitizers" "-fno-sanitize=$without" -O1 -fno-omit-frame-pointer
fi
exec "$@"
