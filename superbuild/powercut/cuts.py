# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Chooses where in a recording the power is cut, and how much of what was not synced is kept."""

from __future__ import annotations

import collections
import random
import re
from dataclasses import dataclass

import matrix
from oplog import Kind, Log

#: More of what is likely to hurt.
WEIGHTS = {"lost": 4, "kept": 1, "names": 2, "data": 2, "files": 4, "torn": 5, "last": 2}

FILES = [
    ("doublewrite", r"\.b?dblwr$"),
    ("redo", r"/#innodb_redo/"),
    ("truncation", r"/undo_\d+_trunc\.log$"),
    ("undo", r"/undo_\d+$|\.ibu$"),
    ("system", r"/ibdata\d+$"),
    ("dictionary", r"/mysql\.ibd$"),
    ("temporary", r"/#innodb_temp/|/ibtmp"),
    ("table", r"\.ibd$"),
    ("purge list", r"~purge~"),
    ("binlog index", r"/binlog\.(index|~rec~)"),
    ("binlog", r"/binlog\.\d+$|#purged_"),
    ("keyring", r"^keyring"),
]

OPERATIONS = {
    Kind.WRITE: "write",
    Kind.SYNC: "sync",
    Kind.SYNCED: "synced",
    Kind.TRUNCATE: "resize",
    Kind.FALLOCATE: "resize",
    Kind.MKNOD: "create",
    Kind.LINK: "link",
    Kind.UNLINK: "unlink",
    Kind.RENAME: "rename",
    Kind.MARK: "acknowledge",
}


@dataclass
class Cut:
    """A failure, enough to make it again from its recording."""

    entry: str
    recording: str
    mode: str
    index: int
    at: int
    aim: str
    policy: str
    sector: int
    seed: str


def classify(path: str) -> str:
    for name, pattern in FILES:
        if re.search(pattern, path):
            return name
    return "other"


def aims(log: Log) -> dict[str, list[int]]:
    """Places of the log by what is done there to which kind of file."""
    seen: dict[int, tuple[int, str]] = {}
    kinds: dict[int, str] = {}
    directories: set[int] = set()

    def kind_of(ino: int) -> str:
        if ino in directories:
            return "directory"
        if ino not in kinds:
            parts = []
            at = ino
            while at in seen:
                at, name = seen[at]
                parts.append(name)
            kinds[ino] = classify("/".join(reversed(parts)))
        return kinds[ino]

    places: dict[str, list[int]] = collections.defaultdict(list)
    marks = list(log.marks())
    if built := [number for number, line in marks if line.startswith("I ")]:
        places["acknowledge index"] = built
    end = next((number for number, line in marks if line == "end"), len(log.records))
    for record in log.records:
        if record.kind in (Kind.BASE, Kind.MKNOD):
            seen[record.ino] = (record.a, log.name(record).split("\0")[0])
            if record.b & 0o170000 == 0o040000:
                directories.add(record.ino)
            kinds.pop(record.ino, None)
        elif record.kind == Kind.RENAME:
            seen[record.ino] = (record.b, log.names(record)[1])
            kinds.pop(record.ino, None)
        operation = OPERATIONS.get(Kind(record.kind))
        if operation == "acknowledge":
            places[operation].append(record.number)
        elif operation is not None:
            kind = kind_of(record.ino)
            if kind != "temporary":
                places[f"{operation} {kind}"].append(record.number)
            if kind == "redo" and record.number > end:
                places["redo of the shutdown"].append(record.number)
    return dict(places)


def choose(
    log: Log, entry: matrix.Entry, recording: str, mode: str, seed: str, count: int, near: str = ""
) -> list[Cut]:
    """Cuts of a recording, in the order of their places; two of three near some aims."""
    places = aims(log)
    close = sorted(aim for aim in places if near and re.search(near, aim))
    begin = next((r.number for r in log.records if r.kind != Kind.BASE), len(log.records))
    end = len(log.records)
    chosen = []
    for index in range(count):
        own = f"{seed} {entry.name} {recording} {mode} {index}"
        dice = random.Random(own)
        if close and dice.random() < 0.7:
            aim = dice.choice(close)
            at = dice.choice(places[aim]) + dice.choice((0, 1, 1, 2, dice.randint(2, 12)))
        elif dice.random() < 0.3 or not places:
            aim, at = "random", dice.randint(begin, end)
        else:
            aim = dice.choice(sorted(places))
            # Before it, within it, and a little after.
            at = dice.choice(places[aim]) + dice.choice((0, 1, 1, 2, dice.randint(2, 12)))
        chosen.append(
            Cut(
                entry.name,
                recording,
                mode,
                index,
                min(at, end),
                aim,
                dice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0],
                dice.choice(entry.sectors),
                own,
            )
        )
    return sorted(chosen, key=lambda cut: cut.at)
