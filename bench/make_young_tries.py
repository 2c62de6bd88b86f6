# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""How many tries to make a page young fail, as the mutex of the LRU list is taken.

    make release
    cd bench && ../build/bench/venv/bin/python make_young_tries.py --seconds 20

Point selects by 16 and 64 clients, pareto-distributed keys, data of eight times the pool. The patch
make_young_try has no switch, so nothing is compared; the server counts what did not happen:

    tries    pages made young or moved to the head again, and those that failed
    failed   Innodb_buffer_pool_make_young_busy
    by_tries failed by tries, in percent
    reads    pages read for each select

With `--preset debug` the debug server is measured, which holds the mutex for longer.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness import places, script, server_definition, settings, sysbench
from harness.server import Server
from harness.settings import size_in_bytes

_ROW_BYTES = 220  #: of a row of sysbench's table on disk, without a secondary index
_COUNTERS = """
    SELECT SUM(PAGES_MADE_YOUNG + PAGES_YOUNG_MOVED_TO_HEAD) AS made,
           SUM(PAGES_EVICTED_OLD + PAGES_EVICTED_YOUNG) AS evicted,
           (SELECT VARIABLE_VALUE FROM performance_schema.global_status
             WHERE VARIABLE_NAME = 'Innodb_buffer_pool_make_young_busy') AS failed,
           (SELECT VARIABLE_VALUE FROM performance_schema.global_status
             WHERE VARIABLE_NAME = 'Innodb_pages_read') AS pages_read
      FROM INFORMATION_SCHEMA.INNODB_LRU_STATS"""


class Tries:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        definition = server_definition.load("sluice")
        preset = options.preset
        if preset != "release":
            at = places.ROOT / "build" / preset / "obj"
            definition = dataclasses.replace(
                definition,
                name=f"sluice-{preset}",
                mysqld=at / "runtime_output_directory" / "mysqld",
                basedir=at,
                messages=at / "share",
                plugins=at / "plugin_output_directory",
                build=f"make {preset}",
            )
        common = settings.load(places.SETTINGS, quick=True)
        self._server = Server(definition, options.data_dir / definition.name, common)
        self.rows: list[dict[str, Any]] = []  #: what is measured so far

    def run(self) -> None:
        pool = size_in_bytes(self._options.pool)
        load = sysbench.Load(
            "oltp_point_select",
            1,
            8 * pool // _ROW_BYTES,
            ("--rand-type=pareto", "--create_secondary=off"),
        )
        self._server.create()
        self._server.start(
            {
                "buffer_pool_size": pool,
                "buffer_pool_instances": 1,
                "adaptive_hash_index": "off",
                "lru_scan_depth": pool // 16384 // 16,
            }
        )
        try:
            sysbench.prepare(self._server, load, threads=1)
            for clients in self._options.clients:
                sysbench.run(self._server, load, clients, self._options.settle)
                before = self._count()
                outcome = sysbench.run(self._server, load, clients, self._options.seconds)
                after = self._count()
                made, evicted, failed, reads = (after[k] - before[k] for k in before)
                self.rows.append(
                    {
                        "clients": clients,
                        "selects_per_second": outcome.per_second,
                        "reads": reads / outcome.transactions,
                        "evicted": evicted,
                        "tries": made + failed,
                        "failed": failed,
                        "by_tries": 100 * failed / max(made + failed, 1),
                    }
                )
        finally:
            self._server.stop()

    def _count(self) -> dict[str, int]:
        (row,) = self._server.rows(_COUNTERS)
        return {name: int(value) for name, value in row.items()}


def summary(frame: pd.DataFrame) -> str:
    return frame.to_string(index=False, float_format=lambda figure: f"{figure:.3f}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="How many tries to make a page young fail, as the mutex is taken."
    )
    add = parser.add_argument
    add("--preset", default="release", help="the build to measure: release or debug")
    add("--clients", type=int, nargs="+", default=[16, 64], help="threads of sysbench")
    add("--seconds", type=int, default=20, help="of each measurement")
    add("--settle", type=int, default=10, help="seconds of load before it")
    add("--pool", default="64M", help="size of the buffer pool; the data is eight times that")
    add("--data-dir", type=Path, default=places.DATA / "make-young-tries", help="made anew")
    add("--csv", type=Path, help="default: results-<time>.csv in the data directory")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return script.run("make_young_tries", _parser().parse_args(arguments), Tries, summary)


if __name__ == "__main__":
    sys.exit(main())
