# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The benchmark house: servers in turn, rounds that alternate, figures as CSV, a report.

README.md beside this package says how to use it and how to add a server or a scenario.
"""
