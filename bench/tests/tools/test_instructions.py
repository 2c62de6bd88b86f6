# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What instructions.py makes of callgrind's output, without a server."""

from __future__ import annotations

import pandas as pd

from tools import instructions

_WRITTEN = """\
# callgrind format
positions: line
events: Ir

ob=(1) mysqld
fl=(1) sql_parse.cc
fn=(1) dispatch_command(THD*)'do_command(THD*)
10 5
cfi=(2) handler.cc
cfn=(2) handler::ha_index_read_map(unsigned char*)'dispatch_command(THD*)'do_command(THD*)
calls=3 20
+2 90

fn=(2)
20 30
fi=(3) memcpy.S
* 4
fe=(2)
-1 6
cob=(2) libc.so
cfn=(3) memcpy'handler::ha_index_read_map(unsigned char*)'dispatch_command(THD*)'do_command(THD*)
calls=1 0
* 50

ob=(2)
fn=(3)
0 50

totals: 95
"""


def test_instructions_of_a_function_without_those_that_it_calls() -> None:
    found = instructions.instructions(_WRITTEN.splitlines())
    assert {stack[0].partition("(")[0]: count for stack, count in found.items()} == {
        "dispatch_command": 5,
        "handler::ha_index_read_map": 40,
        "memcpy": 50,
    }
    assert sum(found.values()) == 95


def test_the_innermost_function_that_is_known_decides() -> None:
    stack = ["handler::ha_index_read_map(unsigned char*)", "JOIN::optimize()", "do_command(THD*)"]
    assert instructions._PARTS.of(["memcpy", *stack]) == "reading rows"
    assert instructions._PARTS.of(stack[1:]) == "preparing and optimizing"
    assert instructions._PARTS.of(stack[2:]) == "all else"


def test_an_engine_without_names_belongs_to_the_interface() -> None:
    stack = ["0x0000000000df4e20", "0x0000000000dcd980", "handler::ha_update_row(unsigned char*)"]
    assert instructions._PARTS.of(stack) == "changing the row"


def test_ratios_are_those_inside_a_round() -> None:
    parts = dict.fromkeys(instructions._PARTS.names, 0.0)
    frame = pd.DataFrame(
        {"load": "update", "server": server, "round": number, "pages": 0.0, "all": count} | parts
        for number, counts in enumerate([(100, 90), (200, 100), (100, 80)], start=1)
        for server, count in zip(("stock", "sluice"), counts, strict=True)
    )
    line = next(line for line in instructions.summary(frame).splitlines() if " sluice " in line)
    assert line.split()[2:] == ["90", "0.9000", "0.5000", "0.9000", "0.000"]
