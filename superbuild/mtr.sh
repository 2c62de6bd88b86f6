#!/usr/bin/env bash
# Runs mysql-test-run on a build, as an ordinary user (as-user.sh), with the options that
# all runs here have in common: no test gets a second try, a failure does not end the
# run, and servers listen on loopback only.
#
#   mtr.sh PRESET OPTION ... TEST ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
as_user=$PWD/superbuild/as-user.sh
objects=$PWD/build/$1/obj
shift

# Files that it writes beside the server and its plugins, where that user may write
# nothing else, and removes when it ends. It cannot remove these, so one run does not
# take them from another.
if [ "$(id -u)" -eq 0 ]; then
  files=("$objects/runtime_output_directory/mysqld.my"
    "$objects/plugin_output_directory/component_keyring_file.cnf")
  touch -- "${files[@]}"
  "$as_user" --own "${files[@]}"
fi

cd "$objects/mysql-test"
exec "$as_user" perl mysql-test-run.pl --retry=0 --force --max-test-fail=0 --nounit-tests \
  --bind-local --clean-vardir "$@"
