#!/usr/bin/env bash
# Installs the Debian packages of superbuild/packages, and of the lists that are named, that
# are missing. Says which; needs root for it, and without root prints the command and stops.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v dpkg-query >/dev/null || {
  echo "dependencies: this is not a Debian system, so nothing is installed; superbuild/packages lists what the build needs" >&2
  exit 0
}
for list in "$@"; do
  [ -f "$list" ] || {
    echo "dependencies: there is no list of packages '$list'; usage: dependencies.sh [LIST ...], from the checkout" >&2
    exit 2
  }
done
missing=()
while read -r package; do
  case $package in '' | '#'*) continue ;; esac
  # shellcheck disable=SC2016 # dpkg-query expands it
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=
  [ "$status" = installed ] || missing+=("$package")
done < <(cat superbuild/packages "$@")
[ ${#missing[@]} -gt 0 ] || exit 0

install=(apt-get install --yes --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -ne 0 ]; then
  echo "dependencies: these packages are missing; install them and run make again:" >&2
  echo "  sudo apt-get update && sudo ${install[*]}" >&2
  exit 1
fi
echo "dependencies: installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
"${install[@]}"
