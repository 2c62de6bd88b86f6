#!/usr/bin/env bash
# Are the packages the same, byte by byte, when they are made again from the same commit?
#
#   again.sh                 from the same objects: links all programs and plugins again, and
#                            packages them again (minutes)
#   again.sh --from-source   compiles all again, too, in another folder and without ccache
#                            (as long as a first build)
#
# Not checked: another compiler, another machine or another state of Debian's packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
first=build/packages again=build/packages-again
objects=$PWD/build/package/obj checkout=.
[ -z "$(git status --porcelain)" ] || { echo "again: error: commit first: packages are made of a commit" >&2; exit 1; }
commit=$(git rev-parse HEAD)
packaging/package.sh "$objects" "$first"

if [ "${1:-}" = --from-source ]; then
  other=$(mktemp -d -p "$PWD/build" again.XXXXXX)
  trap 'rm -rf -- "$other"' EXIT
  # The same commit, though the branch may have moved on since.
  git clone --quiet --shared . "$other/sluice"
  git -C "$other/sluice" checkout --quiet --detach "$commit"
  # The compiler's temporary files, the build's folder and the user's home differ as well.
  (cd "$other/sluice" && export CCACHE_DISABLE=1 UPSTREAM_TARBALL &&
    UPSTREAM_TARBALL=$(../../../superbuild/upstream.sh fetch) && cmake --preset package >/dev/null &&
    cmake --build --preset package >"$other/log" 2>&1) || { tail -n 5 "$other/log" >&2; exit 1; }
  # It packages them, too: nobody has to keep still here for an hour.
  checkout=$other/sluice objects=$other/sluice/build/package/obj
else
  ninja -C "$objects" -t targets all |
    sed -nE 's/^(.*): C(XX)?_(EXECUTABLE|MODULE_LIBRARY|SHARED_LIBRARY|STATIC_LIBRARY)_LINKER.*/\1/p' |
    (cd "$objects" && xargs -d '\n' rm -f --)
  { ninja -C "$objects" && superbuild/optimise.sh "$objects/runtime_output_directory"; } >"$again.log" 2>&1 || { tail -n 5 "$again.log" >&2; exit 1; }
fi
"$checkout/packaging/package.sh" "$objects" "$again"
if diff "$first/SHA256SUMS" "$again/SHA256SUMS"; then
  echo "again: the same bytes, $(wc -l <"$first/SHA256SUMS") files"
  rm -rf -- "$again"
else
  echo "again: error: these differ; both are kept, $first and $again (diffoscope says in what)" >&2
  exit 1
fi
