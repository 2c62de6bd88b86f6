# Sourced by the tools in shell, in the root of the checkout: their options, checks before
# the start, errors, and the server that they measure.
# shellcheck shell=bash

target=bench-$(basename "$0" .sh)
target=${target//_/-}

fail() {
  echo "$target: error: $*" >&2
  exit 1
}
wrong() {
  echo "$target: error: $*; 'make $target HELP=1' lists what there is" >&2
  exit 2
}

# parse "NAME ..." "$@": --name=value sets the variable of that name. --help prints the
# comment at the top of the script.
parse() {
  local known=" $1 " option name
  shift
  for option in "$@"; do
    case $option in
    --help)
      sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "bench/tools/$(basename "$0")"
      exit 0
      ;;
    --*=*)
      name=${option%%=*}
      name=${name#--}
      name=${name//-/_}
      [[ $known == *" $name "* ]] || wrong "there is no option ${option%%=*}"
      printf -v "$name" %s "${option#*=}"
      ;;
    *) wrong "'$option' is not --name=value" ;;
    esac
  done
}

# counts NAME ...: each is a whole number above 0.
counts() {
  local name
  for name in "$@"; do
    [[ ${!name} =~ ^[1-9][0-9]*$ ]] || wrong "$name is '${!name}', not a whole number above 0"
  done
}

# mebibytes NAME: of a size like 64M or 1G.
mebibytes() {
  [[ ${!1} =~ ^[1-9][0-9]*[MG]$ ]] || wrong "$1 is '${!1}', not a size like 64M or 1G"
  local number=${!1%[MG]}
  case ${!1} in
  *M) echo "$number" ;;
  *G) echo $((number * 1024)) ;;
  esac
}

# programs NAME=PACKAGE ...: each is installed.
programs() {
  local entry
  for entry in "$@"; do
    command -v "${entry%=*}" >/dev/null ||
      fail "${entry%=*} is missing: apt-get install ${entry#*=}"
  done
}

# built PRESET ...: the server of each is there.
built() {
  local preset
  for preset in "$@"; do
    [ -x "build/$preset/obj/runtime_output_directory/mysqld" ] ||
      fail "there is no server of the preset $preset; 'make $preset' builds it"
  done
}

# A tool has one server at a time. $home is its folder below BENCH_WORK, $socket its socket; both go
# when the tool ends, and the server ends with it.
work_folder() {
  local work=${BENCH_WORK:-$PWD/build/bench}
  mkdir -p -- "$work"
  home=$(mktemp -d "$work/${target#bench-}.XXXXXX")
  socket=$home/sock
  # The path of a socket is limited to 107 characters.
  [ ${#socket} -lt 104 ] || socket=$(mktemp -u "/tmp/$target.XXXXXX")
  server_pid=
  trap end_server EXIT
}

end_server() {
  [ -z "$server_pid" ] || kill -KILL "$server_pid" 2>/dev/null || true
  rm -rf -- "$home" "$socket"
}

# become_server PRESET DATA OPTION ...: the options are after those that all servers have.
become_server() {
  local objects=$PWD/build/$1/obj
  exec "$objects/runtime_output_directory/mysqld" --no-defaults --basedir="$objects" \
    --lc-messages-dir="$objects/share" --user="$(id -un)" --datadir="$2" --log-error="$home/log" "${@:3}"
}

initialize_server() { (become_server "$1" "$2" --initialize-insecure); }

# start_server PRESET DATA OPTION ...: returns when it answers.
start_server() {
  become_server "$1" "$2" --socket="$socket" --skip-networking --loose-mysqlx=OFF \
    --plugin-dir="$PWD/build/$1/obj/plugin_output_directory" "${@:3}" >>"$home/out" 2>&1 &
  server_pid=$!
  started=$1
  until client --execute='DO 0' 2>/dev/null; do
    kill -0 "$server_pid" || {
      tail "$home/log" >&2
      exit 1
    }
    sleep 0.5
  done
}

stop_server() {
  kill "$server_pid"
  wait "$server_pid" || true
  server_pid=
}

client() {
  "build/$started/obj/runtime_output_directory/mysql" --no-defaults --socket="$socket" --user=root "$@"
}

# value STATEMENT: without the columns' names.
value() { client --batch --skip-column-names --execute="$1"; }
