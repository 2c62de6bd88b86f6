# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Medians with their ranges, and ratios with theirs. A median never goes without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from harness import intervals
from harness.intervals import Ratio
from harness.measurement import LIFE_FIGURE

Cell = str | int | float


def only(frame: pd.DataFrame, chosen: Mapping[str, Cell], figure: str) -> pd.DataFrame:
    """The rows of one figure at one point (or, with fewer parameters, at several)."""
    rows = frame[frame["figure"] == figure]
    for name, value in chosen.items():
        rows = rows[rows[name] == value]
    return rows


def lives(frame: pd.DataFrame, chosen: Mapping[str, Cell], base: str) -> pd.Series:
    """In which life each round of a point was. Empty for runs from before there were lives."""
    rows = only(frame, chosen, LIFE_FIGURE)
    rows = rows[rows["server"] == base]
    return rows.set_index("round")["value"]


def of_lives(ratios: pd.Series, lives: pd.Series) -> Ratio:
    """The median of ratios by round, and its interval."""
    if lives.empty:
        return intervals.ratio(ratios.to_list())
    return intervals.ratio(ratios.to_list(), lives[ratios.index].to_list())


def summary(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """median, min, max and rounds of "value" for each server and each value of the keys."""
    grouped = rows.groupby(["server", *keys], sort=False)["value"]
    return grouped.agg(median="median", min="min", max="max", rounds="count").reset_index()


def overview(
    frame: pd.DataFrame, keys: Sequence[str], figures: Sequence[str], servers: Sequence[str]
) -> pd.DataFrame:
    """One row a point and figure, one column a server: median [smallest – largest]."""
    rows = []
    for values, figure, part in _by_point(frame, keys, figures):
        unit = part["unit"].iloc[0]
        row: dict[str, Cell] = dict(zip(keys, values, strict=True)) | {"figure": figure}
        row["unit"] = "" if unit in _SCALED else unit
        for server in servers:
            row[server] = median_and_range(part[part["server"] == server]["value"], unit)
        rows.append(row)
    return pd.DataFrame(rows)


def ratios(
    frame: pd.DataFrame,
    keys: Sequence[str],
    figures: Sequence[str],
    servers: Sequence[str],
    base: str,
    *,
    interval: bool = False,
) -> pd.DataFrame:
    """Each round divided by the base server's same round: median [smallest – largest].

    With interval, of rounds that are bursts: median [its interval of 95 %].
    """
    rows = []
    for point, figure, part in _by_point(frame, keys, figures):
        by_round = part.pivot_table(index="round", columns="server", values="value")
        if base not in by_round:
            continue
        row: dict[str, Cell] = dict(zip(keys, point, strict=True)) | {"figure": figure}
        for server in servers:
            if server == base:
                continue
            row[server] = "–"
            if server in by_round:
                usable = by_round[by_round[base] != 0]
                values = (usable[server] / usable[base]).dropna()
                if interval and not values.empty:
                    known = lives(frame, dict(zip(keys, point, strict=True)), base)
                    row[server] = str(of_lives(values, known))
                else:
                    row[server] = median_and_range(values, "ratio")
        rows.append(row)
    return pd.DataFrame(rows)


def median_and_range(values: pd.Series, unit: str = "") -> str:
    """1 234 [1 200 – 1 250]; one value stands alone and says so."""
    values = values.dropna()
    if values.empty:
        return "–"
    if len(values) == 1:
        return f"{number(values.iloc[0], unit)} [one round]"
    low, high = number(values.min(), unit), number(values.max(), unit)
    return f"{number(values.median(), unit)} [{low} – {high}]"


def number(value: float, unit: str = "") -> str:
    """Three or four figures that matter; bytes in the unit that fits."""
    for scaled, size in _SCALED.get(unit, ()):
        if value >= size:
            return f"{value / size:.3g} {scaled}"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    if unit == "ratio":
        return f"{value:.3f}"
    return str(int(value)) if value == int(value) else f"{value:.3g}"


_SCALED = {"bytes": (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))}


def varying(frame: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """The keys that have more than one value: the others need no column."""
    return [key for key in keys if frame[key].nunique() > 1]


def _by_point(
    frame: pd.DataFrame, keys: Sequence[str], figures: Sequence[str]
) -> list[tuple[tuple[Cell, ...], str, pd.DataFrame]]:
    """Points in the order of measuring, in each the figures in the order given."""
    parts: list[tuple[tuple[Cell, ...], str, pd.DataFrame]] = []
    points: Iterable[tuple[Any, pd.DataFrame]] = [((), frame)]
    if keys:
        points = frame.groupby(list(keys), sort=False)
    for values, part in points:
        for figure in figures:
            rows = part[part["figure"] == figure]
            if not rows.empty:
                parts.append((values, figure, rows))
    return parts
