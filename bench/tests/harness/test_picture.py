# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The pictures of the documents are those that the committed results give."""

from __future__ import annotations

from pathlib import Path

from harness import places
from harness.report import picture


def test_pictures_are_drawn_from_the_results(tmp_path: Path) -> None:
    picture.draw(tmp_path)
    committed = places.ROOT / "docs" / "pictures"
    # The others are photographs of a screen.
    assert sorted(p.name for p in committed.glob("*.svg")) == sorted(picture.PICTURES)
    for name in picture.PICTURES:
        drawn = (tmp_path / name).read_text()
        assert drawn == (committed / name).read_text(), f"{name}: make pictures draws it again"
