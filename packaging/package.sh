#!/usr/bin/env bash
# Makes the Debian packages, the archive that runs anywhere, the bill of materials and the
# checksums from what a preset has built; compiles nothing.
#
#   package.sh OBJECTS TO
#
# The same objects and the same commit give the same bytes. PYTHON is one that has
# packaging/requirements.txt. MAINTAINER ("Name <address>") is whoever publishes; without, who
# made the commit.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
objects=$(realpath -- "$1")
mkdir -p -- "$2"
to=$(realpath -- "$2")
# shellcheck source=upstream/pin
source "$here/upstream/pin"

fail() {
  printf 'package: error: %s\n' "$@" >&2
  exit 1
}
grep -qx 'INSTALL_LAYOUT:STRING=DEB' "$objects/CMakeCache.txt" 2>/dev/null ||
  fail "$objects holds no build of the preset package; 'make package' makes it"
[ -x "$objects/runtime_output_directory/mysqld" ] || fail "there is no server in $objects"

PATH=$PATH:/usr/sbin:/sbin
apparmor_parser --skip-kernel-load --skip-cache --quiet "$here/packaging/debian/usr.sbin.mysqld" >/dev/null 2>&1 ||
  fail "the AppArmor profile cannot be parsed: apparmor_parser -QK packaging/debian/usr.sbin.mysqld"

built=$(awk -F= '/^MYSQL_VERSION_(MAJOR|MINOR|PATCH)=/ { v = v s $2; s = "." } END { print v }' \
  "$here/build/upstream/MYSQL_VERSION") || fail "nothing says which MySQL was built: build/upstream is missing"
[ "$built" = "$UPSTREAM_VERSION" ] || fail "what was built is MySQL $built, and upstream/pin names $UPSTREAM_VERSION" \
  "The pinned release was nowhere to be had. Get it (UPSTREAM_TARBALL=...), or move the pin: BUILD.md, Moving to a newer upstream"
[ ! -e "$here/.git" ] || git -C "$here" log -1 >/dev/null || fail "git does not read $here, so the packages would have no version" \
  "If it says that the ownership is dubious: git config --global --add safe.directory $here"

# Later commits have later versions. All times in the packages are that of the commit.
cd "$here"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=0
revision=$(git describe --always --abbrev=12 --dirty=-modified 2>/dev/null) || revision=unknown
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
maintainer=${MAINTAINER:-$(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'nobody <nobody@localhost>')}
version=$UPSTREAM_VERSION+sluice$(date --date="@$SOURCE_DATE_EPOCH" +%Y%m%d.%H%M%S)
umask 022

exec 9>"$to/lock"
flock --nonblock 9 || fail "another package.sh works in $to"
work=$to/package.work
rm -rf -- "$work"
mkdir -p -- "$work/sluice"
trap 'rm -rf -- "$work"' EXIT
cp -r packaging/debian "$work/sluice/debian"
# shellcheck disable=SC2001 # an expansion takes & in one shell for what was found, and not in another
sed -i "s/^Maintainer: .*/Maintainer: $(sed 's|[\/&]|\\&|g' <<<"$maintainer")/" "$work/sluice/debian/control"
cat >"$work/sluice/debian/changelog" <<CHANGES
sluice ($version) unstable; urgency=medium

  * MySQL $UPSTREAM_VERSION with the patches of revision $revision; CHANGELOG.md says
    what they change.

 -- $maintainer  $(date --date="@$SOURCE_DATE_EPOCH" -R)
CHANGES

echo "package: Debian packages, $version"
(cd "$work/sluice" && OBJECTS=$objects SLUICE=$here DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" \
  dpkg-buildpackage --build=binary --no-sign) >"$to/package.log" 2>&1 ||
  fail "debhelper failed, see $to/package.log, which ends:" "$(tail -n 4 "$to/package.log")"
# An image of older packages goes with them.
find "$to" -maxdepth 1 -type f -regextype posix-extended \
  -regex '.*/(sluice.*\.(deb|buildinfo|changes|tar\.xz|spdx\.json|oci\.tar)|SHA256SUMS.*)' -delete
mv -- "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$to"

# With the libraries it needs, all but those of C and C++: for Linux with glibc 2.36 or newer.
name=sluice-server-$version-linux-$(uname -m)
echo "package: $name.tar.xz"
# Before || a subshell does not end by itself where a command fails.
(mkdir -p "$work/$name" &&
  cp -a "$work"/sluice/debian/sluice-{server,client,dev}/usr/. "$work/$name" &&
  packaging/libraries.sh all "$work/$name" &&
  tar --create --directory "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner "$name" | xz --threads=2 -3 >"$work/$name.tar.xz" &&
  mv -- "$work/$name.tar.xz" "$to") >>"$to/package.log" 2>&1 ||
  fail "the archive could not be made, see $to/package.log"

"${PYTHON:-python3}" packaging/sbom.py --version "$version" --objects "$objects" --tree "$work/$name" \
  --tarball-sum "$UPSTREAM_SHA256" --time "$SOURCE_DATE_EPOCH" --to "$to/sluice-$version.spdx.json" || fail "no bill of materials could be made"

# To be signed by whoever publishes: gpg --armor --detach-sign SHA256SUMS
(cd "$to" && sha256sum -- *.deb *.tar.xz *.json >SHA256SUMS)
(cd "$to" && du -ch -- *.deb *.tar.xz | tail -n 1 | sed "s/total/in $(wc -l <SHA256SUMS) files/; s/^/package: /") && echo "package: $to"
