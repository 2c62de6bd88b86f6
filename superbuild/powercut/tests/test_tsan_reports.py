# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Which reports of ThreadSanitizer are ours? The stacks are made up."""

import pytest
from power_server import stress
from tsan_reports import Frame, name_in, place

assert stress  # has the folder of tsan_reports on the path

FILE = "/obj/buf0lruevict.cc"
HELPER = ("change_flush_state<(lambda)>(int)", "/obj/buf0buf.h", "7")


def frames(lambda_of: str) -> list[Frame]:
    return [
        ("operator()", FILE, "150"),
        HELPER,
        (f"Lru_flusher::{lambda_of}(State const&)", FILE, "141"),
        ("Lru_flusher::run()", FILE, "89"),
    ]


@pytest.mark.parametrize(("lambda_of", "ours"), [("walk", False), ("other", True)])
def test_a_lambda_is_excused_by_its_function(lambda_of: str, *, ours: bool) -> None:
    address = ("mysqld", "0x1")
    report = ["  Write of size 8 at 0x1:", "    #0 <null> <null> (mysqld+0x1)", ""]
    found = place(report, "data race", {"buf0lruevict.cc"}, set(), {address: frames(lambda_of)})
    assert found == (f"data race: lambda of {lambda_of} buf0lruevict.cc:150", ours)


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ([("walk(int)::$_0::operator()() const", FILE, "1")], "lambda of walk"),
        ([("operator()", FILE, "1"), HELPER], "lambda of unknown"),
        ([("A::walk(int)", FILE, "1")], "walk"),
    ],
)
def test_the_name_of_a_frame(stack: list[Frame], name: str) -> None:
    assert name_in(stack) == name
