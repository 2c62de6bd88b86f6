#!/usr/bin/env bash
# Prints the flags that have clang compile by a profile of what runs, if there is one
# (docs/design/optimised_build.md). Where it is of no use here a line says why, and the
# build goes on without.
#
#   compiler_profile.sh COMPILER FOLDER    the profile is unpacked into FOLDER
#
# PROFILE=folder: another one than superbuild/profile.
set -euo pipefail
shopt -s inherit_errexit
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
profile=$(realpath --canonicalize-missing -- "${PROFILE:-$scripts/profile}")
compiler=${1:?usage: compiler_profile.sh COMPILER FOLDER} folder=${2:?usage: compiler_profile.sh COMPILER FOLDER}

without() {
  echo "profile: compiled without a profile: $1" >&2
  exit 0
}

[ -f "$profile/compiler.profdata.xz" ] || exit 0
[ -f "$profile/facts" ] || without "$profile/facts is missing (make profile COMPILER=1 writes both)"
# shellcheck source=/dev/null
source "$profile/facts"
machine=$(uname -m)
[ "$machine" = "$PROFILE_MACHINE" ] ||
  without "it is of $PROFILE_MACHINE, this is $machine (make profile COMPILER=1 makes another)"
version=$("$compiler" --version 2>/dev/null) || without "$compiler does not run"
[[ $version == *"clang version $PROFILE_CLANG."* ]] ||
  without "it is of clang $PROFILE_CLANG, another compiler is used (make profile COMPILER=1 makes another)"

# Another profile has another name, and so ninja compiles anew.
sum=$(sha256sum "$profile/compiler.profdata.xz")
unpacked=$folder/${sum::16}.profdata
if [ ! -f "$unpacked" ]; then
  mkdir -p -- "$folder"
  rm -f -- "$folder"/*.profdata "$unpacked.partial"
  xz --decompress --stdout "$profile/compiler.profdata.xz" >"$unpacked.partial" || {
    rm -f -- "$unpacked.partial"
    without "it is damaged"
  }
  mv -- "$unpacked.partial" "$unpacked"
fi
# Code that has changed since, or was not run, is compiled as without. A static function is known by
# the name of its file alone, as it was counted: the folder differs between checkouts.
echo "-fprofile-use=$unpacked -Xclang -mllvm -Xclang -static-func-full-module-prefix=false" \
  "-Wno-profile-instr-out-of-date -Wno-profile-instr-unprofiled -Wno-backend-plugin"
