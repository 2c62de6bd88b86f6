# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Writes report.html (one file, no network), report.md, plots/ and csv/ of a run."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from harness import places, settings
from harness.report import verdict
from harness.report.blocks import Block, Table, Text
from harness.results import BASE, Results
from harness.run_directory import RunDirectory
from harness.scenario import Choice, Scenario
from harness.scenarios import ALL

# The same data give the same file: no random names of clip paths, no date.
matplotlib.rcParams["svg.hashsalt"] = "sluice"
matplotlib.rcParams["svg.fonttype"] = "none"


@dataclass(frozen=True)
class Item:
    """A block as the templates take it."""

    kind: str
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    file: str = ""
    svg: str = ""


@dataclass(frozen=True)
class Chapter:
    name: str
    title: str
    about: str
    rounds: int
    items: tuple[Item, ...]


def report(run: RunDirectory) -> Path:
    """Everything again from the CSV files; returns the HTML file."""
    for directory in ("plots", "csv"):
        (run.path / directory).mkdir(exist_ok=True)
    facts = _facts(run)
    for name in ("report.html", "report.md"):
        partial = run.path / f"{name}.partial"
        partial.write_text(_render(name, facts))
        partial.rename(run.path / name)
    return run.path / "report.html"


def keep(run: RunDirectory, folder: Path, name: str) -> None:
    """What is committed of a run, into folder: its CSV files, and one page without plots.

    name: of the folder, as make bench-report takes it.
    """
    report(run)
    shutil.copytree(run.path / "csv", folder / "csv")
    for scenario in _scenarios(run):
        results = _results(run, scenario)
        for table in scenario.report_tables:
            frame = results.table(table)
            frame.to_csv(folder / "csv" / results.csv(table).name, index=False)
    shutil.copy(run.path / "run.json", folder)
    (folder / "report.md").write_text(_render("report.md", _facts(run) | {"kept": name}))


def _facts(run: RunDirectory) -> dict[str, Any]:
    """What the templates take. Draws the plots, and writes the CSV files."""
    content = run.content
    judged = _verdict(run)
    return {
        "name": run.path.name,
        "content": content,
        "base": _base(run),
        "verdict": _table(Table(judged, "")) if not judged.empty else None,
        "chapters": [_chapter(run, scenario) for scenario in _scenarios(run)],
        "remarks": run.remarks,
        "settings": settings.load(places.SETTINGS, quick=content["quick"]).values,
        "not_told": [
            (server, setting, reason)
            for server, known in content["server_facts"].items()
            for setting, reason in known.get("not_told", {}).items()
        ],
        "kept": None,
    }


def _render(name: str, facts: Mapping[str, Any]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=name.endswith("html"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(f"{name}.jinja").render(facts)


def _base(run: RunDirectory) -> str | None:
    return BASE if BASE in run.content["servers"] else None


def _scenarios(run: RunDirectory) -> Iterator[Scenario]:
    for scenario in ALL:
        if scenario.name in run.content["scenarios"]:
            asked = run.content["asked"][scenario.name]
            yield scenario(Choice(run.content["quick"], asked["seconds"], asked["variants"]))


def _verdict(run: RunDirectory) -> pd.DataFrame:
    """Of the scenarios whose servers were compared burst by burst."""
    base = _base(run)
    scenarios = [one for one in _scenarios(run) if one.interleaved]
    if base is None or not scenarios:
        return pd.DataFrame()
    return verdict.sorted_by_verdict(
        [
            verdict.table(one, _results(run, one).figures(), run.content["servers"], base)
            for one in scenarios
        ]
    )


def _results(run: RunDirectory, scenario: Scenario) -> Results:
    points = [point.directory for point in scenario.points()]
    return Results(run.path, scenario.name, points, run.content["servers"], _base(run))


def _chapter(run: RunDirectory, scenario: Scenario) -> Chapter:
    results = _results(run, scenario)
    figures = results.figures()
    blocks: list[Block] = [Text("Nothing was measured.")]
    not_kept = [t for t in scenario.report_tables if results.kept and results.table(t).empty]
    if not_kept:
        blocks = [Text(f"Not drawn: of this run the tables {', '.join(not_kept)} were not kept.")]
    elif not figures.empty:
        if not results.kept:
            figures.to_csv(results.csv(), index=False)
        blocks = list(scenario.report(results))
    items = tuple(_item(run, scenario, block) for block in blocks)
    rounds = run.content["rounds"].get(scenario.name, 0)
    return Chapter(scenario.name, scenario.title, scenario.about, rounds, items)


def _item(run: RunDirectory, scenario: Scenario, block: Block) -> Item:
    if isinstance(block, Text):
        return Item("text", block.text)
    if isinstance(block, Table):
        return _table(block)
    text = svg(block.figure)
    file = f"plots/{scenario.name}-{block.name}.svg"
    (run.path / file).write_text(text)
    # In HTML the drawing stands without its XML declaration and document type.
    return Item("plot", block.caption, file=file, svg=Markup(text[text.index("<svg") :]))


def svg(figure: Figure) -> str:
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def _table(block: Table) -> Item:
    frame = block.frame.astype(object).where(block.frame.notna(), "")
    rows = tuple(tuple(str(cell) for cell in row) for row in frame.itertuples(index=False))
    return Item("table", block.caption, tuple(map(str, frame.columns)), rows)
