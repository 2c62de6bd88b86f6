# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Plots: a line a server with the range of the rounds as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

from harness.report import spread

_COLOURS = matplotlib.color_sequences["tab10"]


def colour(server: str, servers: Sequence[str]) -> ColorType:
    """A server keeps its colour in all plots of a report."""
    return _COLOURS[servers.index(server) % len(_COLOURS)]


def lines(
    rows: pd.DataFrame,
    x: str,
    servers: Sequence[str],
    y_label: str,
    *,
    panels: str | None = None,
    log_x: bool = False,
    log_y: bool = False,
    reference: Mapping[str, float] | None = None,
) -> Figure:
    """One figure ("value" of rows) over a parameter; panels: a parameter to draw apart.

    reference: level by name, drawn as a dashed line: what the disk can do.
    """
    parts = [("", rows)] if panels is None else list(rows.groupby(panels, sort=False))
    figure, axes = _figure(len(parts))
    for (value, part), axis in zip(parts, axes, strict=True):
        for server in servers:
            mine = spread.summary(part[part["server"] == server], [x]).sort_values(x)
            if mine.empty:
                continue
            shade = colour(server, servers)
            axis.plot(mine[x], mine["median"], marker="o", markersize=3, color=shade, label=server)
            axis.fill_between(mine[x], mine["min"], mine["max"], color=shade, alpha=0.2, lw=0)
        for name, level in (reference or {}).items():
            axis.axhline(level, color="black", lw=0.8, ls="--", label=name)
        if log_x:
            axis.set_xscale("log", base=2)
            ticks = sorted(part[x].unique())
            axis.set_xticks(ticks, [str(tick) for tick in ticks])
        axis.grid(alpha=0.3)
        axis.set_xlabel(x)
        axis.set_title(f"{panels}: {value}" if panels else "", fontsize=9)
    axes[0].set_ylabel(y_label)
    axes[0].legend(fontsize=8)
    _scale_y(axes, log=log_y)
    return figure


def bars(rows: pd.DataFrame, x: str, servers: Sequence[str], y_label: str) -> Figure:
    """One figure for a few cases beside each other: bars to the median, whiskers the range."""
    figure, (axis,) = _figure(1)
    cases = list(dict.fromkeys(rows[x]))
    width = 0.8 / len(servers)
    for place, server in enumerate(servers):
        mine = spread.summary(rows[rows["server"] == server], [x]).set_index(x)
        mine = mine.reindex(cases)
        where = [case + (place - (len(servers) - 1) / 2) * width for case in range(len(cases))]
        whiskers = [mine["median"] - mine["min"], mine["max"] - mine["median"]]
        shade = colour(server, servers)
        axis.bar(where, mine["median"], width * 0.9, color=shade, label=server, yerr=whiskers)
    axis.set_xticks(range(len(cases)), [str(case) for case in cases])
    axis.set_ylabel(y_label)
    axis.legend(fontsize=8)
    axis.grid(axis="y", alpha=0.3)
    return figure


def time_series(
    rows: pd.DataFrame,
    servers: Sequence[str],
    moment: float | None,
    y_label: str,
    step: float = 0.1,
) -> Figure:
    """time, rate of all rounds, one panel a server, the same scale: median and range."""
    present = [server for server in servers if (rows["server"] == server).any()]
    figure, axes = _figure(len(present), stacked=True)
    for server, axis in zip(present, axes, strict=True):
        mine = rows[rows["server"] == server]
        grid = (mine["time"] / step).round().astype(int) * step
        by_time = mine.groupby(grid)["rate"].agg(["median", "min", "max"])
        shade = colour(server, servers)
        axis.fill_between(
            by_time.index, by_time["min"], by_time["max"], color=shade, alpha=0.2, lw=0
        )
        axis.plot(by_time.index, by_time["median"], color=shade, lw=0.9)
        if moment is not None:
            axis.axvline(moment, color="black", lw=0.8, ls=":")
        axis.set_ylabel(y_label, fontsize=8)
        axis.set_title(server, fontsize=9, loc="left", color=shade)
        axis.grid(alpha=0.3)
    _scale_y(axes)
    axes[-1].set_xlabel("seconds from the load's beginning")
    return figure


def _figure(panels: int, *, stacked: bool = False) -> tuple[Figure, list[Axes]]:
    size = (9, 2.2 * panels + 0.6) if stacked else (4.6 * max(panels, 1.4), 3.6)
    figure = Figure(figsize=size, layout="constrained")
    shape = (panels, 1) if stacked else (1, panels)
    grid = figure.subplots(*shape, sharex=stacked, sharey=True, squeeze=False)
    return figure, list(grid.flat)


def _scale_y(axes: Sequence[Axes], *, log: bool = False) -> None:
    """Panels share their y axis: its end is set once, when all lines are there."""
    if log:
        axes[0].set_yscale("log")
    else:
        axes[0].set_ylim(0, 1.05 * max(axis.dataLim.ymax for axis in axes))
