# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Page reads a query of a real server, from a cold start on, and what lru_lab says to the same.

    make release
    superbuild/as-user.sh build/bench/venv/bin/python bench/lru_lab/measure.py --settings 37/1000,10/50

Prints, and writes as CSV, a line for each span of each setting: queries, reads a query of the
server, and those of the simulation with the same load, list length and speed; then the same
for the last half. Beside a scan, point_reads are those of the table of the point selects alone, a
point select; the Performance Schema counts them, and the scans. A setting is innodb_old_blocks_pct/innodb_old_blocks_time, and may go on
with more options of the server: 37/1000/innodb_old_blocks_turnover=50. It may begin with the name of
another server and a colon, stock:37/1000; all servers use the same data, one after the other.

--record FOLDER: also records the accesses to pages, one file for each setting and repeat (not on
stock, which has no hooks), and compares what the server read with what the simulation makes of the
same accesses, in the second half of the file.

--disk OPERATIONS: the server's disk is held to so many reads, and so many writes, a second. That
needs root; run it without as-user.sh.

Counts are no times: they do not depend on what else the machine does, unless a setting is near to
what the speed of the load makes of it.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import time
from operator import itemgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import peers, places, server_definition, settings, sysbench
from harness.disk_limit import DiskLimit
from harness.errors import BenchError
from harness.server import Server
from harness.settings import size_in_bytes

_HERE = Path(__file__).resolve().parent
_DEPTH = 1024  #: innodb_lru_scan_depth, its default
#: What the LRU flusher keeps free: at least so many pages, or those of so long, but no more than one
#: in so many (buf0lrupolicy.h).
_MIN_FREE, _HORIZON_SECONDS, _POOL_BY_FREE = 128, 0.03, 16
_DEFAULT_TIME = 1000  #: innodb_old_blocks_time, its default
_DEFAULT_TURNOVER = "25"  #: innodb_old_blocks_turnover, its default
#: Tables of lru_stats that take events out, which can be done once.
_TAKES_EVENTS = ("whatif", "age_histogram", "index_stats")
_COUNTERS = (
    "SELECT SUM(NUMBER_PAGES_READ) AS reads_, SUM(DATABASE_PAGES) AS pages,"
    " SUM(FREE_BUFFERS) AS free, SUM(PAGES_MADE_YOUNG) AS made_young"
    " FROM INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS"
)
_POINT_READS = (
    "SELECT COALESCE(SUM(COUNT_READ), 0) AS point_reads"
    " FROM performance_schema.file_summary_by_instance WHERE FILE_NAME LIKE '%/sbtest1.ibd'"
)
_SCANS = (
    "SELECT COALESCE(SUM(COUNT_EXECUTE), 0) AS scans"
    " FROM performance_schema.prepared_statements_instances WHERE SQL_TEXT LIKE 'SELECT SUM(%'"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="sluice", help="see bench/servers")
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--scan-rows", type=int, default=300_000, help="rows of sbtest2")
    parser.add_argument("--pool", default="64M")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--load", default="load=pareto", help="options of loads.lua, with commas")
    parser.add_argument("--settings", default="37/1000")
    parser.add_argument("--repeats", type=int, default=1, help="all settings again")
    parser.add_argument("--span", type=int, default=50_000, help="queries")
    parser.add_argument("--spans", type=int, default=20)
    parser.add_argument("--data-dir", type=Path, default=places.DATA / "lru-lab")
    parser.add_argument("--lab", type=Path, default=places.WORK / "lru_lab")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--record", type=Path, help="a folder for recorded accesses")
    parser.add_argument("--disk", type=int, help="reads, and writes, a second of the disk")
    parser.add_argument("--name", default="", help="written into the CSV")
    options = parser.parse_args()
    build_lab(options.lab)
    rows = []
    for repeat in range(options.repeats):
        # Not always in the same order.
        settings_now = options.settings.split(",")[:: -1 if repeat % 2 else 1]
        for setting in settings_now:
            record = options.record and options.record / f"{setting.replace('/', '-')}.{repeat}.gz"
            measured = Measurement(options, setting, record).run()
            rows += [{"repeat": repeat, **row} for row in measured]
            write(options.csv, rows)
    print(summary(rows))


def summary(rows: list[dict[str, Any]]) -> str:
    """The last halves: median and range of the repeats."""
    columns = ("setting", "reads a query", "simulated", "queries a second", "made young a query")
    lines = ["| " + " | ".join([*columns, "reads a point select"]) + " |"]
    lines.append("|" + "---|" * 6)
    for setting in dict.fromkeys(row["setting"] for row in rows):
        halves = []
        for repeat in sorted({row["repeat"] for row in rows}):
            spans = [r for r in rows if (r["setting"], r["repeat"]) == (setting, repeat)]
            halves.append(spans[len(spans) // 2 :])
        cells = [
            of_halves(halves, lambda r, name=name: r[name] * r["queries"], "queries", digits)
            for name, digits in (("measured", 4), ("simulated", 4))
        ]
        cells.append(of_halves(halves, lambda r: r["queries"], "seconds", 0))
        cells += [
            of_halves(halves, lambda r: r["made_young"] * r["queries"], "queries", 4),
            of_halves(
                halves,
                lambda r: r["point_reads"] * (r["queries"] - r["scans"]),
                lambda r: max(r["queries"] - r["scans"], 1),
                4,
            ),
        ]
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_halves(halves: list[Any], value: Any, by: Any, digits: int) -> str:
    if isinstance(by, str):
        by = itemgetter(by)
    each = sorted(sum(map(value, half)) / sum(map(by, half)) for half in halves if half)
    middle = statistics.median(each)
    return f"{middle:.{digits}f} [{each[0]:.{digits}f} – {each[-1]:.{digits}f}]"


def write(target: Path | None, rows: list[dict[str, Any]]) -> None:
    if target is None:
        return
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def build_lab(target: Path) -> None:
    newest = max(file.stat().st_mtime for file in _HERE.glob("lru_lab*.[ch]*"))
    if target.exists() and target.stat().st_mtime > newest:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = map(str, _HERE.glob("lru_lab*.cc"))
    command = ["c++", "-O2", "-std=c++20", "-o", str(target), *sources, "-lz"]
    subprocess.run(command, check=True)


class Measurement:
    def __init__(self, options: argparse.Namespace, setting: str, record: Path | None) -> None:
        self._options = options
        self._record = record
        self._setting = setting
        name, _, setting = setting.rpartition(":")
        definition = server_definition.load(name or options.server)
        peers.provide(definition, places.PEERS)
        common = settings.load(places.SETTINGS, quick=True)
        home = options.data_dir.resolve() / (definition.data_of or definition.name)
        self._server = Server(definition, home, common)
        pct, time_ms, *self._extra = setting.split("/")
        self._pct, self._time = int(pct), int(time_ms)
        self._load = dict(part.split("=") for part in options.load.split(","))
        #: A server that this repository builds has the hooks, the flusher and the turnover.
        self._is_ours = "sluice" in self._server.name
        if record and not self._is_ours:
            raise BenchError(f"--record: {self._server.name} has no hooks; name a server of ours")

    def run(self) -> list[dict[str, Any]]:
        self._fill()
        self._start(size_in_bytes(self._options.pool), record=self._record)
        limit = None
        try:
            if self._options.disk:
                limit = DiskLimit(self._server.pid, self._server.home, self._options.disk)
            (leaves,) = self._server.rows(
                "SELECT stat_value AS pages FROM mysql.innodb_index_stats WHERE table_name ="
                " 'sbtest1' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'"
            )
            self._rows_page = self._options.rows / int(leaves["pages"])
            spans = self._spans()
        finally:
            self._server.stop()
            if limit is not None:
                limit.release()
        frames = round(sum(span["pages"] + span["free"] for span in spans) / len(spans))
        said = self._simulate(spans, frames)
        rows = []
        for i, (span, reads_query) in enumerate(zip(spans, said, strict=False)):
            row = {
                "name": self._options.name,
                "server": self._server.name,
                "load": self._options.load,
                "setting": self._setting,
                "span": i,
                "queries": span["queries"],
                "seconds": round(span["seconds"], 2),
                "queries_second": round(span["queries"] / span["seconds"]),
                "pages": span["pages"],
                "free": span["free"],
                "measured": round(span["reads"] / span["queries"], 5),
                "simulated": reads_query,
                "made_young": round(span["made_young"] / span["queries"], 5),
                "scans": span["scans"],
                "point_reads": round(
                    span["point_reads"] / max(span["queries"] - span["scans"], 1), 5
                ),
            }
            row["error_pct"] = round(100 * (row["simulated"] / row["measured"] - 1), 2)
            rows.append(row)
            print(" ".join(f"{key}={row[key]}" for key in list(row)[3:]), flush=True)
        half = spans[len(spans) // 2 :]
        measured = sum(s["reads"] for s in half) / sum(s["queries"] for s in half)
        simulated = sum(r["simulated"] * r["queries"] for r in rows[len(spans) // 2 :]) / sum(
            s["queries"] for s in half
        )
        error = 100 * (simulated / measured - 1)
        print(
            f"== {self._options.name} {self._setting} last half: measured {measured:.4f}"
            f" simulated {simulated:.4f} ({error:+.1f} %)",
            flush=True,
        )
        if self._record:
            replayed = self._replay(self._record, frames, spans)
            rows = [row | replayed for row in rows]
        return rows

    def _fill(self) -> None:
        options = self._options
        wanted = {"rows": options.rows, "scan_rows": options.scan_rows}
        mark = self._server.home / "dataset.json"
        if mark.is_file() and json.loads(mark.read_text()) == wanted:
            return
        self._server.create()
        self._start(max(size_in_bytes("128M"), size_in_bytes(options.pool)))
        try:
            secondary = ("--create_secondary=off",)
            load = sysbench.Load("oltp_point_select", 1, options.rows, secondary)
            sysbench.prepare(self._server, load)
            self._server.execute(
                "CREATE TABLE sbtest.sbtest2 LIKE sbtest.sbtest1",
                "INSERT INTO sbtest.sbtest2 SELECT * FROM sbtest.sbtest1"
                f" WHERE id <= {options.scan_rows}",
                "ANALYZE TABLE sbtest.sbtest1",
            )
        finally:
            self._server.stop()
        mark.write_text(json.dumps(wanted))

    def _start(self, pool: int, record: Path | None = None) -> None:
        # A default that is set would be obeyed, and innodb_old_blocks_turnover would not.
        is_default = self._time == _DEFAULT_TIME
        time = () if is_default else (f"--innodb_old_blocks_time={self._time}",)
        extra = [f"--innodb_old_blocks_pct={self._pct}", *time, *(f"--{e}" for e in self._extra)]
        environment = {}
        if record:
            record.parent.mkdir(parents=True, exist_ok=True)
            environment["LRU_RECORD_FILE"] = str(record.resolve())
            extra += [f"--plugin-dir={self._recorder()}", "--plugin-load-add=lru_record.so"]
            extra += [f"--innodb_lru_{part}_enabled=OFF" for part in _TAKES_EVENTS]
        self._server.start(
            {
                "buffer_pool_size": pool,
                "buffer_pool_instances": 1,
                "lru_scan_depth": _DEPTH,
                "adaptive_hash_index": "off",
                "performance_schema": "on" if self._scans() else "off",
            },
            environment,
            extra,
        )

    def _recorder(self) -> Path:
        """A folder with the server's plugins and the one that records."""
        plugins = self._server.definition.plugins
        if plugins is None:
            raise BenchError(f"--record: {self._server.name} has no folder of plugins")
        folder = self._options.lab.parent / "lru_record" / self._server.name
        folder.mkdir(parents=True, exist_ok=True)
        for library in plugins.glob("*.so"):
            link = folder / library.name
            link.unlink(missing_ok=True)
            link.symlink_to(library)
        command = ["c++", "-O2", "-std=c++20", "-shared", "-fPIC", str(_HERE / "lru_record.cc")]
        command += ["-o", str(folder / "lru_record.so"), f"-I{places.ROOT}"]
        command += [f"-I{places.ROOT}/build/tree", f"-I{places.ROOT}/build/tree/include"]
        command += [f"-I{plugins.parent}/include", "-lz"]
        subprocess.run(command, check=True)
        return folder

    def _replay(self, record: Path, frames: int, spans: list[dict[str, Any]]) -> dict[str, int]:
        """Simulates what was recorded. The first half of it fills the pool."""
        if not record.is_file():
            raise BenchError(f"nothing was recorded, see {self._server.home}/mysqld.log")
        arguments = [*self._policy(frames, spans), f"frames={frames}", f"trace={record}"]
        reads = {}
        for lengths, name in ((0, "own"), (1, "recorded")):
            done = subprocess.run(
                [str(self._options.lab), *arguments, "warm=1e15", f"lengths={lengths}"],
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            said = json.loads(done.stdout.splitlines()[-1])
            reads["trace_reads"] = said["recorded_reads"]
            reads[f"trace_reads_{name}_lengths"] = said["reads"]
            error = 100 * (said["reads"] / said["recorded_reads"] - 1)
            print(
                f"== {record} last half: {said['recorded_reads']} read, {said['reads']} simulated"
                f" with {name} lengths of the list ({error:+.1f} %)",
                flush=True,
            )
        return reads

    def _count(self) -> dict[str, float]:
        (row,) = self._server.rows(_COUNTERS)
        status = self._server.status("Com_stmt_execute")
        counts = {name.lower(): float(value) for name, value in row.items()}
        counts["queries"] = float(status["com_stmt_execute"])
        counts["point_reads"], counts["scans"] = counts["reads_"], 0.0
        if self._scans():
            (row,) = self._server.rows(_POINT_READS)
            counts["point_reads"] = float(row["point_reads"])
            (row,) = self._server.rows(_SCANS)
            counts["scans"] = float(row["scans"])
        counts["at"] = time.monotonic()
        return counts

    def _spans(self) -> list[dict[str, Any]]:
        options = self._options
        more = [f"--{name}={value}" for name, value in self._load.items()]
        more += [f"--rows={options.rows}", f"--scan_rows={options.scan_rows}"]
        if "insert_every" in self._load:
            self._server.execute(
                "DROP TABLE IF EXISTS sbtest.sbtest3",
                "CREATE TABLE sbtest.sbtest3 LIKE sbtest.sbtest1",
            )
        load = sysbench.Load(str(_HERE / "loads.lua"), options=tuple(more))
        spans = []
        before = self._count()
        with sysbench.Running(self._server, load, options.clients, 86400) as running:
            for _ in range(options.spans):
                last, stuck = before, time.monotonic()
                while last["queries"] < before["queries"] + options.span:
                    time.sleep(0.2)
                    now = self._count()
                    if now["queries"] > last["queries"]:
                        stuck = time.monotonic()
                    elif time.monotonic() > stuck + 30:
                        running.outcome()
                        raise BenchError("the load does nothing")
                    last = now
                spans.append(
                    {
                        "queries": last["queries"] - before["queries"],
                        "reads": last["reads_"] - before["reads_"],
                        "point_reads": last["point_reads"] - before["point_reads"],
                        "scans": last["scans"] - before["scans"],
                        "made_young": last["made_young"] - before["made_young"],
                        "seconds": last["at"] - before["at"],
                        "pages": int(last["pages"]),
                        "free": int(last["free"]),
                    }
                )
                before = last
        return spans

    def _simulate(self, spans: list[dict[str, Any]], frames: int) -> list[float]:
        """The same number of queries in the same time, from an empty pool on."""
        queries = sum(span["queries"] for span in spans)
        seconds = sum(span["seconds"] for span in spans)
        load = dict(self._load)
        load.pop("update", None)  # a write is an access like any other
        chunk = int(load.pop("scan_chunk", 0))
        if chunk:
            load["scan_pages"] = str(round(self._options.scan_rows / self._rows_page))
            points, pages = self._points_a_scan(spans), chunk / self._rows_page
            load.pop("scan_own", None)  # in the simulation one client scans, in any case
            if chunk >= self._options.scan_rows:
                # One statement for the whole table: its pages come between the point selects.
                points, pages = max(points / pages, 1), max(pages / points, 1)
            load["scan_chunk"] = str(round(pages))
            load["scan_every"] = str(round(points))
            load.pop("scan_clients", None)
            # A scan is a statement as well.
            queries *= self._per_statement(spans)
        if "insert_every" in load:
            # Ten rows at a time; they are no executions of a prepared statement.
            load["create_every"] = str(round(int(load.pop("insert_every")) * self._rows_page / 10))
        arguments = [
            *self._policy(frames, spans),
            *(f"{name}={value}" for name, value in load.items()),
            f"rows={self._options.rows}",
            f"rows_page={self._rows_page}",
            f"frames={frames}",
            "warm=0",
            "read_us=0",
            f"query_us={1e6 * seconds / queries}",
            f"queries={round(queries)}",
            f"report={queries / len(spans)}",
        ]
        done = subprocess.run(
            [str(self._options.lab), *arguments], stdout=subprocess.PIPE, check=True, text=True
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        per_statement = self._per_statement(spans)
        return [line["reads_query"] * per_statement for line in lines[: len(spans)]]

    def _policy(self, frames: int, spans: list[dict[str, Any]]) -> list[str]:
        policy = [f"pct={self._pct}", f"time={self._time}"]
        turnover = self._turnover()
        if turnover != "0":
            policy += [f"turn={turnover}", "earn=1"]
        if not self._has_flusher():
            return [*policy, f"free={_DEPTH}", "refill=0"]
        read = sum(span["reads"] for span in spans) / sum(span["seconds"] for span in spans)
        free = max(min(_MIN_FREE, frames // 32), round(_HORIZON_SECONDS * read))
        free = min(free, max(_MIN_FREE, frames // _POOL_BY_FREE))
        return [*policy, f"free={free}", "refill=50"]

    def _turnover(self) -> str:
        """innodb_old_blocks_turnover where it has an effect, else 0."""
        if not self._is_ours or self._time != _DEFAULT_TIME:
            return "0"
        told = dict(option.partition("=")[::2] for option in self._extra)
        return told.get("innodb_old_blocks_turnover", _DEFAULT_TURNOVER)

    def _scans(self) -> bool:
        return "scan_chunk" in self._load

    def _per_statement(self, spans: list[dict[str, Any]]) -> float:
        """Point selects a statement."""
        if not self._scans():
            return 1
        points = self._points_a_scan(spans)
        return 1 if self._load["load"] == "none" else points / (points + 1)

    def _points_a_scan(self, spans: list[dict[str, Any]]) -> float:
        """Point selects of all clients for each chunk of a scan."""
        if self._load["load"] == "none":
            return 1  # a query is a chunk of the scan
        scans = sum(span["scans"] for span in spans)
        if not scans:
            raise BenchError("no scan has ended: fewer rows in scan_chunk, or more in --span")
        return sum(span["queries"] - span["scans"] for span in spans) / scans

    def _has_flusher(self) -> bool:
        return self._is_ours and not any("lru_flusher=OFF" in option for option in self._extra)


if __name__ == "__main__":
    main()
