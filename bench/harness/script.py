# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the measurements that are no scenarios, but scripts of their own, have in common."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import pandas as pd

from harness.errors import BenchError


class Measurement(Protocol):
    rows: list[dict[str, Any]]  #: what is measured so far

    def run(self) -> None: ...


def run(
    name: str,
    options: argparse.Namespace,
    measurement: Callable[[argparse.Namespace], Measurement],
    summary: Callable[[pd.DataFrame], str],
) -> int:
    """Measures, and shows and keeps what was measured, when it fails or is stopped, too.

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
