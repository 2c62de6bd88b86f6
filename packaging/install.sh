#!/usr/bin/env bash
# Installs what a preset has built into the folders that debhelper makes packages of,
# one upstream component after the other. Called by debian/rules.
set -euo pipefail
objects=$1 to=$(realpath -- "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

component() { # PACKAGE COMPONENT...
  local package=$1 part
  shift
  for part in "$@"; do
    DESTDIR=$to/$package cmake --install "$objects" --component "$part" --prefix /usr >/dev/null
  done
}
component sluice-server Server Server_Scripts SupportFiles Info Readme
component sluice-client Client
component sluice-dev Development SharedLibraries
component sluice-test Test
component pages ManPages

# Upstream's component Client has programs for a server's files; where other servers have
# them, in the server's package, they can be taken over and given back.
for program in myisam{_ftdump,chk,log,pack} mysql{_migrate_keyring,_secure_installation,_tzinfo_to_sql,binlog}; do
  mv -- "$to/sluice-client/usr/bin/$program" "$to/sluice-server/usr/bin"
done

# A manual page goes where its program is; of those of programs that are not built, none.
for page in "$to"/pages/usr/share/man/man?/*; do
  name=$(basename -- "${page%.*}")
  for program in "$to"/sluice-*/usr/{bin,sbin}/"$name"; do
    [ ! -e "$program" ] || install -D -m 644 -t "${program%/usr/*}/usr/share/man/$(basename "$(dirname "$page")")" "$page"
  done
done
rm -rf -- "$to/pages"

server=$to/sluice-server/usr
documents=$server/share/doc/sluice-server
# The package's server.cnf loads the plugin already; a second time is an error in the log.
sed 's/^plugin_load_add = lru_stats.so$/# server.cnf does that: &/' "$here/config/production.cnf" |
  install -D -m 644 /dev/stdin "$server/share/sluice/production.cnf"
install -D -m 644 -t "$documents" "$here"/{README,CHANGELOG,SECURITY}.md
for folder in . user design pictures monitoring; do
  install -D -m 644 -t "$documents/docs/$folder" "$here/docs/$folder"/*.*
done
# A link to what stays in the repository becomes its text.
"$here/packaging/dead-links.py" "$documents"
mv -- "$server/share/mysql/LICENSE" "$documents/LICENSE.upstream"
mv -- "$server/share/mysql/README" "$documents/README.upstream"
# SysV's start scripts and upstream's own rotation stand for what the package does itself.
rm -f -- "$server"/share/mysql/{mysql.server,mysqld_multi.server,mysql-log-rotate}
# It has the folders and the time of the build. The bill of materials has the rest.
rm -f -- "$server/share/mysql/docs/INFO_BIN"
find "$to"/sluice-{server,client,dev,test} -type d -empty -delete
