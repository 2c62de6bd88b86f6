# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The scenario ssb. Data, schema, queries and the comparison are in the package ssb."""

from harness.scenarios.ssb.scenario import StarSchemaBenchmark

__all__ = ["StarSchemaBenchmark"]
