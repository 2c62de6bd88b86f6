#!/usr/bin/env bash
# Makes the virtual environment that the benchmarks and the tests in Python run in.
#
#   venv.sh FOLDER REQUIREMENTS
set -euo pipefail
venv=$1 requirements=$2
fail() {
  rm -rf -- "$venv.partial"
  printf 'venv: error: %s\n' "$@" >&2
  exit 1
}

# Debian's own Python, whose python3-venv is in superbuild/packages: another one that
# comes first in PATH may lie where the user who runs the tests cannot enter.
python=/usr/bin/python3
[ -x "$python" ] || python=python3

echo "venv: getting the Python packages of $requirements"
rm -rf -- "$venv.partial"
"$python" -m venv "$venv.partial" ||
  fail "$python cannot make a virtual environment (on Debian: apt-get install python3-venv)"
"$venv.partial/bin/python" -m pip install --quiet --disable-pip-version-check \
  --requirement "$requirements" ||
  fail "pip could not install the packages of $requirements; above it says why." \
    "They are fetched once, from the index that pip is configured for (pip config list); after that nothing here needs a network."
rm -rf -- "$venv"
mv -- "$venv.partial" "$venv"
touch -- "$venv/complete"
