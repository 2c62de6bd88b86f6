#!/bin/bash
# Runs fil_gate.cc under ThreadSanitizer, under the address sanitizer, and
# without either: SECONDS each (60).
set -euo pipefail
cd "$(dirname "$0")"
include=../../storage/innobase/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for sanitize in thread address none; do
  flags=(-std=c++20 -O2 -g -Wall -Wextra -pthread -I"$include")
  [ "$sanitize" = none ] || flags+=("-fsanitize=$sanitize")
  "${CXX:-c++}" "${flags[@]}" -o "$work/fil_gate" fil_gate.cc
  echo "sanitizer $sanitize:"
  "$work/fil_gate" "${1:-60}"
done
