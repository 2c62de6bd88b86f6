#!/bin/bash
# The lock-free parts of page I/O alone: each interleaving of a few threads
# (fil_model.cc), which also has to find the faults of gate_mutants; then many
# threads (fil_gate.cc) under ThreadSanitizer, under the address sanitizer, and
# without either, SECONDS each (60).
#
#   gate.sh [SECONDS]  LIMIT: seconds that a fault may take to be found (120)
#   gate.sh --short    for make test: the interleavings; do the faults still apply to the
#                      headers (not: are they found)? a second under ThreadSanitizer
set -euo pipefail
cd "$(dirname "$0")"
include=../../storage/innobase/include
# What the server is built with. (Compilers that leave more rubbish on the stack make
# fil_model see more states.)
CXX=${CXX:-$(command -v clang++-19 || echo c++)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -O2 -g -Wall -Wextra -pthread)
ulimit -c 0 # fil_model copies gates that abort
seconds=${1:-60} sanitizers=(thread address none) wanted=found
if [ "$seconds" = --short ]; then
  seconds=1 sanitizers=(thread) wanted=applies
fi

echo "each interleaving:"
"$CXX" "${flags[@]}" -I"$include" -o "$work/fil_model" fil_model.cc
"$work/fil_model"

echo "faults:"
missed=0
while read -r line; do
  header=${line%% @ *} rest=${line#* @ }
  command=${rest% @ *} what=${rest##* @ }
  mkdir -p "$work/mutant"
  cp "$include"/fil0{gate,lookup,written}.h "$work/mutant"
  sed -i "$command" "$work/mutant/$header"
  if cmp -s "$include/$header" "$work/mutant/$header"; then
    verdict="does not apply"
  elif [ "$wanted" = applies ]; then
    verdict=applies
  elif ! "$CXX" "${flags[@]}" -w -I"$work/mutant" -o "$work/fil_mutant" fil_model.cc; then
    verdict="does not build"
  else
    status=0
    timeout "${LIMIT:-120}" "$work/fil_mutant" >"$work/out" || status=$?
    case $status in
      0) verdict="NOT found" ;;
      124) verdict="not found within ${LIMIT:-120} s" ;;
      *) verdict=found ;;
    esac
  fi
  echo "  $verdict: $what"
  [ "$verdict" = "$wanted" ] || missed=1
done < <(sed '/^#/d' gate_mutants)
[ "$missed" = 0 ] || exit 1

for sanitize in "${sanitizers[@]}"; do
  sanitizer=()
  [ "$sanitize" = none ] || sanitizer=("-fsanitize=$sanitize")
  "$CXX" "${flags[@]}" "${sanitizer[@]}" -I"$include" -o "$work/fil_gate" fil_gate.cc
  echo "sanitizer $sanitize:"
  "$work/fil_gate" "$seconds"
done
