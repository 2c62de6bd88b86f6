# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the parts of scale.py have in common: a server, a table, and failures that are told."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import pymysql
from scale_server import Plain, stop
from server import Failure

Row = dict[str, str]


class Part:
    """A server of its own, and what is done to it."""

    name = ""
    options: tuple[str, ...] = ()

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.rows: list[Row] = []
        self.failed = 0
        self.home = Path(tempfile.mkdtemp(prefix=f"sluice-scale-{self.name}-"))
        #: The server reads them at each start.
        self.server_options = [*self.options, "--innodb-redo-log-capacity=128M"]
        self.server = Plain(arguments.preset, self.home, self.server_options)

    def run(self) -> None:
        try:
            self.server.initialize()
            self.parts()
            if self.server.running:
                stop(self.server)
            if found := self.server.complaints():
                raise Failure("\n".join(found[:20]))
        except (Failure, pymysql.Error, OSError) as error:
            self.fail(str(error))
            print(self.server.last_words())
        finally:
            if self.server.running:
                self.server.kill()
            shutil.rmtree(self.home, ignore_errors=True)

    def parts(self) -> None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {self.name}: {text}", flush=True)

    def fail(self, text: str) -> None:
        self.failed += 1
        self.say(f"FAILED: {text}")

    def table(self) -> None:
        if self.rows:
            print(f"\n| {' | '.join(self.rows[0])} |\n{'|---' * len(self.rows[0])}|")
            for row in self.rows:
                print(f"| {' | '.join(row.get(column, '') for column in self.rows[0])} |")
