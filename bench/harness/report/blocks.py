# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What a scenario's part of the report is made of, in the order of reading."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Text:
    """A paragraph, plain text."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table; its cells are printed as they are, so format figures first."""

    frame: pd.DataFrame
    caption: str


@dataclass(frozen=True)
class Plot:
    """A matplotlib figure; name is its file's, unique in the scenario."""

    figure: Figure
    name: str
    caption: str


Block = Text | Table | Plot
