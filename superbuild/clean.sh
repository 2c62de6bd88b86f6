#!/usr/bin/env bash
# Removes all that was built. Not under a server that runs there, not commits of build/tree that
# patches/ does not hold, and not a checkout for a newer upstream in which somebody works. build may
# be a link.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -d build ] || exit 0
build=$(realpath build)

demo/stop.sh
running=()
for process in /proc/[0-9]*; do
  folder=$(readlink "$process/cwd") || continue
  if [ "$(cat "$process/comm")" = mysqld ] && [[ $folder == "$build"/* ]]; then
    running+=("process ${process#/proc/} in $folder")
  fi
done 2>/dev/null
if [ ${#running[@]} -gt 0 ]; then
  printf 'clean: error: a server is running, nothing was removed: %s\n' "${running[@]}" >&2
  exit 1
fi
if ! superbuild/upstream-newer.sh --check ||
  { [ -d build/tree/.git ] && ! superbuild/patches.py forget build/upstream build/tree; }; then
  echo "clean: error: nothing was removed" >&2
  exit 1
fi
find "$build" -mindepth 1 -delete
[ -L build ] || rmdir build
