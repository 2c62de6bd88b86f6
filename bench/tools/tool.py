# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the tools in Python share: options, checks before the start, and what is written."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import pandas as pd

from harness import peers, places, server_definition
from harness.errors import BenchError
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
