# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The collector and the dashboard of docs/monitoring on a server under load and in Prometheus.

sql_exporter need not be there: `_Exporter` does what it does with a collector. Its statements are
prepared once, each value of each row is a sample, NULL is none. What Grafana makes of an answer is
not tried.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pymysql
import pymysql.cursors
import pytest
import test_monitoring as monitoring

from harness import places, server_definition, settings, sysbench
from harness.server import Server

_POOL = "24M"
#: Half as large again as the pool. Reads and writes, so that pages are flushed, too.
_LOAD = sysbench.Load("oltp_read_write", 1, 120_000)
_FOREVER = 3600  #: seconds a load is told to run; it is killed when all is seen
_PATIENCE = 600.0  #: seconds for all that is waited for after the start of Prometheus
_RATE_INTERVAL = "10s"  #: Grafana takes four scrapes or more; there is one a second
_SCRAPES = 10
_JOB = "innodb_lru"

_Answer = TypeVar("_Answer")
_Series = list[dict[str, Any]]


class _RefusedError(Exception):
    """Prometheus does not understand what it is asked, and says why."""


class _Exporter:
    """What sql_exporter makes of a collector; `problems` is what it would only write to its log."""

    def __init__(self, collector: Mapping[str, Any], connection: pymysql.Connection) -> None:
        self.problems: list[str] = []
        self._metrics = collector["metrics"]
        self._queries = [query["query_name"] for query in collector["queries"]]
        self._connection = connection
        with connection.cursor() as cursor:
            for query in collector["queries"]:
                # The second execution of a statement is another way through the server.
                cursor.execute(f"PREPARE {query['query_name']} FROM %s", (query["query"],))

    def scrape(self) -> str:
        rows = {}
        with self._connection.cursor(pymysql.cursors.DictCursor) as cursor:
            for name in self._queries:
                cursor.execute(f"EXECUTE {name}")
                rows[name] = cursor.fetchall()
        lines = []
        for metric in self._metrics:
            samples = self._samples(metric, rows[metric["query_ref"]])
            if samples:
                name = metric["metric_name"]
                lines += [f"# HELP {name} {metric['help']}", f"# TYPE {name} {metric['type']}"]
                lines += [f"{name}{labels} {value!r}" for labels, value in samples.items()]
        return "".join(f"{line}\n" for line in lines)

    def _samples(self, metric: Mapping[str, Any], rows: Any) -> dict[str, float]:
        samples: dict[str, float] = {}
        for row in rows:
            for column in metric["values"]:
                if row[column] is None:
                    continue
                labels = {label: row[label] for label in metric.get("key_labels", [])}
                if "value_label" in metric:
                    labels[metric["value_label"]] = column
                written = _written(labels)
                if written in samples:
                    self.problems.append(f"two samples {metric['metric_name']}{written}")
                samples[written] = float(row[column])
        return samples


def _written(labels: Mapping[str, Any]) -> str:
    """Labels as in a scrape. To Prometheus, one without a value is none."""
    pairs = [
        f'{name}="{_escaped(str(value))}"'
        for name, value in sorted(labels.items())
        if value not in (None, "")
    ]
    return f"{{{','.join(pairs)}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@contextmanager
def _serving(exporter: _Exporter) -> Iterator[int]:
    """Its /metrics on a port of this machine, one request after the other."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            try:
                status, text = 200, exporter.scrape()
            except Exception as error:  # noqa: BLE001, nobody else would see it
                exporter.problems.append(repr(error))
                status, text = 500, repr(error)
            try:
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.end_headers()
                self.wfile.write(text.encode())
            except OSError:
                pass  # Prometheus has waited long enough, and will ask again

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield web.server_port
        finally:
            web.shutdown()
            thread.join()


class _Prometheus:
    """A Prometheus that runs, and how long there is still patience with it."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.log = log
        self.last_error = ""  #: of is_up()
        self._root = f"http://127.0.0.1:{port}"
        self._process = process
        self._end = time.monotonic() + _PATIENCE
        # No proxy: this stays on the machine.
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def get(self, path: str) -> bytes:
        with self._open(f"{self._root}{path}", timeout=60) as reply:
            return reply.read()

    def api(self, path: str, arguments: Mapping[str, str]) -> Any:
        try:
            text = self.get(f"/api/v1/{path}?{urllib.parse.urlencode(arguments)}")
        except urllib.error.HTTPError as error:
            text = error.read()
            raise _RefusedError(f"{path} {arguments}: {text.decode(errors='replace')}") from error
        return json.loads(text)["data"]

    def query(self, expression: str) -> _Series:
        return self.api("query", {"query": expression})["result"]

    def label_values(self, label: str, selector: str) -> set[str]:
        return set(self.api(f"label/{label}/values", {"match[]": selector}))

    def is_up(self) -> bool:
        """Whether it liked the last answer of what it asks."""
        targets = self.api("targets", {"state": "active"})["activeTargets"]
        self.last_error = "".join(one["lastError"] for one in targets)
        return [one["health"] for one in targets] == ["up"] and not self.last_error

    def until(self, ask: Callable[[], _Answer]) -> _Answer:
        """Asks until the answer is not empty; the last answer, when patience has ended."""
        while True:
            answer = ask()
            if answer or time.monotonic() > self._end:
                return answer
            assert self._process.poll() is None, f"Prometheus has ended\n{self.log.read_text()}"
            time.sleep(0.2)

    def ready(self) -> bool:
        try:
            return bool(self.get("/-/ready"))
        except OSError:  # not listening yet, or 503
            return False


@contextmanager
def _prometheus(home: Path, exporter: int) -> Iterator[_Prometheus]:
    """One that asks that port of this machine every second."""
    home.mkdir()
    config = home / "prometheus.yml"
    content = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {"job_name": _JOB, "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}
        ],
    }
    config.write_text(json.dumps(content))  # which is YAML
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    log = home / "log"
    # Should this be killed, the kernel ends it.
    command = ["setpriv", "--pdeathsig", "TERM", "prometheus", f"--config.file={config}"]
    command += [f"--storage.tsdb.path={home / 'data'}", f"--web.listen-address=127.0.0.1:{port}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0
        )
    try:
        prometheus = _Prometheus(port, process, log)
        assert prometheus.until(prometheus.ready), f"it is not ready\n{log.read_text()}"
        yield prometheus
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def server(server_file: Path, tmp_path: Path) -> Iterator[Server]:
    """One with a table that its pool does not hold."""
    for program in ("prometheus", "sysbench"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no program {program}")
    definition = server_definition.load(str(server_file))
    assert definition.plugins is not None
    if not (definition.plugins / "lru_stats.so").is_file():
        pytest.skip(f"there is no lru_stats.so in {definition.plugins}")
    common = settings.load(places.SETTINGS, quick=True)
    server = Server(definition, tmp_path / "server", common)
    server.create()
    # So many pages are kept free: a few of the pool, not half of it.
    changed = {"buffer_pool_size": _POOL, "buffer_pool_instances": 1, "lru_scan_depth": 100}
    try:
        server.start(changed, extra=["--plugin-load-add=lru_stats.so"])
        sysbench.prepare(server, _LOAD)
        yield server
    finally:
        server.stop()


@contextmanager
def _as_documented(server: Server) -> Iterator[pymysql.Connection]:
    """A connection as the collector's file wants it: the privilege PROCESS, and no database."""
    server.execute("CREATE USER exporter@localhost", "GRANT PROCESS ON *.* TO exporter@localhost")
    connection = pymysql.connect(
        unix_socket=str(server.socket), user="exporter", autocommit=True, read_timeout=600
    )
    with connection:
        yield connection


def _filled_in(text: str, variables: Mapping[str, str]) -> str:
    """With the values of Grafana's variables. What is none of them stays, and gets no answer."""
    return re.sub(r"\$\{?(\w+)\}?", lambda match: variables.get(match[1], match[0]), text)


def _variables(prometheus: _Prometheus, dashboard: Mapping[str, Any]) -> dict[str, str]:
    """The dashboard's variables: what runs, of what the dashboard offers to choose from."""
    selector = 'innodb_lru_whatif_hit_percent{running="yes"}'
    running = prometheus.until(lambda: prometheus.query(selector))
    assert len(running) == 1, f"{selector} gives {running}"
    known = {"__rate_interval": _RATE_INTERVAL}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        name, text = variable["name"], _filled_in(variable["query"]["query"], known)
        asked = re.fullmatch(r"label_values\((.+),\s*(\w+)\)", text)
        assert asked, f"${name} is no label_values(selector,label): {text}"
        known[name] = running[0]["metric"].get(asked[2], "")
        assert known[name] in prometheus.label_values(asked[2], asked[1]), f"${name}: {text}"
    return known


def _is_answered(series: _Series) -> bool:
    """Whether there is a number; NaN is what a division of nothing by nothing gives."""
    return any(math.isfinite(float(one["value"][1])) for one in series)


def _unanswered(
    prometheus: _Prometheus, dashboard: Mapping[str, Any], variables: Mapping[str, str]
) -> list[str]:
    """Panels without a number when patience has ended, and what they ask."""
    pending = [
        (panel["title"], _filled_in(target["expr"], variables))
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    ]
    assert len(pending) > 10
    refused = []

    def ask() -> bool:
        for one in list(pending):
            try:
                if not _is_answered(prometheus.query(one[1])):
                    continue
            except _RefusedError as error:
                refused.append(f"{one[0]}: {error}")
            pending.remove(one)
        return not pending

    prometheus.until(ask)
    return refused + [
        f"{title}: {expression} gives {prometheus.query(expression)}"
        for title, expression in pending
    ]


def _check_metrics(prometheus: _Prometheus, collector: Mapping[str, Any]) -> None:
    """All that the collector has is there, and Prometheus takes it for what it is meant to be."""
    metrics = {metric["metric_name"]: metric for metric in collector["metrics"]}

    def exported() -> set[str]:
        present = prometheus.query(f'group by (__name__) ({{job="{_JOB}"}})')
        names = {one["metric"]["__name__"] for one in present}
        # These are Prometheus's own.
        return {name for name in names if name != "up" and not name.startswith("scrape_")}

    # NULL gives no sample, and the simulation's figures are NULL before there is evidence. This
    # load soon gives some, so that none may be missing in the end.
    prometheus.until(lambda: exported() == set(metrics))
    assert exported() == set(metrics)

    told = prometheus.api("targets/metadata", {"match_target": f'{{job="{_JOB}"}}'})
    assert {one["metric"]: (one["type"], one["help"]) for one in told} == {
        name: (metric["type"], metric["help"]) for name, metric in metrics.items()
    }
    for name, metric in metrics.items():
        if "value_label" in metric:
            values = prometheus.label_values(metric["value_label"], name)
            assert values == set(metric["values"]), name
        if metric["type"] == "counter":
            assert prometheus.query(f"resets({name}[5m]) > 0") == [], f"{name} has gone back"


def test_prometheus_answers_every_panel(server: Server, tmp_path: Path) -> None:
    collector = monitoring._parse(monitoring._COLLECTOR.read_text())
    dashboard = json.loads(monitoring._DASHBOARD.read_text())
    with (
        sysbench.Running(server, _LOAD, clients=2, seconds=_FOREVER),
        _as_documented(server) as connection,
    ):
        exporter = _Exporter(collector, connection)
        with _serving(exporter) as port, _prometheus(tmp_path / "prometheus", port) as prometheus:
            prometheus.until(lambda: exporter.problems or prometheus.is_up())
            assert not exporter.problems, exporter.problems
            enough = f"sum_over_time(up[5m]) >= {_SCRAPES}"
            assert prometheus.until(lambda: prometheus.query(enough)), prometheus.last_error

            variables = _variables(prometheus, dashboard)
            assert variables["instance"] == f"127.0.0.1:{port}"
            failures = _unanswered(prometheus, dashboard, variables)
            assert not failures, "\n".join(failures)
            _check_metrics(prometheus, collector)

            # A scrape that was too slow on a busy machine is forgiven.
            assert prometheus.until(prometheus.is_up), prometheus.last_error
            # "Error on ingesting samples ...": it has dropped some of a scrape that it took.
            assert "Error on ingesting" not in prometheus.log.read_text()
    assert not exporter.problems, "\n".join(dict.fromkeys(exporter.problems))
