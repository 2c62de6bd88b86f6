# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The directory of a run: what was asked for, by which servers, what was skipped or failed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import BenchError
from harness.scenario import Choice, Scenario
from harness.server_definition import ServerDefinition


@dataclass
class Remark:
    """A measurement that is not there, and why."""

    scenario: str
    server: str
    point: str
    round: int | None  #: None: in every round
    kind: str  #: "skipped" (the server cannot) or "failed"
    reason: str


@dataclass
class RunDirectory:
    """run.json and what is beside it."""

    path: Path
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def remarks(self) -> list[Remark]:
        return [Remark(**remark) for remark in self.content.get("remarks", [])]

    def remark(self, remark: Remark) -> None:
        """Noted at once, and only once."""
        if asdict(remark) not in self.content["remarks"]:
            self.content["remarks"].append(asdict(remark))
            self.save()

    def note_server(self, name: str, facts: dict[str, Any]) -> None:
        """What a server said of itself: version, command, settings it was not told."""
        known = self.content["server_facts"].setdefault(name, {})
        not_told = known.get("not_told", {}) | facts.pop("not_told", {})
        before = json.dumps(known, sort_keys=True)
        known.update(facts, not_told=not_told)
        if json.dumps(known, sort_keys=True) != before:
            self.save()

    def save(self) -> None:
        partial = self.path / "run.json.partial"
        partial.write_text(json.dumps(self.content, indent=1, default=str) + "\n")
        partial.rename(self.path / "run.json")


def load(path: Path) -> RunDirectory:
    try:
        return RunDirectory(path, json.loads((path / "run.json").read_text()))
    except FileNotFoundError as error:
        raise BenchError(f"{path} holds no run (run.json is missing)") from error
    except json.JSONDecodeError as error:
        raise BenchError(f"{path / 'run.json'} cannot be read: {error}") from error


def begin(
    path: Path,
    scenarios: Sequence[Scenario],
    servers: Sequence[ServerDefinition],
    choice: Choice,
    rounds: dict[str, int],
    machine: dict[str, str],
) -> RunDirectory:
    """A new run, or one that goes on: then what decides figures must not have changed.

    Each scenario of a run has its own seconds and variants.
    """
    asked = {scenario.name: _asked(scenario, choice) for scenario in scenarios}
    binaries = {server.name: fingerprint(server) for server in servers}
    if (path / "run.json").exists():
        run = load(path)
        if run.content["quick"] != choice.quick:
            raise BenchError(
                f"the run {path.name} was begun {'with' if run.content['quick'] else 'without'} "
                "QUICK=1; do so again, or give another RUN="
            )
        for name, now in asked.items():
            before = run.content["asked"].get(name, now)
            if before != now:
                raise BenchError(
                    f"in the run {path.name}, {name} was begun with {before}, now it is {now}; "
                    "give the same again, or another RUN="
                )
        for name, print_now in binaries.items():
            before = run.content["binaries"].get(name, print_now)
            if before != print_now:
                raise BenchError(
                    f"the server {name} changed (its binary or its file in servers/) since the run "
                    f"{path.name} began; figures of both must not be mixed: give another RUN="
                )
        # What failed is tried again, what was skipped is found out again.
        run.content["remarks"] = []
    else:
        path.mkdir(parents=True, exist_ok=True)
        run = RunDirectory(path)
        run.content = {
            "quick": choice.quick,
            "asked": {},
            "begun": f"{datetime.now():%Y-%m-%d %H:%M}",
        }
        run.content |= {"machine": machine, "server_facts": {}, "remarks": []}
        run.content |= {"scenarios": [], "servers": [], "titles": {}, "rounds": {}, "binaries": {}}
    content = run.content
    content["asked"] |= asked
    content["binaries"] |= binaries
    content["scenarios"] += [one.name for one in scenarios if one.name not in content["scenarios"]]
    content["servers"] += [one.name for one in servers if one.name not in content["servers"]]
    content["titles"] |= {server.name: server.title for server in servers}
    content["rounds"] |= rounds
    run.save()
    return run


def _asked(scenario: Scenario, choice: Choice) -> dict[str, Any]:
    variants = {name: value for name, value in choice.variants.items() if name in scenario.variants}
    return {"seconds": choice.seconds, "variants": variants}


def fingerprint(server: ServerDefinition) -> str:
    """Tells a rebuilt binary or a changed definition from the one before."""
    stat = os.stat(server.mysqld)
    text = f"{stat.st_size} {stat.st_mtime_ns} {server!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
