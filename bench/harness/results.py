# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Reads what a run left on disk: raw/<scenario>/<server>/<point>/round-<n>/*.csv.

Of a kept run, as in docs/results, there is only csv/<scenario>.csv with all figures, and
csv/<scenario>.<table>.csv for each table that the report needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.measurement import FIGURES

POINT = "point.json"
BASE = "stock"  #: the server that ratios refer to, if it is in the run


@dataclass(frozen=True)
class Place:
    """Where one measurement is on disk, and which one it is."""

    directory: Path
    server: str
    round: int
    parameters: dict[str, str | int | float]


class Results:
    """One scenario of a run. Frames begin with the columns server, round and the parameters."""

    def __init__(
        self,
        run: Path,
        scenario: str,
        points: Sequence[str],
        servers: Sequence[str],
        base: str | None,
    ) -> None:
        self.scenario = scenario
        self.servers = list(servers)  #: in the order of the run; colours follow it
        self.base = base  #: the server that ratios refer to; None: it was not in the run
        self._raw = run / "raw" / scenario
        self._csv = run / "csv"
        self._order = {name: place for place, name in enumerate(points)}

    @property
    def kept(self) -> bool:
        return not self._raw.parent.is_dir()

    def csv(self, table: str | None = None) -> Path:
        """Where the figures, or a table, of a kept run are."""
        return self._csv / (f"{self.scenario}.{table}.csv" if table else f"{self.scenario}.csv")

    def places(self) -> Iterator[Place]:
        """All measurements: servers and points in the order of the run, rounds ascending."""
        for server in self.servers:
            for file in sorted((self._raw / server).glob(f"*/{POINT}"), key=self._place_of):
                parameters = json.loads(file.read_text())
                rounds = file.parent.glob("round-*")
                for directory in sorted(rounds, key=lambda path: int(path.stem[len("round-") :])):
                    if directory.suffix != ".partial":
                        number = int(directory.name.removeprefix("round-"))
                        yield Place(directory, server, number, parameters)

    def _place_of(self, file: Path) -> int:
        return self._order.get(file.parent.name, len(self._order))

    def figures(self) -> pd.DataFrame:
        """Every figure: server, round, parameters..., figure, value, unit."""
        return _read(self.csv()) if self.kept else self._collect(FIGURES)

    def table(self, name: str) -> pd.DataFrame:
        """The tables of that name of all measurements, one below the other."""
        return _read(self.csv(name)) if self.kept else self._collect(f"{name}.csv")

    def tables(self) -> list[str]:
        """The names of all tables that any measurement brought."""
        names = {file.stem for place in self.places() for file in place.directory.glob("*.csv")}
        return sorted(names - {Path(FIGURES).stem})

    def _collect(self, name: str) -> pd.DataFrame:
        frames = []
        for place in self.places():
            file = place.directory / name
            if not file.exists():
                continue
            frame = _read(file)
            identity = {"server": place.server, "round": place.round, **place.parameters}
            for position, (column, value) in enumerate(identity.items()):
                frame.insert(position, column, value)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _read(file: Path) -> pd.DataFrame:
    if not file.exists():
        return pd.DataFrame()
    return pd.read_csv(file, keep_default_na=False, na_values=[""])
