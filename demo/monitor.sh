#!/usr/bin/env bash
# What `make monitor` does once the server is built: starts the demonstration's server
# (run.sh), and beside it Debian's prometheus-sql-exporter, Debian's Prometheus with the
# dashboard as a page, and the load that the page shows. All listen on a socket or on loopback
# only, and run until make stop.
#
# PICTURE=file.png: a picture of the page when the load has ended
# PORT (9190), EXPORTER_PORT (9237), SECONDS_OF_LOAD (120); the others as in run.sh
# monitor.sh --check: only says which packages are missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=demo/server.sh
source demo/server.sh
port=${PORT:-9190} exporter_port=${EXPORTER_PORT:-9237}
binaries=$PWD/build/${PRESET:-release}/obj/runtime_output_directory
as_user=$PWD/superbuild/as-user.sh
page="http://127.0.0.1:$port/consoles/lru.html"

fail() {
  echo "monitor: error: $*" >&2
  exit 1
}

# Not installed without being asked: Debian starts what it installs.
missing=$(superbuild/dependencies.sh --missing demo/packages)
[ -n "${PICTURE:-}" ] || missing=${missing/chromium-headless-shell/}
if [ -n "$missing" ]; then
  echo "monitor: these packages are missing; install them and run make again:" >&2
  echo "  apt-get install --no-install-recommends ${missing//$'\n'/ }" >&2
  echo "Debian starts Prometheus and the exporter as services when it installs them. They are not" >&2
  echo "needed here: systemctl disable --now prometheus prometheus-sql-exporter" >&2
  exit 1
fi
[ "${1:-}" != --check ] || exit 0

# The server, its table, and the account of the exporter.
SECONDS_OF_LOAD=2 demo/run.sh >"$home.monitor.log" || fail "the server was not started, see $home.monitor.log"
client() { (cd "$home/data" && "$binaries/mysql" --no-defaults --socket=mysql.sock --user=root "$@"); }
client --execute="CREATE USER IF NOT EXISTS exporter@localhost; GRANT PROCESS ON *.* TO exporter@localhost;
  SET GLOBAL innodb_lru_index_stats_enabled = ON; SET GLOBAL innodb_lru_age_histogram_enabled = ON;
  SET GLOBAL innodb_lru_whatif_enabled = ON"

stop_monitoring
"$as_user" --own "$home/monitor"
"$as_user" /usr/bin/python3 "$PWD/demo/monitor.py" "$home/monitor" "$exporter_port" mysql.sock

declare -A process
# In the data directory, where the socket's name is enough.
(cd "$home/data" && exec nohup "$as_user" prometheus-sql-exporter -config.file="$home/monitor/exporter.yml" \
  -web.listen-address="127.0.0.1:$exporter_port") >"$home/exporter.log" 2>&1 &
process[exporter]=$!
(cd "$home/monitor" && exec nohup "$as_user" prometheus --config.file="$home/monitor/prometheus.yml" \
  --storage.tsdb.path="$home/monitor/data" --web.listen-address="127.0.0.1:$port" \
  --web.console.templates="$home/monitor/consoles" --web.console.libraries="$home/monitor/consoles") \
  >"$home/prometheus.log" 2>&1 &
process[prometheus]=$!
for address in "exporter:$exporter_port/metrics" "prometheus:$port/-/ready"; do
  name=${address%%:*}
  for ((waited = 0; ; waited++)); do
    curl --silent --fail --noproxy '*' --output /dev/null "http://127.0.0.1:${address#*:}" && break
    { [ "$waited" -lt 1500 ] && kill -0 "${process[$name]}" 2>/dev/null; } ||
      fail "the $name does not answer, see $home/$name.log"
    sleep 0.2
  done
done

echo "monitor: $page"
SECONDS_OF_LOAD=${SECONDS_OF_LOAD:-120} demo/run.sh
echo "  monitor   $page (make stop ends that, too)"

[ -n "${PICTURE:-}" ] || exit 0
# The last minutes. The page is ours, so the browser goes without a sandbox of its own.
span="%7B%22duration%22%3A$((${SECONDS_OF_LOAD:-120} + 10))%2C%22endTime%22%3A0%7D"
"$as_user" chromium-headless-shell --no-sandbox --disable-gpu --hide-scrollbars --no-proxy-server \
  --window-size=1280,2100 --virtual-time-budget=20000 --screenshot="$home/monitor/page.png" "$page#pctc$span" \
  >"$home/browser.log" 2>&1 || fail "no picture could be made, see $home/browser.log"
cp -- "$home/monitor/page.png" "$PICTURE"
echo "monitor: $PICTURE"
