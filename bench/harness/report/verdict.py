# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What is better, equal and worse than the base server: the table that a report opens with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.interleaved import FOREIGN_SHARE
from harness.intervals import Ratio
from harness.report import spread
from harness.scenario import Scenario

#: Figures that are compared, and whether more of them is better.
COMPARED = {
    "throughput": True,
    "processor_time": False,
    "latency_p50": False,
    "latency_p99": False,
}
EQUAL = 0.02  #: an interval that contains 1, and lies within so much of it on both sides

#: Caption of a table of ratios.
INTERVALS = (
    "Ratio to {base} in the same round of bursts: median over the lives of the servers, and its "
    "interval (95 %, by the sign test)."
)

BETTER, EQUAL_TO, WORSE, UNKNOWN = "better", "equal", "worse", "not known"


def judge(ratio: Ratio, *, more_is_better: bool) -> str:
    """No claim rests on an interval that contains 1."""
    if ratio.excludes_one:
        return BETTER if (ratio.median > 1) == more_is_better else WORSE
    within = 1 - EQUAL <= ratio.low and ratio.high <= 1 + EQUAL
    return EQUAL_TO if within else UNKNOWN


def table(
    scenario: Scenario, figures: pd.DataFrame, servers: Sequence[str], base: str
) -> pd.DataFrame:
    """A row a point, figure and server other than the base: its ratio and what that means."""
    rows = []
    for point in scenario.points():
        if not point.compared or figures.empty:
            continue
        for figure, more_is_better in COMPARED.items():
            part = spread.only(figures, point.parameters, figure)
            by_round = part.pivot_table(index="round", columns="server", values="value")
            lives = spread.lives(figures, point.parameters, base)
            for server in servers:
                if server == base or not {server, base} <= set(by_round):
                    continue
                values = (by_round[server] / by_round[base]).dropna()
                if values.empty:
                    continue
                ratio = spread.of_lives(values, lives)
                worst = ratio.lowest if more_is_better else ratio.highest
                rows.append(
                    {
                        "verdict": judge(ratio, more_is_better=more_is_better),
                        "load": scenario.name,
                        "point": point.label,
                        "server": server,
                        "figure": figure,
                        f"by {base}'s [95 %]": str(ratio),
                        "worst round": f"{worst:.3f}",
                        "rounds": ratio.rounds,
                        "lives": ratio.lives if not lives.empty else "–",
                        "remark": _remark(figures, point.parameters, {server, base}, ratio),
                    }
                )
    return pd.DataFrame(rows)


def _remark(
    figures: pd.DataFrame, point: Mapping[str, spread.Cell], servers: set[str], ratio: Ratio
) -> str:
    """What a reader has to know of the rounds behind a ratio."""
    disturbed = spread.only(figures, point, "foreign_share")
    disturbed = disturbed[disturbed["value"] > FOREIGN_SHARE]
    idle = spread.only(figures, point, "empty_runs")
    counts = {
        "below half of it or above twice": ratio.collapsed,
        "beside others": disturbed[disturbed["server"].isin(servers)]["round"].nunique(),
        "repeated, as nothing got done": idle[idle["server"].isin(servers)]["round"].nunique(),
    }
    return "; ".join(f"{count} rounds {what}" for what, count in counts.items() if count)


def sorted_by_verdict(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Worst news first."""
    rows = pd.concat([one for one in tables if not one.empty] or [pd.DataFrame()])
    if rows.empty:
        return rows
    order = {word: place for place, word in enumerate((WORSE, UNKNOWN, EQUAL_TO, BETTER))}
    return rows.sort_values("verdict", key=lambda words: words.map(order), kind="stable")
