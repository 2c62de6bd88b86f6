# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What is written of a measurement."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.measurement import Measurement


def test_an_interrupt_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Measurement().save(tmp_path / "round-1")
    assert list(tmp_path.iterdir()) == []
