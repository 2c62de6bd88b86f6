#!/usr/bin/env bash
# A compiler launcher for precompiled headers (precompile.cmake) beside ccache. They hold the
# names of this checkout's folders, so ccache would never find what another checkout has compiled.
#
#   precompiled.sh ROOT COMMAND ...    ROOT: of the checkout; COMMAND: env ... ccache compiler ...
#
# A header that is compiled gets a file .sum beside it: a sum of all it holds, without those
# names. ccache goes by that instead (CCACHE_PCH_EXTSUM).
set -euo pipefail
root=$1
shift

# As CMake has it: -Xclang -emit-pch, and -Xclang -include-pch -Xclang FILE -Xclang -include -Xclang SOURCE.
command=() own=() output='' emits=''
while [ $# -gt 0 ]; do
  case "$1 ${2:-}" in
    "-Xclang -emit-pch") emits=1 ;;
    "-Xclang -include-pch")
      command+=(-include-pch "${4#"$PWD"/}")
      shift 8
      continue
      ;;
    "-o "*) output=$2 ;;
  esac
  command+=("$1")
  shift
done
[ -n "$emits" ] || exec "${command[@]}"

# Not by way of ccache, and once more as text with all macros. The compiler is what the first
# option belongs to.
while [[ ${command[1]} != -* ]]; do command=("${command[@]:1}"); done
rm -f -- "$output.sum"
"${command[@]}"
for argument in "${command[@]}"; do
  case $argument in
    -emit-pch) own=("${own[@]:0:${#own[@]}-1}") ;;
    *) own+=("$argument") ;;
  esac
done
"${own[@]}" -E -dD -o - -MF /dev/null | sed "s:$root/::g" | sha256sum >"$output.sum"
