#!/usr/bin/env bash
# Is there a newer release of upstream's series than the one in upstream/pin? Tries it: fetches
# it, puts the patches on it, builds and tests it, and says how many minutes each step took.
# Nothing in the checkout changes but build/newer.
#
#   upstream-newer.sh           try it
#   upstream-newer.sh --look    only say what there is
#   upstream-newer.sh --check   fail if somebody works in the checkout that was tried
#
# Exits with 0 when there is none or all went well, and with 1 when a step failed; then the
# checkout that was tried is kept, to mend patches in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=upstream/pin
source upstream/pin
newer=build/newer

# Somebody may be mending patches in there; the pin is what this script has changed. A checkout that
# git does not read may hold anything.
check() {
  local copy=$newer/sluice changes commits
  [ -d "$copy" ] || return 0
  local -x GIT_CEILING_DIRECTORIES=$PWD/$newer
  if [ ! -d "$copy/build/tree/.git" ] &&
    changes=$(git -C "$copy" status --porcelain -- . ':!upstream/pin') && [ -z "$changes" ] &&
    commits=$(git -C "$copy" rev-list --all --not --remotes) && [ -z "$commits" ]; then
    return 0
  fi
  echo "upstream-newer: error: $copy has changes, commits or a work tree of patches-import; take over what you need, and remove the folder" >&2
  return 1
}
if [ "${1:-}" = --check ]; then
  check
  exit
fi

offers=$(superbuild/upstream.sh offers) || exit
version=$(awk '{ print $1 }' <<<"$offers" | sort -V | tail -n 1)
if [ -z "$version" ] || [ "$(printf '%s\n' "$UPSTREAM_VERSION" "$version" | sort -V | tail -n 1)" = "$UPSTREAM_VERSION" ]; then
  echo "upstream-newer: $UPSTREAM_VERSION, the pinned one, is the newest of its series"
  exit
fi
sum=$(awk -v version="$version" '$1 == version { print $2 }' <<<"$offers" | head -n 1)
size=$(awk -v version="$version" '$1 == version { print $3 }' <<<"$offers" | head -n 1)
echo "upstream-newer: $version is there (pinned: $UPSTREAM_VERSION), sha256 $sum"
[ "${1:-}" != --look ] || exit 0

check
rm -rf -- "$newer"
mkdir -p -- "$newer"
git clone --quiet --shared . "$newer/sluice"
cd "$newer/sluice"
sed -i -E "s/^UPSTREAM_VERSION=.*/UPSTREAM_VERSION=$version/; s/^UPSTREAM_FILE=.*/UPSTREAM_FILE=mysql-$version.tar.gz/
  s/^UPSTREAM_SHA256=.*/UPSTREAM_SHA256=$sum/; s/^UPSTREAM_SIZE=.*/UPSTREAM_SIZE=$size/
  s/mysql-${UPSTREAM_VERSION//./\\.}\.tar/mysql-$version.tar/" upstream/pin

# step WORDS COMMAND...: how long it took, and whether it went well.
step() {
  local words=$1 started=$SECONDS
  shift
  if "$@" >>../log 2>&1; then
    printf 'upstream-newer: %-28s ok      %4d min\n' "$words" $(((SECONDS - started + 59) / 60))
  else
    printf 'upstream-newer: %-28s FAILED  %4d min\n' "$words" $(((SECONDS - started + 59) / 60))
    tail -n 5 ../log >&2
    echo "upstream-newer: the whole log is $newer/log; mend it in $newer/sluice (CONTRIBUTING.md)" >&2
    exit 1
  fi
}
step "fetched and unpacked" superbuild/upstream.sh unpack build/upstream
step "patches apply" superbuild/patches.py apply build/upstream build/tree
step "builds (debug)" make debug
step "tests" make test
cp upstream/pin ../pin
echo "upstream-newer: all went well; to move: cp $newer/pin upstream/pin, make package, write the minutes into CHANGELOG.md"
