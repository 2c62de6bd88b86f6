# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The report is drawn from files alone and needs no network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness import __main__ as command_line
from harness import places, revisions, run_directory
from harness.report import write
from harness.results import POINT
from harness.run_directory import Remark, RunDirectory
from harness.scenario import Choice
from harness.scenarios.cached import CachedSelect
from harness.scenarios.io_bound import IoUpdate
from harness.server_definition import ServerDefinition


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    (tmp_path / "mysqld").write_text("")
    servers = [
        ServerDefinition(name, name, tmp_path / "mysqld", tmp_path, tmp_path, "9.")
        for name in ("stock", "sluice")
    ]
    choice = Choice(quick=True)
    scenario = CachedSelect(choice)
    path = tmp_path / "run"
    run = run_directory.begin(path, [scenario], servers, choice, {scenario.name: 2}, {"cores": "2"})
    for factor, server in enumerate(servers, start=1):
        for point in scenario.points():
            directory = run.path / "raw" / scenario.name / server.name / point.directory
            for number in (1, 2):
                _save(directory / f"round-{number}", number, 1000 * factor + number)
            (directory / POINT).write_text(json.dumps(dict(point.parameters)))
    run.note_server("stock", {"version": "9.7.2", "not_told": {"a|b=1": "<none>"}})
    run.remark(Remark(scenario.name, "5.5.34", "all", None, "skipped", "too <old> | for it"))
    return run


def _save(directory: Path, number: int, value: int) -> None:
    directory.mkdir(parents=True)
    figures = f"throughput,{value},1/s\nlatency_max,{number},ms\n"
    (directory / "figures.csv").write_text(f"figure,value,unit\n{figures}")


def test_html_stands_alone(run: RunDirectory) -> None:
    html = write.report(run).read_text()
    assert "<svg" in html
    # Names of XML vocabularies look like addresses and are none.
    loads = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!#)[^\s\"'>)]+", html)
    assert [word for word in loads if "w3.org" not in word and "url(#" not in word] == []
    assert "<script" not in html
    assert "too &lt;old&gt; | for it" in html
    assert "a quick run" in html


def test_markdown_beside_it(run: RunDirectory) -> None:
    write.report(run)
    text = (run.path / "report.md").read_text()
    assert "too <old> \\| for it" in text
    assert "[1 001 – 1 002]" in text
    for file in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (run.path / file).read_text().startswith("<?xml")


def test_tables_are_tables(run: RunDirectory) -> None:
    write.report(run)
    lines = (run.path / "report.md").read_text().splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"\|(---\|)+", line):
            columns = line.count("---")
            for row in (lines[number - 1], lines[number + 1]):
                assert len(re.split(r"(?<!\\)\|", row.strip())) == columns + 2, row


def test_drawn_again_it_is_the_same(run: RunDirectory) -> None:
    first = write.report(run).read_text()
    again = write.report(run_directory.load(run.path)).read_text()
    assert first == again


def test_ratios_and_csv(run: RunDirectory) -> None:
    write.report(run)
    csv = (run.path / "csv" / "cached-select.csv").read_text()
    assert csv.startswith("server,round,test,statements,clients,figure,value,unit")
    # 2001/1001 and 2002/1002: too few to know an interval, and so no verdict
    text = (run.path / "report.md").read_text()
    assert re.search(r"1\.99\d \[too few: no interval\]", text)
    assert re.search(r"\| not known \| cached-select \|.*\| throughput \| 1\.99", text)


def test_what_is_kept_draws_the_same_again(run: RunDirectory, tmp_path: Path) -> None:
    drawn = write.report(run).read_text()
    write.keep(run, tmp_path / "kept" / "run", "docs/results/run")
    kept = tmp_path / "kept" / "run"
    assert sorted(file.name for file in kept.rglob("*") if file.is_file()) == [
        "cached-select.csv",
        "report.md",
        "run.json",
    ]
    page = (kept / "report.md").read_text()
    assert "![" not in page and "*Plot:* " in page
    assert "make bench-report RUN=docs/results/run" in page
    assert write.report(run_directory.load(kept)).read_text() == drawn


def test_a_table_that_was_not_kept_is_named(run: RunDirectory, tmp_path: Path) -> None:
    write.keep(run, tmp_path / "kept", "docs/results/kept")
    kept = run_directory.load(tmp_path / "kept")
    kept.content["scenarios"] = ["mdl"]
    kept.content["asked"]["mdl"] = kept.content["asked"]["cached-select"]
    (kept.path / "csv" / "mdl.csv").write_text("server,round,settings,figure,value,unit\n")
    assert "the tables rates, answers were not kept" in write.report(kept).read_text()


def test_the_command_of_a_run(run: RunDirectory) -> None:
    run.content["asked"] = {
        "io-update": {"seconds": 3, "variants": {"tables": "1,8"}},
        "io-select": {"seconds": 3, "variants": {"tables": "1,8"}},
        "mdl": {"seconds": None, "variants": {}},
    }
    run.content["rounds"] = {"io-update": IoUpdate.rounds, "io-select": IoUpdate.rounds, "mdl": 2}
    both, mdl = revisions.commands(run.content, "one")
    assert both.startswith(
        'make bench RUN=one SCENARIO="io-update io-select" SERVERS="stock sluice"'
    )
    assert both.endswith(' SECONDS=3 VARIANT="tables=1,8"')
    assert mdl == 'make bench RUN=one SCENARIO="mdl" SERVERS="stock sluice" ROUNDS=2'


def test_the_measured_revision(run: RunDirectory) -> None:
    run.note_server("sluice", {"comment": "Sluice Server (GPL), revision a558d38b541d"})
    assert revisions.measured(run.content) == {"a558d38b541d"}
    assert not revisions.is_in_history("0123456789ab")
    assert not revisions.is_in_history("a558d38b541d-dirty")


def test_a_run_is_kept_if_its_revision_exists(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = run.path.parent
    monkeypatch.setattr(places, "ROOT", root)
    monkeypatch.setattr(places, "RESULTS", root)
    monkeypatch.setattr(places, "KEPT", root / "docs" / "results")
    keep = ["keep", "--run", "run"]

    assert command_line.main(keep) == 1
    assert "is a quick run" in capsys.readouterr().err
    run.content["quick"] = False
    run.note_server("sluice", {"comment": "Sluice Server (GPL), revision 0123456789ab"})
    run.save()
    assert command_line.main(keep) == 1
    assert "0123456789ab was measured, which is not in the history" in capsys.readouterr().err
    assert not (root / "docs").exists()

    monkeypatch.setattr(revisions, "is_in_history", lambda revision: True)
    assert command_line.main(keep) == 0
    said = capsys.readouterr().out
    assert "- Revision: `0123456789ab`" in said and "make bench RUN=run" in said
    assert (root / "docs" / "results" / "run" / "csv" / "cached-select.csv").exists()
    assert command_line.main(keep) == 1
    assert "is there already" in capsys.readouterr().err

    monkeypatch.setattr(places, "WORK", root / "work")
    assert command_line.main(["report", "--run", "docs/results/run"]) == 0
    assert (root / "work" / "drawn" / "run" / "plots").is_dir()
    assert not (root / "docs" / "results" / "run" / "plots").exists()
