# shellcheck shell=bash
# A minimal Debian, with systemd if it is to be booted in namespaces of its own. Sourced by a script that has set `name`,
# for its messages. Nothing of the machine's own is touched, and nothing stays mounted, however the
# script ends.

fail() {
  printf "${name:?}: error: %s\n" "$@" >&2
  exit 1
}

# debian_claim BASE ROOT: one script at a time works with BASE. When it ends, ROOT is removed.
debian_claim() {
  local tool
  [ "$(id -u)" -eq 0 ] || fail "debootstrap and namespaces need root"
  for tool in debootstrap unshare nsenter; do
    command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install debootstrap util-linux"
  done
  mkdir -p -- "$(dirname "$1")"
  exec 9>"$1.lock"
  flock --nonblock 9 || fail "another run works on $1"
  init='' claimed=$2
  trap debian_end EXIT
  trap 'exit 1' INT TERM
}

# debian_root SUITE BASE ROOT LOG [PACKAGE,...]: ROOT is a copy of BASE/root, which debootstrap makes once,
# from $archive, the archive that this machine's apt knows. The packages are those for a boot, if none
# are given.
debian_root() {
  local suite=$1 base=$2 root=$3 log=$4 include=${5-systemd,systemd-sysv,dbus,ca-certificates}
  archive=$("$(dirname "${BASH_SOURCE[0]}")/archive.sh") || exit 1
  if [ ! -e "$base/complete" ]; then
    echo "debian: making a minimal Debian $suite, $base"
    rm -rf --one-file-system -- "$base"
    mkdir -p -- "$base"
    unshare --mount --propagation private -- debootstrap --variant=minbase ${include:+"--include=$include"} \
      "$suite" "$base/root" "$archive" >"$log" 2>&1 || fail "debootstrap failed, see $log"
    touch -- "$base/complete"
  fi
  rm -rf --one-file-system -- "$root"
  cp -a --reflink=auto -- "$base/root" "$root"
}

# debian_boot ROOT LOG [OPTION ...]: boots it. Options are those of unshare: --net gives it no network
# but its loopback. Its first process is $init.
debian_boot() {
  local root=$1 log=$2 boot i
  shift 2
  boot=$(dirname "${BASH_SOURCE[0]}")/boot.sh
  setsid unshare --mount --pid --fork --kill-child --ipc --uts --cgroup "$@" -- "$boot" "$root" \
    >"$log" 2>&1 </dev/null 9>&- &
  unshared=$!
  for ((i = 0; i < 600; i++)); do
    init=$(pgrep -P "$unshared" || true)
    # A unit of Debian's that fails in here (degraded) is no concern of ours.
    [ -n "$init" ] && [ "$(cat "/proc/$init/comm" 2>/dev/null)" = systemd ] &&
      [[ $(nsenter --all --target "$init" systemctl is-system-running 2>/dev/null) =~ running|degraded ]] && return
    kill -0 "$unshared" 2>/dev/null || fail "systemd did not start, see $log"
    sleep 0.5
  done
  fail "systemd is not up after five minutes, see $log"
}

# debian_inside [NAME=VALUE ...] COMMAND: a line of shell in there, with nothing of this environment.
debian_inside() {
  nsenter --all --target "$init" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:1:$#-1}" bash -c "${*: -1}" </dev/null
}

# The end of its first process ends all in the namespace, and with it its mounts.
debian_end() {
  [ -z "$init" ] || kill -KILL "$init" 2>/dev/null || true
  [ -z "$init" ] || while kill -0 "$init" 2>/dev/null; do sleep 0.1; done
  rm -rf --one-file-system -- "$claimed"
}
