#!/usr/bin/env bash
# Installs the Debian packages of superbuild/packages, and of the lists that are named, that
# are missing. Says which; needs root for it, and without root prints the command and stops.
#
#   dependencies.sh [LIST ...]
#   dependencies.sh --missing LIST ...   only prints those of the lists that are missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lists=(superbuild/packages) only_print=
if [ "${1:-}" = --missing ]; then
  lists=() only_print=yes
  shift
fi
lists+=("$@")

command -v dpkg-query >/dev/null || {
  echo "dependencies: this is not a Debian system, so nothing is installed; superbuild/packages lists what the build needs" >&2
  exit 0
}
for list in "${lists[@]:-}"; do
  [ -f "$list" ] || {
    echo "dependencies: there is no list of packages '$list'; usage: dependencies.sh [--missing] [LIST ...], from the checkout" >&2
    exit 2
  }
done
missing=()
while read -r package; do
  case $package in '' | '#'*) continue ;; esac
  # shellcheck disable=SC2016 # dpkg-query expands it
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=
  [ "$status" = installed ] || missing+=("$package")
done < <(cat "${lists[@]}")
[ ${#missing[@]} -gt 0 ] || exit 0
if [ -n "$only_print" ]; then
  printf '%s\n' "${missing[@]}"
  exit 0
fi

install=(apt-get install --yes --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -ne 0 ]; then
  echo "dependencies: these packages are missing; install them and run make again:" >&2
  echo "  sudo apt-get update && sudo ${install[*]}" >&2
  exit 1
fi
echo "dependencies: installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# apt-get does not wait for another checkout's. Closed: a service that a package starts would keep the lock.
flock --close /var/lib/apt apt-get update -q
flock --close /var/lib/apt "${install[@]}"
