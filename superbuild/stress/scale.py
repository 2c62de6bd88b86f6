#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Large numbers: 1 TB of binary logs, 20 000 tables, 10 000 connections.

logs (scale_logs.py), tables (scale_tables.py) and connections (scale_connections.py) are
parts, each with a server of its own; they say what they do, and what must come of it.

Each part ends with a table. The status is 1 if something was wrong.
"""

from __future__ import annotations

import argparse
import resource
import sys

from scale_connections import Connections
from scale_logs import Logs
from scale_part import Part
from scale_tables import Tables

PARTS: list[type[Part]] = [Logs, Tables, Connections]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ",".join(part.name for part in PARTS)
    parser.add_argument("--preset", default="debug")
    parser.add_argument("--only", default=names, help=f"some of {names}")
    parser.add_argument("--logs", type=int, default=1000, help="of 1 GB each")
    parser.add_argument("--tables", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=60, help="of load on the tables")
    parser.add_argument("--timeout", type=int, default=30, help="lock_wait_timeout of connections")
    arguments = parser.parse_args()
    if unknown := set(arguments.only.split(",")) - set(names.split(",")):
        parser.error(f"there is no part {', '.join(unknown)}; there are {names}")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    done = []
    for part in PARTS:
        if part.name in arguments.only.split(","):
            done.append(part(arguments))
            done[-1].run()
    for each in done:
        each.table()
    return 1 if any(part.failed for part in done) else 0


if __name__ == "__main__":
    sys.exit(main())
