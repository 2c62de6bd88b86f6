#!/usr/bin/env bash
# Runs a command as an ordinary user when root calls it, and as it is for anybody
# else: the servers of make run and of the tests are never root's. The user is the
# system user sluice, or SLUICE_USER; it is made when it is missing.
#
#   as-user.sh COMMAND ...         run it, in the current folder
#   as-user.sh --fuse COMMAND ...  the same, and it may mount FUSE if root may
#   as-user.sh --own PATH ...      let this user own these; folders are made
#   as-user.sh --check             can this user work in this checkout?
#
# The checkout may lie in a folder that only root can enter, as root's home. No
# permission is changed for that: the command gets a mount namespace of its own, in
# which the closed folder shows nothing but the checkout.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
user=${SLUICE_USER:-sluice}
home=$here/build/home

fail() {
  printf 'as-user: error: %s\n' "$@" >&2
  exit 1
}

own() {
  local path
  for path in "$@"; do
    [ -e "$path" ] || mkdir -p -- "$path"
    [ "$(id -u)" -ne 0 ] || chown -R -- "$user:" "$path"
  done
}

if [ "$(id -u)" -ne 0 ]; then
  case ${1:-} in
    --check) exit 0 ;;
    --own) shift && own "$@" && exit ;;
    --fuse) shift && exec "$@" ;;
    *) exec "$@" ;;
  esac
fi

if ! id -- "$user" >/dev/null 2>&1; then
  echo "as-user: making the system user $user, as servers do not run as root" >&2
  # Another checkout may be making the same one.
  PATH=$PATH:/usr/sbin flock --close /etc useradd --system --user-group --no-create-home \
    --home-dir /nonexistent --shell /usr/sbin/nologin -- "$user" ||
    id -- "$user" >/dev/null 2>&1 ||
    fail "the user $user could not be made; make one and name it: SLUICE_USER=..."
fi
[ "$(id -u "$user")" -ne 0 ] || fail "SLUICE_USER=$user is root"
become=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups
  env -u TMPDIR -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_RUNTIME_DIR
  "HOME=$home" "USER=$user" "LOGNAME=$user")

# The first folder on the way to the checkout that the user may not enter.
closed_folder() {
  local folder='' part parts
  IFS=/ read -ra parts <<<"${here#/}"
  for part in "${parts[@]}"; do
    folder+=/$part
    "${become[@]}" test -x "$folder" || {
      echo "$folder"
      return
    }
  done
}

not_to_be_entered() {
  fail "servers do not run as root, and the user $user cannot enter $1, which holds this checkout." \
    "Showing it the checkout alone takes a mount namespace, which this system refuses (a container?)." \
    "Move the checkout to where everybody may enter, /opt or /usr/local/src say; or let others pass, chmod o+x '$1'; or work as another user than root."
}

case ${1:-} in
  --own)
    shift
    own "$@"
    exit
    ;;
  --fuse)
    # Where /dev/fuse is root's alone, the command sees another node of that device.
    shift
    if [ -c /dev/fuse ] && ! "${become[@]}" test -w /dev/fuse && unshare --mount true 2>/dev/null; then
      exec unshare --mount --propagation private -- "$0" --own-fuse "$@"
    fi
    exec "$0" "$@"
    ;;
  --own-fuse)
    shift
    held=$(mktemp -d -p /tmp)
    {
      mount -t tmpfs -o mode=755,size=64k sluice "$held" && mknod -m 666 "$held/fuse" c 10 229 &&
        mount --bind -- "$held/fuse" /dev/fuse
    } || echo "as-user: /dev/fuse stays root's" >&2
    umount -l -- "$held" 2>/dev/null || true
    rmdir -- "$held"
    exec "$0" "$@"
    ;;
  --covered)
    # In the namespace: closed folder, working directory, command.
    closed=$2 work=$3
    shift 3
    held=$(mktemp -d -p /tmp)
    {
      mount --rbind -- "$here" "$held" &&
        mount -t tmpfs -o mode=755,size=1m sluice "$closed" &&
        (umask 022 && mkdir -p -- "$here") &&
        mount --move -- "$held" "$here"
    } || not_to_be_entered "$closed"
    rmdir -- "$held"
    cd -- "$work" 2>/dev/null || cd -- "$here"
    ;;
esac

closed=$(closed_folder)
if [ "$closed" = "$here" ]; then
  fail "servers do not run as root, and the user $user cannot enter this checkout, $here." \
    "chmod go+rx '$here' lets it; or work as another user than root."
elif [ -n "$closed" ]; then
  unshare --mount true 2>/dev/null || not_to_be_entered "$closed"
  exec unshare --mount --propagation private -- "$0" --covered "$closed" "$PWD" "$@"
fi

# Once: only that user writes there, and a file that goes while chown reads the folder fails it.
[ "$(stat -c %U -- "$home" 2>/dev/null)" = "$user" ] || own "$home"
if [ "${1:-}" = --check ]; then
  probe=$here/build/probe.$$
  mkdir -- "$probe"
  trap 'rmdir -- "$probe"' EXIT
  for path in "$here/superbuild/test.sh" "$here/bench/pytest.ini" "$probe"; do
    "${become[@]}" test -r "$path" ||
      fail "servers do not run as root, and the user $user cannot read what this checkout holds, $path for one." \
        "Let others read it, umask 022 && chmod -R go+rX '$here'; or work as another user than root."
  done
  exit
fi
exec "${become[@]}" "$@"
