# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the tools in Python share: options, checks before the start, and what is written."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from harness import peers, places, server_definition, settings, sysbench
from harness.errors import BenchError
from harness.server import Server
from harness.server_definition import ServerDefinition
from harness.settings import size_in_bytes


class Measurement(Protocol):
    rows: list[dict[str, Any]]  #: what is measured so far

    def run(self) -> None: ...


def parser(target: str, description: str | None) -> argparse.ArgumentParser:
    """Of a tool that `make target` calls: its help is the docstring of its module."""
    return argparse.ArgumentParser(
        prog=target,
        usage=f"make {target} [NAME=value ...]; --data-by-pool 6 is DATA_BY_POOL=6",
        description=description,
        formatter_class=_Formatter,
    )


class _Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    pass


# Types of options. What they refuse ends with status 2 and a line that names the option.


def count(text: str) -> int:
    if not re.fullmatch("[0-9]+", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return float(text)


def size(text: str) -> str:
    try:
        if size_in_bytes(text) == 0:
            raise argparse.ArgumentTypeError("a size of 0 is none")
    except BenchError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def words(text: str) -> list[str]:
    """As make has them, with spaces, or with commas."""
    return [word for word in re.split("[ ,]+", text) if word]


def some_of(known: Any) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        for word in words(text):
            if word not in known:
                raise argparse.ArgumentTypeError(f"no {word!r}; known: {', '.join(known)}")
        return words(text)

    return parse


def server(name: str) -> ServerDefinition:
    """Of servers/; fetched, or known to be built."""
    definition = server_definition.load(name)
    peers.provide(definition, places.PEERS)
    if not definition.mysqld.is_file():
        how = f"; '{definition.build}' makes it" if definition.build else ""
        raise BenchError(f"{name}: there is no server {definition.mysqld}{how}")
    return definition


def run(
    name: str,
    options: argparse.Namespace,
    measurement: Callable[[argparse.Namespace], Measurement],
    summary: Callable[[pd.DataFrame], str],
) -> int:
    """Measures. What was measured is shown and kept, also when it fails or is stopped.

    options has data_dir and csv; the exit status is returned.
    """
    measured, code = None, 0
    try:
        if not shutil.which("sysbench"):
            raise BenchError("sysbench is missing: apt-get install sysbench")
        options.data_dir = options.data_dir.resolve()
        options.data_dir.mkdir(parents=True, exist_ok=True)
        measured = measurement(options)
        measured.run()
    except BenchError as error:
        print(f"{name}: error: {error}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print(f"\n{name}: stopped; its server is down", file=sys.stderr)
        code = 130
    if measured is not None and measured.rows:
        frame = pd.DataFrame(measured.rows)
        path = options.csv or options.data_dir / f"results-{time.strftime('%Y%m%d-%H%M%S')}.csv"
        frame.to_csv(path, index=False)
        print(summary(frame), flush=True)
        print(f"written to {path}", flush=True)
    return code


class Purposes:
    """What functions are for: patterns of how their names begin, by the name of the purpose."""

    def __init__(self, patterns: Mapping[str, str], rest: str) -> None:
        self._matchers = [(name, re.compile(pattern)) for name, pattern in patterns.items()]
        self._rest = rest
        self.names = [*patterns, rest]

    def of(self, stack: Sequence[str]) -> str:
        """Of a stack: names of functions, innermost first. The innermost that is known decides."""
        for function in stack:
            for name, matcher in self._matchers:
                if matcher.match(function):
                    return name
        return self._rest


_ROW_BYTES = 230  #: of a row of sysbench's table on disk, with its secondary index
_SCRIPTS = {"update": "oltp_update_non_index", "select": "oltp_point_select"}


def load_of(script: str, data_bytes: int) -> sysbench.Load:
    """One of sysbench's scripts, on one table that takes so much space."""
    return sysbench.Load(script, 1, data_bytes // _ROW_BYTES)


def fill(one: Server, load: sysbench.Load, start: Callable[[Server], None]) -> None:
    """Makes the tables of a load on a new server that `start` starts, unless they are there."""
    mark = one.home / "complete"
    if mark.is_file() and mark.read_text() == str(load.rows):
        return
    print(f"{one.name}: filling tables, {load.tables} * {load.rows} rows", flush=True)
    one.create()
    start(one)
    try:
        sysbench.prepare(one, load, threads=1)
    finally:
        one.stop()
    mark.write_text(str(load.rows))


class Turns:
    """Servers that take turns under the same load by key, each on a filled table of its own."""

    def __init__(self, options: argparse.Namespace, *, quick: bool) -> None:
        self._options = options
        common = settings.load(places.SETTINGS, quick=quick)
        data_bytes = size_in_bytes(options.pool) * options.data_by_pool
        self._load = load_of(_SCRIPTS[options.load], data_bytes)
        self._servers: list[Server] = []
        for name in options.servers:
            definition = server(name)
            self._servers.append(Server(definition, options.data_dir / definition.name, common))
        self.rows: list[dict[str, Any]] = []  #: what is measured so far

    def run(self) -> None:
        for one in self._servers:
            fill(one, self._load, self._start)
        for number in range(self._options.rounds):
            for one in self._servers:
                found = self._measure(one)
                self.rows += [{"server": one.name, "round": number + 1} | row for row in found]
                print(f"{one.name:8} round {number + 1}: {self._line(found)}", flush=True)

    def _under_load(self, one: Server) -> sysbench.Running:
        """The load on a server that has read its table once; until the end of `with`."""
        one.execute(f"SELECT COUNT(c) FROM {sysbench.DATABASE}.sbtest1")
        return sysbench.Running(one, self._load, self._options.clients, 86400)

    def _start(self, one: Server) -> None:
        """Starts a server with the settings that are measured."""
        raise NotImplementedError

    def _measure(self, one: Server) -> list[dict[str, Any]]:
        """Starts a server, measures it and stops it."""
        raise NotImplementedError

    def _line(self, found: Sequence[dict[str, Any]]) -> str:
        """What was measured, for the terminal."""
        raise NotImplementedError


def turns_parser(
    target: str,
    description: str | None,
    *,
    servers: str,
    data_by_pool: int,
    rounds: int,
    length: float,
) -> argparse.ArgumentParser:
    """With the options of Turns, and these values where none is given."""
    made = parser(target, description)
    add = made.add_argument
    data = places.DATA / target.removeprefix("bench-")
    add("--servers", type=words, default=servers, help="files of servers/")
    add("--load", choices=list(_SCRIPTS), default="update", help="what the clients do")
    add("--clients", type=count, default=16, help="threads of sysbench")
    add("--pool", type=size, default="256M", help="buffer pool")
    add("--data-by-pool", type=count, default=data_by_pool, help="size of the data, in pools")
    add("--rounds", type=count, default=rounds, help="measurements of each server")
    add("--settle", type=seconds, default=8, help="seconds before each measurement")
    add("--seconds", type=seconds, default=length, help="length of each")
    add("--data-dir", type=Path, default=data, help="kept between runs")
    add("--csv", type=Path, help="default: results-<time>.csv in the data directory")
    return made
