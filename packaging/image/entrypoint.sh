#!/bin/bash
# The entry point of the container image: makes a data directory where there is none, in the
# way that MYSQL_* and /docker-entrypoint-initdb.d say, and becomes the server.
# docs/user/container.md has the variables.
set -euo pipefail
shopt -s nullglob
LC_COLLATE=C
scripts=/docker-entrypoint-initdb.d

say() { printf '%s entrypoint: %s\n' "$(date --utc +%FT%TZ)" "$1" >&2; }
# fail WHAT [WHAT-TO-DO ...]
fail() {
  say "error: $1"
  [ $# -eq 1 ] || printf '  %s\n' "${@:2}" >&2
  exit 1
}

# Options alone are the server's; any other command is run as it is.
case ${1:-} in '' | -*) set -- mysqld "$@" ;; esac
[ "${1##*/}" = mysqld ] || exec "$@"
for option in "${@:2}"; do
  case $option in -'?' | --help | -V | --version | --print-defaults | --validate-config) exec "$@" ;; esac
done

# What the server makes of its option files and of these options.
settings=$("$@" --verbose --help 2>&1) || fail "the server refuses its options:" \
  "$(grep -E 'ERROR|unknown' <<<"$settings" || tail -n 3 <<<"$settings")" \
  "They come from the command's arguments and from the files in /etc/mysql."
# They stand below a line of dashes.
setting() { awk -v name="$1" '/^-----/ { values = 1 } values && $1 == name { sub(/^[^ ]+ +/, ""); print; exit }' <<<"$settings"; }
data=$(setting datadir) data=${data%/} socket=$(setting socket)
mark=$data/.entrypoint-unfinished

# Before root gives it away: what is not ours keeps its owners, too.
found=$(find -H "$data" -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit 2>/dev/null || true)
if [ -n "$found" ] && ! [ -e "$data/mysql.ibd" ] && ! [ -e "$mark" ]; then
  [ ! -d "$data/mysql" ] || fail "$data holds the data of another server, MariaDB or MySQL before 8.0" \
    "It was not changed. Dump it with the server that made it, and load the dump into an empty volume."
  fail "$data is not empty, and holds no data of MySQL" \
    "It was not changed. Mount an empty folder or volume, or one with a server's data."
fi

if [ -e "$mark" ]; then
  # Somebody may have put a backup there since. Files of another container, which holds the lock, come and go.
  older=$(find -H "$data" -mindepth 1 -name lost+found -prune -o ! -newer "$mark" ! -path "$mark" -print -quit 2>/dev/null || true)
  [ -z "$older" ] || fail "$data holds $older, which is older than an initialisation that did not end" \
    "It was not changed. If the data is complete, remove $mark; otherwise empty the folder or volume."
fi

if [ "$(id -u)" -eq 0 ]; then
  mkdir -p -- "$data" "${socket%/*}"
  # With the slash, as it may be a link.
  find "$data/" ! -user mysql -exec chown --no-dereference -- mysql: {} +
  # It may be /tmp.
  setpriv --reuid=mysql --regid=mysql --init-groups -- test -w "${socket%/*}" || chown -- mysql: "${socket%/*}"
  exec setpriv --reuid=mysql --regid=mysql --init-groups -- "$0" "$@"
fi
for folder in "$data" "${socket%/*}"; do
  if ! [ -w "$folder" ] || ! [ -x "$folder" ]; then
    fail "user $(id -u) cannot write to $folder" \
      "Let it own the folder or volume that is mounted there: chown $(id -u):$(id -g)." \
      "Or start the container as root (--user=0): it does that, and goes on as mysql."
  fi
done

# Of what an initialisation left in the data directory, nothing stays; the mark goes last.
wipe() {
  find -H "$data" -mindepth 1 -maxdepth 1 ! -name lost+found ! -path "$mark" -exec rm -rf -- {} +
  sync -- "$data"
  rm -f -- "$mark"
}
# Held as long as the server runs, which inherits it. A file system without such locks has none.
exec 9<"$data"
flock --nonblock --conflict-exit-code=75 9 2>/dev/null || [ $? -ne 75 ] || fail "another container uses $data" \
  "Stop that one, or mount another volume."
if [ -e "$mark" ]; then
  say "an earlier initialisation of $data did not end; it begins anew"
  wipe
fi
if [ -e "$data/mysql.ibd" ]; then
  unset MYSQL_ROOT_PASSWORD MYSQL_PASSWORD
  exec "$@"
fi

# All that was asked for is read and checked before anything is written.
from_file() {
  local file=$1_FILE
  local path=${!file:-} value
  [ -n "$path" ] || return 0
  [ -z "${!1:-}" ] || fail "both $1 and $1_FILE are set" "Leave one of them out."
  value=$(cat -- "$path" 2>/dev/null) || fail "$1_FILE is $path, which user $(id -u) cannot read" \
    "Mount the file there, readable for that user."
  [ -n "$value" ] || fail "$1_FILE is $path, which is empty" "Write the value into that file."
  export "$1=$value"
}
# yes_or_no NAME: makes it 'yes' or empty.
yes_or_no() {
  case ${!1:-} in
    [yY]es | YES | [tT]rue | TRUE | [oO]n | ON | y | Y | 1) printf -v "$1" yes ;;
    [nN]o | NO | [fF]alse | FALSE | [oO]ff | OFF | n | N | 0 | '') printf -v "$1" '' ;;
    *) fail "$1 is '${!1}', which is neither yes nor no" "Set it to yes, or leave it out." ;;
  esac
}
for name in MYSQL_{ROOT_PASSWORD,ROOT_HOST,DATABASE,USER,PASSWORD}; do from_file "$name"; done
for name in MYSQL_{RANDOM_ROOT_PASSWORD,ALLOW_EMPTY_PASSWORD,ONETIME_PASSWORD,INITDB_SKIP_TZINFO}; do yes_or_no "$name"; done
: "${MYSQL_ROOT_PASSWORD:=}" "${MYSQL_ROOT_HOST:=%}" "${MYSQL_DATABASE:=}" "${MYSQL_USER:=}" "${MYSQL_PASSWORD:=}"

if [ -n "$MYSQL_RANDOM_ROOT_PASSWORD" ]; then
  [ -z "$MYSQL_ROOT_PASSWORD" ] || fail "both MYSQL_ROOT_PASSWORD and MYSQL_RANDOM_ROOT_PASSWORD are set" "Leave one of them out."
elif [ -z "$MYSQL_ROOT_PASSWORD$MYSQL_ALLOW_EMPTY_PASSWORD" ]; then
  fail "$data is empty, and nothing says what root's password is to be. Set one of" \
    "MYSQL_ROOT_PASSWORD            the password; or" \
    "MYSQL_ROOT_PASSWORD_FILE       a file that holds it; or" \
    "MYSQL_RANDOM_ROOT_PASSWORD=yes to have one made, and shown in this log; or" \
    "MYSQL_ALLOW_EMPTY_PASSWORD=yes for none: anybody who reaches the server is root."
fi
if [ -n "$MYSQL_USER" ]; then
  [ -n "$MYSQL_PASSWORD" ] || fail "MYSQL_USER is set, and MYSQL_PASSWORD is not" "Set MYSQL_PASSWORD or MYSQL_PASSWORD_FILE."
  case $MYSQL_USER in
    root) fail "MYSQL_USER is root, which is there already" "MYSQL_ROOT_PASSWORD sets its password; leave MYSQL_USER out or name another." ;;
    mysql.*) fail "MYSQL_USER is $MYSQL_USER, a name of the server's own accounts" "Name another." ;;
  esac
  [ "${#MYSQL_USER}" -le 32 ] || fail "MYSQL_USER is longer than 32 characters" "Name a shorter one."
elif [ -n "$MYSQL_PASSWORD" ]; then
  fail "MYSQL_PASSWORD is set, and MYSQL_USER is not" "Set MYSQL_USER to the name of its account; root's is MYSQL_ROOT_PASSWORD."
fi
case ${MYSQL_DATABASE,,} in
  mysql | sys | information_schema | performance_schema)
    fail "MYSQL_DATABASE is $MYSQL_DATABASE, a schema of the server's own" "Name another." ;;
  *' ') fail "MYSQL_DATABASE ends in a space" "Name one that does not." ;;
esac
[ "${#MYSQL_DATABASE}" -le 64 ] || fail "MYSQL_DATABASE is longer than 64 characters" "Name a shorter one."

# The client programs of the initialisation; not what MYSQL_HOST and an option file say.
password=
client() {
  MYSQL_PWD=$password "$1" --no-defaults --protocol=socket --host=localhost --socket="$socket" --user=root "${@:2}"
}
# Named as in the official image, for scripts that are read in.
# shellcheck disable=SC2120 # they give it arguments
docker_process_sql() {
  client mysql --comments --default-character-set=utf8mb4 ${MYSQL_DATABASE:+--database="$MYSQL_DATABASE"} "$@"
}
# doubled TEXT CHARACTER
doubled() { printf '%s' "${1//"$2"/"$2$2"}"; }
text() { printf "'%s'" "$(doubled "$(doubled "$1" "\\")" "'")"; }
name() { printf '\140%s\140' "$(doubled "$1" '`')"; }
# With what a grant would take for a wildcard made a letter.
# shellcheck disable=SC2001 # an expansion keeps the backslashes in one shell and not in the other
schema() { name "$(sed 's/[\\_%]/\\&/g' <<<"$1")"; }

accounts() {
  # The replicas have accounts of their own. No escape that an option file could turn off.
  echo "SET SESSION sql_log_bin = 0, sql_mode = '';"
  if [ "$MYSQL_ROOT_HOST" != localhost ]; then
    echo "CREATE USER 'root'@$(text "$MYSQL_ROOT_HOST") IDENTIFIED BY $(text "$MYSQL_ROOT_PASSWORD");"
    echo "GRANT ALL ON *.* TO 'root'@$(text "$MYSQL_ROOT_HOST") WITH GRANT OPTION;"
  fi
  echo "ALTER USER 'root'@'localhost' IDENTIFIED BY $(text "$MYSQL_ROOT_PASSWORD");"
}
wishes() {
  echo "SET SESSION sql_mode = '';"
  [ -z "$MYSQL_DATABASE" ] || echo "CREATE DATABASE $(name "$MYSQL_DATABASE");"
  if [ -n "$MYSQL_USER" ]; then
    echo "CREATE USER $(text "$MYSQL_USER")@'%' IDENTIFIED BY $(text "$MYSQL_PASSWORD");"
    [ -z "$MYSQL_DATABASE" ] || echo "GRANT ALL ON $(schema "$MYSQL_DATABASE").* TO $(text "$MYSQL_USER")@'%';"
  fi
}

# Runs beside this shell, which listens for signals; the first command that fails ends it.
# shellcheck disable=SC2119 # it has no arguments here
initialise() {
  local server file
  # Not local: the trap runs when the function is left.
  doing='making a data directory'
  trap '[ $? -eq 0 ] || say "error: $doing failed"' EXIT
  say "making a data directory, $data"
  "$@" --initialize-insecure --default-time-zone=SYSTEM --autocommit=1

  doing='starting the server for the initialisation'
  "$@" --skip-networking --loose-mysqlx=OFF --read-only=OFF --super-read-only=OFF --default-time-zone=SYSTEM --autocommit=1 \
    --loose-group-replication-start-on-boot=OFF &
  server=$!
  until client mysqladmin --silent ping >/dev/null 2>&1; do
    kill -0 "$server"
    sleep 0.2
  done

  doing='loading time zones (MYSQL_INITDB_SKIP_TZINFO=yes leaves them out)'
  if [ -z "$MYSQL_INITDB_SKIP_TZINFO" ] && [ -d /usr/share/zoneinfo ]; then
    (echo 'SET SESSION sql_log_bin = 0;' && mysql_tzinfo_to_sql /usr/share/zoneinfo 2>/dev/null) | client mysql mysql
  fi
  doing='setting root'"'"'s password (MYSQL_ROOT_PASSWORD, MYSQL_ROOT_HOST)'
  if [ -n "$MYSQL_RANDOM_ROOT_PASSWORD" ]; then
    export MYSQL_ROOT_PASSWORD
    MYSQL_ROOT_PASSWORD=$(head -c 24 /dev/urandom | base64)
  fi
  accounts | client mysql --default-character-set=utf8mb4
  password=$MYSQL_ROOT_PASSWORD
  doing='making what MYSQL_DATABASE, MYSQL_USER and MYSQL_PASSWORD ask for'
  wishes | client mysql --default-character-set=utf8mb4

  for file in "$scripts"/*; do
    doing=$file
    case $file in
      *.sh)
        if [ -x "$file" ]; then
          say "running $file"
          "$file"
        else
          say "reading in $file"
          # Scripts for the official image may call it "${mysql[@]}".
          # shellcheck disable=SC2034
          mysql=(docker_process_sql)
          # shellcheck source=/dev/null
          (set +u && . "$file")
        fi
        ;;
      *.sql) say "loading $file" && docker_process_sql <"$file" ;;
      *.sql.bz2) say "loading $file" && bzip2 -dc -- "$file" | docker_process_sql ;;
      *.sql.gz) say "loading $file" && gzip -dc -- "$file" | docker_process_sql ;;
      *.sql.xz) say "loading $file" && xz -dc -- "$file" | docker_process_sql ;;
      *.sql.zst) say "loading $file" && zstd -dcq -- "$file" | docker_process_sql ;;
      *) say "leaving out $file: neither .sh nor .sql, .sql.bz2, .sql.gz, .sql.xz, .sql.zst" ;;
    esac
  done

  doing='letting root'"'"'s password expire (MYSQL_ONETIME_PASSWORD)'
  if [ -n "$MYSQL_ONETIME_PASSWORD" ]; then
    {
      echo 'SET SESSION sql_log_bin = 0;'
      echo "ALTER USER 'root'@$(text "$MYSQL_ROOT_HOST") PASSWORD EXPIRE;"
      [ "$MYSQL_ROOT_HOST" = localhost ] || echo "ALTER USER 'root'@'localhost' PASSWORD EXPIRE;"
    } | client mysql
  fi
  doing='stopping the server after the initialisation'
  kill -TERM "$server"
  wait "$server"
  [ -z "$MYSQL_RANDOM_ROOT_PASSWORD" ] || say "GENERATED ROOT PASSWORD: $MYSQL_ROOT_PASSWORD"
}

# The mark is on disk before the rest, and gone before anybody can connect.
: >"$mark"
sync -- "$mark" "$data"
set -m
initialise "$@" </dev/null &
child=$!
set +m
give_up() {
  trap '' TERM INT
  kill -KILL -- "-$child" 2>/dev/null || true
  while kill -0 -- "-$child" 2>/dev/null; do sleep 0.1; done
  wipe
  say "$1; nothing of it was kept in $data"
  exit "$2"
}
trap 'give_up "the initialisation was stopped" 143' TERM
trap 'give_up "the initialisation was stopped" 130' INT
wait "$child" || give_up "the initialisation failed: mend what is said above, and start again" 1
trap - TERM INT
rm -f -- "$mark"
sync -- "$data"
say "$data is complete"
unset MYSQL_ROOT_PASSWORD MYSQL_PASSWORD
exec "$@"
