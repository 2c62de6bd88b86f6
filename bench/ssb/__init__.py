# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The Star Schema Benchmark: data, schema, queries, and the comparison of results.

README.md in this folder says what follows the paper and what does not. The scenario that
runs it is harness/scenarios/ssb.py.
"""
