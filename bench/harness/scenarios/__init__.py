# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The scenarios that make bench knows, in the order in which it runs them."""

from harness.scenario import Scenario
from harness.scenarios.binlog_purge import BinlogPurge
from harness.scenarios.ssb import StarSchemaBenchmark

ALL: tuple[type[Scenario], ...] = (BinlogPurge, StarSchemaBenchmark)
