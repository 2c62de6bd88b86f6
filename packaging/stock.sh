#!/usr/bin/env bash
# Makes packages of another server to be replaced in `make test-packages`, of an unpatched
# build: ours under upstream's names, with that build's server, and without what is only ours.
#
#   stock.sh OBJECTS PACKAGES TO     of the preset package-stock; our packages; a folder
set -euo pipefail
objects=$(realpath -- "$1") packages=$(realpath -- "$2")
mkdir -p -- "$3"
to=$(realpath -- "$3")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
for part in server client common; do
  name=mysql-community-$part
  dpkg-deb --raw-extract "$packages"/sluice-"$part"_*.deb "$work/$name"
  find "$work/$name/DEBIAN" \( -name control -o -name 'p*' \) -exec sed -i -E "
    s/^(Package|Source): sluice/\1: mysql-community/; s/sluice-(server|client|common)/mysql-community-\1/g" {} +
  mv -- "$work/$name/usr/share/doc/sluice-$part" "$work/$name/usr/share/doc/$name"
  rm -rf -- "$work/$name/usr/share/lintian"
done
server=$work/mysql-community-server common=$work/mysql-community-common
install -m 755 -- "$objects/runtime_output_directory/mysqld" "$server/usr/sbin/mysqld"
"$(dirname "$0")/libraries.sh" some "$server/usr"
rm -f -- "$server/usr/lib/mysql/plugin/lru_stats.so"
# Its own option file, which does not read ours.
mv -- "$common/etc/mysql/sluice.cnf" "$common/etc/mysql/community.cnf"
mv -- "$common/etc/mysql/sluice.conf.d" "$common/etc/mysql/community.conf.d"
sed -i 's/sluice/community/g' "$common/etc/mysql/community.cnf" "$common/DEBIAN/conffiles" "$work"/*/DEBIAN/p*
sed -i '/lru_stats/d' "$common/etc/mysql/community.conf.d/server.cnf"
rm -f -- "$to"/mysql-community-*.deb
for part in "$work"/*; do
  rm -f -- "$part/DEBIAN/md5sums"
  dpkg-deb --root-owner-group -Znone --build "$part" "$to" >/dev/null
done
ls -- "$to"
