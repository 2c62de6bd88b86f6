#!/usr/bin/env bash
# Writes the header that tells the server which state of this repository it was
# built from: the last commit that changed what goes into a server, so that an
# edit to a document does not link it again. Untouched when it says so already.
set -euo pipefail
header=${1:?usage: revision.sh HEADER}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

parts=(patches upstream plugin sql storage)
if revision=$(git log -1 --abbrev=12 --format=%h -- "${parts[@]}" 2>/dev/null) && [ -n "$revision" ]; then
  [ -z "$(git status --porcelain -- "${parts[@]}")" ] || revision+=-modified
else
  revision=unknown
fi

line="#define SLUICE_REVISION \"$revision\""
if [ "$(cat -- "$header" 2>/dev/null)" != "$line" ]; then
  mkdir -p -- "$(dirname -- "$header")"
  printf '%s\n' "$line" >"$header"
fi
