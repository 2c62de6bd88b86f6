# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Some power cuts of a server, none of which may lose anything, and two syncs left out,
each of which has to be found. The choices are seeded; a recording is as long as it
takes the server to do its work."""

import pytest
from programs import run

LOAD = ("--seconds", "3", "--least", "150")


def test_nothing_promised_is_lost() -> None:
    rows = run(
        "rig.py",
        "run",
        "--matrix",
        "fsync",
        "--mode",
        "journal",
        "--cuts",
        "8",
        "--rounds",
        "10",
        *LOAD,
    )
    assert len(rows) >= 10
    # A cut that keeps all is a kill, and one before the first acknowledgement can lose nothing.
    cut = [
        row
        for row in rows
        if (row["bytes_kept"], row["namings_kept"]) != (row["bytes_pending"], row["namings"])
    ]
    assert any(row["result"] == "ok" and int(row["promised"]) > 0 for row in cut), rows


@pytest.mark.parametrize("mutant", ["no sync of the redo log", "no sync of binary logs"])
def test_a_missing_sync_is_found(mutant: str) -> None:
    rows = run("rig.py", "mutants", "--matrix", mutant, "--cuts", "60", *LOAD)
    assert [row["mutant"] for row in rows] == [mutant]
