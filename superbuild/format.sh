#!/usr/bin/env bash
# Formats our server code in place with the .clang-format that upstream brings;
# with --check only says what is not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run --Werror)
command -v clang-format-15 >/dev/null || {
  echo "format: clang-format-15 is missing: apt-get install clang-format-15" >&2
  exit 1
}
find sql storage plugin \( -name '*.cc' -o -name '*.h' \) -print0 2>/dev/null |
  xargs -0 -r clang-format-15 "${mode[@]}" --style=file:build/upstream/.clang-format
