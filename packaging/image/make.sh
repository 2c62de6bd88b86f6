#!/usr/bin/env bash
# Makes the container image (OCI) of our packages on a slim Debian. No daemon, no container that
# runs, and no network but apt's.
#
#   make.sh PACKAGES TO [SUITE]     folder of our packages; where the image goes; bookworm
#
# As root: debootstrap and a chroot need it. The Debian is made once (build/debian/SUITE.slim);
# each image takes the updates that the archive has.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# In a mount namespace: what apt's scripts need, and the packages.
if [ "${1:-}" = --inside ]; then
  root=$2
  mount --make-rprivate /
  mount -t proc proc "$root/proc"
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -euc '
    groupadd --system --gid 999 mysql
    useradd --system --uid 999 --gid mysql --home-dir /nonexistent --no-create-home --shell /bin/false mysql
    apt-get -q update
    apt-get -qy -o Dpkg::Use-Pty=0 dist-upgrade
    apt-get -qy -o Dpkg::Use-Pty=0 --no-install-recommends install /packages/*.deb bzip2 tzdata xz-utils zstd
    # The package has made a data directory; a volume brings its own.
    find /var/lib/mysql /run/mysqld /packages -mindepth 1 -delete
    apt-get clean'
fi

packages=$(realpath -- "${1:?usage: make.sh PACKAGES TO [SUITE]}") to=$(realpath -- "$2") suite=${3:-bookworm}
base=$here/build/debian/$suite.slim
log=$to/image.log
name=image
# shellcheck source=superbuild/debian/machine.sh
. "$here/superbuild/debian/machine.sh"
for part in server client common; do
  compgen -G "$packages/sluice-${part}_*.deb" >/dev/null ||
    fail "there is no sluice-$part in $packages; 'make package' makes it"
done

work=$base.work
root=$work/root
debian_claim "$base" "$work"
mkdir -p -- "$work"
debian_root "$suite" "$base" "$root" "$log" ''
# Security updates and the rest, as far as this machine takes them.
# shellcheck disable=SC2016 # apt expands it
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
  awk -v suite="$suite" '$2 ~ "^" suite { print "deb", $1, $2, "main" }')
: "${sources:=deb ${archive:?} $suite main}"

# Slim: neither manuals nor translations; licenses stay.
cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'SLIM'
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright*
path-include=/usr/share/doc/sluice-server/LICENSE*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/lintian/*
SLIM
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
mkdir "$root/packages"
cp -- "$packages"/sluice-{server,client,common}_*.deb "$root/packages"
version=$(dpkg-deb --field "$root"/packages/sluice-server_*.deb Version)

echo "image: installing $version on Debian $suite"
unshare --mount --pid --fork --kill-child -- "$0" --inside "$root" >"$log" 2>&1 9>&- ||
  fail "the packages could not be installed, see $log"
install -m 644 -- "$here/packaging/image/server.cnf" "$root/etc/mysql/sluice.conf.d/server.cnf"
install -m 755 -- "$here/packaging/image/entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"
install -m 755 -- "$here/packaging/image/healthcheck.sh" "$root/usr/local/bin/healthcheck.sh"
mkdir "$root/docker-entrypoint-initdb.d"
# Whatever user the container is given puts its socket there.
chmod 1777 "$root/run/mysqld" "$root/var/lib/mysql"
find "$root"/usr/share/{man,info,locale,lintian} -mindepth 1 -delete
find "$root/usr/share/doc" -type f ! -name 'copyright*' ! -name 'LICENSE*' -delete
find "$root/usr/share/doc" -type d -empty -delete
# What is this machine's, or says when this was made.
rm -rf -- "${root:?}"/{packages,usr/sbin/policy-rc.d,etc/resolv.conf,etc/hostname,etc/machine-id,etc/*-} \
  "${root:?}"/var/{lib/apt/lists/*,cache/apt/*,cache/ldconfig/*,cache/debconf/*-old} "${root:?}"/{dev,tmp,run/lock}/*
find "$root/var/log" -type f -delete
: >"$root/etc/machine-id"

"${PYTHON:-python3}" "$here/packaging/image/oci.py" --root "$root" --version "$version" \
  --created "$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)" --to "$to/sluice-$version-$suite.oci.tar"
