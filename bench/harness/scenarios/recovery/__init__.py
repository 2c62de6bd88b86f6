# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The scenario recovery."""

from harness.scenarios.recovery.scenario import Recovery

__all__ = ["Recovery"]
