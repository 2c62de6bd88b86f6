# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Which revision was measured, by which command: what docs/results/README.md says of a run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

from harness import places
from harness.scenarios import ALL


def measured(content: Mapping[str, Any]) -> set[str]:
    """Of run.json: what our servers said of themselves."""
    comments = (facts.get("comment", "") for facts in content["server_facts"].values())
    found = (re.search(r"revision ([0-9a-f]{7,40}\S*)", comment) for comment in comments)
    return {match[1] for match in found if match}


def is_in_history(revision: str) -> bool:
    command = ["git", "merge-base", "--is-ancestor", revision, "HEAD"]
    done = subprocess.run(command, cwd=places.ROOT, capture_output=True, check=False)
    return done.returncode == 0


def commands(content: Mapping[str, Any], name: str) -> list[str]:
    """One for all scenarios that were asked for alike."""
    usual = {scenario.name: scenario.rounds for scenario in ALL}
    alike: dict[tuple[Any, ...], list[str]] = {}
    for scenario, asked in content["asked"].items():
        variants = tuple(f"{key}={value}" for key, value in asked["variants"].items())
        rounds = content["rounds"].get(scenario)
        rounds = None if rounds == usual[scenario] else rounds
        alike.setdefault((asked["seconds"], rounds, variants), []).append(scenario)
    servers = " ".join(content["servers"])
    lines = []
    for (seconds, rounds, variants), scenarios in alike.items():
        words = ["make bench", f"RUN={name}", f'SCENARIO="{" ".join(scenarios)}"']
        words.append(f'SERVERS="{servers}"')
        words += [f"SECONDS={seconds}"] if seconds else []
        words += [f"ROUNDS={rounds}"] if rounds else []
        words += [f'VARIANT="{" ".join(variants)}"'] if variants else []
        lines.append(" ".join(words))
    return lines


def section(name: str, content: Mapping[str, Any]) -> str:
    machine = content["machine"]
    made = "\n".join(f"    {line}" for line in commands(content, name))
    revision = ", ".join(f"`{one}`" for one in sorted(measured(content))) or "none of ours"
    return f"""
### {name}

TO WRITE: what it shows, and where it is quoted. [Page]({name}/report.md).

{made}

- Revision: {revision}, {content["begun"]}.
- Machine: {machine.get("cores")} cores of {machine.get("processor")}, {machine.get("memory")}.
- What else ran: TO WRITE. Load average before it {machine.get("load before the run")}."""
