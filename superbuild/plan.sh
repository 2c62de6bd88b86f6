#!/usr/bin/env bash
# The first line of make run and make test: what is about to happen, and how
# much time, disk and download it takes. Figures: docs/build-times.md.
set -euo pipefail
goal=$1 preset=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=upstream/pin
source upstream/pin

if [ -x "build/$preset/obj/runtime_output_directory/mysqld" ]; then
  echo "make $goal: the $preset server is built already; only what changed is built again."
  exit 0
fi
cached=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/$UPSTREAM_FILE
download="$((UPSTREAM_SIZE / 1000000)) MB of upstream source and up to 400 MB of Debian packages to download"
if [ -n "${UPSTREAM_TARBALL:-}" ] || [ -f "$cached" ] || [ -f build/upstream.stamp ]; then
  download="the upstream source is at hand, up to 400 MB of Debian packages to download"
fi
case $preset in
  release) disk="5 GB" minutes=50 ;;
  *) disk="6 GB" minutes=60 ;;
esac
free=$(df --output=avail -BG . | tail -n 1 | tr -dc 0-9)
echo "make $goal: builds MySQL $UPSTREAM_VERSION with Sluice's patches, preset $preset, in build/:" \
  "$download, $disk of disk ($free GB free), about $minutes minutes on 2 cores (a few with a warm ccache)."
