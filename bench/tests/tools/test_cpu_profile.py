# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What cpu_profile.py makes of stacks, without a server."""

from __future__ import annotations

from tools import cpu_profile


def test_the_innermost_function_that_is_known_decides() -> None:
    stack = ["_raw_spin_unlock_irqrestore", "__x64_sys_pread64", "__libc_pread64"]
    assert (
        cpu_profile._PURPOSES.of([*stack, "buf_read_page", "row_search_mvcc"]) == "reading a page"
    )
    assert cpu_profile._PURPOSES.of(["ut_delay", "buf_read_page"]) == "spinning"
    assert cpu_profile._PURPOSES.of(stack) == "other"


def test_an_io_is_for_what_its_caller_does() -> None:
    assert cpu_profile._PURPOSES.of(["fil_io", "Double_write::write"]) == "writing pages"
    assert cpu_profile._PURPOSES.of(["fil_io", "buf_read_page_low"]) == "reading a page"


def test_shares_add_up_to_all() -> None:
    found = cpu_profile.shares([["ut_delay", "f"], ["f"], ["row_upd"], ["row_upd"]])
    assert sum(found.values()) == 1
    assert (found["spinning"], found["rows and B-tree"], found["other"]) == (0.25, 0.5, 0.25)


def test_no_samples_are_no_shares() -> None:
    assert cpu_profile.shares([]) == {}
