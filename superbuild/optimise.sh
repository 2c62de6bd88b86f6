#!/usr/bin/env bash
# Lays out the code of a linked server anew by a profile of what runs (BOLT,
# docs/design/optimised_build.md). Where that cannot be done, the server stays as it was
# linked, a line says why, and the build goes on.
#
#   optimise.sh FOLDER         FOLDER/mysqld; the linked one stays beside it as mysqld.linked
#   optimise.sh FOLDER NAME    FOLDER/NAME, out of FOLDER/mysqld, which stays as it is
#
# PROFILE=folder: another one than superbuild/profile.
set -euo pipefail
shopt -s inherit_errexit
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
profile=$(realpath --canonicalize-missing -- "${PROFILE:-$scripts/profile}")
folder=${1:?usage: optimise.sh FOLDER [NAME]} result=${2:-mysqld}
# Relative names from here on: BOLT writes its command into the server.
cd -- "$folder"

# Not -icf: it gives functions of the same code one address, and the server compares addresses.
layout=(-infer-stale-profile -reorder-blocks=ext-tsp -reorder-functions=cdsort
  -split-functions -split-all-cold -split-eh)

has_section() { [ "$(readelf --wide --section-headers "$1" | grep -cF " $2 ")" -gt 0 ]; }

linked=mysqld
if [ "$result" = mysqld ]; then
  linked=mysqld.linked
  # What BOLT wrote has a note that says so; what has none was linked since.
  if ! has_section mysqld .note.bolt_info; then
    ln -f mysqld "$linked"
    rm -f "$result.stamp"
  elif [ ! -f "$linked" ]; then
    echo "optimise: $PWD/$linked is missing; to have $result laid out again, remove it and build" >&2
    exit 0
  fi
fi

# as_linked WHY
as_linked() {
  if [ "$result" != mysqld ]; then
    rm -f "$result"
  elif has_section mysqld .note.bolt_info; then
    # Not what an earlier profile made of it, either.
    ln -f "$linked" "$result.partial"
    mv -f "$result.partial" "$result"
  fi
  rm -f "$result.stamp"
  echo "optimise: mysqld stays as it was linked: $1"
  exit 0
}

for file in facts mysqld.yaml.xz; do
  [ -f "$profile/$file" ] || as_linked "there is no profile in $profile (make profile makes one)"
done
# shellcheck source=/dev/null
source "$profile/facts"
machine=$(uname -m)
[ "$machine" = "$PROFILE_MACHINE" ] ||
  as_linked "the profile is of $PROFILE_MACHINE, this is $machine (make profile makes another)"
# What the compiler itself wrote into the file.
[ "$(readelf --string-dump=.comment "$linked" | grep -c "clang version $PROFILE_CLANG\.")" -gt 0 ] ||
  as_linked "the profile is of clang $PROFILE_CLANG, another compiler made this (make profile makes another)"
has_section "$linked" .rela.text || as_linked "it was linked without --emit-relocs"
bolt=llvm-bolt-$PROFILE_CLANG
command -v "$bolt" >/dev/null || bolt=llvm-bolt
command -v "$bolt" >/dev/null ||
  as_linked "llvm-bolt is missing (on Debian: apt-get install bolt-$PROFILE_CLANG)"

release=$("$bolt" --version 2>&1) || as_linked "$bolt does not run"
made_of=$({ cat "$linked" "$profile/mysqld.yaml.xz" "$scripts/optimise.sh" && echo "$release"; } | sha256sum)
if [ -f "$result" ] && [ "$(cat "$result.stamp" 2>/dev/null)" = "$made_of" ]; then
  exit 0
fi

SECONDS=0
partial=$result.partial data=$result.profile log=$result.optimise.log
trap 'rm -f "$partial" "$data"' EXIT
xz --decompress --stdout "$profile/mysqld.yaml.xz" >"$data" || as_linked "its profile is damaged"
# Debug information has to follow the code, if a build has any.
debug=()
! has_section "$linked" .debug_info || debug=(-update-debug-sections)
"$bolt" "$linked" -o "$partial" -data="$data" "${layout[@]}" "${debug[@]}" >"$log" 2>&1 ||
  as_linked "$bolt failed, and $PWD/$log says why"
# A fast server that does not start is no use.
version() { "./$1" --no-defaults --version | sed 's/^[^ ]* *//'; }
[ "$(version "$partial")" = "$(version "$linked")" ] ||
  as_linked "what $bolt made does not run; $PWD/$log"

# The time of the linked one: to ninja it is the same file. The stamp last: without it, all is done anew.
touch -r "$linked" "$partial"
rm -f "$result.stamp"
mv -f "$partial" "$result"
echo "$made_of" >"$result.stamp"

stale=$(sed -nE 's/.*samples in the binary \(([0-9.]+)%\) belong to functions with invalid.*/\1/p' "$log")
fits="all of it fits"
[ -z "$stale" ] || fits="$stale % of it is of functions that have changed since"
echo "optimise: $result was laid out in $SECONDS s by the profile of $PROFILE_DATE (revision $PROFILE_REVISION); $fits"
