# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Predictions of INNODB_LRU_WHATIF, compared with servers that have the predicted settings.

    make release
    make bench-whatif SECONDS=30

For each load, the server is started with the settings A. When it is warm, and there is evidence for
every settings B that is asked for (or PATIENCE has ended), the predictions are read. Then the server
is started with each B on the same data directory, warmed by the same load, and its hit rate is
measured for SECONDS. A itself is the first B: is what it says about the present true?

    hit rate = 1 - pages read / page gets

This is from INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS. Every page read from disk counts, read-ahead
too, as in the prediction.

Loads (CASES):

    uniform, zipfian, pareto   point selects
    updates                    of single rows, chosen as in pareto
    mixed                      zipfian ones with a scan through another table in between, in a fixed
                               ratio, so that it does not depend on the speed of either
    rescan                     one and a half times the pool scanned over and over

"Warm" is a condition, not a length of time. The pool has no free pages but those that InnoDB keeps,
or nothing is read any more; and the hit rate is steady over three spans. What was not warm when
PATIENCE ended is measured nonetheless, and its row says so. All cases are printed, the worst misses
first, and written as CSV.

What this cannot show: innodb_old_blocks_time counts real time. With more hits the same load goes
faster, so its accesses are closer together than they were in A. RATE holds the speed.

The data directory is kept and used again. A run takes about loads * 6 * (warming up + SECONDS), with
the defaults some 40 minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness import places, settings, sysbench
from harness.errors import BenchError
from harness.server import Server
from harness.settings import Value, size_in_bytes
from tools import tool

_PAGE = 16384
_ROW_BYTES = 220  #: of a row of sysbench's table on disk, without its secondary index
_KEPT_PART = 10  #: lru_scan_depth: this part of the pool is kept free, small pools and large
_CHUNK = 2000  #: rows that a scan reads with one statement
_SELECTS = 50  #: point selects before each of them, in `mixed`
_SPAN = 3.0  #: seconds over which a hit rate is taken while warming up
_FOREVER = 86400  #: seconds a load is told to run; it is killed when all is measured

#: Point selects of rows with Zipf's distribution, exponent 0.8 (sysbench 1.0 has none; this is the
#: inverse of the continuous one), then a piece of a scan. Each client has a part of the scanned
#: rows for itself, so all of them together go through the table.
_SCRIPT = """
sysbench.cmdline.options = {
  selects = {"Point selects an event", 0},
  point_rows = {"Rows of sbtest1", 1},
  scan_table = {"Table to scan", "sbtest2"},
  scan_rows = {"Its first rows that are scanned", 1},
  chunk = {"Rows of them an event; 0: no scan", 0}
}

local rest = 1 - 0.8

local function zipfian(n)
  local u = sysbench.rand.uniform_double()
  return math.min(n, math.floor(((n ^ rest - 1) * u + 1) ^ (1 / rest)))
end

function thread_init()
  connection = sysbench.sql.driver():connect()
  local int = sysbench.sql.type.INT
  point = connection:prepare("SELECT c FROM sbtest1 WHERE id = ?")
  id = point:bind_create(int)
  point:bind_param(id)
  scan = connection:prepare("SELECT SUM(LENGTH(c)) FROM " .. sysbench.opt.scan_table ..
                            " WHERE id BETWEEN ? AND ?")
  low = scan:bind_create(int)
  high = scan:bind_create(int)
  scan:bind_param(low, high)
  local part = sysbench.opt.scan_rows / sysbench.opt.threads
  first = math.floor(part * sysbench.tid) + 1
  last = math.floor(part * (sysbench.tid + 1))
  position = first
end

function event()
  for i = 1, sysbench.opt.selects do
    id:set(zipfian(sysbench.opt.point_rows))
    point:execute()
  end
  if sysbench.opt.chunk == 0 then return end
  low:set(position)
  high:set(math.min(position + sysbench.opt.chunk - 1, last))
  scan:execute()
  position = position + sysbench.opt.chunk
  if position > last then position = first end
end

function thread_done()
  point:close()
  scan:close()
  connection:disconnect()
end
"""


@dataclass(frozen=True)
class Setting:
    """What is changed between A and B."""

    pool: int  #: bytes
    old_blocks_time: int  #: milliseconds
    old_blocks_pct: int | None = None  #: None: the server's default

    def __str__(self) -> str:
        pct = f"/{self.old_blocks_pct}" if self.old_blocks_pct else ""
        return f"{_size(self.pool)}/{self.old_blocks_time}{pct}"


@dataclass(frozen=True)
class Data:
    """What the loads need to know of the tables."""

    rows: int  #: of each of the two tables
    bytes: int  #: of each table, as it is on disk
    script: Path
    pool: int  #: of A


@dataclass(frozen=True)
class Count:
    """Counters of the whole pool."""

    gets: int
    reads: int
    free: int
    pages: int
    at: float


@dataclass(frozen=True)
class Measured:
    hit_pct: float
    gets: int
    reads: int
    warm: bool


def _scripted(data: Data, *options: str) -> sysbench.Load:
    return sysbench.Load(str(data.script), options=(f"--point_rows={data.rows}", *options))


def _uniform(data: Data) -> sysbench.Load:
    return sysbench.Load("oltp_point_select", 1, data.rows)


def _pareto(data: Data) -> sysbench.Load:
    return sysbench.Load("oltp_point_select", 1, data.rows, ("--rand-type=pareto",))


def _updates(data: Data) -> sysbench.Load:
    return sysbench.Load("oltp_update_non_index", 1, data.rows, ("--rand-type=pareto",))


def _zipfian(data: Data) -> sysbench.Load:
    return _scripted(data, "--selects=1")


def _mixed(data: Data) -> sysbench.Load:
    scan = ("--scan_table=sbtest2", f"--scan_rows={data.rows}", f"--chunk={_CHUNK}")
    return _scripted(data, f"--selects={_SELECTS}", *scan)


def _rescan(data: Data) -> sysbench.Load:
    rows = round(data.rows * 1.5 * data.pool / data.bytes)
    if rows > data.rows:
        raise BenchError(
            "rescan needs tables of 1.5 times the pool: a larger TABLE, or a smaller POOL"
        )
    return _scripted(data, "--scan_table=sbtest1", f"--scan_rows={rows}", f"--chunk={_CHUNK}")


_LOADS: dict[str, Callable[[Data], sysbench.Load]] = {
    "uniform": _uniform,
    "zipfian": _zipfian,
    "pareto": _pareto,
    "updates": _updates,
    "mixed": _mixed,
    "rescan": _rescan,
}


class Validation:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._definition = tool.server(options.server)
        self._common = settings.load(places.SETTINGS, quick=True)
        home = options.data_dir / self._definition.name
        self._script = options.data_dir / "scan.lua"
        self._server = Server(self._definition, home, self._common)
        self._a = Setting(size_in_bytes(options.pool), options.old_blocks_time)
        self.rows: list[dict[str, Any]] = []  #: what is measured so far

    def run(self) -> None:
        data = self._data()
        _say(_COLUMNS)
        for name in self._options.cases:
            load = _LOADS[name](data)
            predictions: dict[Setting, dict[str, Any]] = {}
            for setting in self._settings():
                with self._running(setting, load) as warm:
                    if setting == self._a:
                        self._wait_for_evidence()
                    measured = self._measure(warm)
                    if setting == self._a:
                        predictions = self._predictions()
                said = predictions.get(setting, {})
                self.rows.append(self._row(name, setting, said, measured))
                _say(_line(self.rows[-1]))

    def _settings(self) -> list[Setting]:
        """A comes first."""
        sizes = [round(self._a.pool * factor) for factor in self._options.sizes]
        result = [self._a, *(Setting(size, self._a.old_blocks_time) for size in sizes)]
        result += [Setting(self._a.pool, value) for value in self._options.times]
        result += [replace(self._a, old_blocks_pct=value) for value in self._options.pcts]
        return list(dict.fromkeys(result))

    # The data

    def _data(self) -> Data:
        """The tables, made if they are not there as they are wanted."""
        rows = size_in_bytes(self._options.table) // _ROW_BYTES
        load = sysbench.Load("oltp_point_select", 2, rows, ("--create_secondary=off",))
        setting = Setting(max(self._a.pool, size_in_bytes("128M")), 1000)
        tool.fill(self._server, load, lambda _: self._start(setting))
        self._script.write_text(_SCRIPT)
        file = self._server.data / sysbench.DATABASE / "sbtest1.ibd"
        return Data(rows, file.stat().st_size, self._script, self._a.pool)

    # The server

    def _start(self, setting: Setting) -> None:
        kept = max(100, setting.pool // _PAGE // _KEPT_PART)
        changed: dict[str, Value] = {
            "buffer_pool_size": setting.pool,
            "buffer_pool_instances": self._options.instances,
            "lru_scan_depth": kept,
            "io_capacity": max(1000, kept),
            "old_blocks_time": setting.old_blocks_time,
            "adaptive_hash_index": "off",
        }
        self._server.start(changed)
        has = int(self._server.variables("innodb_buffer_pool_size")["innodb_buffer_pool_size"])
        if has != setting.pool:
            self._server.stop()
            raise BenchError(f"the server made a pool of {has} bytes of {setting.pool}")
        if setting.old_blocks_pct:
            self._server.execute(f"SET GLOBAL innodb_old_blocks_pct = {setting.old_blocks_pct}")

    @contextmanager
    def _running(self, setting: Setting, load: sysbench.Load) -> Iterator[bool]:
        """The server under load; yields whether it got warm."""
        self._start(setting)
        try:
            extra = [str(time_ms) for time_ms in self._options.times if time_ms not in (0, 1000)]
            if setting == self._a and extra:
                # Else only 0, 1000 and the one in force are simulated.
                values = ",".join(extra)
                self._server.execute(f"SET GLOBAL innodb_lru_whatif_old_blocks_times = '{values}'")
            rate = (f"--rate={self._options.rate}",) if self._options.rate else ()
            steady = sysbench.Load(load.script, load.tables, load.rows, (*load.options, *rate))
            clients = self._options.clients
            with sysbench.Running(self._server, steady, clients, _FOREVER) as self._load:
                yield self._warm_up()
        finally:
            self._server.stop()

    def _count(self) -> Count:
        (row,) = self._server.rows(
            "SELECT SUM(NUMBER_PAGES_GET) AS gets, SUM(NUMBER_PAGES_READ) AS reads_,"
            " SUM(FREE_BUFFERS) AS free, SUM(POOL_SIZE) AS pages"
            " FROM INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS"
        )
        numbers = [int(row[name]) for name in ("gets", "reads_", "free", "pages")]
        return Count(*numbers, time.monotonic())

    def _next(self, before: Count, seconds: float) -> Count:
        time.sleep(max(0.0, before.at + seconds - time.monotonic()))
        now = self._count()
        if now.gets - before.gets < 10:
            self._load.outcome()  # it has ended, and says why
            raise BenchError("the load does nothing")
        return now

    def _warm_up(self) -> bool:
        kept = int(self._server.variables("innodb_lru_scan_depth")["innodb_lru_scan_depth"])
        end = time.monotonic() + self._options.patience
        counts = [self._count()]
        while time.monotonic() < end:
            counts.append(self._next(counts[-1], _SPAN))
            if is_warm(counts, kept):
                return True
        return False

    def _measure(self, warm: bool) -> Measured:
        before = self._count()
        after = self._next(before, self._options.seconds)
        return Measured(
            hit_pct(before, after), after.gets - before.gets, after.reads - before.reads, warm
        )

    # What it says

    def _whatif(self) -> list[dict[str, Any]]:
        rows = self._server.rows("SELECT * FROM INFORMATION_SCHEMA.INNODB_LRU_WHATIF")
        return [{name.upper(): value for name, value in row.items()} for row in rows]

    def _predictions(self) -> dict[Setting, dict[str, Any]]:
        return match(self._whatif(), self._a, self._settings())

    def _wait_for_evidence(self) -> None:
        """Large simulated lists take longer to fill than the pool takes to get warm."""
        end = time.monotonic() + self._options.patience
        count = self._count()
        while time.monotonic() < end:
            found = self._predictions()
            sure = [row["CONFIDENCE"] in ("HIGH", "MEDIUM") for row in found.values()]
            if len(sure) == len(self._settings()) and all(sure):
                return
            count = self._next(count, _SPAN)

    def _row(
        self, name: str, setting: Setting, said: dict[str, Any], measured: Measured
    ) -> dict[str, Any]:
        predicted, bars = said.get("ESTIMATED_HIT_PCT"), said.get("ERROR_HIT_PCT")
        error = None if predicted is None else float(predicted) - measured.hit_pct
        within = None if error is None or bars is None else abs(error) <= float(bars)
        return {
            "load": name,
            "a": str(self._a),
            "b": str(setting),
            "predicted_hit_pct": predicted,
            "plus_minus": bars,
            "measured_hit_pct": measured.hit_pct,
            "error_points": error,
            "within": within,
            "confidence": said.get("CONFIDENCE", "no row"),
            "warm": measured.warm,
            "gets": measured.gets,
            "pages_read": measured.reads,
            "measured_with_it_pct": said.get("MEASURED_HIT_PCT"),
            "sampling_rate": said.get("SAMPLING_RATE"),
            "sampled_references": said.get("SAMPLED_REFERENCES"),
            "filled_pct": said.get("FILLED_PCT"),
            "evidence_seconds": said.get("SECONDS"),
        }


def hit_pct(before: Count, after: Count) -> float:
    return 100.0 * (1 - (after.reads - before.reads) / (after.gets - before.gets))


def is_warm(counts: Sequence[Count], kept: int) -> bool:
    """No free pages but the kept ones, or nothing read any more; and steady over three spans."""
    if len(counts) < 4:
        return False
    spans = list(zip(counts[-4:], counts[-3:], strict=False))
    idle = all(after.reads - before.reads <= 1 for before, after in spans)
    # The page cleaner keeps about so many, now more, now less.
    full = counts[-1].free <= 2 * kept or counts[-1].free <= counts[-1].pages // 50
    misses = [100 - hit_pct(before, after) for before, after in spans]
    steady = max(misses) - min(misses) <= max(0.1, 0.05 * max(misses))
    return idle or (full and steady)


def match(
    rows: Sequence[dict[str, Any]], a: Setting, wanted: Sequence[Setting]
) -> dict[Setting, dict[str, Any]]:
    """The row for each setting. The pool is a little smaller than it was told, so sizes are
    compared by their ratio to the running one."""
    running = [row for row in rows if row["IS_RUNNING"] == "YES"]
    if not running:
        return {}
    size, pct = int(running[0]["POOL_SIZE"]), int(running[0]["OLD_BLOCKS_PCT"])
    result = {}
    for setting in wanted:
        for row in rows:
            ratio = int(row["POOL_SIZE"]) / size / (setting.pool / a.pool)
            same = int(row["OLD_BLOCKS_PCT"]) == (setting.old_blocks_pct or pct)
            same = same and int(row["OLD_BLOCKS_TIME"]) == setting.old_blocks_time
            if same and abs(ratio - 1) < 0.02:
                result[setting] = row
    return result


_COLUMNS = (
    f"{'load':8} {'A':>10} {'B':>11} {'predicted':>10} {'+-':>6} {'measured':>9} {'error':>7}"
    "  confidence"
)


def _line(row: dict[str, Any]) -> str:
    def number(value: Any, width: int) -> str:
        return f"{'-' if value is None or pd.isna(value) else f'{float(value):.2f}':>{width}}"

    notes = [str(row["confidence"])]
    if row["within"] is not None and not row["within"]:
        notes.append("outside its error bars")
    if not row["warm"]:
        notes.append("was not warm")
    return (
        f"{row['load']:8} {row['a']:>10} {row['b']:>11} {number(row['predicted_hit_pct'], 10)}"
        f" {number(row['plus_minus'], 6)} {number(row['measured_hit_pct'], 9)}"
        f" {number(row['error_points'], 7)}  {', '.join(notes)}"
    )


def summary(frame: pd.DataFrame) -> str:
    """All cases, the worst misses first, and what there is to say of them together."""
    errors = pd.to_numeric(frame["error_points"]).abs()
    order = errors.sort_values(ascending=False, na_position="last").index
    lines = ["", _COLUMNS, *(_line(row) for row in frame.loc[order].to_dict("records")), ""]
    known = errors.dropna()
    lines.append(f"{len(frame)} cases, {len(frame) - len(known)} without a prediction")
    if not known.empty:
        within = frame["within"].eq(True).sum()
        lines.append(
            f"error in points: median {known.median():.2f}, largest {known.max():.2f};"
            f" {within} of {len(known)} within their error bars"
        )
    return "\n".join(lines)


def _size(number: int) -> str:
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if number % factor == 0:
            return f"{number // factor}{unit}"
    return str(number)


def _say(text: str) -> None:
    print(text, flush=True)


def _factors(text: str) -> list[float]:
    factors = [tool.seconds(word) for word in tool.words(text)]
    if 0 in factors:
        raise argparse.ArgumentTypeError("a pool of size 0 is none")
    return factors


def _milliseconds(text: str) -> int:
    return 0 if text == "0" else tool.count(text)


def _times(text: str) -> list[int]:
    return [_milliseconds(word) for word in tool.words(text)]


def _pcts(text: str) -> list[int]:
    return [tool.count(word) for word in tool.words(text)]


def _parser() -> argparse.ArgumentParser:
    parser = tool.parser("bench-whatif", __doc__)
    add = parser.add_argument
    add("--server", default="sluice", help="a file of servers/, or the path of one")
    add("--pool", type=tool.size, default="64M", help="buffer pool of A")
    add("--table", type=tool.size, default="256M", help="size of each of the two tables")
    add("--seconds", type=tool.seconds, default=30, help="length of a measurement")
    add("--patience", type=tool.seconds, default=300, help="seconds to wait for warmth, evidence")
    add("--instances", type=tool.count, default=1, help="of a buffer pool of 1G or more")
    add("--clients", type=tool.count, default=4, help="threads of sysbench")
    add("--rate", type=tool.count, help="events a second; without, as many as there can be")
    add("--cases", type=tool.some_of(_LOADS), default=" ".join(_LOADS), help="loads")
    add("--old-blocks-time", type=_milliseconds, default=1000, help="of A, in milliseconds")
    add("--sizes", type=_factors, default="0.25 0.5 2 4", help="pools of B by that of A")
    add("--times", type=_times, default="0 1000", help="innodb_old_blocks_time of B")
    add("--pcts", type=_pcts, default="", help="innodb_old_blocks_pct of B: 5, 37 or 95")
    add("--data-dir", type=Path, default=places.DATA / "lru-whatif", help="kept between runs")
    add("--csv", type=Path, help="default: results-<time>.csv in the data directory")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return tool.run("bench-whatif", _parser().parse_args(arguments), Validation, summary)


if __name__ == "__main__":
    sys.exit(main())
