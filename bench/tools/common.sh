# Sourced by the tools in shell, in the root of the checkout: their options, checks before
# the start, errors.
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
