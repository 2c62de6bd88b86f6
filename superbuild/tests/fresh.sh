#!/usr/bin/env bash
# The commands of README and docs/user, the long ones too (commands.py), on a fresh minimal Debian 12: what
# they need and nothing installs is found so.
#
#   fresh.sh
#
# As root. The Debian is a copy of build/debian/commands, in namespaces of its own, with systemd as its
# first process, git and python3 added, nothing in ccache, and this machine's network: with what is set here for
# pip, and the certificates that this machine trusts. Takes more than two hours on two cores.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=test-commands
# shellcheck source=superbuild/debian/machine.sh
. "$here/superbuild/debian/machine.sh"
base=$here/build/debian/commands root=$here/build/debian/commands.test log=$here/build/debian/commands.log

[ -z "$(git -C "$here" status --porcelain)" ] || fail "commit first: a clone of the commit is tried"
debian_claim "$base" "$root"

debian_root bookworm "$base" "$root" "$log"
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /usr/local/share/ca-certificates; do
  [ ! -e "$file" ] || cp -rLT -- "$file" "$root$file"
done
chroot "$root" sh -c 'update-ca-certificates && apt-get -q update &&
  apt-get -qy --no-install-recommends install git python3' >"$log" 2>&1 || fail "git cannot be installed, see $log"
git clone --quiet --no-hardlinks "$here" "$root/srv/sluice"
debian_boot "$root" "$log.boot"
# Proxies, certificates and waiting times that programs find in the environment.
mapfile -t settings < <(env | grep -iE '^[a-z_]*(cert|ca_bundle|cainfo|proxy|timeout)[a-z_]*=' || true)
debian_inside "${settings[@]}" 'cd /srv/sluice && superbuild/tests/commands.py run --long' 9>&- &
wait $!
