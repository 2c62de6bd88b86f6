# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What one measurement brings home, and how it gets to disk: whole or not at all."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

FIGURES = "figures.csv"
LIFE_FIGURE = "life"  #: which start of the servers a burst belongs to, from 1
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class Measurement:
    """Collects what a scenario measures at one point, on one server, in one round."""

    def __init__(self) -> None:
        self._figures: list[tuple[str, float, str]] = []
        self._tables: dict[str, pd.DataFrame] = {}
        self._texts: dict[str, str] = {}

    def figure(self, name: str, value: float, unit: str) -> None:
        """One number with its unit: figure("throughput", 1234.5, "1/s")."""
        if any(name == known for known, _, _ in self._figures):
            raise ValueError(f"the figure {name} is there already")
        self._figures.append((name, float(value), unit))

    def table(self, name: str, frame: pd.DataFrame) -> None:
        """Rows: a series by the second, status before and after, one row a query ..."""
        self._check(name, self._tables)
        self._tables[name] = frame

    def status(self, name: str, values: Mapping[str, object]) -> None:
        """Names and values, as SHOW GLOBAL STATUS gives them: a table of two columns."""
        rows = [(key, "" if value is None else str(value)) for key, value in values.items()]
        self.table(name, pd.DataFrame(rows, columns=["name", "value"]))

    def text(self, name: str, text: str) -> None:
        """A tool's raw output, kept beside the figures that were read from it."""
        self._check(name, self._texts)
        self._texts[name] = text

    @staticmethod
    def _check(name: str, known: Mapping[str, object]) -> None:
        if not _NAME.fullmatch(name) or name == "figures":
            raise ValueError(f"{name!r} cannot name a file: use a-z, 0-9, _ and -")
        if name in known:
            raise ValueError(f"{name} is there already")

    def save(self, directory: Path) -> None:
        """Write everything to the directory, which appears when it is complete."""
        partial = directory.with_name(directory.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            frame = pd.DataFrame(self._figures, columns=["figure", "value", "unit"])
            frame.to_csv(partial / FIGURES, index=False)
            for name, table in self._tables.items():
                table.to_csv(partial / f"{name}.csv", index=False)
            for name, text in self._texts.items():
                (partial / f"{name}.txt").write_text(text)
            partial.rename(directory)
        except BaseException:  # an interrupt, too
            shutil.rmtree(partial, ignore_errors=True)
            raise
