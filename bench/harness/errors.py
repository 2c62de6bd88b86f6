# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The error that ends a run with one line: what is at fault, and what to do."""


class BenchError(Exception):
    """Shown to the user without a traceback."""
