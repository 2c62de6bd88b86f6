# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Draws the pictures of the documents from the CSV files in docs/results: make pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from harness import places
from harness.report import plots, write
from harness.scenarios.sustained import by_second

_RESULTS = places.ROOT / "docs" / "results"
_PICTURES = places.ROOT / "docs" / "pictures"
_NAMES = {"none": "no purge", "manual": "PURGE", "auto": "expiry"}


def purge() -> Figure:
    """The slowest transaction while five binary logs of 1 GiB are purged."""
    rows = pd.read_csv(_RESULTS / "binlog-purge-gtid-off" / "csv" / "binlog-purge.csv")
    rows = rows[rows["figure"] == "latency_max"]
    unlink = rows["unlink"].where(rows["purge"] != "none", "")
    case = rows["purge"].map(_NAMES) + "\n" + unlink.map({"": "", "fast": "fast", "slow": "slow"})
    figure = plots.bars(
        rows.assign(case=case.str.strip()),
        "case",
        list(dict.fromkeys(rows["server"])),
        "slowest transaction, ms",
    )
    (axis,) = figure.axes
    axis.set_yscale("log")
    axis.set_ylim(10, 50_000)
    axis.legend(fontsize=8, loc="upper left")
    return figure


def sustained() -> Figure:
    """Updates in each second of five minutes, on a redo log that is used up again and again."""
    rows = pd.read_csv(_RESULTS / "sustained" / "csv" / "sustained.seconds.csv")
    return by_second(rows, list(dict.fromkeys(rows["server"])))


PICTURES = {"purge.svg": purge, "sustained.svg": sustained}


def draw(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in PICTURES.items():
        (folder / name).write_text(write.svg(figure()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=_PICTURES)
    draw(parser.parse_args().folder)
