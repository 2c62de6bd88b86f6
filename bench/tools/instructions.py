# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Instructions of a statement, server by server, and what they are spent for.

    make stock unoptimised
    make bench-instructions
    make bench-instructions SERVERS="stock sluice 5.6.14 mariadb" PREPARED=on ROUNDS=3

callgrind counts in dispatch_command() only. So neither another thread nor a clock or a wait is in
the figures. Each server has one table of sysbench's, and one client. The servers take turns; a
round has each of them once, with all loads one after the other.

The first table of the output has the instructions of an event of each load, the ratio to the first
server with its range over the rounds, and the pages that an event reads. Then there is a table for
each load. A part has the instructions of the functions that its name stands for and of what these
call, unless that belongs to another part. Debian's MariaDB has no names of static functions and
none in InnoDB. There the nearest caller with a name decides, which is in the interface of the
storage engines.

    LOADS    point-select, range (100 rows by primary key), update, update-index, insert, or any of
             sysbench's tests; of one with transactions, an event is a transaction
    OPTIONS  more options of each server but the first

Needs sysbench and valgrind. Takes about a minute for each server and round.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness import places, settings, sysbench
from harness.errors import BenchError
from harness.server import Server
from tools import tool

_COUNTED = "dispatch_command(*)"

_RANGE = ("skip_trx=on", "point_selects=0", "sum_ranges=0", "order_ranges=0", "distinct_ranges=0")
#: Names of loads: sysbench's test, and its options.
_LOADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "point-select": ("oltp_point_select", ()),
    "range": ("oltp_read_only", (*_RANGE, "simple_ranges=1", "range_size=100")),
    "update": ("oltp_update_non_index", ()),
    "update-index": ("oltp_update_index", ()),
    "insert": ("oltp_insert", ()),
}

#: The names are those of all servers.
_PARTS = tool.Purposes(
    {
        "sending to the client": r"Protocol|net_|my_net_|vio_|THD::send_|(select|Query_result)_send::",
        "parsing": r"parse_sql|MYSQLparse|THD::sql_parser",
        "binary log": r"binlog_|THD::binlog_|MYSQL_BIN_LOG::|TC_LOG|write_locked_table_maps",
        "opening, locking and closing tables": (
            r"open_tables|open_and_lock_tables|open_temporary_tables|lock_tables|mysql_lock_tables|"
            r"mysql_unlock_tables|close_(open|thread|temporary)_tables|MDL_context::"
        ),
        "commit": r"trans_commit|trans_rollback|ha_commit|ha_rollback",
        "changing the row": r"handler::(ha_)?(update|write|delete)_row",
        "reading rows": (
            r"handler::(ha_)?(index_|rnd_|read_|multi_range_|records_in_range)|ha_innobase::(index|rnd)_|"
            r"(Index|Table|Ref|EQRef|Const)\w*Iterator|rr_|join_read_|QUICK_RANGE_SELECT::"
        ),
        "preparing and optimizing": (
            r"JOIN::(prepare|optimize)|Query_(block|expression)::(prepare|optimize)|setup_(fields|conds|"
            r"tables)|.*test_quick_select|Sql_cmd_\w+::prepare|get_mm_tree|substitute_gc"
        ),
        "values of a prepared statement": r"Prepared_statement::(insert|set)_param",
    },
    rest="all else",
)


def instructions(lines: Iterable[str]) -> Counter[tuple[str, ...]]:
    """Of what callgrind writes with --separate-callers: instructions by stack, innermost first.

    A function's own only: the line after "calls=" has those of the function that it calls.
    """
    names: dict[str, tuple[str, ...]] = {}
    found: Counter[tuple[str, ...]] = Counter()
    stack: tuple[str, ...] = ()
    of_callee = False
    for line in lines:
        if line.startswith(("fn=", "cfn=")):
            number, _, name = line.partition("=")[2].strip().partition(" ")
            if name:
                names[number] = tuple(name.split("'"))
            if line.startswith("fn="):
                stack = names[number]
        elif line.startswith("calls="):
            of_callee = True
        elif re.match("[-+*0-9]", line):
            if not of_callee:
                found[stack] += int(line.split()[1])
            of_callee = False
    return found


class Instructions:
    def __init__(self, options: argparse.Namespace) -> None:
        for program in ("valgrind", "callgrind_control"):
            if not shutil.which(program):
                raise BenchError(f"{program} is missing: apt-get install valgrind")
        self._options = options
        common = settings.load(places.SETTINGS, quick=True)
        self._servers = [
            Server(definition, options.data_dir / definition.name, common)
            for definition in map(tool.server, options.servers)
        ]
        self.rows: list[dict[str, Any]] = []  #: what is measured so far

    def run(self) -> None:
        for server in self._servers:
            print(f"{server.name}: filling a table of {self._options.rows} rows", flush=True)
            server.create()
            self._start(server)
            try:
                # That of each test is the same.
                sysbench.prepare(server, self._load("point-select"))
            finally:
                server.stop()
        for number in range(self._options.rounds):
            for server in self._servers:
                self._measure(server, number + 1)

    def _load(self, name: str) -> sysbench.Load:
        script, more = _LOADS.get(name, (name, ()))
        prepared = "auto" if self._options.prepared == "on" else "disable"
        given = [f"--{option}" for option in (*more, f"db-ps-mode={prepared}")]
        return sysbench.Load(script, 1, self._options.rows, tuple(given))

    def _start(self, server: Server, under: Sequence[str] = ()) -> None:
        more = () if server is self._servers[0] else shlex.split(self._options.options)
        changed = {
            "buffer_pool_size": self._options.pool,
            # MariaDB reserves the addresses of a larger pool; valgrind has none to spare.
            "buffer_pool_size_max": self._options.pool,
            "buffer_pool_instances": 1,
            # With it MariaDB did not start under valgrind 3.19.
            "native_aio": "off",
            "adaptive_hash_index": "off",
            "flush_log_at_trx_commit": 0,
            "sync_binlog": 0,
            "binary_log": self._options.binary_log,
        }
        server.start(changed, extra=more, under=under)

    def _measure(self, server: Server, number: int) -> None:
        written = server.home / "callgrind.out"
        callgrind = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={written}",
            f"--toggle-collect={_COUNTED}",
            "--separate-callers=40",
            # Stacks of a start are many, and take minutes.
            "--instr-atstart=no",
        ]
        self._start(server, callgrind)
        events = self._options.statements
        try:
            for dump, name in enumerate(self._options.loads, start=1):
                load = self._load(name)
                self._events(server, load, events * 2 // 5, seed=1)
                before = _pages_read(server)
                _control(server, "--instr=on")
                _control(server, "--zero")
                self._events(server, load, events, seed=2)
                _control(server, "--dump")
                _control(server, "--instr=off")
                pages = (_pages_read(server) - before) / events
                file = server.home / f"callgrind.out.{dump}"
                with file.open() as lines:
                    counted = instructions(lines)
                file.unlink()
                row = {"load": name, "server": server.name, "round": number, "pages": pages}
                if not counted:
                    raise BenchError(f"{server.name}: nothing was counted in {_COUNTED}")
                parts: dict[str, int] = dict.fromkeys(["all", *_PARTS.names], 0)
                for stack, count in counted.items():
                    parts[_PARTS.of(stack)] += count
                parts["all"] = counted.total()
                each = {part: round(count / events, 1) for part, count in parts.items()}
                self.rows.append(row | each)
                print(f"round {number}, {server.name}, {name}: {each['all']:.0f}", flush=True)
        finally:
            server.stop()
            for file in server.home.glob("callgrind.out*"):
                file.unlink()

    def _events(self, server: Server, load: sysbench.Load, events: int, seed: int) -> None:
        exactly = ("--time=0", f"--events={events}", f"--rand-seed={seed}")
        sysbench.call(server, load, "run", more=exactly)


def _pages_read(server: Server) -> int:
    return int(server.status("Innodb_pages_read")["innodb_pages_read"])


def _control(server: Server, what: str) -> None:
    run = subprocess.run(
        ["callgrind_control", what, str(server.pid)], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise BenchError(f"callgrind_control {what} failed: {(run.stdout + run.stderr).strip()}")


def summary(frame: pd.DataFrame) -> str:
    servers, loads = (list(dict.fromkeys(frame[name])) for name in ("server", "load"))
    medians = frame.drop(columns="round").groupby(["load", "server"]).median()
    lines = []
    for load in loads:
        totals = frame[frame["load"] == load].pivot(index="round", columns="server", values="all")
        for server in servers:
            ratio = totals[server] / totals[servers[0]]
            found = medians.loc[(load, server)]
            lines.append(
                {
                    "load": load,
                    "server": server,
                    "instructions": f"{found['all']:.0f}",
                    "ratio": f"{found['all'] / medians.loc[(load, servers[0]), 'all']:.4f}",
                    "lowest": f"{ratio.min():.4f}",
                    "highest": f"{ratio.max():.4f}",
                    "pages": f"{found['pages']:.3f}",
                }
            )
    text = f"\nmedian of {frame['round'].max()} rounds; ratios to {servers[0]}\n"
    text += pd.DataFrame(lines).to_string(index=False)
    for load in loads:
        parts = medians.loc[load].loc[servers, ["all", *_PARTS.names]].T
        text += f"\n\n{load}: instructions by part\n{parts.to_string(float_format='%.0f')}"
    return text


def _load_names(text: str) -> list[str]:
    names = tool.words(text)
    for name in names:
        if name not in _LOADS and not re.fullmatch("[a-z_]+", name):
            known = ", ".join(_LOADS)
            raise argparse.ArgumentTypeError(f"no {name!r}; known: {known}, sysbench's tests")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = tool.parser("bench-instructions", __doc__)
    add = parser.add_argument
    data = places.DATA / "instructions"
    every = " ".join(_LOADS)
    servers = "stock sluice-unoptimised"
    add("--servers", type=tool.words, default=servers, help="files of servers/")
    add("--loads", type=_load_names, default=every, help="what the client does")
    add("--prepared", choices=["on", "off"], default="off", help="prepared statements, or text")
    add("--statements", type=tool.count, default=5000, help="events that a figure is the mean of")
    add("--rounds", type=tool.count, default=3, help="measurements of each server")
    add("--rows", type=tool.count, default=10000, help="rows of the table")
    add("--pool", type=tool.size, default="64M", help="buffer pool")
    add("--binary-log", choices=["on", "off"], default="off", help="of all servers")
    add("--options", default="", help="more options of each server but the first")
    add("--data-dir", type=Path, default=data, help="made anew by each run")
    add("--csv", type=Path, help="default: results-<time>.csv in the data directory")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return tool.run("bench-instructions", options, Instructions, summary)


if __name__ == "__main__":
    sys.exit(main())
