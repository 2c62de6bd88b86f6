#!/usr/bin/env bash
# Installs the packages in a minimal Debian, as a new user would, and takes them back.
#
#   test.sh SUITE PACKAGES [STOCK]     bookworm or trixie; folder of our packages; of another
#                                      server's packages that are to be replaced
#
# As root. The Debian is made by debootstrap once (build/debian/SUITE), from the archive that
# this machine's apt knows; each run works on a copy, in namespaces of its own, with systemd as
# its first process and no network but its loopback: what apt needs is fetched before. Nothing
# of this machine's own is touched, and nothing stays mounted, however the run ends.
# Writes a line a check; exits with 1 when one failed.
# shellcheck disable=SC2016 # what is in single quotes is expanded in there
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

name=test-packages
# shellcheck source=superbuild/debian/machine.sh
. "$here/superbuild/debian/machine.sh"

suite=${1:?usage: test.sh SUITE PACKAGES [STOCK]} packages=$(realpath -- "$2") stock=${3:+$(realpath -- "$3")}
base=$here/build/debian/$suite
root=$here/build/debian/$suite.test
log=$here/build/debian/$suite.log
debian_claim "$base" "$root"
debian_root "$suite" "$base" "$root" "$log"
mkdir -p "$root/packages/sluice" "$root/packages/stock" "$root/packages/newer"
cp -- "$packages"/sluice-*.deb "$root/packages/sluice"
# What a later version may bring: another text in both files of options that are ours.
for part in server client common; do
  newer=$root/packages/newer/$part
  dpkg-deb --raw-extract "$packages"/sluice-"$part"_*.deb "$newer"
  sed -i -E 's/^Version: .*/&.newer/; s/\(= ([^)]*sluice[^)]*)\)/(= \1.newer)/g' "$newer/DEBIAN/control"
  for file in "$newer"/etc/mysql/sluice.cnf "$newer"/etc/mysql/sluice.conf.d/server.cnf; do
    [ ! -e "$file" ] || echo '# newer' >>"$file"
  done
  rm -f -- "$newer/DEBIAN/md5sums"
  dpkg-deb --root-owner-group -Znone --build "$newer" "$newer.deb" >/dev/null
  rm -rf -- "$newer"
done
[ -z "$stock" ] || cp -- "$stock"/*.deb "$root/packages/stock"
mkdir "$root/srv/sluice"
tar -C "$root/srv/sluice" --strip-components=1 -xf "$packages"/sluice-server-*.tar.xz
install -d -o 65534 -g 65534 "$root/srv/data"

# What the packages depend on is fetched with the machine's network, before systemd starts.
chroot "$root" apt-get -q update >"$log" 2>&1 || fail "apt-get update failed in $root, see $log"
chroot "$root" sh -c 'apt-get -qy --no-install-recommends --download-only install /packages/sluice/sluice-server_*.deb \
  /packages/sluice/sluice-c*_*.deb mysql-common' >>"$log" 2>&1 || fail "the packages cannot be installed, see $log"

debian_boot "$root" "$log.boot" --net
# Waited for, not in the foreground: a signal ends the run at once. No check takes ten minutes.
inside() {
  debian_inside "timeout 600 sh -c $(printf %q "$*")" 9>&- &
  wait $!
}

failed=0
# check WORDS COMMAND: the command succeeds in there.
check() {
  local words=$1
  shift
  echo "### $words: $*" >>"$log"
  if inside "$*" >>"$log" 2>&1; then
    echo "ok      $suite: $words"
  else
    echo "FAILED  $suite: $words"
    failed=$((failed + 1))
  fi
}
install='apt-get -qy --no-install-recommends --allow-downgrades install'
# What an administrator answers when both have changed the file.
keep='-o Dpkg::Options::=--force-confold'
ours="/packages/sluice/sluice-server_*.deb /packages/sluice/sluice-client_*.deb /packages/sluice/sluice-common_*.deb"
sql() { echo "mysql -NB -e \"$1\""; }

# Before anything is installed: the archive has its libraries with it.
unpacked="setpriv --reuid=65534 --regid=65534 --clear-groups /srv/sluice/sbin/mysqld --no-defaults --datadir=/srv/data --secure-file-priv="
check "the tar.xz runs where it is unpacked" \
  "$unpacked --initialize-insecure && $unpacked --socket=/srv/data/s --mysqlx=OFF --skip-networking --log-error=/srv/data/e --daemonize &&
   for plugin in 'PLUGIN INNODB_LRU_STATS SONAME \"lru_stats.so\"' 'PLUGIN group_replication SONAME \"group_replication.so\"' 'COMPONENT \"file://component_keyring_file\"'; do
     /srv/sluice/bin/mysql --no-defaults -S /srv/data/s -u root -e \"INSTALL \$plugin\" || exit; done &&
   /srv/sluice/bin/mysql --no-defaults -S /srv/data/s -u root -NBe 'SELECT COUNT(*), @@version FROM INFORMATION_SCHEMA.INNODB_LRU_STATS' | grep -x '1.*-sluice' &&
   /srv/sluice/bin/mysqladmin --no-defaults -S /srv/data/s -u root shutdown && rm -r /srv/data"
check "and has every library that it needs" \
  'for file in $(find /srv/sluice/bin /srv/sluice/sbin /srv/sluice/lib -type f); do ldd "$file" 2>/dev/null | grep "not found" && echo "$file" && exit 1; done; ldd /srv/sluice/sbin/mysqld | grep -q libc.so && rm -r /srv/sluice'

check "an older MariaDB has left a link and a rotation of the logs" \
  "ln -s /lib/systemd/system/mariadb.service /etc/systemd/system/mysql.service && mkdir -p /etc/logrotate.d && echo '/var/log/mysql/*.log {}' >/etc/logrotate.d/mariadb"
check "apt installs it, and asks nothing" "$install $ours"
check "what that MariaDB has left is out of the way" \
  "! [ -L /etc/systemd/system/mysql.service ] && ! [ -e /etc/logrotate.d/mariadb ] && rm /etc/logrotate.d/mariadb.dpkg-bak"
check "the service is up, and was told so by the server" \
  "systemctl is-active mysql && systemctl show -p StatusText mysql | grep -q 'Server is operational'"
check "it is enabled" "systemctl is-enabled mysql"
check "it answers root on the socket" "$(sql 'SELECT @@version') | grep -x '.*-sluice'"
check "it runs as mysql" '[ "$(stat -c %U "/proc/$(cat /run/mysqld/mysqld.pid)")" = mysql ]'
check "root has no password, and gets in by the socket alone" \
  "$(sql "SELECT plugin FROM mysql.user WHERE user = 'root' AND host = 'localhost'") | grep -x auth_socket"
check "nobody else is root" "setpriv --reuid=nobody --clear-groups mysql -u root -e 'DO 0' 2>&1 | grep 'ERROR 1698'"
check "nobody gets in by the network without a password" "mysql -h 127.0.0.1 -P 3306 -u root -e 'DO 0' 2>&1 | grep 'ERROR 1698'"
check "no account is without a password or a lock" "$(sql "SELECT COUNT(*) FROM mysql.user WHERE plugin <> 'auth_socket' AND authentication_string = '' AND account_locked = 'N'") | grep -x 0"
check "it listens on loopback only" "$(sql 'SELECT @@bind_address') | grep -x 127.0.0.1"
check "the data is for mysql alone" '[ "$(stat -c %U:%G:%a /var/lib/mysql)" = mysql:mysql:750 ] && [ "$(stat -c %U:%a /var/lib/mysql-files)" = mysql:750 ]'
# More than the machine's own limit is not to be had in there.
check "it may open many files" "systemctl show -p LimitNOFILE mysql | grep -x LimitNOFILE=65535 && $(sql 'SELECT @@open_files_limit >= 8161') | grep -x 1"
check "its flusher may have its priority" "systemctl show -p LimitNICE mysql | grep -x LimitNICE=40"
check "the LRU's tables are there" "$(sql 'SELECT COUNT(*) FROM INFORMATION_SCHEMA.INNODB_LRU_STATS') | grep -x 1"
check "rows are written" "$(sql 'CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY); INSERT INTO shop.t VALUES (1),(2),(3)')"
check "the unit is sound" "systemd-analyze verify --man=no mysql.service"
check "it has plugins that load" "$(sql "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; INSTALL COMPONENT 'file://component_validate_password'; UNINSTALL COMPONENT 'file://component_validate_password'")"
check "the log is turned" "mv /var/log/mysql/error.log /var/log/mysql/error.log.1 && kill -USR1 \$(cat /run/mysqld/mysqld.pid) && for i in \$(seq 100); do [ -e /var/log/mysql/error.log ] && exit 0; sleep 0.1; done; exit 1"
check "RESTART restarts it" "$(sql 'RESTART') && mysqladmin --wait=60 status && systemctl is-active mysql"
check "a kill is mended" "kill -9 \$(cat /run/mysqld/mysqld.pid) && for i in \$(seq 600); do sleep 0.1; $(sql 'SELECT SUM(a) FROM shop.t') 2>/dev/null | grep -x 6 && exit 0; done; exit 1"
check "a line of the administrator's counts" \
  "printf '[mysqld]\nmax_connections = 77\nmysqlx = 0\n' >/etc/mysql/mysql.conf.d/site.cnf && systemctl restart mysql && $(sql 'SELECT @@max_connections') | grep -x 77"
check "and one in our own file" "printf '[mysqld]\nkey_buffer_size = 9M\n' >>/etc/mysql/sluice.conf.d/server.cnf"
check "installing it again keeps both, and the rows" \
  "$install --reinstall $ours && $(sql 'SELECT @@max_connections, @@key_buffer_size, (SELECT SUM(a) FROM shop.t)') | tr '\t' ' ' | grep -x '77 9437184 6'"
# Debian's way: a file that the administrator has changed is asked about, and stays.
check "a newer version keeps both, and the rows, and brings what nobody has changed" \
  "$install $keep /packages/newer/*.deb && dpkg-query -W -f '\${Version}\n' sluice-server | grep newer &&
   $(sql 'SELECT @@max_connections, @@key_buffer_size, (SELECT SUM(a) FROM shop.t)') | tr '\t' ' ' | grep -x '77 9437184 6' &&
   grep -x '# newer' /etc/mysql/sluice.cnf && ! grep -x '# newer' /etc/mysql/sluice.conf.d/server.cnf"
check "and the version before it comes back" \
  "dpkg-query -W -f '\${Version}\n' sluice-server | grep newer && $install $keep $ours && ! dpkg-query -W -f '\${Version}\n' sluice-server | grep newer && $(sql 'SELECT @@key_buffer_size, (SELECT SUM(a) FROM shop.t)') | tr '\t' ' ' | grep -x '9437184 6'"
check "the option file for production is a start" \
  "cp /usr/share/sluice/production.cnf /etc/mysql/sluice.conf.d/ && systemctl restart mysql && $(sql 'SELECT @@innodb_buffer_pool_size, @@sync_binlog, @@require_secure_transport') | tr '\t' ' ' | grep -x '2147483648 1 1' && rm /etc/mysql/sluice.conf.d/production.cnf && systemctl restart mysql"
check "it is stopped cleanly" "systemctl stop mysql && tail -n 3 /var/log/mysql/error.log | grep -q 'Shutdown complete'"
check "it is removed" "systemctl start mysql && apt-get -qy remove sluice-server sluice-client sluice-common && ! [ -e /usr/sbin/mysqld ] && ! grep -sqx mysqld /proc/[0-9]*/comm"
check "the data and the options stay" '[ -e /var/lib/mysql/shop/t.ibd ] && [ -e /etc/mysql/sluice.conf.d/server.cnf ]'
check "installed again, the rows are there" "$install $ours && $(sql 'SELECT SUM(a), @@key_buffer_size FROM shop.t') | tr '\t' ' ' | grep -x '6 9437184'"
check "purged, it asks nothing and leaves the data" \
  "apt-get -qy purge sluice-server sluice-client sluice-common && [ -e /var/lib/mysql/shop/t.ibd ] && ! [ -e /etc/mysql/sluice.conf.d/server.cnf ] && ! [ -e /etc/apparmor.d/usr.sbin.mysqld ]"
check "installed after that, the rows are there" "$install $ours && $(sql 'SELECT SUM(a) FROM shop.t') | grep -x 6"
if [ -n "$stock" ]; then
  check "another server takes its place, with the rows" \
    "$install /packages/stock/*.deb && $(sql 'SELECT SUM(a), @@version FROM shop.t') | grep '^6' | grep -v sluice"
  check "purging what is left of ours does that server nothing" \
    "apt-get -qy purge sluice-server && systemctl is-enabled mysql && $(sql 'SELECT SUM(a) FROM shop.t') | grep -x 6"
  check "a line for that server" "printf '[mysqld]\nmax_connections = 66\n' >/etc/mysql/mysql.conf.d/site.cnf && systemctl restart mysql"
  check "ours takes the place of that one, with its rows and options" \
    "$(sql 'INSERT INTO shop.t VALUES (4)') && $install $ours && $(sql 'SELECT SUM(a), @@max_connections, @@version FROM shop.t') | tr '\t' ' ' | grep '^10 66 .*-sluice'"
fi
check "purged and told so, it removes the data" \
  "SLUICE_REMOVE_DATA=yes apt-get -qy purge sluice-server sluice-client sluice-common && ! [ -e /var/lib/mysql ] && ! [ -e /var/lib/mysql-files ]"
check "an initialisation that fails leaves nothing" \
  "mkdir -p /etc/mysql/conf.d && printf '[mysqld]\\nno_such_option = 1\\n' >/etc/mysql/conf.d/bad.cnf && ! $install $ours >/tmp/said 2>&1 &&
   grep 'no data directory could be made' /tmp/said && [ -z \"\$(ls -A /var/lib/mysql /var/lib/mysql-files | grep -v :)\" ]"
check "one that was killed is named, and nothing is removed" \
  "rm /etc/mysql/conf.d/bad.cnf && touch /var/lib/mysql/half /var/lib/mysql-files/sluice-server-initialize.sql &&
   ! dpkg --configure sluice-server >/tmp/said 2>&1 && grep 'an earlier installation ended' /tmp/said && [ -e /var/lib/mysql/half ]"
check "what the messages say mends both, with temporary files that are root's alone" \
  "rm /var/lib/mysql/half /var/lib/mysql-files/sluice-server-initialize.sql && TMPDIR=/root dpkg --configure sluice-server && $(sql 'SELECT @@version') | grep sluice &&
   SLUICE_REMOVE_DATA=yes apt-get -qy purge sluice-server sluice-client sluice-common"
check "a MariaDB's data elsewhere is refused, and left alone" \
  "mkdir -p /etc/mysql/conf.d /srv/other/mysql && touch /srv/other/ibdata1 && printf '[mysqld]\\ndatadir = /srv/other\\n' >/etc/mysql/conf.d/elsewhere.cnf &&
   ! $install $ours >/tmp/said 2>&1 && grep 'srv/other holds the data of another server' /tmp/said && [ -e /srv/other/ibdata1 ] && ! [ -e /srv/other/mysql.ibd ]"
check "a directory elsewhere is made and used" \
  "mv /srv/other /srv/mariadb && dpkg --configure sluice-server && [ -e /srv/other/mysql.ibd ] && systemctl start mysql && $(sql 'SELECT @@datadir') | grep -x /srv/other/"
check "and stays when all is purged" \
  "SLUICE_REMOVE_DATA=yes apt-get -qy purge sluice-server sluice-client sluice-common && [ -e /srv/other/mysql.ibd ] && rm /etc/mysql/conf.d/elsewhere.cnf"
check "a MariaDB's data is refused, and left alone" \
  "mkdir -p /var/lib/mysql/mysql && touch /var/lib/mysql/ibdata1 && $install $ours 2>&1 | grep 'holds the data of another server' && [ -e /var/lib/mysql/ibdata1 ] && ! [ -e /var/lib/mysql/mysql.ibd ]"
echo "test-packages: $suite: $failed checks failed$([ "$failed" -eq 0 ] || echo ", see $log")"
[ "$failed" -eq 0 ]
