# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What a failure may leave of a log that is made up; nothing is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest
from model import MODES, Disk
from oplog import HEADER, ROOT, Kind, Log
from picker import Picker

FILE = 16


def record(kind: Kind, a: int = 0, b: int = 0, payload: bytes = b"") -> bytes:
    return HEADER.pack(len(payload), kind, 0, 0, FILE, a, b) + payload


@pytest.mark.parametrize("mode", MODES)
def test_the_last_write_is_torn(tmp_path: Path, mode: str) -> None:
    base, file = tmp_path / "base", tmp_path / "log"
    base.mkdir()
    (base / "file").write_bytes(bytes(4096))
    file.write_bytes(
        record(Kind.BASE, ROOT, 0o100644, b"file")
        + record(Kind.WRITE, payload=b"x" * 4096)
        + record(Kind.DONE, 1)
    )
    found = set()
    for seed in range(20):
        disk = Disk(Log(file), base, tmp_path / f"disk{seed}", mode)
        disk.advance(3)
        image = tmp_path / f"image{seed}"
        disk.image(Picker(str(seed), "last", 512), image)
        found.add((image / "file").read_bytes())
    assert len(found) > 1
