# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""From the CSV files of a run to HTML and Markdown."""
