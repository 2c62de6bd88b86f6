# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The statements in queries/, by name, and schema.sql and keys.sql statement by statement."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent

#: The paper's queries in its order: four flights, 13 queries.
QUERIES = ("q1.1", "q1.2", "q1.3", "q2.1", "q2.2", "q2.3", "q3.1", "q3.2", "q3.3", "q3.4",
           "q4.1", "q4.2", "q4.3")  # fmt: skip

#: Q1.1 with the order of the join forced; not part of the 13 and of their total.
FORCED_JOINS = ("q1.1-fact-first", "q1.1-dimension-first")


def sql(name: str) -> str:
    """One query's text, without the semicolon and the comment above it."""
    return _statements(_HERE / "queries" / f"{name}.sql")[0]


def schema() -> list[str]:
    """CREATE TABLE for the five tables."""
    return _statements(_HERE / "schema.sql")


def secondary_keys() -> list[str]:
    """What gives lineorder its secondary keys."""
    return _statements(_HERE / "keys.sql")


def answers_as(name: str) -> str:
    """The query of the paper whose result this query must give."""
    return "q1.1" if name in FORCED_JOINS else name


def _statements(path: Path) -> list[str]:
    # Comments go, and semicolons end statements: no text in these files has either.
    lines = (line.partition("--")[0].rstrip() for line in path.read_text().splitlines())
    text = "\n".join(line for line in lines if line)
    return [statement.strip() for statement in text.split(";") if statement.strip()]
