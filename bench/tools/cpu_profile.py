# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Where the processor time of a statement goes, server by server.

    make release stock
    make bench-cpu-profile CLIENTS=16

Each server runs alone under the same load: updates or point selects by key, uniform, with data
several times the pool. The servers take turns; a round has each of them once. The output has the
medians over the rounds:

    per_second           statements a second
    user_us, system_us   the server's processor time for one of them
    switches             context switches of the server for one of them
    idle_pct             how idle the machine was

Below that is the same processor time by what it was spent for, from samples of all stacks (perf,
cpu-clock). The innermost function of a sample that is in a table of this tool decides. That needs a
server with symbols and frame pointers (WITH_STACKS). Ours and stock have them; Debian's MariaDB
does not, so only its first part is shown.

Needs sysbench and perf (Debian's package linux-perf). First it fills a table for each server, which
is kept. Then it takes rounds * servers * (SETTLE + SECONDS).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from harness import perf
from harness.errors import BenchError
from harness.server import Server
from tools import tool

_TICKS = os.sysconf("SC_CLK_TCK")

_PURPOSES = tool.Purposes(
    {
        "spinning": r"ut_delay",
        "a free page": r"buf_LRU_get_free_block|buf_LRU_scan_and_free|buf_lru_flusher_(get|wait|taken)",
        "writing pages": r"buf_flush_|buf_do_LRU|dblwr::|Double_write|.*Lru_flusher::|pc_",
        "reading a page": r"buf_read_|buf_page_init_for_read|Buf_fetch.*::read_page",
        "redo log": r"log_|Log_",
        "rows and B-tree": r"row_|btr_|trx_|lock_|mtr_|que_|buf_page_|Buf_fetch|page_|rec_|upd_",
        "network": r"vio_|net_|my_net|Protocol_classic::|tcp_|sock_|unix_|__sys_(sendto|recvfrom)|do_poll",
        "SQL": r"dispatch_command|do_command|Prepared_statement|mysql_|Sql_cmd|JOIN::|handle_connection",
    },
    rest="other",
)


class Profile(tool.Turns):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, quick=True)

    def _start(self, server: Server) -> None:
        server.start({"buffer_pool_size": self._options.pool, "buffer_pool_instances": 1})

    def _measure(self, server: Server) -> list[dict[str, Any]]:
        data = server.home / "perf.data"
        self._start(server)
        try:
            with self._under_load(server):
                time.sleep(self._options.settle)
                before = _Counts(server)
                # Of all servers, as it costs them something.
                perf.record(server.pid, data, self._options.seconds, per_second=499)
                after = _Counts(server)
        finally:
            server.stop()
        # Only now: it takes a processor for seconds.
        samples = perf.samples(data) if server.name in self._options.with_stacks else []
        data.unlink(missing_ok=True)
        n = after.statements - before.statements
        if n == 0:
            raise BenchError(f"{server.name}: the load does nothing")
        row = {
            "per_second": n / (after.at - before.at),
            "user_us": 1e6 * (after.user - before.user) / n,
            "system_us": 1e6 * (after.system - before.system) / n,
            "switches": (after.switches - before.switches) / n,
            "idle_pct": 100 * (after.idle - before.idle) / (after.all - before.all),
        }
        total = row["user_us"] + row["system_us"]
        for name, share in shares(samples).items():
            row[name] = share * total
        return [row]

    def _line(self, found: Sequence[dict[str, Any]]) -> str:
        (row,) = found
        each = row["user_us"] + row["system_us"]
        return f"{row['per_second']:8.0f}/s, {each:6.1f} us each"


class _Counts:
    """Counters of the server's process and of the machine at a moment."""

    def __init__(self, server: Server) -> None:
        self.statements = int(server.status("Com_stmt_execute")["com_stmt_execute"])
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        self.user, self.system = int(fields[11]) / _TICKS, int(fields[12]) / _TICKS
        self.switches = 0
        for task in Path(f"/proc/{server.pid}/task").iterdir():
            with suppress(OSError):  # it has just ended
                for line in (task / "status").read_text().splitlines():
                    if "ctxt_switches" in line:
                        self.switches += int(line.split()[1])
        machine = [int(f) for f in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        self.idle, self.all = machine[3] + machine[4], sum(machine)
        self.at = time.monotonic()


def shares(samples: Sequence[Sequence[str]]) -> dict[str, float]:
    """What part of the samples was for what; empty if there are none."""
    counts: dict[str, int] = dict.fromkeys(_PURPOSES.names, 0)
    for stack in samples:
        counts[_PURPOSES.of(stack)] += 1
    return {name: count / len(samples) for name, count in counts.items()} if samples else {}


def summary(frame: pd.DataFrame) -> str:
    names = list(dict.fromkeys(frame["server"]))
    medians = frame.drop(columns="round").groupby("server").median().loc[names].T
    text = medians.to_string(float_format=lambda v: f"{v:.1f}", na_rep="-")
    return f"\nmedian of {frame['round'].max()} rounds; below idle_pct: microseconds a statement\n{text}"


def _parser() -> argparse.ArgumentParser:
    parser = tool.turns_parser(
        "bench-cpu-profile",
        __doc__,
        servers="stock sluice mariadb",
        data_by_pool=6,
        rounds=5,
        length=8,
    )
    parser.add_argument(
        "--with-stacks", type=tool.words, default="stock sluice", help="those with symbols"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return tool.run("bench-cpu-profile", options, Profile, summary)


if __name__ == "__main__":
    sys.exit(main())
