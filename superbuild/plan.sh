#!/usr/bin/env bash
# The first line of make run, make test and make package: what is about to happen, and how
# much time, disk and download it takes. Ends there when the disk does not hold it.
# Figures: docs/design/build-times.md.
set -euo pipefail
goal=$1 preset=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=upstream/pin
source upstream/pin

# Megabytes: what a whole build takes, and what the goal takes beside it.
case $preset in
  release) whole=4000 minutes="19 to 46" ;;
  package) whole=5000 minutes=40 ;;
  debug) whole=4000 minutes=23 ;;
  *) whole=6000 minutes=60 ;;
esac
case $goal in
  run) beside=1000 ;;
  package) beside=3000 ;;
  test) beside=2000 after=" to build and 19 for the tests (39 to 82 in all have been measured)" ;;
  *) beside=2000 ;;
esac

# It may be a link to another disk.
place=$(realpath "$([ -d build ] && echo build || echo .)")

# enough MEGABYTES FOR
enough() {
  local free
  free=$(df --output=avail -BM "$place" | tail -n 1 | tr -dc 0-9)
  [ "$free" -ge "$1" ] || {
    echo "make $goal: error: $2 takes about $1 MB more, and $place has $free MB free." >&2
    echo "  Nothing was begun. Make room, or move the checkout to a larger disk." >&2
    exit 1
  }
}

if [ -x "build/$preset/obj/runtime_output_directory/mysqld" ]; then
  echo "make $goal: the $preset server is built already; only what changed is built again."
  # A demonstration that was run before writes over what it has.
  [ "$goal-$(ls -d build/run/data 2>/dev/null)" = run-build/run/data ] || enough "$beside" "make $goal"
  exit 0
fi
cached=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/$UPSTREAM_FILE
download="$((UPSTREAM_SIZE / 1000000)) MB of upstream source and up to 400 MB of Debian packages to download"
if [ -n "${UPSTREAM_TARBALL:-}" ] || [ -f "$cached" ] || [ -f build/upstream.stamp ]; then
  download="the upstream source is at hand, up to 400 MB of Debian packages to download"
fi
there=0
for folder in build/upstream build/tree "build/$preset"; do
  [ ! -d "$folder" ] || there=$((there + $(du -sm "$folder" | cut -f 1)))
done
missing=$((whole > there ? whole - there : 0))
free=$(df --output=avail -BG "$place" | tail -n 1 | tr -dc 0-9)
echo "make $goal: builds MySQL $UPSTREAM_VERSION with Sluice's patches, preset $preset, in build/:" \
  "$download, $(((missing + beside + 999) / 1000)) GB of disk ($free GB free)," \
  "about $minutes minutes${after:-} on 2 cores (a few to build with a warm ccache)."
enough "$((missing + beside))" "make $goal"
