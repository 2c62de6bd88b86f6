#!/usr/bin/env bash
# Prints the address of the Debian archive that this machine's apt knows. Exit 1: it knows none.
set -euo pipefail
# shellcheck disable=SC2016 # apt expands it
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
  sort -u | head -n 1)
[ -n "$archive" ] || {
  echo "archive: apt knows no Debian archive here (after 'apt-get update' it may)" >&2
  exit 1
}
echo "$archive"
