# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Some kills with all of our switches on, and with them off."""

import pytest
from programs import run


@pytest.mark.parametrize("value", ["ON", "OFF"])
def test_kills_lose_nothing(value: str) -> None:
    settings = f"flusher={value} fast-path={value}"
    rounds = ("--rounds", "3", "--series", "3", "--seconds", "1")
    run("kills.py", "run", "--matrix", settings, *rounds)
