# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Some kills with all of our switches on, and with them off."""

from pathlib import Path

import homes
import matrix
import pytest
from programs import run


@pytest.mark.parametrize("value", ["ON", "OFF"])
def test_kills_lose_nothing(value: str) -> None:
    settings = f"flusher={value} fast-path={value}"
    rounds = ("--rounds", "3", "--series", "3", "--seconds", "1")
    rows = run("kills.py", "run", "--matrix", settings, *rounds)
    assert len(rows) >= 3
    # A second on a busy machine may acknowledge none.
    assert any(int(row["acknowledged"]) > 0 for row in rows)


def test_what_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """make run builds a server, and not what looks at its pages."""
    programs = tmp_path / "build" / "release" / "obj" / "runtime_output_directory"
    programs.mkdir(parents=True)
    monkeypatch.setattr(homes, "ROOT", tmp_path)
    of_run = homes.Homes(tmp_path / "run", "release")
    try:
        for missing in ("mysqld", "innochecksum"):
            with pytest.raises(SystemExit, match=f"has no {missing}; 'make release' builds it"):
                of_run.base(matrix.ENTRIES[0])
            (programs / missing).touch()
    finally:
        of_run.close()
