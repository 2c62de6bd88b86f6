# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What harness.perf reads, without perf."""

from __future__ import annotations

from harness import perf


def test_a_stack_ends_at_an_empty_line() -> None:
    text = "\t  7f01 clock_gettime\n\t  55d0 A::f(int, char)\n\n\t  55d1 g\n\n"
    assert perf.stacks(text) == [["clock_gettime", "A::f(int, char)"], ["g"]]
    assert perf.stacks("\n\n") == []
